// For whom work is done: what shares count by (base/fair-queue.ts).

import type { Caller } from "#authn";
import type { Rights } from "#authz";
import { EVERYWHERE, rootOf } from "#base/uid.ts";
import { type FairQueue, type FairQueueLimits, openFairQueue, type Party } from "#base/fair-queue.ts";
import type { MethodFact } from "#contract/facts.ts";
import { limits } from "#base/limits.ts";
import { networkOf } from "#base/origin.ts";
import type { Services } from "./context.ts";

/** Whoever calls an open operation, by the address of its origin: there is no organization yet, and addresses take turns. */
export const strangerAt = (address: string): Party => ({ organization: "strangers", identity: networkOf(address) });

// A verified token always gives the same caller: its texts are made once, and looked up by the same digests.
const parties = new WeakMap<Caller, Party>();

/** The caller, where it is at home. */
export const callingParty = (caller: Caller): Party => {
  const known = parties.get(caller);
  if (known) return known;
  const party: Party = { organization: rootOf(caller.uid), identity: caller.uid };
  parties.set(caller, party);
  return party;
};

/**
 * The organization in which a call acts, whoever calls: what is done to an organization's rows counts as its own. Without
 * a path it is where the caller's rights begin, since people are at home in no organization.
 */
export const actingParty = (caller: Caller, { grants }: Rights, path: string | undefined): Party => {
  const home = callingParty(caller);
  const place = path || grants[0]?.path || EVERYWHERE;
  return place === EVERYWHERE || place.startsWith(home.organization) ? home : { organization: rootOf(place), identity: home.identity };
};

/** The turns of calls. Of each kind by itself, so that an organization's gets never wait behind its own lists and writes. */
export const openCallTurns = ({ metrics, siblings: { share } }: Pick<Services, "metrics" | "siblings">): ((method: MethodFact) => FairQueue) => {
  /** What one kind of calls may have under way: little enough that what one organization has under way is soon done. */
  const turnsOf = (name: string, what: string, placesEach: number): FairQueueLimits => ({
    name,
    what,
    places: share(limits.callsUnderWay),
    placesEach,
    placesAlone: placesEach,
    waiting: share(limits.callsWaiting),
    waitingEach: share(limits.callsWaitingEach),
    waitMs: limits.turnWaitMs,
  });
  // Not divided: what it bounds is how long one organization may keep an event loop from others, and each process has its own.
  const gets = openFairQueue(turnsOf("organization-gets", "requests are made", limits.getsEach));
  const lists = openFairQueue(turnsOf("organization-lists", "lists are asked for", share(limits.listsEach)));
  const writes = openFairQueue(turnsOf("organization-changes", "changes are made", share(limits.changesEach)));
  const uploads = openFairQueue(turnsOf("organization-uploads", "uploads are sent", share(limits.uploadsEach)));
  const files = openFairQueue({
    ...turnsOf("organization-files", "files are fetched", share(limits.filesEach)),
    places: share(limits.filesUnderWay),
  });
  for (const queue of [gets, lists, writes, uploads, files]) metrics.watchQueue(queue);
  return (method) => {
    if (method.givesFile) return files;
    return method.distribution?.takesContent ? uploads : method.writes ? writes : method.unscoped ? lists : gets;
  };
};
