// Rate limits of unauthenticated clients by client address, in this server; rows are also limited in the database
// (server/iam/signin/open-rows.ts). Rows hold a keyed hash of the address and are deleted within the hour.

import { type Buckets, openBuckets } from "#base/buckets.ts";
import { throttled } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { networkOf } from "#base/origin.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import type { Clock } from "#base/time.ts";
import type { Vault } from "#db";

/** Limits by header name: requests per minute, and description. */
const purposes = {
  exchanges: [limits.exchangesPerMinute, "exchanges of tokens"],
  "sign-ins": [limits.signInsPerMinute, "sign-ins"],
  "sign-in-answers": [limits.signInsPerMinute, "sign-in responses"],
  "device-authorizations": [limits.deviceAuthorizationsPerMinute, "sign-ins of terminals"],
  "open-reads": [limits.openReadsPerMinute, "requests without a token"],
  "refused-refresh-tokens": [limits.refusedRefreshTokensPerMinute, "refresh tokens that are none"],
  "client-documents": [limits.clientDocumentsPerMinute, "documents of clients"],
  "wrong-user-codes": [limits.wrongUserCodesPerMinute, "wrong codes"],
} as const satisfies Record<string, readonly [perMinute: number, what: string]>;

export type ClientPurpose = keyof typeof purposes;

export interface ClientLimits {
  /** Counts one request, or as many as an expensive one costs. Throws `throttled` beyond the limit. `address` is that of an Origin. */
  take(purpose: ClientPurpose, address: string, count?: number): void;
  /** Throws like `take` without counting, for purposes that count failures only. */
  check(purpose: ClientPurpose, address: string): void;
  /** Counts a failure. Never throws. */
  addFailure(purpose: ClientPurpose, address: string): void;
  /** Returns the hash of an address for rows. */
  hashOf(address: string): string;
}

const windowMs = 60_000;

export const openClientLimits = (clock: Clock, vault: Pick<Vault, "digest">, siblings: Siblings = alone): ClientLimits => {
  // Opened eagerly, because only open buckets receive the counts of other processes.
  const opened = new Map(
    Object.entries(purposes).map(([purpose, [perMinute]]) => [
      purpose,
      openBuckets({ burst: perMinute, perSecond: perMinute / 60 }, limits.clientAddressesMax, { siblings, name: purpose, nowMs: clock }),
    ]),
  );
  const bucketsOf = (purpose: ClientPurpose): Buckets => {
    const buckets = opened.get(purpose);
    if (!buckets) throw new Error(`no purpose ${purpose}`);
    return buckets;
  };
  const refuse = (purpose: ClientPurpose, retryMs: number | undefined): void => {
    if (retryMs === undefined) return;
    const [quota, what] = purposes[purpose];
    const seconds = Math.max(1, Math.ceil(retryMs / 1000));
    const time = seconds === 1 ? "a second" : `${seconds} seconds`;
    throw throttled(`too many ${what} from your network (at most ${quota} a minute). Try again in ${time}`, {
      name: purpose,
      quota,
      windowMs,
      retryMs,
    });
  };
  return {
    take(purpose, address, count = 1) {
      const [perMinute] = purposes[purpose];
      // A weight of n counts as one in a bucket of 1/n of the size.
      refuse(purpose, bucketsOf(purpose).take(networkOf(address), clock(), { burst: perMinute / count, perSecond: perMinute / 60 / count }));
    },
    check: (purpose, address) => refuse(purpose, bucketsOf(purpose).look(networkOf(address), clock())),
    addFailure: (purpose, address) => void bucketsOf(purpose).take(networkOf(address), clock()),
    hashOf: (address) => vault.digest("client address", networkOf(address)),
  };
};
