// Egress rules: every public address over https, and addresses in GANTRY_EGRESS_ALLOW also over plain http (decisions: Tokens).
// Pure.
//
//   list    = entry *( "," entry )
//   entry   = [ purpose "=" ] range [ ":" port ]
//   purpose = "issuer" / "sink" / "feed" / "client" / "audit" ; default: all
//   range   = IPv4 / IPv4 "/" bits / IPv6 / IPv6 "/" bits / "[" IPv6 [ "/" bits ] "]"
//                                                    ; IPv6 with a port needs the brackets

import { Fault } from "#base/fault.ts";
import ipaddr from "ipaddr.js";

export const purposes = ["issuer", "sink", "feed", "client", "audit"] as const;
/** Purpose of a connection: issuer keys, webhook endpoint, feed source, client metadata document, or audit target. */
export type Purpose = (typeof purposes)[number];

type Address = ReturnType<typeof ipaddr.parse>;

interface Entry {
  readonly purpose: Purpose | undefined;
  readonly network: Address;
  readonly bits: number;
  readonly port: number | undefined;
}

export type Egress = readonly Entry[];

const entryForm = /^(?:([a-z]+)=)?(?:\[([0-9a-fA-F:.]+(?:\/\d{1,3})?)\]|([0-9.]+(?:\/\d{1,2})?)|([0-9a-fA-F:.]+(?:\/\d{1,3})?))(?::(\d{1,5}))?$/;

const isPurpose = (name: string): name is Purpose => (purposes as readonly string[]).includes(name);

// ipaddr.js also accepts "10.1" and "0x7f.1", which are likely mistakes.
const fourParts = /^\d{1,3}(?:\.\d{1,3}){3}$/;

const networkOf = (range: string): { network: Address; bits: number } | undefined => {
  const [address = "", bits] = range.split("/");
  if (!(address.includes(":") ? ipaddr.IPv6.isValid(address) : fourParts.test(address) && ipaddr.IPv4.isValid(address))) return undefined;
  const network = ipaddr.parse(address);
  const bitsMax = network.kind() === "ipv4" ? 32 : 128;
  const length = bits === undefined ? bitsMax : Number(bits);
  return length <= bitsMax ? { network, bits: length } : undefined;
};

/** Parses GANTRY_EGRESS_ALLOW. Throws a one-line Fault that names the malformed entry. */
export const readEgress = (allow: string): Egress =>
  allow
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map((entry) => {
      const unreadable = (why: string): Fault =>
        new Fault(
          "FAILED_PRECONDITION",
          `GANTRY_EGRESS_ALLOW: ${JSON.stringify(entry)} ${why}; write for example 10.0.0.0/8, issuer=127.0.0.1/32:9000 or sink=[fd00::/8]:443`,
        );
      const [matched, purpose, bracketed, v4, v6, port] = entryForm.exec(entry) ?? [];
      if (matched === undefined) throw unreadable("is not an address range");
      if (purpose !== undefined && !isPurpose(purpose)) throw unreadable(`is for none of ${purposes.join(", ")}`);
      const range = networkOf(bracketed ?? v4 ?? v6 ?? "");
      if (range === undefined) throw unreadable("is not an address range");
      const portNumber = port === undefined ? undefined : Number(port);
      if (portNumber !== undefined && (portNumber < 1 || portNumber > 65_535)) throw unreadable("has no possible port");
      return { purpose, ...range, port: portNumber };
    });

/** ::ffff:10.0.0.1 counts as 10.0.0.1. */
const parseAddress = (address: string): Address | undefined => {
  try {
    return ipaddr.process(address);
  } catch {
    return undefined;
  }
};

// 2000::/3 is all IPv6 space ever allocated. ipaddr.js excludes its special ranges (6to4, Teredo, documentation, …) and those of
// IPv4 (private, CGNAT, metadata, …). NAT64 (64:ff9b::/96) and ULA lie outside.
const globalUnicast = ipaddr.parseCIDR("2000::/3");
const isPublic = (address: Address): boolean => address.range() === "unicast" && (address.kind() === "ipv4" || address.match(globalUnicast));

const isListed = (egress: Egress, purpose: Purpose, address: Address, port: number): boolean =>
  egress.some(
    (entry) =>
      (entry.purpose ?? purpose) === purpose &&
      (entry.port ?? port) === port &&
      entry.network.kind() === address.kind() &&
      address.match([entry.network, entry.bits]),
  );

/** Returns why a connection to `address` is refused; undefined if it is allowed. */
export const egressRefusal = (egress: Egress, purpose: Purpose, protocol: string, address: string, port: number): string | undefined => {
  const parsed = parseAddress(address);
  if (parsed === undefined) return `${address} is not an address`;
  if (isListed(egress, purpose, parsed, port)) return undefined;
  if (!isPublic(parsed)) return `${address} is not a public address (${parsed.range()}); GANTRY_EGRESS_ALLOW can allow it`;
  return protocol === "https:" ? undefined : `${address} is reached over https only`;
};
