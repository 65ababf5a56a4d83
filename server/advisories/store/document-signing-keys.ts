// OpenPGP keys that sign published documents. Retired keys are kept, to verify old signatures.

import { timestamp } from "#base/time.ts";
import { type Binding, columns, nullableTimeMs, type Read, type RowOf, text, timeMs, type Write } from "#db";

export const documentKeyPurpose = "document-signing-key";
export const documentKeyBinding = (fingerprint: string): Binding => [fingerprint];

export type DocumentKeyRow = RowOf<typeof key>;

const key = columns({
  fingerprint: text,
  /** ASCII-armored. */
  publicKey: text,
  /** Sealed for documentKeyPurpose, bound to the fingerprint. */
  privateKeySealed: text,
  createTimeMs: timeMs("create_time"),
  /** Undefined for the current key. */
  retireTimeMs: nullableTimeMs("retire_time"),
});

/** Newest first; operators create at most one a year. */
export const listDocumentKeys = (rows: Read): Promise<DocumentKeyRow[]> =>
  key.find(rows, `select ${key.list} from document_signing_keys order by create_time desc, fingerprint limit 100`);

/** Returns false if an active key exists, which the losing server of a race then uses. */
export const insertDocumentKey = async (
  rows: Write,
  { fingerprint, publicKey, privateKeySealed, createTimeMs }: Omit<DocumentKeyRow, "retireTimeMs">,
): Promise<boolean> => {
  const made = await rows.query(
    `insert into document_signing_keys (fingerprint, public_key, private_key_sealed, create_time) values ($1, $2, $3, $4)
     on conflict ((true)) where retire_time is null do nothing returning 1`,
    [fingerprint, publicKey, privateKeySealed, timestamp(createTimeMs)],
  );
  return made.length > 0;
};
