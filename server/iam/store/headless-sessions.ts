// Table headless_sessions: tokens that wait for a client elsewhere, encrypted for its key.

import { timestamp } from "#base/time.ts";
import { columns, deleteRows, type Read, type Retention, text, type Write } from "#db";

export interface HeadlessSessionRow {
  /** SHA-256 of the client's public key. */
  readonly codeHash: string;
  /** ClientLimits.hashOf the client address. */
  readonly addressHash: string;
  /** The server's public key. */
  readonly ecdhPublicKey: string;
  /** Base64; only the client can decrypt it. */
  readonly encryptedToken: string;
  readonly expireTimeMs: number;
}

const taken = columns<Pick<HeadlessSessionRow, "ecdhPublicKey" | "encryptedToken">>({ ecdhPublicKey: text, encryptedToken: text });

/** Returns false if another sign-in has used this code. */
export const insertHeadlessSession = async (rows: Write, row: HeadlessSessionRow): Promise<boolean> => {
  const inserted = await rows.query(
    `insert into headless_sessions (code_hash, address_hash, ecdh_public_key, encrypted_token, expire_time)
     values ($1, $2, $3, $4, $5) on conflict (code_hash) do nothing returning 1`,
    [row.codeHash, row.addressHash, row.ecdhPublicKey, row.encryptedToken, timestamp(row.expireTimeMs)],
  );
  return inserted.length > 0;
};

export const hasHeadlessSession = async (rows: Read, codeHash: string): Promise<boolean> =>
  (await rows.query("select 1 from headless_sessions where code_hash = $1", [codeHash])).length > 0;

/** Deletes and returns an unexpired session. Only one of several concurrent calls gets it. */
export const takeHeadlessSession = (
  rows: Write,
  codeHash: string,
  nowMs: number,
): Promise<Pick<HeadlessSessionRow, "ecdhPublicKey" | "encryptedToken"> | undefined> =>
  taken.findOne(rows, `delete from headless_sessions where code_hash = $1 and expire_time > $2 returning ${taken.list}`, [codeHash, timestamp(nowMs)]);

export const deleteExpiredHeadlessSessions = async (rows: Write, nowMs: number): Promise<void> => {
  await rows.query("delete from headless_sessions where expire_time <= $1", [timestamp(nowMs)]);
};

export const headlessSessionsRetention: Retention = {
  table: "headless_sessions",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "headless_sessions", where: "expire_time <= $1", order: "expire_time" }, [timestamp(nowMs)]),
};
