// All settings with their help and default. The source for the help of `gantry serve`, for `gantry config`, and for refusing unknown
// names.

import { distance } from "fastest-levenshtein";
import { Fault } from "#base/fault.ts";

export interface SettingText {
  readonly says: string;
  /** In words; absent if there is none. */
  readonly byDefault?: string;
}

/** In the order of the help. */
export const settingTexts = {
  GANTRY_LISTEN: { says: "address and port", byDefault: "127.0.0.1:8080" },
  GANTRY_DATA: { says: "data directory", byDefault: "./gantry-data" },
  GANTRY_WORKERS: { says: "processes that serve together, up to 8; auto: one for each core", byDefault: "1" },
  DATABASE_URL: { says: "a PostgreSQL to use instead of the embedded one: an address, with one host or several" },
  GANTRY_POSTGRES_SETTINGS: {
    says: "memory and disk of the embedded PostgreSQL: shared_buffers, work_mem, maintenance_work_mem, max_wal_size, as NAME=SIZE",
    byDefault: "by the machine's size",
  },
  GANTRY_MIGRATE_URL: { says: "the connection of the role that owns that database, for migrations", byDefault: "DATABASE_URL" },
  GANTRY_READ_REPLICA_URL: { says: "a replica of that database that serves list requests", byDefault: "none" },
  GANTRY_PUBLIC_URL: { says: "the address that clients use; also the issuer of tokens", byDefault: "from GANTRY_LISTEN" },
  GANTRY_TLS_CERT: { says: "certificate file: the port speaks TLS" },
  GANTRY_TLS_KEY: { says: "its key file" },
  GANTRY_SERVICE_DOMAIN: { says: "the domain in error details", byDefault: "gantry.local" },
  GANTRY_AUDIENCES: { says: "additional accepted token audiences", byDefault: "none" },
  GANTRY_EGRESS_ALLOW: { says: "private addresses that the server may connect to, as CIDRs", byDefault: "none" },
  GANTRY_CA_FILE: { says: "additional certificate authorities for outbound connections, as PEM", byDefault: "none" },
  GANTRY_ISSUER_HOSTS: { says: "issuer hosts that an issuerPattern may match implicitly", byDefault: "none" },
  GANTRY_MAIL_ISSUERS: { says: "issuers believed about e-mail addresses, and of which domains: ISSUER=DOMAIN|DOMAIN,…", byDefault: "none" },
  GANTRY_SECRET_KEY_FILE: { says: "the key that seals secrets; required with DATABASE_URL", byDefault: "secret.key in GANTRY_DATA" },
  GANTRY_CORS_ORIGINS: { says: "allowed CORS origins", byDefault: "none" },
  GANTRY_REDIRECT_URIS: { says: "pages of the operator that sign users in with an authorization code: whole addresses, comma-separated", byDefault: "none" },
  GANTRY_CONSOLE: { says: "false: no console at /console", byDefault: "true" },
  GANTRY_CLIENTS: { says: "OAuth clients without a metadata document: NAME=ADDRESS, comma-separated", byDefault: "none" },
  GANTRY_TRUSTED_PROXIES: { says: "trusted proxies (X-Forwarded-For), as addresses or CIDRs", byDefault: "none" },
  GANTRY_CONNECTIONS_PER_ADDRESS: { says: "maximum connections per client address", byDefault: "1000" },
  GANTRY_TERMS_FILE: { says: "terms documents and the operations that require them, as JSON" },
  GANTRY_FEEDS: { says: "a file of imports that the server repeats by itself" },
  GANTRY_FEED_STALE_HOURS: { says: "hours after its last success in which a source of advisories is up to date", byDefault: "72" },
  GANTRY_BLOBS: { says: "where the layers of images lie: a path, or s3://BUCKET/PREFIX?region=…", byDefault: "blobs in GANTRY_DATA" },
  GANTRY_BLOBS_REDIRECT: { says: "true: pulls of layers are sent to the S3 storage", byDefault: "false" },
  GANTRY_ANONYMOUS_PULL: { says: "true: every repo can be pulled from without a token", byDefault: "false" },
  GANTRY_REGISTRY_UNTAGGED_DAYS: { says: "days after which unused images without a tag are deleted", byDefault: "never" },
  GANTRY_OPEN_ORGANIZATIONS: { says: "true: users may create organizations", byDefault: "false" },
  GANTRY_PUBLISHER_NAME: { says: "name of the CSAF publisher", byDefault: "the host of GANTRY_PUBLIC_URL" },
  GANTRY_PUBLISHER_NAMESPACE: { says: "URL that identifies the publisher", byDefault: "the origin of GANTRY_PUBLIC_URL" },
  GANTRY_PUBLISHER_CATEGORY: { says: "category of the publisher: coordinator, discoverer, other, user or vendor", byDefault: "other" },
  GANTRY_PUBLISHER_CONTACT: { says: "how to reach the publisher" },
  GANTRY_SECURITY_CONTACT: { says: "security contacts for security.txt: mailto:, https: and tel: addresses" },
  GANTRY_SECURITY_EXPIRES: { says: "expiry time of security.txt", byDefault: "half a year from today" },
  GANTRY_AWS_STS_URL: { says: "where signed AWS requests are verified", byDefault: "the AWS STS host that they name" },
  GANTRY_DELIVERY_DELAYS: { says: "seconds before each attempt to deliver an event", byDefault: "0,5,300,1800,7200,18000,36000,36000" },
  GANTRY_AUDIT_MONTHS: { says: "months to keep the audit log, including the current month", byDefault: "13" },
  GANTRY_AUDIT_TARGETS: { says: "a file of places that the audit log is sent to: files, syslog receivers, HTTP endpoints" },
  GANTRY_EVENT_DAYS: { says: "days to keep events", byDefault: "30" },
  GANTRY_DELIVERY_DAYS: { says: "days to keep completed deliveries; dead ones are kept as long as their events", byDefault: "7" },
  GANTRY_TAG_HISTORY_DAYS: { says: "days to keep the history of tags", byDefault: "400" },
  GANTRY_REPORT_DAYS: { says: "days to keep replaced scanner reports and resolved matches", byDefault: "400" },
  GANTRY_DOCUMENT_DAYS: { says: "days to keep documents that their source no longer publishes", byDefault: "for good" },
  GANTRY_DELETED_DAYS: { says: "days during which deleted resources can be restored; 0 disables it", byDefault: "30" },
  GANTRY_REQUEST_LOG: { says: "true: one line of the log for each request", byDefault: "false" },
  OTEL_EXPORTER_OTLP_ENDPOINT: { says: "an OpenTelemetry collector, to which traces are sent (OTLP over HTTP)" },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: { says: "the whole address for traces, where it is another one" },
  OTEL_EXPORTER_OTLP_PROTOCOL: { says: "OTLP protocol; the only supported value", byDefault: "http/protobuf" },
  OTEL_TRACES_SAMPLER: { says: "which calls are traced, by OpenTelemetry's names", byDefault: "parentbased_always_on" },
  OTEL_TRACES_SAMPLER_ARG: { says: "the share of calls that a ratio traces", byDefault: "1" },
  GANTRY_TRACES_PER_SECOND: { says: "calls that are traced in a second at most", byDefault: "20" },
  GANTRY_FREE_MAIL_DOMAINS: { says: "additional public mail domains (not owned by one company)", byDefault: "none" },
  GANTRY_V1_LIST_MAX: { says: "most entries that a list of version 1 gives at once", byDefault: "100000" },
  GANTRY_LOG_LEVEL: { says: "minimum log level: info, warn or error", byDefault: "info" },
  GANTRY_METRICS_LISTEN: { says: "separate address and port for metrics, without TLS", byDefault: "none" },
  GANTRY_METRICS_TOKEN_FILE: { says: "file with the token for reading metrics. Without GANTRY_METRICS_LISTEN, metrics are served on the API port" },
} as const satisfies Readonly<Record<string, SettingText>>;

export type SettingName = keyof typeof settingTexts;

export const settingNames = Object.keys(settingTexts) as readonly SettingName[];

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of client commands (cli/contexts; docs/how-to/contexts.md). */
const clientNames: readonly string[] = [
  "GANTRY_SERVER",
  "GANTRY_CONTEXT",
  "GANTRY_CONFIG",
  "GANTRY_ORG",
  "GANTRY_OUTPUT",
  "GANTRY_TOKEN",
  "GANTRY_TOKEN_FILE",
  "GANTRY_IDENTITY",
  "GANTRY_IDENTITY_TOKEN",
  "GANTRY_IDENTITY_TOKEN_FILE",
  "GANTRY_NO_INPUT",
];

/** Variables that Kubernetes sets for services with names starting with "gantry". */
const isServiceLink = (name: string): boolean =>
  ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT"].some((ending) => name.endsWith(ending)) ||
  name.includes("_SERVICE_PORT_") ||
  /_PORT_\d{1,5}_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name);

/** Maximum share of edited letters for a suggestion. */
const typingMistakesMax = 0.4;

/** Throws a one-line Fault for an unknown GANTRY_ variable, which would otherwise be ignored silently. */
export const refuseUnknownNames = (environment: Environment): void => {
  const known: readonly string[] = [...settingNames, ...clientNames];
  for (const name of Object.keys(environment).sort()) {
    if (!name.startsWith("GANTRY_") || known.includes(name) || isServiceLink(name)) continue;
    const [nearest = ""] = known.toSorted((one, other) => distance(name, one) - distance(name, other));
    const meant = distance(name, nearest) <= (name.length - "GANTRY_".length) * typingMistakesMax ? ` (did you mean ${nearest}?)` : "";
    throw new Fault("FAILED_PRECONDITION", `${name} is not a Gantry setting${meant}. List the settings with gantry help serve`);
  }
};
