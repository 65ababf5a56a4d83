// Creates a consistent backup while servers run: all tables from one snapshot, then the blobs that its rows name, which no server
// removes meanwhile.

import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { readSealSummary } from "#audit/log";
import type { BlobPlace } from "#registry/blobs";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { findBlobPlace, findBlobs, type StoredBlob } from "#registry/store";
import { findLastPosition, holdBlobs, openSnapshot, readBackedUpSchema, type Snapshot, vaultOf } from "#db";
import { listAuditMonths } from "#audit/store";
import { type DraftBlob, type Drafts, lockNameOf, openDrafts } from "./drafts.ts";
import { type ArchiveWriter, openArchiveWriter, singlePiece, type Written } from "./archive.ts";
import {
  type BackupHead,
  type BackupManifest,
  blobName,
  formatName,
  headName,
  keyName,
  manifestName,
  pieceName,
  sealName,
  sumLine,
  sumsName,
} from "./format.ts";
import { sealKey } from "./key-envelope.ts";
import { keyPurpose, manifestPurpose, sha256Of } from "./seals.ts";

const compress = promisify(zstdCompress);

/** At this level Zstandard keeps up with PostgreSQL. */
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly what: string;
}

export interface BackupOptions {
  /** For a role that can read everything. */
  readonly databaseUrl: string;
  readonly blobs: BlobPlace;
  /** 32 bytes. */
  readonly secretKey: Buffer;
  /** Include the secret key, encrypted with this; undefined: do not. */
  readonly passphrase: string | undefined;
  /** A file, or a directory if it ends in "/" or is an empty one. */
  readonly path: string;
  /** Take blobs of interrupted backups to the path, and leave those of this one if it is interrupted. */
  readonly resumes: boolean;
  readonly gantryVersion: string;
  readonly signal: AbortSignal;
  readonly progress: (progress: Progress) => void;
  /** Receives a line for each omission. */
  readonly report: (line: string) => void;
}

export interface BackupSummary {
  readonly id: string;
  readonly createTime: string;
  readonly tables: number;
  readonly rows: number;
  readonly blobs: number;
  readonly blobBytes: number;
  /** Missing or damaged blobs. */
  readonly broken: number;
}

async function* piecesOfRows(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const given of lines) {
    held.push(given);
    heldBytes += given.byteLength;
    if (heldBytes < limits.backupPieceBytes) continue;
    const bytes = Buffer.concat(held);
    const end = bytes.lastIndexOf(0x0a) + 1;
    if (end > 0) yield bytes.subarray(0, end);
    held = end < bytes.byteLength ? [bytes.subarray(end)] : [];
    heldBytes = bytes.byteLength - end;
  }
  if (heldBytes > 0) yield Buffer.concat(held);
}

/** COPY escapes line breaks within a row. */
export const countLines = (bytes: Uint8Array): number => {
  let count = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) count++;
  return count;
};

/** In files, because a million blobs and digests do not fit in memory. */
const openNotes = async (folder: string, name: string) => {
  const file = await open(join(folder, name), "wx", 0o600);
  let [sizeBytes, waiting] = [0, ""];
  const flush = async (): Promise<void> => {
    const bytes = Buffer.from(waiting, "utf8");
    waiting = "";
    sizeBytes += bytes.byteLength;
    if (bytes.byteLength > 0) await file.appendFile(bytes);
  };
  return {
    async add(line: string): Promise<void> {
      waiting += line;
      if (waiting.length >= 64 * 1024) await flush();
    },
    async finish(): Promise<{ readonly sizeBytes: number; readonly path: string }> {
      await flush();
      await file.close();
      return { sizeBytes, path: join(folder, name) };
    },
  };
};

type NotedBlob = Pick<StoredBlob, "sha256" | "sizeBytes" | "key">;

/** Omits hidden blobs. */
const noteBlobs = async (snapshot: Snapshot, folder: string): Promise<{ readonly path: string; readonly count: number; readonly sizeBytes: number }> => {
  const notes = await openNotes(folder, "blobs");
  let [count, total] = [0, 0];
  for (let last = ""; ; ) {
    const page = await findBlobs(snapshot.read, last, limits.collectionPageRows);
    for (const { sha256, sizeBytes, key, isHidden } of page) {
      if (isHidden) continue;
      count++;
      total += sizeBytes;
      await notes.add(`${JSON.stringify({ sha256, sizeBytes, key } satisfies NotedBlob)}\n`);
    }
    const end = page.at(-1);
    if (end === undefined || page.length < limits.collectionPageRows) break;
    last = end.sha256;
  }
  const { path } = await notes.finish();
  return { path, count, sizeBytes: total };
};

async function* readNotedBlobs(path: string): AsyncGenerator<NotedBlob> {
  for await (const line of createInterface({ input: createReadStream(path) })) yield JSON.parse(line) as NotedBlob;
}

const withSums = async (writer: ArchiveWriter, folder: string) => {
  const sums = await openNotes(folder, "sums");
  let members = 0;
  const noted = async (name: string, written: Promise<Written>): Promise<Written> => {
    const { sha256 } = await written;
    members++;
    await sums.add(sumLine(sha256, name));
    return { sha256 };
  };
  return {
    add: (name: string, sizeBytes: number, content: AsyncIterable<Uint8Array>) => noted(name, writer.add(name, sizeBytes, content)),
    addText: (name: string, content: string) => noted(name, writer.addText(name, content)),
    addDraft: (name: string, sizeBytes: number, blob: DraftBlob, hex: string) => noted(name, writer.addDraft(name, sizeBytes, blob, hex)),
    async finish(): Promise<{ readonly members: number; readonly sums: string }> {
      const { path, sizeBytes } = await sums.finish();
      const { sha256 } = await writer.add(sumsName, sizeBytes, createReadStream(path));
      return { members, sums: sha256 };
    },
  };
};

type SummingWriter = Awaited<ReturnType<typeof withSums>>;

/** Returns the digests in hex of missing or damaged blobs. */
const writeBlobs = async (
  writer: SummingWriter,
  noted: Awaited<ReturnType<typeof noteBlobs>>,
  drafts: Drafts | undefined,
  { blobs, report, progress }: BackupOptions,
  goesOn: () => void,
): Promise<readonly string[]> => {
  const broken: string[] = [];
  const reportBroken = (digest: string, problem: string): void => {
    broken.push(digest.slice("sha256:".length));
    report(`blob ${digest} ${problem}: it is not in the backup`);
    if (broken.length > limits.backupBrokenMax)
      throw new Fault("DATA_LOSS", "too many blobs are damaged or missing. Check that GANTRY_BLOBS is the blob storage of this database");
  };
  let [doneBytes, kept] = [0, 0];
  for await (const { sha256, sizeBytes, key } of readNotedBlobs(noted.path)) {
    goesOn();
    const digest = sha256.slice("sha256:".length);
    const draft = await drafts?.find(blobName(digest), sizeBytes, digest);
    if (draft !== undefined) {
      await writer.addDraft(blobName(digest), sizeBytes, draft, digest);
      kept++;
      doneBytes += sizeBytes;
      progress({ done: doneBytes, total: noted.sizeBytes, what: "bytes of blobs" });
      continue;
    }
    const found = await blobs.sizeOf(key);
    const content = found === sizeBytes ? await blobs.read(key) : undefined;
    if (content === undefined) reportBroken(sha256, found === undefined ? "is not there" : `has ${found} bytes, not ${sizeBytes}`);
    else {
      const counted = (async function* () {
        for await (const piece of content) {
          goesOn();
          yield piece;
          doneBytes += piece.byteLength;
          progress({ done: doneBytes, total: noted.sizeBytes, what: "bytes of blobs" });
        }
      })();
      const written = await writer.add(blobName(digest), sizeBytes, counted);
      if (written.sha256 !== digest) reportBroken(sha256, "does not match its digest");
    }
  }
  if (kept > 0) report(`${kept} blobs of an interrupted backup were kept`);
  return broken;
};

const writeTables = async (writer: SummingWriter, snapshot: Snapshot, { progress }: BackupOptions, goesOn: () => void): Promise<Record<string, number>> => {
  const rows: Record<string, number> = {};
  const { tables } = snapshot;
  for (const [done, table] of tables.entries()) {
    progress({ done, total: tables.length, what: `tables: ${table.name}` });
    let ordinal = 0;
    rows[table.name] = 0;
    for await (const piece of piecesOfRows(snapshot.copyOut(table))) {
      goesOn();
      const compressed = await compress(piece, compression);
      rows[table.name] = (rows[table.name] ?? 0) + countLines(piece);
      progress({ done, total: tables.length, what: `tables: ${table.name}, ${rows[table.name]} rows` });
      await writer.add(pieceName(table.name, ++ordinal), compressed.byteLength, singlePiece(compressed));
    }
  }
  return rows;
};

/** Creates the backup. If it cannot be complete, throws a one-line Fault and leaves nothing. */
export const makeBackup = async (options: BackupOptions): Promise<BackupSummary> => {
  const { databaseUrl, blobs, secretKey, passphrase, path, gantryVersion, signal, report } = options;
  const vault = vaultOf(secretKey);
  const schema = await readBackedUpSchema(databaseUrl);
  const hold = await holdBlobs(databaseUrl);
  let lost: unknown;
  const renewal = setInterval(() => void hold.renew().catch((thrown: unknown) => (lost ??= thrown)), limits.backupSilenceMs / 4);
  const goesOn = (): void => {
    if (signal.aborted) throw new Fault("CANCELLED", `the backup was canceled${options.resumes ? "; run it again to continue it" : " and its files removed"}`);
    if (lost !== undefined) throw lost;
  };
  const folder = await mkdtemp(join(tmpdir(), "gantry-backup-"));
  let archive: ArchiveWriter | undefined;
  let drafts: Drafts | undefined;
  let snapshot: Snapshot | undefined;
  try {
    // A backup that resumes takes and deletes the unfinished files of others.
    await hold.lockPath(await lockNameOf(resolve(path)));
    snapshot = await openSnapshot(databaseUrl, schema.tables);
    const { read, tables, foreignTables } = snapshot;
    for (const name of foreignTables) report(`table ${name} is none of Gantry's: it is not in the backup`);
    const { progress, entries } = await readSealSummary(read, vault);
    if (progress === undefined && entries === 0)
      throw new Fault("FAILED_PRECONDITION", "the secret key does not match this database. Set GANTRY_SECRET_KEY_FILE to the key of its servers");
    const place = await findBlobPlace(read);
    if (place !== undefined && place.placeId !== "") await blobs.claim(place.storeId, place.placeId);
    // Before its own draft exists.
    if (options.resumes) drafts = await openDrafts(resolve(path));
    archive = await openArchiveWriter(path, options.resumes);
    const writer = await withSums(archive, folder);
    const id = randomBytes(16).toString("hex");
    const head: BackupHead = {
      format: formatName,
      id,
      createTime: timestamp(snapshot.timeMs),
      gantryVersion,
      serverVersion: schema.serverVersion,
      migrations: schema.migrations,
      tables,
      auditMonths: await listAuditMonths(read),
      keyCheck: vault.seal(keyPurpose, id, [id]),
    };
    await writer.addText(headName, `${JSON.stringify(head, undefined, 2)}\n`);
    if (passphrase !== undefined) await writer.addText(keyName, await sealKey(secretKey, passphrase, id));
    const rows = await writeTables(writer, snapshot, options, goesOn);
    const [sequences, position, noted] = [await snapshot.readSequences(), await findLastPosition(read), await noteBlobs(snapshot, folder)];
    // Ends the snapshot, which blocks PostgreSQL's vacuum.
    await snapshot.close();
    const brokenBlobs = await writeBlobs(writer, noted, drafts, options, goesOn);
    goesOn();
    const manifest: BackupManifest = {
      id,
      ...(await writer.finish()),
      rows,
      sequences,
      blobs: { count: noted.count, sizeBytes: noted.sizeBytes },
      brokenBlobs,
      position,
    };
    const manifestText = `${JSON.stringify(manifest, undefined, 2)}\n`;
    await archive.addText(manifestName, manifestText);
    await archive.addText(sealName, `${vault.seal(manifestPurpose, sha256Of(manifestText), [id])}\n`);
    await hold.renew();
    await archive.finish();
    await drafts?.remove();
    return {
      id,
      createTime: head.createTime,
      tables: tables.length,
      rows: Object.values(rows).reduce((sum, count) => sum + count, 0),
      blobs: noted.count - brokenBlobs.length,
      blobBytes: noted.sizeBytes,
      broken: brokenBlobs.length,
    };
  } finally {
    clearInterval(renewal);
    await archive?.abort();
    await drafts?.close();
    await snapshot?.close();
    await hold.release();
    await rm(folder, { recursive: true, force: true });
  }
};
