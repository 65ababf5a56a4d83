// Name resolution with a timeout. dns.lookup has none and blocks one of libuv's four threads: forty unresponsive names stopped every
// keyless sign-in for minutes. So this queries DNS directly, after /etc/hosts. Names without a dot use the search domains of
// /etc/resolv.conf.

import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { limits } from "#base/limits.ts";

/** Returns the addresses of a name in a hosts file, in order. */
export const hostsEntries = (file: string, name: string): string[] =>
  file.split("\n").flatMap((line) => {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    return isIP(address) !== 0 && names.some((each) => each.toLowerCase() === name) ? [address] : [];
  });

/** Returns the search domains of a resolv.conf, from its last such line. */
export const searchDomains = (file: string): string[] =>
  file
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .findLast(([word]) => word === "search" || word === "domain")
    ?.slice(1) ?? [];

const readOrNothing = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");

/** IPv4 first: on a host without an IPv6 route the other order costs a timeout. */
const ask = async (resolver: Resolver, name: string): Promise<string[]> => {
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = [four, six].flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (found.length === 0 && four.status === "rejected") throw four.reason;
  return found;
};

/** Resolves a name to addresses. `servers` replaces the system's, for tests. */
export const resolveName = async (host: string, servers?: readonly string[]): Promise<string[]> => {
  if (isIP(host) !== 0) return [host];
  const name = host.toLowerCase().replace(/\.$/, "");
  const listed = hostsEntries(await readOrNothing("/etc/hosts"), name);
  if (listed.length > 0) return listed;
  // RFC 6761 §6.3: never queried in DNS.
  if (name === "localhost" || name.endsWith(".localhost")) return ["127.0.0.1", "::1"];
  const resolver = new Resolver({ timeout: limits.nameTryMs, tries: limits.nameTriesMax });
  if (servers !== undefined) resolver.setServers(servers);
  const late = setTimeout(() => resolver.cancel(), limits.nameTimeoutMs);
  try {
    if (name.includes(".")) return await ask(resolver, name);
    const domains = searchDomains(await readOrNothing("/etc/resolv.conf"));
    for (const domain of domains) {
      const found = await ask(resolver, `${name}.${domain}`).catch(() => []);
      if (found.length > 0) return found;
    }
    return await ask(resolver, name);
  } finally {
    clearTimeout(late);
  }
};
