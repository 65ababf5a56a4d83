// Table memberships: organizations that users have joined. An organization sees a user's data only through a row here.
//
// Only the user or the operator creates a row, for example by accepting an invite or signing in through the organization's identity
// provider. Group mappings and SCIM do not; they count together with a sign-in through the same provider.
//
// Without a membership a user's role bindings are pending and grant nothing (docs/decisions/0067; rights.ts). Triggers maintain
// pending_memberships; membership_declines outlives the role bindings.

import type { PageRequest } from "#base/page.ts";
import { timestamp } from "#base/time.ts";
import { isRoot, rootOf } from "#base/uid.ts";
import { columns, expression, nullableText, number, type Read, type RowOf, text, timeText, type Write } from "#db";

export type MembershipBasis = "invite" | "provider" | "founding" | "operator" | "acceptance";

export interface NewMembership {
  readonly group: string;
  readonly identityUid: string;
  readonly basis: MembershipBasis;
  readonly createTime: string;
}

/**
 * Returns false if it exists, or if the operator adds a user who has declined. The trigger memberships_answered deletes pending and
 * declined rows.
 */
export const insertMembership = async (rows: Write, { group, identityUid, basis, createTime }: NewMembership): Promise<boolean> => {
  const made = await rows.query(
    `insert into memberships (organization_uid, identity_uid, basis, create_time) select $1, $2, $3, $4
     where $3 <> 'operator' or not exists (select from membership_declines where identity_uid = $2 and organization_uid = $1)
     on conflict do nothing returning 1`,
    [rootOf(group), identityUid, basis, createTime],
  );
  return made.length > 0;
};

/** Returns false if already recorded. */
export const insertMembershipDecline = async (rows: Write, { group, identityUid, createTime }: Omit<NewMembership, "basis">): Promise<boolean> => {
  const made = await rows.query(
    "insert into membership_declines (organization_uid, identity_uid, create_time) values ($1, $2, $3) on conflict do nothing returning 1",
    [rootOf(group), identityUid, createTime],
  );
  return made.length > 0;
};

export type PersonOrganization = RowOf<typeof personOrganization>;

const personOrganization = columns({
  uid: expression("organization.uid", text),
  name: expression("organization.name", text),
  /** Undefined unless the user is a member. */
  acceptTime: expression(timeText("membership.create_time"), nullableText),
  /** Undefined unless the user has declined. */
  declineTime: expression(timeText("declined.create_time"), nullableText),
  /** Since when it is pending. Undefined if it is not, or if the user was provisioned by SCIM and is not asked. */
  requestTime: expression(timeText("pending.create_time"), nullableText),
});

const answers = `
  left join memberships as membership on membership.identity_uid = $1 and membership.organization_uid = organization.uid
  left join membership_declines as declined on declined.identity_uid = $1 and declined.organization_uid = organization.uid
  left join pending_memberships as pending on pending.identity_uid = $1 and pending.organization_uid = organization.uid`;

// Each part is a range of a primary key.
const ownOrganizations = `(
    select organization_uid as uid from memberships where identity_uid = $1
    union
    select organization_uid from membership_declines where identity_uid = $1
    union
    select organization_uid from pending_memberships where identity_uid = $1
  ) as own join groups as organization on organization.uid = own.uid and ($2::text[] is null or organization.uid = any($2))`;

const organizationsStatement = (descending: boolean): string => `
  select ${personOrganization.list} from ${ownOrganizations} ${answers}
  where $3::text is null or organization.uid ${descending ? "<" : ">"} $3
  order by organization.uid ${descending ? "desc" : "asc"} offset $4 limit $5`;

export const findPersonOrganizations = (
  rows: Read,
  identityUid: string,
  among: readonly string[] | undefined,
  { order, after: [after] = [], skip, limit }: Pick<PageRequest, "order" | "after" | "skip" | "limit">,
): Promise<PersonOrganization[]> =>
  personOrganization.find(rows, organizationsStatement(order.descending), [identityUid, among ?? null, after ?? null, skip, limit], {
    rows: limit,
    wide: false,
  });

export const countPersonOrganizations = async (rows: Read, identityUid: string, among: readonly string[] | undefined): Promise<number> => {
  const [row] = await rows.query(`select count(*) from ${ownOrganizations}`, [identityUid, among ?? null]);
  return Number(row?.[0]);
};

// Users provisioned by SCIM have no pending row.
const onlyOrganization = `
  select ${personOrganization.list} from groups as organization ${answers}
  where organization.uid = $2 and (membership is not null or declined is not null or pending is not null or exists (
    select from role_bindings where identity_uid = $1 and uid > $2 || '/' and uid < $2 || '0'))`;

/** Returns undefined unless the user is a member, has declined, or has a role binding in the organization. */
export const findPersonOrganization = (rows: Read, identityUid: string, uid: string): Promise<PersonOrganization | undefined> =>
  personOrganization.findOne(rows, onlyOrganization, [identityUid, uid]);

// By index; rows that need no decision are filtered out.
const unansweredText = `
  select ${personOrganization.list} from pending_memberships as asked
  join groups as organization on organization.uid = asked.organization_uid ${answers}
  where asked.identity_uid = $1 and asked.create_time > $4 and organization.status is distinct from 'ORG_STATUS_SUSPENDED'
    and membership is null and declined is null
    and exists (
      select from role_bindings as binding
      where binding.identity_uid = $1 and binding.uid > asked.organization_uid || '/' and binding.uid < asked.organization_uid || '0'
        and (binding.expire_time is null or binding.expire_time > $2))
  order by asked.create_time desc, asked.organization_uid desc limit $3`;

/** Returns pending memberships since `sinceMs`, newest first, if the organization is active and a role binding has not expired. */
export const findUnansweredOrganizations = (
  rows: Read,
  identityUid: string,
  { nowMs, sinceMs, count }: { readonly nowMs: number; readonly sinceMs: number; readonly count: number },
): Promise<PersonOrganization[]> =>
  personOrganization.find(rows, unansweredText, [identityUid, timestamp(nowMs), count, timestamp(sinceMs)], { rows: count, wide: false });

const unjoined = columns({ root: expression("left(binding.uid, 40)", text) });

/** Returns the organizations with a role binding of a user who has not joined; they see only the uid. */
export const findUnjoinedOrganizations = async (rows: Read, identityUid: string): Promise<string[]> =>
  (
    await unjoined.find(
      rows,
      `select distinct ${unjoined.list} from role_bindings as binding where binding.identity_uid = $1
         and not exists (select from memberships where identity_uid = $1 and organization_uid = left(binding.uid, 40))`,
      [identityUid],
    )
  ).map(({ root }) => root);

export type PendingBindingCounts = RowOf<typeof pendingCounts>;

const pendingCounts = columns({
  bindings: expression("count(*)", number),
  users: expression("count(distinct binding.identity_uid)", number),
  organizations: expression("count(distinct left(binding.uid, 40))", number),
});

/** Counts the pending role bindings of the whole server, for gantry doctor. */
export const countPendingBindings = async (rows: Read): Promise<PendingBindingCounts> =>
  (await pendingCounts.findOne(
    rows,
    `select ${pendingCounts.list} from role_bindings as binding where length(binding.identity_uid) = 40
       and not exists (select from memberships where identity_uid = binding.identity_uid and organization_uid = left(binding.uid, 40))`,
  )) ?? { bindings: 0, users: 0, organizations: 0 };

export interface NamedIdentity {
  /** Any uid in the organization. */
  readonly place: string;
  readonly uid: string;
}

const member = columns({ root: expression("organization_uid", text), uid: expression("identity_uid", text) });

const membersText = `
  select ${member.list} from memberships
  where (identity_uid, organization_uid) in (select * from unnest($1::text[], $2::text[]))`;

/** Returns whether the organization of a row sees the identity. It sees only the uid of a user who has not joined. */
export const findSeenIdentities = async (rows: Read, named: readonly NamedIdentity[]): Promise<(one: NamedIdentity) => boolean> => {
  const people = named.filter(({ uid }) => isRoot(uid));
  const values = [people.map(({ uid }) => uid), people.map(({ place }) => rootOf(place))];
  const found = people.length === 0 ? [] : await member.find(rows, membersText, values);
  const seen = new Set(found.map(({ root, uid }) => `${root} ${uid}`));
  return ({ place, uid }) => !isRoot(uid) || seen.has(`${rootOf(place)} ${uid}`);
};
