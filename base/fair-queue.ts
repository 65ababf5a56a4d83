// A concurrency limit with fair queues: slots go round robin to organizations, then to their identities, so that many requests of
// one never starve another.
//
// An organization gets at most its share of the slots. While no other one has been active for a moment, its share is larger but
// never everything: the next organization finds a slot at once. If neither a slot nor a queue position is free, the request is
// refused at once with a retry delay.

import { type Fault, throttled, unavailable } from "./fault.ts";

/** The identity that work is queued and counted for. */
export interface FairnessKey {
  /** Uid of the organization; another text for callers without one. */
  readonly organization: string;
  readonly identity: string;
  /** The server's own work: it takes turns, but does not reduce the shares of others. */
  readonly own?: boolean;
}

export interface FairQueueLimits {
  /** Name of the limit in refusals, in letters and "-". */
  readonly name: string;
  /** The same in words: "too many … at once". */
  readonly what: string;
  readonly places: number;
  /** Slots of one organization. */
  readonly placesEach: number;
  /** Slots of one organization while no other is active; the rest is reserved for the next one. */
  readonly placesAlone: number;
  readonly waiting: number;
  readonly waitingEach: number;
  readonly waitMs: number;
  /** Work may be stuck, so that a refusal is the server's fault. */
  readonly isStalled?: () => boolean;
}

export interface FairQueue {
  /** Takes the slots at once, or returns false. */
  tryAcquire(fairnessKey: FairnessKey, work?: Work): boolean;
  /** Waits for the slots. Throws RESOURCE_EXHAUSTED with RetryInfo. */
  wait(fairnessKey: FairnessKey, work?: Work): Promise<void>;
  leave(fairnessKey: FairnessKey, work?: Work): void;
  /** Returns the current load. */
  state(): { readonly name: string; readonly places: number; readonly held: number; readonly waiting: number };
}

/** What the work needs. */
export interface Work {
  /** Slots that it takes; more than the total means all of them. */
  readonly places: number;
  /** A row that only one may work on at a time. Others wait for it without a slot. */
  readonly row?: string | undefined;
}

const onePlace: Work = { places: 1 };

interface Waiter {
  readonly fairnessKey: FairnessKey;
  readonly work: Work;
  readonly timer: ReturnType<typeof setTimeout>;
  readonly enter: () => void;
  readonly refuse: (fault: Fault) => void;
}

/** What one organization holds and waits for. Identities are in the order of their turns. */
interface Share {
  held: number;
  waiting: number;
  readonly identities: Map<string, Waiter[]>;
}

/** Retry delay: under normal load the queue drains within about a second. */
const retryMs = 1000;
/** An organization that was inactive for this long no longer reduces the shares of others. */
const aloneAfterMs = 1000;

export const openFairQueue = (bounds: FairQueueLimits): FairQueue => {
  const shares = new Map<string, Share>();
  const busyRows = new Set<string>();
  let held = 0;
  let waiting = 0;
  /** The organization that was active last, and when another one became active. */
  let last = "";
  let changedMs = Number.NEGATIVE_INFINITY;

  const note = ({ organization, own }: FairnessKey): void => {
    if (own || organization === last) return;
    if (last !== "") changedMs = performance.now();
    last = organization;
  };

  const placesEach = (): number => (performance.now() - changedMs < aloneAfterMs ? bounds.placesEach : bounds.placesAlone);

  const refusal = (): Fault =>
    bounds.isStalled?.()
      ? unavailable("the database is not reachable", new Error(`the queue ${bounds.name} is full`))
      : throttled(`too many ${bounds.what} at once; try again`, { name: bounds.name, quota: placesEach(), retryMs });

  const shareOf = (organization: string): Share => {
    const known = shares.get(organization);
    if (known) return known;
    const share: Share = { held: 0, waiting: 0, identities: new Map() };
    shares.set(organization, share);
    return share;
  };

  const isFree = ({ row }: Work): boolean => row === undefined || !busyRows.has(row);

  /** If no slot is taken, any work may start. */
  const fits = (share: Share | undefined, { places }: Work): boolean =>
    (held === 0 || held + places <= bounds.places) && (share === undefined || share.held === 0 || share.held + places <= placesEach());

  const take = (share: Share, { places, row }: Work): void => {
    held += places;
    share.held += places;
    if (row !== undefined) busyRows.add(row);
  };

  const remove = (share: Share, waiter: Waiter): boolean => {
    const own = share.identities.get(waiter.fairnessKey.identity);
    const index = own?.indexOf(waiter) ?? -1;
    if (!own || index < 0) return false;
    own.splice(index, 1);
    if (own.length === 0) share.identities.delete(waiter.fairnessKey.identity);
    share.waiting--;
    waiting--;
    clearTimeout(waiter.timer);
    return true;
  };

  const forgetIfIdle = (organization: string, share: Share): void => {
    if (share.held === 0 && share.waiting === 0) shares.delete(organization);
  };

  /** Returns the organization's next waiter that can start; identities take turns. */
  const nextOf = (share: Share): Waiter | undefined => {
    for (const [identity, waiters] of share.identities) {
      const next = waiters.find(({ work }) => isFree(work) && fits(share, work));
      if (!next) continue;
      share.identities.delete(identity);
      share.identities.set(identity, waiters);
      return next;
    }
    return undefined;
  };

  const admit = (): void => {
    for (const [organization, share] of shares) {
      if (held >= bounds.places || waiting === 0) return;
      if (share.waiting === 0) continue;
      const next = nextOf(share);
      if (!next) continue;
      // Moves it to the end, where this loop over the Map meets it again for its next turn.
      shares.delete(organization);
      shares.set(organization, share);
      remove(share, next);
      take(share, next.work);
      next.enter();
    }
  };

  /** Refuses the newest waiter of the identity with the longest queue, so that identities with few waiters keep them. */
  const refuseLast = (organization: string, share: Share): void => {
    let most: Waiter[] | undefined;
    for (const waiters of share.identities.values()) if (most === undefined || waiters.length > most.length) most = waiters;
    const last = most?.at(-1);
    if (last && remove(share, last)) last.refuse(refusal());
    forgetIfIdle(organization, share);
  };

  const cutLongest = (): void => {
    let most: readonly [organization: string, share: Share] | undefined;
    for (const each of shares) if (most === undefined || each[1].waiting > most[1].waiting) most = each;
    if (most) refuseLast(...most);
  };

  return {
    state: () => ({ name: bounds.name, places: bounds.places, held, waiting }),
    tryAcquire(fairnessKey, work = onePlace) {
      const { organization } = fairnessKey;
      note(fairnessKey);
      const share = shares.get(organization);
      if ((share !== undefined && share.waiting > 0) || !fits(share, work) || !isFree(work)) return false;
      take(share ?? shareOf(organization), work);
      return true;
    },
    wait: (fairnessKey, work = onePlace) =>
      new Promise((resolve, reject) => {
        const share = shareOf(fairnessKey.organization);
        const giveUp = (): void => {
          if (!remove(share, waiter)) return;
          forgetIfIdle(fairnessKey.organization, share);
          reject(refusal());
        };
        const waiter: Waiter = { fairnessKey, work, timer: setTimeout(giveUp, bounds.waitMs), enter: resolve, refuse: reject };
        const own = share.identities.get(fairnessKey.identity);
        if (own) own.push(waiter);
        else share.identities.set(fairnessKey.identity, [waiter]);
        share.waiting++;
        waiting++;
        if (share.waiting > bounds.waitingEach) refuseLast(fairnessKey.organization, share);
        if (waiting > bounds.waiting) cutLongest();
        admit();
      }),
    leave({ organization }, { places, row } = onePlace) {
      const share = shareOf(organization);
      held -= places;
      share.held -= places;
      if (row !== undefined) busyRows.delete(row);
      if (waiting > 0) admit();
      forgetIfIdle(organization, share);
    },
  };
};
