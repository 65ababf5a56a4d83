// The SCIM token of an identity provider: its state, and the three ways to change it. Its etag is a number that grows.

import type { Read, Row, Write } from "./handle.ts";

export interface ScimState {
  readonly enabled: boolean;
  readonly etag: string;
  /** A token was made, whatever has become of it. */
  readonly issued: boolean;
  readonly revoked: boolean;
  /** Milliseconds since 1970. Infinity: it never ends, or there is none. */
  readonly expireTimeMs: number;
  /** When the token before this one ends; undefined where there is none. */
  readonly previousExpireTimeMs: number | undefined;
}

const columns = `scim_enabled, scim_version, scim_token_create_time is not null, scim_token_create_time is not null and scim_token_hash is null,
  (extract(epoch from scim_token_expire_time) * 1000)::bigint, (extract(epoch from scim_previous_token_expire_time) * 1000)::bigint`;

const read = ([row]: readonly Row[]): ScimState | undefined => {
  if (!row) return undefined;
  const [enabled, etag, issued, revoked, expires, previous] = row;
  return {
    enabled: enabled === "t",
    etag: etag ?? "",
    issued: issued === "t",
    revoked: revoked === "t",
    expireTimeMs: expires ? Number(expires) : Number.POSITIVE_INFINITY,
    previousExpireTimeMs: previous ? Number(previous) : undefined,
  };
};

/** The state of this provider's token. */
export const findScim = async (rows: Read, uid: string): Promise<ScimState | undefined> =>
  read(await rows.query(`select ${columns} from identity_providers where uid = $1`, [uid]));

/** The same, and nobody else changes it until the transaction ends. */
export const lockScim = async (rows: Write, uid: string): Promise<ScimState | undefined> =>
  read(await rows.query(`select ${columns} from identity_providers where uid = $1 for update`, [uid]));

const change = async (rows: Write, uid: string, sets: string, values: readonly (string | boolean | null)[]): Promise<ScimState | undefined> =>
  read(await rows.query(`update identity_providers set scim_version = scim_version + 1, ${sets} where uid = $1 returning ${columns}`, [uid, ...values]));

/** A token as it is kept; times are RFC 3339. */
export interface ScimToken {
  readonly hash: string;
  readonly createTime: string;
  /** Null: it never ends. */
  readonly expireTime: string | null;
  /** Until when the token that is replaced works on; null: it ends now. */
  readonly previousExpireTime: string | null;
}

/** Puts a new token in the place of the one that is there. */
export const replaceScimToken = (rows: Write, uid: string, { hash, createTime, expireTime, previousExpireTime }: ScimToken): Promise<ScimState | undefined> =>
  change(
    rows,
    uid,
    `
    scim_previous_token_hash = case when $5::timestamptz is not null then scim_token_hash end, scim_previous_token_expire_time = $5::timestamptz,
    scim_token_hash = $2, scim_token_create_time = $3::timestamptz, scim_token_expire_time = $4::timestamptz`,
    [hash, createTime, expireTime, previousExpireTime],
  );

/** Ends the token and the one before it. */
export const revokeScimTokens = (rows: Write, uid: string): Promise<ScimState | undefined> =>
  change(rows, uid, "scim_token_hash = null, scim_token_expire_time = null, scim_previous_token_hash = null, scim_previous_token_expire_time = null", []);

export const enableScim = (rows: Write, uid: string, enabled: boolean): Promise<ScimState | undefined> => change(rows, uid, "scim_enabled = $2", [enabled]);

/** How many identities are bound in this very group with all that `role` gives, at `now`. */
export const countHolders = async (rows: Read, group: string, role: string, now: string): Promise<number> => {
  const [row] = await rows.query(
    `select count(distinct binding.identity_uid) from role_bindings as binding
     join roles as held on held.uid = binding.role_uid join roles as wanted on wanted.uid = $2
     where left(binding.uid, -17) = $1 and (binding.expire_time is null or binding.expire_time > $3) and held.capabilities @> wanted.capabilities`,
    [group, role, now],
  );
  return Number(row?.[0]);
};
