// When a loop that looks for work in the database looks again: soon after something was committed, and otherwise seldom, so that a
// server at rest costs next to nothing.

import type { Changes } from "./handle.ts";

export interface Looks {
  /** Resolves when it is time to look, which counts as a look from then on. @param restMs in place of the loop's own */
  next(restMs?: number): Promise<void>;
  /** The last look left something, or failed: the next one waits for no commit. */
  again(): void;
  /** Ends the wait for the next look, now or when it begins. */
  wake(): void;
}

export interface LookTimes {
  /** The shortest time from one look to the next, however much is committed. */
  readonly betweenMs: number;
  /** How often it looks although nothing was committed: for what becomes due by time alone. */
  readonly restMs: number;
}

export const openLooks = (changes: Changes, { betweenMs, restMs: ownRestMs }: LookTimes): Looks => {
  let seen = -1;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let isWoken = false;
  /** Ends the pause that runs. */
  let end = (): void => {};

  /** Waits for so long, for `end`, and with `forChange` for a commit. */
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
      // Counted before the look: what is committed while it looks is found by the next one.
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
