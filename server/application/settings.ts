// Reads the environment into typed settings. Every setting has a working default; an invalid value stops the start with one line
// that names the variable (decisions: Command line).

import { BlockList, isIP } from "node:net";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { type BlobsSetting, readBlobsSetting } from "#base/blobs-setting.ts";
import { limits } from "#base/limits.ts";
import type { TracesSettings } from "#calls";
import type { LogLevel } from "#base/log-events.ts";
import { isRedirectAddress } from "#base/redirect-address.ts";
import type { CsafOptions } from "#advisories/feeds";
import type { TermsSettings } from "#kernel";
import type { Tuning } from "#postgres";
import type { RetentionPeriods } from "#base/retention-periods.ts";
import { type Certificate, type CertificateFiles, readCertificate } from "./certificate.ts";
import { type MetricsSettings, readLogLevel, readMetrics, readTraces } from "./monitoring-settings.ts";
import { readMachine, readTuning, tuningFor } from "./postgres-tuning.ts";
import { readPublisher, readSecurityContact } from "./publishing-settings.ts";
import { type Environment, settingTexts } from "./setting-names.ts";
import { type Given, readFlag, readGiven, readHttpUrl, readListen, readSettingFile, readWholeNumber, settingFault, splitList } from "./setting-values.ts";
import { readPeriods } from "./retention-settings.ts";
import { defaultTerms, readTermsFile } from "./terms-file.ts";
import { readCaFile } from "./trusted-authorities.ts";

export interface DatabaseSettings {
  readonly dataDirectory: string;
  readonly databaseUrl: string | undefined;
  /** Of the embedded PostgreSQL; undefined: as on a small machine. */
  readonly tuning?: Tuning | undefined;
  /** The database owner's; undefined: DATABASE_URL. */
  readonly migrateUrl: string | undefined;
  /** A standby for list requests; undefined if none. */
  readonly readReplicaUrl?: string | undefined;
  /** Includes the current month. */
  readonly auditMonths: number;
}

export interface Settings extends DatabaseSettings {
  readonly host: string;
  readonly port: number;
  /** GANTRY_WORKERS: number of serving processes. */
  readonly workers: number;
  readonly publicUrl: string;
  readonly serviceDomain: string;
  readonly tls: (Certificate & CertificateFiles) | undefined;
  readonly egressAllow: string;
  /** GANTRY_CA_FILE: absolute path of a readable file. */
  readonly caFile: string | undefined;
  readonly issuerHosts: string;
  readonly mailIssuers: string;
  readonly secretKeyFile: string | undefined;
  readonly audiences: readonly string[];
  readonly corsOrigins: readonly string[];
  /** GANTRY_REDIRECT_URIS: the operator's pages that get authorization codes. */
  readonly redirectUris: readonly string[];
  /** GANTRY_CLIENTS: clients of the authorization code grant, one entry per redirect URI. */
  readonly clients: readonly { readonly id: string; readonly redirectUri: string }[];
  /** GANTRY_CONSOLE: serve the console. */
  readonly servesConsole: boolean;
  /** Their X-Forwarded-For is trusted. */
  readonly trustedProxies: BlockList;
  readonly connectionsPerAddress: number;
  readonly openOrganizations: boolean;
  /** GANTRY_FEEDS: file of scheduled imports. */
  readonly feedsFile: string | undefined;
  readonly feedStaleHours: number;
  /** GANTRY_AUDIT_TARGETS: file of audit targets. */
  readonly auditTargetsFile: string | undefined;
  readonly terms: TermsSettings;
  /** Endpoint for signed AWS requests; undefined: the signed host. */
  readonly awsStsUrl: string | undefined;
  /** GANTRY_DELIVERY_DELAYS: seconds before each delivery attempt. */
  readonly deliveryDelaysSeconds: readonly number[];
  /** Without the audit log's. */
  readonly periods: RetentionPeriods;
  readonly publisher: CsafOptions["feed"]["publisher"];
  readonly securityContact: CsafOptions["security"];
  /** Additional public mail domains, which belong to no company. */
  readonly freeMailDomains: readonly string[];
  /** For list responses of version 1. */
  readonly listMax: number;
  /** GANTRY_BLOBS: location of blobs. */
  readonly blobs: BlobsSetting;
  /** GANTRY_BLOBS_REDIRECT: redirect pulls to the storage, if it has URLs. */
  readonly blobsRedirect: boolean;
  /** GANTRY_ANONYMOUS_PULL: allow anonymous pulls from all repositories. */
  readonly anonymousPull: boolean;
  /** GANTRY_REGISTRY_UNTAGGED_DAYS: delete untagged manifests unused for this long; undefined: never. */
  readonly untaggedDays: number | undefined;
  /** 0: deleted resources cannot be restored. */
  readonly deletedDays: number;
  readonly logLevel: LogLevel;
  /** GANTRY_REQUEST_LOG: log one line per request. */
  readonly logsRequests: boolean;
  /** Tracing; undefined: off. */
  readonly traces: TracesSettings | undefined;
  /** Metrics; undefined: off. */
  readonly metrics: MetricsSettings | undefined;
}

const readTls = (files: CertificateFiles): Certificate & CertificateFiles => ({ ...files, ...readCertificate(files) });

const readWorkers = (given: Given): number => {
  if (given.GANTRY_WORKERS === "auto") return Math.min(availableParallelism(), limits.workersMax);
  return readWholeNumber(given, "GANTRY_WORKERS", 1, limits.workersMax, "processes") ?? 1;
};

const readDomain = (value: string): string => {
  if (!/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/.test(value))
    throw settingFault("GANTRY_SERVICE_DOMAIN", `must be a domain name such as example.com, not ${JSON.stringify(value)}`);
  return value;
};

const readOrigin = (value: string): string => {
  const url = URL.parse(value);
  if (!url || url.origin !== value)
    throw settingFault("GANTRY_CORS_ORIGINS", `must contain origins such as https://console.example.com, not ${JSON.stringify(value)}`);
  return value;
};

/** "agent=https://agent.example.com/signed-in" */
const readClientEntry = (entry: string): Settings["clients"][number] => {
  const [, id = "", redirectUri = ""] = /^([A-Za-z0-9][A-Za-z0-9._-]{0,63})=(.*)$/.exec(entry) ?? [];
  if (id === "" || !isRedirectAddress(redirectUri))
    throw settingFault("GANTRY_CLIENTS", `must contain entries such as agent=https://agent.example.com/signed-in, not ${JSON.stringify(entry)}`);
  return { id, redirectUri };
};

const readRedirectUri = (value: string): string => {
  const isPage = /^https?:/.test(value) && isRedirectAddress(value);
  if (!isPage)
    throw settingFault(
      "GANTRY_REDIRECT_URIS",
      `must be a list of whole addresses of pages, such as https://console.example.com/signed-in, without a fragment, not ${JSON.stringify(value)}`,
    );
  return value;
};

const readProxies = (value: string | undefined): BlockList => {
  const proxies = new BlockList();
  for (const entry of splitList(value)) {
    const [, address = "", bits] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
    const family = isIP(address);
    const bitsMax = family === 6 ? 128 : 32;
    if (family === 0 || Number(bits ?? bitsMax) > bitsMax) {
      throw settingFault("GANTRY_TRUSTED_PROXIES", `must contain addresses or ranges such as 10.0.0.0/8 or 2001:db8::1, not ${JSON.stringify(entry)}`);
    }
    proxies.addSubnet(address, Number(bits ?? bitsMax), family === 6 ? "ipv6" : "ipv4");
  }
  return proxies;
};

const listenerUrl = (host: string, port: number, secure: boolean): string => {
  const everyAddress = host === "0.0.0.0" || host === "::";
  const name = everyAddress ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return `${secure ? "https" : "http"}://${name}:${port}`;
};

/** The default spans more than a day, because a receiver may be down for one. */
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

const publicUrlOf = (given: Given): string => {
  if (given.GANTRY_PUBLIC_URL) return readHttpUrl("GANTRY_PUBLIC_URL", given.GANTRY_PUBLIC_URL);
  const { host, port } = readListen(given.GANTRY_LISTEN);
  return listenerUrl(host, port, given.GANTRY_TLS_CERT !== undefined);
};

/** Returns the server's public URL: all that client commands need. */
export const readPublicUrl = (environment: Environment): string => publicUrlOf(readGiven(environment));

const tuningOf = ({ GANTRY_POSTGRES_SETTINGS: entries, DATABASE_URL: databaseUrl }: Given, dataDirectory: string): Tuning => {
  if (entries !== undefined && databaseUrl !== undefined)
    throw settingFault("GANTRY_POSTGRES_SETTINGS", "applies to the embedded PostgreSQL only. For DATABASE_URL, set the parameters in that database");
  try {
    return { ...tuningFor(readMachine(dataDirectory)), ...readTuning(splitList(entries)) };
  } catch (error) {
    throw settingFault("GANTRY_POSTGRES_SETTINGS", error instanceof Error ? error.message : String(error));
  }
};

const databaseSettingsOf = (given: Given): DatabaseSettings => {
  const { DATABASE_URL: databaseUrl, GANTRY_MIGRATE_URL: migrateUrl, GANTRY_READ_REPLICA_URL: readReplicaUrl } = given;
  if (migrateUrl !== undefined && databaseUrl === undefined)
    throw settingFault("GANTRY_MIGRATE_URL", "requires DATABASE_URL, the connection that the server uses");
  if (readReplicaUrl !== undefined && databaseUrl === undefined)
    throw settingFault("GANTRY_READ_REPLICA_URL", "requires DATABASE_URL, the primary of this replica");
  const dataDirectory = resolve(given.GANTRY_DATA ?? settingTexts.GANTRY_DATA.byDefault);
  return {
    dataDirectory,
    tuning: tuningOf(given, dataDirectory),
    databaseUrl,
    migrateUrl,
    readReplicaUrl,
    auditMonths: readWholeNumber(given, "GANTRY_AUDIT_MONTHS", 1, limits.auditMonthsMax, "months") ?? limits.auditMonths,
  };
};

/** Reads the settings of commands that use only the database. Throws a one-line Fault. */
export const readDatabaseSettings = (environment: Environment): DatabaseSettings => databaseSettingsOf(readGiven(environment));

/** Reads every GANTRY_ variable and DATABASE_URL. Throws a one-line Fault, also for an unknown name. */
export const readSettings = (environment: Environment): Settings => {
  const given = readGiven(environment);
  const { host, port } = readListen(given.GANTRY_LISTEN);
  const { GANTRY_TLS_CERT: cert, GANTRY_TLS_KEY: key, GANTRY_SECRET_KEY_FILE: secretKeyFile } = given;
  if ((cert === undefined) !== (key === undefined))
    throw settingFault(cert ? "GANTRY_TLS_KEY" : "GANTRY_TLS_CERT", "is required: TLS needs a certificate and its key");
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
    workers: readWorkers(given),
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
    redirectUris: splitList(given.GANTRY_REDIRECT_URIS).map(readRedirectUri),
    clients: splitList(given.GANTRY_CLIENTS).map(readClientEntry),
    servesConsole: given.GANTRY_CONSOLE === undefined || readFlag("GANTRY_CONSOLE", given.GANTRY_CONSOLE),
    trustedProxies: readProxies(given.GANTRY_TRUSTED_PROXIES),
    connectionsPerAddress:
      readWholeNumber(given, "GANTRY_CONNECTIONS_PER_ADDRESS", 1, limits.connectionsPerAddressMax, "connections") ?? limits.connectionsPerAddress,
    terms: termsFile === undefined ? defaultTerms : readTermsFile(readSettingFile("GANTRY_TERMS_FILE", termsFile)),
    openOrganizations: readFlag("GANTRY_OPEN_ORGANIZATIONS", given.GANTRY_OPEN_ORGANIZATIONS),
    feedsFile: given.GANTRY_FEEDS,
    feedStaleHours: readWholeNumber(given, "GANTRY_FEED_STALE_HOURS", 1, limits.feedStaleHoursMax, "hours") ?? limits.feedStaleMs / 3_600_000,
    auditTargetsFile: given.GANTRY_AUDIT_TARGETS,
    awsStsUrl: awsStsUrl === undefined ? undefined : readHttpUrl("GANTRY_AWS_STS_URL", awsStsUrl),
    deliveryDelaysSeconds,
    periods: readPeriods(given, deliveryDelaysSeconds),
    blobs: readBlobsSetting(given.GANTRY_BLOBS, database.dataDirectory),
    blobsRedirect: readFlag("GANTRY_BLOBS_REDIRECT", given.GANTRY_BLOBS_REDIRECT),
    anonymousPull: readFlag("GANTRY_ANONYMOUS_PULL", given.GANTRY_ANONYMOUS_PULL),
    untaggedDays: readWholeNumber(given, "GANTRY_REGISTRY_UNTAGGED_DAYS", 1, limits.untaggedDaysMax, "days"),
    deletedDays: readWholeNumber(given, "GANTRY_DELETED_DAYS", 0, limits.deletedDaysMax, "days") ?? limits.deletedDays,
    traces: readTraces(given),
    logsRequests: readFlag("GANTRY_REQUEST_LOG", given.GANTRY_REQUEST_LOG),
    freeMailDomains: splitList(given.GANTRY_FREE_MAIL_DOMAINS).map((domain) => domain.toLowerCase()),
    listMax: readWholeNumber(given, "GANTRY_V1_LIST_MAX", 1, 9_999_999) ?? limits.unpagedListMax,
    logLevel: readLogLevel(given.GANTRY_LOG_LEVEL),
    metrics: readMetrics(given),
  };
};
