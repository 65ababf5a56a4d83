// Addresses at which a client is given what somebody has signed in for (RFC 6749, 3.1.2; RFC 8252, 7).

import { limits } from "./limits.ts";

/** The names of the user's own machine in an address. */
export const loopbackHosts: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** An address of a program on the person's own machine (RFC 8252, 7.3 and 8.3). */
export const isLoopbackAddress = (url: URL): boolean => url.protocol === "http:" && loopbackHosts.has(url.hostname);

/** RFC 8252, 7.1: by a name in a domain, turned around. Nothing that browsers run or open by themselves has a dot. */
const isPrivateScheme = (scheme: string): boolean => scheme.includes(".");

/** Whether a code may be sent to such an address at all. Visible ASCII: the very text is compared, and followed by browsers. */
export const isRedirectAddress = (address: string): boolean => {
  const url = /^[\x21-\x7e]+$/.test(address) && !address.includes("\\") && address.length <= limits.redirectLengthMax ? URL.parse(address) : null;
  if (url === null || url.username !== "" || url.password !== "" || address.includes("#")) return false;
  return url.protocol === "https:" || isLoopbackAddress(url) || isPrivateScheme(url.protocol);
};
