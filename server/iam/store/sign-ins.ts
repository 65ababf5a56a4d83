// Sign-ins in progress. The callback of the identity provider takes the row, or the answer to the question that a page asks behind it.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, type Retention, text, type Write } from "#db";

export interface SignInRow {
  /** SHA-256 of the state that the provider sends back, and of what the browser's cookie holds. */
  readonly stateHash: string;
  readonly browserHash: string;
  readonly identityProviderUid: string;
  /** The client address that it was begun from, as ClientLimits.hashOf has it. */
  readonly addressHash: string;
  /** What the callback needs to know, sealed by the vault. */
  readonly sealed: string;
  /** Milliseconds since 1970. */
  readonly expireTimeMs: number;
}

const taken = columns<Pick<SignInRow, "sealed">>({ sealed: text });

export const insertSignIn = async (rows: Write, row: SignInRow): Promise<void> => {
  await rows.query(
    "insert into sign_ins (state_hash, browser_hash, identity_provider_uid, address_hash, sealed, expire_time) values ($1, $2, $3, $4, $5, $6)",
    [row.stateHash, row.browserHash, row.identityProviderUid, row.addressHash, row.sealed, timestamp(row.expireTimeMs)],
  );
};

/** Deletes the row that this browser has at this identity provider, unless it has expired. Of concurrent requests one gets it. */
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

/** Deletes some of the sign-ins that nobody came back from: the path is open, and each call of it leaves a row. */
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
