// Who holds a capability at a place: one page of identities with the bindings that give it, in one statement.
//
// A binding gives rights at its group and below, so only those in the place's own line of ancestors matter, however
// many there are beside and below. In each group of that line, each role that has the capability is one range of
// role_bindings_by_place_and_role, whose collation it asks in, in the order of identities: a page takes its first rows of
// every range, and merges.
// What counts is decided as in authz/rights.ts: not expired, at or below the identity's own group, not in a suspended
// organization, and the identity exists.

import { parentOf } from "#base/uid.ts";
import type { Param, Read } from "./handle.ts";
import { versionColumn } from "./rows.ts";

export interface HoldersAsked {
  /** The place and everything above it. */
  readonly line: readonly string[];
  /** The capability's symbol, as roles keep it. */
  readonly capability: string;
  /** An identity that holds the capability without a binding; undefined: none. */
  readonly besides: string | undefined;
  readonly nowMs: number;
  readonly descending: boolean;
  /** The last identity of the page before. */
  readonly after: string | undefined;
  readonly limit: number;
  readonly skip: number;
}

export interface HoldersPage {
  /** One entry for each identity, in order. */
  readonly holders: readonly { readonly uid: string; readonly name: string; readonly email: string; readonly bindings: readonly GivingBinding[] }[];
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

const counts = (identity: string, place: string): string =>
  `(binding.expire_time is null or binding.expire_time > $3::timestamptz)
        and (length(${identity}) = 40 or ${place} = left(${identity}, -17) or ${place} ^@ (left(${identity}, -17) || '/'))`;

const statementOf = (descending: boolean, first: boolean, version: string): string => {
  const [past, direction] = descending ? ["<", " desc"] : [">", ""];
  const range = (place: string): string => `
      select binding.identity_uid from role_bindings as binding
      where left(binding.uid, -17) = ${place} and binding.role_uid = source.role collate "POSIX" and ${counts("binding.identity_uid", place)}
        and exists (select from identities where uid = binding.identity_uid)`;
  return `
  with giving as materialized (
    select uid from roles where length(uid) = 40 and capabilities ? $2
    union all
    select uid from roles where left(uid, -17) = any($1) and capabilities ? $2
  ), source as materialized (
    select line.place, giving.uid as role from unnest($1::text[]) as line(place) cross join giving
    where not exists (select from groups where uid = left($1[1], 40) and status = 'ORG_STATUS_SUSPENDED')
  ), page as materialized (
    select identity_uid from (
      select walked.identity_uid from source cross join lateral (${range("source.place")}
          ${first ? "" : `and binding.identity_uid ${past} $7`}
        order by binding.identity_uid${direction} limit $5::bigint + $6::bigint
      ) as walked
      union
      select $4::text collate "C" where $4 <> ''${first ? "" : ` and $4 collate "C" ${past} $7`}
    ) as merged order by identity_uid${direction} limit $5::bigint offset $6::bigint
  )
  select ${version}, ${first ? `(select count(*) from (select given.identity_uid from source cross join lateral (${range("source.place")}) as given union select $4 where $4 <> '') as every)` : "null::bigint"},
    null, null, null, null, null, null, null, null
  union all
  select null, null, held.* from (
    select page.identity_uid, identity.name, identity.email, binding.uid, binding.role_uid, role.name as role_name, place.name as group_name,
      (extract(epoch from binding.expire_time) * 1000)::bigint as end_ms
    from page
    left join identities as identity on identity.uid = page.identity_uid
    left join lateral (
      select binding.* from unnest($1::text[]) as line(place) join role_bindings as binding
        on left(binding.uid, -17) = line.place and binding.identity_uid = page.identity_uid and binding.role_uid in (select role from source)
      where ${counts("page.identity_uid", "line.place")}
    ) as binding on true
    left join roles as role on role.uid = binding.role_uid
    left join groups as place on place.uid = left(binding.uid, -17)
    order by page.identity_uid${direction}, binding.uid
  ) as held`;
};

/** One page of the identities that hold a capability at the first place of the line. */
export const findHolders = async (rows: Read, asked: HoldersAsked): Promise<HoldersPage> => {
  const { line, capability, besides, nowMs, descending, after, limit, skip } = asked;
  const { check } = rows;
  const values: Param[] = [line, capability, new Date(nowMs).toISOString(), besides ?? "", limit, skip];
  if (after !== undefined) values.push(after);
  if (check) values.push(check.root);
  const statement = statementOf(descending, after === undefined, versionColumn(check && `$${values.length}`));
  const [head, ...found] = await (check ? check.bare : rows).query(statement, values);
  if (check) check.confirm(head?.[0]);
  const holders = new Map<string, { uid: string; name: string; email: string; bindings: GivingBinding[] }>();
  for (const [, , uid, name, email, binding, role, roleName, groupName, endMs] of found) {
    const holder = holders.get(uid ?? "") ?? { uid: uid ?? "", name: name ?? "", email: email ?? "", bindings: [] };
    holders.set(holder.uid, holder);
    if (binding && role)
      holder.bindings.push({
        uid: binding,
        role,
        roleName: roleName ?? "",
        group: parentOf(binding),
        groupName: groupName ?? "",
        endMs: endMs ? Number(endMs) : undefined,
      });
  }
  const total = head?.[1];
  return { holders: [...holders.values()], total: total === null || total === undefined ? undefined : Number(total) };
};
