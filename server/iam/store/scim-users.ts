// Tables scim_users, scim_removals and scim_arrivals: provisioned users, removed users, and sign-ins with an external ID other than the
// subject. Of a removed user only the data that blocks sign-in is kept.

import { timestamp } from "#base/time.ts";
import { columns, flag, nullableText, number, type Read, type RowOf, text, time, type Write } from "#db";
import { type Add, scimComparison, scimLists, type ScimOperator, type ScimPartTerm, type ScimQuery } from "./scim-lists.ts";

export type ScimUserRow = RowOf<typeof user>;

const user = columns({
  uid: text,
  externalId: nullableText,
  /** Undefined if not known yet. */
  identityUid: nullableText,
  active: flag,
  document: text,
  version: number,
  createTime: time("create_time"),
  updateTime: time("update_time"),
});

/** Lower case, except `externalId` and `id`. */
export interface ScimUserKeys {
  readonly userName: string;
  readonly displayName: string;
  readonly emails: readonly string[];
}

export interface NewScimUser extends Pick<ScimUserRow, "uid" | "externalId" | "identityUid" | "active" | "document">, ScimUserKeys {
  readonly identityProviderUid: string;
  readonly nowMs: number;
}

/**
 * Inserts a user and deletes an earlier removal, which releases its quota first. Throws ALREADY_EXISTS if the name or external ID is
 * taken, or the trigger's error (exceededQuota).
 */
export const insertScimUser = async (rows: Write, row: NewScimUser): Promise<ScimUserRow | undefined> =>
  user.findOne(
    rows,
    `with back as (delete from scim_removals where identity_provider_uid = $2 and external_id = $3 returning 1)
     insert into scim_users (uid, identity_provider_uid, external_id, identity_uid, active, document, user_name, display_name, emails, create_time, update_time)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9::text[], $10::timestamptz, $10::timestamptz from (select count(*) from back) as gone
     returning ${user.list}`,
    [
      row.uid,
      row.identityProviderUid,
      row.externalId ?? null,
      row.identityUid ?? null,
      row.active,
      row.document,
      row.userName,
      row.displayName,
      row.emails,
      timestamp(row.nowMs),
    ],
  );

export const findScimUser = (rows: Read, uid: string): Promise<ScimUserRow | undefined> =>
  user.findOne(rows, `select ${user.list} from scim_users where uid = $1`, [uid]);

export const lockScimUser = (rows: Write, uid: string): Promise<ScimUserRow | undefined> =>
  user.findOne(rows, `select ${user.list} from scim_users where uid = $1 for update`, [uid]);

/** Throws ALREADY_EXISTS like insertScimUser. */
export const updateScimUser = (
  rows: Write,
  row: Pick<NewScimUser, "uid" | "externalId" | "identityUid" | "active" | "document" | "nowMs"> & ScimUserKeys,
): Promise<ScimUserRow | undefined> =>
  user.findOne(
    rows,
    `update scim_users set external_id = $2, identity_uid = $3, active = $4, document = $5, user_name = $6, display_name = $7, emails = $8,
       version = version + 1, update_time = greatest($9::timestamptz, update_time + interval '1 millisecond')
     where uid = $1 returning ${user.list}`,
    [row.uid, row.externalId ?? null, row.identityUid ?? null, row.active, row.document, row.userName, row.displayName, row.emails, timestamp(row.nowMs)],
  );

export const deleteScimUser = async (rows: Write, uid: string): Promise<void> => {
  await rows.query("delete from scim_users where uid = $1", [uid]);
};

/** Also returns true if all users were removed. */
export const hasScimPeople = async (rows: Read, identityProviderUid: string): Promise<boolean> => {
  const [found] = await rows.query(
    `select exists (select from scim_users where identity_provider_uid = $1)
       or exists (select from scim_removals where identity_provider_uid = $1)`,
    [identityProviderUid],
  );
  return found?.[0] === "t";
};

// ---- lists ------------------------------------------------------------------------------------------------------

/** Each except `active` has an index. */
export type ScimUserAttribute = "id" | "userName" | "externalId" | "active" | "displayName" | "emails.value" | "meta.created" | "meta.lastModified";

type SortableUserAttribute = Exclude<ScimUserAttribute, "emails.value" | "active">;

export type ScimUserQuery = ScimQuery<ScimUserAttribute, SortableUserAttribute>;

const sorted: Readonly<Record<SortableUserAttribute, string>> = {
  id: "uid",
  userName: "user_name",
  externalId: "external_id",
  displayName: "display_name",
  "meta.created": "create_time",
  "meta.lastModified": "update_time",
};

const emailComparison = (operator: ScimOperator, value: string | boolean, add: Add): string => {
  if (operator === "pr") return "emails <> '{}'";
  if (operator === "eq") return `emails @> ${add([String(value)])}::text[]`;
  if (operator === "ne") return `not emails @> ${add([String(value)])}::text[]`;
  return `exists (select from unnest(emails) as email where ${scimComparison("email", operator, value, add)})`;
};

/** The column and its index preselect rows. PostgreSQL cannot read JSON with a NUL or a lone surrogate; such a document has no parts. */
const emailPartsComparison = (operator: ScimOperator, value: string | boolean, parts: readonly ScimPartTerm[], add: Add): string => {
  const terms = parts.map((each) => scimComparison(`lower(email ->> '${each.part}')`, each.operator, String(each.value), add));
  if (operator !== "pr") terms.push(scimComparison("lower(email ->> 'value')", operator, value, add));
  const loose = operator === "ne" ? "emails <> '{}'" : emailComparison(operator, value, add);
  const isReadable = "document !~ '(^|[^\\\\])(\\\\\\\\)*\\\\u(0000|d[89a-f])'";
  const one = `exists (select from json_array_elements(document::json -> 'emails') as email where ${terms.join(" and ")})`;
  return `(${loose} and case when ${isReadable} then ${one} else false end)`;
};

export const { list: listScimUsers, count: countScimUsers } = scimLists<ScimUserRow, ScimUserAttribute, SortableUserAttribute>({
  from: "from scim_users",
  row: user,
  sorted,
  compare({ attribute, operator, value, within }, add) {
    if (attribute === "active") return scimComparison("active", operator, value, add);
    if (attribute !== "emails.value") return scimComparison(sorted[attribute], operator, value, add);
    return within ? emailPartsComparison(operator, value, within, add) : emailComparison(operator, value, add);
  },
});

// ---- permission to sign in -------------------------------------------------------------------------------------------

// Differs from other lock numbers (lock.ts).
const personKey = 730_141_293;

/** Serializes SCIM changes and sign-ins of a user. Without a row there is nothing else to lock (attack 222). */
export const lockScimPerson = async (rows: Write, identityProviderUid: string, externalId: string): Promise<void> => {
  await rows.query(`select pg_advisory_xact_lock(${personKey}, hashtext($1))`, [`${identityProviderUid} ${externalId}`]);
};

/**
 * Records a removal. It fits the quota if a user or another removal was deleted in the same transaction; otherwise throws the trigger's
 * error (exceededQuota).
 */
export const writeScimRemoval = async (
  rows: Write,
  { identityProviderUid, externalId, identityUid, nowMs }: Pick<NewScimUser, "identityProviderUid" | "identityUid" | "nowMs"> & { readonly externalId: string },
): Promise<void> => {
  await rows.query(
    `insert into scim_removals (identity_provider_uid, external_id, identity_uid, remove_time) values ($1, $2, $3, $4)
     on conflict (identity_provider_uid, external_id) do update set identity_uid = excluded.identity_uid, remove_time = excluded.remove_time`,
    [identityProviderUid, externalId, identityUid ?? null, timestamp(nowMs)],
  );
};

export const deleteScimRemoval = async (rows: Write, identityProviderUid: string, externalId: string): Promise<void> => {
  await rows.query("delete from scim_removals where identity_provider_uid = $1 and external_id = $2", [identityProviderUid, externalId]);
};

/** Records the identity for a SCIM user that is provisioned later. */
export const writeScimArrival = async (rows: Write, identityProviderUid: string, externalId: string, identityUid: string): Promise<void> => {
  await rows.query(
    `insert into scim_arrivals (identity_provider_uid, external_id, identity_uid) values ($1, $2, $3)
     on conflict (identity_provider_uid, external_id) do update set identity_uid = excluded.identity_uid
     where scim_arrivals.identity_uid is distinct from excluded.identity_uid`,
    [identityProviderUid, externalId, identityUid],
  );
};

/** Returns undefined if there is no such user or nothing changes. `before` is the previous identity, replaced only while SCIM is enabled. */
export const writeScimIdentity = async (
  rows: Write,
  identityProviderUid: string,
  externalId: string,
  identityUid: string,
): Promise<{ readonly before: string | undefined } | undefined> => {
  const [written] = await rows.query(
    `with removed as (
       update scim_removals set identity_uid = $3 where identity_provider_uid = $1 and external_id = $2 and identity_uid is distinct from $3
     ), known as (
       select uid, identity_uid from scim_users
       where identity_provider_uid = $1 and external_id = $2 and identity_uid is distinct from $3
         and (identity_uid is null or exists (select from identity_providers where uid = $1 and scim_enabled))
       for update
     )
     update scim_users set identity_uid = $3 from known where scim_users.uid = known.uid returning known.identity_uid`,
    [identityProviderUid, externalId, identityUid],
  );
  return written && { before: written[0] ?? undefined };
};

const arrived = columns({ identityUid: text });

export const findScimIdentity = async (rows: Read, identityProviderUid: string, externalId: string): Promise<string | undefined> => {
  const statement = `select ${arrived.list} from scim_arrivals where identity_provider_uid = $1 and external_id = $2`;
  return (await arrived.findOne(rows, statement, [identityProviderUid, externalId]))?.identityUid;
};

/**
 * Returns whether a provider of this group or an ancestor has deactivated or removed the user. An active user stays active until the
 * transaction ends.
 */
export const isDismissedAt = async (rows: Write, identityUid: string, group: string): Promise<boolean> => {
  const reaches = `exists (
    select from identity_providers as provider
    where provider.uid = identity_provider_uid and provider.scim_enabled and starts_with($2 || '/', left(provider.uid, -17) || '/'))`;
  const known = await rows.query(`select active from scim_users where identity_uid = $1 and ${reaches} for share`, [identityUid, group]);
  if (known.some(([active]) => active === "f")) return true;
  // A separate statement sees a concurrent removal. A removal next to a user who was provisioned again does not count.
  const announced = `exists (
    select from scim_users as again
    where again.identity_provider_uid = scim_removals.identity_provider_uid and again.external_id = scim_removals.external_id)`;
  const removed = await rows.query(`select 1 from scim_removals where identity_uid = $1 and ${reaches} and not ${announced} limit 1`, [identityUid, group]);
  return removed.length > 0;
};

/** Returns whether this provider has deactivated or removed the user. Does not wait: a later removal deletes existing sessions. */
export const isDismissedBy = async (rows: Read, identityProviderUid: string, identityUid: string): Promise<boolean> => {
  const [found] = await rows.query(
    `select coalesce(
       (select not active from scim_users where identity_provider_uid = provider.uid and identity_uid = $2 order by active limit 1),
       exists (select from scim_removals where identity_provider_uid = provider.uid and identity_uid = $2))
     from identity_providers as provider where uid = $1 and scim_enabled`,
    [identityProviderUid, identityUid],
  );
  return found?.[0] === "t";
};

/** Returns undefined if SCIM is disabled or has no record. An "active" user stays active until the transaction ends. */
export const lockScimStanding = async (
  rows: Write,
  identityProviderUid: string,
  identityUid: string,
): Promise<"active" | "inactive" | "removed" | undefined> => {
  const enabled = await rows.query("select 1 from identity_providers where uid = $1 and scim_enabled", [identityProviderUid]);
  if (enabled.length === 0) return undefined;
  const [found] = await rows.query("select active from scim_users where identity_provider_uid = $1 and identity_uid = $2 order by active for share", [
    identityProviderUid,
    identityUid,
  ]);
  if (found) return found[0] === "t" ? "active" : "inactive";
  // A separate statement sees a concurrent removal.
  const removed = await rows.query("select 1 from scim_removals where identity_provider_uid = $1 and identity_uid = $2", [identityProviderUid, identityUid]);
  return removed.length > 0 ? "removed" : undefined;
};
