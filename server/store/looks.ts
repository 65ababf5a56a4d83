// When a loop that looks for work in the database looks again. What this process has written is found at its next turn; what
// others have left is looked for less often, so that a server at rest costs next to nothing.

import type { Store } from "./handle.ts";

export interface Looks {
  /** True if this process has committed something since the last look, or the last look was long ago; then it counts as a look. */
  begin(): boolean;
  /** There is more to do than the last look has done: the next turn looks, too. */
  again(): void;
}

/** @param everyMs how often others' work is looked for */
export const openLooks = ({ commits }: Pick<Store, "commits">, everyMs: number): Looks => {
  let seen = -1;
  let lookedMs = Number.NEGATIVE_INFINITY;
  return {
    begin() {
      // Counted before the look: what is committed while it looks is found by the next one.
      const count = commits();
      const nowMs = performance.now();
      if (count === seen && nowMs - lookedMs < everyMs) return false;
      seen = count;
      lookedMs = nowMs;
      return true;
    },
    again() {
      seen = -1;
    },
  };
};
