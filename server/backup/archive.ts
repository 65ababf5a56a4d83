// Writes and reads the members of a backup, in a tar file or directory, which gets its name once everything is durable. Names read
// are never used as paths: unknown ones are refused.

import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, readdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ReadableStream } from "node:stream/web";
import { createTarDecoder, createTarPacker } from "modern-tar";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { syncFolder } from "#registry/blobs";
import { type DraftBlob, draftPrefix, draftSuffix } from "./drafts.ts";
import { brokenBackup, manifestName, memberKindOf, sealName, sumLine, sumsName } from "./format.ts";

/** A member to read; content not read before the next member is skipped. */
export interface Member {
  readonly name: string;
  readonly sizeBytes: number;
  readonly content: AsyncIterable<Uint8Array>;
}

export interface Written {
  readonly sha256: string;
}

/** Writes one member at a time. */
export interface ArchiveWriter {
  /** @param sizeBytes exact size; a piece of `content` is valid until the next one is requested */
  add(name: string, sizeBytes: number, content: AsyncIterable<Uint8Array>): Promise<Written>;
  addText(name: string, content: string): Promise<Written>;
  /** Adds a blob of an interrupted backup with the digest `hex`. */
  addDraft(name: string, sizeBytes: number, blob: DraftBlob, hex: string): Promise<Written>;
  /** Renames the backup to its final name, durably. */
  finish(): Promise<void>;
  /** Deletes everything written, unless a later backup may continue it; no effect after `finish`. */
  abort(): Promise<void>;
}

const errorCodeOf = (thrown: unknown): string => (thrown instanceof Error && "code" in thrown ? String(thrown.code) : "");

const placeFaults: Readonly<Record<string, string>> = {
  ENOSPC: "no space left on the disk",
  EDQUOT: "the user's space is used up",
  EFBIG: "the file would exceed the maximum size",
  EACCES: "this user cannot write there",
  EPERM: "this user cannot write there",
  EROFS: "the file system is read-only",
  ENOENT: "the directory does not exist",
  ENOTDIR: "it is not a directory",
};

const writeFault = (path: string, thrown: unknown): unknown => {
  const said = placeFaults[errorCodeOf(thrown)];
  return said === undefined ? thrown : new Fault("FAILED_PRECONDITION", `the backup cannot be written to ${path}: ${said}`, { cause: thrown });
};

/** Yields the bytes as a member's content. */
export async function* singlePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Copies each piece, because its buffer may be reused. */
async function* ofSize(name: string, sizeBytes: number, content: AsyncIterable<Uint8Array>, onPiece: (piece: Uint8Array) => void): AsyncGenerator<Uint8Array> {
  let left = sizeBytes;
  for await (const piece of content) {
    left -= piece.byteLength;
    if (left < 0) break;
    onPiece(piece);
    yield new Uint8Array(piece);
  }
  if (left !== 0) throw new Fault("DATA_LOSS", `${name} does not have the expected size of ${sizeBytes} bytes`);
}

const hashing = (): { readonly update: (piece: Uint8Array) => void; readonly hex: () => string } => {
  const hash = createHash("sha256");
  return { update: (piece) => void hash.update(piece), hex: () => hash.digest("hex") };
};

const writeAll = async (file: FileHandle, bytes: Uint8Array): Promise<void> => {
  for (let at = 0; at < bytes.byteLength; ) at += (await file.write(bytes, at, bytes.byteLength - at)).bytesWritten;
};

const draftPath = (path: string): string => join(dirname(path), `${draftPrefix(path)}${randomBytes(4).toString("hex")}${draftSuffix}`);

const openTarWriter = async (path: string, keeps: boolean): Promise<ArchiveWriter> => {
  const draft = draftPath(path);
  const file = await open(draft, "wx", 0o600);
  const { readable, controller } = createTarPacker();
  let failure: unknown;
  const writing = (async () => {
    for await (const piece of readable) {
      // Recorded before the stream is aborted, which fails the current `add`.
      await writeAll(file, piece).catch((thrown: unknown) => {
        failure ??= thrown;
        throw thrown;
      });
    }
  })().catch((thrown: unknown) => {
    failure ??= thrown;
    controller.error(failure);
  });
  let isFinished = false;
  const add: ArchiveWriter["add"] = async (name, sizeBytes, content) => {
    const hash = hashing();
    try {
      const entry = controller.add({ name, size: sizeBytes, type: "file", mode: 0o600, mtime: new Date(0) });
      await ReadableStream.from(ofSize(name, sizeBytes, content, hash.update)).pipeTo(entry);
    } catch (thrown) {
      throw failure ?? thrown;
    }
    return { sha256: hash.hex() };
  };
  return {
    add,
    addText: (name, content) => add(name, Buffer.byteLength(content), singlePiece(Buffer.from(content, "utf8"))),
    addDraft: (name, sizeBytes, blob) => add(name, sizeBytes, blob.content()),
    async finish() {
      if (failure === undefined) controller.finalize();
      await writing;
      if (failure !== undefined) throw failure;
      await file.sync();
      await file.close();
      await rename(draft, path);
      await syncFolder(dirname(path));
      isFinished = true;
    },
    async abort() {
      if (isFinished) return;
      controller.error(new Error("ended"));
      await writing;
      await file.close().catch(() => {});
      if (!keeps) await rm(draft, { force: true });
    },
  };
};

const openFolderWriter = async (path: string, keeps: boolean): Promise<ArchiveWriter> => {
  const draft = draftPath(path);
  await mkdir(draft, { mode: 0o700 });
  let isFinished = false;
  const add: ArchiveWriter["add"] = async (name, sizeBytes, content) => {
    const hash = hashing();
    await mkdir(dirname(join(draft, name)), { recursive: true, mode: 0o700 });
    const file = await open(join(draft, name), "wx", 0o600);
    try {
      for await (const piece of ofSize(name, sizeBytes, content, hash.update)) await writeAll(file, piece);
      await file.sync();
    } finally {
      await file.close();
    }
    return { sha256: hash.hex() };
  };
  return {
    add,
    addText: (name, content) => add(name, Buffer.byteLength(content), singlePiece(Buffer.from(content, "utf8"))),
    async addDraft(name, sizeBytes, blob, hex) {
      await mkdir(dirname(join(draft, name)), { recursive: true, mode: 0o700 });
      // Not every file system has links.
      const isLinked =
        blob.path !== undefined &&
        (await link(blob.path, join(draft, name)).then(
          () => true,
          () => false,
        ));
      return isLinked ? { sha256: hex } : add(name, sizeBytes, blob.content());
    },
    async finish() {
      await syncFolder(draft);
      // Replaces an empty directory.
      await rmdir(path).catch((thrown: unknown) => {
        if (errorCodeOf(thrown) !== "ENOENT") throw thrown;
      });
      await rename(draft, path);
      await syncFolder(dirname(path));
      isFinished = true;
    },
    async abort() {
      if (!isFinished && !keeps) await rm(draft, { recursive: true, force: true });
    },
  };
};

const findFile = (path: string) =>
  lstat(path).catch((thrown: unknown) => {
    if (errorCodeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  });

/**
 * Opens a writer for a path: a directory if the name ends in "/" or is one, otherwise a tar file. Throws a Fault if it is taken.
 *
 * @param keeps whether an interrupted backup stays as a draft
 */
export const openArchiveWriter = async (given: string, keeps = false): Promise<ArchiveWriter> => {
  const path = resolve(given);
  try {
    const found = await findFile(path);
    const isFolder = given.endsWith("/") || found?.isDirectory() === true;
    const isTaken = found !== undefined && !(found.isDirectory() && (await readdir(path)).length === 0);
    if (isTaken) throw new Fault("ALREADY_EXISTS", `${path} already exists: a backup does not overwrite files`);
    const writer = await (isFolder ? openFolderWriter : openTarWriter)(path, keeps);
    const translated = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } catch (thrown) {
        throw writeFault(path, thrown);
      }
    };
    return {
      add: (...member) => translated(writer.add(...member)),
      addText: (...member) => translated(writer.addText(...member)),
      addDraft: (...member) => translated(writer.addDraft(...member)),
      finish: () => translated(writer.finish()),
      abort: () => writer.abort(),
    };
  } catch (thrown) {
    throw writeFault(path, thrown);
  }
};

// ---- reading -----------------------------------------------------------------------------------------------------

async function* readTar(path: string): AsyncGenerator<Member> {
  const decoder = createTarDecoder({ strict: true });
  // Not Readable.toWeb, which keeps writing to an aborted stream and crashes the process.
  const entries = ReadableStream.from(createReadStream(path, { highWaterMark: 1024 * 1024 })).pipeThrough(decoder);
  for await (const { header, body } of entries) {
    if (header.type !== "file") throw brokenBackup(`${JSON.stringify(header.name)} is not a file`);
    yield { name: header.name, sizeBytes: header.size, content: body };
  }
}

/** Members as listed in SHA256SUMS. */
async function* readFolder(path: string): AsyncGenerator<Member> {
  const memberOf = async (name: string): Promise<Member> => {
    const found = await findFile(join(path, name));
    if (!found) throw brokenBackup(`${name} is missing`);
    if (!found.isFile()) throw brokenBackup(`${JSON.stringify(name)} is not a file`);
    return { name, sizeBytes: found.size, content: createReadStream(join(path, name), { highWaterMark: 1024 * 1024 }) };
  };
  const sums = await memberOf(sumsName);
  let rest = "";
  for await (const piece of sums.content) {
    const lines = (rest + Buffer.from(piece).toString("utf8")).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const name = line.slice(66);
      if (memberKindOf(name) === undefined) throw brokenBackup(`${JSON.stringify(name)} is not a valid member name`);
      yield await memberOf(name);
    }
  }
  for (const name of [sumsName, manifestName, sealName]) yield await memberOf(name);
}

/** Members after the sums, which list all earlier ones. */
const behind: ReadonlyMap<string, string> = new Map([
  [sumsName, manifestName],
  [manifestName, sealName],
  [sealName, ""],
]);

/** Totals of a whole backup: number of members, and digest of their sums. */
export interface ReadSums {
  readonly members: number;
  readonly sums: string;
}

export const readTextMember = async ({ name, sizeBytes, content }: Member): Promise<string> => {
  if (sizeBytes > limits.backupTextMaxBytes) throw brokenBackup(`${name} has ${sizeBytes} bytes`);
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
};

/**
 * Passes every member to `onMember` and its digest to `onSum`, and checks SHA256SUMS. Throws a one-line DATA_LOSS if the backup is
 * incomplete: cut off, or with other, reordered or unknown members.
 */
export const readArchive = async (
  path: string,
  onMember: (member: Member) => Promise<void>,
  onSum: (name: string, sha256: string) => void = () => {},
): Promise<ReadSums> => {
  const found = await findFile(path).catch((cause: unknown) => {
    throw new Fault("NOT_FOUND", `${path} cannot be read`, { cause });
  });
  if (!found) throw new Fault("NOT_FOUND", `${path} not found`);
  const sums = createHash("sha256");
  let [members, expected, last] = [0, "", ""];
  try {
    for await (const { name, sizeBytes, content } of found.isDirectory() ? readFolder(path) : readTar(path)) {
      // Members outside the sums prove nothing (attack 198).
      const next = behind.get(last);
      if (next !== undefined && name !== next) throw brokenBackup(`found ${JSON.stringify(name)} instead of ${next || "nothing"}`);
      if (name !== sumsName && memberKindOf(name) === undefined) throw brokenBackup(`${JSON.stringify(name)} is not a valid member name`);
      last = name;
      const hash = hashing();
      let readBytes = 0;
      const passing = (async function* () {
        for await (const piece of content) {
          hash.update(piece);
          readBytes += piece.byteLength;
          yield piece;
        }
      })();
      if (name !== sumsName) await onMember({ name, sizeBytes, content: passing });
      for await (const _ of passing);
      if (readBytes !== sizeBytes) throw brokenBackup(`${name} is cut off`);
      const sha256 = hash.hex();
      if (name === sumsName) expected = sha256;
      else if (expected === "") {
        if (name === manifestName || name === sealName) throw brokenBackup(`${name} comes before ${sumsName}`);
        members++;
        sums.update(sumLine(sha256, name));
        onSum(name, sha256);
      }
    }
  } catch (thrown) {
    if (thrown instanceof Fault || errorCodeOf(thrown) === "EIO") throw thrown;
    const said = thrown instanceof Error ? thrown.message : String(thrown);
    throw brokenBackup(last === "" ? "it does not begin with a member of one; is it another file?" : said, thrown);
  }
  if (last !== sealName) throw brokenBackup("it is cut off");
  const read = sums.digest("hex");
  if (read !== expected) throw brokenBackup(`its members are not those that ${sumsName} lists`);
  return { members, sums: read };
};
