// Audiences of this server (decisions: Tokens): its public URL with and without a trailing slash, its host, and those that the
// operator adds.

import { unauthenticated } from "#base/fault.ts";
import { ownAudiences } from "#base/own-audiences.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { quoteForError } from "./token.ts";

export interface Audiences {
  readonly accepted: ReadonlySet<string>;
  /** Returns whether a token with this audience is valid for the API. */
  includesApi(audience: readonly string[]): boolean;
  /**
   * Throws UNAUTHENTICATED if the audience does not include this server. `resource` is a part of this server with its own audience
   * (RFC 8707), which counts too.
   */
  check(audience: readonly string[], resource?: string): void;
}

/** Returns the public URL without its trailing slash, for appending paths. */
export const withoutTrailingSlash = (issuer: string): string => withoutTrailing(issuer, "/");

/** Returns the audiences of the server at `issuer`. Its host counts with and without the port. */
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
