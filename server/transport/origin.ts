// Where a request comes from, as far as the audit log keeps it: the connection's own address, or what proxies that the
// operator trusts say of it. A header that anybody can send is never believed by itself.

import { type BlockList, isIP, SocketAddress } from "node:net";
import type { Origin } from "#base/origin.ts";
import type { HttpRequest } from "./http-message.ts";

/** The origin of a request with these headers on a connection from this address. */
export type OriginOf = (address: string, headers: HttpRequest["headers"]) => Origin;

const familyOf = (address: string): "ipv4" | "ipv6" => (isIP(address) === 6 ? "ipv6" : "ipv4");

const mapped = "::ffff:";

/**
 * One spelling for each address, or who searches the log misses half: IPv6 as short as it gets, and IPv4 as itself
 * where a listener on all addresses tells it as IPv6. Undefined for what is no IP address.
 */
const plain = (text: string): string | undefined => {
  // A zone ("%eth0") names an interface of the machine that wrote it, and is no part of the address.
  const [unzoned = ""] = text.split("%", 1);
  if (isIP(unzoned) === 0) return undefined;
  const { address } = new SocketAddress({ address: unzoned, family: familyOf(unzoned) });
  const last = address.slice(mapped.length);
  return address.startsWith(mapped) && isIP(last) === 4 ? last : address;
};

/** An entry of the header: some proxies write the client's port, too, and then an IPv6 address in brackets. */
const hopOf = (entry: string): string | undefined => plain(entry.trim().replace(/^(?:([\d.]+):|\[([^\]]*)\](?::|$))\d*$/, "$1$2"));

/** A header as one text: each proxy may have added a line of its own. */
const whole = (value: string | string[] | undefined): string => (typeof value === "string" ? value : (value?.join(",") ?? ""));

/**
 * X-Forwarded-For grows at its right end: each proxy adds whom it was called by. So the peer's word counts if it is
 * trusted, and the word of the one that it names if that is trusted too; what stands further left anybody may have
 * sent. What is no address ends the walk.
 */
const walked = (peer: string, forwarded: string, trusted: (address: string) => boolean): string => {
  const hops = forwarded.split(",");
  let origin = peer;
  while (trusted(origin)) {
    const hop = hopOf(hops.pop() ?? "");
    if (hop === undefined) break;
    origin = hop;
  }
  return origin;
};

/** Cut before it is cleaned: a cut may halve a character. What a terminal would obey is replaced. */
const agent = (text: string, lengthMax: number): string =>
  text
    .slice(0, lengthMax)
    .toWellFormed()
    .replace(/\p{Cc}/gu, "\ufffd");

export const originReader = (proxies: BlockList | undefined, userAgentLengthMax: number): OriginOf => {
  const trusted = (address: string): boolean => proxies?.check(address, familyOf(address)) === true;
  return (address, headers) => {
    const peer = plain(address) ?? "";
    return {
      address: trusted(peer) ? walked(peer, whole(headers["x-forwarded-for"]), trusted) : peer,
      userAgent: agent(whole(headers["user-agent"]), userAgentLengthMax),
    };
  };
};
