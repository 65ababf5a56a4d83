// Concurrency limits, in total and per tenant. Beyond its own limit a tenant's requests queue until their timeout. Beyond the total
// they are refused, since waiting would depend on slow hosts of others.

import { type Fault, throttled } from "#base/fault.ts";

export interface Shares {
  /** Acquires a slot and returns the function that releases it. Throws RESOURCE_EXHAUSTED. @param ends aborts when the request times out */
  enter(fairnessKey: string, ends: AbortSignal): Promise<() => void>;
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

  const refuse = (fairnessKey: string, own: boolean): Fault =>
    throttled(`too many concurrent requests to ${what}${own ? ` for ${fairnessKey}` : ""}; try again`, { name: "outbound", quota: own ? each : all, retryMs });

  const leave = (fairnessKey: string): void => {
    const line = waiting.get(fairnessKey);
    const [next] = line ?? [];
    if (line && next) {
      // The slot passes to the next in line, so both counts stay.
      line.delete(next);
      if (line.size === 0) waiting.delete(fairnessKey);
      next();
      return;
    }
    total--;
    const left = (underWay.get(fairnessKey) ?? 1) - 1;
    if (left > 0) underWay.set(fairnessKey, left);
    else underWay.delete(fairnessKey);
  };

  const waitInLine = (fairnessKey: string, ends: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const line = waiting.get(fairnessKey) ?? new Set();
      if (line.size >= each * waitingForEach || ends.aborted) {
        reject(refuse(fairnessKey, true));
        return;
      }
      waiting.set(fairnessKey, line);
      const giveUp = (): void => {
        line.delete(proceed);
        if (line.size === 0) waiting.delete(fairnessKey);
        reject(refuse(fairnessKey, true));
      };
      const proceed = (): void => {
        ends.removeEventListener("abort", giveUp);
        resolve();
      };
      line.add(proceed);
      ends.addEventListener("abort", giveUp, { once: true });
    });

  return {
    async enter(fairnessKey, ends) {
      const own = underWay.get(fairnessKey) ?? 0;
      if (own >= each) await waitInLine(fairnessKey, ends);
      else {
        if (total >= all) throw refuse(fairnessKey, false);
        total++;
        underWay.set(fairnessKey, own + 1);
      }
      let isOver = false;
      return () => {
        if (!isOver) leave(fairnessKey);
        isOver = true;
      };
    },
  };
};
