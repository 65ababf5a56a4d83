// Cross-origin requests of browsers: allowed only for the origins that the operator lists (decisions: JSON). Others get no header, so
// the browser refuses.

import { headerOf, type HttpRequest, type HttpResponse } from "./http-message.ts";

interface CrossOrigin {
  /** Returns the response to a preflight of a listed origin. */
  readonly preflight: (request: HttpRequest) => HttpResponse | undefined;
  /** Adds the headers that let a listed origin read the response. */
  readonly allow: (request: HttpRequest, response: HttpResponse) => void;
}

const noCrossOrigin: CrossOrigin = { preflight: () => undefined, allow: () => {} };

const allowedMethods = "GET, HEAD, POST, PATCH, PUT, DELETE";
const allowedHeaders = [
  "authorization",
  "content-type",
  "gantry-identity",
  "gantry-toolsets",
  "gantry-write",
  "idempotency-key",
  "if-match",
  "if-none-match",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
].join(", ");
const exposedHeaders = [
  "etag",
  "gantry-as-of",
  "gantry-left-out",
  "gantry-page-restarted",
  "gantry-replayed",
  "gantry-validate-only",
  "gantry-warning",
  "ratelimit",
  "ratelimit-policy",
  "retry-after",
  "www-authenticate",
  "x-request-id",
].join(", ");
/** Cache time of a preflight in seconds; Chromium's maximum. */
const preflightMaxAgeSeconds = "7200";

export const crossOrigin = (origins: readonly string[]): CrossOrigin => {
  if (origins.length === 0) return noCrossOrigin;
  const listed = new Set(origins.map((origin) => origin.replace(/\/$/, "")));
  const listedOrigin = (request: HttpRequest): string | undefined => {
    const origin = headerOf(request, "origin");
    return origin !== undefined && listed.has(origin) ? origin : undefined;
  };
  return {
    preflight: (request) => {
      const isPreflight = request.verb === "OPTIONS" && headerOf(request, "access-control-request-method") !== undefined;
      if (!isPreflight || listedOrigin(request) === undefined) return undefined;
      const headers = [
        "access-control-allow-methods",
        allowedMethods,
        "access-control-allow-headers",
        allowedHeaders,
        "access-control-max-age",
        preflightMaxAgeSeconds,
      ];
      return { status: 204, headers, body: "" };
    },
    allow: (request, response) => {
      // Caches must not reuse a response for another origin, even if the first request had none.
      response.headers.push("vary", "origin");
      const origin = listedOrigin(request);
      if (origin !== undefined) response.headers.push("access-control-allow-origin", origin, "access-control-expose-headers", exposedHeaders);
    },
  };
};
