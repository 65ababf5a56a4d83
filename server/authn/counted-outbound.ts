// Metrics of the outbound client.

import { Fault } from "#base/fault.ts";
import type { Metrics } from "#metrics";
import type { Outbound } from "./outbound.ts";

export const countOutbound = (outbound: Outbound, metrics: Pick<Metrics, "count">): Outbound => ({
  ...outbound,
  fetch: async (purpose, address, request) => {
    try {
      const answer = await outbound.fetch(purpose, address, request);
      metrics.count("gantry_outbound_requests_total", { purpose, outcome: "answered" });
      return answer;
    } catch (thrown) {
      const isRefused = thrown instanceof Fault && thrown.code === "RESOURCE_EXHAUSTED";
      metrics.count("gantry_outbound_requests_total", { purpose, outcome: isRefused ? "refused" : "failed" });
      throw thrown;
    }
  },
});
