// Connection limit per client address.

import type { BlockList } from "node:net";
import type { Log } from "#base/log.ts";
import { addressFamily, canonicalAddress, holderOf } from "./address.ts";

export interface AddressLimit {
  /** Counts a connection. Returns the key that it counts for; undefined if that has reached the limit. */
  enter(address: string): string | undefined;
  leave(holder: string): void;
}

/** Trusted proxies carry many clients' requests and are not limited. */
const unlimited = "";

export const openAddressLimit = (max: number, proxies: BlockList | undefined, log: Log): AddressLimit => {
  const counts = new Map<string, number>();
  const told = new Set<string>();
  return {
    enter(from) {
      const address = canonicalAddress(from) ?? "";
      if (proxies?.check(address, addressFamily(address))) return unlimited;
      const holder = holderOf(address);
      const count = counts.get(holder) ?? 0;
      if (count >= max) {
        if (!told.has(holder)) log("connections", { address: holder, refusedAbove: max });
        told.add(holder);
        return undefined;
      }
      counts.set(holder, count + 1);
      return holder;
    },
    leave(holder) {
      const left = (counts.get(holder) ?? 1) - 1;
      if (left > 0) counts.set(holder, left);
      else {
        counts.delete(holder);
        told.delete(holder);
      }
    },
  };
};
