// Stores the results of attempts: deliveries, the next event of each subject, and the health of receivers.

import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ownOrigin } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { parentOf, rootOf } from "#base/uid.ts";
import { boundOf, change, changeContext, type Kernel, lockResource } from "#kernel";
import { record } from "#outbox";
import { type AttemptResult, clearFailing, completeDeliveries, lockFailing, markFailing, releaseNext } from "#events/store";
import { limitPiece, lockOrder, tryLockOrder, type Write } from "#db";

export interface CompletedAttempt extends AttemptResult {
  readonly subscription: string;
  readonly subject: string;
  /** It could not be sent, so it says nothing about the receiver. */
  readonly isBroken?: boolean;
}

export type DeliveryKernel = Pick<Kernel, "services" | "resources">;

const disabledType = "dev.gantry.events.subscription.disabled.v1";

const byItself = { operation: "", actor: undefined, bindings: () => [], origin: () => ownOrigin, requestId: "" };

/** Receivers that fail for too long. */
const disableSubscriptions = async (kernel: DeliveryKernel, rows: Write, subscriptions: readonly string[], nowMs: number): Promise<void> => {
  const context = changeContext(kernel, rows, byItself);
  const resource = boundOf(context, "chainguard.platform.events.v2.Subscription");
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
      bodyType: "chainguard.platform.events.v2.Subscription",
      body: { uid, sink: text(before, "sink") },
      requestId: "",
      time: timestamp(nowMs),
      auditContext: { operation: "", bindings: [], origin: ownOrigin },
    });
  }
};

const subscriptionsOf = (attempts: readonly CompletedAttempt[]): string[] => [...new Set(attempts.map(({ subscription }) => subscription))];

const noteSinks = async (kernel: DeliveryKernel, rows: Write, counted: readonly CompletedAttempt[], nowMs: number): Promise<void> => {
  const sent = counted.filter(({ isBroken = false }) => !isBroken);
  const working = subscriptionsOf(sent.filter(({ became }) => became === "delivered"));
  const failing = subscriptionsOf(sent.filter(({ became }) => became === "pending" || became === "dead")).filter((uid) => !working.includes(uid));
  if (working.length > 0) await clearFailing(rows, working);
  if (failing.length > 0) {
    await markFailing(rows, failing, timestamp(nowMs));
    await disableSubscriptions(kernel, rows, failing, nowMs);
  }
};

const writeResults = async (kernel: DeliveryKernel, rows: Write, attempts: readonly CompletedAttempt[], nowMs: number): Promise<void> => {
  const now = timestamp(nowMs);
  const completed = await completeDeliveries(rows, attempts, now);
  const counted = attempts.filter(({ uid }) => completed.has(uid));
  const ended = counted.filter(({ became }) => became !== "pending" && became !== "unsent");
  if (ended.length > 0) await releaseNext(rows, ended, now);
  await noteSinks(kernel, rows, counted, nowMs);
};

const organizationOf = ({ subscription }: CompletedAttempt): string => rootOf(subscription);

/**
 * Stores these results in one transaction. Returns those of organizations locked by fan-out, without waiting for it. The result of a
 * claim that was taken over is ignored, unless it was delivered.
 */
export const completeAttempts = (kernel: DeliveryKernel, attempts: readonly CompletedAttempt[], nowMs: number): Promise<CompletedAttempt[]> =>
  kernel.services.store.write(async (rows) => {
    if (attempts.length > 1) await limitPiece(rows);
    const held = await tryLockOrder(rows, attempts.map(organizationOf), "shared");
    const free = attempts.filter((attempt) => held.has(organizationOf(attempt)));
    if (free.length > 0) await writeResults(kernel, rows, free, nowMs);
    return attempts.filter((attempt) => !held.has(organizationOf(attempt)));
  });

/** The same for attempts of one organization, waiting for its fan-out. */
export const completeInTurn = (kernel: DeliveryKernel, attempts: readonly CompletedAttempt[], nowMs: number): Promise<void> =>
  kernel.services.store.write(async (rows) => {
    for (const root of new Set(attempts.map(organizationOf))) await lockOrder(rows, root, "shared");
    if (attempts.length > 1) await limitPiece(rows);
    await writeResults(kernel, rows, attempts, nowMs);
  });
