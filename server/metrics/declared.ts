// Every metric that this server has, in one place: what it counts, and what its labels may say. The table in
// docs/operations.md, the dashboard and the alert rules of deploy/monitoring are tested against it.
//
// Names follow Prometheus: base units at the end, `_total` of what only grows. No label has a uid, an address or a name that
// a tenant chose: a series lives as long as the process does, and whoever reads metrics need not be whoever reads rows.

import { logLevels } from "#base/log-events.ts";

/** The values that a label may have; "open": names of the contract or of our code, bounded by limits.metricLabelValuesMax. */
export type LabelValues = readonly string[] | "open";

export interface Declared {
  readonly kind: "counter" | "gauge" | "histogram";
  /** One sentence, as the table has it. */
  readonly help: string;
  readonly labels: Readonly<Record<string, LabelValues>>;
  /** Of a histogram: upper bounds, in the unit of its name. */
  readonly buckets?: readonly number[];
  /** "process": each server tells its own. "database": each tells the same of what all of them share. */
  readonly of: "process" | "database";
}

/** "http": what is beside the contract, such as pages, keys and the open feed. */
export const callProtocols = ["rest", "grpc", "oci", "mcp", "http"] as const;

/** From an answer out of memory to a call's whole time (limits.callTimeoutMs). */
const callSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30] as const;
/** From an empty body over a page of a list to a layer of an image. */
const messageBytes = [0, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 67_108_864, 1_073_741_824] as const;

export const declared = {
  // ---- calls (calls.ts) ------------------------------------------------------------------------------------------
  gantry_request_seconds: {
    kind: "histogram",
    help: "Time of a call from its headers until its answer begins, by operation and canonical code; without streams.",
    labels: { operation: "open", code: "open" },
    buckets: callSeconds,
    of: "process",
  },
  gantry_request_part_seconds: {
    kind: "histogram",
    help: "Of this time: waiting for the organization's turn, for a connection to the database, the database's own, and the rest.",
    labels: { part: ["turn", "database_wait", "database", "other"] },
    buckets: callSeconds,
    of: "process",
  },
  gantry_requests_total: {
    kind: "counter",
    help: "Calls that are over, by protocol and canonical code.",
    labels: { protocol: callProtocols, code: "open" },
    of: "process",
  },
  gantry_requests_in_flight: {
    kind: "gauge",
    help: "Calls that have begun and are not over.",
    labels: {},
    of: "process",
  },
  gantry_request_bytes: {
    kind: "histogram",
    help: "Bytes of a call's body as it came.",
    labels: { protocol: callProtocols },
    buckets: messageBytes,
    of: "process",
  },
  gantry_response_bytes: {
    kind: "histogram",
    help: "Bytes of an answer's body as it went out.",
    labels: { protocol: callProtocols },
    buckets: messageBytes,
    of: "process",
  },
  gantry_refusals_total: {
    kind: "counter",
    help: "Calls that were refused, by the reason that the caller was told, and the quota, rate or share that was spent.",
    labels: { reason: "open", quota: "open" },
    of: "process",
  },

  gantry_log_events_total: {
    kind: "counter",
    help: "Events of the log, also those that it leaves out because they repeat or are below its level.",
    labels: { event: "open", level: logLevels },
    of: "process",
  },

  // ---- the process (process.ts) ----------------------------------------------------------------------------------
  gantry_build_info: {
    kind: "gauge",
    help: "1; its labels are the versions of this server and of Node.",
    labels: { version: "open", node: "open" },
    of: "process",
  },
  gantry_event_loop_delay_seconds: {
    kind: "histogram",
    help: "How late a timer comes that is set every 200 ms: what every call waits besides.",
    labels: {},
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    of: "process",
  },
  gantry_event_loop_active_seconds_total: {
    kind: "counter",
    help: "Time in which the event loop had something to do; its rate is the share of one core that it uses.",
    labels: {},
    of: "process",
  },
  gantry_memory_bytes: {
    kind: "gauge",
    help: "Memory of the process: what it has of the machine, JavaScript's heap and what is used of it, and buffers.",
    labels: { kind: ["resident", "heap", "heap_used", "buffers"] },
    of: "process",
  },
  process_cpu_seconds_total: {
    kind: "counter",
    help: "Processor time of the process.",
    labels: {},
    of: "process",
  },
  process_resident_memory_bytes: {
    kind: "gauge",
    help: "Memory that the process has of the machine.",
    labels: {},
    of: "process",
  },
  process_start_time_seconds: {
    kind: "gauge",
    help: "When the process started, in seconds since 1970.",
    labels: {},
    of: "process",
  },
} as const satisfies Readonly<Record<string, Declared>>;

export type MetricName = keyof typeof declared;

type NamesOf<Kind extends Declared["kind"]> = { [N in MetricName]: (typeof declared)[N]["kind"] extends Kind ? N : never }[MetricName];
export type CounterName = NamesOf<"counter">;
export type GaugeName = NamesOf<"gauge">;
export type HistogramName = NamesOf<"histogram">;

/** A metric's labels, each with a value that it may have. */
export type LabelsOf<N extends MetricName> = {
  readonly [L in keyof (typeof declared)[N]["labels"]]: (typeof declared)[N]["labels"][L] extends readonly (infer Value)[] ? Value : string;
};
