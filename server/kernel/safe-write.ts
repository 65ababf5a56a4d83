// Safe writes (decisions): the transaction of a write with what makes it safe to repeat, to try out, and to race.
//
//   Idempotency-Key   the same key and request replays the first answer for 24 h; a concurrent duplicate waits for it
//   validateOnly      everything but the commit
//   If-Match          ABORTED (412) when the resource is no longer what the caller last saw
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

/** The ETag of a resource's JSON text. Its bytes decide, so an embedded summary that changed changes it too. */
export const etagOf = (json: string): string => `"${hash("sha256", json, "base64url").slice(0, 22)}"`;

/** Carries an outcome out of a transaction that must not commit. */
class ValidatedOnly extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super("validated only");
    this.outcome = outcome;
  }
}

/** The reply as it may be shown again, or before it is true: without what is shown only once. */
const withoutSecrets = (message: MessageFact, reply: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(reply).filter(([key]) => message.byName.get(key)?.shownOnce !== true));

/** The first answer to this key, or undefined when this is the first. Waits for one that is being made. */
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

/** The call's key; undefined where it has none, or nobody whose key it were. */
const idempotencyKeyOf = (call: Call, caller: string | undefined): IdempotencyKey | undefined => {
  const key = call.idempotencyKey;
  if (key === undefined) return undefined;
  if (key === "" || key.length > limits.idempotencyKeyLengthMax) {
    throw invalid([{ field: "idempotency-key", description: `must have 1 to ${limits.idempotencyKeyLengthMax} characters` }]);
  }
  return caller === undefined ? undefined : { caller, key };
};

/**
 * One write in one transaction.
 * @param given.caller the identity's uid; undefined for open operations, which keep no keys
 * @param given.confirm proves, ahead of all else in the transaction, that the caller's rights still hold
 * @param given.row the row that it changes, if it is one: others that change it wait for their turn without a connection
 * @param given.current the resource as it is now, for If-Match; undefined where the operation has none
 * @param work the write and its event
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
