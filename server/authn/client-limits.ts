// What clients may do who are not known: counted for each client address, so that a stranger uses up no more than his own
// share. Counted in this server; what leaves rows is counted in the database besides (server/iam/signin/open-rows.ts).
//
// A row that has to tell addresses apart keeps a keyed hash of the address: for nobody without the server's secret key is
// there an address in it, and it goes with its row, within the hour.

import { type Buckets, openBuckets } from "#base/buckets.ts";
import { throttled } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { networkOf } from "#base/origin.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import type { Clock } from "#base/time.ts";
import type { Vault } from "#db";

/** What is counted: its limit's name, as headers have it, with its number in a minute and what a person calls it. */
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
  /**
   * Counts one, or as many as a dearer request stands for. Throws `throttled` where the address has had as many as it may.
   * `address` is that of an Origin.
   */
  take(purpose: ClientPurpose, address: string, count?: number): void;
  /** Throws as `take` would, and counts nothing: for what is counted once it has failed. */
  check(purpose: ClientPurpose, address: string): void;
  /** Counts one that has failed, and never throws. */
  addFailure(purpose: ClientPurpose, address: string): void;
  /** What a row keeps of an address. */
  hashOf(address: string): string;
}

const windowMs = 60_000;

export const openClientLimits = (clock: Clock, vault: Pick<Vault, "digest">, siblings: Siblings = alone): ClientLimits => {
  // All at once: what another process counts is heard by those that are open.
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
      // One of a bucket that holds fewer: so many of the whole one.
      refuse(purpose, bucketsOf(purpose).take(networkOf(address), clock(), { burst: perMinute / count, perSecond: perMinute / 60 / count }));
    },
    check: (purpose, address) => refuse(purpose, bucketsOf(purpose).look(networkOf(address), clock())),
    addFailure: (purpose, address) => void bucketsOf(purpose).take(networkOf(address), clock()),
    hashOf: (address) => vault.digest("client address", networkOf(address)),
  };
};
