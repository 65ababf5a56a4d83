// Gives new events their positions in the order of all events.
//
// One server at a time does this, in one transaction. Events are in the order of their rows, which for one subject is
// that of its changes: each change waited for the lock of the one before. Positions have no gaps, and whoever reads up
// to a position never meets a smaller one later: that is what lists, replays and the audit log go by.
//
// What must happen once to each event happens in the same transaction: an event that has a position is enqueued.

import { limits } from "#base/limits.ts";
import { hasUnnumberedEvents, lockExclusive, numberEvents, type Store, type Write } from "#store";

/** Enqueues the events of these positions. */
export type Enqueue = (rows: Write, firstPosition: number, lastPosition: number, now: string) => Promise<void>;

/** Numbers events that have no position yet, limits.enqueuedMax at most; true where there may be more. `now`: RFC 3339. */
export type NumberEvents = (now: string) => Promise<boolean>;

export const openNumbering =
  (store: Store, enqueue: Enqueue): NumberEvents =>
  async (now) => {
    // Looked up outside first: most looks find nothing, and need no transaction.
    if (!(await hasUnnumberedEvents(store.read))) return false;
    return store.write(async (rows) => {
      await lockExclusive(rows, "eventOrder");
      const positions = await numberEvents(rows, limits.enqueuedMax);
      if (positions.length === 0) return false;
      await enqueue(rows, Math.min(...positions), Math.max(...positions), now);
      return positions.length === limits.enqueuedMax;
    });
  };
