// The keys that sign our tokens. How long one is kept follows from the tokens that it signed: a rotation deletes those
// that nobody needs any more (authn/keys.ts).

import type { Json, JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { type Binding, columns, json, nullableTimeMs, type Read, text, type Write } from "#db";

/** What private keys are sealed for, and to which row. */
export const signingKeyPurpose = "signing-key";
export const signingKeyBinding = (kid: string): Binding => [kid];

export interface SigningKeyRow {
  readonly kid: string;
  /** A JSON Web Key. */
  readonly publicJwk: Json;
  /** Sealed by the vault for signingKeyPurpose, bound to the kid; the private key as it is never touches the disk. */
  readonly privateJwkSealed: string;
  /** From then on it signs nothing, in milliseconds since 1970; undefined: nothing is to replace it yet. */
  readonly retireTimeMs: number | undefined;
}

const key = columns<SigningKeyRow>({ kid: text, publicJwk: json, privateJwkSealed: text, retireTimeMs: nullableTimeMs("retire_time") });

/** Every key, the oldest first. */
export const listSigningKeys = (rows: Read): Promise<SigningKeyRow[]> => key.find(rows, `select ${key.list} from signing_keys order by create_time, kid`);

/**
 * Waits until nobody else adds a key, and keeps everybody else waiting until the transaction ends. It comes before the
 * first look at the table: of two servers that start at once, or two operators that rotate at once, the second sees
 * what the first one did.
 */
export const lockSigningKeys = async (rows: Write): Promise<void> => {
  await rows.query("lock table signing_keys in share row exclusive mode");
};

/** True where some key signs until further notice. */
export const hasUnretiredSigningKey = async (rows: Read): Promise<boolean> =>
  (await rows.query("select 1 from signing_keys where retire_time is null limit 1")).length > 0;

/** Lets every key that signs until further notice sign until `retireTimeMs`. */
export const retireSigningKeys = async (rows: Write, retireTimeMs: number): Promise<void> => {
  await rows.query("update signing_keys set retire_time = $1 where retire_time is null", [timestamp(retireTimeMs)]);
};

/** Deletes the keys that retired until then. */
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

/** True where there are keys and all of them were made before `timeMs`. */
export const areSigningKeysOlder = async (rows: Read, timeMs: number): Promise<boolean> =>
  (await rows.query("select 1 from signing_keys having max(create_time) < $1", [timestamp(timeMs)])).length > 0;
