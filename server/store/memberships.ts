// Table memberships: to which organizations people have agreed to belong. A person's uid lies below no group, so what an
// organization sees of a person follows from a row here, and from nothing that the organization does by itself.
//
// A row is made where the person, or the operator, says so: an invite that is accepted, a sign-in through the organization's
// identity provider, an organization that is founded, a binding that the operator makes, AcceptMembership. What a mapping of
// groups or SCIM gives counts only together with a sign-in through that same provider: neither makes a row.

import type { PageRequest } from "#base/page.ts";
import { timestamp } from "#base/time.ts";
import { isRoot, rootOf } from "#base/uid.ts";
import { columns, expression, nullableText, text } from "./columns.ts";
import type { Read, Write } from "./handle.ts";
import { timeText } from "./time-text.ts";

/** How a membership came about. */
export type MembershipBasis = "invite" | "provider" | "founding" | "operator" | "acceptance";

export interface NewMembership {
  /** Any group of the organization. */
  readonly group: string;
  readonly identityUid: string;
  readonly basis: MembershipBasis;
  /** RFC 3339. */
  readonly createTime: string;
}

/** True where there was none before. */
export const insertMembership = async (rows: Write, { group, identityUid, basis, createTime }: NewMembership): Promise<boolean> => {
  const made = await rows.query(
    "insert into memberships (organization_uid, identity_uid, basis, create_time) values ($1, $2, $3, $4) on conflict do nothing returning 1",
    [rootOf(group), identityUid, basis, createTime],
  );
  return made.length > 0;
};

/** An organization that a person has agreed to belong to, or in which somebody has bound the person's uid. */
export interface PersonOrganization {
  readonly uid: string;
  readonly name: string;
  /** RFC 3339; undefined: not agreed. */
  readonly acceptTime: string | undefined;
}

const personOrganization = columns<PersonOrganization>({
  uid: expression("organization.uid", text),
  name: expression("organization.name", text),
  acceptTime: expression(timeText("membership.create_time"), nullableText),
});

const ownOrganizations = `(
    select left(uid, 40) as uid from role_bindings where identity_uid = $1
    union
    select organization_uid from memberships where identity_uid = $1
  ) as own join groups as organization on organization.uid = own.uid and ($2::text[] is null or organization.uid = any($2))`;

const organizationsStatement = (descending: boolean): string => `
  select ${personOrganization.list} from ${ownOrganizations}
  left join memberships as membership on membership.identity_uid = $1 and membership.organization_uid = organization.uid
  where $3::text is null or organization.uid ${descending ? "<" : ">"} $3
  order by organization.uid ${descending ? "desc" : "asc"} offset $4 limit $5`;

/** A person's organizations, those of `among`, in the order of their uids. */
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

const onlyOrganization = `
  select ${personOrganization.list} from ${ownOrganizations}
  left join memberships as membership on membership.identity_uid = $1 and membership.organization_uid = organization.uid`;

/** This one of a person's organizations. */
export const findPersonOrganization = (rows: Read, identityUid: string, uid: string): Promise<PersonOrganization | undefined> =>
  personOrganization.findOne(rows, onlyOrganization, [identityUid, [uid]]);

const unansweredText = `
  select distinct organization.uid, organization.name, null from role_bindings as binding
  join groups as organization on organization.uid = left(binding.uid, 40)
  where binding.identity_uid = $1 and (binding.expire_time is null or binding.expire_time > $2)
    and organization.status is distinct from 'ORG_STATUS_SUSPENDED'
    and not exists (select from memberships where identity_uid = $1 and organization_uid = organization.uid)
  order by organization.uid limit $3`;

/** The organizations that give a person rights now and to which they have not agreed, the first ones. */
export const findUnansweredOrganizations = (rows: Read, identityUid: string, nowMs: number, count: number): Promise<PersonOrganization[]> =>
  personOrganization.find(rows, unansweredText, [identityUid, timestamp(nowMs), count], { rows: count, wide: false });

/** A row of an organization's that names an identity. */
export interface NamedIdentity {
  /** Where the row lies: any uid in the organization. */
  readonly place: string;
  /** Of the identity. */
  readonly uid: string;
}

const member = columns({ root: expression("organization_uid", text), uid: expression("identity_uid", text) });

const membersText = `
  select ${member.list} from memberships
  where (identity_uid, organization_uid) in (select * from unnest($1::text[], $2::text[]))`;

/**
 * Which of these identities their organizations see, as a question: of a person no more than the uid, until the person has
 * agreed to belong there. What lives in an organization is that organization's own.
 */
export const findSeenIdentities = async (rows: Read, named: readonly NamedIdentity[]): Promise<(one: NamedIdentity) => boolean> => {
  const people = named.filter(({ uid }) => isRoot(uid));
  const values = [people.map(({ uid }) => uid), people.map(({ place }) => rootOf(place))];
  const found = people.length === 0 ? [] : await member.find(rows, membersText, values);
  const seen = new Set(found.map(({ root, uid }) => `${root} ${uid}`));
  return ({ place, uid }) => !isRoot(uid) || seen.has(`${rootOf(place)} ${uid}`);
};
