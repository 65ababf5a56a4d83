// GET /metrics for Prometheus: on its own port (GANTRY_METRICS_LISTEN), or on the API port with the token of
// GANTRY_METRICS_TOKEN_FILE. Without either setting the path does not exist.

import { createHash, timingSafeEqual } from "node:crypto";
import type { EndpointAnswer } from "#base/endpoint.ts";
import { unauthenticated } from "#base/fault.ts";
import type { OpenMetrics } from "#metrics";

export const metricsPath = "/metrics";

const tokenDigest = (text: string): Buffer => createHash("sha256").update(text).digest();

/**
 * Returns a handler of scrapes. With a token, throws UNAUTHENTICATED unless the Authorization header has it; missing and wrong tokens
 * get the same error.
 */
export const openMetricsDocument = (
  metrics: Pick<OpenMetrics, "read" | "contentType">,
  token: string | undefined,
): ((authorization: string | undefined) => Promise<EndpointAnswer>) => {
  const expected = token === undefined ? undefined : tokenDigest(`Bearer ${token}`);
  return async (authorization = "") => {
    // Digests have equal lengths, so the comparison leaks nothing.
    if (expected && !timingSafeEqual(tokenDigest(authorization.replace(/^bearer +/i, "Bearer ")), expected))
      throw unauthenticated("this needs the token for metrics");
    return { status: 200, headers: { "content-type": metrics.contentType, "cache-control": "no-store" }, body: await metrics.read() };
  };
};
