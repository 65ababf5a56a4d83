// Table idempotency_keys: the first response to each key of a caller (decisions: Safe writes).

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { type Column, columns, nullableObject, text } from "./columns.ts";
import type { Read, Write } from "./handle.ts";
import { deleteRows, type Retention } from "./retention.ts";

export interface IdempotencyKey {
  readonly caller: string;
  readonly key: string;
}

export interface FirstAnswer {
  /** Of the first request. */
  readonly requestDigest: string;
  /** Empty if that transaction stored none. */
  readonly reply: JsonObject;
}

const reply: Column<JsonObject> = { read: (value) => nullableObject.read(value) ?? {} };

const firstAnswer = columns<FirstAnswer>({ requestDigest: text, reply });

const keptSince = (nowMs: number): string => timestamp(nowMs - limits.idempotencyLifetimeMs);

/** Deletes an expired key, so that it can be reused. */
export const deleteExpiredKey = async (rows: Write, { caller, key }: IdempotencyKey, nowMs: number): Promise<void> => {
  await rows.query("delete from idempotency_keys where caller = $1 and key = $2 and create_time < $3", [caller, key, keptSince(nowMs)]);
};

/** Returns false if it exists. Waits for a transaction that is inserting it. */
export const insertKey = async (
  rows: Write,
  { caller, key }: IdempotencyKey,
  request: { readonly method: string; readonly digest: string },
  nowMs: number,
): Promise<boolean> => {
  const inserted = await rows.query(
    `insert into idempotency_keys (caller, key, method, request_digest, create_time) values ($1, $2, $3, $4, $5)
     on conflict do nothing returning 1`,
    [caller, key, request.method, request.digest, timestamp(nowMs)],
  );
  return inserted.length > 0;
};

export const findFirstAnswer = (rows: Read, { caller, key }: IdempotencyKey): Promise<FirstAnswer | undefined> =>
  firstAnswer.findOne(rows, `select ${firstAnswer.list} from idempotency_keys where caller = $1 and key = $2`, [caller, key]);

export const updateFirstAnswer = async (rows: Write, { caller, key }: IdempotencyKey, answer: JsonObject): Promise<void> => {
  await rows.query("update idempotency_keys set reply = $3 where caller = $1 and key = $2", [caller, key, JSON.stringify(answer)]);
};

export const idempotencyKeysRetention: Retention = {
  table: "idempotency_keys",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "idempotency_keys", where: "create_time < $1", order: "create_time" }, [keptSince(nowMs)]),
};
