// Restores a backup into an empty database and blob storage. The backup is verified first, then read again and compared. All tables
// are one transaction. Servers refuse to start until the restore is recorded (server/db/migrate.ts). A restore that was interrupted
// continues: blobs that are stored are kept, and rows are loaded again unless their transaction was committed.

import { createHash } from "node:crypto";

import { type BlobPlace, uploadStart } from "#registry/blobs";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { type BegunRestore, beginRestore, type CopiedTable, type Loading, markLoaded, migrate, openLoading, requireMigrations, type RestoreHold } from "#db";
import { ensureAuditMonth } from "#audit/store";
import { ensureBlobPlace, findBlobs, findStoredBlob, setBlobHidden, writeBlobPlace } from "#registry/store";
import { type Member, readArchive, singlePiece } from "./archive.ts";
import { brokenBackup, memberKindOf } from "./format.ts";
import type { Progress } from "./make-backup.ts";
import { readPiece, type VerifiedBackup } from "./verify-backup.ts";

export interface RestoreOptions {
  readonly path: string;
  readonly verified: VerifiedBackup;
  readonly databaseUrl: string;
  readonly hold: RestoreHold;
  /** An interrupted restore of the same backup into this database. */
  readonly begun: BegunRestore | undefined;
  readonly blobs: BlobPlace;
  readonly nowMs: number;
  readonly progress: (progress: Progress) => void;
  readonly report: (line: string) => void;
}

/** Claims the storage before its first content. Outlives an interruption, so that the database knows its blobs again. */
const openClaim = ({ rows }: RestoreHold, blobs: BlobPlace, nowMs: number): (() => Promise<void>) => {
  let isClaimed = false;
  return async () => {
    if (isClaimed) return;
    const { storeId, placeId } = await ensureBlobPlace(rows, nowMs);
    await writeBlobPlace(rows, await blobs.claim(storeId, placeId === "" ? undefined : placeId));
    isClaimed = true;
  };
};

/** Returns whether an interrupted restore has stored the blob completely. */
const isStored = async (blobs: BlobPlace, key: string, sizeBytes: number, hex: string): Promise<boolean> => {
  if ((await blobs.sizeOf(key)) !== sizeBytes) return false;
  const hash = createHash("sha256");
  for await (const piece of (await blobs.read(key)) ?? []) hash.update(piece);
  return hash.digest("hex") === hex;
};

/** Hides blobs that the backup lacks, so that the next push uploads them. Returns their number. */
const hideBroken = async ({ rows }: Loading, written: ReadonlySet<string>, nowMs: number): Promise<number> => {
  let hidden = 0;
  for (let last = ""; ; ) {
    const page = await findBlobs(rows, last, limits.collectionPageRows);
    for (const blob of page) {
      if (blob.isHidden || written.has(blob.sha256)) continue;
      hidden++;
      await setBlobHidden(rows, blob, nowMs);
    }
    const end = page.at(-1);
    if (end === undefined || page.length < limits.collectionPageRows) return hidden;
    last = end.sha256;
  }
};

const load = async (loading: Loading, { path, verified, hold, begun, blobs, nowMs, progress, report }: RestoreOptions): Promise<void> => {
  const { head, manifest } = verified;
  const tables = new Map<string, CopiedTable>(head.tables.map((table) => [table.name, table]));
  const broken = new Set(manifest.brokenBlobs);
  const claim = openClaim(hold, blobs, nowMs);
  const written = new Set<string>();
  let [done, kept] = [0, 0];
  const writeBlob = async (hex: string, { name, sizeBytes, content }: Member): Promise<void> => {
    const digest = `sha256:${hex}`;
    const blob = await findStoredBlob(loading.rows, digest);
    if (!blob) throw brokenBackup(`no row names ${name}`);
    if (blob.isHidden || broken.has(hex)) return;
    if (blob.sizeBytes !== sizeBytes) throw brokenBackup(`${name} has ${sizeBytes} bytes, not ${blob.sizeBytes}`);
    await claim();
    written.add(digest);
    if (begun !== undefined && (await isStored(blobs, blob.key, sizeBytes, hex))) {
      kept++;
      return;
    }
    await blobs.complete(blob.key, await blobs.append(blob.key, uploadStart, content));
  };
  const onMember = async (member: Member): Promise<void> => {
    const kind = memberKindOf(member.name);
    // The digests, the manifest and its seal follow.
    progress({ done: ++done, total: manifest.members + 3, what: "members restored" });
    if (kind?.is === "blob") await writeBlob(kind.hex, member);
    if (kind?.is !== "piece") return;
    const table = tables.get(kind.table);
    if (!table) throw brokenBackup(`it has rows of ${kind.table}`);
    await loading.copyIn(table, singlePiece(await readPiece(member)));
  };
  const { sums } = await readArchive(path, onMember);
  if (sums !== manifest.sums) throw brokenBackup("it has changed since it was verified");
  for (const table of head.tables) {
    const [count, expected] = [await loading.countRows(table), manifest.rows[table.name] ?? 0];
    if (count !== expected) throw brokenBackup(`table ${table.name} has ${count} rows, not ${expected}`);
  }
  const hidden = await hideBroken(loading, written, nowMs);
  if (hidden !== broken.size) throw brokenBackup(`the content of ${hidden} blobs is missing, but it lists ${broken.size} as missing`);
  for (const sequence of manifest.sequences) await loading.writeSequence(sequence);
  await markLoaded(loading.rows);
  if (begun !== undefined) report(`${kept} blobs of the interrupted restore were kept`);
};

/** Throws a one-line Fault if this version cannot restore the backup. */
export const requireRestorable = ({ head }: VerifiedBackup): Promise<void> => requireMigrations(head.migrations);

/** Throws a one-line Fault if the blob storage has content. */
export const requireEmptyBlobs = async (blobs: BlobPlace): Promise<void> => {
  if (!(await blobs.isEmpty())) throw new Fault("FAILED_PRECONDITION", "GANTRY_BLOBS: the location is not empty. Restore into an empty one");
};

const loadBackup = async (options: RestoreOptions): Promise<void> => {
  const { databaseUrl, verified, report } = options;
  const { head } = verified;
  await migrate(databaseUrl, { progress: () => {}, restores: true, until: head.migrations.length });
  report(`Restoring the state of ${head.createTime}`);
  const loading = await openLoading(databaseUrl, head.tables);
  try {
    for (const month of head.auditMonths) await ensureAuditMonth(loading.rows, month);
    await load(loading, options);
    await loading.commit();
  } finally {
    await loading.close();
  }
};

/**
 * Fills the database and migrates it to this version. Servers cannot start until endRestore records the restore. Throws a one-line
 * Fault; a non-empty database stays unchanged.
 */
export const restoreBackup = async (options: RestoreOptions): Promise<void> => {
  const { databaseUrl, verified, begun, report } = options;
  if (begun === undefined) await beginRestore(databaseUrl, verified.head.id);
  if (begun?.isLoaded !== true) await loadBackup(options);
  await migrate(databaseUrl, { progress: report, restores: true });
};
