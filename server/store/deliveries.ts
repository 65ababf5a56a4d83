// Table deliveries: each event on its way to each subscription. Of the events of one subject only the first is PENDING,
// the others are WAITING behind it, so that they arrive in their order.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, expression, nullableText, number, text, textMap, time } from "./columns.ts";
import type { Read, Write } from "./handle.ts";
import { lockExclusive } from "./lock.ts";
import { eventOrder, uidSegmentOf } from "./outbox.ts";
import type { Retention } from "./retention.ts";

// ---- enqueue ----------------------------------------------------------------------------------------------------

// A subscription receives the events of its group and of all below it, that is: of each event, those at its group and at
// each one above. Customers' events only (events, 4), and of the types that it names.
const recipients = `
  select subscription.uid as subscription_uid, event.event_id, event.position, event.type, event.subject
  from outbox as event
  cross join lateral (
    select left(event.group_uid, 40 + 17 * level) as path from generate_series(0, (length(event.group_uid) - 40) / 17) as level
  ) as above
  join subscriptions as subscription on left(subscription.uid, -17) = above.path
  where event.${eventOrder} between $1 and $2 and length(event.group_uid) >= 40 and event.audience = 'customer' and event.subscription_uid is null
    and (subscription.event_types is null or subscription.event_types ? event.type)
  union all
  select subscription.uid, event.event_id, event.position, event.type, event.subject
  from outbox as event join subscriptions as subscription on subscription.uid = event.subscription_uid
  where event.${eventOrder} between $1 and $2`;

const enqueueText = `
  insert into deliveries (uid, subscription_uid, event_id, type, subject, state, next_attempt_time, create_time, update_time)
  select recipient.subscription_uid || '/' || ${uidSegmentOf("recipient.position")}, recipient.subscription_uid, recipient.event_id, recipient.type,
    recipient.subject,
    case when row_number() over (partition by recipient.subscription_uid, recipient.subject order by recipient.position) = 1 and not exists (
      select from deliveries as earlier
      where earlier.subscription_uid = recipient.subscription_uid and earlier.subject = recipient.subject
        and earlier.state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING')
    ) then 'DELIVERY_STATE_PENDING' else 'DELIVERY_STATE_WAITING' end,
    $3, $3, $3
  from (${recipients}) as recipient`;

/** A delivery to each subscription that receives the events of these positions. Needs the lock "eventOrder". */
export const insertDeliveries = async (rows: Write, firstPosition: number, lastPosition: number, now: string): Promise<void> => {
  await rows.query(enqueueText, [firstPosition, lastPosition, now]);
};

// ---- claim ------------------------------------------------------------------------------------------------------

/** What a server has going on with a subscription. */
export interface SubscriptionLoad {
  readonly uid: string;
  /** Attempts that are running. */
  readonly inFlight: number;
  /** How many more may be claimed. */
  readonly claimable: number;
  /** Whether its sink answered the last attempt at once. */
  readonly quick: boolean;
}

/** How many deliveries may be claimed: in all, and of them for sinks that are not known to be quick. */
export interface ClaimQuota {
  readonly total: number;
  readonly unproven: number;
}

// From one subscription with something to send to the next, by the index alone. Each gives a few, the oldest first:
// however much one has, the others' turn comes with every claim. One that fails gives a single one, and those that are
// not known to be quick share a part of the quota, the first of each aside. Within a subscription the order is the
// index's, and nothing besides: what is redelivered is all due at the same time, and would all be read to be sorted.
const dueText = `
  with recursive sending as (
    (select subscription_uid as uid from deliveries where state = 'DELIVERY_STATE_PENDING' order by 1 limit 1)
    union all
    select (select next.subscription_uid from deliveries as next
            where next.state = 'DELIVERY_STATE_PENDING' and next.subscription_uid > sending.uid order by 1 limit 1)
    from sending where sending.uid is not null
  )
  select candidate.uid from (
    select delivery.uid, delivery.next_attempt_time, delivery.nth, load.quick or (delivery.nth = 1 and subscription.failing_since is null) as at_once,
      row_number() over (
        partition by load.quick order by subscription.failing_since is not null, delivery.nth, delivery.next_attempt_time, delivery.uid) as rank
    from sending
    join subscriptions as subscription on subscription.uid = sending.uid and subscription.enabled
    left join unnest($2::text[], $3::integer[], $4::integer[], $5::boolean[]) as here(uid, in_flight, claimable, quick) on here.uid = sending.uid
    cross join lateral (
      select coalesce(here.in_flight, 0) as in_flight, coalesce(here.claimable, $6::integer) as claimable, coalesce(here.quick, false) as quick
    ) as load
    cross join lateral (
      select pending.uid, pending.next_attempt_time, load.in_flight + row_number() over (order by pending.next_attempt_time) as nth
      from deliveries as pending
      where pending.subscription_uid = sending.uid and pending.state = 'DELIVERY_STATE_PENDING' and pending.next_attempt_time <= $1
        and (pending.lease_time is null or pending.lease_time <= $1)
      order by pending.next_attempt_time
      limit least(load.claimable, case when subscription.failing_since is not null then 1 end)
    ) as delivery
  ) as candidate
  where candidate.at_once or candidate.rank <= $7
  order by candidate.nth, candidate.next_attempt_time, candidate.uid limit $8`;

/** The uids of deliveries that are due and that no claim holds, as many as the quota and the loads allow. */
export const findDueDeliveries = async (rows: Read, now: string, quota: ClaimQuota, loads: readonly SubscriptionLoad[]): Promise<string[]> => {
  const found = await rows.query(dueText, [
    now,
    loads.map(({ uid }) => uid),
    loads.map(({ inFlight }) => String(inFlight)),
    loads.map(({ claimable }) => String(claimable)),
    loads.map(({ quick }) => String(quick)),
    limits.claimedPerUnprovenMax,
    quota.unproven,
    quota.total,
  ]);
  return found.map(([uid]) => uid ?? "");
};

/** A delivery that is this server's until its lease ends, with its event and what its subscription says. */
export interface ClaimedDelivery {
  readonly uid: string;
  readonly subscription: string;
  /** This one included. */
  readonly attempts: number;
  readonly sink: string;
  readonly creator: string;
  readonly secretSealed: string;
  /** Undefined: it is over, or there was none. */
  readonly previousSecretSealed: string | undefined;
  readonly eventId: string;
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  readonly extensions: Readonly<Record<string, string>>;
  readonly bodyType: string;
  readonly audience: string;
  /** The body, byte for byte. */
  readonly data: string;
  /** RFC 3339. */
  readonly time: string;
}

const claimedDelivery = columns<ClaimedDelivery>({
  uid: expression("delivery.uid", text),
  subscription: expression("delivery.subscription_uid", text),
  attempts: expression("delivery.attempts", number),
  sink: expression("subscription.sink", text),
  creator: expression("subscription.creator", text),
  secretSealed: expression("subscription.secret_sealed", text),
  previousSecretSealed: expression("case when subscription.previous_secret_expire_time > $2 then subscription.previous_secret_sealed end", nullableText),
  eventId: expression("event.event_id", text),
  type: expression("event.type", text),
  source: expression("event.source", text),
  subject: expression("event.subject", text),
  extensions: expression("event.extensions", textMap),
  bodyType: expression("event.body_type", text),
  audience: expression("event.audience", text),
  data: expression("event.data", text),
  time: time("event.create_time"),
});

// || '' so that no index of what is on its way fits: PostgreSQL believes them to be small, as they are most of the time,
// and would go through the whole of a backlog for the few rows that their primary key leads to.
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
  returning ${claimedDelivery.list}`;

/** Claims those of these deliveries that are still due and nobody else's, until `leaseTime`. */
export const claimDeliveries = (rows: Write, uids: readonly string[], now: string, leaseTime: string): Promise<ClaimedDelivery[]> =>
  claimedDelivery.find(rows, claimText, [uids, now, leaseTime]);

// ---- complete ---------------------------------------------------------------------------------------------------

/** What an attempt came to. */
export interface AttemptResult {
  readonly uid: string;
  /** The number of the attempt. */
  readonly attempts: number;
  readonly became: "delivered" | "pending" | "dead" | "dropped";
  readonly statusClass: string | undefined;
  /** Undefined where nobody answered. */
  readonly latencyMs: number | undefined;
  /** Of the next attempt. */
  readonly nextTime: string;
}

// A result counts for the attempt that it is of: a claim whose lease ran out may have been taken over. An event that
// arrived has arrived, whoever sent it. || '' as in a claim: by the primary key.
const completeText = `
  update deliveries as delivery
  set state = 'DELIVERY_STATE_' || upper(ended.became), status_class = nullif(ended.status_class, ''), latency_ms = nullif(ended.latency_ms, '')::integer,
      next_attempt_time = case when ended.became = 'pending' then ended.next_time::timestamptz end, lease_time = null, update_time = $7
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) as ended(uid, became, status_class, latency_ms, next_time, attempts)
  where delivery.uid = ended.uid and delivery.state || '' = 'DELIVERY_STATE_PENDING'
    and (delivery.attempts = ended.attempts::integer or ended.became = 'delivered')
  returning delivery.uid`;

/** Writes the results that count down, and returns the uids of their deliveries. Needs the lock "eventOrder", shared. */
export const completeDeliveries = async (rows: Write, results: readonly AttemptResult[], now: string): Promise<Set<string>> => {
  const completed = await rows.query(completeText, [
    results.map(({ uid }) => uid),
    results.map(({ became }) => became),
    results.map(({ statusClass }) => statusClass ?? ""),
    results.map(({ latencyMs }) => (latencyMs === undefined ? "" : String(latencyMs))),
    results.map(({ nextTime }) => nextTime),
    results.map(({ attempts }) => String(attempts)),
    now,
  ]);
  return new Set(completed.map(([uid]) => uid ?? ""));
};

// ---- release next -----------------------------------------------------------------------------------------------

/** The events of one subject that go to one subscription: each waits for the one before. */
export interface SubjectQueue {
  readonly subscription: string;
  readonly subject: string;
}

// Looked up for each subject by the index by subject: || '' as above, and offset 0 so that it is no join.
const nextText = `
  select (
    select waiting.uid from deliveries as waiting
    where waiting.subscription_uid = ended.subscription_uid and waiting.subject = ended.subject
      and waiting.state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING') and waiting.state || '' = 'DELIVERY_STATE_WAITING'
    order by waiting.uid limit 1)
  from (select distinct * from unnest($1::text[], $2::text[]) as subjects(subscription_uid, subject)) as ended
  where not exists (
    select from deliveries as earlier
    where earlier.subscription_uid = ended.subscription_uid and earlier.subject = ended.subject
      and earlier.state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING') and earlier.state || '' = 'DELIVERY_STATE_PENDING' offset 0)`;

const releaseText = `
  update deliveries set state = 'DELIVERY_STATE_PENDING', next_attempt_time = $2
  where uid = any($1) and state || '' = 'DELIVERY_STATE_WAITING'`;

/** Makes the first waiting delivery of each of these queues PENDING where none is. Needs the lock "eventOrder". */
export const releaseNext = async (rows: Write, queues: readonly SubjectQueue[], now: string): Promise<void> => {
  const found = await rows.query(nextText, [queues.map(({ subscription }) => subscription), queues.map(({ subject }) => subject)]);
  const released = found.map(([uid]) => uid).filter((uid) => uid != null);
  // Most subjects have nothing that waits.
  if (released.length > 0) await rows.query(releaseText, [released, now]);
};

// ---- redeliver --------------------------------------------------------------------------------------------------

const queue = columns<SubjectQueue>({ subscription: expression("subscription_uid", text), subject: text });

const resetColumns = "state = 'DELIVERY_STATE_WAITING', attempts = 0, status_class = null, latency_ms = null, lease_time = null";

const resetText = `
  update deliveries set ${resetColumns}, next_attempt_time = $2, update_time = $2
  where uid = $1 and exists (select from outbox as event where event.event_id = deliveries.event_id)
  returning ${queue.list}`;

/** Makes a delivery WAITING as if it were new; undefined where there is none, or its event is kept no longer. Needs the lock "eventOrder". */
export const resetDelivery = (rows: Write, uid: string, now: string): Promise<SubjectQueue | undefined> => queue.findOne(rows, resetText, [uid, now]);

// Below the subscription's group, by the index of a root's events in time.
const replayText = `
  insert into deliveries (uid, subscription_uid, event_id, type, subject, state, next_attempt_time, create_time, update_time)
  select subscription.uid || '/' || right(event.uid, 16), subscription.uid, event.event_id, event.type, event.subject, 'DELIVERY_STATE_WAITING', $3, $3, $3
  from subscriptions as subscription
  join outbox as event on left(event.uid, 40) = left(subscription.uid, 40) and event.create_time >= $2
    and event.uid >= left(subscription.uid, -17) || '/' and event.uid < left(subscription.uid, -17) || '0'
  where subscription.uid = $1 and event.audience = 'customer' and event.subscription_uid is null
    and (subscription.event_types is null or subscription.event_types ? event.type)
  order by event.position limit $4
  on conflict (uid) do update set ${resetColumns}, next_attempt_time = excluded.next_attempt_time, update_time = excluded.update_time
  returning ${queue.list}`;

/** A WAITING delivery for each event since `since` that the subscription receives, `count` at most. Needs the lock "eventOrder". */
export const replayDeliveries = (rows: Write, subscription: string, since: string, now: string, count: number): Promise<SubjectQueue[]> =>
  queue.find(rows, replayText, [subscription, since, now, count]);

// ---- retention --------------------------------------------------------------------------------------------------

// What can never be sent any more: its event is deleted (the subscription was off for so long), or its subscription was
// deleted while the event was being enqueued. It must not stand before what comes after it.
const deleteUndeliverableText = `
  delete from deliveries as delivery
  where state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING')
    and (not exists (select from outbox as event where event.event_id = delivery.event_id)
      or not exists (select from subscriptions as subscription where subscription.uid = delivery.subscription_uid))
  returning ${queue.list}`;

const deleteEndedText = "delete from deliveries where update_time < $1 and state in ('DELIVERY_STATE_DELIVERED', 'DELIVERY_STATE_DROPPED')";

// A dead one can be redelivered for as long as its event is there.
const deleteDeadText = "delete from deliveries where update_time < $1 and state = 'DELIVERY_STATE_DEAD'";

/** Behind the outbox's own (retentions.ts): with an event go its deliveries. */
export const deliveriesRetention: Retention = {
  table: "deliveries",
  async deleteExpired(store, nowMs) {
    await store.write((rows) => rows.query(deleteEndedText, [timestamp(nowMs - limits.deliveryRetentionMs)]));
    await store.write((rows) => rows.query(deleteDeadText, [timestamp(nowMs - limits.eventRetentionMs)]));
    await store.write(async (rows) => {
      await lockExclusive(rows, "eventOrder");
      const deleted = await queue.find(rows, deleteUndeliverableText);
      if (deleted.length > 0) await releaseNext(rows, deleted, timestamp(nowMs));
    });
  },
};
