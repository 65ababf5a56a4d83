// Table deliveries: events per subscription. Only the first of a subject is PENDING; later ones are WAITING, which
// preserves order.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import {
  columns,
  eventOrder,
  expression,
  flag,
  lockOrder,
  nullableText,
  number,
  periodRetention,
  type Read,
  type Retention,
  type RowOf,
  type Store,
  text,
  textMap,
  time,
  uidSegmentOf,
  type Write,
} from "#db";
import { type NextDelivery, nextDelivery } from "./fan-outs.ts";

// ---- enqueue ----------------------------------------------------------------------------------------------------

// By hash, to match the index by subject.
const ofSubject = (alias: string, subscription: string, subject: string): string =>
  `${alias}.subscription_uid = ${subscription} and hashtextextended(${alias}.subject, 0) = hashtextextended(${subject}, 0) and ${alias}.subject = ${subject}`;

const onItsWay = (alias: string): string => `${alias}.state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING')`;

const insertColumns = "uid, subscription_uid, event_id, type, subject, state, next_attempt_time, create_time, update_time";

// offset 0 forces a lookup per row (13 ms instead of .9 s with a million rows).
const inOrderState = `
  case when row_number() over (partition by recipient.subscription_uid, recipient.subject order by recipient.position) = 1 and not exists (
    select from deliveries as earlier
    where ${ofSubject("earlier", "recipient.subscription_uid", "recipient.subject")} and ${onItsWay("earlier")} and earlier.in_order offset 0
  ) then 'DELIVERY_STATE_PENDING' else 'DELIVERY_STATE_WAITING' end`;

/** Expects subscription_uid, event_id, position, type and subject. */
const deliveriesOf = (recipients: string, now: string): string => `
  insert into deliveries (${insertColumns})
  select recipient.subscription_uid || '/' || ${uidSegmentOf("recipient.position")}, recipient.subscription_uid, recipient.event_id, recipient.type,
    recipient.subject, ${inOrderState}, ${now}, ${now}, ${now}
  from (${recipients}) as recipient`;

// A subscription receives events at and below its group, so an event matches subscriptions at its group and above. Only
// customers' events (events, 4), which alone have a uid.
const pathsAbove = "select left(event.group_uid, 40 + 17 * level) as path from generate_series(0, (length(event.group_uid) - 40) / 17) as level";

const receivesType = (subscription: string): string => `(${subscription}.event_types is null or ${subscription}.event_types ? event.type)`;

// As in FindingSeverity, the lowest first.
const severities = "array['UNKNOWN', 'NEGLIGIBLE', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL']";

const rankOf = (severity: string): string => `array_position(${severities}, replace(${severity}, 'FINDING_SEVERITY_', ''))`;

// Digest events of findings count them by severity. Only these are parsed, and only for subscriptions with a condition.
const receivesFindings = (subscription: string): string => `
  case when ${subscription}.min_finding_severity is null and not ${subscription}.exploited_findings then true
    when not starts_with(event.type, 'dev.gantry.findings.') then true
    else (
      select not body ? 'severityCounts' or (${subscription}.exploited_findings and (body ->> 'exploitedCount')::bigint > 0)
        or exists (select from jsonb_array_elements(body -> 'severityCounts') as counted
          where ${rankOf("counted ->> 'severity'")} >= ${rankOf(`${subscription}.min_finding_severity`)})
      from (select event.data::jsonb -> 'body' as body) as of_event) end`;

const receives = (subscription: string): string => `${receivesType(subscription)} and ${receivesFindings(subscription)}`;

const eventColumns = "event.event_id, event.position, event.type, event.subject, event.group_uid, event.data";

// order by and offset 0 force the organization's index.
const enqueueText = deliveriesOf(
  `
  select subscription.uid as subscription_uid, event.event_id, event.position, event.type, event.subject
  from unnest($1::text[], $2::bigint[], $3::bigint[]) as range(root, after_position, until_position)
  cross join lateral (
    select ${eventColumns} from outbox as event
    where left(event.uid, 40) = range.root and event.uid is not null and event.position > range.after_position and event.position <= range.until_position
    order by event.position offset 0
  ) as event
  cross join lateral (${pathsAbove}) as above
  join subscriptions as subscription on left(subscription.uid, -17) = above.path
  where ${receives("subscription")}`,
  "$4",
);

/** Events with afterPosition < position <= untilPosition. */
export interface EventRange {
  readonly root: string;
  readonly afterPosition: number;
  readonly untilPosition: number;
}

/** Enqueues events for all subscriptions. Requires the exclusive order lock of the organizations. */
export const insertDeliveries = async (rows: Write, ranges: readonly EventRange[], now: string): Promise<void> => {
  await rows.query(enqueueText, [
    ranges.map(({ root }) => root),
    ranges.map(({ afterPosition }) => String(afterPosition)),
    ranges.map(({ untilPosition }) => String(untilPosition)),
    now,
  ]);
};

/** The next event, and the last subscription already enqueued; empty for none. */
export interface EventPart extends EventRange {
  readonly subscription: string;
}

// By group and uid, so each step is one index lookup.
const nextText = `
  with event as materialized (
    select ${eventColumns}, event.uid from outbox as event
    where left(event.uid, 40) = $1 and event.uid is not null and event.position > $2 and event.position <= $3
    order by event.position limit 1
  ), next as materialized (
    select candidate.*, row_number() over (order by above.path, candidate.uid) as step
    from event
    cross join lateral (${pathsAbove}) as above
    cross join lateral (
      select subscription.uid, subscription.event_types, subscription.min_finding_severity, subscription.exploited_findings
      from subscriptions as subscription
      where left(subscription.uid, -17) = above.path and (above.path > left($4, -17) or (above.path = left($4, -17) and subscription.uid > $4))
      order by subscription.uid limit $5
    ) as candidate
    order by above.path, candidate.uid limit $5
  )`;

const findNextText = `${nextText} select ${nextDelivery.list} from event left join next on true`;

const partValues = ({ root, afterPosition, untilPosition, subscription }: EventPart): string[] => [
  root,
  String(afterPosition),
  String(untilPosition),
  subscription,
];

/** Returns undefined without an event. */
export const findNextDelivery = (rows: Read, part: EventPart): Promise<NextDelivery | undefined> =>
  nextDelivery.findOne(rows, findNextText, [...partValues(part), 1]);

const partDone = columns({
  position: expression("event.position", number),
  /** Subscriptions examined, and the last of them. */
  count: expression("(select count(*) from next)", number),
  last: expression("(select uid from next order by step desc limit 1)", text),
});

const enqueuePartText = `${nextText}, made as (${deliveriesOf(
  `select next.uid as subscription_uid, event.event_id, event.position, event.type, event.subject from event cross join next where ${receives("next")}`,
  "$6",
)})
  select ${partDone.list} from event`;

/**
 * Enqueues the next event for more subscriptions; undefined without an event. `last` is empty after the last
 * subscription. Requires the exclusive order lock.
 */
export const insertSomeDeliveries = async (
  rows: Write,
  part: EventPart,
  subscriptionsMax: number,
  now: string,
): Promise<{ readonly position: number; readonly last: string } | undefined> => {
  const done = await partDone.findOne(rows, enqueuePartText, [...partValues(part), subscriptionsMax, now]);
  return done && { position: done.position, last: done.count < subscriptionsMax ? "" : done.last };
};

export const deliveryUidOf = (subscription: string, position: number): string => `${subscription}/${position.toString(16).padStart(16, "0")}`;

// A test event has one recipient and skips the order.
const enqueueSingleText = `
  with single as (
    select subscription.uid as subscription_uid, event.event_id, event.position, event.type, event.subject, event.subscription_uid is null as in_order
    from fan_outs as work
    join outbox as event on event.${eventOrder} = work.last_position
    join subscriptions as subscription on subscription.uid = work.only_subscription_uid
    where work.uid = any($1) and (event.subscription_uid = subscription.uid or (event.uid is not null and ${receives("subscription")}))
      and not exists (select from deliveries as made where made.uid = work.uid)
  ), at_once as (
    insert into deliveries (${insertColumns}, in_order)
    select subscription_uid || '/' || ${uidSegmentOf("position")}, subscription_uid, event_id, type, subject, 'DELIVERY_STATE_PENDING', $2, $2, $2, false
    from single where not in_order
  )
  ${deliveriesOf("select * from single where in_order", "$2")}`;

/** Enqueues deliveries from fan_outs. Requires the exclusive order lock of the organizations. */
export const insertSingleDeliveries = async (rows: Write, uids: readonly string[], now: string): Promise<void> => {
  await rows.query(enqueueSingleText, [uids, now]);
};

// ---- claim ------------------------------------------------------------------------------------------------------

export interface SubscriptionLoad {
  readonly uid: string;
  readonly inFlight: number;
  readonly claimable: number;
  /** The sink responded quickly last time. */
  readonly quick: boolean;
}

/** Limits in total, and for sinks not known to be quick. */
export interface ClaimQuota {
  readonly total: number;
  readonly unproven: number;
  /** Includes running attempts. */
  readonly eachOrganization: number;
  /** Organizations to skip, by root. */
  readonly leftOut: readonly string[];
}

// A lease too far in the future comes from a wrong clock or a dead server.
const isFree = (alias: string, now: string): string =>
  `(${alias}.lease_time is null or ${alias}.lease_time <= ${now}
    or ${alias}.lease_time > ${now}::timestamptz + interval '${2 * limits.deliveryLeaseMs} milliseconds')`;

const isDueNow = (alias: string): string => `${alias}.state = 'DELIVERY_STATE_PENDING' and ${alias}.next_attempt_time <= $1 and ${isFree(alias, "$1")}`;

// Iterates over subscriptions by index; each contributes a few, oldest first, so that a long queue delays no other. A
// failing subscription contributes one. Sinks not known to be quick share a part of the quota, except for the first
// delivery of each. Only the index order counts within a subscription: redelivered events are due at once, and sorting
// would read them all.
//
// Each organization contributes one before any contributes a second, counting running attempts. For sinks that may be
// slow, an organization uses at most twice what it leaves free, so that newcomers find capacity. None exceeds its share
// of outbound connections, since waiting attempts would occupy the others' capacity.
//
// Untried test events come first.
const dueText = `
  with recursive sending as (
    (select subscription_uid as uid from deliveries where state = 'DELIVERY_STATE_PENDING' order by 1 limit 1)
    union all
    select (select next.subscription_uid from deliveries as next
            where next.state = 'DELIVERY_STATE_PENDING' and next.subscription_uid > sending.uid order by 1 limit 1)
    from sending where sending.uid is not null
  ), here as materialized (
    select uid, left(uid, 40) as root, in_flight, claimable, quick
    from unnest($2::text[], $3::integer[], $4::integer[], $5::boolean[]) as given(uid, in_flight, claimable, quick)
  ), candidate as (
    select test.uid, left(test.uid, 40) as root, test.next_attempt_time, 0 as nth, true as at_once, false as failing, coalesce(here.quick, false) as quick
    from deliveries as test
    join subscriptions as subscription on subscription.uid = test.subscription_uid and subscription.enabled
    left join here on here.uid = test.subscription_uid
    where not test.in_order and test.attempts = 0 and ${isDueNow("test")}
    union all
    select delivery.uid, sending.root, delivery.next_attempt_time, delivery.nth, load.quick or (delivery.nth = 1 and subscription.failing_since is null),
      subscription.failing_since is not null, load.quick
    from (select uid, left(uid, 40) as root, count(*) over (partition by left(uid, 40)) as beside from sending where uid is not null) as sending
    join subscriptions as subscription on subscription.uid = sending.uid and subscription.enabled
    left join here on here.uid = sending.uid
    cross join lateral (
      select coalesce(here.in_flight, 0) as in_flight, coalesce(here.claimable, $6::integer) as claimable, coalesce(here.quick, false) as quick
    ) as load
    cross join lateral (
      select pending.uid, pending.next_attempt_time, load.in_flight + row_number() over (order by pending.next_attempt_time) as nth
      from deliveries as pending
      where pending.subscription_uid = sending.uid and ${isDueNow("pending")} and (pending.in_order or pending.attempts > 0)
      order by pending.next_attempt_time
      limit least(load.claimable, case when subscription.failing_since is not null then 1 end, 1 + 2 * $8::bigint / sending.beside)
    ) as delivery
  ), fair as (
    select candidate.*, coalesce(busy.in_flight, 0) + row_number() over (partition by root order by failing, nth, next_attempt_time, candidate.uid) as root_nth
    from candidate left join (select root, sum(in_flight) as in_flight from here group by root) as busy using (root)
    where root <> all($9)
  ), ranked as (
    select fair.*, row_number() over (partition by quick order by failing, root_nth, next_attempt_time, uid) as rank from fair
    where root_nth <= $10::integer
  ), taken as (
    select uid, quick, root_nth, row_number() over (order by root_nth, next_attempt_time, uid) as step from ranked where at_once or rank <= $7
  )
  select uid from taken where step <= $8 and (quick or root_nth <= 2 * ($8 - step + 1)) order by step`;

// A connection keeps its first query plan. Planned on an idle server, it scans the table for every subscription. With
// 2,500 of them and 30,000 queued deliveries no claim ended within 15 s.
const byIndexes = "select set_config('enable_seqscan', 'off', true)";

const anyPendingText = "select 1 from deliveries where state = 'DELIVERY_STATE_PENDING' limit 1";

export interface DueDeliveries {
  readonly uids: readonly string[];
  /** False if time alone makes nothing due. */
  readonly isAnyPending: boolean;
}

/** Returns unclaimed deliveries within quota and loads. Requires its own transaction. */
export const findDueDeliveries = async (rows: Read, now: string, quota: ClaimQuota, loads: readonly SubscriptionLoad[]): Promise<DueDeliveries> => {
  const [, found, pending] = await Promise.all([
    rows.query(byIndexes),
    rows.query(dueText, [
      now,
      loads.map(({ uid }) => uid),
      loads.map(({ inFlight }) => String(inFlight)),
      loads.map(({ claimable }) => String(claimable)),
      loads.map(({ quick }) => String(quick)),
      limits.claimedPerUnprovenMax,
      quota.unproven,
      quota.total,
      quota.leftOut,
      quota.eachOrganization,
    ]),
    rows.query(anyPendingText),
  ]);
  return { uids: found.map(([uid]) => uid ?? ""), isAnyPending: pending.length > 0 };
};

/** Leased to this server. */
export type ClaimedDelivery = RowOf<typeof claimedDelivery>;

const claimedDelivery = columns({
  uid: expression("delivery.uid", text),
  subscription: expression("delivery.subscription_uid", text),
  /** Includes this attempt. */
  attempts: expression("delivery.attempts", number),
  sink: expression("subscription.sink", text),
  creator: expression("subscription.creator", text),
  secretSealed: expression("subscription.secret_sealed", text),
  /** Undefined if expired or never set. */
  previousSecretSealed: expression("case when subscription.previous_secret_expire_time > $2 then subscription.previous_secret_sealed end", nullableText),
  eventId: expression("event.event_id", text),
  /** Empty if no request caused the event. */
  requestId: expression("event.request_id", text),
  type: expression("event.type", text),
  source: expression("event.source", text),
  subject: expression("event.subject", text),
  extensions: expression("event.extensions", textMap),
  bodyType: expression("event.body_type", text),
  audience: expression("event.audience", text),
  /** The exact body. */
  data: expression("event.data", text),
  /** RFC 3339. */
  time: time("event.create_time"),
});

// || '' rules out indexes of pending deliveries: PostgreSQL assumes they are small, and would scan a queue for a few
// primary keys.
const claimText = `
  with due as (
    select delivery.uid from deliveries as delivery
    where delivery.uid = any($1) and delivery.state || '' = 'DELIVERY_STATE_PENDING' and delivery.next_attempt_time <= $2 and ${isFree("delivery", "$2")}
    for update skip locked
  )
  update deliveries as delivery set lease_time = $3, attempts = delivery.attempts + 1
  from due, subscriptions as subscription, outbox as event
  where delivery.uid = due.uid and subscription.uid = delivery.subscription_uid and event.event_id = delivery.event_id
  returning ${claimedDelivery.list}`;

/** Skips deliveries no longer due or claimed by another server. */
export const claimDeliveries = (rows: Write, uids: readonly string[], now: string, leaseTime: string): Promise<ClaimedDelivery[]> =>
  claimedDelivery.find(rows, claimText, [uids, now, leaseTime]);

const postponeText = `
  update deliveries set attempts = attempts + 1, next_attempt_time = $2, lease_time = null
  where uid = $1 and state || '' = 'DELIVERY_STATE_PENDING' returning attempts`;

export const postponeDelivery = async (rows: Write, uid: string, nextTime: string): Promise<void> => {
  await rows.query(postponeText, [uid, nextTime]);
};

// ---- times from a wrong clock -----------------------------------------------------------------------------------

const delayedPerSubscriptionMax = 20;

// An update in the future came from a wrong clock: the original delay restarts now, and untried deliveries are due at
// once. By index, subscription by subscription.
const delayedText = `
  with recursive sending as (
    (select subscription_uid as uid, 1 as step from deliveries where state = 'DELIVERY_STATE_PENDING' and subscription_uid > $2 order by 1 limit 1)
    union all
    select (select next.subscription_uid from deliveries as next
            where next.state = 'DELIVERY_STATE_PENDING' and next.subscription_uid > sending.uid order by 1 limit 1), sending.step + 1
    from sending where sending.uid is not null and sending.step < $3
  )
  select sending.uid, delivery.uid from sending
  left join lateral (
    select pending.uid from deliveries as pending
    where pending.subscription_uid = sending.uid and pending.state = 'DELIVERY_STATE_PENDING' and pending.next_attempt_time > $1
      and (pending.attempts = 0 or pending.update_time > $1)
    limit ${delayedPerSubscriptionMax}
  ) as delivery on true
  where sending.uid is not null`;

export interface Delayed {
  readonly uids: readonly string[];
  /** Undefined at the end. */
  readonly lastSubscription: string | undefined;
}

/** Returns deliveries postponed by a clock ahead of `time`, for the next `count` subscriptions. */
export const findDelayedDeliveries = async (rows: Read, time: string, afterSubscription: string, count: number): Promise<Delayed> => {
  const found = await rows.query(delayedText, [time, afterSubscription, count]);
  const subscriptions = new Set(found.map(([subscription]) => subscription ?? ""));
  return {
    uids: found.flatMap(([, uid]) => uid ?? []),
    lastSubscription: subscriptions.size < count ? undefined : [...subscriptions].reduce((one, other) => (one > other ? one : other)),
  };
};

const advanceText = `
  update deliveries
  set next_attempt_time = $2::timestamptz + case when attempts = 0 then interval '0' else greatest(next_attempt_time - update_time, interval '0') end,
      update_time = $2::timestamptz
  where uid = any($1) and state || '' = 'DELIVERY_STATE_PENDING' and next_attempt_time > $3 and (attempts = 0 or update_time > $3)`;

/** Restarts the original delay of deliveries that a clock ahead of `time` postponed. */
export const advanceDeliveries = async (rows: Write, uids: readonly string[], now: string, time: string): Promise<void> => {
  await rows.query(advanceText, [uids, now, time]);
};

// ---- complete ---------------------------------------------------------------------------------------------------

export interface AttemptResult {
  readonly uid: string;
  readonly attempts: number;
  /** "unsent": no connection was free; does not count as an attempt. */
  readonly became: "delivered" | "pending" | "dead" | "dropped" | "unsent";
  readonly statusClass: string | undefined;
  /** Undefined without a response. */
  readonly latencyMs: number | undefined;
  readonly nextTime: string;
}

// A result applies only to its own attempt, since another server may have taken over the lease; a success always
// counts. || '' forces the primary key.
const completeText = `
  update deliveries as delivery
  set state = case ended.became when 'unsent' then delivery.state else 'DELIVERY_STATE_' || upper(ended.became) end,
      attempts = delivery.attempts - case ended.became when 'unsent' then 1 else 0 end,
      status_class = case ended.became when 'unsent' then delivery.status_class else nullif(ended.status_class, '') end,
      latency_ms = case ended.became when 'unsent' then delivery.latency_ms else nullif(ended.latency_ms, '')::integer end,
      next_attempt_time = case ended.became when 'unsent' then delivery.next_attempt_time when 'pending' then ended.next_time::timestamptz end,
      lease_time = null, update_time = case ended.became when 'unsent' then delivery.update_time else $7 end
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) as ended(uid, became, status_class, latency_ms, next_time, attempts)
  where delivery.uid = ended.uid and delivery.state || '' = 'DELIVERY_STATE_PENDING'
    and (delivery.attempts = ended.attempts::integer or ended.became = 'delivered')
  returning delivery.uid`;

/** Returns the uids of accepted results; requires the shared order lock of the organizations. */
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

/** A subject's deliveries to a subscription, sent one after another. */
export type SubjectQueue = RowOf<typeof queue>;

// One index lookup per subject: || '' as above, and offset 0 to avoid a join.
const waitingText = `
  select (
    select waiting.uid from deliveries as waiting
    where ${ofSubject("waiting", "ended.subscription_uid", "ended.subject")} and ${onItsWay("waiting")} and waiting.state || '' = 'DELIVERY_STATE_WAITING'
    order by waiting.uid limit 1)
  from (select distinct * from unnest($1::text[], $2::text[]) as subjects(subscription_uid, subject)) as ended
  where not exists (
    select from deliveries as earlier
    where ${ofSubject("earlier", "ended.subscription_uid", "ended.subject")} and ${onItsWay("earlier")} and earlier.in_order
      and earlier.state || '' = 'DELIVERY_STATE_PENDING' offset 0)`;

const releaseText = `
  update deliveries set state = 'DELIVERY_STATE_PENDING', next_attempt_time = $2
  where uid = any($1) and state || '' = 'DELIVERY_STATE_WAITING'`;

/** Makes each queue's first WAITING delivery PENDING if none is. Requires the order lock of the organizations. */
export const releaseNext = async (rows: Write, queues: readonly SubjectQueue[], now: string): Promise<void> => {
  const found = await rows.query(waitingText, [queues.map(({ subscription }) => subscription), queues.map(({ subject }) => subject)]);
  const released = found.map(([uid]) => uid).filter((uid) => uid != null);
  if (released.length > 0) await rows.query(releaseText, [released, now]);
};

// ---- redeliver --------------------------------------------------------------------------------------------------

const queue = columns({ subscription: expression("subscription_uid", text), subject: text });

const resetColumns = "state = 'DELIVERY_STATE_WAITING', in_order = true, attempts = 0, status_class = null, latency_ms = null, lease_time = null";

const resetText = `
  update deliveries set ${resetColumns}, next_attempt_time = $2, update_time = $2
  where uid = $1 and exists (select from outbox as event where event.event_id = deliveries.event_id)
  returning ${queue.list}`;

/** Makes a delivery WAITING; undefined if it or its event is missing. Requires the exclusive order lock. */
export const resetDelivery = (rows: Write, uid: string, now: string): Promise<SubjectQueue | undefined> => queue.findOne(rows, resetText, [uid, now]);

// By the root's index of time. Events not yet enqueued follow on their own.
const replayText = `
  insert into deliveries (uid, subscription_uid, event_id, type, subject, state, next_attempt_time, create_time, update_time)
  select subscription.uid || '/' || right(event.uid, 16), subscription.uid, event.event_id, event.type, event.subject, 'DELIVERY_STATE_WAITING', $3, $3, $3
  from subscriptions as subscription
  join outbox as event on left(event.uid, 40) = left(subscription.uid, 40) and event.create_time >= $2
    and event.uid >= left(subscription.uid, -17) || '/' and event.uid < left(subscription.uid, -17) || '0'
  where subscription.uid = $1 and ${receives("subscription")}
    and event.position <= coalesce((select work.position from fan_outs as work where work.uid = left($1, 40)), event.position)
  order by event.position limit $4
  on conflict (uid) do update set ${resetColumns}, next_attempt_time = excluded.next_attempt_time, update_time = excluded.update_time
  returning ${queue.list}`;

/** Resets or creates at most `count` deliveries. Requires the exclusive order lock. */
export const replayDeliveries = (rows: Write, subscription: string, since: string, now: string, count: number): Promise<SubjectQueue[]> =>
  queue.find(rows, replayText, [subscription, since, now, count]);

// ---- retention --------------------------------------------------------------------------------------------------

// The event was deleted (the subscription was disabled that long), or the subscription was, during enqueueing. Such a
// delivery must not block later ones.
const isUndeliverable = `(
  not exists (select from outbox as event where event.event_id = delivery.event_id)
  or not exists (select from subscriptions as subscription where subscription.uid = delivery.subscription_uid))`;

type OnItsWay = RowOf<typeof onItsWayColumns>;

const onItsWayColumns = columns({
  uid: expression("delivery.uid", text),
  subscription: expression("delivery.subscription_uid", text),
  subject: expression("delivery.subject", text),
  undeliverable: expression(isUndeliverable, flag),
});

const walkText = `
  select ${onItsWayColumns.list} from deliveries as delivery
  where ${onItsWay("delivery")}
    and (delivery.subscription_uid, hashtextextended(delivery.subject, 0), delivery.uid) > ($1, hashtextextended($2, 0), $3)
  order by delivery.subscription_uid, hashtextextended(delivery.subject, 0), delivery.uid limit $4`;

const deleteUndeliverableText = `
  delete from deliveries as delivery where uid = any($1) and ${onItsWay("delivery")} and ${isUndeliverable} returning ${queue.list}`;

interface UndeliverableGone {
  readonly deleted: number;
  /** Undefined at the end. */
  readonly last: OnItsWay | undefined;
}

/** Deletes undeliverable rows among the next ones, and releases those they blocked. */
const deleteUndeliverable = async (store: Store, after: OnItsWay | undefined, nowMs: number): Promise<UndeliverableGone> => {
  const count = limits.retentionRowsMax;
  let deletedCount = 0;
  const found = await onItsWayColumns.find(store.read, walkText, [after?.subscription ?? "", after?.subject ?? "", after?.uid ?? "", count]);
  const gone = Map.groupBy(
    found.filter(({ undeliverable }) => undeliverable),
    ({ uid }) => rootOf(uid),
  );
  for (const [root, deliveries] of gone) {
    deletedCount += await store.write(async (rows) => {
      await lockOrder(rows, root, "alone");
      const deleted = await queue.find(rows, deleteUndeliverableText, [deliveries.map(({ uid }) => uid)]);
      if (deleted.length > 0) await releaseNext(rows, deleted, timestamp(nowMs));
      return deleted.length;
    });
  }
  return { deleted: deletedCount, last: found.length < count ? undefined : found.at(-1) };
};

const isEnded = "state in ('DELIVERY_STATE_DELIVERED', 'DELIVERY_STATE_DROPPED')";

const isDead = "state = 'DELIVERY_STATE_DEAD'";

export const deliveriesRetention: Retention = periodRetention("deliveryMs", {
  table: "deliveries",
  where: `update_time < $1 and ${isEnded}`,
  order: "update_time",
});

// A dead delivery can be redelivered while its event exists.
export const deadDeliveriesRetention: Retention = periodRetention(
  "eventMs",
  { table: "deliveries", where: `update_time < $1 and ${isDead}`, order: "update_time" },
  "deliveries (dead)",
);

const lookedUntil = new WeakMap<Store, OnItsWay>();

/** After the outbox's retention (retentions.ts), which deletes events. */
export const undeliverableRetention: Retention = {
  table: "deliveries (undeliverable)",
  async deleteExpired(store, nowMs) {
    const { deleted, last } = await deleteUndeliverable(store, lookedUntil.get(store), nowMs);
    if (last) lookedUntil.set(store, last);
    else lookedUntil.delete(store);
    return { deleted, more: last !== undefined };
  },
};
