// RATE LIMITS. Requests per second of an identity, and of an organization, to this server; checked before the message is read. Token
// buckets in memory, with rates of base/limits.ts or the operator's settings (gantry admin quota), which are reread periodically.
//
// The operator is not limited, since its token can set the limits. Users belong to no organization: each has the limit of an identity.

import { operatorUid } from "#base/operator.ts";
import { type BucketRate, openBuckets, type SharedBuckets } from "#base/buckets.ts";
import type { FairnessKey } from "#base/fair-queue.ts";
import { throttled } from "#base/fault.ts";
import { limits, requestRates } from "#base/limits.ts";
import { isRoot } from "#base/uid.ts";
import { findQuotas } from "#db";
import type { Services } from "./context.ts";

export interface Rates {
  /** Counts one request. Throws RESOURCE_EXHAUSTED with the time until the next one. */
  take(fairnessKey: FairnessKey): void;
  /** Counts one SCIM write of this identity provider, in addition to `take`. Throws RESOURCE_EXHAUSTED like it. */
  takeScimWrite(fairnessKey: FairnessKey): void;
}

type RateName = keyof typeof requestRates;

const rateOf = (perSecond: number): BucketRate => ({ burst: perSecond * limits.requestBurstSeconds, perSecond });

const defaults: Readonly<Record<RateName, BucketRate>> = {
  "identity-requests": rateOf(requestRates["identity-requests"]),
  "organization-requests": rateOf(requestRates["organization-requests"]),
  "scim-writes": rateOf(requestRates["scim-writes"]),
};

const rateNames: readonly string[] = Object.keys(requestRates);

const whose: Readonly<Record<RateName, string>> = {
  "identity-requests": "this identity",
  "organization-requests": "this organization",
  "scim-writes": "this identity provider",
};

const tooMany = (name: RateName, { perSecond }: BucketRate, waitMs: number): Error =>
  throttled(
    `${whose[name]} may send ${perSecond} ${name === "scim-writes" ? "changes" : "requests"} a second (${name}); the next one can be sent in ${waitMs} ms`,
    {
      name,
      quota: perSecond,
      windowMs: 1000,
      retryMs: waitMs,
    },
  );

/** Configured rates by name and organization; "" is the server-wide setting. */
type SetRates = Readonly<Record<RateName, ReadonlyMap<string, BucketRate>>>;

const readRates = async ({ store }: Pick<Services, "store">): Promise<SetRates> => {
  const set = await findQuotas(store.read, rateNames, limits.setRatesMax);
  const of = (wanted: RateName): ReadonlyMap<string, BucketRate> =>
    new Map(set.filter(({ name }) => name === wanted).map(({ organization, value }) => [organization, rateOf(value)]));
  return { "identity-requests": of("identity-requests"), "organization-requests": of("organization-requests"), "scim-writes": of("scim-writes") };
};

export const openRates = async (services: Pick<Services, "store" | "clock" | "log" | "siblings">): Promise<Rates> => {
  const { clock, log, siblings } = services;
  const shared = (name: RateName): SharedBuckets => ({ siblings, name, nowMs: clock });
  const buckets = {
    "identity-requests": openBuckets(defaults["identity-requests"], limits.requestBucketsMax, shared("identity-requests")),
    "organization-requests": openBuckets(defaults["organization-requests"], limits.requestBucketsMax, shared("organization-requests")),
    "scim-writes": openBuckets(defaults["scim-writes"], limits.requestBucketsMax, shared("scim-writes")),
  };
  let set = await readRates(services);
  let readMs = clock();
  let reading = false;

  const readAgain = async (): Promise<void> => {
    reading = true;
    try {
      set = await readRates(services);
    } catch (cause) {
      log("rates.failed", { cause });
    } finally {
      readMs = clock();
      reading = false;
    }
  };

  const takeOf = (name: RateName, key: string, organization: string, nowMs: number): void => {
    const rate = set[name].get(organization) ?? set[name].get("") ?? defaults[name];
    const waitMs = buckets[name].take(key, nowMs, rate);
    if (waitMs !== undefined) throw tooMany(name, rate, waitMs);
  };

  return {
    takeScimWrite: ({ identity, organization }) => takeOf("scim-writes", identity, organization, clock()),
    take({ identity, organization }) {
      if (identity === operatorUid) return;
      const nowMs = clock();
      // Triggered by requests, not a timer: an idle server sends no queries.
      if (Math.abs(nowMs - readMs) >= limits.ratesReadMs && !reading) void readAgain();
      takeOf("identity-requests", identity, organization, nowMs);
      if (!isRoot(identity)) takeOf("organization-requests", organization, organization, nowMs);
    },
  };
};
