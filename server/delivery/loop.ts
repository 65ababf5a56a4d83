// The loop that brings events to their sinks: what is new is taken up, what is due is claimed, sent, and what came of it
// is written down. Any number of servers do this at once.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { attempt, type Sender, type Shared, shared } from "./attempt.ts";
import { type Claimed, claim, type Known } from "./claim.ts";
import { type CompletedAttempt, completeAttempts } from "./complete.ts";
import { enqueueDeliveries } from "./enqueue.ts";

export interface Delivery {
  /** Sends everything that is due now, and what becomes due by it; resolves when nothing is left. */
  finish(): Promise<void>;
  /** Claims nothing more, lets what is being sent end, and writes it down. */
  stop(): Promise<void>;
}

/**
 * Opens the loop; it runs by itself unless `byHand`.
 * @param publicUrl of this server: the source of its own events
 */
export const openDelivery = (sender: Sender, { publicUrl, byHand = false }: { readonly publicUrl: string; readonly byHand?: boolean }): Delivery => {
  const { store, clock, log } = sender;
  const source = publicUrl.replace(/\/$/, "");
  /** How many are being sent to each subscription. */
  const sending = new Map<string, number>();
  // Subscriptions whose sink answered the last one at once, be it with a refusal. A slow or dead one never gets so far,
  // so that however many there are of them, they hold up each other and nobody else.
  const quick = new Set<string>();
  let [inFlight, unproven] = [0, 0];
  let ended: CompletedAttempt[] = [];
  let wake = (): void => {};
  let stopping = false;

  const count = (subscription: string, step: 1 | -1): void => {
    inFlight += step;
    const many = (sending.get(subscription) ?? 0) + step;
    if (many > 0) sending.set(subscription, many);
    else sending.delete(subscription);
  };

  const judge = ({ subscription, latencyMs }: CompletedAttempt): void => {
    if (latencyMs === undefined || latencyMs > limits.sinkQuickMs) quick.delete(subscription);
    else quick.add(subscription);
    const [oldest] = quick;
    if (quick.size > limits.quickSinksMax && oldest !== undefined) quick.delete(oldest);
  };

  const start = (claimed: Claimed, together: Shared): void => {
    const step = quick.has(claimed.subscription) ? 0 : 1;
    count(claimed.subscription, 1);
    unproven += step;
    void attempt(sender, together, claimed).then((result) => {
      count(claimed.subscription, -1);
      unproven -= step;
      judge(result);
      ended.push(result);
      wake();
    });
  };

  const known = (): Known[] =>
    [...new Set([...quick, ...sending.keys()])].map((uid) => {
      const most = quick.has(uid) ? limits.claimedPerSubscriptionMax : limits.claimedPerUnprovenMax;
      const sent = sending.get(uid) ?? 0;
      return { uid, sent, allowed: Math.max(0, most - sent), quick: quick.has(uid) };
    });

  /** Writes down what came of the attempts that ended; how many these were. */
  const settleEnded = async (): Promise<number> => {
    const done = ended;
    ended = [];
    await completeAttempts(store, source, done, clock()).catch((cause: unknown) => {
      // The sinks have their events; the claims run out and they get them again. Better twice than never.
      log("delivery.unsettled", { deliveries: done.length, cause });
    });
    return done.length;
  };

  /** Takes up what is new, claims what is due and begins to send it; how many these are. */
  const sendDue = async (): Promise<number> => {
    if (stopping) return 0;
    while (await enqueueDeliveries(store, timestamp(clock())));
    const room = { all: limits.claimedMax - inFlight, unproven: Math.max(0, limits.claimedUnprovenMax - unproven) };
    const claimed = room.all > 0 ? await claim(store, clock(), room, known()) : [];
    const together = shared(sender);
    for (const each of claimed) start(each, together);
    return claimed.length;
  };

  /** One turn; how much it moved. Both at once: whom what is settled lets go, the next turn claims. */
  const turn = async (): Promise<number> => {
    const [settled, sent] = await Promise.all([settleEnded(), sendDue()]);
    return settled + sent;
  };

  /** Until something ended, or for a while. */
  const rest = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, limits.deliveryPollMs);
      timer.unref();
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (ended.length > 0) wake();
    });

  const run = async (): Promise<void> => {
    while (!stopping) {
      const moved = await turn().catch((cause: unknown) => {
        log("delivery.turn.failed", { cause });
        return 0;
      });
      if (moved === 0 && ended.length === 0 && !stopping) await rest();
    }
  };
  const running = byHand ? Promise.resolve() : run();

  const finish = async (): Promise<void> => {
    while ((await turn()) > 0 || inFlight > 0 || ended.length > 0) {
      if (inFlight > 0 && ended.length === 0) await rest();
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
