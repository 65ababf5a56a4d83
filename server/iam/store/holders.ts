// Lists the identities that have a capability at a path, with the bindings that grant it, in one statement.
//
// Only bindings at the path and above it matter. For each of these groups and each role with the capability,
// role_bindings_by_place_and_role has a range in the order of identities. A page merges the first rows of all ranges.
//
// The rules are those of authz/rights.ts. A user who has not accepted membership is listed with `isMember` false; the page does not
// reveal whether that user exists.

import type { PageRequest } from "#base/page.ts";
import { parentOf } from "#base/uid.ts";
import { columns, flag, nullableNumber, type Param, type Read, text, versionColumn } from "#db";

export interface HoldersQuery {
  /** The path and its ancestors. */
  readonly ancestry: readonly string[];
  /** The capability's symbol, as stored in roles. */
  readonly capability: string;
  /** An identity that has the capability without a binding. */
  readonly unboundHolder: string | undefined;
  readonly nowMs: number;
}

export interface Holder {
  readonly uid: string;
  readonly name: string;
  readonly email: string;
  /** For a user: membership has been accepted. */
  readonly isMember: boolean;
  readonly bindings: readonly GivingBinding[];
}

export interface HoldersPage {
  readonly holders: readonly Holder[];
  /** Set on the first page only. */
  readonly total: number | undefined;
}

export interface GivingBinding {
  readonly uid: string;
  readonly role: string;
  readonly roleName: string;
  readonly group: string;
  readonly groupName: string;
  /** Unix ms; undefined if it never expires. */
  readonly endMs: number | undefined;
}

/** A binding of a holder, or only the identity. */
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

/** The leading columns of the first row: access version and total. */
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
