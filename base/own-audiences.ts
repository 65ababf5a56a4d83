// The audiences that mean this server itself, and not a client of some organization's (decisions: Tokens).

import { withoutTrailing } from "./trailing.ts";

/** The public URL with and without a trailing slash, and its host with and without its port. */
export const ownAudiences = (publicUrl: string): string[] => {
  const { host, hostname } = new URL(publicUrl);
  const bare = withoutTrailing(publicUrl, "/");
  return [bare, `${bare}/`, host, hostname];
};
