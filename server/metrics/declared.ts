// All metrics, with help and label values. Tests compare docs/operate/metrics.md, the dashboard and the alert rules of
// deploy/monitoring.
//
// No label has a UID, an address or a tenant's name: a series lives as long as the process, and readers of metrics may lack access
// to rows.

import { logLevels } from "#base/log-events.ts";

/** Allowed label values; "open": names of the contract or our code, bounded by limits.metricLabelValuesMax. */
export type LabelValues = readonly string[] | "open";

export interface Declared {
  readonly kind: "counter" | "gauge" | "histogram";
  /** One sentence, as in the table. */
  readonly help: string;
  readonly labels: Readonly<Record<string, LabelValues>>;
  /** For histograms: upper bounds, in the unit of the name. */
  readonly buckets?: readonly number[];
  /** "process": each server's own. "database": the same shared state from every server. */
  readonly of: "process" | "database";
  /** How workers' values combine; default: sum, or maximum for "database". */
  readonly combined?: "max" | "min";
}

/** "http": paths outside the contract, such as pages, keys and public documents. */
export const callProtocols = ["rest", "grpc", "oci", "scim", "mcp", "http"] as const;

/** Pools of one process: pipelined cheap reads, reads of many rows, transactions. */
export const databasePools = ["reads", "wide_reads", "writes"] as const;

/** From a cached response to the request timeout. Few, because each is a line per operation and code. */
const callSeconds = [0.0025, 0.01, 0.025, 0.1, 0.25, 1, 2.5, 10, 30] as const;
/** From an empty body to an image layer. */
const messageBytes = [0, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 67_108_864, 1_073_741_824] as const;

export const declared = {
  // ---- calls (calls.ts) ------------------------------------------------------------------------------------------
  gantry_request_seconds: {
    kind: "histogram",
    help: "Time from the headers of a request to the first byte of its response, by operation and canonical code. Streams are not counted.",
    labels: { operation: "open", code: "open" },
    buckets: callSeconds,
    of: "process",
  },
  gantry_request_part_seconds_total: {
    kind: "counter",
    help: "Request time by part: waiting in the organization's queue, waiting for a database connection, database, other.",
    labels: { part: ["turn", "database_wait", "database", "other"] },
    of: "process",
  },
  gantry_requests_total: {
    kind: "counter",
    help: "Completed requests, by protocol and canonical code.",
    labels: { protocol: callProtocols, code: "open" },
    of: "process",
  },
  gantry_requests_in_flight: {
    kind: "gauge",
    help: "Requests in progress.",
    labels: {},
    of: "process",
  },
  gantry_request_bytes: {
    kind: "histogram",
    help: "Size of request bodies as received, in bytes.",
    labels: { protocol: callProtocols },
    buckets: messageBytes,
    of: "process",
  },
  gantry_response_bytes: {
    kind: "histogram",
    help: "Size of response bodies as sent, in bytes.",
    labels: { protocol: callProtocols },
    buckets: messageBytes,
    of: "process",
  },
  gantry_refusals_total: {
    kind: "counter",
    help: "Refused requests, by reason and by the exhausted quota, rate limit or concurrency limit.",
    labels: { reason: "open", quota: "open" },
    of: "process",
  },

  gantry_log_events_total: {
    kind: "counter",
    help: "Log events, including events suppressed as repeated or below the log level.",
    labels: { event: "open", level: logLevels },
    of: "process",
  },

  // ---- queues, connections, statements ---------------------------------------------------------------------------
  gantry_queue_places: {
    kind: "gauge",
    help: "Concurrency limit of a queue. Organizations take turns.",
    labels: { queue: "open" },
    of: "process",
  },
  gantry_queue_held: {
    kind: "gauge",
    help: "Tasks in progress, per queue.",
    labels: { queue: "open" },
    of: "process",
  },
  gantry_queue_waiting: {
    kind: "gauge",
    help: "Tasks waiting in the queue.",
    labels: { queue: "open" },
    of: "process",
  },
  gantry_connections: {
    kind: "gauge",
    help: "Open client connections.",
    labels: {},
    of: "process",
  },
  gantry_connections_refused_total: {
    kind: "counter",
    help: "Connections closed because their address, the server, or its file descriptors had reached the limit.",
    labels: { reason: ["address", "connections", "descriptors"] },
    of: "process",
  },
  gantry_request_buffer_bytes: {
    kind: "gauge",
    help: "Memory held by request bodies, in bytes. Beyond 256 MiB the server refuses further bodies.",
    labels: {},
    of: "process",
  },
  gantry_database_connections: {
    kind: "gauge",
    help: "Open and busy database connections, by pool.",
    labels: { pool: databasePools, state: ["open", "busy"] },
    of: "process",
  },
  gantry_database_statement_seconds: {
    kind: "histogram",
    help: "Duration of database statements and transactions, without the wait for a connection.",
    labels: { pool: databasePools },
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15],
    of: "process",
  },
  gantry_database_transactions_total: {
    kind: "counter",
    help: "Transactions by outcome. A retried transaction lost a race and runs again; unknown: the connection broke during the commit.",
    labels: { outcome: ["committed", "rolled_back", "retried", "unknown"] },
    of: "process",
  },
  gantry_dependency_failed: {
    kind: "gauge",
    help: "Whether a dependency of the server has failed (1) or not (0). Only dependencies in use.",
    labels: { dependency: ["database", "replica", "blobs", "clock", "descriptors", "disk", "memory", "dns"] },
    of: "process",
    combined: "max",
  },
  gantry_clock_ahead_seconds: {
    kind: "gauge",
    help: "How far the clock of this machine is ahead of the database's, in seconds; negative if it is behind.",
    labels: {},
    of: "process",
    combined: "max",
  },
  gantry_replica_behind_seconds: {
    kind: "gauge",
    help: "How old the data of the read replica is, in seconds, including the interval of the checks. Absent while it is not used.",
    labels: {},
    of: "process",
    combined: "max",
  },
  gantry_database_hosts: {
    kind: "gauge",
    help: "Hosts of DATABASE_URL by state, if it names several.",
    labels: { state: ["primary", "standby", "away", "outdated", "foreign", "unheard"] },
    of: "process",
    combined: "max",
  },
  gantry_standby_behind_bytes: {
    kind: "gauge",
    help: "Write-ahead log that the standby furthest behind has not replayed, in bytes, if DATABASE_URL names several hosts.",
    labels: {},
    of: "process",
    combined: "max",
  },
  gantry_disk_free_bytes: {
    kind: "gauge",
    help: "Free disk space for GANTRY_DATA and for a directory of GANTRY_BLOBS, in bytes.",
    labels: { disk: ["data", "blobs"] },
    of: "process",
    combined: "min",
  },
  gantry_memory_limit_bytes: {
    kind: "gauge",
    help: "Memory limit of the container, otherwise the memory of the machine, in bytes.",
    labels: {},
    of: "process",
    combined: "max",
  },
  gantry_certificate_expiry_timestamp_seconds: {
    kind: "gauge",
    help: "Expiry of the server certificate in use, as Unix time. Absent without TLS.",
    labels: {},
    of: "process",
    combined: "min",
  },
  gantry_backup_last_timestamp_seconds: {
    kind: "gauge",
    help: "Time of the last complete backup by gantry admin backup with this GANTRY_DATA, as Unix time. Absent before the first one.",
    labels: {},
    of: "process",
    combined: "max",
  },
  gantry_cache_requests_total: {
    kind: "counter",
    help: "Lookups in the caches of permissions and of verified tokens, by result.",
    labels: { cache: ["rights", "own_tokens", "foreign_tokens"], result: ["hit", "miss"] },
    of: "process",
  },
  gantry_outbound_requests_total: {
    kind: "counter",
    help: "Outbound requests, by purpose and outcome. Refused: the concurrency limit was reached.",
    labels: { purpose: ["issuer", "sink", "feed", "client", "audit"], outcome: ["answered", "failed", "refused"] },
    of: "process",
  },
  gantry_trace_spans_total: {
    kind: "counter",
    help: "Trace spans: accepted by the collector (sent), rejected (failed), or dropped because its queue was full.",
    labels: { outcome: ["sent", "failed", "dropped"] },
    of: "process",
  },

  // ---- events ------------------------------------------------------------------------------------------------------
  gantry_outbox_position: {
    kind: "gauge",
    help: "Position of the newest numbered event.",
    labels: {},
    of: "database",
  },
  gantry_outbox_unnumbered_events: {
    kind: "gauge",
    help: "Events without a position. 10,000 means 10,000 or more.",
    labels: {},
    of: "database",
  },
  gantry_outbox_oldest_unnumbered_seconds: {
    kind: "gauge",
    help: "Age of the oldest event without a position, in seconds; 0 if there is none.",
    labels: {},
    of: "database",
  },
  gantry_audit_sealed_position: {
    kind: "gauge",
    help: "Position of the newest sealed audit entry.",
    labels: {},
    of: "database",
  },
  gantry_audit_oldest_unsealed_seconds: {
    kind: "gauge",
    help: "Age of the oldest numbered event that is not sealed, in seconds; 0 if there is none.",
    labels: {},
    of: "database",
  },
  gantry_delivery_attempts_total: {
    kind: "counter",
    help: "Delivery attempts, by outcome. Dropped: the subscriber lacks the permission. Unsent: no free slot. Broken: internal error.",
    labels: { outcome: ["delivered", "retried", "dead", "dropped", "unsent", "broken"] },
    of: "process",
  },
  gantry_delivery_attempt_seconds: {
    kind: "histogram",
    help: "Time until the sink's response, by status class. Failed connections are not counted.",
    labels: { status: ["1xx", "2xx", "3xx", "4xx", "5xx", "timeout"] },
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    of: "process",
  },
  gantry_deliveries: {
    kind: "gauge",
    help: "Pending and dead deliveries. 10,000 means 10,000 or more.",
    labels: { state: ["pending", "dead"] },
    of: "database",
  },
  gantry_deliveries_oldest_due_seconds: {
    kind: "gauge",
    help: "Time since the oldest pending delivery became due, in seconds; 0 if none is due. Looks at 10,000 deliveries at most.",
    labels: {},
    of: "database",
  },
  gantry_delivery_fan_outs: {
    kind: "gauge",
    help: "Organizations with events that have no deliveries yet.",
    labels: {},
    of: "database",
  },

  // ---- feeds, images, maintenance ----------------------------------------------------------------------------------
  gantry_feed_last_success_timestamp_seconds: {
    kind: "gauge",
    help: "Time of the last successful import of a feed in GANTRY_FEEDS, as Unix time. The label feed is its number in the file. Absent until it succeeds.",
    labels: { feed: "open", kind: "open" },
    of: "database",
  },
  gantry_feed_failures: {
    kind: "gauge",
    help: "Consecutive failed imports of a feed.",
    labels: { feed: "open", kind: "open" },
    of: "database",
  },
  gantry_feed_interval_seconds: {
    kind: "gauge",
    help: "Import interval of a feed, in seconds.",
    labels: { feed: "open", kind: "open" },
    of: "process",
  },
  gantry_feeds_held: {
    kind: "gauge",
    help: "Sources whose last import withheld changes, by reason. Covers all imports, not only GANTRY_FEEDS.",
    labels: { reason: ["EMPTY", "UNREADABLE", "SHRUNK", "OLDER"] },
    of: "database",
  },
  gantry_findings_overdue: {
    kind: "gauge",
    help: "Open findings whose due date has passed, by severity.",
    labels: { severity: ["critical", "high", "medium", "low", "negligible", "unknown"] },
    of: "database",
  },
  gantry_feeds_stale: {
    kind: "gauge",
    help: "Sources without a successful import within their limit, by kind. Covers all imports.",
    labels: { kind: ["advisories", "vulnerabilities"] },
    of: "database",
  },
  gantry_registry_blobs: {
    kind: "gauge",
    help: "Stored blobs, deduplicated.",
    labels: {},
    of: "database",
  },
  gantry_registry_stored_bytes: {
    kind: "gauge",
    help: "Size of stored blobs, deduplicated, in bytes.",
    labels: {},
    of: "database",
  },
  gantry_registry_pull_records_total: {
    kind: "counter",
    help: "Counted pulls by name, day and caller that were written, or lost because too many waited.",
    labels: { outcome: ["written", "lost"] },
    of: "process",
  },
  gantry_registry_retention_deleted_tags_total: {
    kind: "counter",
    help: "Tags deleted by retention rules.",
    labels: {},
    of: "process",
  },
  gantry_registry_uploads: {
    kind: "gauge",
    help: "Unfinished uploads. 10,000 means 10,000 or more.",
    labels: {},
    of: "database",
  },
  gantry_registry_upload_bytes: {
    kind: "gauge",
    help: "Bytes received by unfinished uploads.",
    labels: {},
    of: "database",
  },
  gantry_registry_removals: {
    kind: "gauge",
    help: "Unreferenced blobs that are not yet removed from storage. 10,000 means 10,000 or more.",
    labels: {},
    of: "database",
  },
  gantry_documents_waiting: {
    kind: "gauge",
    help: "Pushed SBOMs, reports, VEX documents and images in the indexing queue. 10,000 means 10,000 or more.",
    labels: { kind: ["sbom", "report", "vex", "image"] },
    of: "database",
  },
  gantry_images_oldest_due_seconds: {
    kind: "gauge",
    help: "Time since the oldest image in the indexing queue became due, in seconds; 0 if none is due. Images that are being read or retried are not due.",
    labels: {},
    of: "database",
  },
  gantry_maintenance_runs_total: {
    kind: "counter",
    help: "Runs of the hourly maintenance tasks, by task and outcome. Failed runs are retried.",
    labels: { part: "open", outcome: ["done", "failed"] },
    of: "process",
  },
  gantry_schema_version: {
    kind: "gauge",
    help: "Number of the newest applied migration.",
    labels: {},
    of: "database",
  },

  // ---- retention (server/application/maintenance.ts) -------------------------------------------------------------
  gantry_retention_deleted_rows_total: {
    kind: "counter",
    help: "Rows deleted by retention, by table. The audit log is deleted by whole months.",
    labels: { table: "open" },
    of: "process",
  },
  gantry_retention_oldest_seconds: {
    kind: "gauge",
    help: "Age of the oldest row in each table with a retention setting, in seconds.",
    labels: { table: "open" },
    of: "database",
  },

  // ---- audit targets (server/audit/targets) ----------------------------------------------------------------------
  gantry_audit_target_behind_seconds: {
    kind: "gauge",
    help: "Time since the oldest audit entry that the target lacks was sealed, in seconds; 0 if it has all entries.",
    labels: { target: "open" },
    of: "database",
  },
  gantry_audit_target_entries_total: {
    kind: "counter",
    help: "Audit entries confirmed by the target.",
    labels: { target: "open" },
    of: "process",
  },
  gantry_audit_target_failures_total: {
    kind: "counter",
    help: "Batches of audit entries that the target did not confirm.",
    labels: { target: "open" },
    of: "process",
  },

  // ---- process (process.ts) --------------------------------------------------------------------------------------
  gantry_build_info: {
    kind: "gauge",
    help: "Always 1. The labels are the versions of Gantry and Node.",
    labels: { version: "open", node: "open" },
    of: "process",
    combined: "max",
  },
  gantry_event_loop_delay_seconds: {
    kind: "histogram",
    help: "Delay of a timer that runs every 200 ms. Every request waits about this long in addition.",
    labels: {},
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    of: "process",
  },
  gantry_event_loop_active_seconds_total: {
    kind: "counter",
    help: "Active time of the event loop. Its rate is the used share of one core.",
    labels: {},
    of: "process",
  },
  gantry_memory_bytes: {
    kind: "gauge",
    help: "Memory of the process, by kind: resident set, JavaScript heap, used heap, buffers.",
    labels: { kind: ["resident", "heap", "heap_used", "buffers"] },
    of: "process",
  },
  process_cpu_seconds_total: {
    kind: "counter",
    help: "CPU time of the process, in seconds.",
    labels: {},
    of: "process",
  },
  process_resident_memory_bytes: {
    kind: "gauge",
    help: "Resident memory of the process, in bytes.",
    labels: {},
    of: "process",
  },
  process_start_time_seconds: {
    kind: "gauge",
    help: "Start time of the process, as Unix time.",
    labels: {},
    of: "process",
    combined: "min",
  },
  gantry_workers: {
    kind: "gauge",
    help: "Worker processes that serve requests (GANTRY_WORKERS). Starting workers are not counted.",
    labels: {},
    of: "process",
  },
  gantry_worker_ends_total: {
    kind: "counter",
    help: "Workers that ended unexpectedly and were restarted.",
    labels: {},
    of: "process",
  },
} as const satisfies Readonly<Record<string, Declared>>;

export type MetricName = keyof typeof declared;

type NamesOf<Kind extends Declared["kind"]> = { [N in MetricName]: (typeof declared)[N]["kind"] extends Kind ? N : never }[MetricName];
export type CounterName = NamesOf<"counter">;
export type GaugeName = NamesOf<"gauge">;
export type HistogramName = NamesOf<"histogram">;

export type LabelsOf<N extends MetricName> = {
  readonly [L in keyof (typeof declared)[N]["labels"]]: (typeof declared)[N]["labels"][L] extends readonly (infer Value)[] ? Value : string;
};
