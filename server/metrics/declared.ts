// Every metric that this server has, in one place: what it counts, and what its labels may say. The table in
// docs/operate/metrics.md, the dashboard and the alert rules of deploy/monitoring are tested against it.
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
  /** How the values of a server's workers become one; absent: their sum, or of "database" the greatest. */
  readonly combined?: "max" | "min";
}

/** "http": what is beside the contract, such as pages, keys and the open feed. */
export const callProtocols = ["rest", "grpc", "oci", "scim", "mcp", "http"] as const;

/** Of one process: pipelined ones for cheap reads, those for reads of many rows, those for transactions. */
export const databasePools = ["reads", "wide_reads", "writes"] as const;

/** From an answer out of memory to a call's whole time. Few, since each is a line for each operation and code. */
const callSeconds = [0.0025, 0.01, 0.025, 0.1, 0.25, 1, 2.5, 10, 30] as const;
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
  gantry_request_part_seconds_total: {
    kind: "counter",
    help: "Of this time: waiting for the organization's turn, for a connection to the database, the database's own, and the rest.",
    labels: { part: ["turn", "database_wait", "database", "other"] },
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

  // ---- turns, connections, statements ------------------------------------------------------------------------------
  gantry_queue_places: {
    kind: "gauge",
    help: "Places that a kind of work has; turns are taken by organization.",
    labels: { queue: "open" },
    of: "process",
  },
  gantry_queue_held: {
    kind: "gauge",
    help: "Of these, places that are taken.",
    labels: { queue: "open" },
    of: "process",
  },
  gantry_queue_waiting: {
    kind: "gauge",
    help: "Work that waits for a place.",
    labels: { queue: "open" },
    of: "process",
  },
  gantry_connections: {
    kind: "gauge",
    help: "Connections of clients.",
    labels: {},
    of: "process",
  },
  gantry_connections_refused_total: {
    kind: "counter",
    help: "Connections that were closed because their address had as many as it may.",
    labels: {},
    of: "process",
  },
  gantry_request_buffer_bytes: {
    kind: "gauge",
    help: "Memory that bodies of requests hold; beyond 256 MiB further ones are refused.",
    labels: {},
    of: "process",
  },
  gantry_database_connections: {
    kind: "gauge",
    help: "Connections to the database, by what they are for, and how many of them are at work.",
    labels: { pool: databasePools, state: ["open", "busy"] },
    of: "process",
  },
  gantry_database_statement_seconds: {
    kind: "histogram",
    help: "Time of a statement from when it was sent; of a transaction, from its place on.",
    labels: { pool: databasePools },
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15],
    of: "process",
  },
  gantry_database_transactions_total: {
    kind: "counter",
    help: "Transactions that were tried, by how they ended: a retry lost a race and is tried once more.",
    labels: { outcome: ["committed", "rolled_back", "retried"] },
    of: "process",
  },
  gantry_cache_requests_total: {
    kind: "counter",
    help: "What was looked for in memory first: rights of callers, and tokens that were verified.",
    labels: { cache: ["rights", "own_tokens", "foreign_tokens"], result: ["hit", "miss"] },
    of: "process",
  },
  gantry_outbound_requests_total: {
    kind: "counter",
    help: "Requests to other servers, by what for, and whether there was an answer; refused: the share of them was in use.",
    labels: { purpose: ["issuer", "sink", "feed", "client", "audit"], outcome: ["answered", "failed", "refused"] },
    of: "process",
  },
  gantry_trace_spans_total: {
    kind: "counter",
    help: "Spans of traces, by what became of them: taken by the collector, not taken, and dropped since too many waited for it.",
    labels: { outcome: ["sent", "failed", "dropped"] },
    of: "process",
  },

  // ---- events ------------------------------------------------------------------------------------------------------
  gantry_outbox_position: {
    kind: "gauge",
    help: "Position of the event that was numbered last.",
    labels: {},
    of: "database",
  },
  gantry_outbox_unnumbered_events: {
    kind: "gauge",
    help: "Events that have no position yet; 10,000 means at least so many.",
    labels: {},
    of: "database",
  },
  gantry_outbox_oldest_unnumbered_seconds: {
    kind: "gauge",
    help: "Age of the oldest of these; 0 where there is none.",
    labels: {},
    of: "database",
  },
  gantry_audit_sealed_position: {
    kind: "gauge",
    help: "Position up to which the audit log is sealed.",
    labels: {},
    of: "database",
  },
  gantry_audit_oldest_unsealed_seconds: {
    kind: "gauge",
    help: "Age of the oldest numbered event that is not sealed; 0 where there is none.",
    labels: {},
    of: "database",
  },
  gantry_delivery_attempts_total: {
    kind: "counter",
    help: "Attempts to deliver an event, by what became of the delivery: sent, to be tried again, given up, dropped for lack of rights, without a place.",
    labels: { outcome: ["delivered", "retried", "dead", "dropped", "unsent", "broken"] },
    of: "process",
  },
  gantry_delivery_attempt_seconds: {
    kind: "histogram",
    help: "Time of an attempt until the sink's answer, by the class of its status; without those that could not be connected to.",
    labels: { status: ["1xx", "2xx", "3xx", "4xx", "5xx", "timeout"] },
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    of: "process",
  },
  gantry_deliveries: {
    kind: "gauge",
    help: "Deliveries that wait for their time, and those that were given up; 10,000 means at least so many.",
    labels: { state: ["pending", "dead"] },
    of: "database",
  },
  gantry_deliveries_oldest_due_seconds: {
    kind: "gauge",
    help: "How long the oldest of (10,000 of) the pending ones has been due; 0 where none is.",
    labels: {},
    of: "database",
  },
  gantry_delivery_fan_outs: {
    kind: "gauge",
    help: "Organizations whose events have yet to become deliveries.",
    labels: {},
    of: "database",
  },

  // ---- feeds, images, maintenance ----------------------------------------------------------------------------------
  gantry_feed_last_success_timestamp_seconds: {
    kind: "gauge",
    help: "When a feed of GANTRY_FEEDS was imported last, in seconds since 1970; feed is its number in the file. After a start absent while it fails.",
    labels: { feed: "open", kind: "open" },
    of: "database",
  },
  gantry_feed_failures: {
    kind: "gauge",
    help: "How often it has failed in a row.",
    labels: { feed: "open", kind: "open" },
    of: "database",
  },
  gantry_feed_interval_seconds: {
    kind: "gauge",
    help: "How often it is to be imported.",
    labels: { feed: "open", kind: "open" },
    of: "process",
  },
  gantry_feeds_held: {
    kind: "gauge",
    help: "Sources whose last import held something back, by why. Of all imports, not only those of GANTRY_FEEDS.",
    labels: { reason: ["EMPTY", "UNREADABLE", "SHRUNK", "OLDER"] },
    of: "database",
  },
  gantry_feeds_stale: {
    kind: "gauge",
    help: "Sources of advisories and vulnerability records without a success within their bound, by kind. Of all imports.",
    labels: { kind: ["advisories", "vulnerabilities"] },
    of: "database",
  },
  gantry_registry_blobs: {
    kind: "gauge",
    help: "Blobs that are stored, each once.",
    labels: {},
    of: "database",
  },
  gantry_registry_stored_bytes: {
    kind: "gauge",
    help: "Their bytes.",
    labels: {},
    of: "database",
  },
  gantry_registry_uploads: {
    kind: "gauge",
    help: "Uploads that were begun and not ended; 10,000 means at least so many.",
    labels: {},
    of: "database",
  },
  gantry_registry_upload_bytes: {
    kind: "gauge",
    help: "What was sent of them so far.",
    labels: {},
    of: "database",
  },
  gantry_registry_removals: {
    kind: "gauge",
    help: "Blobs that nobody needs, whose bytes are still there; 10,000 means at least so many.",
    labels: {},
    of: "database",
  },
  gantry_documents_waiting: {
    kind: "gauge",
    help: "Pushed SBOMs and reports that wait to be read; 10,000 means at least so many.",
    labels: { kind: ["sbom", "report"] },
    of: "database",
  },
  gantry_maintenance_runs_total: {
    kind: "counter",
    help: "Runs of a part of the hourly maintenance that came to their end, or failed and are tried again.",
    labels: { part: "open", outcome: ["done", "failed"] },
    of: "process",
  },
  gantry_schema_version: {
    kind: "gauge",
    help: "Number of the last migration of the database.",
    labels: {},
    of: "database",
  },

  // ---- retention (server/application/maintenance.ts) -------------------------------------------------------------
  gantry_retention_deleted_rows_total: {
    kind: "counter",
    help: "Rows that were deleted because their time was over, by table; entries of the audit log, of which whole months go.",
    labels: { table: "open" },
    of: "process",
  },
  gantry_retention_oldest_seconds: {
    kind: "gauge",
    help: "Age of the oldest row that is kept, of tables for which a setting says how long.",
    labels: { table: "open" },
    of: "database",
  },

  // ---- the audit log out (server/audit-targets) ------------------------------------------------------------------
  gantry_audit_target_behind_seconds: {
    kind: "gauge",
    help: "How long ago the first entry was sealed that a target of the audit log has not got; 0 where it has all.",
    labels: { target: "open" },
    of: "database",
  },
  gantry_audit_target_entries_total: {
    kind: "counter",
    help: "Entries of the audit log that a target has confirmed.",
    labels: { target: "open" },
    of: "process",
  },
  gantry_audit_target_failures_total: {
    kind: "counter",
    help: "Batches of the audit log that a target has not confirmed.",
    labels: { target: "open" },
    of: "process",
  },

  // ---- the process (process.ts) ----------------------------------------------------------------------------------
  gantry_build_info: {
    kind: "gauge",
    help: "1; its labels are the versions of this server and of Node.",
    labels: { version: "open", node: "open" },
    of: "process",
    combined: "max",
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
    combined: "min",
  },
  gantry_workers: {
    kind: "gauge",
    help: "Processes that answer requests (GANTRY_WORKERS), without those that are being started.",
    labels: {},
    of: "process",
  },
  gantry_worker_ends_total: {
    kind: "counter",
    help: "Workers that ended by themselves and were started again.",
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
