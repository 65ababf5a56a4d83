// When a loop that looks for work in the database looks again. What this process has written is found at its next turn. Whether others
// have written anything is one cheap statement, so that a server at rest costs next to nothing.

import type { Store } from "./handle.ts";

export interface Looks {
  /** True if something has been committed since the last look, or the last look was long ago; then it counts as a look. */
  begin(): Promise<boolean>;
  /** There is more to do than the last look has done: the next turn looks, too. */
  again(): void;
}

export interface LookTimes {
  /** How often it asks whether others have committed something. */
  readonly askMs: number;
  /** How often it looks although nobody has: for what becomes due by time alone. */
  readonly lookMs: number;
}

export const openLooks = ({ commits, read }: Pick<Store, "commits" | "read">, { askMs, lookMs }: LookTimes): Looks => {
  let seen = -1;
  let state = "";
  let askedMs = performance.now();
  let lookedMs = Number.NEGATIVE_INFINITY;
  /** It changes whenever a transaction ends that has written, however long it was open and whatever ended before it. */
  const readSnapshot = async (): Promise<string> => {
    const [row] = await read.query("select pg_current_snapshot()::text");
    return String(row?.[0]);
  };
  /** True if a transaction has written since it was asked last. */
  const askOthers = async (nowMs: number): Promise<boolean> => {
    askedMs = nowMs;
    const before = state;
    state = await readSnapshot();
    return state !== before;
  };
  return {
    async begin() {
      // Counted before the look: what is committed while it looks is found by the next one.
      const count = commits();
      const nowMs = performance.now();
      // Where that cannot be asked, the look itself fails and says why.
      const isDue = count !== seen || nowMs - lookedMs >= lookMs;
      if (!isDue && (nowMs - askedMs < askMs || !(await askOthers(nowMs).catch(() => true)))) return false;
      seen = count;
      lookedMs = nowMs;
      return true;
    },
    again() {
      seen = -1;
    },
  };
};
