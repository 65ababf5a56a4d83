// Which issuers may be named: by an identity's claim match, by an identity provider.

import type { Services } from "#kernel";
import { notHttps } from "#base/not-https.ts";

/**
 * What is wrong with an issuer's URL, as a violation's description; undefined where nothing is. It is reached over
 * https; over http only where the operator lets private addresses be reached, or if it is this server.
 */
export const issuerProblem = (issuer: string, { plainIssuers, publicUrl }: Services): string | undefined => {
  if (issuer === "accounts.google.com") return undefined;
  const url = URL.parse(issuer);
  const scheme = url?.protocol === "https:" || (plainIssuers && url?.protocol === "http:") || issuer === publicUrl;
  if (!url || !scheme) return notHttps(url);
  // Attack 17: an issuer that only looks like another one.
  if (url.username || url.password || url.search || url.hash) return "must be a URL without user, query and fragment";
  return undefined;
};
