// What failed is left alone for a while, for longer each time. It is remembered by whoever asked for it, within a share: so
// nobody can push out what others know, and be asked to find out again.

import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import { sharedCache } from "./shared-cache.ts";

export interface Pauses {
  /** Whether it may be tried now. */
  mayTry(key: string): boolean;
  failed(key: string, party: string): void;
  succeeded(key: string): void;
}

/** `shareMax`: how many failures are remembered for each party. */
export const openPauses = (clock: Clock, shareMax: number): Pauses => {
  const failures = sharedCache<{ readonly count: number; readonly untilMs: number }>(shareMax, limits.issuerPartiesMax);
  return {
    mayTry: (key) => clock() >= (failures.peek(key)?.untilMs ?? Number.NEGATIVE_INFINITY),
    failed(key, party) {
      const count = (failures.peek(key)?.count ?? 0) + 1;
      const pauseMs = Math.min(limits.issuerRetryMs * 2 ** (count - 1), limits.issuerPauseMaxMs);
      failures.set(key, { count, untilMs: clock() + pauseMs }, party);
    },
    succeeded: (key) => failures.delete(key),
  };
};
