// Client addresses in one spelling.

import { isIP, SocketAddress } from "node:net";
import { networkOf } from "#base/origin.ts";

export const addressFamily = (address: string): "ipv4" | "ipv6" => (isIP(address) === 6 ? "ipv6" : "ipv4");

const ipv4MappedPrefix = "::ffff:";

/**
 * One spelling for each address, or who searches the log misses half: IPv6 as short as it gets, and IPv4 as itself
 * where a listener on all addresses writes it as IPv6. Undefined for what is no IP address.
 */
export const canonicalAddress = (text: string): string | undefined => {
  // A zone ("%eth0") names an interface of the machine that wrote it, and is no part of the address.
  const [unzoned = ""] = text.split("%", 1);
  if (isIP(unzoned) === 0) return undefined;
  const { address } = new SocketAddress({ address: unzoned, family: addressFamily(unzoned) });
  const last = address.slice(ipv4MappedPrefix.length);
  return address.startsWith(ipv4MappedPrefix) && isIP(last) === 4 ? last : address;
};

/** Whom an address counts for, however it is written. */
export const holderOf = (address: string): string => networkOf(canonicalAddress(address) ?? "");
