// Verifies a backup: members by digest, row counts, blobs by name and, with the secret key, that its owner wrote it. Reads
// everything once, in batches.

import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import { limits } from "#base/limits.ts";
import { vaultOf } from "#db";
import { type Member, readArchive, readTextMember } from "./archive.ts";
import {
  type BackupHead,
  type BackupManifest,
  brokenBackup,
  headName,
  keyName,
  manifestName,
  memberKindOf,
  readHead,
  readManifest,
  sealName,
} from "./format.ts";
import { countLines, type Progress } from "./make-backup.ts";
import { keyPurpose, manifestPurpose, sha256Of } from "./seals.ts";

const decompress = promisify(zstdDecompress);

/** Returns the rows of a member. */
export const readPiece = async ({ name, sizeBytes, content }: Member): Promise<Buffer> => {
  if (sizeBytes > limits.backupPieceMaxBytes) throw brokenBackup(`${name} has ${sizeBytes} bytes`);
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  try {
    return await decompress(Buffer.concat(pieces), { maxOutputLength: limits.backupPieceMaxBytes });
  } catch (cause) {
    throw brokenBackup(`${name} cannot be unpacked`, cause);
  }
};

export interface VerifyOptions {
  readonly path: string;
  readonly progress: (progress: Progress) => void;
  /** Returns the backup's key, or throws; undefined if unavailable, so that the writer stays unproven. Called before any data is read. */
  readonly findKey: (head: BackupHead, keyEnvelope: string | undefined) => Promise<Buffer | undefined>;
}

export interface VerifiedBackup {
  readonly head: BackupHead;
  readonly manifest: BackupManifest;
  /** The key that opened manifest.seal. */
  readonly secretKey: Buffer | undefined;
  /** The backup contains the key, encrypted. */
  readonly hasKey: boolean;
}

/** Returns whether this is the key that was used for the backup. */
export const fitsBackup = (secretKey: Buffer, { id, keyCheck }: BackupHead): boolean => vaultOf(secretKey).open(keyPurpose, keyCheck, [id]) === id;

const openChecks = () => {
  const rows: Record<string, number> = {};
  let lastPiece = { table: "", ordinal: 0 };
  const seen = new Set<string>();
  return {
    rows,
    /** Throws unless a table's batches are consecutive. */
    piece(table: string, ordinal: number): void {
      const isNext = table === lastPiece.table ? ordinal === lastPiece.ordinal + 1 : ordinal === 1 && !seen.has(table);
      if (!isNext) throw brokenBackup(`the rows of ${table} are not in their order`);
      seen.add(table);
      lastPiece = { table, ordinal };
    },
  };
};

const requireCount = (expected: number, found: number, what: string): void => {
  if (expected !== found) throw brokenBackup(`it has ${found} ${what}, not ${expected}`);
};

/** Verifies everything. Throws a one-line DATA_LOSS if the backup is incomplete or changed. */
export const verifyBackup = async ({ path, progress, findKey }: VerifyOptions): Promise<VerifiedBackup> => {
  let head: BackupHead | undefined;
  let keyEnvelope: string | undefined;
  let secretKey: Buffer | undefined;
  let isKeyAsked = false;
  const texts = new Map<string, string>();
  const checks = openChecks();
  const other = new Set<string>();
  let [blobCount, done] = [0, 0];
  const askKey = async (): Promise<void> => {
    if (isKeyAsked || head === undefined) return;
    isKeyAsked = true;
    secretKey = await findKey(head, keyEnvelope);
  };
  const onMember = async (member: Member): Promise<void> => {
    const { name } = member;
    const kind = memberKindOf(name);
    if ((name === headName) !== (head === undefined))
      throw brokenBackup(head === undefined ? `it does not begin with ${headName}` : `${headName} occurs twice`);
    progress({ done: ++done, total: 0, what: "members" });
    if (kind?.is === "text") {
      const content = await readTextMember(member);
      if (texts.has(name)) throw brokenBackup(`${name} occurs twice`);
      texts.set(name, content);
      if (name === headName) head = readHead(content);
      if (name === keyName) keyEnvelope = content;
      return;
    }
    await askKey();
    if (kind?.is === "piece") {
      checks.piece(kind.table, kind.ordinal);
      checks.rows[kind.table] = (checks.rows[kind.table] ?? 0) + countLines(await readPiece(member));
    } else {
      blobCount++;
    }
  };
  const onSum = (name: string, sha256: string): void => {
    const kind = memberKindOf(name);
    if (kind?.is === "blob" && kind.hex !== sha256) other.add(kind.hex);
  };
  const { members, sums } = await readArchive(path, onMember, onSum);
  await askKey();
  const manifestText = texts.get(manifestName);
  if (head === undefined || manifestText === undefined) throw brokenBackup("it is cut off");
  const manifest = readManifest(manifestText);
  const { id, tables } = head;
  if (manifest.id !== id) throw brokenBackup(`${manifestName} is that of another backup`);
  if (manifest.sums !== sums) throw brokenBackup(`its members are not those that ${manifestName} names`);
  requireCount(manifest.members, members, "members");
  for (const { name } of tables) requireCount(manifest.rows[name] ?? 0, checks.rows[name] ?? 0, `rows of ${name}`);
  const unnamed = Object.keys(checks.rows).find((name) => !tables.some((table) => table.name === name));
  if (unnamed !== undefined) throw brokenBackup(`it has rows of ${unnamed}, which ${headName} does not name`);
  const broken = new Set(manifest.brokenBlobs);
  for (const hex of other) if (!broken.has(hex)) throw brokenBackup(`blob sha256:${hex} does not match its digest`);
  if (blobCount < manifest.blobs.count - broken.size || blobCount > manifest.blobs.count) requireCount(manifest.blobs.count, blobCount, "blobs");
  if (secretKey !== undefined) {
    const opened = vaultOf(secretKey).open(manifestPurpose, (texts.get(sealName) ?? "").trim(), [id]);
    if (opened !== sha256Of(manifestText)) throw brokenBackup(`${manifestName} was not written with the secret key`);
  }
  return { head, manifest, secretKey, hasKey: keyEnvelope !== undefined };
};
