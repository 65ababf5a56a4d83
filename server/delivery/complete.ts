// What attempts came to, written down: the deliveries, which event of each subject is sent next, and how each sink does.

import { SubscriptionSchema } from "#contract/gen/chainguard/platform/events/v2/subscriptions_pb.js";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ownOrigin } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { parentOf } from "#base/uid.ts";
import { boundOf, change, changeContext, type Kernel, lockResource } from "#kernel";
import { record } from "#outbox";
import { type AttemptResult, clearFailing, completeDeliveries, lockFailing, lockShared, markFailing, releaseNext, type Write } from "#store";

export interface CompletedAttempt extends Omit<AttemptResult, "became"> {
  readonly subscription: string;
  readonly subject: string;
  /** "lost": nothing can be said; the lease ends and it is sent again. */
  readonly became: AttemptResult["became"] | "lost";
}

/** For the subscriptions whose rows delivery changes. */
export type DeliveryKernel = Pick<Kernel, "services" | "resources">;

const disabledType = "dev.gantry.events.subscription.disabled.v1";

const byItself = { operation: "", actor: undefined, bindings: () => [], origin: () => ownOrigin, requestId: "" };

/** Disables those of these subscriptions whose sinks have failed for too long; an event tells their groups. */
const disableSubscriptions = async (kernel: DeliveryKernel, rows: Write, subscriptions: readonly string[], nowMs: number): Promise<void> => {
  const context = changeContext(kernel, rows, byItself);
  const resource = boundOf(context, SubscriptionSchema);
  for (const uid of await lockFailing(rows, subscriptions, timestamp(nowMs - limits.sinkFailureMs))) {
    const before = await lockResource(context, resource, uid);
    if (!before) continue;
    await change(context, resource, { kind: "update", before, draft: { ...before, enabled: false } }, "cause");
    const group = parentOf(uid);
    await record(rows, {
      type: disabledType,
      source: `${kernel.services.publicUrl.replace(/\/$/, "")}/events/v2/subscriptions`,
      subject: uid,
      group,
      audience: "customer",
      extensions: { group },
      actor: undefined,
      bodyType: SubscriptionSchema.typeName,
      body: { uid, sink: text(before, "sink") },
      requestId: "",
      time: timestamp(nowMs),
      auditContext: { operation: "", bindings: [], origin: ownOrigin },
    });
  }
};

const subscriptionsOf = (attempts: readonly CompletedAttempt[]): string[] => [...new Set(attempts.map(({ subscription }) => subscription))];

const isResult = (attempt: CompletedAttempt): attempt is CompletedAttempt & AttemptResult => attempt.became !== "lost";

/**
 * Writes what became of these attempts, in one transaction. The result of one whose claim was taken over counts for
 * nothing, unless it arrived.
 */
export const completeAttempts = async (kernel: DeliveryKernel, attempts: readonly CompletedAttempt[], nowMs: number): Promise<void> => {
  const now = timestamp(nowMs);
  const results = attempts.filter(isResult);
  if (results.length === 0) return;
  await kernel.services.store.write(async (rows) => {
    await lockShared(rows, "eventOrder");
    const completed = await completeDeliveries(rows, results, now);
    const counted = results.filter(({ uid }) => completed.has(uid));
    const ended = counted.filter(({ became }) => became !== "pending");
    if (ended.length > 0) await releaseNext(rows, ended, now);
    const working = subscriptionsOf(counted.filter(({ became }) => became === "delivered"));
    const failing = subscriptionsOf(counted.filter(({ became }) => became === "pending" || became === "dead")).filter((uid) => !working.includes(uid));
    if (working.length > 0) await clearFailing(rows, working);
    if (failing.length > 0) {
      await markFailing(rows, failing, now);
      await disableSubscriptions(kernel, rows, failing, nowMs);
    }
  });
};
