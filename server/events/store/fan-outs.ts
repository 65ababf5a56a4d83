// Table fan_outs: events to turn into deliveries, and the progress (server/events/delivery/fan-out.ts).

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, expression, nullableNumber, nullableText, number, type Read, type RowOf, text, uidSegmentOf, type Write } from "#db";

export interface NewFanOut {
  readonly owner: string;
  readonly isSingle: boolean;
  readonly firstPosition: number;
  readonly lastPosition: number;
}

// Skips organizations without subscriptions. Ordered by uid like the updates below, to avoid deadlocks.
const extendText = `
  insert into fan_outs (uid, only_subscription_uid, position, last_position, try_time)
  select case when single then owner || '/' || ${uidSegmentOf("last_position")} else owner end, case when single then owner end,
    first_position - 1, last_position, $5
  from unnest($1::text[], $2::boolean[], $3::bigint[], $4::bigint[]) as added(owner, single, first_position, last_position)
  where exists (select from subscriptions where left(uid, 40) = left(owner, 40))
  order by 1
  on conflict (uid) do update set last_position = excluded.last_position`;

/** Requires the lock "numbering". */
export const extendFanOuts = async (rows: Write, added: readonly NewFanOut[], now: string): Promise<void> => {
  if (added.length === 0) return;
  await rows.query(extendText, [
    added.map(({ owner }) => owner),
    added.map(({ isSingle }) => String(isSingle)),
    added.map(({ firstPosition }) => String(firstPosition)),
    added.map(({ lastPosition }) => String(lastPosition)),
    now,
  ]);
};

const uidOnly = columns({ uid: text });

/** SQL condition: due, or postponed by a wrong clock. */
const isDue = "(try_time <= $1 or try_time > $2)";

const dueValues = (nowMs: number): string[] => [timestamp(nowMs), timestamp(nowMs + limits.setAsideMaxMs + limits.clockToleranceMs)];

/** Returns due fan-outs to all subscriptions of an organization, after this uid. */
export const findFanOuts = async (rows: Read, nowMs: number, after: string, count: number): Promise<string[]> => {
  const statement = `select ${uidOnly.list} from fan_outs where only_subscription_uid is null and ${isDue} and uid > $3 order by uid limit $4`;
  return (await uidOnly.find(rows, statement, [...dueValues(nowMs), after, count])).map(({ uid }) => uid);
};

/** Returns due fan-outs to a single subscription, oldest first. */
export const findSingleFanOuts = async (rows: Read, nowMs: number, count: number): Promise<string[]> => {
  const statement = `select ${uidOnly.list} from fan_outs where only_subscription_uid is not null and ${isDue} order by try_time limit $3`;
  return (await uidOnly.find(rows, statement, [...dueValues(nowMs), count])).map(({ uid }) => uid);
};

export type FanOut = RowOf<typeof fanOut>;

const fanOut = columns({
  uid: expression("work.uid", text),
  position: expression("work.position", number),
  /** The last one that has the event after `position`; empty for none. */
  subscription: expression("work.subscription_uid", text),
  lastPosition: expression("work.last_position", number),
  failures: expression("work.failures", number),
  /** Capped at one more than `deliveriesMax`. */
  subscriptions: expression("size.subscriptions", number),
  /** The end of the next events that fit `deliveriesMax`; undefined if there are none. */
  untilPosition: expression("events.until_position", nullableNumber),
});

const readText = `
  select ${fanOut.list} from fan_outs as work
  cross join lateral (
    select count(*) as subscriptions from (select from subscriptions as heard where left(heard.uid, 40) = left(work.uid, 40) limit $2::bigint + 1) as counted
  ) as size
  cross join lateral (
    select max(next.position) as until_position from (
      select event.position from outbox as event
      where left(event.uid, 40) = left(work.uid, 40) and event.uid is not null and event.position > work.position and event.position <= work.last_position
      order by event.position limit greatest($2::bigint / greatest(size.subscriptions, 1), 1)
    ) as next
  ) as events
  where work.uid = any($1)`;

/** Returns the next steps, of at most `deliveriesMax` deliveries each. */
export const readFanOuts = (rows: Write, uids: readonly string[], deliveriesMax: number): Promise<FanOut[]> =>
  fanOut.find(rows, readText, [uids, deliveriesMax]);

export interface Advanced {
  readonly uid: string;
  readonly position: number;
  readonly subscription: string;
}

// Ordered by uid like the insert above, to avoid deadlocks.
const advanceText = `
  with held as (select uid from fan_outs where uid = any($1) order by uid for update)
  update fan_outs as work set position = done.position, subscription_uid = done.subscription_uid, failures = 0
  from held join unnest($1::text[], $2::bigint[], $3::text[]) as done(uid, position, subscription_uid) on done.uid = held.uid
  where work.uid = held.uid`;

/** Records progress, and deletes completed fan-outs. */
export const advanceFanOuts = async (rows: Write, advanced: readonly Advanced[]): Promise<void> => {
  const uids = advanced.map(({ uid }) => uid);
  await rows.query(advanceText, [uids, advanced.map(({ position }) => String(position)), advanced.map(({ subscription }) => subscription)]);
  await rows.query("delete from fan_outs where uid = any($1) and position >= last_position", [uids]);
};

export const deleteFanOuts = async (rows: Write, uids: readonly string[]): Promise<void> => {
  await rows.query("delete from fan_outs where uid = any($1)", [uids]);
};

export const postponeFanOut = async (rows: Write, uid: string, failures: number, tryTime: string): Promise<void> => {
  await rows.query("update fan_outs set failures = $2, try_time = $3 where uid = $1", [uid, failures, tryTime]);
};

/** Returns consecutive failures; undefined if the fan-out no longer exists. */
export const findFanOutFailures = async (rows: Read, uid: string): Promise<number | undefined> => {
  const [row] = await rows.query("select failures from fan_outs where uid = $1", [uid]);
  return row && Number(row[0]);
};

export type NextDelivery = RowOf<typeof nextDelivery>;

export const nextDelivery = columns({
  eventUid: expression("event.uid", text),
  position: expression("event.position", number),
  /** Undefined if all have it. */
  subscription: expression("next.uid", nullableText),
});

/** Creates a fan-out for a single event or delivery; `subscription` is the last that has it. */
export const insertFanOut = async (
  rows: Write,
  {
    uid,
    only,
    position,
    subscription,
    tryTime,
    failures,
  }: Advanced & { readonly only: string | undefined; readonly tryTime: string; readonly failures: number },
): Promise<void> => {
  await rows.query(
    `insert into fan_outs (uid, only_subscription_uid, position, subscription_uid, last_position, failures, try_time)
     values ($1, $2, $3::bigint - 1, $4, $3, $6, $5) on conflict (uid) do nothing`,
    [uid, only ?? null, position, subscription, tryTime, failures],
  );
};
