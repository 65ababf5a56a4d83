// The audiences that mean this server itself, and not a client of some organization's (decisions: Tokens).

import { withoutTrailing } from "./trailing.ts";

/** The public URL with and without a trailing slash, and its host with and without its port. */
export const ownAudiences = (publicUrl: string): string[] => {
  const { host, hostname } = new URL(publicUrl);
  const bare = withoutTrailing(publicUrl, "/");
  return [bare, `${bare}/`, host, hostname];
};

/** The host of an audience that is an address or a host; undefined for any other. */
const hostNameOfAudience = (audience: string): string | undefined => URL.parse(audience.includes("://") ? audience : `http://${audience}`)?.hostname;

/** The names that this server goes by besides that of its public URL: those of GANTRY_AUDIENCES. */
export const furtherNamesOf = (audiences: readonly string[]): ReadonlySet<string> =>
  new Set(audiences.flatMap((audience) => hostNameOfAudience(audience) ?? []));
