// Canonical client addresses.

import { isIP, SocketAddress } from "node:net";
import { networkOf } from "#base/origin.ts";

export const addressFamily = (address: string): "ipv4" | "ipv6" => (isIP(address) === 6 ? "ipv6" : "ipv4");

const ipv4MappedPrefix = "::ffff:";

/**
 * Returns the canonical spelling, so that logs can be searched: shortest IPv6, and IPv4 instead of its IPv6-mapped form. Undefined if
 * it is no IP address.
 */
export const canonicalAddress = (text: string): string | undefined => {
  // A zone ("%eth0") is not part of the address.
  const [unzoned = ""] = text.split("%", 1);
  if (isIP(unzoned) === 0) return undefined;
  const { address } = new SocketAddress({ address: unzoned, family: addressFamily(unzoned) });
  const last = address.slice(ipv4MappedPrefix.length);
  return address.startsWith(ipv4MappedPrefix) && isIP(last) === 4 ? last : address;
};

/** Returns the key that an address counts for, whatever its spelling. */
export const holderOf = (address: string): string => networkOf(canonicalAddress(address) ?? "");
