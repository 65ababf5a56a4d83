// Assigns positions to new events, on one server at a time, in one transaction.
//
// For one subject, events have the order of its changes, because each change waits for the previous one's lock. Positions have no
// gaps and never appear out of order, which lists, replays and the audit log rely on. The cost does not depend on the receivers: the
// transaction only notes the event, and deliveries and audit entries follow independently.

import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { isPieceFault, openPauses } from "#base/pieces.ts";
import { findUnnumberedEvents, hasUnnumberedEvents, limitPiece, lockExclusive, numberEvents, type NumberedEvent, type Store, type Write } from "#db";

/** Notes that these events are to be enqueued. */
export type Enqueue = (rows: Write, events: readonly NumberedEvent[], now: string) => Promise<void>;

/** Numbers at most limits.numberedMax events; returns true if there may be more. `now` is in RFC 3339. */
export type NumberEvents = (now: string) => Promise<boolean>;

export const openNumbering = (store: Store, enqueue: Enqueue, log: Log): NumberEvents => {
  const pauses = openPauses();
  let count: number = limits.numberedMax;

  return async (now) => {
    // Read outside a transaction first, because most polls find nothing.
    if (!(await hasUnnumberedEvents(store.read))) return false;
    const nowMs = Date.parse(now);
    const paused = pauses.paused(nowMs);
    const failed: { readonly id: string; readonly cause: unknown }[] = [];
    for (;;) {
      let tried: readonly string[] = [];
      try {
        const numbered = await store.write(async (rows) => {
          await lockExclusive(rows, "numbering");
          // After the lock, so that waiting for another server does not count.
          if (count > 1) await limitPiece(rows);
          tried = await findUnnumberedEvents(rows, count, [...paused, ...failed.map(({ id }) => id)]);
          if (tried.length === 0) return 0;
          const events = await numberEvents(rows, tried);
          await enqueue(rows, events, now);
          return events.length;
        });
        // If no other event can be numbered, the event is not the cause.
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
