// Schedules a loop that polls the database for work: soon after a commit, otherwise rarely.

import type { Changes } from "./handle.ts";

export interface Looks {
  /** Resolves when the loop must look. @param restMs replaces the loop's idle time */
  next(restMs?: number): Promise<void>;
  /** Work is left, or the last look failed: do not wait for a commit. */
  again(): void;
  /** Ends the current or next wait. */
  wake(): void;
}

export interface LookTimes {
  /** Minimum, however much is committed. */
  readonly betweenMs: number;
  /** Maximum without a commit, for work that becomes due. */
  readonly restMs: number;
}

export const openLooks = (changes: Changes, { betweenMs, restMs: ownRestMs }: LookTimes): Looks => {
  let seen = -1;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let isWoken = false;
  let end = (): void => {};

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
      // Read first: commits during the look are found by the next one.
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

export interface TurnLoop {
  /** Runs a turn, or another one after the current turn. Resolves at its end. */
  turn(): Promise<void>;
  /** Starts no further turn, and waits for the current one. */
  stop(): Promise<void>;
}

export interface TurnLoopOptions extends LookTimes {
  readonly changes: Changes;
  /** Turns start on request only. */
  readonly byHand: boolean;
  readonly runTurn: () => Promise<void>;
  readonly onFailure: (cause: unknown) => void;
}

/** Runs one turn after another: soon after a commit, otherwise rarely, for work that becomes due by time. */
export const openTurnLoop = ({ changes, byHand, runTurn, onFailure, ...times }: TurnLoopOptions): TurnLoop => {
  let running: Promise<void> | undefined;
  let isAgain = false;
  let isStopped = false;

  const turn = (): Promise<void> => {
    if (running !== undefined) {
      isAgain = true;
      return running;
    }
    running = (async () => {
      do {
        isAgain = false;
        await runTurn();
      } while (isAgain && !isStopped);
    })().finally(() => {
      running = undefined;
    });
    return running;
  };

  const looks = openLooks(changes, times);
  const looking = async (): Promise<void> => {
    while (!isStopped) {
      await turn().catch((cause: unknown) => {
        looks.again();
        onFailure(cause);
      });
      if (!isStopped) await looks.next();
    }
  };
  const loop = byHand ? undefined : looking();

  return {
    turn,
    async stop() {
      isStopped = true;
      looks.wake();
      await loop;
      await running?.catch(() => undefined);
    },
  };
};
