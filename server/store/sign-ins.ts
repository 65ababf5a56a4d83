// Sign-ins that are on their way: the browser is at the identity provider, and its callback takes the row.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, text } from "./columns.ts";
import type { Write } from "./handle.ts";
import { deleteRows, type Retention } from "./retention.ts";

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

const taken = columns<Pick<SignInRow, "identityProviderUid" | "sealed">>({ identityProviderUid: text, sealed: text });

export const insertSignIn = async (rows: Write, row: SignInRow): Promise<void> => {
  await rows.query(
    "insert into sign_ins (state_hash, browser_hash, identity_provider_uid, address_hash, sealed, expire_time) values ($1, $2, $3, $4, $5, $6)",
    [row.stateHash, row.browserHash, row.identityProviderUid, row.addressHash, row.sealed, timestamp(row.expireTimeMs)],
  );
};

/** Deletes the sign-in that this browser began, unless it has expired. Of all who ask for the same one, one gets it. */
export const takeSignIn = (
  rows: Write,
  stateHash: string,
  browserHash: string,
  nowMs: number,
): Promise<Pick<SignInRow, "identityProviderUid" | "sealed"> | undefined> =>
  taken.findOne(rows, `delete from sign_ins where state_hash = $1 and browser_hash = $2 and expire_time > $3 returning ${taken.list}`, [
    stateHash,
    browserHash,
    timestamp(nowMs),
  ]);

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
