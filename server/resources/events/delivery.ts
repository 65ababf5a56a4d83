// A delivery: one event on its way to one subscription, and what can be done about it.

import { DeliveriesService, DeliverySchema } from "#contract/gen/gantry/events/v1/events_pb.js";
import { SubscriptionSchema } from "#contract/gen/chainguard/platform/events/v2/subscriptions_pb.js";
import { invalid, missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { durationMs, timestamp } from "#base/time.ts";
import { newSecret, redeliver, replay, secretPurpose } from "#delivery";
import { type Outcome, resource, type WriteContext } from "#kernel";
import { newEventId } from "#outbox";
import { findRow, lockRow, updateRow } from "#store";

const subscriptions = { name: "subscriptions", columns: ["uid", "secret_sealed"] } as const;

/** The subscription of the request, kept until the transaction ends: its uid and its sealed secret. Throws NOT_FOUND. */
const subscriptionOf = async ({ request, rows }: WriteContext): Promise<{ uid: string; secretSealed: string }> => {
  const uid = text(request, "subscriptionUid");
  const row = await lockRow(rows, subscriptions, uid);
  if (!row) throw missing("events", SubscriptionSchema.name, uid);
  return { uid, secretSealed: row[1] ?? "" };
};

const redeliverDelivery = async (context: WriteContext): Promise<Outcome> => {
  const { request, rows, nowMs, resources } = context;
  const uid = text(request, "uid");
  const found = (await redeliver(rows, uid, timestamp(nowMs))) ? resources.get(DeliverySchema.typeName) : undefined;
  const row = found && (await findRow(rows, found.shape.table, uid));
  if (!found || !row) throw missing("events", DeliverySchema.name, uid);
  return { reply: found.shape.read(row.row, row.offset) };
};

const replaySubscription = async (context: WriteContext): Promise<Outcome> => {
  const { uid } = await subscriptionOf(context);
  const { request, rows, nowMs } = context;
  return { reply: { deliveries: String(await replay(rows, uid, text(request, "since"), timestamp(nowMs))), subscriptionUid: uid } };
};

const testSubscription = async (context: WriteContext): Promise<Outcome> => {
  const { uid } = await subscriptionOf(context);
  const eventId = newEventId();
  return { reply: { eventId, subscriptionUid: uid }, toldOnly: { subscription: uid, eventId } };
};

const rotateSecret = async (context: WriteContext): Promise<Outcome> => {
  const { request, rows, nowMs, services } = context;
  const overlap = text(request, "overlap");
  const overlapMs = overlap === "" ? limits.secretOverlapMs : durationMs(overlap);
  if (overlapMs < 0 || overlapMs > limits.secretOverlapMaxMs) throw invalid([{ field: "overlap", description: "must be between 0s and 604800s (7 days)" }]);
  const { uid, secretSealed } = await subscriptionOf(context);
  const secret = newSecret();
  const previousSecretExpireTime = timestamp(nowMs + overlapMs);
  await updateRow(rows, subscriptions, uid, {
    secret_sealed: services.seal.seal(secretPurpose, secret),
    previous_secret_sealed: secretSealed,
    previous_secret_expire_time: previousSecretExpireTime,
    update_time: timestamp(nowMs),
  });
  return { reply: { secret, previousSecretExpireTime, subscriptionUid: uid } };
};

const enable = async (context: WriteContext): Promise<Outcome> => {
  const { uid } = await subscriptionOf(context);
  await updateRow(context.rows, subscriptions, uid, { enabled: true, failing_since: null, update_time: timestamp(context.nowMs) });
  return { reply: { subscriptionUid: uid } };
};

export const delivery = resource({
  service: DeliveriesService,
  message: DeliverySchema,
  table: "deliveries",
  methods: {
    RedeliverDelivery: { writes: redeliverDelivery },
    ReplaySubscription: { writes: replaySubscription },
    TestSubscription: { writes: testSubscription },
    RotateSubscriptionSecret: { writes: rotateSecret },
    EnableSubscription: { writes: enable },
  },
});
