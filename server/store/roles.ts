// Roles, as somebody who asks for their own rights is shown them, and the built-in ones; the resource's own rows go
// through the kernel.

import { columns, expression, text, textList } from "./columns.ts";
import type { Read, Write } from "./handle.ts";

export interface KnownRole {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Symbols. */
  readonly capabilities: readonly string[];
}

const knownRole = columns<KnownRole>({ id: expression("uid", text), name: text, description: text, capabilities: textList });

/** The built-in roles, and those that the identity is bound to. */
export const findKnownRoles = (rows: Read, identity: string): Promise<KnownRole[]> =>
  knownRole.find(
    rows,
    `select ${knownRole.list} from roles
     where length(uid) = 40 or uid in (select role_uid from role_bindings where identity_uid = $1) order by uid desc`,
    [identity],
  );

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
