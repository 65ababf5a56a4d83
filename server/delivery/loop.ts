// The loop that brings events to their sinks: new events are numbered and enqueued, deliveries that are due are claimed and
// sent, and what attempts came to is written down. Any number of servers do this at once.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import type { NumberEvents } from "#outbox";
import type { ClaimedDelivery, SubscriptionLoad } from "#store";
import { attemptDelivery, type AttemptServices, type Batch, openBatch } from "./attempt.ts";
import { claim } from "./claim.ts";
import { type CompletedAttempt, completeAttempts, type DeliveryKernel } from "./complete.ts";

export interface Delivery {
  /** Sends everything that is due now, and what becomes due by it; resolves when nothing is left. */
  finish(): Promise<void>;
  /** Claims nothing more, lets what is being sent end, and writes it down. */
  stop(): Promise<void>;
}

export interface DeliveryOptions {
  readonly numberEvents: NumberEvents;
  readonly kernel: DeliveryKernel;
  /** The loop does not run by itself. */
  readonly byHand?: boolean;
}

/** Opens the loop. */
export const openDelivery = (services: AttemptServices, { numberEvents, kernel, byHand = false }: DeliveryOptions): Delivery => {
  const { store, clock, log } = services;
  /** How many attempts are running for each subscription. */
  const inFlightOf = new Map<string, number>();
  // Subscriptions whose sink answered the last attempt at once, be it with a refusal. A slow or dead one never gets so
  // far, so that however many there are of them, they hold up each other and nobody else.
  const quick = new Set<string>();
  let [inFlight, unproven] = [0, 0];
  let completed: CompletedAttempt[] = [];
  let wake = (): void => {};
  let stopping = false;

  const countInFlight = (subscription: string, step: 1 | -1): void => {
    inFlight += step;
    const count = (inFlightOf.get(subscription) ?? 0) + step;
    if (count > 0) inFlightOf.set(subscription, count);
    else inFlightOf.delete(subscription);
  };

  const updateQuick = ({ subscription, latencyMs }: CompletedAttempt): void => {
    if (latencyMs === undefined || latencyMs > limits.sinkQuickMs) quick.delete(subscription);
    else quick.add(subscription);
    const [oldest] = quick;
    if (quick.size > limits.quickSinksMax && oldest !== undefined) quick.delete(oldest);
  };

  const start = (delivery: ClaimedDelivery, batch: Batch): void => {
    const step = quick.has(delivery.subscription) ? 0 : 1;
    countInFlight(delivery.subscription, 1);
    unproven += step;
    void attemptDelivery(services, batch, delivery).then((result) => {
      countInFlight(delivery.subscription, -1);
      unproven -= step;
      updateQuick(result);
      completed.push(result);
      wake();
    });
  };

  const subscriptionLoads = (): SubscriptionLoad[] =>
    [...new Set([...quick, ...inFlightOf.keys()])].map((uid) => {
      const most = quick.has(uid) ? limits.claimedPerSubscriptionMax : limits.claimedPerUnprovenMax;
      const running = inFlightOf.get(uid) ?? 0;
      return { uid, inFlight: running, claimable: Math.max(0, most - running), quick: quick.has(uid) };
    });

  /** Writes down what attempts came to; how many these were. */
  const completeEnded = async (): Promise<number> => {
    const attempts = completed;
    completed = [];
    await completeAttempts(kernel, attempts, clock()).catch((cause: unknown) => {
      // The sinks have their events; the leases end and they get them again. Better twice than never.
      log("delivery.completion.failed", { deliveries: attempts.length, cause });
    });
    return attempts.length;
  };

  /** Numbers and enqueues new events, claims what is due and begins to send it; how many these are. */
  const sendDue = async (): Promise<number> => {
    if (stopping) return 0;
    while (await numberEvents(timestamp(clock())));
    const quota = { total: limits.claimedMax - inFlight, unproven: Math.max(0, limits.claimedUnprovenMax - unproven) };
    const claimed = quota.total > 0 ? await claim(store, clock(), quota, subscriptionLoads()) : [];
    const batch = openBatch(services);
    for (const delivery of claimed) start(delivery, batch);
    return claimed.length;
  };

  /** One pass; how much it moved. Both at once: what a completion releases, the next tick claims. */
  const tick = async (): Promise<number> => {
    const [ended, sent] = await Promise.all([completeEnded(), sendDue()]);
    return ended + sent;
  };

  /** Until an attempt is completed, or for a while. */
  const waitForAttempt = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, limits.deliveryPollMs);
      timer.unref();
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (completed.length > 0) wake();
    });

  const run = async (): Promise<void> => {
    while (!stopping) {
      const moved = await tick().catch((cause: unknown) => {
        log("delivery.tick.failed", { cause });
        return 0;
      });
      if (moved === 0 && completed.length === 0 && !stopping) await waitForAttempt();
    }
  };
  const running = byHand ? Promise.resolve() : run();

  const finish = async (): Promise<void> => {
    while ((await tick()) > 0 || inFlight > 0 || completed.length > 0) {
      if (inFlight > 0 && completed.length === 0) await waitForAttempt();
    }
  };

  return {
    finish,
    async stop() {
      stopping = true;
      wake();
      await running;
      await finish();
    },
  };
};
