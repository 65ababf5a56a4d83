// Table memberships: organizations that users have joined. A user's uid is not below any group, so an organization sees a user's data
// only through a row here, and cannot create one by itself.
//
// A row is created by the user or the operator: accepting an invite, signing in through the organization's identity provider, creating
// the organization, a role binding by the operator, AcceptMembership. Group mappings and SCIM do not create rows; they count only
// together with a sign-in through the same provider.
//
// Without a membership a user's role bindings in the organization are pending and grant nothing (docs/decisions/0067; rights.ts). Table
// pending_memberships: one row for each user and organization that await the user's decision, maintained by triggers. Table
// membership_declines: refusals, which outlive the role bindings.

import type { PageRequest } from "#base/page.ts";
import { timestamp } from "#base/time.ts";
import { isRoot, rootOf } from "#base/uid.ts";
import { columns, expression, nullableText, number, text } from "./columns.ts";
import type { Read, Write } from "./handle.ts";
import { timeText } from "./time-text.ts";

/** How a membership was created. */
export type MembershipBasis = "invite" | "provider" | "founding" | "operator" | "acceptance";

export interface NewMembership {
  /** Any group of the organization. */
  readonly group: string;
  readonly identityUid: string;
  readonly basis: MembershipBasis;
  /** RFC 3339. */
  readonly createTime: string;
}

/**
 * Creates the membership and returns true; returns false if it exists, or if the basis is "operator" and the user has declined. A trigger
 * (memberships_answered) deletes the user's pending and declined rows.
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

/** Records that the user declines; returns false if already recorded. A trigger deletes the pending row. */
export const insertMembershipDecline = async (rows: Write, { group, identityUid, createTime }: Omit<NewMembership, "basis">): Promise<boolean> => {
  const made = await rows.query(
    "insert into membership_declines (organization_uid, identity_uid, create_time) values ($1, $2, $3) on conflict do nothing returning 1",
    [rootOf(group), identityUid, createTime],
  );
  return made.length > 0;
};

/** An organization that a user has joined or declined, or that awaits the user's decision. */
export interface PersonOrganization {
  readonly uid: string;
  readonly name: string;
  /** RFC 3339; undefined unless the user is a member. */
  readonly acceptTime: string | undefined;
  /** RFC 3339; undefined unless the user has declined. */
  readonly declineTime: string | undefined;
  /** RFC 3339: since when it is pending. Undefined if it is not, or if the user was provisioned by SCIM and is not asked. */
  readonly requestTime: string | undefined;
}

const personOrganization = columns<PersonOrganization>({
  uid: expression("organization.uid", text),
  name: expression("organization.name", text),
  acceptTime: expression(timeText("membership.create_time"), nullableText),
  declineTime: expression(timeText("declined.create_time"), nullableText),
  requestTime: expression(timeText("pending.create_time"), nullableText),
});

const answers = `
  left join memberships as membership on membership.identity_uid = $1 and membership.organization_uid = organization.uid
  left join membership_declines as declined on declined.identity_uid = $1 and declined.organization_uid = organization.uid
  left join pending_memberships as pending on pending.identity_uid = $1 and pending.organization_uid = organization.uid`;

// One row for each organization, however many role bindings it has: each part is a range of its table's primary key.
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

/** Returns a user's organizations among `among`, in uid order. */
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

// Users provisioned by SCIM have no pending row; a role binding is enough to decide.
const onlyOrganization = `
  select ${personOrganization.list} from groups as organization ${answers}
  where organization.uid = $2 and (membership is not null or declined is not null or pending is not null or exists (
    select from role_bindings where identity_uid = $1 and uid > $2 || '/' and uid < $2 || '0'))`;

/** Returns this organization; undefined unless the user is a member, has declined, or has a role binding in it. */
export const findPersonOrganization = (rows: Read, identityUid: string, uid: string): Promise<PersonOrganization | undefined> =>
  personOrganization.findOne(rows, onlyOrganization, [identityUid, uid]);

// Newest first, by index; rows that no longer need a decision are filtered out.
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

/**
 * Returns the pending memberships that the user is asked about, newest first: those since `sinceMs`, of organizations that are not
 * suspended, with a role binding that has not expired.
 */
export const findUnansweredOrganizations = (
  rows: Read,
  identityUid: string,
  { nowMs, sinceMs, count }: { readonly nowMs: number; readonly sinceMs: number; readonly count: number },
): Promise<PersonOrganization[]> =>
  personOrganization.find(rows, unansweredText, [identityUid, timestamp(nowMs), count, timestamp(sinceMs)], { rows: count, wide: false });

const unjoined = columns({ root: expression("left(binding.uid, 40)", text) });

/** Returns the organizations with a role binding of the user that the user has not joined; they see only the uid. */
export const findUnjoinedOrganizations = async (rows: Read, identityUid: string): Promise<string[]> =>
  (
    await unjoined.find(
      rows,
      `select distinct ${unjoined.list} from role_bindings as binding where binding.identity_uid = $1
         and not exists (select from memberships where identity_uid = $1 and organization_uid = left(binding.uid, 40))`,
      [identityUid],
    )
  ).map(({ root }) => root);

/** Counts of role bindings that grant nothing because the user has not accepted membership. */
export interface PendingBindingCounts {
  readonly bindings: number;
  readonly users: number;
  readonly organizations: number;
}

const pendingCounts = columns<PendingBindingCounts>({
  bindings: expression("count(*)", number),
  users: expression("count(distinct binding.identity_uid)", number),
  organizations: expression("count(distinct left(binding.uid, 40))", number),
});

/** Returns these counts for the whole server (gantry doctor). */
export const countPendingBindings = async (rows: Read): Promise<PendingBindingCounts> =>
  (await pendingCounts.findOne(
    rows,
    `select ${pendingCounts.list} from role_bindings as binding where length(binding.identity_uid) = 40
       and not exists (select from memberships where identity_uid = binding.identity_uid and organization_uid = left(binding.uid, 40))`,
  )) ?? { bindings: 0, users: 0, organizations: 0 };

/** A reference to an identity in a row of an organization. */
export interface NamedIdentity {
  /** Any uid in the organization. */
  readonly place: string;
  /** Uid of the identity. */
  readonly uid: string;
}

const member = columns({ root: expression("organization_uid", text), uid: expression("identity_uid", text) });

const membersText = `
  select ${member.list} from memberships
  where (identity_uid, organization_uid) in (select * from unnest($1::text[], $2::text[]))`;

/**
 * Returns a predicate: whether the organization of this row sees the identity. An organization sees only the uid of a user who has not
 * joined. Identities within an organization are visible to it.
 */
export const findSeenIdentities = async (rows: Read, named: readonly NamedIdentity[]): Promise<(one: NamedIdentity) => boolean> => {
  const people = named.filter(({ uid }) => isRoot(uid));
  const values = [people.map(({ uid }) => uid), people.map(({ place }) => rootOf(place))];
  const found = people.length === 0 ? [] : await member.find(rows, membersText, values);
  const seen = new Set(found.map(({ root, uid }) => `${root} ${uid}`));
  return ({ place, uid }) => !isRoot(uid) || seen.has(`${rootOf(place)} ${uid}`);
};
