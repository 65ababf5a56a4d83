// Table identities: lookups for authentication. The kernel reads and writes the rows of the resource.

import type { JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { columns, expression, nullableObject, nullableTimeMs, type Read, type RowOf, text, type Write } from "#db";

/** The fields that decide which credentials may act as an identity. */
export type Identity = RowOf<typeof identity>;

const identity = columns({
  uid: text,
  /** RELATIONSHIP_TYPE_…; UNSPECIFIED is a user. */
  relationship: expression("relationship_type", text),
  claimMatch: nullableObject,
  staticKeys: nullableObject,
  awsIdentity: nullableObject,
  issuer: text,
  subject: text,
  /** Undefined if it never expires. */
  expireTimeMs: nullableTimeMs("expire_time"),
});

export const findIdentity = (rows: Read, uid: string): Promise<Identity | undefined> =>
  identity.findOne(rows, `select ${identity.list} from identities where uid = $1`, [uid]);

const emailOnly = columns({ email: text });

/** Returns the email address from the identity's issuer, or "". */
export const findIdentityEmail = async (rows: Read, uid: string): Promise<string> =>
  (await emailOnly.findOne(rows, `select ${emailOnly.list} from identities where uid = $1`, [uid]))?.email ?? "";

const nameOnly = columns({ name: text });

/** Returns "" if there is no such identity. */
export const findIdentityName = async (rows: Read, uid: string): Promise<string> =>
  (await nameOnly.findOne(rows, `select ${nameOnly.list} from identities where uid = $1`, [uid]))?.name ?? "";

export const hasIdentity = async (rows: Read, uid: string): Promise<boolean> => (await rows.query("select 1 from identities where uid = $1", [uid])).length > 0;

/**
 * Returns whether a user is registered with one of these spellings of an issuer; only then may it authenticate users. Other identities of
 * the issuer may precede them in the index; that costs one walk.
 */
export const hasPersonOfIssuer = async (rows: Read, spellings: readonly string[]): Promise<boolean> => {
  const found = await rows.query(
    `select 1 from identities where issuer = any($1) and length(uid) = 40
       and relationship_type = 'RELATIONSHIP_TYPE_UNSPECIFIED' limit 1`,
    [spellings],
  );
  return found.length > 0;
};

const issuerPattern = columns({ uid: text, pattern: expression("claim_match ->> 'issuerPattern'", text) });
const issuerPatternsMax = 1_000;

/** Returns a page of issuer patterns after `last`, by uid. */
export const findIssuerPatterns = (rows: Read, last: string): Promise<{ readonly uid: string; readonly pattern: string }[]> =>
  issuerPattern.find(
    rows,
    `select ${issuerPattern.list} from identities where claim_match ->> 'issuerPattern' <> '' and uid > $1 order by uid limit ${issuerPatternsMax}`,
    [last],
  );

const patternHolder = columns({ uid: text, claimMatch: nullableObject, awsIdentity: nullableObject });
/** Each may have 64 patterns of 1 KiB: at most 16 MiB in one page. */
const patternHoldersMax = 250;

/** Returns a page of identities after `last`, by uid, with the fields that may contain patterns. */
export const findPatternHolders = (
  rows: Read,
  last: string,
): Promise<{ readonly uid: string; readonly claimMatch: JsonObject | undefined; readonly awsIdentity: JsonObject | undefined }[]> =>
  patternHolder.find(rows, `select ${patternHolder.list} from identities where uid > $1 order by uid limit ${patternHoldersMax}`, [last]);

/** Skips the update if a concurrent transaction has locked the row. */
export const updateLastSeen = async (rows: Write, uid: string, nowMs: number): Promise<void> => {
  await rows.query(
    `update identities set last_seen_time = $2 where uid = (
       select uid from identities
       where uid = $1 and (last_seen_time is null or last_seen_time < $2) for update skip locked)`,
    [uid, timestamp(nowMs)],
  );
};

/** Prevents deletion of both until the transaction ends; returns false if one does not exist. */
export const lockPersonAndProvider = async (rows: Write, personUid: string, providerUid: string): Promise<boolean> => {
  const found = await rows.query(
    "select 1 from identities as person, identity_providers as provider where person.uid = $1 and provider.uid = $2 for key share",
    [personUid, providerUid],
  );
  return found.length > 0;
};

const uidOnly = columns({ uid: text });

/**
 * Returns the users with a binding in or below these paths in organizations that they have joined, and `self` if it is a user. A user's
 * uid is below no group, so bindings decide visibility. EVERYWHERE selects all.
 * @param only restricts the result to this uid
 */
export const findBoundPeople = async (rows: Read, paths: readonly string[], self: string, only: string | undefined): Promise<string[]> => {
  const found = await uidOnly.find(
    rows,
    `select ${uidOnly.list} from identities where length(uid) = 40 and ($4::text is null or uid = $4) and (uid = $3 or uid in (
       select identity_uid from role_bindings join unnest($1::text[], $2::text[]) as place(low, high)
       on uid >= place.low and uid < place.high where length(identity_uid) = 40 and ($4::text is null or identity_uid = $4)
       and (place.low = '' or exists (
         select from memberships where memberships.identity_uid = role_bindings.identity_uid and organization_uid = left(role_bindings.uid, 40)))))`,
    [paths, paths.map((path) => (path === "" ? "~" : `${path}0`)), self, only ?? null],
  );
  return found.map(({ uid }) => uid);
};

/**
 * Returns the identities that tokens of this issuer and subject match: users first, then those in or below these paths. At most three,
 * because more than one is an error. EVERYWHERE selects all.
 */
export const findIdentitiesOf = async (rows: Read, issuer: string, subject: string, paths: readonly string[]): Promise<string[]> => {
  const found = await uidOnly.find(
    rows,
    `select ${uidOnly.list} from identities where issuer = $1 and subject = $2 and (length(uid) = 40 or exists (
       select from unnest($3::text[], $4::text[]) as place(low, high) where uid >= place.low and uid < place.high))
     order by length(uid) > 40, uid limit 3`,
    [issuer, subject, paths, paths.map((path) => (path === "" ? "~" : `${path}0`))],
  );
  return found.map(({ uid }) => uid);
};

export const writeOperator = async (rows: Write, uid: string, now: string): Promise<void> => {
  await rows.query(
    `insert into identities (uid, name, description, last_seen_time, create_time, update_time)
     values ($1, 'operator', 'Whoever runs this server', $2, $2, $2) on conflict do nothing`,
    [uid, now],
  );
};
