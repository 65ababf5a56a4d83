// Who holds a capability at a path: one page of identities with the bindings that give it, in one statement.
//
// A binding gives rights at its group and below, so only those at the path and above it matter, however many there are
// beside and below. In each group of that ancestry, each role that has the capability is one range of
// role_bindings_by_place_and_role, whose collation it names, in the order of identities: a page takes the first rows of
// every range, and merges.
// What counts is decided as in authz/rights.ts: not expired, at or below the identity's own group, not in a suspended
// organization, and the identity exists. A user who has not accepted membership is listed too, and told apart by `isMember`; whether
// that user exists, the page does not tell.

import type { PageRequest } from "#base/page.ts";
import { parentOf } from "#base/uid.ts";
import { columns, flag, nullableNumber, type Param, type Read, text, versionColumn } from "#db";

export interface HoldersQuery {
  /** The path and everything above it. */
  readonly ancestry: readonly string[];
  /** The capability's symbol, as roles keep it. */
  readonly capability: string;
  /** An identity that holds the capability without a binding; undefined: none. */
  readonly unboundHolder: string | undefined;
  readonly nowMs: number;
}

export interface Holder {
  readonly uid: string;
  readonly name: string;
  readonly email: string;
  /** Of a person: they have agreed to belong to the organization. */
  readonly isMember: boolean;
  readonly bindings: readonly GivingBinding[];
}

export interface HoldersPage {
  /** One entry for each identity, in order. */
  readonly holders: readonly Holder[];
  /** Counted on the first page only. */
  readonly total: number | undefined;
}

export interface GivingBinding {
  readonly uid: string;
  readonly role: string;
  readonly roleName: string;
  readonly group: string;
  readonly groupName: string;
  /** Milliseconds since 1970; undefined: it never ends. */
  readonly endMs: number | undefined;
}

/** A binding of a holder, or the holder alone where it has none. */
const holderBinding = columns({
  identityUid: text,
  name: text,
  email: text,
  isMember: flag,
  uid: text,
  roleUid: text,
  roleName: text,
  groupName: text,
  endMs: nullableNumber,
});

/** The columns of the statement's first row, before those of a binding: the access version and the total. */
const headColumns = 2;

const bindingCounts = (identity: string, path: string): string =>
  `(binding.expire_time is null or binding.expire_time > $3::timestamptz)
        and (length(${identity}) = 40 or ${path} = left(${identity}, -17) or ${path} ^@ (left(${identity}, -17) || '/'))`;

const holdersStatement = (descending: boolean, first: boolean, version: string): string => {
  const [past, direction] = descending ? ["<", " desc"] : [">", ""];
  const range = (path: string): string => `
      select binding.identity_uid from role_bindings as binding
      where left(binding.uid, -17) = ${path} and binding.role_uid = source.role collate "POSIX" and ${bindingCounts("binding.identity_uid", path)}
        and (exists (select from identities where uid = binding.identity_uid and (expire_time is null or expire_time > $3::timestamptz))
          or length(binding.identity_uid) = 40 and not exists (
            select from memberships where memberships.identity_uid = binding.identity_uid and organization_uid = left($1[1], 40)))`;
  const total = `(select count(*) from (
      select given.identity_uid from source cross join lateral (${range("source.path")}) as given union select $4 where $4 <> '') as every)`;
  return `
  with giving as materialized (
    select uid from roles where length(uid) = 40 and capabilities ? $2
    union all
    select uid from roles where left(uid, -17) = any($1) and capabilities ? $2
  ), source as materialized (
    select ancestor.path, giving.uid as role from unnest($1::text[]) as ancestor(path) cross join giving
    where not exists (select from groups where uid = left($1[1], 40) and status = 'ORG_STATUS_SUSPENDED')
  ), page as materialized (
    select identity_uid from (
      select bound.identity_uid from source cross join lateral (${range("source.path")}
          ${first ? "" : `and binding.identity_uid ${past} $7`}
        order by binding.identity_uid${direction} limit $5::bigint + $6::bigint
      ) as bound
      union
      select $4::text collate "C" where $4 <> ''${first ? "" : ` and $4 collate "C" ${past} $7`}
    ) as merged order by identity_uid${direction} limit $5::bigint offset $6::bigint
  )
  select ${version}, ${first ? total : "null::bigint"},
    null, null, null, null, null, null, null, null, null
  union all
  select null, null, ${holderBinding.listOf("held")} from (
    select page.identity_uid, identity.name, identity.email, membership.identity_uid is not null as is_member,
      binding.uid, binding.role_uid, role.name as role_name, bound_group.name as group_name,
      (extract(epoch from binding.expire_time) * 1000)::bigint as end_ms
    from page
    left join identities as identity on identity.uid = page.identity_uid
    left join memberships as membership on membership.identity_uid = page.identity_uid and membership.organization_uid = left($1[1], 40)
    left join lateral (
      select binding.* from unnest($1::text[]) as ancestor(path) join role_bindings as binding
        on left(binding.uid, -17) = ancestor.path and binding.identity_uid = page.identity_uid and binding.role_uid in (select role from source)
      where ${bindingCounts("page.identity_uid", "ancestor.path")}
    ) as binding on true
    left join roles as role on role.uid = binding.role_uid
    left join groups as bound_group on bound_group.uid = left(binding.uid, -17)
    order by page.identity_uid${direction}, binding.uid
  ) as held`;
};

/** One page of the identities that hold a capability at the first path of the ancestry. */
export const findHolders = async (rows: Read, query: HoldersQuery, page: PageRequest): Promise<HoldersPage> => {
  const { ancestry, capability, unboundHolder, nowMs } = query;
  const { order, after: [after] = [], limit, skip } = page;
  const { check } = rows;
  const values: Param[] = [ancestry, capability, new Date(nowMs).toISOString(), unboundHolder ?? "", limit, skip];
  if (after !== undefined) values.push(after);
  if (check) values.push(check.root);
  const statement = holdersStatement(order.descending, after === undefined, versionColumn(check && `$${values.length}`));
  const [head, ...found] = await (check ? check.bare : rows).query(statement, values, { rows: limit, wide: true });
  if (check) check.confirm(head?.[0]);
  const holders = new Map<string, Omit<Holder, "bindings"> & { bindings: GivingBinding[] }>();
  for (const row of found) {
    const { identityUid, name, email, isMember, uid, roleUid, roleName, groupName, endMs } = holderBinding.read(row, headColumns);
    const holder = holders.get(identityUid) ?? { uid: identityUid, name, email, isMember, bindings: [] };
    holders.set(identityUid, holder);
    if (uid !== "" && roleUid !== "") holder.bindings.push({ uid, role: roleUid, roleName, group: parentOf(uid), groupName, endMs });
  }
  return { holders: [...holders.values()], total: nullableNumber.read(head?.[1] ?? null) };
};
