// Table refresh_tokens: a row for each family, that is, all refresh tokens of one sign-in. It stores only the latest token.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import {
  columns,
  deleteRows,
  expression,
  flag,
  nullableObject,
  nullableText,
  nullableTextList,
  type Read,
  type Retention,
  type RowOf,
  text,
  textList,
  timeMs,
  type Write,
} from "#db";

/** Claims that access tokens of the family cannot extend. */
export type RefreshTokenFamily = RowOf<typeof family>;

export interface RefreshTokenRow extends RefreshTokenFamily {
  readonly id: string;
  /** SHA-256. */
  readonly secretHash: string;
}

const familyColumns = {
  identityUid: text,
  identityProviderUid: text,
  audience: textList,
  act: { read: (value: string | null) => Object.fromEntries(Object.entries(nullableObject.read(value) ?? {}).map(([name, each]) => [name, String(each)])) },
  email: nullableText,
  /** Undefined if not restricted. */
  capabilities: nullableTextList,
  scopes: nullableTextList,
  /** The client that the token was issued to (RFC 6749, 6); undefined if it has no ID. */
  client: nullableText,
  createTimeMs: timeMs("create_time"),
  expireTimeMs: timeMs("expire_time"),
};

const family = columns(familyColumns);

/** Returns false if the identity or provider no longer exists, so that no row outlives them. */
export const insertRefreshToken = async (rows: Write, row: RefreshTokenRow): Promise<boolean> => {
  const inserted = await rows.query(
    `with person as (select 1 from identities where uid = $3 for key share), provider as (select 1 from identity_providers where uid = $4 for key share)
     insert into refresh_tokens (
       id, secret_hash, identity_uid, identity_provider_uid, audience, act, email, capabilities, scopes, client, create_time, expire_time)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 from person, provider returning id`,
    [
      row.id,
      row.secretHash,
      row.identityUid,
      row.identityProviderUid,
      JSON.stringify(row.audience),
      JSON.stringify(row.act),
      row.email ?? null,
      row.capabilities ? JSON.stringify(row.capabilities) : null,
      row.scopes ? JSON.stringify(row.scopes) : null,
      row.client ?? null,
      timestamp(row.createTimeMs),
      timestamp(row.expireTimeMs),
    ],
  );
  return inserted.length > 0;
};

/**
 * Returns undefined if the secret is not the latest, has expired, or was issued to another client. The new token expires at
 * `expireTimeMs`, but within the family's lifetime.
 */
export const replaceRefreshTokenSecret = (
  rows: Write,
  change: {
    readonly id: string;
    readonly secretHash: string;
    readonly nextSecretHash: string;
    /** As the request states it. */
    readonly client: string | undefined;
    readonly nowMs: number;
    readonly expireTimeMs: number;
  },
): Promise<RefreshTokenFamily | undefined> =>
  family.findOne(
    rows,
    `update refresh_tokens set secret_hash = $3, expire_time = least($5::timestamptz, date_trunc('second', create_time + $6 * interval '1 millisecond'))
     where id = $1 and secret_hash = $2 and expire_time > $4::timestamptz and (client is null or client = $7)
       and exists (select 1 from identities where uid = identity_uid)
     returning ${family.list}`,
    [
      change.id,
      change.secretHash,
      change.nextSecretHash,
      timestamp(change.nowMs),
      timestamp(change.expireTimeMs),
      limits.refreshFamilyLifetimeMs,
      change.client ?? null,
    ],
  );

const renewed = columns({ ...familyColumns, secretHash: text });

/** Returns and locks a live family whose latest secret is one of these. */
export const findRenewedFamily = (
  rows: Write,
  wanted: { readonly id: string; readonly secretHashes: readonly string[]; readonly client: string | undefined; readonly nowMs: number },
): Promise<(RefreshTokenFamily & { readonly secretHash: string }) | undefined> =>
  renewed.findOne(
    rows,
    `select ${renewed.list} from refresh_tokens where id = $1 and secret_hash = any($2::text[]) and expire_time > $3::timestamptz and client = $4
       and exists (select 1 from identities where uid = identity_uid) for update`,
    [wanted.id, wanted.secretHashes, timestamp(wanted.nowMs), wanted.client ?? null],
  );

export const findRefreshToken = (rows: Read, id: string): Promise<RefreshTokenFamily | undefined> =>
  family.findOne(rows, `select ${family.list} from refresh_tokens where id = $1`, [id]);

const deleted = columns({ identityUid: text, client: nullableText, isLive: expression("expire_time > $2::timestamptz", flag) });

/** Deletes and returns a family. `isLive`: its latest token had not expired at `nowMs`. */
export const deleteRefreshToken = (
  rows: Write,
  id: string,
  nowMs: number,
): Promise<{ readonly identityUid: string; readonly client: string | undefined; readonly isLive: boolean } | undefined> =>
  deleted.findOne(rows, `delete from refresh_tokens where id = $1 returning ${deleted.list}`, [id, timestamp(nowMs)]);

const ended = columns({ id: text, client: nullableText });

export const deleteRefreshTokensThrough = (
  rows: Write,
  identityProviderUid: string,
  identityUid: string,
): Promise<{ readonly id: string; readonly client: string | undefined }[]> => {
  const statement = `delete from refresh_tokens where identity_uid = $2 and identity_provider_uid = $1 returning ${ended.list}`;
  return ended.find(rows, statement, [identityProviderUid, identityUid]);
};

export const refreshTokensRetention: Retention = {
  table: "refresh_tokens",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "refresh_tokens", where: "expire_time < $1", order: "expire_time" }, [timestamp(nowMs)]),
};
