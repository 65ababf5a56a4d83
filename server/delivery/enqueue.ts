// Gives new events their place in the order of all events, and makes a delivery to each subscription that hears them.
//
// One server at a time does this, in one transaction. Events are in the order of their rows, which for one subject is
// that of its changes: each change waited for the lock of the one before. Positions have no gaps, and whoever reads up
// to a position never meets a smaller one later: that is what lists and replays go by.

import { limits } from "#base/limits.ts";
import { eventOrder } from "#outbox";
import type { Store } from "#store";
import { lockNumbering } from "./lock.ts";

const uidOf = (position: string): string => `lpad(to_hex(${position}), 16, '0')`;

const number = `
  with waiting as (
    select id, row_number() over (order by id) as step from (select id from outbox where position is null order by id limit $1) as next
  ), last as (
    select coalesce(max(${eventOrder}), 0) as position from outbox
  )
  update outbox as event
  set position = last.position + waiting.step,
      uid = case when length(event.group_uid) >= 40 and event.audience = 'customer' and event.subscription_uid is null then event.group_uid || '/' || ${uidOf("last.position + waiting.step")} end
  from waiting, last
  where event.id = waiting.id
  returning event.position`;

// A subscription hears the events of its group and of all below it, that is: of each event, those at its group and at
// each one above. Customers' events only (events, 4), and of the types that it asks for.
const heard = `
  select subscription.uid as subscription_uid, event.event_id, event.position, event.type, event.subject
  from outbox as event
  cross join lateral (
    select left(event.group_uid, 40 + 17 * level) as place from generate_series(0, (length(event.group_uid) - 40) / 17) as level
  ) as above
  join subscriptions as subscription on left(subscription.uid, -17) = above.place
  where event.${eventOrder} between $1 and $2 and length(event.group_uid) >= 40 and event.audience = 'customer' and event.subscription_uid is null
    and (subscription.event_types is null or subscription.event_types ? event.type)
  union all
  select subscription.uid, event.event_id, event.position, event.type, event.subject
  from outbox as event join subscriptions as subscription on subscription.uid = event.subscription_uid
  where event.${eventOrder} between $1 and $2`;

const deliver = `
  insert into deliveries (uid, subscription_uid, event_id, type, subject, state, next_attempt_time, create_time, update_time)
  select heard.subscription_uid || '/' || ${uidOf("heard.position")}, heard.subscription_uid, heard.event_id, heard.type, heard.subject,
    case when row_number() over (partition by heard.subscription_uid, heard.subject order by heard.position) = 1 and not exists (
      select from deliveries as earlier
      where earlier.subscription_uid = heard.subscription_uid and earlier.subject = heard.subject
        and earlier.state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING')
    ) then 'DELIVERY_STATE_PENDING' else 'DELIVERY_STATE_WAITING' end,
    $3, $3, $3
  from (${heard}) as heard`;

/** Takes up what is new; true where there may be more. */
export const enqueueDeliveries = async (store: Store, now: string): Promise<boolean> => {
  // Asked outside first: most looks find nothing, and need no transaction.
  const [waiting] = await store.read.query("select 1 from outbox where position is null limit 1");
  if (!waiting) return false;
  return store.write(async (rows) => {
    await lockNumbering(rows);
    const positions = (await rows.query(number, [limits.enqueuedMax])).map(([position]) => Number(position));
    if (positions.length === 0) return false;
    await rows.query(deliver, [Math.min(...positions), Math.max(...positions), now]);
    return positions.length === limits.enqueuedMax;
  });
};
