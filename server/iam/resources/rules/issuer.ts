// Checks issuers of claim matches and identity providers.

import type { Services } from "#kernel";
import { notHttps } from "#base/not-https.ts";

/**
 * Returns what is wrong with an issuer's URL, as a violation's description; undefined if valid. HTTP is permitted only if the
 * operator allows private addresses, or for this server.
 */
export const issuerProblem = (issuer: string, { plainIssuers, publicUrl }: Services): string | undefined => {
  if (issuer === "accounts.google.com") return undefined;
  const url = URL.parse(issuer);
  const scheme = url?.protocol === "https:" || (plainIssuers && url?.protocol === "http:") || issuer === publicUrl;
  if (!url || !scheme) return notHttps(url);
  // Attack 17: a URL that imitates another issuer.
  if (url.username || url.password || url.search || url.hash) return "must be a URL without user, query and fragment";
  return undefined;
};
