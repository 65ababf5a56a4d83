// Concurrency limits, in total and per tenant. Beyond its own limit a tenant's requests queue until their timeout. Beyond the total
// they are refused, since waiting would depend on slow hosts of others.

import { type Fault, throttled } from "#base/fault.ts";

export interface Shares {
  /** Acquires a slot and returns the function that releases it. Throws RESOURCE_EXHAUSTED. @param ends aborts when the request times out */
  enter(party: string, ends: AbortSignal): Promise<() => void>;
}

export interface ShareLimits {
  readonly all: number;
  readonly each: number;
}

const retryMs = 1000;
/** Queue length per slot: twenty concurrent sign-ins are served, a thousand are not. */
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
      // The slot passes to the next in line, so both counts stay.
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
