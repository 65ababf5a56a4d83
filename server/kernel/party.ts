// For whom work is done: what shares count by (base/fair-queue.ts).

import type { Caller } from "#authn";
import type { Rights } from "#authz";
import { EVERYWHERE, rootOf } from "#base/uid.ts";
import type { FairQueueLimits, Party } from "#base/fair-queue.ts";
import { limits } from "#base/limits.ts";

/** Whoever calls an open operation: there is no organization yet. */
export const strangers: Party = { organization: "strangers", identity: "" };

/** The caller, where it is at home. */
export const callingParty = ({ uid }: Caller): Party => ({ organization: rootOf(uid), identity: uid });

/**
 * The organization in which a call acts, whoever calls: what is done to an organization's rows counts as its own. Without
 * a path it is where the caller's rights begin, since people are at home in no organization.
 */
export const actingParty = ({ uid }: Caller, { grants }: Rights, path: string | undefined): Party => {
  const place = path || grants[0]?.path || EVERYWHERE;
  return { organization: rootOf(place === EVERYWHERE ? uid : place), identity: uid };
};

/** Calls under way: enough for pipelines to be full, few enough that what one organization has under way is soon done. */
export const requestTurns: FairQueueLimits = {
  name: "organization-requests",
  what: "requests are made",
  places: limits.requestsUnderWay,
  placesEach: limits.requestsUnderWayEach,
  waiting: limits.requestsWaiting,
  waitingEach: limits.requestsWaitingEach,
  waitMs: limits.turnWaitMs,
};
