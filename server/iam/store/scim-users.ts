// Tables scim_users, scim_removals and scim_arrivals: the people whom an identity provider has announced by SCIM, those whom it
// has removed again, and who came by an external id that is not their subject. Kept as long as the provider is; of a user that was
// removed nothing stays but what keeps the person from signing in.

import { timestamp } from "#base/time.ts";
import { columns, flag, nullableText, number, type Read, text, time, type Write } from "#db";
import { type Add, scimComparison, scimLists, type ScimOperator, type ScimPartTerm, type ScimQuery } from "./scim-lists.ts";

export interface ScimUserRow {
  readonly uid: string;
  readonly externalId: string | undefined;
  /** Of the person; undefined: not known yet. */
  readonly identityUid: string | undefined;
  readonly active: boolean;
  /** JSON text. */
  readonly document: string;
  /** Grows with each change. */
  readonly version: number;
  /** RFC 3339. */
  readonly createTime: string;
  readonly updateTime: string;
}

const user = columns<ScimUserRow>({
  uid: text,
  externalId: nullableText,
  identityUid: nullableText,
  active: flag,
  document: text,
  version: number,
  createTime: time("create_time"),
  updateTime: time("update_time"),
});

/** What lists compare and sort by: texts in lower case but `externalId` and `id`, which are compared as they are. */
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
 * The user as it is kept; the provider has not removed them any more. Throws ALREADY_EXISTS where it has a user of this name or external
 * id, and what the trigger raises where there is no room (exceededQuota). For who comes back there is: the insert waits for the deletion,
 * whose trigger runs first.
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

/** The same, and nobody else changes it until the transaction ends. */
export const lockScimUser = (rows: Write, uid: string): Promise<ScimUserRow | undefined> =>
  user.findOne(rows, `select ${user.list} from scim_users where uid = $1 for update`, [uid]);

/** Throws ALREADY_EXISTS as insertScimUser does. Returns the row as it is now. */
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

/** Whether the provider has announced anybody, or removed them since. */
export const hasScimPeople = async (rows: Read, identityProviderUid: string): Promise<boolean> => {
  const [found] = await rows.query(
    `select exists (select from scim_users where identity_provider_uid = $1)
       or exists (select from scim_removals where identity_provider_uid = $1)`,
    [identityProviderUid],
  );
  return found?.[0] === "t";
};

// ---- lists ------------------------------------------------------------------------------------------------------

/** What users are looked for and sorted by: each but `active` has an index. */
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

/**
 * The same of one address with these parts, which stand in the document alone. The column and its index choose the rows whose documents
 * are read. PostgreSQL reads no JSON with a NUL or half a character in it, which may be in what nobody here knows: such a document has no parts.
 */
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

// ---- who may sign in --------------------------------------------------------------------------------------------

// Any number that no other lock has (lock.ts); with whom it is about.
const personKey = 730_141_293;

/**
 * Whoever says something new of whom the provider knows by this external id, and whoever signs in as them, goes on when the other has
 * ended: as long as there is no row of them, there is no other lock (attack 222).
 */
export const lockScimPerson = async (rows: Write, identityProviderUid: string, externalId: string): Promise<void> => {
  await rows.query(`select pg_advisory_xact_lock(${personKey}, hashtext($1))`, [`${identityProviderUid} ${externalId}`]);
};

/**
 * Remembers that the provider has removed whom it knew by this external id. There is room for it where a user, or another removal, went
 * in the same transaction; else what the trigger raises is thrown (exceededQuota).
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

/** Remembers who came by an external id that is not their subject: a user that is announced later is that person. */
export const writeScimArrival = async (rows: Write, identityProviderUid: string, externalId: string, identityUid: string): Promise<void> => {
  await rows.query(
    `insert into scim_arrivals (identity_provider_uid, external_id, identity_uid) values ($1, $2, $3)
     on conflict (identity_provider_uid, external_id) do update set identity_uid = excluded.identity_uid
     where scim_arrivals.identity_uid is distinct from excluded.identity_uid`,
    [identityProviderUid, externalId, identityUid],
  );
};

/**
 * Notes whose identity it is that the provider knows by this external id. Undefined where nobody is announced by it, or nothing is
 * another than before; `before`: the identity that it was until now, which becomes another while SCIM is on alone.
 */
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

/** The person who came through the provider by this external id, the last one. */
export const findScimIdentity = async (rows: Read, identityProviderUid: string, externalId: string): Promise<string | undefined> => {
  const statement = `select ${arrived.list} from scim_arrivals where identity_provider_uid = $1 and external_id = $2`;
  return (await arrived.findOne(rows, statement, [identityProviderUid, externalId]))?.identityUid;
};

/**
 * Whether an identity provider of this group, or of one above it, has deactivated the person by SCIM or removed them. Whoever is active
 * stays so until the transaction ends.
 */
export const isDismissedAt = async (rows: Write, identityUid: string, group: string): Promise<boolean> => {
  const reaches = `exists (
    select from identity_providers as provider
    where provider.uid = identity_provider_uid and provider.scim_enabled and starts_with($2 || '/', left(provider.uid, -17) || '/'))`;
  const known = await rows.query(`select active from scim_users where identity_uid = $1 and ${reaches} for share`, [identityUid, group]);
  if (known.some(([active]) => active === "f")) return true;
  // A statement of its own: whoever was waited for may have removed the user. Who was announced again while they were removed is a user,
  // beside whom the removal stays: that statement had begun before it was there.
  const announced = `exists (
    select from scim_users as again
    where again.identity_provider_uid = scim_removals.identity_provider_uid and again.external_id = scim_removals.external_id)`;
  const removed = await rows.query(`select 1 from scim_removals where identity_uid = $1 and ${reaches} and not ${announced} limit 1`, [identityUid, group]);
  return removed.length > 0;
};

/** Whether this provider has deactivated the person by SCIM or removed them. Waits for nobody: what is dismissed behind this look ends what was there. */
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

/**
 * What SCIM says of a person who comes through this provider; undefined where SCIM is off, or says nothing. Who is "active" stays so until the
 * transaction ends.
 */
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
  // A statement of its own: whoever was waited for may have removed the user.
  const removed = await rows.query("select 1 from scim_removals where identity_provider_uid = $1 and identity_uid = $2", [identityProviderUid, identityUid]);
  return removed.length > 0 ? "removed" : undefined;
};
