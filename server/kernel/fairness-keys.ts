// The fairness keys by which shares of the server are counted (base/fair-queue.ts), and the queues of calls.

import type { Caller } from "#authn";
import type { Rights } from "#authz";
import { EVERYWHERE, rootOf } from "#base/uid.ts";
import { type FairQueue, type FairQueueLimits, openFairQueue, type FairnessKey } from "#base/fair-queue.ts";
import type { MethodFact } from "#contract/facts.ts";
import { limits } from "#base/limits.ts";
import { networkOf } from "#base/origin.ts";
import type { Services } from "./context.ts";

/** Returns the key of an anonymous caller: its network address, in one common group of all anonymous callers. */
export const keyForAddress = (address: string): FairnessKey => ({ organization: "strangers", identity: networkOf(address) });

// A verified token always yields the same Caller object, so its key is computed once.
const keysByCaller = new WeakMap<Caller, FairnessKey>();

export const keyForCaller = (caller: Caller): FairnessKey => {
  const known = keysByCaller.get(caller);
  if (known) return known;
  const fairnessKey: FairnessKey = { organization: rootOf(caller.uid), identity: caller.uid };
  keysByCaller.set(caller, fairnessKey);
  return fairnessKey;
};

/**
 * Returns the key of the organization that a call acts on, so that changes to its rows count as its own. Without a path, it is the
 * organization of the first role binding, since users belong to none.
 */
export const keyForTarget = (caller: Caller, { grants }: Rights, path: string | undefined): FairnessKey => {
  const home = keyForCaller(caller);
  const place = path || grants[0]?.path || EVERYWHERE;
  return place === EVERYWHERE || place.startsWith(home.organization) ? home : { organization: rootOf(place), identity: home.identity };
};

/** Opens the concurrency queues of calls, one per kind, so that an organization's gets never wait behind its own lists and writes. */
export const openCallTurns = ({
  metrics,
  store,
  siblings: { share },
}: Pick<Services, "metrics" | "siblings" | "store">): ((method: MethodFact) => FairQueue) => {
  /** Low enough that the calls of one organization finish soon. */
  const turnsOf = (name: string, what: string, placesEach: number): FairQueueLimits => ({
    name,
    what,
    places: share(limits.callsUnderWay),
    placesEach,
    placesAlone: placesEach,
    waiting: share(limits.callsWaiting),
    waitingEach: share(limits.callsWaitingEach),
    waitMs: limits.turnWaitMs,
    isStalled: () => store.isStalled(),
  });
  // Not divided among processes: it bounds how long one organization may occupy an event loop, and each process has its own.
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
