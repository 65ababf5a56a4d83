// One delivery attempt: signs and sends an event. Only the status class of the response is kept (attack 21).

import { Fault } from "#base/fault.ts";
import type { KeyObject } from "node:crypto";
import type { Authn, Outbound } from "#authn";
import { missingCapability, loadRights, type Rights } from "#authz";
import { limits } from "#base/limits.ts";
import type { Traces } from "#calls";
import type { Log } from "#base/log.ts";
import type { Metrics } from "#metrics";
import { type Clock, timestamp } from "#base/time.ts";
import { parentOf, rootOf } from "#base/uid.ts";
import { type ClaimedDelivery, subscriptionSecretBinding, subscriptionSecretPurpose } from "#events/store";
import type { Store, Vault } from "#db";
import type { CompletedAttempt } from "./complete.ts";
import { attributeHeaders, bodyDigest, signatureHeaders, signingKeyOf } from "./envelope.ts";
import { brokenDelayMs, delayMs, retryAfterMs } from "./schedule.ts";

export interface AttemptServices {
  readonly store: Store;
  readonly vault: Pick<Vault, "open">;
  readonly authn: Pick<Authn, "deliveryToken">;
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "count" | "observe">;
  readonly delaysSeconds: readonly number[];
  readonly userAgent: string;
  readonly traces?: Traces | undefined;
}

/** Required to create a subscription, and to keep receiving events. */
const neededCapabilities = ["subscriptions.create"];

/** Lookups shared by the attempts of one claim: permissions at claim time, and opened secrets. */
export interface Batch {
  rightsOf(creator: string): Promise<Rights | undefined>;
  /** Throws if a secret cannot be opened: an event that its receiver could not verify is not sent (attack 23). */
  signingKeysOf(delivery: ClaimedDelivery): readonly KeyObject[];
}

const memoize = <T>(find: (text: string) => T): ((text: string) => T) => {
  const found = new Map<string, T>();
  return (text) => {
    const known = found.get(text) ?? find(text);
    found.set(text, known);
    return known;
  };
};

export const openBatch = ({ store, vault, clock }: AttemptServices): Batch => {
  const signingKey = (uid: string) => (sealed: string) => {
    const secret = vault.open(subscriptionSecretPurpose, sealed, subscriptionSecretBinding(uid));
    if (secret === undefined) throw new Error("the subscription's secret cannot be opened with this secret key");
    return signingKeyOf(secret);
  };
  const signingKeyFor = memoize((uid) => memoize(signingKey(uid)));
  return {
    rightsOf: memoize((creator) => loadRights(store.read, creator, clock())),
    signingKeysOf: ({ subscription, secretSealed, previousSecretSealed }) =>
      [secretSealed, previousSecretSealed].filter((sealed) => sealed !== undefined).map(signingKeyFor(subscription)),
  };
};

/** Permissions of the creator still count (attack 26). */
const isPermitted = async ({ rightsOf }: Batch, { creator, subscription }: ClaimedDelivery): Promise<boolean> => {
  const rights = await rightsOf(creator);
  return rights !== undefined && !rights.closed && missingCapability(rights, neededCapabilities, parentOf(subscription)) === undefined;
};

interface SinkAnswer {
  readonly statusClass: string;
  /** Undefined for unreachable addresses: the time would reveal what is in between (attack 21). */
  readonly latencyMs: number | undefined;
  readonly delivered: boolean;
  /** Requested by Retry-After; 0 if absent. */
  readonly retryAfterMs: number;
}

const send = async (services: AttemptServices, { signingKeysOf }: Batch, delivery: ClaimedDelivery): Promise<SinkAnswer> => {
  const { authn, outbound, clock, log, userAgent, traces } = services;
  const token = await authn.deliveryToken(parentOf(delivery.subscription), bodyDigest(delivery.data));
  const signatures = signatureHeaders(signingKeysOf(delivery), delivery, clock());
  const trace = traces?.beginDelivery(delivery.requestId, {
    "gantry.delivery": delivery.uid,
    "cloudevents.event_id": delivery.eventId,
    "cloudevents.event_type": delivery.type,
  });
  const started = performance.now();
  const tookMs = (): number => Math.round(performance.now() - started);
  try {
    const { status, headers } = await outbound.fetch("sink", delivery.sink, {
      method: "POST",
      headers: { ...attributeHeaders(delivery), ...signatures, ...trace?.headers, authorization: `Bearer ${token}`, "user-agent": userAgent },
      body: delivery.data,
      timeoutMs: limits.deliveryTimeoutMs,
      tenant: { organization: rootOf(delivery.subscription) },
      discard: true,
    });
    const statusClass = `${Math.floor(status / 100)}xx`;
    trace?.end(statusClass, statusClass !== "2xx");
    return { statusClass, latencyMs: tookMs(), delivered: statusClass === "2xx", retryAfterMs: retryAfterMs(headers["retry-after"], clock()) };
  } catch (cause) {
    trace?.end(cause instanceof Fault ? cause.code : "INTERNAL", true);
    // Nothing was sent: the organization's concurrency limit is no failure of the receiver.
    if (cause instanceof Fault && cause.code === "RESOURCE_EXHAUSTED") throw cause;
    log("delivery.failed", { delivery: delivery.uid, cause });
    const late = tookMs() >= limits.deliveryTimeoutMs;
    return { statusClass: late ? "timeout" : "unreachable", latencyMs: late ? tookMs() : undefined, delivered: false, retryAfterMs: 0 };
  }
};

/** Sends once. Never throws: any error is a failed attempt. */
export const attemptDelivery = async (services: AttemptServices, batch: Batch, delivery: ClaimedDelivery): Promise<CompletedAttempt> => {
  const { clock, log, delaysSeconds } = services;
  const { uid, subscription, subject, attempts } = delivery;
  const completed = (became: CompletedAttempt["became"], answer?: SinkAnswer, waitMs = 0): CompletedAttempt => ({
    uid,
    subscription,
    subject,
    attempts,
    became,
    statusClass: answer?.statusClass,
    latencyMs: answer?.latencyMs,
    nextTime: timestamp(clock() + waitMs),
  });
  try {
    if (!(await isPermitted(batch, delivery))) return completed("dropped");
    const answer = await send(services, batch, delivery);
    if (answer.delivered) return completed("delivered", answer);
    const waitMs = delayMs(delaysSeconds, attempts, answer.retryAfterMs, Math.random());
    return waitMs === undefined ? completed("dead", answer) : completed("pending", answer, waitMs);
  } catch (cause) {
    if (cause instanceof Fault && cause.code === "RESOURCE_EXHAUSTED") return completed("unsent");
    // An internal error (store down, unreadable secret), not the receiver's: back off as after a failure, but at least for a lease.
    log("delivery.broken", { delivery: uid, attempts, cause });
    return { ...completed("pending", undefined, brokenDelayMs(delaysSeconds, attempts)), isBroken: true };
  }
};
