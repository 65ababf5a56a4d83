// Events sent once more, on somebody's word.

import { limits } from "#base/limits.ts";
import type { Write } from "#store";
import { lockNumbering } from "./lock.ts";
import { releaseNext } from "./complete.ts";

const afresh = "state = 'DELIVERY_STATE_WAITING', attempts = 0, status_class = null, latency_ms = null, lease_time = null";

/** Sends one delivery again, whatever became of it; false where there is none, or its event is kept no longer. */
export const redeliver = async (rows: Write, uid: string, now: string): Promise<boolean> => {
  await lockNumbering(rows);
  const [row] = await rows.query(
    `update deliveries set ${afresh}, next_attempt_time = $2, update_time = $2 where uid = $1 and exists (select from outbox as event where event.event_id = deliveries.event_id) returning subscription_uid, subject`,
    [uid, now],
  );
  if (!row) return false;
  await releaseNext(rows, [{ subscription: row[0] ?? "", subject: row[1] ?? "" }], now);
  return true;
};

// Below the subscription's group, by the index of a root's events in time.
const enqueueAgain = `
  insert into deliveries (uid, subscription_uid, event_id, type, subject, state, next_attempt_time, create_time, update_time)
  select subscription.uid || '/' || right(event.uid, 16), subscription.uid, event.event_id, event.type, event.subject, 'DELIVERY_STATE_WAITING', $3, $3, $3
  from subscriptions as subscription
  join outbox as event on left(event.uid, 40) = left(subscription.uid, 40) and event.create_time >= $2
    and event.uid >= left(subscription.uid, -17) || '/' and event.uid < left(subscription.uid, -17) || '0'
  where subscription.uid = $1 and event.audience = 'customer' and event.subscription_uid is null
    and (subscription.event_types is null or subscription.event_types ? event.type)
  order by event.position limit $4
  on conflict (uid) do update set ${afresh}, next_attempt_time = excluded.next_attempt_time, update_time = excluded.update_time
  returning subject`;

/** Sends a subscription what happened since `since` again, limits.replayMax events at most; returns how many. */
export const replay = async (rows: Write, subscription: string, since: string, now: string): Promise<number> => {
  await lockNumbering(rows);
  const subjects = (await rows.query(enqueueAgain, [subscription, since, now, limits.replayMax])).map(([subject]) => subject ?? "");
  if (subjects.length > 0)
    await releaseNext(
      rows,
      subjects.map((subject) => ({ subscription, subject })),
      now,
    );
  return subjects.length;
};
