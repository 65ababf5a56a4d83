// Cross-origin requests of browsers: answered only for the origins that the operator named (decisions: JSON).
// For all others nothing is said, and the browser refuses by itself.

import type { HttpAnswer, HttpRequest } from "./http-message.ts";
import { header } from "./http-message.ts";

interface CrossOrigin {
  /** The answer to a preflight of a named origin. */
  readonly preflight: (ask: HttpRequest) => HttpAnswer | undefined;
  /** Adds what a named origin's page needs to read the answer. */
  readonly allow: (ask: HttpRequest, answer: HttpAnswer) => void;
}

const none: CrossOrigin = { preflight: () => undefined, allow: () => {} };

const verbs = "GET, HEAD, POST, PATCH, PUT, DELETE";
const asked = "authorization, content-type, gantry-identity, idempotency-key, if-match, if-none-match";
const shown =
  "etag, gantry-left-out, gantry-page-restarted, gantry-replayed, gantry-validate-only, gantry-warning, retry-after, www-authenticate, x-request-id";
/** How long a browser may keep a preflight's answer, in seconds; Chromium's own upper bound. */
const keptSeconds = "7200";

export const crossOrigin = (origins: readonly string[]): CrossOrigin => {
  if (origins.length === 0) return none;
  const named = new Set(origins.map((origin) => origin.replace(/\/$/, "")));
  const originOf = (ask: HttpRequest): string | undefined => {
    const origin = header(ask, "origin");
    return origin !== undefined && named.has(origin) ? origin : undefined;
  };
  return {
    preflight: (ask) => {
      if (ask.verb !== "OPTIONS" || header(ask, "access-control-request-method") === undefined || originOf(ask) === undefined) return undefined;
      const headers = ["access-control-allow-methods", verbs, "access-control-allow-headers", asked, "access-control-max-age", keptSeconds];
      return { status: 204, headers, body: "" };
    },
    allow: (ask, answer) => {
      // Caches must not give one origin's answer to another, also where the first had none.
      answer.headers.push("vary", "origin");
      const origin = originOf(ask);
      if (origin !== undefined) answer.headers.push("access-control-allow-origin", origin, "access-control-expose-headers", shown);
    },
  };
};
