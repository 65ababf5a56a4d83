// Detects commits for all of a server's polling loops with one cheap query, sent only while a loop waits.

import { limits } from "#base/limits.ts";
import type { Changes, Read } from "./handle.ts";

export interface OpenChanges extends Changes {
  /** This process committed a possible write. */
  note(): void;
  /** Queries immediately. */
  ask(): Promise<void>;
  close(): void;
}

export const openChanges = (read: Read, askMs: number = limits.idleLookMs): OpenChanges => {
  const listeners = new Set<() => void>();
  let count = 0;
  let snapshot: string | undefined;
  let asking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const note = (): void => {
    count++;
    for (const listener of listeners) listener();
  };

  /** The snapshot changes at the end of every writing transaction. */
  const readSnapshot = async (): Promise<void> => {
    const [row] = await read.query("select pg_current_snapshot()::text");
    const found = row?.[0] ?? "";
    if (found === snapshot) return;
    snapshot = found;
    note();
  };

  const ask = (): Promise<void> => {
    asking ??= readSnapshot()
      // The loops report the error themselves.
      .catch(note)
      .finally(() => {
        asking = undefined;
      });
    return asking;
  };

  return {
    count: () => count,
    listen(listener) {
      listeners.add(listener);
      timer ??= setInterval(() => void (listeners.size > 0 && ask()), askMs).unref();
      return () => void listeners.delete(listener);
    },
    note,
    ask,
    close: () => clearInterval(timer),
  };
};
