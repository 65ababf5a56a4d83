// Table roles: visible and built-in roles. The kernel reads and writes the rows of the resource.

import { columns, expression, type Read, type RowOf, text, textList, type Write } from "#db";

export type KnownRole = RowOf<typeof knownRole>;

const knownRole = columns({ id: expression("uid", text), name: text, description: text, capabilities: textList });

/** Returns the built-in roles and the bound ones; for a user only in joined organizations. */
export const findKnownRoles = (rows: Read, identity: string): Promise<KnownRole[]> =>
  knownRole.find(
    rows,
    `select ${knownRole.list} from roles
     where length(uid) = 40 or uid in (
       select role_uid from role_bindings as binding where identity_uid = $1 and (length($1::text) > 40
         or exists (select from memberships where identity_uid = $1 and organization_uid = left(binding.uid, 40)))) order by uid desc`,
    [identity],
  );

export interface BuiltInRole {
  readonly uid: string;
  readonly name: string;
  readonly description: string;
  readonly capabilities: readonly string[];
}

export const writeBuiltInRole = async (rows: Write, role: BuiltInRole, now: string): Promise<void> => {
  await rows.query(
    `insert into roles as held (uid, name, description, capabilities, create_time, update_time)
     values ($1, $2, $3, $4::jsonb, $5, $5)
     on conflict (uid) do update set capabilities = excluded.capabilities, description = excluded.description, update_time = excluded.update_time
     where held.capabilities <> excluded.capabilities or held.description <> excluded.description`,
    [role.uid, role.name, role.description, JSON.stringify(role.capabilities), now],
  );
};
