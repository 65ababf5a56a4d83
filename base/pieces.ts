// Shared work in pieces: what fails together is halved, down to the one that is to blame, which is set aside while the
// others go on. Pure.

import { Fault } from "./fault.ts";
import { limits } from "./limits.ts";

/** True where the database is away or full: nobody's work is to blame, and none can be done. */
export const isAway = (thrown: unknown): boolean => thrown instanceof Fault && thrown.code === "UNAVAILABLE";

/** False where the work is not to blame: the database is away or full, or somebody else was quicker. */
export const isPieceFault = (thrown: unknown): boolean => !isAway(thrown) && !(thrown instanceof Fault && thrown.code === "ABORTED");

/**
 * Does all of it at once; if that fails, each half, and so on. `setAside` receives what failed alone.
 * Throws where the work is not to blame.
 */
export const workInPieces = async <Item>(
  items: readonly Item[],
  work: (piece: readonly Item[]) => Promise<void>,
  setAside: (item: Item, cause: unknown) => Promise<void> | void,
): Promise<void> => {
  if (items.length === 0) return;
  try {
    await work(items);
  } catch (thrown) {
    if (!isPieceFault(thrown)) throw thrown;
    const [first] = items;
    if (items.length === 1 && first !== undefined) {
      await setAside(first, thrown);
      return;
    }
    const half = Math.ceil(items.length / 2);
    await workInPieces(items.slice(0, half), work, setAside);
    await workInPieces(items.slice(half), work, setAside);
  }
};

/** How long what has failed so often in a row is left aside. */
export const setAsideMs = (failures: number, longestMs: number = limits.setAsideMaxMs): number =>
  Math.min(longestMs, limits.setAsideMs * 2 ** Math.min(failures - 1, 40));

/** What one process has set aside, by its key, each for longer with each failure in a row. */
export interface Pauses {
  isPaused(key: string, nowMs: number): boolean;
  /** The keys that are paused. */
  paused(nowMs: number): string[];
  /** It has failed; how often in a row. */
  fail(key: string, nowMs: number): number;
  /** It has been done. */
  end(key: string): void;
}

/** @param firstMs the first pause; each one after it is twice as long, up to `longestMs` */
export const openPauses = (firstMs: number = limits.setAsideMs, longestMs: number = limits.setAsideMaxMs): Pauses => {
  const entries = new Map<string, { readonly failures: number; readonly fromMs: number; readonly untilMs: number }>();
  // A clock that was ahead when it failed does not leave it aside for longer.
  const isPaused = (key: string, nowMs: number): boolean => {
    const entry = entries.get(key);
    return entry !== undefined && nowMs < entry.untilMs && nowMs >= entry.fromMs - limits.clockToleranceMs;
  };
  return {
    isPaused,
    paused: (nowMs) => [...entries.keys()].filter((key) => isPaused(key, nowMs)),
    fail(key, nowMs) {
      const failures = (entries.get(key)?.failures ?? 0) + 1;
      entries.delete(key);
      entries.set(key, { failures, fromMs: nowMs, untilMs: nowMs + Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 40)) });
      const [oldest] = entries.keys();
      if (entries.size > limits.setAsideEntriesMax && oldest !== undefined) entries.delete(oldest);
      return failures;
    },
    end: (key) => void entries.delete(key),
  };
};
