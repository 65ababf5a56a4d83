// What every installation has from its first start: built-in roles and the operator's identity. Idempotent, and safe when
// several servers start at once.

import type { Write } from "./handle.ts";

export interface BuiltInRole {
  readonly uid: string;
  readonly name: string;
  readonly description: string;
  /** Symbols. */
  readonly capabilities: readonly string[];
}

/** Inserts the role, or updates what its row says. */
export const writeBuiltInRole = async (rows: Write, role: BuiltInRole, now: string): Promise<void> => {
  await rows.query(
    `insert into roles as held (uid, name, description, capabilities, create_time, update_time)
     values ($1, $2, $3, $4::jsonb, $5, $5)
     on conflict (uid) do update set capabilities = excluded.capabilities, description = excluded.description, update_time = excluded.update_time
     where held.capabilities <> excluded.capabilities or held.description <> excluded.description`,
    [role.uid, role.name, role.description, JSON.stringify(role.capabilities), now],
  );
};

/** Inserts the operator's identity unless it is there. */
export const writeOperator = async (rows: Write, uid: string, now: string): Promise<void> => {
  await rows.query(
    `insert into identities (uid, name, description, last_seen_time, create_time, update_time)
     values ($1, 'operator', 'Whoever runs this server', $2, $2, $2) on conflict do nothing`,
    [uid, now],
  );
};
