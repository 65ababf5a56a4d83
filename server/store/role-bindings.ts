// Role bindings beside what the kernel does with the resource's rows.

import { timestamp } from "#base/time.ts";
import { columns, expression, number } from "./columns.ts";
import type { Read, Write } from "./handle.ts";

/**
 * Binds an identity to a role in the group of `uid`, which is the new binding's; a binding of them that would end goes
 * on instead. False where there is one already that does not end.
 */
export const insertOrExtendRoleBinding = async (
  rows: Write,
  { uid, identityUid, roleUid, nowMs }: { readonly uid: string; readonly identityUid: string; readonly roleUid: string; readonly nowMs: number },
): Promise<boolean> => {
  const changed = await rows.query(
    `insert into role_bindings as held (uid, identity_uid, role_uid, create_time, update_time) values ($1, $2, $3, $4, $4)
     on conflict (left(uid, -17), identity_uid, role_uid) do update set expire_time = null, update_time = excluded.update_time
     where held.expire_time is not null returning 1`,
    [uid, identityUid, roleUid, timestamp(nowMs)],
  );
  return changed.length > 0;
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
