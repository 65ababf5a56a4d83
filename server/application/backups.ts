// Backups and restores of the configured database: selects connections, key and blob storage, and records a restore for the audit
// log, event readers and page tokens.

import { lstat, mkdir, rm, writeFile } from "node:fs/promises";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { nextBase, type Restore, verifyAllChains, verifyChain, writeRestore } from "#audit/log";
import { operatorUid } from "#base/operator.ts";
import {
  type BackupSummary,
  fitsBackup,
  makeBackup,
  openKey,
  type Progress,
  requireEmptyBlobs,
  requireRestorable,
  restoreBackup,
  type VerifiedBackup,
  verifyBackup,
} from "#backup";
import { type BlobPlace, openBlobPlace } from "#registry/blobs";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { timestamp } from "#base/time.ts";
import { record } from "#outbox";
import { databaseUrlOf, startEmbedded } from "#postgres";
import {
  endRestore,
  findBegunRestore,
  findLastPosition,
  findLastEventTime,
  holdRestore,
  openPreparedStore,
  prepareDatabase,
  raiseAccessVersions,
  readSecretKey,
  type RestoreHold,
  type Store,
  type Vault,
  vaultOf,
  type Write,
  writeSecretKey,
} from "#db";
import { version } from "./version.ts";
import { findChainRoots } from "#audit/store";
import { findOrganizations } from "#iam/store";
import { commandOrigin, recordCommand } from "./command-record.ts";
import { withOwnersStore } from "./database.ts";
import { writeLastBackup } from "./last-backup.ts";
import type { Settings } from "./settings.ts";

export interface BackupWork {
  readonly settings: Settings;
  readonly log: Log;
  /** A file or directory. */
  readonly path: string;
  /** For the key in the backup; undefined if not given. */
  readonly passphrase: (() => Promise<string>) | undefined;
  readonly progress: (progress: Progress) => void;
  readonly report: (line: string) => void;
}

const keyPlaceOf = ({ secretKeyFile, dataDirectory }: Settings) => ({ file: secretKeyFile, dataDirectory });

const withBlobPlace = async <T>({ blobs: setting }: Settings, work: (blobs: BlobPlace) => Promise<T>): Promise<T> => {
  const blobs = await openBlobPlace(setting, { redirects: false });
  try {
    return await work(blobs);
  } finally {
    await blobs.close();
  }
};

interface Addresses {
  readonly ownerUrl: string;
  readonly serverUrl: string;
}

/** @param joins whether to share the embedded database of a running server; if false, a running one is an error */
const withAddresses = async <T>({ settings, log, report }: BackupWork, joins: boolean, work: (addresses: Addresses) => Promise<T>): Promise<T> => {
  const { databaseUrl, migrateUrl, dataDirectory, tuning } = settings;
  if (databaseUrl !== undefined) return work({ ownerUrl: migrateUrl ?? databaseUrl, serverUrl: databaseUrl });
  const embedded = await startEmbedded({ dataDirectory, tuning, log, progress: report, join: joins });
  try {
    return await work({ ownerUrl: databaseUrlOf(embedded.ownerAddress), serverUrl: databaseUrlOf(embedded.address) });
  } finally {
    await embedded.stop();
  }
};

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Creates a backup, with or without running servers. Throws a one-line Fault if there is no database or key. */
export const backupDatabase = async (work: BackupWork, signal: AbortSignal, resumes: boolean): Promise<BackupSummary> => {
  const { settings, path, passphrase, progress, report } = work;
  const { databaseUrl, dataDirectory } = settings;
  if (databaseUrl === undefined && !(await isThere(join(dataDirectory, "postgres"))))
    throw new Fault("FAILED_PRECONDITION", `no database in ${dataDirectory}. Set GANTRY_DATA or DATABASE_URL`);
  const secretKey = await readSecretKey(keyPlaceOf(settings));
  if (secretKey === undefined) throw new Fault("FAILED_PRECONDITION", "a backup is encrypted with the server's secret key. Set GANTRY_SECRET_KEY_FILE");
  const phrase = await passphrase?.();
  const made = await withAddresses(work, true, ({ ownerUrl }) =>
    withBlobPlace(settings, (blobs) =>
      makeBackup({ databaseUrl: ownerUrl, blobs, secretKey, passphrase: phrase, path, resumes, gantryVersion: version, signal, progress, report }),
    ),
  );
  await writeLastBackup(dataDirectory, made.createTime).catch((thrown: unknown) =>
    report(`the time of the backup could not be stored for the metrics: ${String(thrown)}`),
  );
  return made;
};

/** Finds the key locally, or in the backup if there is a passphrase. */
const readBackup = async ({ settings, path, passphrase, progress }: BackupWork, isKeyNeeded: boolean): Promise<VerifiedBackup> =>
  verifyBackup({
    path,
    progress,
    findKey: async (head, envelope) => {
      const own = await readSecretKey(keyPlaceOf(settings));
      if (own !== undefined) {
        if (fitsBackup(own, head)) return own;
        throw new Fault(
          "FAILED_PRECONDITION",
          "the secret key does not match the backup. Set GANTRY_SECRET_KEY_FILE to the key of the server that was backed up",
        );
      }
      if (envelope !== undefined && (isKeyNeeded || passphrase !== undefined)) {
        if (passphrase === undefined)
          throw new Fault("FAILED_PRECONDITION", "the secret key in the backup is encrypted with a passphrase. Give it with --passphrase-file");
        const opened = await openKey(envelope, await passphrase(), head.id);
        if (fitsBackup(opened, head)) return opened;
        throw new Fault("DATA_LOSS", "the secret key in the backup does not match its data");
      }
      if (isKeyNeeded) throw new Fault("FAILED_PRECONDITION", "the backup does not contain the secret key. Set GANTRY_SECRET_KEY_FILE");
      return undefined;
    },
  });

/** Verifies a backup without a database. Without the key it does not prove who wrote it. */
export const verifyBackupFile = (work: BackupWork): Promise<VerifiedBackup> => readBackup(work, false);

// ---- the record of a restore -------------------------------------------------------------------------------------

const whoRuns = (): string => {
  let user: string;
  try {
    user = userInfo().username;
  } catch {
    // A container's user may have no name.
    user = `user ${process.getuid?.() ?? "unknown"}`;
  }
  return `${user} on ${hostname()}`;
};

const restoredType = "dev.gantry.organization.restored.v1";

const tellOrganizations = async (rows: Write, publicUrl: string, { stateTime, restoreTime }: Restore): Promise<void> => {
  const source = `${publicUrl.replace(/\/$/, "")}/iam/v2/groups`;
  for (let last = ""; ; ) {
    const organizations = await findOrganizations(rows, last, limits.collectionPageRows);
    for (const uid of organizations)
      await record(rows, {
        type: restoredType,
        source,
        subject: uid,
        group: uid,
        audience: "customer",
        extensions: { group: uid, statetime: stateTime },
        actor: { subject: operatorUid },
        bodyType: "chainguard.platform.iam.v2.Group",
        body: { uid },
        requestId: "",
        time: restoreTime,
        auditContext: { operation: "gantry admin restore", bindings: [], origin: commandOrigin("admin restore") },
      });
    last = organizations.at(-1) ?? "";
    if (organizations.length < limits.collectionPageRows) return;
  }
};

/** Marks the database as restored, for all readers that may have seen a later state. */
const recordRestore = async (store: Store, vault: Vault, publicUrl: string, from: Pick<Restore, "backupId" | "stateTime">, nowMs: number): Promise<Restore> =>
  store.write(async (rows) => {
    const base = await nextBase(rows, nowMs);
    const restore: Restore = { ...from, base, restoreTime: timestamp(nowMs), position: await findLastPosition(rows), by: whoRuns() };
    await writeRestore(rows, vault, restore);
    await raiseAccessVersions(rows, base);
    const subject = from.backupId === "" ? "" : `backup ${from.backupId}`;
    await recordCommand(rows, { publicUrl, clock: () => nowMs }, "admin restore", "dev.gantry.database.restored.v1", subject);
    await tellOrganizations(rows, publicUrl, restore);
    await endRestore(rows);
    return restore;
  });

const verifyRestoredLog = async ({ read }: Store, vault: Vault, progress: BackupWork["progress"]): Promise<readonly string[]> => {
  const problems: string[] = [];
  let done = 0;
  for (const root of await findChainRoots(read)) {
    const verdict = await verifyChain(read, vault, root, {
      tell: (count) => progress({ done: done + count, total: 0, what: "audit log entries verified" }),
    });
    done += verdict.entries;
    problems.push(...verdict.problems.map(({ description }) => `the log of ${root}: ${description}`));
  }
  return [...problems, ...(await verifyAllChains(read, vault))];
};

export interface RestoreSummary {
  readonly restore: Restore;
  readonly rows: number;
  readonly blobs: number;
  readonly broken: number;
  /** Problems that the audit log already had in the backup. */
  readonly logProblems: readonly string[];
}

interface RestoreTarget extends Addresses {
  readonly verified: VerifiedBackup;
  readonly secretKey: Buffer;
  readonly hold: RestoreHold;
  readonly blobs: BlobPlace;
}

const restoreInto = async (work: BackupWork, { verified, secretKey, ownerUrl, serverUrl, hold, blobs }: RestoreTarget): Promise<RestoreSummary> => {
  const { settings, log, path, progress, report } = work;
  const { databaseUrl, migrateUrl, auditMonths, publicUrl } = settings;
  const { head, manifest } = verified;
  const nowMs = Date.now();
  const found = await findBegunRestore(ownerUrl);
  const begun = found?.backupId === head.id ? found : undefined;
  if (begun === undefined) await requireEmptyBlobs(blobs);
  else report(`Continuing an interrupted restore of this backup${begun.isLoaded ? ", whose rows and blobs are complete" : ""}`);
  await restoreBackup({ path, verified, databaseUrl: ownerUrl, hold, begun, blobs, nowMs, progress, report });
  if ((await readSecretKey(keyPlaceOf(settings))) === undefined) report(`The secret key is in ${await writeSecretKey(keyPlaceOf(settings), secretKey)}`);
  const vault = vaultOf(secretKey);
  const store = openPreparedStore({ databaseUrl: ownerUrl, log });
  let restore: Restore;
  let logProblems: readonly string[];
  try {
    logProblems = await verifyRestoredLog(store, vault, progress);
    restore = await recordRestore(store, vault, publicUrl, { backupId: head.id, stateTime: head.createTime }, nowMs);
  } finally {
    await store.close();
  }
  // Grants the server's role its permissions.
  const owner = databaseUrl === undefined ? ownerUrl : migrateUrl;
  await prepareDatabase({ databaseUrl: serverUrl, ...(owner === undefined ? {} : { migrateUrl: owner }), auditMonths, progress: () => {} });
  return {
    restore,
    rows: Object.values(manifest.rows).reduce((sum, count) => sum + count, 0),
    blobs: manifest.blobs.count - manifest.brokenBlobs.length,
    broken: manifest.brokenBlobs.length,
    logProblems,
  };
};

/** In the data directory while the embedded database is restored, so that an interrupted restore can be repeated. */
const restoringMark = "restoring";

/**
 * Restores a backup into an empty database, or continues an interrupted restore of the same backup. Verifies the whole backup before
 * writing anything. Throws a one-line Fault.
 */
export const restoreDatabase = async (work: BackupWork): Promise<RestoreSummary> => {
  const { settings, report } = work;
  const { databaseUrl, dataDirectory } = settings;
  const mark = databaseUrl === undefined ? join(dataDirectory, restoringMark) : undefined;
  const isCreated = mark !== undefined && (await isThere(join(dataDirectory, "postgres")));
  if (isCreated && !(await isThere(mark)))
    throw new Fault("FAILED_PRECONDITION", `a database already exists in ${dataDirectory}. Restore into an empty directory (GANTRY_DATA)`);
  return withBlobPlace(settings, async (blobs) => {
    report("Reading all of the backup, before anything is written");
    const verified = await readBackup(work, true);
    const { head, secretKey } = verified;
    if (secretKey === undefined) throw new Error("a restore without a key");
    await requireRestorable(verified);
    if (mark !== undefined && !isCreated) {
      await requireEmptyBlobs(blobs);
      await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
      await writeFile(mark, `${head.id}\n`, { mode: 0o600 });
    }
    return withAddresses(work, false, async ({ ownerUrl, serverUrl }) => {
      const hold = await holdRestore(ownerUrl);
      try {
        const restored = await restoreInto(work, { verified, secretKey, ownerUrl, serverUrl, hold, blobs });
        if (mark !== undefined) await rm(mark, { force: true });
        return restored;
      } finally {
        await hold.release();
      }
    });
  });
};

/** Records a restore by PostgreSQL's own tools. Requires that no server runs. */
export const recordOwnRestore = (work: Pick<BackupWork, "settings" | "log" | "report">): Promise<Restore> => {
  const { settings, log, report } = work;
  return withOwnersStore({ settings, log, progress: report }, async (store) => {
    const secretKey = await readSecretKey(keyPlaceOf(settings));
    if (secretKey === undefined) throw new Fault("FAILED_PRECONDITION", "the record is encrypted with the server's secret key. Set GANTRY_SECRET_KEY_FILE");
    const stateTime = await findLastEventTime(store.read);
    return recordRestore(store, vaultOf(secretKey), settings.publicUrl, { backupId: "", stateTime: stateTime || timestamp(Date.now()) }, Date.now());
  });
};
