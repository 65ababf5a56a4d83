// Batches of shared work: a failing batch is halved down to the item at fault, which is set aside while the rest proceeds.

import { Fault } from "./fault.ts";
import { limits } from "./limits.ts";

/** Returns true if the database is unavailable or full, which is not the fault of any item. */
export const isAway = (thrown: unknown): boolean => thrown instanceof Fault && thrown.code === "UNAVAILABLE";

/** Returns false if the items are not at fault: the database is unavailable or full, or a concurrent change won. */
export const isPieceFault = (thrown: unknown): boolean => !isAway(thrown) && !(thrown instanceof Fault && thrown.code === "ABORTED");

/**
 * Works on all items at once; on failure on each half, recursively. `setAside` receives items that fail alone. Throws if the
 * items are not at fault.
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

/** Returns how long to set an item aside after this many failures in a row. */
export const setAsideMs = (failures: number, longestMs: number = limits.setAsideMaxMs): number =>
  Math.min(longestMs, limits.setAsideMs * 2 ** Math.min(failures - 1, 40));

/** Items that one process has set aside, by key; each pause is longer than the one before. */
export interface Pauses {
  isPaused(key: string, nowMs: number): boolean;
  paused(nowMs: number): string[];
  /** Records a failure and returns how many there were in a row. */
  fail(key: string, nowMs: number): number;
  end(key: string): void;
}

/**
 * Opens pauses.
 *
 * @param firstMs the first pause; each next one is twice as long, up to `longestMs`
 */
export const openPauses = (firstMs: number = limits.setAsideMs, longestMs: number = limits.setAsideMaxMs): Pauses => {
  const entries = new Map<string, { readonly failures: number; readonly fromMs: number; readonly untilMs: number }>();
  // A failure recorded by a clock that ran ahead does not extend the pause.
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
