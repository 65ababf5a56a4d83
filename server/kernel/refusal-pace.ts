// Delays errors to a caller that repeats failing requests: two hundred clients that retry at once, or open a connection for each, slow
// down others (measured: another organization's write took 65 times as long). A waiting client sends nothing.

import { setTimeout as sleep } from "node:timers/promises";
import { openBuckets } from "#base/buckets.ts";
import { limits } from "#base/limits.ts";

/** Resolves when the error may be sent; `key`: the organization, or the address of an unauthenticated client. */
export type RefusalPace = (key: string) => Promise<void>;

export const openRefusalPace = (): RefusalPace => {
  const buckets = openBuckets({ burst: limits.refusalsBurst, perSecond: limits.refusalsPerSecond }, limits.refusalKeysMax);
  let delayed = 0;
  return async (key) => {
    // By monotonic time, not the clock: this bounds work of this machine.
    if (buckets.take(key, performance.now()) === undefined || delayed >= limits.delayedRefusalsMax) return;
    delayed++;
    await sleep(limits.refusalDelayMs);
    delayed--;
  };
};
