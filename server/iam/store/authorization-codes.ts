// Authorization codes (RFC 6749, 4.1.2), valid once. A used code is kept for the lifetime of an access token, so that a
// replay can revoke the grant.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, expression, flag, nullableText, type Read, type Retention, type RowOf, text, type Write } from "#db";

export interface AuthorizationCodeRow {
  /** Keyed by the vault. */
  readonly codeHash: string;
  /** From ClientLimits.hashOf. */
  readonly addressHash: string;
  /** Request and user, sealed by the vault. */
  readonly sealed: string;
  readonly expireTimeMs: number;
}

export type PresentedCode = RowOf<typeof presented>;

const presented = columns({
  sealed: text,
  /** Undefined if unused. */
  grantId: nullableText,
  isExpired: expression("expire_time <= $2::timestamptz", flag),
});

export const insertAuthorizationCode = async (rows: Write, row: AuthorizationCodeRow): Promise<void> => {
  await rows.query("insert into authorization_codes (code_hash, address_hash, sealed, expire_time) values ($1, $2, $3, $4)", [
    row.codeHash,
    row.addressHash,
    row.sealed,
    timestamp(row.expireTimeMs),
  ]);
};

export const hasAuthorizationCode = async (rows: Read, codeHash: string): Promise<boolean> =>
  (await rows.query("select 1 from authorization_codes where code_hash = $1", [codeHash])).length > 0;

/** Locks the code until the transaction ends, so that one concurrent redemption succeeds. */
export const lockAuthorizationCode = (rows: Write, codeHash: string, nowMs: number): Promise<PresentedCode | undefined> =>
  presented.findOne(rows, `select ${presented.list} from authorization_codes where code_hash = $1 for update`, [codeHash, timestamp(nowMs)]);

export const useAuthorizationCode = async (rows: Write, codeHash: string, grantId: string): Promise<void> => {
  await rows.query("update authorization_codes set grant_id = $2 where code_hash = $1", [codeHash, grantId]);
};

const sealedOnly = columns({ sealed: text });

/** Returns the sealed content of a code that is neither used nor expired. */
export const findOpenAuthorizationCode = async (rows: Read, codeHash: string, nowMs: number): Promise<string | undefined> =>
  (
    await sealedOnly.findOne(rows, `select ${sealedOnly.list} from authorization_codes where code_hash = $1 and expire_time > $2 and grant_id is null`, [
      codeHash,
      timestamp(nowMs),
    ])
  )?.sealed;

/** The same, and deletes the code: one of several concurrent calls gets it. */
export const takeAuthorizationCode = async (rows: Write, codeHash: string, nowMs: number): Promise<string | undefined> =>
  (
    await sealedOnly.findOne(
      rows,
      `delete from authorization_codes where code_hash = $1 and expire_time > $2 and grant_id is null returning ${sealedOnly.list}`,
      [codeHash, timestamp(nowMs)],
    )
  )?.sealed;

const endedAt = (nowMs: number): string => timestamp(nowMs - limits.accessTokenLifetimeMs);

/** Deletes a batch of codes, after the expiry of their access tokens. */
export const deleteSomeEndedAuthorizationCodes = async (rows: Write, nowMs: number): Promise<void> => {
  await rows.query(
    `delete from authorization_codes where code_hash in (
       select code_hash from authorization_codes where expire_time <= $1 order by expire_time limit ${limits.sweepRowsMax} for update skip locked)`,
    [endedAt(nowMs)],
  );
};

export const authorizationCodesRetention: Retention = {
  table: "authorization_codes",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "authorization_codes", where: "expire_time <= $1", order: "expire_time" }, [endedAt(nowMs)]),
};
