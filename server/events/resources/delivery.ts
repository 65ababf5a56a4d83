// A delivery of an event to a subscription, with retry, replay, test and secret rotation.

import { missing } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { durationMs, timestamp } from "#base/time.ts";
import { newSecret, redeliver, replay } from "#events/delivery";
import { type BoundResource, boundOf, change, history, lockResource, type Outcome, resource, untilConditions, type WriteContext } from "#kernel";
import { newEventId } from "#outbox";
import { findRow } from "#db";
import { findSubscriptionSecret, subscriptionSecretBinding, subscriptionSecretPurpose } from "#events/store";

interface HeldSubscription {
  readonly uid: string;
  readonly resource: BoundResource;
  readonly before: JsonObject;
}

const holdSubscription = async (context: WriteContext): Promise<HeldSubscription> => {
  const uid = text(context.request, "subscriptionUid");
  const found = boundOf(context, "chainguard.platform.events.v2.Subscription");
  const before = await lockResource(context, found, uid);
  if (!before) throw missing("events", "Subscription", uid);
  return { uid, resource: found, before };
};

const redeliverDelivery = async (context: WriteContext): Promise<Outcome> => {
  const { request, rows, nowMs, resources } = context;
  const uid = text(request, "uid");
  const found = (await redeliver(rows, uid, timestamp(nowMs))) ? resources.get("gantry.events.v1.Delivery") : undefined;
  const row = found && (await findRow(rows, found.shape.table, uid));
  if (!found || !row) throw missing("events", "Delivery", uid);
  return { reply: found.shape.read(row.row, row.offset) };
};

const replaySubscription = async (context: WriteContext): Promise<Outcome> => {
  const { uid } = await holdSubscription(context);
  const { request, rows, nowMs } = context;
  return { reply: { deliveries: String(await replay(rows, uid, text(request, "since"), timestamp(nowMs))), subscriptionUid: uid } };
};

const testSubscription = async (context: WriteContext): Promise<Outcome> => {
  const { uid } = await holdSubscription(context);
  const eventId = newEventId();
  return { reply: { eventId, subscriptionUid: uid }, toldOnly: { subscription: uid, eventId } };
};

const rotateSecret = async (context: WriteContext): Promise<Outcome> => {
  const { request, rows, nowMs, services } = context;
  const overlap = text(request, "overlap");
  const overlapMs = overlap === "" ? limits.secretOverlapMs : durationMs(overlap);
  const { uid, resource: found, before } = await holdSubscription(context);
  const secret = newSecret();
  const previousSecretExpireTime = timestamp(nowMs + overlapMs);
  const columns = {
    secret_sealed: services.seal.seal(subscriptionSecretPurpose, secret, subscriptionSecretBinding(uid)),
    previous_secret_sealed: await findSubscriptionSecret(rows, uid),
    previous_secret_expire_time: previousSecretExpireTime,
  };
  await change(context, found, { kind: "update", before, columns }, "cause");
  return { reply: { secret, previousSecretExpireTime, subscriptionUid: uid } };
};

const enable = async (context: WriteContext): Promise<Outcome> => {
  const { uid, resource: found, before } = await holdSubscription(context);
  await change(context, found, { kind: "update", before, draft: { ...before, enabled: true }, columns: { failing_since: null } }, "cause");
  return { reply: { subscriptionUid: uid } };
};

export const delivery = resource({
  service: "gantry.events.v1.DeliveriesService",
  message: "gantry.events.v1.Delivery",
  table: "deliveries",
  conditions: untilConditions,
  methods: {
    GetDeliveryHistory: { reads: history("gantry.events.v1.Delivery", "deliveryCount") },
    RedeliverDelivery: { writes: redeliverDelivery },
    ReplaySubscription: { writes: replaySubscription },
    TestSubscription: { writes: testSubscription },
    RotateSubscriptionSecret: { writes: rotateSecret },
    EnableSubscription: { writes: enable },
  },
});
