// Authorization codes (RFC 6749, 4.1.2): from the end of a sign-in until their client comes with them, once. A used one is
// kept for as long as an access token may live, so that whoever comes with it again ends what it gave.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, expression, flag, nullableText, type Read, type Retention, text, type Write } from "#db";

export interface AuthorizationCodeRow {
  /** Keyed hash of the code, by the vault. */
  readonly codeHash: string;
  /** The client address of the sign-in, as ClientLimits.hashOf has it. */
  readonly addressHash: string;
  /** What was asked for and who signed in, sealed by the vault. */
  readonly sealed: string;
  /** Milliseconds since 1970. */
  readonly expireTimeMs: number;
}

export interface PresentedCode {
  readonly sealed: string;
  /** What it gave; undefined where it was not used before. */
  readonly grantId: string | undefined;
  readonly isExpired: boolean;
}

const presented = columns<PresentedCode>({
  sealed: text,
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

/** The code as it was before, locked until the transaction ends: of all who come with it at the same moment one is first. */
export const lockAuthorizationCode = (rows: Write, codeHash: string, nowMs: number): Promise<PresentedCode | undefined> =>
  presented.findOne(rows, `select ${presented.list} from authorization_codes where code_hash = $1 for update`, [codeHash, timestamp(nowMs)]);

/** Writes down that the code was used, and for what. */
export const useAuthorizationCode = async (rows: Write, codeHash: string, grantId: string): Promise<void> => {
  await rows.query("update authorization_codes set grant_id = $2 where code_hash = $1", [codeHash, grantId]);
};

const endedAt = (nowMs: number): string => timestamp(nowMs - limits.accessTokenLifetimeMs);

/** Deletes some of the codes that ended so long ago that nothing they gave is left but a refresh token. */
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
