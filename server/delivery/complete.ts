// What attempts came to, written down: the deliveries, which event of each subject goes next, and how each sink does.

import { limits } from "#base/limits.ts";
import { ownOrigin } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { parentOf } from "#base/uid.ts";
import { record } from "#outbox";
import type { Store, Write } from "#store";
import { lockCompletion } from "./lock.ts";

export interface CompletedAttempt {
  readonly uid: string;
  readonly subscription: string;
  readonly subject: string;
  readonly attempts: number;
  /** "lost": nothing can be said; the claim runs out and it is sent again. */
  readonly became: "delivered" | "pending" | "dead" | "dropped" | "lost";
  readonly statusClass: string | undefined;
  /** Undefined where nobody answered. */
  readonly latencyMs: number | undefined;
  /** Of the next attempt. */
  readonly nextTime: string;
}

// A result counts for the attempt that it is of: a claim that ran out may have been taken over. || '' as in claim.ts:
// by the primary key.
const write = `
  update deliveries as delivery
  set state = 'DELIVERY_STATE_' || upper(ended.became), status_class = nullif(ended.status_class, ''), latency_ms = nullif(ended.latency_ms, '')::integer,
      next_attempt_time = case when ended.became = 'pending' then ended.next_time::timestamptz end, lease_time = null, update_time = $7
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) as ended(uid, became, status_class, latency_ms, next_time, attempts)
  where delivery.uid = ended.uid and delivery.state || '' = 'DELIVERY_STATE_PENDING'
    and (delivery.attempts = ended.attempts::integer or ended.became = 'delivered')`;

// Asked for each subject by the index by subject: || '' as above, and offset 0 so that it is no join.
const next = `
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

const go = "update deliveries set state = 'DELIVERY_STATE_PENDING', next_attempt_time = $2 where uid = any($1) and state || '' = 'DELIVERY_STATE_WAITING'";

/** Lets the first event of each of these subjects go that waits behind none. */
export const releaseNext = async (
  rows: Write,
  subjects: readonly { readonly subscription: string; readonly subject: string }[],
  now: string,
): Promise<void> => {
  const found = await rows.query(next, [subjects.map(({ subscription }) => subscription), subjects.map(({ subject }) => subject)]);
  const going = found.map(([uid]) => uid).filter((uid) => uid != null);
  // Most subjects have nothing that waits.
  if (going.length > 0) await rows.query(go, [going, now]);
};

export const disabledType = "dev.gantry.events.subscription.disabled.v1";

/** A sink that has failed for so long is switched off, and its group is told. */
const disableSubscriptions = async (rows: Write, source: string, subscriptions: readonly string[], nowMs: number): Promise<void> => {
  const off = await rows.query(
    "update subscriptions set enabled = false, update_time = $3 where uid = any($1) and enabled and failing_since < $2 returning uid, sink",
    [subscriptions, timestamp(nowMs - limits.sinkFailureMs), timestamp(nowMs)],
  );
  for (const [uid, sink] of off) {
    if (!uid || !sink) continue;
    const group = parentOf(uid);
    await record(rows, {
      type: disabledType,
      source: `${source}/events/v2/subscriptions`,
      subject: uid,
      group,
      audience: "customer",
      extensions: { group },
      actor: undefined,
      bodyType: "chainguard.platform.events.v2.Subscription",
      body: { uid, sink },
      requestId: "",
      time: timestamp(nowMs),
      auditContext: { operation: "", bindings: [], origin: ownOrigin },
    });
  }
};

/** Writes what became of these attempts, in one transaction. `source`: the server's public URL. */
export const completeAttempts = async (store: Store, source: string, attempts: readonly CompletedAttempt[], nowMs: number): Promise<void> => {
  const now = timestamp(nowMs);
  const ended = attempts.filter(({ became }) => became !== "lost");
  if (ended.length === 0) return;
  const well = [...new Set(ended.filter(({ became }) => became === "delivered").map(({ subscription }) => subscription))];
  const ill = [...new Set(ended.filter(({ became }) => became === "pending" || became === "dead").map(({ subscription }) => subscription))].filter(
    (each) => !well.includes(each),
  );
  await store.write(async (rows) => {
    await lockCompletion(rows);
    await rows.query(write, [
      ended.map(({ uid }) => uid),
      ended.map(({ became }) => became),
      ended.map(({ statusClass }) => statusClass ?? ""),
      ended.map(({ latencyMs }) => (latencyMs === undefined ? "" : String(latencyMs))),
      ended.map(({ nextTime }) => nextTime),
      ended.map((each) => String(each.attempts)),
      now,
    ]);
    const over = ended.filter(({ became }) => became !== "pending");
    if (over.length > 0) await releaseNext(rows, over, now);
    if (well.length > 0) await rows.query("update subscriptions set failing_since = null where uid = any($1) and failing_since is not null", [well]);
    if (ill.length > 0) {
      await rows.query("update subscriptions set failing_since = $2 where uid = any($1) and failing_since is null", [ill, now]);
      await disableSubscriptions(rows, source, ill, nowMs);
    }
  });
};
