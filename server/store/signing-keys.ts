// Table signing_keys: the keys that sign Gantry's tokens. A rotation deletes keys that no valid token needs (authn/keys.ts).

import type { Json, JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { columns, json, nullableTimeMs, text } from "./columns.ts";
import type { Read, Write } from "./handle.ts";
import type { SealedColumn } from "./sealed-column.ts";
import type { Binding } from "./vault.ts";

/** Purpose of sealed private keys, and their binding to a row. */
export const signingKeyPurpose = "signing-key";
export const signingKeyBinding = (kid: string): Binding => [kid];
export const signingKeyColumn: SealedColumn = {
  table: "signing_keys",
  key: "kid",
  column: "private_jwk_sealed",
  purpose: signingKeyPurpose,
  boundTo: "array[kid]",
};

export interface SigningKeyRow {
  readonly kid: string;
  /** A JSON Web Key. */
  readonly publicJwk: Json;
  /** Sealed by the vault for signingKeyPurpose, bound to the kid; the plain private key never touches the disk. */
  readonly privateJwkSealed: string;
  /** Unix ms after which it signs nothing; undefined if no replacement is planned. */
  readonly retireTimeMs: number | undefined;
}

const key = columns<SigningKeyRow>({ kid: text, publicJwk: json, privateJwkSealed: text, retireTimeMs: nullableTimeMs("retire_time") });

/** Returns all keys, oldest first. */
export const listSigningKeys = (rows: Read): Promise<SigningKeyRow[]> => key.find(rows, `select ${key.list} from signing_keys order by create_time, kid`);

/**
 * Locks the table against other rotations until the transaction ends. Call it before the first read, so that the second of two concurrent
 * starts or rotations sees the first one's result.
 */
export const lockSigningKeys = async (rows: Write): Promise<void> => {
  await rows.query("lock table signing_keys in share row exclusive mode");
};

/** Returns whether some key has no retire time. */
export const hasUnretiredSigningKey = async (rows: Read): Promise<boolean> =>
  (await rows.query("select 1 from signing_keys where retire_time is null limit 1")).length > 0;

/** Sets the retire time of every key that has none. */
export const retireSigningKeys = async (rows: Write, retireTimeMs: number): Promise<void> => {
  await rows.query("update signing_keys set retire_time = $1 where retire_time is null", [timestamp(retireTimeMs)]);
};

/** Deletes the keys that retired by `untilMs`. */
export const deleteRetiredSigningKeys = async (rows: Write, untilMs: number): Promise<void> => {
  await rows.query("delete from signing_keys where retire_time <= $1", [timestamp(untilMs)]);
};

export const insertSigningKey = async (
  rows: Write,
  { kid, publicJwk, privateJwkSealed, createTimeMs }: { kid: string; publicJwk: JsonObject; privateJwkSealed: string; createTimeMs: number },
): Promise<void> => {
  await rows.query("insert into signing_keys (kid, public_jwk, private_jwk_sealed, create_time) values ($1, $2, $3, $4)", [
    kid,
    JSON.stringify(publicJwk),
    privateJwkSealed,
    timestamp(createTimeMs),
  ]);
};

/** Returns whether there are keys and all were created before `timeMs`. */
export const areSigningKeysOlder = async (rows: Read, timeMs: number): Promise<boolean> =>
  (await rows.query("select 1 from signing_keys having max(create_time) < $1", [timestamp(timeMs)])).length > 0;
