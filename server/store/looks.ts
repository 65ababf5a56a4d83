// Schedules a loop that looks for work in the database: soon after a commit, otherwise rarely, so that an idle server costs next to nothing.

import type { Changes } from "./handle.ts";

export interface Looks {
  /** Resolves when the loop must look, and counts that as a look. @param restMs replaces the loop's own idle time */
  next(restMs?: number): Promise<void>;
  /** The last look left work or failed: the next one does not wait for a commit. */
  again(): void;
  /** Ends the current or next wait. */
  wake(): void;
}

export interface LookTimes {
  /** Minimum time between looks, however much is committed. */
  readonly betweenMs: number;
  /** Maximum time between looks without a commit, for work that becomes due over time. */
  readonly restMs: number;
}

export const openLooks = (changes: Changes, { betweenMs, restMs: ownRestMs }: LookTimes): Looks => {
  let seen = -1;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let isWoken = false;
  /** Ends the current pause. */
  let end = (): void => {};

  /** Waits for this time, for `end`, or, if `forChange`, for a commit. */
  const pause = (ms: number, forChange: boolean): Promise<void> =>
    new Promise((resolve) => {
      const timer = Number.isFinite(ms) ? setTimeout(() => end(), ms).unref() : undefined;
      const stopListening = forChange ? changes.listen(() => end()) : undefined;
      end = () => {
        clearTimeout(timer);
        stopListening?.();
        end = () => {};
        resolve();
      };
    });

  return {
    async next(restMs = ownRestMs) {
      const sinceMs = (): number => performance.now() - lookedMs;
      while (!isWoken && changes.count() === seen && sinceMs() < restMs) await pause(restMs - sinceMs(), true);
      while (!isWoken && sinceMs() < betweenMs) await pause(betweenMs - sinceMs(), false);
      isWoken = false;
      // Read before the look: commits during the look are found by the next one.
      seen = changes.count();
      lookedMs = performance.now();
    },
    again() {
      seen = -1;
    },
    wake() {
      isWoken = true;
      end();
    },
  };
};
