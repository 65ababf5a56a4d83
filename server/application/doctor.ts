// Checks an installation for `gantry doctor` and suggests remedies. Changes nothing, with or without a running server. A check is
// skipped if one that it depends on failed.

import { access, constants, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkIssuer } from "#authn";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { timestamp } from "#base/time.ts";
import { type AuditTarget, readTargetsFile } from "#audit/targets";
import { databaseUrlOf, type EmbeddedPostgres, startEmbedded } from "#postgres";
import { countPendingBindings, findNameProblems, listProviderIssuers, type NameProblem } from "#iam/store";
import { findBlobPlace, findSwappedCharts } from "#registry/store";
import { findTargets } from "#audit/store";
import { findStaleFeeds, findTroubledFeeds } from "#advisories/store";
import { type MigrationState, readDatabaseTime, readHosts, readHostStates, readMigrationState } from "#db";
import { type Application, openApplication } from "./application.ts";
import { checkBlobPlace } from "./blob-place.ts";
import { type CertificateFiles, certificateFacts, readCertificate } from "./certificate.ts";
import { clockProblem, descriptorProblem } from "./machine.ts";
import { plaintextWarnings } from "./plaintext.ts";
import type { Settings } from "./settings.ts";
import { readAuthorities } from "./trusted-authorities.ts";

export interface Finding {
  readonly is: "good" | "unsure" | "bad";
  readonly subject: string;
  readonly says: string;
  readonly remedy?: string;
}

export interface DoctorOptions {
  readonly settings: Settings;
  readonly log: Log;
  readonly progress: (line: string) => void;
}

const textOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause === undefined ? thrown.message : textOf(thrown.cause);
};

const nearestFolder = async (path: string): Promise<string> => {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  return isThere || dirname(path) === path ? path : nearestFolder(dirname(path));
};

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;

/** Checks the directory, or its nearest existing parent. */
const examineFolder = async (variable: string, path: string): Promise<Finding> => {
  const subject = "disk";
  try {
    const folder = await nearestFolder(path);
    await access(folder, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = await statfs(folder);
    if (bsize === 0 || bavail * bsize < limits.blobSpaceLeftBytes)
      return {
        is: "bad",
        subject,
        says: `${path}: ${gigabytes(bavail * bsize)} free; pushes and imports are refused below ${gigabytes(limits.blobSpaceLeftBytes)}`,
        remedy: `free disk space there, or set ${variable} to another directory`,
      };
    return { is: "good", subject, says: `${path}: ${gigabytes(bavail * bsize)} free` };
  } catch (thrown) {
    return {
      is: "bad",
      subject,
      says: `${path}: ${textOf(thrown)}`,
      remedy: `make it writable for the user that runs Gantry, or set ${variable} to another directory`,
    };
  }
};

const renewalMs = 30 * 86_400_000;

const examineAuthorities = (file: string): Finding => {
  const subject = "ca";
  const remedy = "replace it in GANTRY_CA_FILE: after that, connections to servers with its certificates fail. A running server reloads the file";
  try {
    const authorities = readAuthorities(file);
    const [first] = authorities.toSorted((one, other) => Date.parse(one.validTo) - Date.parse(other.validTo));
    const endMs = Date.parse(first?.validTo ?? "");
    const says = `${file}: ${authorities.length} in addition to the public ones; the first expires ${new Date(endMs).toISOString().slice(0, 10)}`;
    if (endMs > Date.now() + renewalMs) return { is: "good", subject, says };
    return { is: endMs > Date.now() ? "unsure" : "bad", subject, says: `${says}: ${(first?.subject ?? "").replaceAll("\n", ", ")}`, remedy };
  } catch (thrown) {
    return { is: "bad", subject, says: textOf(thrown), remedy };
  }
};

const examineCertificate = (files: CertificateFiles): Finding => {
  const subject = "tls";
  const remedy = "renew the files of GANTRY_TLS_CERT and GANTRY_TLS_KEY; a running server reads them again";
  try {
    const { names, expires } = certificateFacts(readCertificate(files));
    const says = `${files.certFile}: for ${names}, until ${expires.slice(0, 10)}`;
    const leftMs = Date.parse(expires) - Date.now();
    if (leftMs > renewalMs) return { is: "good", subject, says };
    return { is: leftMs > 0 ? "unsure" : "bad", subject, says, remedy };
  } catch (thrown) {
    return { is: "bad", subject, says: textOf(thrown), remedy };
  }
};

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

const migrationFinding = ({ serverVersion, last, missing }: MigrationState): Finding => {
  const subject = "database";
  if (missing.length === 0) return { is: "good", subject, says: `PostgreSQL ${serverVersion}, at ${last ?? "no migration"}` };
  return {
    is: "unsure",
    subject,
    says: `PostgreSQL ${serverVersion}, lacks ${missing.length} migrations from ${missing[0]} on`,
    remedy: "the next start of the server runs them. If its role lacks the permission, run gantry admin migrate",
  };
};

const examineClock = async ({ services: { store, clock } }: Application): Promise<Finding> => {
  const before = clock();
  const database = await readDatabaseTime(store.read);
  const aheadMs = (before + clock()) / 2 - database;
  const problem = clockProblem(aheadMs);
  if (problem === undefined)
    return { is: "good", subject: "clock", says: `${(Math.abs(aheadMs) / 1000).toFixed(1)} s between this machine and the database's` };
  return { is: "bad", subject: "clock", says: problem, remedy: "set both by NTP: tokens of one server are refused at another" };
};

const examineBlobs = async ({ services: { store, blobs } }: Application): Promise<Finding> => {
  const subject = "blobs";
  try {
    const known = await findBlobPlace(store.read);
    const late = AbortSignal.timeout(limits.probeAnswerMs);
    // A dead network file system does not notice the signal.
    const silence = new Promise<never>((_, reject) => late.addEventListener("abort", () => reject(new Error("it does not respond"))));
    await Promise.race([checkBlobPlace(blobs, known, late), silence]);
    return { is: "good", subject, says: "the blob storage responds" };
  } catch (thrown) {
    return {
      is: "bad",
      subject,
      says: `GANTRY_BLOBS: ${textOf(thrown)}`,
      remedy: "pushes and pulls of layers fail until it responds; everything else works",
    };
  }
};

/** Returns undefined for anything but a Gantry server. */
const fetchPublishedKeys = async (publicUrl: string): Promise<unknown> => {
  const answer = await fetch(`${publicUrl}/.well-known/jwks.json`, { redirect: "manual", signal: AbortSignal.timeout(limits.outboundConnectMs) });
  // Without JSON there is nothing to compare.
  return answer.ok ? answer.json().catch(() => undefined) : undefined;
};

const examineAddress = async ({ publicUrl }: Settings, own: unknown): Promise<Finding> => {
  const subject = "address";
  let keys: unknown;
  try {
    keys = await fetchPublishedKeys(publicUrl);
  } catch (thrown) {
    return {
      is: "unsure",
      subject,
      says: `${publicUrl} is not reachable from here: ${textOf(thrown)}`,
      remedy: "start the server; where it runs, GANTRY_PUBLIC_URL must lead to it, through the proxy or load balancer before it",
    };
  }
  if (JSON.stringify(keys) !== JSON.stringify(own))
    return {
      is: "bad",
      subject,
      says: `${publicUrl} is another server`,
      remedy: "set GANTRY_PUBLIC_URL to the address of this one: tokens name it as their issuer",
    };
  return { is: "good", subject, says: `${publicUrl} leads to this server` };
};

const issuersMax = 50;

async function* examineIssuers({ services: { store, authn } }: Application): AsyncGenerator<Finding> {
  const subject = "issuer";
  for (const { issuer, organization } of await listProviderIssuers(store.read, issuersMax)) {
    try {
      await checkIssuer(authn.outbound, issuer, organization);
      yield { is: "good", subject, says: `${issuer} gives its keys` };
    } catch (thrown) {
      yield {
        is: "bad",
        subject,
        says: `${issuer}: ${textOf(thrown)}`,
        remedy:
          "users cannot sign in through it: it must be reachable from this server. Add private addresses to GANTRY_EGRESS_ALLOW, " +
          "a private certificate authority in GANTRY_CA_FILE",
      };
    }
  }
}

const nameFinding = ({ kind, parent, names, uids, verified }: NameProblem): Finding => {
  const subject = "names";
  const [first = ""] = names;
  const what = parent === "" ? "organizations" : `groups in ${parent}`;
  const rename = "rename all but one as the operator (gantry iam groups update)";
  if (kind === "reserved")
    return {
      is: "bad",
      subject,
      says: `${uids[0]} is named ${first}, which is reserved for ${uids[1]}; paths that begin with it lead to no repository`,
      remedy: `rename the organization, or release the name: gantry admin names release ${JSON.stringify(first)}`,
    };
  if (kind === "similar")
    return {
      is: "unsure",
      subject,
      says: `${what} have names that look the same: ${names.map((name, index) => `${name} (${uids[index]})`).join(", ")}`,
      remedy: rename,
    };
  const leads = verified > 0 ? "paths lead to the verified one" : "paths with it lead to no repository";
  return { is: "bad", subject, says: `${uids.length} ${what} are named ${first}; ${leads}: ${uids.join(", ")}`, remedy: rename };
};

/** Duplicates from before names were unique. */
async function* examineNames({ services: { store } }: Application): AsyncGenerator<Finding> {
  const problems = await findNameProblems(store.read, limits.nameProblemsMax);
  if (problems.length === 0) yield { is: "good", subject: "names", says: "organization and group names are unique" };
  for (const each of problems) yield nameFinding(each);
}

async function* examineAuditTargets({ services: { store, clock } }: Application, file: string): AsyncGenerator<Finding> {
  const subject = "audit";
  let targets: readonly AuditTarget[];
  try {
    targets = await readTargetsFile(file);
  } catch (thrown) {
    yield { is: "bad", subject, says: textOf(thrown), remedy: "mend the file: the server does not start with it" };
    return;
  }
  const nowMs = clock();
  const found = await findTargets(
    store.read,
    targets.map(({ name }) => name),
    timestamp(nowMs),
  );
  const states = new Map(found.map((state) => [state.name, state]));
  for (const { name } of targets) {
    const state = states.get(name);
    const missed = state?.missedMonth ? `; entries up to ${state.missedMonth} were deleted before they arrived` : "";
    if (!state) yield { is: "unsure", subject, says: `${name}: no server has sent to it yet`, remedy: "start the server with this GANTRY_AUDIT_TARGETS" };
    else if (state.failures > 0)
      yield {
        is: "bad",
        subject,
        says: `${name}: has failed ${state.failures} times since ${state.failedSince}: ${state.problem}${missed}`,
        remedy: `fix it: delivery resumes in order. Entries older than GANTRY_AUDIT_MONTHS are kept ${limits.auditHeldMonths} months longer for it`,
      };
    else if (state.waitingSinceMs !== undefined && nowMs - state.waitingSinceMs > limits.auditBehindMs)
      yield {
        is: "bad",
        subject,
        says: `${name}: has not received entries sealed since ${timestamp(state.waitingSinceMs)}${missed}`,
        remedy: "it accepts entries more slowly than they arrive, or no server sends to it",
      };
    else yield { is: missed === "" ? "good" : "unsure", subject, says: `${name}: ${state.sent} entries arrived${missed}` };
  }
}

/** Pending role bindings (docs/decisions/0067), such as those from before an upgrade. */
async function* examineMemberships({ services: { store } }: Application): AsyncGenerator<Finding> {
  const { bindings, users, organizations } = await countPendingBindings(store.read);
  if (bindings === 0) return;
  yield {
    is: "good",
    subject: "pending",
    says:
      `${bindings} role bindings of ${users} users in ${organizations} organizations grant nothing until the user accepts membership ` +
      "(gantry iam memberships accept) or signs in through the organization's identity provider",
  };
}

const feedsMax = 20;

async function* examineFeeds({ services: { store, clock, feedStaleMs } }: Application): AsyncGenerator<Finding> {
  for (const { kind, sourceName, successTime } of await findStaleFeeds(store.read, clock(), feedStaleMs, feedsMax)) {
    yield {
      is: "unsure",
      subject: "stale",
      says: `${kind} of ${sourceName}: ${successTime === "" ? "no run has imported everything yet" : `last success ${successTime}`}`,
      remedy: "import the source again; gantry import --stale-after and staleAfter in GANTRY_FEEDS set how long a source is up to date",
    };
  }
  for (const { kind, sourceName, state, detail } of await findTroubledFeeds(store.read, feedsMax)) {
    const isHeld = state === "FEED_STATE_HELD";
    yield {
      // A source imported once, long ago, is no fault of the installation.
      is: "unsure",
      subject: "feed",
      says: `${kind} of ${sourceName}: ${isHeld ? "held back" : "failed"}: ${detail.replaceAll("\n", "; ")}`,
      remedy: isHeld
        ? "check the source; if it is right, import it once with --allow-withdrawals or --allow-older; gantry import undo reverts its last import"
        : "check the address and the network. Earlier imports stay",
    };
  }
}

const swappedChartsMax = 20;

/** Charts from before 0076, when `source` and `repo` had swapped field numbers. */
async function* examineCharts({ services: { store } }: Application): AsyncGenerator<Finding> {
  const repos = await findSwappedCharts(store.read, swappedChartsMax + 1);
  if (repos.length === 0) return;
  const shown = repos.slice(0, swappedChartsMax).join(", ");
  yield {
    is: "unsure",
    subject: "charts",
    says: `\`source\` and \`repo\` of charts may be swapped if an earlier version got them over gRPC: ${shown}${repos.length > swappedChartsMax ? ", …" : ""}`,
    remedy: "compare the deployment of each repo with the chart that it means, and send it again (UpdateDeployment), as it is or corrected",
  };
}

async function* examineApplication(application: Application, settings: Settings): AsyncGenerator<Finding> {
  yield { is: "good", subject: "key", says: "decrypts the encrypted values in the database" };
  yield await examineClock(application);
  yield await examineBlobs(application);
  yield* examineMemberships(application);
  yield await examineAddress(settings, await application.services.authn.keys());
  yield* examineIssuers(application);
  yield* examineNames(application);
  yield* examineFeeds(application);
  yield* examineCharts(application);
  if (settings.auditTargetsFile !== undefined) yield* examineAuditTargets(application, settings.auditTargetsFile);
}

/** Creates and migrates nothing. */
const examineDatabase = async ({ settings, log, progress }: DoctorOptions): Promise<{ readonly finding: Finding; readonly isCurrent: boolean }> => {
  const { databaseUrl, dataDirectory, tuning } = settings;
  const isEmbedded = databaseUrl === undefined;
  if (isEmbedded && !(await exists(join(dataDirectory, "postgres"))))
    return { finding: { is: "good", subject: "database", says: `none in ${dataDirectory} yet. The first start creates it` }, isCurrent: false };
  let embedded: EmbeddedPostgres | undefined;
  try {
    embedded = isEmbedded ? await startEmbedded({ dataDirectory, tuning, log, progress, join: true }) : undefined;
    const state = await readMigrationState(embedded ? databaseUrlOf(embedded.ownerAddress) : (databaseUrl ?? ""));
    return { finding: migrationFinding(state), isCurrent: state.missing.length === 0 };
  } catch (thrown) {
    const remedy = isEmbedded ? "fix the file, or restore the data directory from its backup" : "DATABASE_URL must lead to a database that lets this role in";
    return { finding: { is: "bad", subject: "database", says: textOf(thrown), remedy }, isCurrent: false };
  } finally {
    await embedded?.stop();
  }
};

async function* examineHosts(databaseUrl: string): AsyncGenerator<Finding> {
  const hosts = readHosts("DATABASE_URL", databaseUrl);
  if (hosts.length === 1) return;
  const states = await readHostStates(hosts);
  const newest = Math.max(...states.map((state) => (state.is === "primary" ? state.timeline : 0)));
  for (const [index, { name }] of hosts.entries()) {
    const state = states[index];
    const subject = "host";
    if (state === undefined || state.is === "away") {
      yield { is: "unsure", subject, says: `${name} is away: ${textOf(state?.error)}`, remedy: "until it is back it cannot take over" };
    } else if (state.is === "standby") {
      yield { is: "good", subject, says: `${name} is a standby` };
    } else if (state.timeline < newest) {
      yield {
        is: "bad",
        subject,
        says: `${name} takes itself for the primary, of timeline ${state.timeline}; another one was promoted since`,
        remedy: "stop it at once, and make a standby of it (pg_rewind): servers that start while the other is away would use it",
      };
    } else {
      yield { is: "good", subject, says: `${name} is the primary${state.timeline > 0 ? `, of timeline ${state.timeline}` : ""}` };
    }
  }
}

/** Yields all findings in order, as soon as they are known. Failures become findings. */
export async function* examineInstallation(options: DoctorOptions): AsyncGenerator<Finding> {
  const { settings, log, progress } = options;
  yield await examineFolder("GANTRY_DATA", settings.dataDirectory);
  if (settings.blobs.kind === "file" && !settings.blobs.folder.startsWith(`${settings.dataDirectory}/`))
    yield await examineFolder("GANTRY_BLOBS", settings.blobs.folder);
  const few = descriptorProblem();
  if (few !== undefined) yield { is: "unsure", subject: "files", says: few, remedy: "raise the limit of the server: LimitNOFILE, ulimits or ulimit -n" };
  if (settings.tls !== undefined) yield examineCertificate(settings.tls);
  for (const { setting, says, remedy } of plaintextWarnings(settings)) yield { is: "unsure", subject: "tls", says: `${setting}: ${says}`, remedy };
  if (settings.caFile !== undefined) yield examineAuthorities(settings.caFile);
  if (settings.databaseUrl !== undefined) yield* examineHosts(settings.databaseUrl);
  const { finding, isCurrent } = await examineDatabase(options);
  yield finding;
  if (!isCurrent) return;
  let application: Application;
  try {
    application = await openApplication({ settings, log, progress, join: true });
  } catch (thrown) {
    yield {
      is: "bad",
      subject: "key",
      says: textOf(thrown),
      remedy: "give the server the key that the database was made with: GANTRY_SECRET_KEY_FILE, or secret.key in GANTRY_DATA",
    };
    return;
  }
  try {
    yield* examineApplication(application, settings);
  } finally {
    await application.close();
  }
}
