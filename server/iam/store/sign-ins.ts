// Table sign_ins: sign-ins in progress, consumed by the callback or the form it shows.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, type Retention, text, type Write } from "#db";

export interface SignInRow {
  /** SHA-256 of the state and of the browser's cookie. */
  readonly stateHash: string;
  readonly browserHash: string;
  readonly identityProviderUid: string;
  /** ClientLimits.hashOf the client address. */
  readonly addressHash: string;
  readonly sealed: string;
  readonly expireTimeMs: number;
}

const taken = columns<Pick<SignInRow, "sealed">>({ sealed: text });

export const insertSignIn = async (rows: Write, row: SignInRow): Promise<void> => {
  await rows.query(
    "insert into sign_ins (state_hash, browser_hash, identity_provider_uid, address_hash, sealed, expire_time) values ($1, $2, $3, $4, $5, $6)",
    [row.stateHash, row.browserHash, row.identityProviderUid, row.addressHash, row.sealed, timestamp(row.expireTimeMs)],
  );
};

/** Deletes and returns an unexpired sign-in. Only one of several concurrent requests gets it. */
export const takeSignIn = (
  rows: Write,
  { stateHash, browserHash, identityProviderUid }: Pick<SignInRow, "stateHash" | "browserHash" | "identityProviderUid">,
  nowMs: number,
): Promise<Pick<SignInRow, "sealed"> | undefined> =>
  taken.findOne(
    rows,
    `delete from sign_ins where state_hash = $1 and browser_hash = $2 and identity_provider_uid = $3 and expire_time > $4 returning ${taken.list}`,
    [stateHash, browserHash, identityProviderUid, timestamp(nowMs)],
  );

/** Deletes some expired sign-ins. The path is public, and each request inserts a row. */
export const deleteSomeExpiredSignIns = async (rows: Write, nowMs: number): Promise<void> => {
  await rows.query(
    `delete from sign_ins where state_hash in (
       select state_hash from sign_ins where expire_time <= $1 order by expire_time limit ${limits.sweepRowsMax} for update skip locked)`,
    [timestamp(nowMs)],
  );
};

export const signInsRetention: Retention = {
  table: "sign_ins",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "sign_ins", where: "expire_time < $1", order: "expire_time" }, [timestamp(nowMs)]),
};
