// Role bindings beside what the kernel does with the resource's rows.

import { columns, expression, number, text } from "./columns.ts";
import type { Read } from "./handle.ts";

const uidOnly = columns({ uid: text });

/** The uid of the binding of this identity to this role in this very group. */
export const findRoleBindingUid = async (
  rows: Read,
  { group, identityUid, roleUid }: { readonly group: string; readonly identityUid: string; readonly roleUid: string },
): Promise<string | undefined> => {
  const statement = `select ${uidOnly.list} from role_bindings where left(uid, -17) = $1 and identity_uid = $2 collate "POSIX" and role_uid = $3`;
  return (await uidOnly.findOne(rows, statement, [group, identityUid, roleUid]))?.uid;
};

const counted = columns({ count: expression("count(distinct binding.identity_uid)", number) });

/** How many identities are bound in this very group with all that `role` gives, at `now`. */
export const countIdentitiesBoundWith = async (rows: Read, group: string, role: string, now: string): Promise<number> => {
  const found = await counted.findOne(
    rows,
    `select ${counted.list} from role_bindings as binding
     join roles as held on held.uid = binding.role_uid join roles as wanted on wanted.uid = $2
     where left(binding.uid, -17) = $1 and (binding.expire_time is null or binding.expire_time > $3) and held.capabilities @> wanted.capabilities`,
    [group, role, now],
  );
  return found?.count ?? 0;
};
