// Which deliveries this server sends next. Each is claimed by the time after which the attempt counts as lost: no other
// server sees it until then, and if this one dies it comes back by itself.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { type Store, timeText } from "#store";
import type { EventEnvelope } from "./envelope.ts";

export interface Claimed extends EventEnvelope {
  readonly uid: string;
  readonly subscription: string;
  /** This one included. */
  readonly attempts: number;
  readonly sink: string;
  readonly creator: string;
  readonly secretSealed: string;
  readonly previousSecretSealed: string | undefined;
}

// From one subscription with something to send to the next, by the index alone. Each gives a few, the oldest first:
// however much one has, the others' turn comes with every claim. One that fails gives a single one, and those that are
// not known to be quick share a part of the room, the first of each aside. Within a subscription the order is the
// index's, and nothing besides: what is sent again is all due at the same time, and would all be read to be sorted.
const due = `
  with recursive sending as (
    (select subscription_uid as uid from deliveries where state = 'DELIVERY_STATE_PENDING' order by 1 limit 1)
    union all
    select (select next.subscription_uid from deliveries as next
            where next.state = 'DELIVERY_STATE_PENDING' and next.subscription_uid > sending.uid order by 1 limit 1)
    from sending where sending.uid is not null
  )
  select given.uid from (
    select delivery.uid, delivery.next_attempt_time, delivery.turn, known.quick or (delivery.turn = 1 and subscription.failing_since is null) as at_once,
      row_number() over (partition by known.quick order by subscription.failing_since is not null, delivery.turn, delivery.next_attempt_time, delivery.uid) as place
    from sending
    join subscriptions as subscription on subscription.uid = sending.uid and subscription.enabled
    left join unnest($2::text[], $3::integer[], $4::integer[], $5::boolean[]) as here(uid, sent, allowed, quick) on here.uid = sending.uid
    cross join lateral (select coalesce(here.sent, 0) as sent, coalesce(here.allowed, $6::integer) as allowed, coalesce(here.quick, false) as quick) as known
    cross join lateral (
      select pending.uid, pending.next_attempt_time, known.sent + row_number() over (order by pending.next_attempt_time) as turn
      from deliveries as pending
      where pending.subscription_uid = sending.uid and pending.state = 'DELIVERY_STATE_PENDING' and pending.next_attempt_time <= $1
        and (pending.lease_time is null or pending.lease_time <= $1)
      order by pending.next_attempt_time
      limit least(known.allowed, case when subscription.failing_since is not null then 1 end)
    ) as delivery
  ) as given
  where given.at_once or given.place <= $7
  order by given.turn, given.next_attempt_time, given.uid limit $8`;

// || '' so that no index of what is on its way fits: PostgreSQL believes them to be small, as they are most of the time,
// and would walk through the whole of a backlog for the few rows that their primary key leads to.
const claimText = `
  with due as (
    select delivery.uid from deliveries as delivery
    where delivery.uid = any($1) and delivery.state || '' = 'DELIVERY_STATE_PENDING' and delivery.next_attempt_time <= $2
      and (delivery.lease_time is null or delivery.lease_time <= $2)
    for update skip locked
  )
  update deliveries as delivery set lease_time = $3, attempts = delivery.attempts + 1
  from due, subscriptions as subscription, outbox as event
  where delivery.uid = due.uid and subscription.uid = delivery.subscription_uid and event.event_id = delivery.event_id
  returning delivery.uid, delivery.subscription_uid, delivery.attempts, subscription.sink, subscription.creator, subscription.secret_sealed,
    case when subscription.previous_secret_expire_time > $2 then subscription.previous_secret_sealed end,
    event.event_id, event.type, event.source, event.subject, event.extensions, event.body_type, event.audience, event.data,
    ${timeText("event.create_time")}`;

/** What this server knows of a subscription: how many are being sent to it, how many more may be, and whether its sink was quick. */
export interface Known {
  readonly uid: string;
  readonly sent: number;
  readonly allowed: number;
  readonly quick: boolean;
}

/** How much may be claimed: in all, and of it for sinks that are not known to be quick. */
export interface Capacity {
  readonly all: number;
  readonly unproven: number;
}

/** Claims what is due, as far as there is room. */
export const claim = async (store: Store, nowMs: number, room: Capacity, known: readonly Known[]): Promise<Claimed[]> => {
  const now = timestamp(nowMs);
  const found = await store.read.query(due, [
    now,
    known.map(({ uid }) => uid),
    known.map(({ sent }) => String(sent)),
    known.map(({ allowed }) => String(allowed)),
    known.map(({ quick }) => String(quick)),
    limits.claimedPerUnprovenMax,
    room.unproven,
    room.all,
  ]);
  if (found.length === 0) return [];
  const rows = await store.write((write) => write.query(claimText, [found.map(([uid]) => uid ?? ""), now, timestamp(nowMs + limits.deliveryLeaseMs)]));
  return rows.map(
    ([uid, subscription, attempts, sink, creator, secret, previous, eventId, type, source, subject, extensions, bodyType, audience, data, time]) => ({
      uid: uid ?? "",
      subscription: subscription ?? "",
      attempts: Number(attempts),
      sink: sink ?? "",
      creator: creator ?? "",
      secretSealed: secret ?? "",
      previousSecretSealed: previous ?? undefined,
      eventId: eventId ?? "",
      type: type ?? "",
      source: source ?? "",
      subject: subject ?? "",
      extensions: JSON.parse(extensions ?? "{}") as Record<string, string>,
      bodyType: bodyType ?? "",
      audience: audience ?? "",
      data: data ?? "",
      time: time ?? "",
    }),
  );
};
