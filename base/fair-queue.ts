// Places that many share, given out in turns: by organization, then by identity, so that nobody's many keep out anybody's
// one. An organization holds no more than its share of the places. While no other one has been there for a moment its share
// is larger, and never all of them: who comes next finds a place at once, and those beyond the share are given back soon.
// Who finds neither a place nor one in the line is refused at once, and told when to come again.

import { type Fault, throttled } from "./fault.ts";

/** For whom work is done. */
export interface Party {
  /** The organization's uid; another text for who belongs to none. */
  readonly organization: string;
  readonly identity: string;
  /** The server's own work: it has turns like everybody, and makes nobody's share smaller. */
  readonly own?: boolean;
}

export interface FairQueueLimits {
  /** What a refusal calls this, in letters and "-". */
  readonly name: string;
  /** The same in words: "too many … at once". */
  readonly what: string;
  readonly places: number;
  /** Of these, for one organization. */
  readonly placesEach: number;
  /** The same while no other one is there; what is left is for the one that comes next. */
  readonly placesAlone: number;
  readonly waiting: number;
  readonly waitingEach: number;
  /** How long one waits at most. */
  readonly waitMs: number;
}

export interface FairQueue {
  /** Takes its places at once, or returns false. */
  tryEnter(party: Party, work?: Work): boolean;
  /** Waits for its places. Throws RESOURCE_EXHAUSTED with RetryInfo. */
  wait(party: Party, work?: Work): Promise<void>;
  /** Gives the places back. */
  leave(party: Party, work?: Work): void;
  /** How full it is now. */
  state(): { readonly name: string; readonly places: number; readonly held: number; readonly waiting: number };
}

/** What is to be done in a place. */
export interface Work {
  /** How many places it takes; what takes more than there are takes them all. */
  readonly places: number;
  /** What only one may work on at a time; others wait without a place. */
  readonly row?: string | undefined;
}

const onePlace: Work = { places: 1 };

interface Waiter {
  readonly party: Party;
  readonly work: Work;
  readonly timer: ReturnType<typeof setTimeout>;
  readonly enter: () => void;
  readonly refuse: (fault: Fault) => void;
}

/** What one organization holds and wants. Identities are in the order of their turns. */
interface Share {
  held: number;
  waiting: number;
  readonly identities: Map<string, Waiter[]>;
}

/** How soon another try is worth it: what waits is done within a second or so, unless somebody comes again and again. */
const retryMs = 1000;
/** Whoever has not been there for so long leaves the others their larger share. */
const aloneAfterMs = 1000;

export const openFairQueue = (bounds: FairQueueLimits): FairQueue => {
  /** In the order of their turns. */
  const shares = new Map<string, Share>();
  const busyRows = new Set<string>();
  let held = 0;
  let waiting = 0;
  /** Who was there last, and when it was somebody else than before. */
  let last = "";
  let changedMs = Number.NEGATIVE_INFINITY;

  const note = ({ organization, own }: Party): void => {
    if (own || organization === last) return;
    if (last !== "") changedMs = performance.now();
    last = organization;
  };

  const placesEach = (): number => (performance.now() - changedMs < aloneAfterMs ? bounds.placesEach : bounds.placesAlone);

  const refusal = (): Fault => throttled(`too many ${bounds.what} at once; try again`, { name: bounds.name, quota: placesEach(), retryMs });

  const shareOf = (organization: string): Share => {
    const known = shares.get(organization);
    if (known) return known;
    const share: Share = { held: 0, waiting: 0, identities: new Map() };
    shares.set(organization, share);
    return share;
  };

  const isFree = ({ row }: Work): boolean => row === undefined || !busyRows.has(row);

  /** Where nothing is held whatever it is may begin. */
  const fits = (share: Share | undefined, { places }: Work): boolean =>
    (held === 0 || held + places <= bounds.places) && (share === undefined || share.held === 0 || share.held + places <= placesEach());

  const take = (share: Share, { places, row }: Work): void => {
    held += places;
    share.held += places;
    if (row !== undefined) busyRows.add(row);
  };

  const remove = (share: Share, waiter: Waiter): boolean => {
    const own = share.identities.get(waiter.party.identity);
    const index = own?.indexOf(waiter) ?? -1;
    if (!own || index < 0) return false;
    own.splice(index, 1);
    if (own.length === 0) share.identities.delete(waiter.party.identity);
    share.waiting--;
    waiting--;
    clearTimeout(waiter.timer);
    return true;
  };

  const forgetIfIdle = (organization: string, share: Share): void => {
    if (share.held === 0 && share.waiting === 0) shares.delete(organization);
  };

  /** The next of an organization that can go on: its identities take turns. */
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
      // To the end of the line, where a loop over a Map meets it once more: there it has its next turn.
      shares.delete(organization);
      shares.set(organization, share);
      remove(share, next);
      take(share, next.work);
      next.enter();
    }
  };

  /** Refuses the last who came of the identity that has most waiting: who has few in line keeps them. */
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
    tryEnter(party, work = onePlace) {
      const { organization } = party;
      note(party);
      const share = shares.get(organization);
      if ((share !== undefined && share.waiting > 0) || !fits(share, work) || !isFree(work)) return false;
      take(share ?? shareOf(organization), work);
      return true;
    },
    wait: (party, work = onePlace) =>
      new Promise((resolve, reject) => {
        const share = shareOf(party.organization);
        const giveUp = (): void => {
          if (!remove(share, waiter)) return;
          forgetIfIdle(party.organization, share);
          reject(refusal());
        };
        const waiter: Waiter = { party, work, timer: setTimeout(giveUp, bounds.waitMs), enter: resolve, refuse: reject };
        const own = share.identities.get(party.identity);
        if (own) own.push(waiter);
        else share.identities.set(party.identity, [waiter]);
        share.waiting++;
        waiting++;
        if (share.waiting > bounds.waitingEach) refuseLast(party.organization, share);
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
