// What is counted of calls, once each when it is over.

import type { Code } from "#base/fault.ts";
import type { callProtocols } from "./declared.ts";
import type { Metrics } from "./registry.ts";

/** A call that is answered, or whose peer has gone. Times in milliseconds, sizes in bytes. */
export interface FinishedCall {
  readonly protocol: (typeof callProtocols)[number];
  /** Full name of an operation of the contract, or a fixed name of what is none; never what a caller has written. */
  readonly operation: string;
  readonly code: Code | "OK";
  /** ErrorInfo's reason of a refusal; "" where it has none but its code. */
  readonly reason: string;
  /** The quota, rate or share that is spent; "": none. */
  readonly quota: string;
  /** It stays open for as long as its caller likes: how long says nothing. */
  readonly isStream: boolean;
  /** Of its body, and of its answer's. */
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** From its headers until its answer begins. */
  readonly toAnswerMs: number;
  /** Of this, waiting for a turn among its organization's calls. */
  readonly turnMs: number;
  /** Of this, waiting for a turn or a connection of its statements. */
  readonly databaseWaitMs: number;
  /** Of all its statements; those at the same time count each. */
  readonly databaseMs: number;
}

/** @param inFlight how many calls are under way */
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
