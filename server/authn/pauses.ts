// Exponential backoff after failures. Each tenant has a share of the remembered failures, so that none can evict those of others.

import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import { sharedCache } from "./shared-cache.ts";

export interface Pauses {
  mayTry(key: string): boolean;
  failed(key: string, fairnessKey: string): void;
  succeeded(key: string): void;
}

/** `shareMax`: number of failures remembered per tenant. */
export const openPauses = (clock: Clock, shareMax: number): Pauses => {
  const failures = sharedCache<{ readonly count: number; readonly untilMs: number }>(shareMax, limits.issuerPartiesMax);
  return {
    mayTry: (key) => clock() >= (failures.peek(key)?.untilMs ?? Number.NEGATIVE_INFINITY),
    failed(key, fairnessKey) {
      const count = (failures.peek(key)?.count ?? 0) + 1;
      const pauseMs = Math.min(limits.issuerRetryMs * 2 ** (count - 1), limits.issuerPauseMaxMs);
      failures.set(key, { count, untilMs: clock() + pauseMs }, fairnessKey);
    },
    succeeded: (key) => failures.delete(key),
  };
};
