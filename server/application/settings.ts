// The environment as typed settings. Every setting has a default that works; a wrong value stops the start with one
// line that names the variable (decisions: Command line).

import { readFileSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import { resolve } from "node:path";
import { type BlobsSetting, readBlobsSetting } from "#base/blobs-setting.ts";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { samplerNames } from "#base/sampler-names.ts";
import type { TracesSettings } from "#calls";
import { type LogLevel, logLevels } from "#base/log-events.ts";
import { refusedAddress } from "#base/refused-address.ts";
import { isRedirectAddress } from "#base/redirect-address.ts";
import { readTimestamp } from "#base/time.ts";
import { withoutTrailing } from "#base/trailing.ts";
import type { CsafOptions } from "#feeds";
import type { TermsSettings } from "#kernel";
import type { RetentionPeriods } from "#base/retention-periods.ts";
import { type Certificate, type CertificateFiles, readCertificate } from "./certificate.ts";
import { type Environment, refuseUnknownNames, type SettingName, settingNames, settingTexts } from "./setting-names.ts";
import { readPeriods } from "./retention-settings.ts";
import { defaultTerms, readTermsFile } from "./terms-file.ts";
import { readCaFile } from "./trusted-authorities.ts";

/** Where the rows are. */
export interface DatabaseSettings {
  readonly dataDirectory: string;
  readonly databaseUrl: string | undefined;
  /** The connection of the database's owner; undefined: DATABASE_URL is that one. */
  readonly migrateUrl: string | undefined;
  /** A standby of the database that lists may be read from; undefined: there is none. */
  readonly readReplicaUrl?: string | undefined;
  /** How many months of the audit log are kept, the running one included. */
  readonly auditMonths: number;
}

export interface Settings extends DatabaseSettings {
  readonly host: string;
  readonly port: number;
  readonly publicUrl: string;
  readonly serviceDomain: string;
  readonly tls: (Certificate & CertificateFiles) | undefined;
  readonly egressAllow: string;
  /** GANTRY_CA_FILE: an absolute path, whose content can be read. */
  readonly caFile: string | undefined;
  readonly issuerHosts: string;
  readonly mailIssuers: string;
  readonly secretKeyFile: string | undefined;
  readonly audiences: readonly string[];
  readonly corsOrigins: readonly string[];
  /** GANTRY_CLIENTS: clients of the authorization code grant, one entry for each of their addresses. */
  readonly clients: readonly { readonly id: string; readonly redirectUri: string }[];
  /** Proxies in front of the server whose X-Forwarded-For is believed. */
  readonly trustedProxies: BlockList;
  /** Connections that one client address may have. */
  readonly connectionsPerAddress: number;
  readonly openOrganizations: boolean;
  /** GANTRY_FEEDS: the file that says which imports are repeated. */
  readonly feedsFile: string | undefined;
  /** GANTRY_AUDIT_TARGETS: the file that says where the audit log is sent. */
  readonly auditTargetsFile: string | undefined;
  readonly terms: TermsSettings;
  /** Where signed AWS requests go; undefined: to the STS host that they are signed for. */
  readonly awsStsUrl: string | undefined;
  /** GANTRY_DELIVERY_DELAYS: seconds before each attempt of a delivery. */
  readonly deliveryDelaysSeconds: readonly number[];
  /** How long what the operator decides about is kept, the audit log aside. */
  readonly periods: RetentionPeriods;
  /** Who publishes our own advisories. */
  readonly publisher: CsafOptions["feed"]["publisher"];
  /** Whom to tell of a vulnerability of this very server. */
  readonly securityContact: CsafOptions["security"];
  /** Mail domains that are nobody's company, besides the well-known ones. */
  readonly freeMailDomains: readonly string[];
  /** Most entries that a list of version 1 gives at once. */
  readonly listMax: number;
  /** GANTRY_BLOBS: where the bytes of blobs lie. */
  readonly blobs: BlobsSetting;
  /** GANTRY_BLOBS_REDIRECT: pulls are sent to the storage, where it has addresses. */
  readonly blobsRedirect: boolean;
  /** GANTRY_ANONYMOUS_PULL: every repo can be pulled from without a token. */
  readonly anonymousPull: boolean;
  /** GANTRY_REGISTRY_UNTAGGED_DAYS: manifests that no tag names go when nobody has used them for so long; undefined: never. */
  readonly untaggedDays: number | undefined;
  /** For how many days what was deleted can be brought back; 0: not at all. */
  readonly deletedDays: number;
  /** GANTRY_LOG_LEVEL: the least that the log tells. */
  readonly logLevel: LogLevel;
  /** GANTRY_REQUEST_LOG: one line of the log for each request. */
  readonly logsRequests: boolean;
  /** Where traces go, and of what; undefined: there are none. */
  readonly traces: TracesSettings | undefined;
  /** Metrics are kept, and where and by whom they are read; undefined: they are not. */
  readonly metrics: { readonly listen: { readonly host: string; readonly port: number } | undefined; readonly token: string | undefined } | undefined;
}

/** What is set; an empty value is one that is not. */
type Given = Readonly<Partial<Record<SettingName, string>>>;

const readGiven = (environment: Environment): Given => {
  refuseUnknownNames(environment);
  return Object.fromEntries(settingNames.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
};

const settingFault = (variable: SettingName, reason: string): Fault => new Fault("FAILED_PRECONDITION", `${variable} ${reason}`);

const splitList = (value: string | undefined): string[] =>
  (value ?? "")
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");

const readListen = (
  value: string = settingTexts.GANTRY_LISTEN.byDefault,
  variable: "GANTRY_LISTEN" | "GANTRY_METRICS_LISTEN" = "GANTRY_LISTEN",
): { host: string; port: number } => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:]*)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  // Port 0 would be another one with every start, and the public URL would not know it.
  if (!match || port < 1 || port > 65535) throw settingFault(variable, `must be HOST:PORT, such as 127.0.0.1:8080 or [::]:8080, not ${JSON.stringify(value)}`);
  const host = match[1] ?? match[2] ?? "";
  // To whom the server answers is nothing to guess.
  if (host === "") throw settingFault(variable, `names no host: 127.0.0.1:${port} for this machine alone, [::]:${port} or 0.0.0.0:${port} for everybody`);
  return { host, port };
};

const readHttpUrl = (variable: SettingName, value: string): string => {
  const url = URL.parse(value);
  if (!url || !["http:", "https:"].includes(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw settingFault(variable, `must be an http or https address without user, query and fragment${refusedAddress(value)}`);
  }
  return value;
};

const readFlag = (variable: SettingName, value: string | undefined): boolean => {
  if (value === undefined || value === "" || value === "false" || value === "0") return false;
  if (value === "true" || value === "1") return true;
  throw settingFault(variable, `must be true or false, not ${JSON.stringify(value)}`);
};

const readSettingFile = (variable: SettingName, path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw settingFault(variable, `names a file that cannot be read: ${error instanceof Error ? error.message : path}`);
  }
};

const readTls = (files: CertificateFiles): Certificate & CertificateFiles => ({ ...files, ...readCertificate(files) });

const readListMax = (value: string | undefined): number => {
  if (value === undefined) return limits.unpagedListMax;
  if (!/^[1-9]\d{0,6}$/.test(value)) throw settingFault("GANTRY_V1_LIST_MAX", `must be a number from 1 to 9999999, not ${JSON.stringify(value)}`);
  return Number(value);
};

const readDomain = (value: string): string => {
  if (!/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/.test(value))
    throw settingFault("GANTRY_SERVICE_DOMAIN", `must be a domain name such as example.com, not ${JSON.stringify(value)}`);
  return value;
};

const readOrigin = (value: string): string => {
  const url = URL.parse(value);
  if (!url || url.origin !== value)
    throw settingFault("GANTRY_CORS_ORIGINS", `must hold origins such as https://console.example.com, not ${JSON.stringify(value)}`);
  return value;
};

/** A name that stands in no address, and where its codes go: "agent=https://agent.example.com/signed-in". */
const readClientEntry = (entry: string): Settings["clients"][number] => {
  const [, id = "", redirectUri = ""] = /^([A-Za-z0-9][A-Za-z0-9._-]{0,63})=(.*)$/.exec(entry) ?? [];
  if (id === "" || !isRedirectAddress(redirectUri))
    throw settingFault("GANTRY_CLIENTS", `must hold entries such as agent=https://agent.example.com/signed-in, not ${JSON.stringify(entry)}`);
  return { id, redirectUri };
};

const readProxies = (value: string | undefined): BlockList => {
  const proxies = new BlockList();
  for (const entry of splitList(value)) {
    const [, address = "", bits] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
    const family = isIP(address);
    const bitsMax = family === 6 ? 128 : 32;
    if (family === 0 || Number(bits ?? bitsMax) > bitsMax) {
      throw settingFault("GANTRY_TRUSTED_PROXIES", `must hold addresses or ranges such as 10.0.0.0/8 or 2001:db8::1, not ${JSON.stringify(entry)}`);
    }
    proxies.addSubnet(address, Number(bits ?? bitsMax), family === 6 ? "ipv6" : "ipv4");
  }
  return proxies;
};

/** The URL by which a client on this machine reaches the listener: one on every address is reached by name. */
const listenerUrl = (host: string, port: number, secure: boolean): string => {
  const everyAddress = host === "0.0.0.0" || host === "::";
  const name = everyAddress ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return `${secure ? "https" : "http"}://${name}:${port}`;
};

/** Seconds before each attempt of a delivery. More than a day in all: a sink may be down for one. */
const readDelays = (value: string = settingTexts.GANTRY_DELIVERY_DELAYS.byDefault): readonly number[] => {
  const delays = splitList(value).map(Number);
  if (delays.length === 0 || delays.length > 50 || delays.some((delay) => !(delay >= 0 && delay <= 7 * 86_400))) {
    throw settingFault(
      "GANTRY_DELIVERY_DELAYS",
      `must be seconds between attempts, separated by commas, such as ${settingTexts.GANTRY_DELIVERY_DELAYS.byDefault}, not ${JSON.stringify(value)}`,
    );
  }
  return delays;
};

const readMonths = (value: string | undefined): number => {
  const months = value === undefined ? limits.auditMonths : Number(value);
  if (!Number.isInteger(months) || months < 1 || months > limits.auditMonthsMax)
    throw settingFault("GANTRY_AUDIT_MONTHS", `must be a number of months from 1 to ${limits.auditMonthsMax}, not ${JSON.stringify(value)}`);
  return months;
};

const readDeletedDays = (value: string | undefined): number => {
  const days = value === undefined ? limits.deletedDays : Number(value);
  if (!Number.isInteger(days) || days < 0 || days > limits.deletedDaysMax)
    throw settingFault("GANTRY_DELETED_DAYS", `must be a number of days from 0 to ${limits.deletedDaysMax}, not ${JSON.stringify(value)}`);
  return days;
};

const readUntaggedDays = (value: string | undefined): number | undefined => {
  if (value === undefined) return undefined;
  const days = Number(value);
  if (!Number.isInteger(days) || days < 1 || days > limits.untaggedDaysMax)
    throw settingFault("GANTRY_REGISTRY_UNTAGGED_DAYS", `must be a number of days from 1 to ${limits.untaggedDaysMax}, not ${JSON.stringify(value)}`);
  return days;
};

const readConnections = (value: string | undefined): number => {
  const connections = value === undefined ? limits.connectionsPerAddress : Number(value);
  if (!Number.isInteger(connections) || connections < 1 || connections > limits.connectionsPerAddressMax) {
    throw settingFault(
      "GANTRY_CONNECTIONS_PER_ADDRESS",
      `must be a number of connections from 1 to ${limits.connectionsPerAddressMax}, not ${JSON.stringify(value)}`,
    );
  }
  return connections;
};

const readLogLevel = (value: string = settingTexts.GANTRY_LOG_LEVEL.byDefault): LogLevel => {
  const level = logLevels.find((each) => each === value);
  if (level === undefined) throw settingFault("GANTRY_LOG_LEVEL", `must be one of ${logLevels.join(", ")}, not ${JSON.stringify(value)}`);
  return level;
};

const readMetrics = (given: Given): Settings["metrics"] => {
  const { GANTRY_METRICS_LISTEN: listen, GANTRY_METRICS_TOKEN_FILE: file } = given;
  if (listen === undefined && file === undefined) return undefined;
  const token = file === undefined ? undefined : readSettingFile("GANTRY_METRICS_TOKEN_FILE", file).trim();
  if (token !== undefined && !(token.length >= limits.metricsTokenLengthMin && /^[!-~]+$/.test(token)))
    throw settingFault(
      "GANTRY_METRICS_TOKEN_FILE",
      `must hold one token of at least ${limits.metricsTokenLengthMin} characters without blanks (make one with: openssl rand -base64 24)`,
    );
  return { listen: listen === undefined ? undefined : readListen(listen, "GANTRY_METRICS_LISTEN"), token };
};

const readTraces = (given: Given): TracesSettings | undefined => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: whole, OTEL_EXPORTER_OTLP_PROTOCOL: protocol = "http/protobuf" } = given;
  const name = given.OTEL_TRACES_SAMPLER ?? settingTexts.OTEL_TRACES_SAMPLER.byDefault;
  const share = Number(given.OTEL_TRACES_SAMPLER_ARG ?? "1");
  const perSecond = Number(given.GANTRY_TRACES_PER_SECOND ?? limits.tracesPerSecond);
  const url = whole
    ? readHttpUrl("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", whole)
    : base && `${withoutTrailing(readHttpUrl("OTEL_EXPORTER_OTLP_ENDPOINT", base), "/")}/v1/traces`;
  // The variables of OpenTelemetry may be there for others; without an endpoint nobody asks us to trace.
  if (!url) return undefined;
  if (protocol !== "http/protobuf")
    throw settingFault("OTEL_EXPORTER_OTLP_PROTOCOL", `must be http/protobuf, which collectors take on port 4318, not ${JSON.stringify(protocol)}`);
  const sampler = samplerNames.find((each) => each === name);
  if (sampler === undefined) throw settingFault("OTEL_TRACES_SAMPLER", `must be one of ${samplerNames.join(", ")}, not ${JSON.stringify(name)}`);
  if (!(share >= 0 && share <= 1))
    throw settingFault("OTEL_TRACES_SAMPLER_ARG", `must be a share from 0 to 1, not ${JSON.stringify(given.OTEL_TRACES_SAMPLER_ARG)}`);
  if (!Number.isInteger(perSecond) || perSecond < 1 || perSecond > limits.tracesPerSecondMax)
    throw settingFault(
      "GANTRY_TRACES_PER_SECOND",
      `must be a number from 1 to ${limits.tracesPerSecondMax}, not ${JSON.stringify(given.GANTRY_TRACES_PER_SECOND)}`,
    );
  return { url, sampler, share, perSecond };
};

const publisherCategories = ["coordinator", "discoverer", "other", "user", "vendor"];

/** By default the server's own address says who publishes. */
const readPublisher = (given: Given, publicUrl: string): Settings["publisher"] => {
  const category = given.GANTRY_PUBLISHER_CATEGORY ?? settingTexts.GANTRY_PUBLISHER_CATEGORY.byDefault;
  if (!publisherCategories.includes(category))
    throw settingFault("GANTRY_PUBLISHER_CATEGORY", `must be one of ${publisherCategories.join(", ")}, not ${JSON.stringify(category)}`);
  const { GANTRY_PUBLISHER_NAMESPACE: namespace } = given;
  return {
    category,
    name: given.GANTRY_PUBLISHER_NAME ?? new URL(publicUrl).host,
    namespace: namespace ? readHttpUrl("GANTRY_PUBLISHER_NAMESPACE", namespace) : new URL(publicUrl).origin,
    contact: given.GANTRY_PUBLISHER_CONTACT ?? "",
  };
};

/** RFC 9116, 2.5.3: addresses of mail, of telephones, and https alone of pages. */
const contactForm = /^(?:mailto:[^\s@]+@[^\s@]+|tel:[+0-9().-]+|https:\/\/\S+)$/;

const readSecurityContact = (given: Given): Settings["securityContact"] => {
  const contacts = splitList(given.GANTRY_SECURITY_CONTACT);
  const wrong = contacts.find((contact) => !contactForm.test(contact));
  if (wrong !== undefined)
    throw settingFault("GANTRY_SECURITY_CONTACT", `must hold addresses such as mailto:security@example.com or https://…, not ${JSON.stringify(wrong)}`);
  const expires = given.GANTRY_SECURITY_EXPIRES;
  const expiresMs = expires === undefined ? undefined : readTimestamp(expires);
  if (expires !== undefined && expiresMs === undefined)
    throw settingFault("GANTRY_SECURITY_EXPIRES", `must be a time such as 2027-06-30T00:00:00Z, not ${JSON.stringify(expires)}`);
  return { contacts, expiresMs };
};

const publicUrlOf = (given: Given): string => {
  if (given.GANTRY_PUBLIC_URL) return readHttpUrl("GANTRY_PUBLIC_URL", given.GANTRY_PUBLIC_URL);
  const { host, port } = readListen(given.GANTRY_LISTEN);
  return listenerUrl(host, port, given.GANTRY_TLS_CERT !== undefined);
};

/** The address under which clients know the server: all that a command needs which is a client itself. */
export const readPublicUrl = (environment: Environment): string => publicUrlOf(readGiven(environment));

const databaseSettingsOf = (given: Given): DatabaseSettings => {
  const { DATABASE_URL: databaseUrl, GANTRY_MIGRATE_URL: migrateUrl, GANTRY_READ_REPLICA_URL: readReplicaUrl } = given;
  if (migrateUrl !== undefined && databaseUrl === undefined)
    throw settingFault("GANTRY_MIGRATE_URL", "is for a database of your own: set DATABASE_URL, the connection that the server works with, too");
  if (readReplicaUrl !== undefined && databaseUrl === undefined)
    throw settingFault("GANTRY_READ_REPLICA_URL", "is for a database of your own: set DATABASE_URL, whose standby it is, too");
  return {
    dataDirectory: resolve(given.GANTRY_DATA ?? settingTexts.GANTRY_DATA.byDefault),
    databaseUrl,
    migrateUrl,
    readReplicaUrl,
    auditMonths: readMonths(given.GANTRY_AUDIT_MONTHS),
  };
};

/** All that a command needs which works in the database alone. Throws a Fault of one line. */
export const readDatabaseSettings = (environment: Environment): DatabaseSettings => databaseSettingsOf(readGiven(environment));

/** Reads every GANTRY_ variable and DATABASE_URL. Throws a Fault of one line, also for a name that is none. */
export const readSettings = (environment: Environment): Settings => {
  const given = readGiven(environment);
  const { host, port } = readListen(given.GANTRY_LISTEN);
  const { GANTRY_TLS_CERT: cert, GANTRY_TLS_KEY: key, GANTRY_SECRET_KEY_FILE: secretKeyFile } = given;
  if ((cert === undefined) !== (key === undefined))
    throw settingFault(cert ? "GANTRY_TLS_KEY" : "GANTRY_TLS_CERT", "is missing: TLS needs both the certificate and its key");
  const database = databaseSettingsOf(given);
  const { GANTRY_TERMS_FILE: termsFile, GANTRY_AWS_STS_URL: awsStsUrl } = given;
  if (database.databaseUrl && !secretKeyFile) {
    throw settingFault(
      "GANTRY_SECRET_KEY_FILE",
      "is missing: with DATABASE_URL every server must be given the same key (make one with: openssl rand -base64 32)",
    );
  }
  const publicUrl = publicUrlOf(given);
  const deliveryDelaysSeconds = readDelays(given.GANTRY_DELIVERY_DELAYS);
  return {
    ...database,
    host,
    port,
    publicUrl,
    publisher: readPublisher(given, publicUrl),
    securityContact: readSecurityContact(given),
    serviceDomain: readDomain(given.GANTRY_SERVICE_DOMAIN ?? settingTexts.GANTRY_SERVICE_DOMAIN.byDefault),
    tls: cert && key ? readTls({ certFile: resolve(cert), keyFile: resolve(key) }) : undefined,
    egressAllow: given.GANTRY_EGRESS_ALLOW ?? "",
    caFile: readCaFile(given.GANTRY_CA_FILE),
    issuerHosts: given.GANTRY_ISSUER_HOSTS ?? "",
    mailIssuers: given.GANTRY_MAIL_ISSUERS ?? "",
    secretKeyFile,
    audiences: splitList(given.GANTRY_AUDIENCES),
    corsOrigins: splitList(given.GANTRY_CORS_ORIGINS).map(readOrigin),
    clients: splitList(given.GANTRY_CLIENTS).map(readClientEntry),
    trustedProxies: readProxies(given.GANTRY_TRUSTED_PROXIES),
    connectionsPerAddress: readConnections(given.GANTRY_CONNECTIONS_PER_ADDRESS),
    terms: termsFile === undefined ? defaultTerms : readTermsFile(readSettingFile("GANTRY_TERMS_FILE", termsFile)),
    openOrganizations: readFlag("GANTRY_OPEN_ORGANIZATIONS", given.GANTRY_OPEN_ORGANIZATIONS),
    feedsFile: given.GANTRY_FEEDS,
    auditTargetsFile: given.GANTRY_AUDIT_TARGETS,
    awsStsUrl: awsStsUrl === undefined ? undefined : readHttpUrl("GANTRY_AWS_STS_URL", awsStsUrl),
    deliveryDelaysSeconds,
    periods: readPeriods(given, deliveryDelaysSeconds),
    blobs: readBlobsSetting(given.GANTRY_BLOBS, database.dataDirectory),
    blobsRedirect: readFlag("GANTRY_BLOBS_REDIRECT", given.GANTRY_BLOBS_REDIRECT),
    anonymousPull: readFlag("GANTRY_ANONYMOUS_PULL", given.GANTRY_ANONYMOUS_PULL),
    untaggedDays: readUntaggedDays(given.GANTRY_REGISTRY_UNTAGGED_DAYS),
    deletedDays: readDeletedDays(given.GANTRY_DELETED_DAYS),
    traces: readTraces(given),
    logsRequests: readFlag("GANTRY_REQUEST_LOG", given.GANTRY_REQUEST_LOG),
    freeMailDomains: splitList(given.GANTRY_FREE_MAIL_DOMAINS).map((domain) => domain.toLowerCase()),
    listMax: readListMax(given.GANTRY_V1_LIST_MAX),
    logLevel: readLogLevel(given.GANTRY_LOG_LEVEL),
    metrics: readMetrics(given),
  };
};
