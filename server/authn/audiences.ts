// Which audiences name this server (decisions: Tokens): its public URL with and without a trailing slash, its
// host, and what the operator adds.

import { unauthenticated } from "#base/fault.ts";
import { ownAudiences } from "#base/own-audiences.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { quoteForError } from "./token.ts";

export interface Audiences {
  readonly accepted: ReadonlySet<string>;
  /** Whether a token with this audience is meant for the API. */
  includesApi(audience: readonly string[]): boolean;
  /**
   * Throws UNAUTHENTICATED where a token is meant for others only. `resource`: a part of this server with an audience of its own
   * (RFC 8707), whose tokens count there besides those of the API.
   */
  check(audience: readonly string[], resource?: string): void;
}

/** The public URL without its trailing slash: what paths are appended to. */
export const withoutTrailingSlash = (issuer: string): string => withoutTrailing(issuer, "/");

/** The audiences of the server at `issuer`. The host counts with and without its port. */
export const audiencesOf = (issuer: string, more: readonly string[]): Audiences => {
  const accepted: ReadonlySet<string> = new Set([...ownAudiences(issuer), ...more]);
  const includesApi = (audience: readonly string[]): boolean => audience.some((entry) => accepted.has(entry));
  return {
    accepted,
    includesApi,
    check: (audience, resource) => {
      if (includesApi(audience) || (resource !== undefined && audience.includes(resource))) return;
      const present = audience.length === 0 ? "none" : quoteForError(audience.join(", "));
      const ours = [...(resource === undefined ? [] : [resource]), ...accepted].map((entry) => JSON.stringify(entry)).join(", ");
      throw unauthenticated(`the token has the wrong audience (${present}); expected one of ${ours}`);
    },
  };
};
