// What is over is forgotten: events whose time has passed, and deliveries.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { eventOrder } from "#outbox";
import type { Store } from "#store";
import { lockNumbering } from "./lock.ts";
import { releaseNext } from "./complete.ts";

// What can never be sent any more: its event is forgotten (the subscription was off for so long), or its subscription
// was deleted while the event was being taken up. It must not stand before what comes after it.
const stranded = `
  delete from deliveries as delivery
  where state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING')
    and (not exists (select from outbox as event where event.event_id = delivery.event_id)
      or not exists (select from subscriptions as subscription where subscription.uid = delivery.subscription_uid))
  returning subscription_uid, subject`;

/** Forgets what is older than it is kept (limits). */
export const deleteExpired = async (store: Store, nowMs: number): Promise<void> => {
  const before = (keptMs: number): string => timestamp(nowMs - keptMs);
  // What the audit log has not taken up yet stays. The last one stays, however old: the next position follows from it,
  // and one that was given before would be passed over by whoever has read so far.
  await store.write((rows) =>
    rows.query(
      `delete from outbox where create_time < $1 and position < (select max(${eventOrder}) from outbox) and position <= (select position from audit_progress)`,
      [before(limits.eventRetentionMs)],
    ),
  );
  await store.write((rows) =>
    rows.query("delete from deliveries where update_time < $1 and state in ('DELIVERY_STATE_DELIVERED', 'DELIVERY_STATE_DROPPED')", [
      before(limits.deliveryRetentionMs),
    ]),
  );
  // A dead one can be sent again for as long as its event is there.
  await store.write((rows) => rows.query("delete from deliveries where update_time < $1 and state = 'DELIVERY_STATE_DEAD'", [before(limits.eventRetentionMs)]));
  await store.write(async (rows) => {
    await lockNumbering(rows);
    const gone = await rows.query(stranded, []);
    if (gone.length > 0)
      await releaseNext(
        rows,
        gone.map(([subscription, subject]) => ({ subscription: subscription ?? "", subject: subject ?? "" })),
        timestamp(nowMs),
      );
  });
};
