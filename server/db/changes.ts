// Whether anything has been committed since a loop looked last: one cheap question to the database for all loops of a server,
// however many there are, and only while one of them waits for its answer.

import { limits } from "#base/limits.ts";
import type { Changes, Read } from "./handle.ts";

export interface OpenChanges extends Changes {
  /** This process has committed a transaction that may have written. */
  note(): void;
  /** Asks the database now, and not when it is time. */
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

  /** The snapshot changes whenever a transaction ends that has written, however long it was open and whatever ended before it. */
  const readSnapshot = async (): Promise<void> => {
    const [row] = await read.query("select pg_current_snapshot()::text");
    const found = row?.[0] ?? "";
    if (found === snapshot) return;
    snapshot = found;
    note();
  };

  const ask = (): Promise<void> => {
    asking ??= readSnapshot()
      // Where that cannot be asked, the look itself fails and says why.
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
