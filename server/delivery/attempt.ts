// One attempt: the event signed and sent, and what came of it. Of the answer nothing is kept but the class of its status
// (attack 21).

import type { KeyObject } from "node:crypto";
import type { Authn, Outbound } from "#authn";
import { missingCapability, loadRights, type Rights } from "#authz";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { type Clock, timestamp } from "#base/time.ts";
import { parentOf } from "#base/uid.ts";
import type { Store, Vault } from "#store";
import type { Claimed } from "./claim.ts";
import { attributes, digestOf, keyOf, signatures } from "./envelope.ts";
import { delayMs, retryAfterMs } from "./schedule.ts";
import type { CompletedAttempt } from "./complete.ts";

export interface Sender {
  readonly store: Store;
  readonly vault: Pick<Vault, "open">;
  readonly authn: Pick<Authn, "deliveryToken">;
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly log: Log;
  readonly delaysSeconds: readonly number[];
  readonly userAgent: string;
}

/** What a subscription's secrets are sealed for. */
export const secretPurpose = "subscription secret";

/** What making a subscription needs, and so what it means to have one. */
const needed = ["subscriptions.create"];

/** What the attempts of one claim have in common, asked for once: rights as they are when the claim is made, opened secrets. */
export interface Shared {
  rightsOf(creator: string): Promise<Rights | undefined>;
  /** Throws where one cannot be opened: nothing is sent that its receiver could not check (attack 23). */
  keysOf(claimed: Claimed): readonly KeyObject[];
}

/** Gives what `find` gives for a text, and the same for the same text. */
const once = <T>(find: (text: string) => T): ((text: string) => T) => {
  const found = new Map<string, T>();
  return (text) => {
    const known = found.get(text) ?? find(text);
    found.set(text, known);
    return known;
  };
};

/** For attempts that begin together. */
export const shared = ({ store, vault, clock }: Sender): Shared => {
  const opened = once((sealed) => {
    const secret = vault.open(secretPurpose, sealed);
    if (secret === undefined) throw new Error("the subscription's secret cannot be opened with this secret key");
    return keyOf(secret);
  });
  return {
    rightsOf: once((creator) => loadRights(store.read, creator, clock())),
    keysOf: ({ secretSealed, previousSecretSealed }) => [secretSealed, previousSecretSealed].filter((sealed) => sealed !== undefined).map(opened),
  };
};

/** Whether whoever made the subscription may still be told of its group (attack 26). */
const mayHear = async ({ rightsOf }: Shared, { creator, subscription }: Claimed): Promise<boolean> => {
  const rights = await rightsOf(creator);
  return rights !== undefined && !rights.closed && missingCapability(rights, needed, parentOf(subscription)) === undefined;
};

interface Answer {
  readonly statusClass: string;
  /** Of an address that could not be reached nothing is told: how long that took says what stands in the way (attack 21). */
  readonly latencyMs: number | undefined;
  readonly delivered: boolean;
  readonly askedMs: number;
}

const send = async (sender: Sender, { keysOf }: Shared, claimed: Claimed): Promise<Answer> => {
  const { authn, outbound, clock, log, userAgent } = sender;
  const token = await authn.deliveryToken(parentOf(claimed.subscription), digestOf(claimed.data));
  const signed = signatures(keysOf(claimed), claimed, clock());
  const started = performance.now();
  const tookMs = (): number => Math.round(performance.now() - started);
  try {
    const { status, headers } = await outbound.fetch("sink", claimed.sink, {
      method: "POST",
      headers: { ...attributes(claimed), ...signed, authorization: `Bearer ${token}`, "user-agent": userAgent },
      body: claimed.data,
      timeoutMs: limits.deliveryTimeoutMs,
      discard: true,
    });
    const statusClass = `${Math.floor(status / 100)}xx`;
    return { statusClass, latencyMs: tookMs(), delivered: statusClass === "2xx", askedMs: retryAfterMs(headers["retry-after"], clock()) };
  } catch (cause) {
    log("delivery.failed", { delivery: claimed.uid, cause });
    const late = tookMs() >= limits.deliveryTimeoutMs;
    return { statusClass: late ? "timeout" : "unreachable", latencyMs: late ? tookMs() : undefined, delivered: false, askedMs: 0 };
  }
};

/** Sends once. Never throws: whatever goes wrong is an attempt that failed. */
export const attempt = async (sender: Sender, together: Shared, claimed: Claimed): Promise<CompletedAttempt> => {
  const { clock, log, delaysSeconds } = sender;
  const { uid, subscription, subject, attempts } = claimed;
  const ended = (became: CompletedAttempt["became"], answer?: Answer, retryMs = 0): CompletedAttempt => ({
    uid,
    subscription,
    subject,
    attempts,
    became,
    statusClass: answer?.statusClass,
    latencyMs: answer?.latencyMs,
    nextTime: timestamp(clock() + retryMs),
  });
  try {
    if (!(await mayHear(together, claimed))) return ended("dropped");
    const answer = await send(sender, together, claimed);
    if (answer.delivered) return ended("delivered", answer);
    const waitMs = delayMs(delaysSeconds, attempts, answer.askedMs, Math.random());
    return waitMs === undefined ? ended("dead", answer) : ended("pending", answer, waitMs);
  } catch (cause) {
    // Ours, not the sink's (the store is away, a key cannot be opened): it is tried again when the claim runs out.
    log("delivery.broken", { delivery: uid, cause });
    return ended("lost");
  }
};
