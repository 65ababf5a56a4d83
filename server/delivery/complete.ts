// What attempts came to, written down: the deliveries, which event of each subject is sent next, and how each sink does.

import { limits } from "#base/limits.ts";
import { ownOrigin } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { parentOf } from "#base/uid.ts";
import { record } from "#outbox";
import { type AttemptResult, clearFailing, completeDeliveries, disableFailing, lockShared, markFailing, releaseNext, type Store, type Write } from "#store";

export interface CompletedAttempt extends Omit<AttemptResult, "became"> {
  readonly subscription: string;
  readonly subject: string;
  /** "lost": nothing can be said; the lease ends and it is sent again. */
  readonly became: AttemptResult["became"] | "lost";
}

const disabledType = "dev.gantry.events.subscription.disabled.v1";

/** Disables those of these subscriptions whose sinks have failed for too long; an event tells their groups. */
const disableSubscriptions = async (rows: Write, source: string, subscriptions: readonly string[], nowMs: number): Promise<void> => {
  const disabled = await disableFailing(rows, subscriptions, timestamp(nowMs - limits.sinkFailureMs), timestamp(nowMs));
  for (const { uid, sink } of disabled) {
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

const subscriptionsOf = (attempts: readonly CompletedAttempt[]): string[] => [...new Set(attempts.map(({ subscription }) => subscription))];

const isResult = (attempt: CompletedAttempt): attempt is CompletedAttempt & AttemptResult => attempt.became !== "lost";

/**
 * Writes what became of these attempts, in one transaction. The result of one whose claim was taken over counts for
 * nothing, unless it arrived.
 * @param source the server's public URL
 */
export const completeAttempts = async (store: Store, source: string, attempts: readonly CompletedAttempt[], nowMs: number): Promise<void> => {
  const now = timestamp(nowMs);
  const results = attempts.filter(isResult);
  if (results.length === 0) return;
  await store.write(async (rows) => {
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
      await disableSubscriptions(rows, source, failing, nowMs);
    }
  });
};
