// Metrics of finished calls.

import type { Code } from "#base/fault.ts";
import type { callProtocols } from "./declared.ts";
import type { Metrics } from "./registry.ts";

/** A call that was answered, or disconnected. Times in milliseconds, sizes in bytes. */
export interface FinishedCall {
  readonly protocol: (typeof callProtocols)[number];
  /** Full name of an operation, or a fixed name; never caller input. */
  readonly operation: string;
  readonly code: Code | "OK";
  /** ErrorInfo's reason of a refusal; "" if none. */
  readonly reason: string;
  /** The exhausted quota, rate or concurrency limit; "": none. */
  readonly quota: string;
  /** The caller decides how long it stays open, so its duration is meaningless. */
  readonly isStream: boolean;
  /** Of both bodies. */
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** From the headers to the start of the response. */
  readonly toAnswerMs: number;
  /** Part of it in the organization's queue. */
  readonly turnMs: number;
  /** Part of it waiting for a queue or connection of its statements. */
  readonly databaseWaitMs: number;
  /** Of all statements; concurrent ones add up. */
  readonly databaseMs: number;
}

/** @param inFlight returns the number of calls in flight */
export const openCallMetrics = (metrics: Metrics, inFlight: () => number): ((call: FinishedCall) => void) => {
  metrics.watch("gantry_requests_in_flight", () => [{ labels: {}, value: inFlight() }]);
  const parts = { turn: 0, database_wait: 0, database: 0, other: 0 };
  metrics.watch("gantry_request_part_seconds_total", () =>
    (["turn", "database_wait", "database", "other"] as const).map((part) => ({ labels: { part }, value: parts[part] / 1000 })),
  );
  return ({ protocol, operation, code, reason, quota, isStream, receivedBytes, sentBytes, toAnswerMs, turnMs, databaseWaitMs, databaseMs }) => {
    metrics.count("gantry_requests_total", { protocol, code });
    metrics.observe("gantry_request_bytes", { protocol }, receivedBytes);
    metrics.observe("gantry_response_bytes", { protocol }, sentBytes);
    if (code !== "OK") metrics.count("gantry_refusals_total", { reason: reason || code, quota });
    if (isStream) return;
    metrics.observe("gantry_request_seconds", { operation, code }, toAnswerMs / 1000);
    parts.turn += turnMs;
    parts.database_wait += databaseWaitMs;
    parts.database += databaseMs;
    parts.other += Math.max(0, toAnswerMs - turnMs - databaseWaitMs - databaseMs);
  };
};
