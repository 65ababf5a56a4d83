// Every log event of the server, its level, and the facts by which repeated events are grouped. docs/operate/logs.md explains
// each; a test compares both.

/** In ascending severity. */
export const logLevels = ["info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

interface LogEvent {
  /** error: an operator has to act; warn: a failure that is retried or deserves a look; info: for the record. */
  readonly level: LogLevel;
  /** Events that agree in these facts are grouped: within limits.logRepeatMs the first is written, then the count of the rest. */
  readonly like?: readonly string[];
  /** How many of a group are written individually; 1 by default. */
  readonly each?: number;
}

export const logEvents = {
  fault: { level: "error", like: ["call", "code", "message", "cause"], each: 20 },
  request: { level: "info" },
  slow: { level: "warn", like: ["operation"] },
  "rates.failed": { level: "warn", like: ["cause"] },
  "dependency.failed": { level: "warn", like: ["dependency"], each: 5 },
  "dependency.recovered": { level: "warn", like: ["dependency"], each: 5 },
  "descriptors.few": { level: "warn" },
  "settings.plaintext": { level: "warn" },
  "schema.mismatch": { level: "error" },
  "schema.index.unfinished": { level: "warn" },
  "authn.key.made": { level: "info" },
  "csaf.key.made": { level: "info" },
  "csaf.key.lost": { level: "error" },
  "authn.issuer.failed": { level: "warn", like: ["issuer", "cause"] },
  "authn.aws.failed": { level: "warn", like: ["cause"] },
  "authn.client.refused": { level: "info", like: ["client", "why"] },
  "authn.issuer_patterns.unfit": { level: "warn" },
  "authn.pattern.oversized": { level: "warn" },
  "authn.patterns.oversized": { level: "warn" },
  "authn.patterns.unread": { level: "warn" },
  "authn.authorities.failed": { level: "error", like: ["file", "cause"] },
  "authn.seen.failed": { level: "warn", like: ["cause"] },
  "signin.refused": { level: "info", like: ["code", "message", "cause"] },
  "signin.provider.failed": { level: "warn", like: ["issuer", "cause"] },
  "signin.question.failed": { level: "warn", like: ["cause"] },
  "signin.code.misused": { level: "warn" },
  "signin.code.reused": { level: "warn" },
  "signin.refresh.reused": { level: "warn" },
  "store.connection.lost": { level: "warn", like: ["error"] },
  "store.primary": { level: "warn" },
  "store.host.away": { level: "warn" },
  "store.host.back": { level: "info" },
  "store.host.outdated": { level: "error" },
  "store.host.foreign": { level: "error" },
  "store.replica.failed": { level: "warn" },
  "store.postgres": { level: "warn", like: ["message"] },
  "store.postgres.lost": { level: "error" },
  "store.postgres.revived": { level: "info" },
  "store.postgres.failed": { level: "error", like: ["error"] },
  "store.postgres.taken": { level: "error", like: ["holder"] },
  "store.postgres.orphan": { level: "warn" },
  listener: { level: "warn", like: ["error"] },
  connections: { level: "warn", like: ["address"] },
  "traces.failed": { level: "warn", like: ["cause"] },
  "metrics.failed": { level: "warn", like: ["metric", "cause"] },
  "blobs.missing": { level: "error", like: ["key"] },
  "blobs.upload.lost": { level: "warn", like: ["cause"] },
  "blobs.removal.failed": { level: "warn", like: ["cause"] },
  "blobs.unnamed.removed": { level: "info" },
  "registry.pulls.failed": { level: "warn", like: ["cause"] },
  "registry.pulls.lost": { level: "warn", like: [] },
  "manifests.untagged.failed": { level: "warn", like: ["cause"] },
  "tags.end.failed": { level: "warn", like: ["cause"] },
  "tags.retention.ended": { level: "info" },
  "tags.retention.failed": { level: "warn", like: ["cause"] },
  "feed.imported": { level: "info" },
  "feed.failed": { level: "warn" },
  "feed.held": { level: "warn" },
  "feed.refused": { level: "warn", like: ["source", "cause"], each: 20 },
  "feeds.outdated": { level: "warn" },
  "archive.failed": { level: "warn", like: ["ecosystem", "cause"] },
  "images.unmatched": { level: "warn", like: ["organization", "cause"] },
  "sbom.failed": { level: "warn", like: ["cause"] },
  "sbom.unreadable": { level: "info" },
  "report.failed": { level: "warn", like: ["cause"] },
  "report.unreadable": { level: "info" },
  "sbom.turn.failed": { level: "warn", like: ["cause"] },
  "delivery.failed": { level: "warn", like: ["cause"] },
  "delivery.broken": { level: "error", like: ["cause"] },
  "delivery.completion.failed": { level: "warn", like: ["cause"] },
  "delivery.tick.failed": { level: "warn", like: ["cause"] },
  "delivery.set_aside": { level: "error", like: ["cause"], each: 20 },
  "delivery.enqueue.set_aside": { level: "error", like: ["cause"], each: 20 },
  "delivery.enqueue.failed": { level: "warn", like: ["cause"] },
  "delivery.share.full": { level: "info", like: ["organization"] },
  "outbox.event.set_aside": { level: "error", like: ["cause"], each: 20 },
  "audit.event.set_aside": { level: "error", like: ["cause"], each: 20 },
  "audit.refusals.lost": { level: "error", like: ["cause"], each: 20 },
  "audit.tick.failed": { level: "warn", like: ["cause"] },
  "audit.month.held": { level: "error", like: ["month", "targets"] },
  "audit.month.missed": { level: "error" },
  "audit.target.failed": { level: "error", like: ["target", "cause"] },
  "audit.target.broken": { level: "warn", like: ["target", "cause"] },
  "audit.target.behind": { level: "warn" },
  "audit.target.resumed": { level: "info" },
  "maintenance.failed": { level: "warn" },
  "tls.certificate.read": { level: "info" },
  "tls.certificate.failed": { level: "error" },
  "worker.ended": { level: "error" },
  "worker.started": { level: "info" },
  "service.notice.failed": { level: "warn" },
} as const satisfies Readonly<Record<string, LogEvent>>;

export type LogEventName = keyof typeof logEvents;

export const logEventOf = (event: LogEventName): LogEvent => logEvents[event];
