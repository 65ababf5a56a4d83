// Gives new events their positions in the order of all events.
//
// One server at a time does this, in one transaction. Events are in the order of their rows, which for one subject is
// that of its changes: each change waited for the lock of the one before. Positions have no gaps, and whoever reads up
// to a position never meets a smaller one later: that is what lists, replays and the audit log go by.
//
// It costs the same for each event, however many receive it: in the same transaction it is only noted that an event is to
// be enqueued. Deliveries are made of it later, and the audit log seals it, neither waiting for the other.

import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { isPieceFault, openPauses } from "#base/pieces.ts";
import { findUnnumberedEvents, hasUnnumberedEvents, limitPiece, lockExclusive, numberEvents, type NumberedEvent, type Store, type Write } from "#db";

/** Notes that these events are to be enqueued. */
export type Enqueue = (rows: Write, events: readonly NumberedEvent[], now: string) => Promise<void>;

/** Numbers events that have no position yet, limits.numberedMax at most; true where there may be more. `now`: RFC 3339. */
export type NumberEvents = (now: string) => Promise<boolean>;

export const openNumbering = (store: Store, enqueue: Enqueue, log: Log): NumberEvents => {
  const pauses = openPauses();
  let count: number = limits.numberedMax;

  return async (now) => {
    // Looked up outside first: most looks find nothing, and need no transaction.
    if (!(await hasUnnumberedEvents(store.read))) return false;
    const nowMs = Date.parse(now);
    const paused = pauses.paused(nowMs);
    const failed: { readonly id: string; readonly cause: unknown }[] = [];
    for (;;) {
      let tried: readonly string[] = [];
      try {
        const numbered = await store.write(async (rows) => {
          await lockExclusive(rows, "numbering");
          // Behind the lock: the time of another server that numbers is none of this piece's.
          if (count > 1) await limitPiece(rows);
          tried = await findUnnumberedEvents(rows, count, [...paused, ...failed.map(({ id }) => id)]);
          if (tried.length === 0) return 0;
          const events = await numberEvents(rows, tried);
          await enqueue(rows, events, now);
          return events.length;
        });
        // Where nothing else can be numbered either, it is not the event's fault.
        if (numbered === 0 && failed[0]) throw failed[0].cause;
        for (const { id, cause } of failed) log("outbox.event.set_aside", { event: id, failures: pauses.fail(id, nowMs), cause });
        const isFull = numbered === count;
        count = Math.min(limits.numberedMax, Math.ceil(count * 1.25));
        return isFull;
      } catch (thrown) {
        if (!isPieceFault(thrown) || thrown === failed[0]?.cause || failed.length >= limits.numberedMax) throw thrown;
        const [first] = tried;
        if (tried.length > 1) count = Math.ceil(tried.length / 2);
        else if (first === undefined) throw thrown;
        else failed.push({ id: first, cause: thrown });
      }
    }
  };
};
