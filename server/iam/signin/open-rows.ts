// Limits open rows of unauthenticated clients by table and address, exactly except for concurrent writes. A limit over all addresses
// is the last resort; once reached, no new sign-in can start.

import type { ClientLimits } from "#authn";
import { throttled } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { countOpenRows, countOpenRowsOf, type OpenRowsTable } from "#iam/store";
import type { Write } from "#db";

interface Bound {
  readonly name: string;
  readonly perAddress: number;
  readonly inAll: number;
  readonly lifetimeMs: number;
}

const bounds: Readonly<Record<OpenRowsTable, Bound>> = {
  authorization_codes: {
    name: "open-authorization-codes",
    perAddress: limits.authorizationCodesPerAddressMax,
    inAll: limits.authorizationCodesMax,
    lifetimeMs: limits.authorizationCodeLifetimeMs,
  },
  device_codes: {
    name: "open-device-authorizations",
    perAddress: limits.deviceCodesPerAddressMax,
    inAll: limits.deviceCodesMax,
    lifetimeMs: limits.deviceCodeLifetimeMs,
  },
  sign_ins: { name: "open-sign-ins", perAddress: limits.signInsPerAddressMax, inAll: limits.signInsMax, lifetimeMs: limits.signInLifetimeMs },
  headless_sessions: {
    name: "open-headless-sign-ins",
    perAddress: limits.headlessSessionsPerAddressMax,
    inAll: limits.headlessSessionsMax,
    lifetimeMs: limits.headlessSessionLifetimeMs,
  },
};

export interface OpenRows {
  /** Returns the address's hash for a new row. Throws `throttled` beyond a limit. */
  admit(rows: Write, table: OpenRowsTable, address: string, nowMs: number): Promise<string>;
}

export const openOpenRows = (clientLimits: Pick<ClientLimits, "hashOf">): OpenRows => {
  // Cached totals: the count takes longer the more rows there are.
  const counted = new Map<OpenRowsTable, { readonly count: number; readonly atMs: number }>();
  const countAll = async (rows: Write, table: OpenRowsTable, nowMs: number): Promise<number> => {
    const last = counted.get(table);
    if (last !== undefined && Math.abs(nowMs - last.atMs) < limits.openRowsCountMs) return last.count;
    const count = await countOpenRows(rows, table, nowMs, bounds[table].inAll);
    counted.set(table, { count, atMs: nowMs });
    return count;
  };
  return {
    async admit(rows, table, address, nowMs) {
      const { name, perAddress, inAll, lifetimeMs } = bounds[table];
      const hash = clientLimits.hashOf(address);
      const own = await countOpenRowsOf(rows, table, hash, nowMs, perAddress);
      if (own.count >= perAddress) {
        const retryMs = Math.max(1, (own.firstEndMs ?? nowMs + lifetimeMs) - nowMs);
        const minutes = Math.ceil(retryMs / 60_000);
        const time = minutes === 1 ? "a minute" : `${minutes} minutes`;
        const message = `your network has reached the limit of ${perAddress} open sign-ins. Finish one, or try again in ${time}`;
        throw throttled(message, { name, quota: perAddress, retryMs });
      }
      if ((await countAll(rows, table, nowMs)) >= inAll)
        throw throttled("too many sign-ins are open. Try again in a few minutes", { name: `all-${name}`, quota: inAll, retryMs: 60_000 });
      return hash;
    },
  };
};
