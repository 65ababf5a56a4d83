// How much may be under way at a time: in all, and for each party, so that none takes it all. Beyond its own share a
// party waits, behind nobody but itself and no longer than its request may take; beyond all of it everybody is refused,
// since whoever waited would wait for slow hosts of others.

import { type Fault, throttled } from "#base/fault.ts";

export interface Shares {
  /**
   * Takes a part of the party's share, until the function that it returns is called.
   * @param ends when the request itself ends: nobody waits longer. Throws RESOURCE_EXHAUSTED.
   */
  enter(party: string, ends: AbortSignal): Promise<() => void>;
}

export interface ShareLimits {
  readonly all: number;
  readonly each: number;
}

const retryMs = 1000;
/** Of one party, for each that is under way: twenty who sign in at the same moment are served, a thousand are not kept. */
const waitingForEach = 8;

export const openShares = ({ all, each }: ShareLimits, what: string): Shares => {
  const underWay = new Map<string, number>();
  const waiting = new Map<string, Set<() => void>>();
  let total = 0;

  const refuse = (party: string, own: boolean): Fault =>
    throttled(`too many concurrent requests to ${what}${own ? ` for ${party}` : ""}; try again`, { name: "outbound", quota: own ? each : all, retryMs });

  const leave = (party: string): void => {
    const line = waiting.get(party);
    const [next] = line ?? [];
    if (line && next) {
      // What was left is the next one's: neither number changes.
      line.delete(next);
      if (line.size === 0) waiting.delete(party);
      next();
      return;
    }
    total--;
    const left = (underWay.get(party) ?? 1) - 1;
    if (left > 0) underWay.set(party, left);
    else underWay.delete(party);
  };

  const waitInLine = (party: string, ends: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const line = waiting.get(party) ?? new Set();
      if (line.size >= each * waitingForEach || ends.aborted) {
        reject(refuse(party, true));
        return;
      }
      waiting.set(party, line);
      const giveUp = (): void => {
        line.delete(proceed);
        if (line.size === 0) waiting.delete(party);
        reject(refuse(party, true));
      };
      const proceed = (): void => {
        ends.removeEventListener("abort", giveUp);
        resolve();
      };
      line.add(proceed);
      ends.addEventListener("abort", giveUp, { once: true });
    });

  return {
    async enter(party, ends) {
      const own = underWay.get(party) ?? 0;
      if (own >= each) await waitInLine(party, ends);
      else {
        if (total >= all) throw refuse(party, false);
        total++;
        underWay.set(party, own + 1);
      }
      let isOver = false;
      return () => {
        if (!isOver) leave(party);
        isOver = true;
      };
    },
  };
};
