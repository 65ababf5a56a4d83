// Table signing_keys. A rotation deletes keys that no valid token needs (signing/keys.ts).

import type { JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { type Binding, columns, json, nullableTimeMs, type Read, type RowOf, text, type Write } from "#db";

export const signingKeyPurpose = "signing-key";
export const signingKeyBinding = (kid: string): Binding => [kid];

export type SigningKeyRow = RowOf<typeof key>;

const key = columns({
  kid: text,
  publicJwk: json,
  /** Bound to the kid; the plain private key never touches the disk. */
  privateJwkSealed: text,
  /** Signs nothing after it; undefined if no replacement is planned. */
  retireTimeMs: nullableTimeMs("retire_time"),
});

export const listSigningKeys = (rows: Read): Promise<SigningKeyRow[]> => key.find(rows, `select ${key.list} from signing_keys order by create_time, kid`);

/** Locks the table. Call it before the first read, so that the second of two concurrent rotations sees the first one's result. */
export const lockSigningKeys = async (rows: Write): Promise<void> => {
  await rows.query("lock table signing_keys in share row exclusive mode");
};

export const hasUnretiredSigningKey = async (rows: Read): Promise<boolean> =>
  (await rows.query("select 1 from signing_keys where retire_time is null limit 1")).length > 0;

export const retireSigningKeys = async (rows: Write, retireTimeMs: number): Promise<void> => {
  await rows.query("update signing_keys set retire_time = $1 where retire_time is null", [timestamp(retireTimeMs)]);
};

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

/** Returns false if there are no keys. */
export const areSigningKeysOlder = async (rows: Read, timeMs: number): Promise<boolean> =>
  (await rows.query("select 1 from signing_keys having max(create_time) < $1", [timestamp(timeMs)])).length > 0;
