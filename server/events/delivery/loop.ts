// Delivery loops: one numbers events and creates deliveries; the other claims, sends and stores results. The loops are independent,
// on any number of servers.

import { limits } from "#base/limits.ts";
import { openPauses, workInPieces } from "#base/pieces.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import type { NumberEvents } from "#outbox";
import type { ClaimedDelivery, SubscriptionLoad } from "#events/store";
import { openLooks } from "#db";
import { attemptDelivery, type AttemptServices, type Batch, openBatch } from "./attempt.ts";
import { openClaims } from "./claim.ts";
import { type CompletedAttempt, completeAttempts, completeInTurn, type DeliveryKernel } from "./complete.ts";
import { openDelays } from "./delays.ts";
import { openFanOut } from "./fan-out.ts";

export interface Delivery {
  /** Numbers events and creates their deliveries, without sending. */
  enqueue(): Promise<void>;
  /** Sends everything due, including what becomes due meanwhile. */
  finish(): Promise<void>;
  /** Stops claiming, finishes the attempts in flight, and stores their results. */
  stop(): Promise<void>;
}

export interface DeliveryOptions {
  readonly numberEvents: NumberEvents;
  readonly kernel: DeliveryKernel;
  /** Do not start the loops. */
  readonly byHand?: boolean;
}

/** Status classes with a measured latency. */
const statusClasses = ["1xx", "2xx", "3xx", "4xx", "5xx", "timeout"] as const;

export const openDelivery = (services: AttemptServices, { numberEvents, kernel, byHand = false }: DeliveryOptions): Delivery => {
  const { store, clock, log, metrics } = services;
  const inFlightOf = new Map<string, number>();
  // Subscriptions with a receiver that answered the last attempt quickly. Slow or dead receivers never qualify, so they only delay
  // each other.
  const quick = new Set<string>();
  let [inFlight, unproven] = [0, 0];
  let completed: CompletedAttempt[] = [];
  /** Results that wait for their organization's lock. */
  let inTurn = 0;
  let wake = (): void => {};
  const sendingLooks = openLooks(store.changes, { betweenMs: limits.deliveryPollMs, restMs: limits.restLookMs });
  const enqueuingLooks = openLooks(store.changes, { betweenMs: limits.deliveryPollMs, restMs: limits.restLookMs });
  /** Whether anything becomes due by time alone. */
  let isAnyPending = true;
  let stopping = false;
  const claim = openClaims(store, log);
  const fanOut = openFanOut(services);
  const findDelays = openDelays(services);
  const full = openPauses(limits.shareFullMs, limits.shareFullMaxMs);

  const countInFlight = (subscription: string, step: 1 | -1): void => {
    inFlight += step;
    const count = (inFlightOf.get(subscription) ?? 0) + step;
    if (count > 0) inFlightOf.set(subscription, count);
    else inFlightOf.delete(subscription);
  };

  /** Pauses claims beyond the organization's connection limit. */
  const updateFull = ({ subscription, became, statusClass }: CompletedAttempt): void => {
    const root = rootOf(subscription);
    if (statusClass !== undefined) full.end(root);
    if (became !== "unsent" || full.isPaused(root, clock())) return;
    log("delivery.share.full", { organization: root, times: full.fail(root, clock()) });
  };

  const updateQuick = ({ subscription, became, latencyMs }: CompletedAttempt): void => {
    if (became === "unsent") return;
    if (latencyMs === undefined || latencyMs > limits.sinkQuickMs) quick.delete(subscription);
    else quick.add(subscription);
    const [oldest] = quick;
    if (quick.size > limits.quickSinksMax && oldest !== undefined) quick.delete(oldest);
  };

  const countAttempt = ({ became, isBroken, statusClass, latencyMs }: CompletedAttempt): void => {
    metrics.count("gantry_delivery_attempts_total", { outcome: isBroken ? "broken" : became === "pending" ? "retried" : became });
    const status = statusClasses.find((each) => each === statusClass);
    if (status !== undefined && latencyMs !== undefined) metrics.observe("gantry_delivery_attempt_seconds", { status }, latencyMs / 1000);
  };

  const start = (delivery: ClaimedDelivery, batch: Batch): void => {
    const step = quick.has(delivery.subscription) ? 0 : 1;
    countInFlight(delivery.subscription, 1);
    unproven += step;
    void attemptDelivery(services, batch, delivery).then((result) => {
      countInFlight(delivery.subscription, -1);
      unproven -= step;
      countAttempt(result);
      updateQuick(result);
      updateFull(result);
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

  // The events were delivered; after the lease they are sent again (at least once).
  const logUncompleted = (attempts: readonly CompletedAttempt[], cause: unknown): void =>
    log("delivery.completion.failed", { deliveries: attempts.length, first: attempts[0]?.uid, cause });

  const complete = (attempts: readonly CompletedAttempt[], write: (piece: readonly CompletedAttempt[]) => Promise<void>): Promise<void> =>
    workInPieces(attempts, write, (attempt, cause) => logUncompleted([attempt], cause)).catch((cause: unknown) => logUncompleted(attempts, cause));

  const completeEnded = async (): Promise<number> => {
    const attempts = completed;
    completed = [];
    const left: CompletedAttempt[] = [];
    await complete(attempts, async (piece) => void left.push(...(await completeAttempts(kernel, piece, clock()))));
    // Results that wait for their organization's lock do not delay others.
    for (const waiting of Map.groupBy(left, ({ subscription }) => rootOf(subscription)).values()) {
      inTurn++;
      void complete(waiting, (piece) => completeInTurn(kernel, piece, clock())).then(() => {
        inTurn--;
        wake();
      });
    }
    return attempts.length;
  };

  const enqueueSome = async (): Promise<boolean> => {
    if (stopping) return false;
    const [numbered] = await Promise.allSettled([numberEvents(timestamp(clock()))]);
    // A numbering failure does not stop the fan-out of numbered events.
    const isMore = await fanOut();
    if (numbered.status === "rejected") throw numbered.reason;
    return numbered.value || isMore;
  };

  /** Returns the number of deliveries started. */
  const sendDue = async (): Promise<number> => {
    if (stopping) return 0;
    const isLooking = await findDelays();
    const quota = {
      total: limits.claimedMax - inFlight,
      unproven: Math.max(0, limits.claimedUnprovenMax - unproven),
      eachOrganization: limits.sinkFetchesEachMax,
      leftOut: full.paused(clock()),
    };
    const claimed = quota.total > 0 ? await claim(clock(), quota, subscriptionLoads()) : { deliveries: [], isAnyPending };
    ({ isAnyPending } = claimed);
    const batch = openBatch(services);
    for (const delivery of claimed.deliveries) start(delivery, batch);
    return claimed.deliveries.length + (isLooking ? 1 : 0);
  };

  /** Returns the amount of work. Concurrent: completions release what the next tick claims. */
  const tick = async (): Promise<number> => {
    const [ended, sent] = await Promise.all([completeEnded(), sendDue()]);
    return ended + sent;
  };

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

  const isIdle = (): boolean => inFlight === 0 && inTurn === 0 && completed.length === 0 && full.paused(clock()).length === 0;

  const runSending = async (): Promise<void> => {
    while (!stopping) {
      const moved = await tick().catch((cause: unknown) => {
        log("delivery.tick.failed", { cause });
        sendingLooks.again();
        return 0;
      });
      if (moved > 0 || completed.length > 0 || stopping) continue;
      await (isIdle() ? sendingLooks.next(isAnyPending ? limits.idleLookMs : limits.restLookMs) : waitForAttempt());
    }
  };

  const runEnqueuing = async (): Promise<void> => {
    while (!stopping) {
      const isMore = await enqueueSome().catch((cause: unknown) => {
        log("delivery.tick.failed", { cause });
        enqueuingLooks.again();
        return false;
      });
      if (isMore) {
        wake();
        // The wake-up of the event's commit may have come before its deliveries.
        sendingLooks.wake();
      } else if (!stopping) await enqueuingLooks.next();
    }
  };
  const running = byHand ? Promise.resolve() : Promise.all([runSending(), runEnqueuing()]);

  const enqueueAll = async (): Promise<void> => {
    while (await enqueueSome());
  };

  const finish = async (): Promise<void> => {
    for (;;) {
      const [isMore, moved] = await Promise.all([enqueueSome(), tick()]);
      if (isMore || moved > 0 || completed.length > 0) continue;
      if (inFlight === 0 && inTurn === 0) return;
      await waitForAttempt();
    }
  };

  return {
    enqueue: enqueueAll,
    finish,
    async stop() {
      stopping = true;
      wake();
      sendingLooks.wake();
      enqueuingLooks.wake();
      await running;
      await finish();
    },
  };
};
