// GET /metrics: what Prometheus scrapes. On a port of its own (GANTRY_METRICS_LISTEN), or beside the API for whoever has the
// token in GANTRY_METRICS_TOKEN_FILE; without either there is no such path.

import { createHash, timingSafeEqual } from "node:crypto";
import type { EndpointAnswer } from "#base/endpoint.ts";
import { unauthenticated } from "#base/fault.ts";
import type { OpenMetrics } from "#metrics";

export const metricsPath = "/metrics";

const tokenDigest = (text: string): Buffer => createHash("sha256").update(text).digest();

/**
 * The text of a scrape for whoever sends the token, by an Authorization header; for everybody where there is none. A wrong token
 * and none are UNAUTHENTICATED in the same words.
 */
export const openMetricsDocument = (
  metrics: Pick<OpenMetrics, "read" | "contentType">,
  token: string | undefined,
): ((authorization: string | undefined) => Promise<EndpointAnswer>) => {
  const expected = token === undefined ? undefined : tokenDigest(`Bearer ${token}`);
  return async (authorization = "") => {
    // Digests are of one length, and say nothing of how much of a wrong token is right.
    if (expected && !timingSafeEqual(tokenDigest(authorization.replace(/^bearer +/i, "Bearer ")), expected))
      throw unauthenticated("this needs the token for metrics");
    return { status: 200, headers: { "content-type": metrics.contentType, "cache-control": "no-store" }, body: await metrics.read() };
  };
};
