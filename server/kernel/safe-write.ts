// Safe writes (decisions): the transaction of a write with support for retries, dry runs and races.
//
//   Idempotency-Key   the same key and request replays the first response for 24 h; a concurrent duplicate waits for it
//   validateOnly      everything but the commit
//   If-Match          ABORTED (412) if the resource has changed since the caller read it
//   ETag              of every single resource that is read or changed

import { hash } from "node:crypto";
import { Fault, invalid } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { matchesEtag } from "#base/etag.ts";
import { deleteExpiredKey, findFirstAnswer, type IdempotencyKey, insertKey, type Rows, updateFirstAnswer, type Write } from "#db";
import type { MessageFact } from "#contract/facts.ts";
import type { Call } from "./call.ts";
import { requestDigestOf } from "./request-digest.ts";
import type { Outcome } from "./context.ts";

/** Returns the ETag of a resource's JSON text, which includes embedded summaries. */
export const etagOf = (json: string): string => `"${hash("sha256", json, "base64url").slice(0, 22)}"`;

class ValidatedOnly extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super("validated only");
    this.outcome = outcome;
  }
}

const withoutSecrets = (message: MessageFact, reply: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(reply).filter(([key]) => message.byName.get(key)?.shownOnce !== true));

/** Returns the first response to this key; undefined for the first call. Waits for a concurrent one. */
const claimKey = async (rows: Write, key: IdempotencyKey, call: Call, nowMs: number): Promise<Outcome | undefined> => {
  await deleteExpiredKey(rows, key, nowMs);
  const digest = requestDigestOf(call);
  if (await insertKey(rows, key, { method: call.method.name, digest }, nowMs)) return undefined;
  const first = await findFirstAnswer(rows, key);
  if (first?.requestDigest !== digest) throw invalid([{ field: "idempotency-key", description: "was used for a different request. Use a new key" }]);
  const leftOut = call.method.output.fields.filter(({ shownOnce }) => shownOnce).map(({ json }) => json);
  return {
    reply: first.reply,
    unchanged: true,
    headers: { "gantry-replayed": "true", ...(leftOut.length > 0 ? { "gantry-left-out": leftOut.join(", ") } : {}) },
  };
};

const idempotencyKeyOf = (call: Call, caller: string | undefined): IdempotencyKey | undefined => {
  const key = call.idempotencyKey;
  if (key === undefined) return undefined;
  if (key === "" || key.length > limits.idempotencyKeyLengthMax) {
    throw invalid([{ field: "idempotency-key", description: `must have 1 to ${limits.idempotencyKeyLengthMax} characters` }]);
  }
  return caller === undefined ? undefined : { caller, key };
};

/**
 * Runs one write in one transaction.
 * @param given.caller the identity's uid; undefined for open operations, which keep no keys
 * @param given.confirm proves the caller's rights, first in the transaction
 * @param given.row the only row that changes, if so: concurrent changes queue without a connection
 * @param given.current reads the resource, for If-Match
 */
export const writeSafely = async (
  store: Rows,
  call: Call,
  given: {
    readonly caller: string | undefined;
    readonly nowMs: number;
    readonly row: string | undefined;
    readonly confirm: (rows: Write) => void;
    readonly current: ((rows: Write) => Promise<JsonObject>) | undefined;
  },
  work: (rows: Write) => Promise<Outcome>,
): Promise<Outcome> => {
  const key = idempotencyKeyOf(call, given.caller);
  try {
    return await store.write(async (rows) => {
      given.confirm(rows);
      const replayed = key && (await claimKey(rows, key, call, given.nowMs));
      if (replayed) return replayed;
      if (call.ifMatch !== undefined && given.current) {
        const etag = etagOf(JSON.stringify(await given.current(rows)));
        if (!matchesEtag(call.ifMatch, etag)) {
          throw new Fault("ABORTED", "the resource has changed since you read it. Read it again", { httpStatus: 412, headers: { etag } });
        }
      }
      const outcome = await work(rows);
      if (call.validateOnly) throw new ValidatedOnly(outcome);
      if (key) await updateFirstAnswer(rows, key, withoutSecrets(call.method.output, outcome.reply));
      return outcome;
    }, given.row);
  } catch (thrown) {
    if (thrown instanceof ValidatedOnly)
      return { reply: withoutSecrets(call.method.output, thrown.outcome.reply), headers: { ...thrown.outcome.headers, "gantry-validate-only": "true" } };
    throw thrown;
  }
};
