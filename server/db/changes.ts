// Detects commits for all of a server's polling loops: by the probe's statement, and in a process without a probe by a query of its own,
// sent only while a loop waits.

import { limits } from "#base/limits.ts";
import type { Changes, Read } from "./handle.ts";

export interface OpenChanges extends Changes {
  /** This process committed a possible write. */
  note(): void;
  /** Takes the place of the own queries. */
  see(snapshot: string): void;
  /** Queries immediately. */
  ask(): Promise<void>;
  close(): void;
}

/** The snapshot changes at the end of every writing transaction. */
export const snapshotText = "pg_current_snapshot()::text";

export const openChanges = (read: Read, askMs: number = limits.idleLookMs): OpenChanges => {
  const listeners = new Set<() => void>();
  let count = 0;
  let snapshot: string | undefined;
  let asking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isShown = false;

  const note = (): void => {
    count++;
    for (const listener of listeners) listener();
  };

  const compare = (found: string): void => {
    if (found === snapshot) return;
    snapshot = found;
    note();
  };

  const readSnapshot = async (): Promise<void> => {
    const [row] = await read.query(`select ${snapshotText}`);
    compare(row?.[0] ?? "");
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
      if (!isShown) timer ??= setInterval(() => void (listeners.size > 0 && ask()), askMs).unref();
      return () => void listeners.delete(listener);
    },
    note,
    see(found) {
      isShown = true;
      clearInterval(timer);
      compare(found);
    },
    ask,
    close: () => clearInterval(timer),
  };
};
