// Redirect URIs of OAuth clients (RFC 6749 §3.1.2; RFC 8252 §7).

import { limits } from "./limits.ts";

/** Host names of the user's own machine. */
export const loopbackHosts: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** Returns whether the URL belongs to a program on the user's machine (RFC 8252 §7.3, §8.3). */
export const isLoopbackAddress = (url: URL): boolean => url.protocol === "http:" && loopbackHosts.has(url.hostname);

/** RFC 8252 §7.1: a reversed domain name. No scheme that browsers execute or open by themselves has a dot. */
const isPrivateScheme = (scheme: string): boolean => scheme.includes(".");

/** Returns whether a code may be sent to this address. Visible ASCII only, because it is compared as text and followed by browsers. */
export const isRedirectAddress = (address: string): boolean => {
  const url = /^[\x21-\x7e]+$/.test(address) && !address.includes("\\") && address.length <= limits.redirectLengthMax ? URL.parse(address) : null;
  if (url === null || url.username !== "" || url.password !== "" || address.includes("#")) return false;
  return url.protocol === "https:" || isLoopbackAddress(url) || isPrivateScheme(url.protocol);
};
