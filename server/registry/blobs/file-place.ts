// Blob storage in files: uploads/KEY grows, and is renamed to content/AB/KEY when complete. Acknowledged data is durable: bytes
// first, then the name, then the caller's row.

import { type FileHandle, link, mkdir, open, opendir, readdir, readFile, rename, stat, statfs, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { piecesOfFile } from "./file-stream.ts";
import {
  type BlobPlace,
  contentLost,
  emptyPlace,
  isBlobKey,
  judgeMark,
  makeMark,
  markName,
  occupiedPlace,
  placeFull,
  placeUnreachable,
  readMark,
  requireBlobKey,
  type StoredContent,
} from "./place.ts";
import { writeContent } from "./write-content.ts";
import { openWriteSlots } from "./write-slots.ts";

export interface FilePlaceOptions {
  /** Absolute path; created if missing. */
  readonly folder: string;
  /** Free space that uploads leave, because the database may share the disk. */
  readonly spaceLeftBytes?: number;
}

const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;

// Disk, quota or file size exhausted.
const fullCodes: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

const faultOf = (thrown: unknown): unknown => {
  const code = codeOf(thrown);
  if (code === undefined || thrown instanceof Fault) return thrown;
  return fullCodes.has(code) ? placeFull(thrown) : placeUnreachable(thrown);
};

const unlessAbsent = async <T>(found: Promise<T>): Promise<T | undefined> => {
  try {
    return await found;
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
};

/** Syncs a directory, so that new or renamed files in it survive a power failure. */
export const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } catch (thrown) {
    // Unsupported by some network file systems.
    if (codeOf(thrown) !== "EINVAL" && codeOf(thrown) !== "ENOTSUP") throw thrown;
  } finally {
    await folder.close();
  }
};

/** One by one: Node's recursive mkdir loops forever where none can be created (below /proc, Node 24). `isAgain`: the parent exists. */
const makeFolder = async (path: string, isAgain = false): Promise<void> => {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST" && (await stat(path)).isDirectory()) return;
    const parent = dirname(path);
    if (codeOf(thrown) !== "ENOENT" || isAgain) throw thrown;
    // It may have been created concurrently.
    if ((await stat(parent).catch(() => undefined)) === undefined) await makeFolder(parent);
    await makeFolder(path, true);
    return;
  }
  await syncFolder(dirname(path));
};

/** Opens the storage; nothing is written before it is claimed. */
export const openFilePlace = ({ folder, spaceLeftBytes = limits.blobSpaceLeftBytes }: FilePlaceOptions): BlobPlace => {
  const uploads = join(folder, "uploads");
  const contents = join(folder, "content");
  const markPath = join(folder, markName);
  const uploadPath = (key: string): string => join(uploads, requireBlobKey(key));
  const contentPath = (key: string): string => join(contents, requireBlobKey(key).slice(0, 2), key);
  const turns = openWriteSlots();
  /** Folders that exist, unless they were deleted meanwhile. */
  const made = new Set<string>();

  const requireFolder = async (path: string): Promise<void> => {
    if (made.has(path)) return;
    await makeFolder(path);
    made.add(path);
  };

  /** Runs `work` in a folder that is created if it is missing; once more, if `work` finds that it was deleted. */
  const inFolder = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
    const isKnown = made.has(path);
    await requireFolder(path);
    try {
      return await work();
    } catch (thrown) {
      if (!isKnown || codeOf(thrown) !== "ENOENT") throw thrown;
      made.delete(path);
      await requireFolder(path);
      return work();
    }
  };

  const requireSpace = async (): Promise<void> => {
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize < spaceLeftBytes) throw placeFull(new Error(`${folder} has less than ${spaceLeftBytes} bytes left`));
  };

  const openUpload = async (key: string, sizeBytes: number): Promise<FileHandle> => {
    if (sizeBytes === 0) {
      const file = await inFolder(uploads, () => open(uploadPath(key), "w", 0o600));
      // Syncs the name along with the first bytes, so that acknowledged ones survive a power failure.
      await syncFolder(uploads);
      return file;
    }
    const file = await unlessAbsent(open(uploadPath(key), "r+"));
    if (file === undefined) throw contentLost(key, "no upload");
    try {
      const found = (await file.stat()).size;
      if (found < sizeBytes) throw contentLost(key, `${found} bytes of ${sizeBytes}`);
      if (found > sizeBytes) await file.truncate(sizeBytes);
      return file;
    } catch (thrown) {
      await file.close();
      throw thrown;
    }
  };

  const append: BlobPlace["append"] = async (key, at, content, signal) => {
    const source = content[Symbol.asyncIterator]();
    let file: FileHandle | undefined;
    try {
      // An append of nothing does not touch the disk.
      let first = await source.next();
      while (first.done !== true && first.value.byteLength === 0) first = await source.next();
      if (first.done === true) return at;
      await requireFolder(uploads);
      await requireSpace();
      file = await openUpload(key, at.sizeBytes);
      const given = { startBytes: at.sizeBytes, first: first.value, rest: source, signal };
      return { sizeBytes: await writeContent(file, turns, given, requireSpace), state: {} };
    } catch (thrown) {
      await source.return?.().catch(() => {});
      if (file !== undefined) await discard(key, file, at.sizeBytes);
      throw faultOf(thrown);
    } finally {
      await file?.close();
    }
  };

  /** If this fails, the next append overwrites the rest. */
  const discard = async (key: string, file: FileHandle, sizeBytes: number): Promise<void> => {
    try {
      if (sizeBytes === 0) await unlink(uploadPath(key));
      else await file.truncate(sizeBytes);
    } catch {
      // The first failure explains the cause.
    }
  };

  /** The content may have been completed by a server killed before the name was durable. */
  const requireCompleted = async (key: string, sizeBytes: number): Promise<void> => {
    const path = contentPath(key);
    const found = (await unlessAbsent(stat(path)))?.size;
    if (found !== sizeBytes) throw contentLost(key, `${found ?? "no"} bytes of ${sizeBytes}`);
    await syncFolder(dirname(path));
  };

  const truncateUpload = async (key: string, sizeBytes: number): Promise<void> => {
    const file = sizeBytes === 0 ? await openUpload(key, 0) : await open(uploadPath(key), "r+");
    try {
      await file.truncate(sizeBytes);
      await file.sync();
    } finally {
      await file.close();
    }
  };

  const completeUpload = async (key: string, sizeBytes: number): Promise<void> => {
    const to = contentPath(key);
    const upload = sizeBytes === 0 ? undefined : await unlessAbsent(stat(uploadPath(key)));
    const found = upload?.size;
    if (found === undefined && sizeBytes > 0) return requireCompleted(key, sizeBytes);
    if (found !== undefined && found < sizeBytes) throw contentLost(key, `${found} bytes of ${sizeBytes}`);
    // Otherwise the bytes are durable since they were appended.
    if (found !== sizeBytes) await truncateUpload(key, sizeBytes);
    // `rename` does nothing if both names are of this file (completeAside).
    if (upload !== undefined && upload.nlink > 1) {
      await requireCompleted(key, sizeBytes);
      await unlessAbsent(unlink(uploadPath(key)));
      return;
    }
    const renamed = await unlessAbsent(inFolder(dirname(to), () => rename(uploadPath(key), to).then(() => true)));
    // Removed since it was opened: its repo was deleted.
    if (renamed === undefined) return requireCompleted(key, sizeBytes);
    await syncFolder(dirname(to));
  };

  /** A second name of the same file. An append after `sizeBytes` that fails leaves it as it is; one that succeeds changes the upload's row. */
  const completeAside = async (key: string, sizeBytes: number): Promise<void> => {
    const to = contentPath(key);
    const found = (await unlessAbsent(stat(uploadPath(key))))?.size;
    if (found === undefined) return requireCompleted(key, sizeBytes);
    if (found !== sizeBytes) throw contentLost(key, `${found} bytes of ${sizeBytes}`);
    const isLinked = await inFolder(dirname(to), () => link(uploadPath(key), to).then(() => true)).catch((thrown: unknown) => {
      if (codeOf(thrown) === "EEXIST" || codeOf(thrown) === "ENOENT") return false;
      throw thrown;
    });
    if (!isLinked) return requireCompleted(key, sizeBytes);
    await syncFolder(dirname(to));
  };

  const readContent: BlobPlace["read"] = async (key, range) => {
    const file = await unlessAbsent(open(contentPath(key), "r"));
    if (file === undefined) return undefined;
    try {
      const { size } = await file.stat();
      const { startBytes, endBytes } = range ?? { startBytes: 0, endBytes: size };
      if (endBytes > size || startBytes > endBytes) throw contentLost(key, `${size} bytes, where ${startBytes} to ${endBytes} were asked for`);
      return piecesOfFile(file, startBytes, endBytes);
    } catch (thrown) {
      await file.close();
      throw thrown;
    }
  };

  const listFolder = async function* (path: string, completed: boolean): AsyncGenerator<StoredContent> {
    const entries = await unlessAbsent(opendir(path));
    if (entries === undefined) return;
    for await (const entry of entries) {
      if (!isBlobKey(entry.name)) continue;
      // Completed or removed meanwhile.
      const found = await unlessAbsent(stat(join(path, entry.name)));
      if (found === undefined) continue;
      const { size: sizeBytes, mtimeMs } = found;
      yield { key: entry.name, sizeBytes, completed, changedAtMs: Math.trunc(mtimeMs), ...(completed ? {} : { state: {} }) };
    }
  };

  const translated = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (thrown) {
      throw faultOf(thrown);
    }
  };

  /** Returns the effective marker, which may be another server's. */
  const writeMark = async (storeId: string): Promise<string> => {
    await makeFolder(folder);
    if ((await readdir(folder)).some((name) => name === "uploads" || name === "content")) throw occupiedPlace(folder);
    const mark = makeMark(storeId);
    const path = join(folder, `${mark.place}.new`);
    await writeFile(path, `${JSON.stringify(mark)}\n`, { mode: 0o600, flag: "wx", flush: true });
    try {
      // Unlike rename, link never replaces a file.
      await link(path, markPath);
    } catch (thrown) {
      if (codeOf(thrown) !== "EEXIST") throw thrown;
    } finally {
      await unlink(path);
    }
    await syncFolder(folder);
    return readFile(markPath, "utf8");
  };

  return {
    append,
    complete: (key, { sizeBytes }) => translated(completeUpload(key, sizeBytes)),
    completeAside: (key, { sizeBytes }) => translated(completeAside(key, sizeBytes)),
    async forgetUpload(key) {
      await translated(unlessAbsent(unlink(uploadPath(key))));
    },
    read: (key, range) => translated(readContent(key, range)),
    sizeOf: async (key) => (await translated(unlessAbsent(stat(contentPath(key)))))?.size,
    async remove(key: string, state?: JsonObject) {
      await translated(unlessAbsent(unlink(contentPath(key))));
      if (state !== undefined) await translated(unlessAbsent(unlink(uploadPath(key))));
    },
    async *list() {
      const folders = (await unlessAbsent(readdir(contents))) ?? [];
      for (const each of folders) yield* listFolder(join(contents, each), true);
      yield* listFolder(uploads, false);
    },
    isEmpty: async () =>
      !((await translated(unlessAbsent(readdir(folder)))) ?? []).some((name) => name === "uploads" || name === "content" || name === markName),
    async claim(storeId, known) {
      const text = await translated(unlessAbsent(readFile(markPath, "utf8")));
      if (text === undefined && known !== undefined) throw emptyPlace(folder);
      return judgeMark(readMark(text ?? (await translated(writeMark(storeId))), folder), storeId, known, folder);
    },
    close: async () => {},
  };
};
