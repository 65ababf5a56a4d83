// Where a request comes from, as far as the audit log keeps it: the connection's own address, or what proxies that the
// operator trusts say of it. A header that anybody can send counts for nothing by itself.

import type { BlockList } from "node:net";
import type { Origin } from "#base/origin.ts";
import { addressFamily, canonicalAddress } from "#connections";
import type { HttpRequest } from "./http-message.ts";

/** The origin of a request with these headers on a connection from this address. */
export type OriginOf = (address: string, headers: HttpRequest["headers"]) => Origin;

/** An entry of the header: some proxies write the client's port, too, and then an IPv6 address in brackets. */
const addressOfHop = (entry: string): string | undefined => canonicalAddress(entry.trim().replace(/^(?:([\d.]+):|\[([^\]]*)\](?::|$))\d*$/, "$1$2"));

/** A header as one text: each proxy may have added a line of its own. */
const joinedHeader = (value: string | string[] | undefined): string => (typeof value === "string" ? value : (value?.join(",") ?? ""));

/**
 * X-Forwarded-For grows at its right end: each proxy adds the address that called it. So the peer's entry counts if it is
 * trusted, and the entry of the one that it names if that is trusted too; what stands further left anybody may have
 * sent. What is no address ends the chain.
 */
const clientAddress = (peer: string, forwarded: string, trusted: (address: string) => boolean): string => {
  const hops = forwarded.split(",");
  let origin = peer;
  while (trusted(origin)) {
    const hop = addressOfHop(hops.pop() ?? "");
    if (hop === undefined) break;
    origin = hop;
  }
  return origin;
};

/** Cut before it is cleaned: a cut may halve a character. Control characters are replaced. */
const cleanUserAgent = (text: string, lengthMax: number): string =>
  text
    .slice(0, lengthMax)
    .toWellFormed()
    .replace(/\p{Cc}/gu, "\ufffd");

export const originReader = (proxies: BlockList | undefined, userAgentLengthMax: number): OriginOf => {
  const trusted = (address: string): boolean => proxies?.check(address, addressFamily(address)) === true;
  return (address, headers) => {
    const peer = canonicalAddress(address) ?? "";
    return {
      address: trusted(peer) ? clientAddress(peer, joinedHeader(headers["x-forwarded-for"]), trusted) : peer,
      userAgent: cleanUserAgent(joinedHeader(headers["user-agent"]), userAgentLengthMax),
    };
  };
};
