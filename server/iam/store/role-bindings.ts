// Table role_bindings: lookups beyond the kernel's.

import { columns, expression, number, type Read, text } from "#db";

const uidOnly = columns({ uid: text });

/** Returns the binding directly in this group. */
export const findRoleBindingUid = async (
  rows: Read,
  { group, identityUid, roleUid }: { readonly group: string; readonly identityUid: string; readonly roleUid: string },
): Promise<string | undefined> => {
  const statement = `select ${uidOnly.list} from role_bindings where left(uid, -17) = $1 and identity_uid = $2 collate "POSIX" and role_uid = $3`;
  return (await uidOnly.findOne(rows, statement, [group, identityUid, roleUid]))?.uid;
};

export const listBindingsBelow = async (rows: Read, group: string, identityUid: string): Promise<string[]> => {
  const statement = `select ${uidOnly.list} from role_bindings where identity_uid = $2 and uid > $1 || '/' and uid < $1 || '0' order by uid`;
  return (await uidOnly.find(rows, statement, [group, identityUid])).map(({ uid }) => uid);
};

const counted = columns({ count: expression("count(distinct binding.identity_uid)", number) });

// Effective bindings directly in this group with all capabilities of a role. A pending owner is not an owner (attack 266).
const boundWith = `role_bindings as binding
     join roles as held on held.uid = binding.role_uid join roles as wanted on wanted.uid = $2
     where left(binding.uid, -17) = $1 and (binding.expire_time is null or binding.expire_time > $3) and held.capabilities @> wanted.capabilities
       and (length(binding.identity_uid) > 40
         or exists (select from memberships where identity_uid = binding.identity_uid and organization_uid = left(binding.uid, 40)))`;

// Identities that a provider does not control: neither users of its issuer nor provisioned by it.
const outside = `not exists (select from identities as person where person.uid = binding.identity_uid and length(person.uid) = 40 and person.issuer = any($4))
     and not exists (select from scim_users as announced where announced.identity_uid = binding.identity_uid and announced.identity_provider_uid = $5)`;

export interface BoundQuery {
  readonly group: string;
  readonly role: string;
  readonly now: string;
  /** Its users are excluded; `people` has the spellings of its issuer. */
  readonly provider: string;
  readonly people: readonly string[];
}

/** Counts identities bound directly in this group, without users of the provider. */
export const countIdentitiesBoundWith = async (rows: Read, { group, role, now, people, provider }: BoundQuery): Promise<number> => {
  const statement = `select ${counted.list} from ${boundWith} and ${outside}`;
  return (await counted.findOne(rows, statement, [group, role, now, people, provider]))?.count ?? 0;
};

/** Returns false if only this identity is bound this way. */
export const hasOwnersBeside = async (
  rows: Read,
  { group, role, now, people, provider, identityUid }: BoundQuery & { readonly identityUid: string },
): Promise<boolean> => {
  const [found] = await rows.query(
    `select exists (select from ${boundWith} and ${outside} and binding.identity_uid <> $6)
       or not exists (select from ${boundWith} and binding.identity_uid = $6)`,
    [group, role, now, people, provider, identityUid],
  );
  return found?.[0] === "t";
};
