// How fast one caller is refused. A refusal costs next to nothing, but two hundred clients that ask again at once, or connect
// anew for each answer, make so many of them that others wait (measured: another organization's write took 65 times as
// long). Beyond what mistakes and impatience make, the answer comes a little later: whoever waits for it asks for nothing.

import { setTimeout as sleep } from "node:timers/promises";
import { openBuckets } from "#base/buckets.ts";
import { limits } from "#base/limits.ts";

/** Resolves when the caller may be told; `key`: its organization, or the client address of whom nobody knows. */
export type RefusalPace = (key: string) => Promise<void>;

export const openRefusalPace = (): RefusalPace => {
  const buckets = openBuckets({ burst: limits.refusalsBurst, perSecond: limits.refusalsPerSecond }, limits.refusalKeysMax);
  let delayed = 0;
  return async (key) => {
    // By the time that passes, not by the clock: what is bounded is work of this machine.
    if (buckets.take(key, performance.now()) === undefined || delayed >= limits.delayedRefusalsMax) return;
    delayed++;
    await sleep(limits.refusalDelayMs);
    delayed--;
  };
};
