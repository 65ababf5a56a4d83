// Verifies an organization's chain in steps of bounded count and time. A sealed token carries the state from one request to the next.

import { isRecent, openToken, type Problem, sealToken, type VerifiedEntry, type VerifiedPart, type Verdict, verifyChain } from "#audit/log";
import { openFairQueue } from "#base/fair-queue.ts";
import { invalid, missing } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { isUid, rootOf } from "#base/uid.ts";
import { findRow } from "#db";
import type { Outcome, ReadContext } from "#kernel";

// A step reads through the queue of wide reads. Hashing also occupies the event loop, so an organization has one step at a time.
const turns = openFairQueue({
  name: "audit-verifications",
  what: "verifications of audit logs are requested",
  places: limits.verifyStepPlaces,
  placesEach: 1,
  placesAlone: 1,
  waiting: limits.verifyStepsWaiting,
  waitingEach: limits.verifyStepsWaitingEach,
  waitMs: limits.verifyStepWaitMs,
});

/** Returns the verified part that the request's token carries. Throws INVALID_ARGUMENT for a token of another log, a forged or an old one. */
const readToken = ({ services: { seal }, request, nowMs }: ReadContext, root: string): VerifiedPart | undefined => {
  const token = text(request, "continueToken");
  if (token === "") return undefined;
  const refuse = (description: string): Error => invalid([{ field: "continue_token", description }]);
  const part = openToken(seal, root, token);
  if (part === undefined) throw refuse("was not issued by this server for this organization; start again without it");
  if (!isRecent(part, nowMs)) throw refuse("has expired; start again without it");
  return part;
};

const entryOf = ({ sequence, sealTime, hash }: VerifiedEntry): JsonObject => ({ sequence: String(sequence), sealTime, hash });

/** A uid of the database is untrusted: anyone with access to it may have changed it. */
const problemOf = ({ description, sequence, uid = "" }: Problem): JsonObject => ({
  description,
  ...(sequence === undefined ? {} : { sequence: String(sequence) }),
  ...(isUid(uid) ? { entryUid: uid } : {}),
});

const stateOf = ({ problems, isUnfinished }: Verdict): string =>
  `AUDIT_VERIFICATION_STATE_${problems.length > 0 ? "NOT_INTACT" : isUnfinished ? "INTACT_SO_FAR" : "INTACT"}`;

const verifyStep = async ({ services: { seal }, request, rows, nowMs }: ReadContext, root: string, part: VerifiedPart | undefined): Promise<JsonObject> => {
  const endMs = performance.now() + limits.verifyStepMs;
  const verdict = await verifyChain(rows, seal, root, {
    part,
    bounds: {
      entriesMax: Number(request.maxEntries ?? limits.verifyStepMax),
      batchMax: limits.verifyStepBatch,
      cost: { rows: limits.verifyStepBatch, wide: true },
      isLate: () => performance.now() >= endMs,
    },
  });
  const { entries, span, last, problems, isUnfinished, sinceMs = nowMs } = verdict;
  return {
    organizationUid: root,
    state: stateOf(verdict),
    entryCount: String(entries),
    ...(span ? { firstEntry: entryOf(span.first), lastEntry: entryOf(span.last) } : {}),
    ...(last ? { endSequence: String(last.sequence) } : {}),
    ...(problems.length > 0 ? { problems: problems.map(problemOf) } : {}),
    ...(isUnfinished && span ? { continueToken: sealToken(seal, { root, first: span.first, last: span.last, entries, sinceMs }) } : {}),
    startTime: timestamp(sinceMs),
  };
};

export const verifyAuditEntries = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, method, caller } = context;
  const uid = text(request, "uid");
  const root = rootOf(uid);
  // A log is that of the whole organization, and so is the number of its entries.
  context.require(method.capabilities, root);
  if (!(await findRow(rows, { name: "groups", columns: ["uid"] }, uid))) throw missing("iam", "Group", uid);
  const part = readToken(context, root);
  const key = { organization: root, identity: caller?.uid ?? "" };
  if (!turns.tryAcquire(key)) await turns.wait(key);
  try {
    return { reply: await verifyStep(context, root, part) };
  } finally {
    turns.leave(key);
  }
};
