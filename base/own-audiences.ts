// Token audiences that mean this server and not an organization's client (decisions: Tokens).

import { withoutTrailing } from "./trailing.ts";

/** Returns the public URL with and without a trailing slash, and its host with and without the port. */
export const ownAudiences = (publicUrl: string): string[] => {
  const { host, hostname } = new URL(publicUrl);
  const bare = withoutTrailing(publicUrl, "/");
  return [bare, `${bare}/`, host, hostname];
};

/** Returns the host of an audience that is a URL or a host; otherwise undefined. */
const hostNameOfAudience = (audience: string): string | undefined => URL.parse(audience.includes("://") ? audience : `http://${audience}`)?.hostname;

/** Returns the additional host names of this server, from GANTRY_AUDIENCES. */
export const furtherNamesOf = (audiences: readonly string[]): ReadonlySet<string> =>
  new Set(audiences.flatMap((audience) => hostNameOfAudience(audience) ?? []));
