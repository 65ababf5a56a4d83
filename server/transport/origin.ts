// The origin of a request for the audit log: the connection's address, or the one reported by trusted proxies. The header alone proves
// nothing, since any client can send it.

import type { BlockList } from "node:net";
import type { Origin } from "#base/origin.ts";
import { addressFamily, canonicalAddress } from "#connections";
import type { HttpRequest } from "./http-message.ts";

export type OriginOf = (address: string, headers: HttpRequest["headers"]) => Origin;

/** Parses an entry of the header: some proxies add the client's port, with IPv6 addresses in brackets. */
const addressOfHop = (entry: string): string | undefined => canonicalAddress(entry.trim().replace(/^(?:([\d.]+):|\[([^\]]*)\](?::|$))\d*$/, "$1$2"));

/** Joins a header: each proxy may have added a line. */
const joinedHeader = (value: string | string[] | undefined): string => (typeof value === "string" ? value : (value?.join(",") ?? ""));

/**
 * Each proxy appends the address that called it to X-Forwarded-For. So an entry counts only if the proxies to its right are trusted;
 * any client may have sent the rest. An invalid address ends the chain.
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

/** Truncates first, because that may halve a character. Replaces control characters. */
const cleanUserAgent = (text: string, lengthMax: number): string =>
  text
    .slice(0, lengthMax)
    .toWellFormed()
    .replace(/\p{Cc}/gu, "\ufffd");

export const originReader = (proxies: BlockList | undefined, userAgentLengthMax: number): OriginOf => {
  const trusted = (address: string): boolean => proxies?.check(address, addressFamily(address)) === true;
  // Most requests come over a connection that has sent others.
  let last = { address: "", peer: "" };
  const peerOf = (address: string): string => {
    if (address !== last.address) last = { address, peer: canonicalAddress(address) ?? "" };
    return last.peer;
  };
  return (address, headers) => {
    const peer = peerOf(address);
    return {
      address: trusted(peer) ? clientAddress(peer, joinedHeader(headers["x-forwarded-for"]), trusted) : peer,
      userAgent: cleanUserAgent(joinedHeader(headers["user-agent"]), userAgentLengthMax),
    };
  };
};
