// The OpenPGP keys that sign published documents. Kept for good, retired ones too: who keeps a document keeps its signature.

import { timestamp } from "#base/time.ts";
import { type Binding, columns, nullableTimeMs, type Read, text, timeMs, type Write } from "#db";

/** What private keys are sealed for, and to which row. */
export const documentKeyPurpose = "document-signing-key";
export const documentKeyBinding = (fingerprint: string): Binding => [fingerprint];

export interface DocumentKeyRow {
  readonly fingerprint: string;
  /** Armored. */
  readonly publicKey: string;
  /** Sealed by the vault for documentKeyPurpose, bound to the fingerprint. */
  readonly privateKeySealed: string;
  readonly createTimeMs: number;
  /** From then on it signs nothing; undefined: nothing replaces it yet. */
  readonly retireTimeMs: number | undefined;
}

const key = columns<DocumentKeyRow>({
  fingerprint: text,
  publicKey: text,
  privateKeySealed: text,
  createTimeMs: timeMs("create_time"),
  retireTimeMs: nullableTimeMs("retire_time"),
});

/** Every key, the newest first; operators make one a year at most. */
export const listDocumentKeys = (rows: Read): Promise<DocumentKeyRow[]> =>
  key.find(rows, `select ${key.list} from document_signing_keys order by create_time desc, fingerprint limit 100`);

/** False where there is one that signs: of two servers that need the first one at once, the second takes the other's. */
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
