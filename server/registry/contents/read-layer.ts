// Reads one layer: the packages of each database in it, and what it does to the files of lower layers. It depends on nothing else, so
// that images share the result (compose.ts). A layer that is damaged or too large has what was read before, and a problem.

import { limits } from "#base/limits.ts";
import { openSpool, type Spool } from "./byte-source.ts";
import { isExecutable } from "./databases/executable.ts";
import { readJar } from "./databases/jar.ts";
import { kindOfPath, sourceReaders, textReaders } from "./databases/kinds.ts";
import { type OsRelease, readOsRelease } from "./databases/os-release.ts";
import { type DatabaseKind, type FoundPackage, packageKey, problemOfPackage } from "./found-package.ts";
import { foldersAbove, layerPath, whiteoutOf } from "./layer-path.ts";
import { buildPathSet } from "./path-set.ts";
import { DatabaseError, openProblems, type ProblemList, type ProblemReason, type Problems } from "./problem.ts";
import { openTar, TarError, type TarEntry } from "./tar.ts";
import { unpackLayer } from "./unpack-layer.ts";

/** A database of a layer. */
export interface FoundDatabase {
  readonly path: string;
  readonly kind: DatabaseKind;
  readonly packages: readonly FoundPackage[];
  readonly os?: OsRelease;
}

export interface LayerContents {
  readonly databases: readonly FoundDatabase[];
  /** PathSet of all entries. */
  readonly paths: Float64Array;
  readonly problems: Problems;
  readonly unpackedBytes: number;
  readonly entries: number;
}

/** Of a layer that was not read. */
export const emptyContents = (reason: ProblemReason, detail: string): LayerContents => ({
  databases: [],
  paths: new Float64Array(),
  problems: { listed: [{ reason, detail, path: "" }], count: 1 },
  unpackedBytes: 0,
  entries: 0,
});

export interface LayerBounds {
  /** Called after some MiB; throws LayerLimit. */
  readonly check?: () => void;
}

/** A bound of the whole layer. */
export class LayerLimit extends Error {
  readonly reason: ProblemReason;

  constructor(reason: ProblemReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

interface OpenFile {
  readonly path: string;
  kind: DatabaseKind | undefined;
  /** Bytes before the kind is known by them. */
  head: Buffer;
  /** Undefined once the file is not wanted. */
  collect: "memory" | "spool" | "head" | undefined;
  pieces: Buffer[];
  sizeBytes: number;
}

const headBytes = 8;

/** Databases found so far; a later entry at the same path replaces an earlier one, as when it is unpacked. */
class Databases {
  readonly #found = new Map<string, FoundDatabase>();
  /** Folders of databases: a file at such a path removes them. */
  readonly #folders = new Set<string>();
  packageCount = 0;

  set(found: FoundDatabase): void {
    this.#found.set(found.path, found);
    for (const folder of foldersAbove(found.path)) this.#folders.add(folder);
  }

  get(path: string): FoundDatabase | undefined {
    return this.#found.get(path);
  }

  replace(path: string, isDirectory: boolean): void {
    this.#found.delete(path);
    if (isDirectory || !this.#folders.has(path)) return;
    for (const each of this.#found.keys()) if (each.startsWith(`${path}/`)) this.#found.delete(each);
  }

  all(): FoundDatabase[] {
    return [...this.#found.values()];
  }
}

class LayerReader {
  readonly #databases = new Databases();
  readonly #paths = buildPathSet();
  readonly #problems: ProblemList = openProblems();
  readonly #spool: Spool = openSpool();
  /** Databases without packages, as targets of hard links. */
  readonly #readPaths = new Set<string>();
  #file: OpenFile | undefined;
  entries = 0;
  unpackedBytes = 0;

  /** Returns the entry's file if its content is wanted. */
  #openFile(entry: TarEntry, path: string): OpenFile | undefined {
    const kind = kindOfPath(path);
    if (entry.type === "sparse") {
      if (kind !== undefined || entry.isExecutable) this.#problems.add("FILE_UNSUPPORTED", "is a sparse file", path);
      return undefined;
    }
    if (kind === undefined && entry.sizeBytes < headBytes) return undefined;
    const isText = kind !== undefined && (textReaders.has(kind) || kind === "os-release");
    return { path, kind, head: Buffer.alloc(0), collect: kind === undefined ? "head" : isText ? "memory" : "spool", pieces: [], sizeBytes: 0 };
  }

  #link(path: string, linkName: string): void {
    const target = layerPath(linkName);
    const found = target === undefined ? undefined : this.#databases.get(target);
    if (found) this.#databases.set({ ...found, path });
    else if (kindOfPath(path) !== undefined && !this.#readPaths.has(target ?? ""))
      this.#problems.add("FILE_UNSUPPORTED", "is a hard link to a file that is not read", path);
  }

  enter(entry: TarEntry): void {
    this.#file = undefined;
    if (++this.entries > limits.layerEntriesMax) throw new LayerLimit("LAYER_TOO_LARGE", `has more than ${limits.layerEntriesMax} entries`);
    const path = layerPath(entry.name);
    if (path === undefined) {
      this.#problems.add("PATH_OUTSIDE", "is a path outside the image", entry.name);
      return;
    }
    if (path === "") return;
    const whiteout = whiteoutOf(path);
    if (whiteout) {
      if (whiteout.kind !== "other") this.#paths.add(whiteout.kind, whiteout.path);
      return;
    }
    const isDirectory = entry.type === "directory";
    this.#paths.add(isDirectory ? "directory" : "present", path);
    if (entry.type !== "link" || layerPath(entry.linkName) !== path) this.#databases.replace(path, isDirectory);
    if (entry.type === "link") this.#link(path, entry.linkName);
    if (entry.type === "file" || entry.type === "sparse") this.#file = this.#openFile(entry, path);
  }

  take(bytes: Buffer): void {
    const file = this.#file;
    if (!file || file.collect === undefined) return;
    if (file.collect === "head") {
      file.head =
        file.head.length === 0 ? Buffer.from(bytes.subarray(0, headBytes)) : Buffer.concat([file.head, bytes.subarray(0, headBytes - file.head.length)]);
      if (file.head.length < headBytes) {
        // Rare: an entry that begins at the end of a piece.
        file.pieces.push(Buffer.from(bytes));
        return;
      }
      if (!isExecutable(file.head)) {
        file.collect = undefined;
        file.pieces = [];
        return;
      }
      [file.kind, file.collect] = ["executable", "spool"];
      for (const piece of file.pieces) this.#collect(file, piece);
      file.pieces = [];
    }
    this.#collect(file, bytes);
  }

  #collect(file: OpenFile, bytes: Buffer): void {
    file.sizeBytes += bytes.length;
    if (file.collect === "spool") {
      if (this.#spool.write(bytes)) return;
      this.#problems.add("FILE_TOO_LARGE", `has more than ${limits.spoolBytesMax} bytes`, file.path);
    } else {
      const isOfOne = file.kind !== undefined && (textReaders.get(file.kind)?.isOfOne ?? true);
      const most = isOfOne ? limits.packageTextBytesMax : limits.databaseTextBytesMax;
      if (file.sizeBytes <= most) {
        file.pieces.push(Buffer.from(bytes));
        return;
      }
      this.#problems.add("FILE_TOO_LARGE", `has more than ${most} bytes`, file.path);
    }
    file.collect = undefined;
    file.pieces = [];
    this.#spool.clear();
  }

  /** Adds it once: executables of several architectures have the same packages. */
  #accept(packages: Map<string, FoundPackage>, found: FoundPackage, path: string): void {
    const problem = problemOfPackage(found);
    if (problem !== undefined) {
      this.#problems.add("PACKAGE_INVALID", problem, path);
      return;
    }
    packages.set(packageKey(found), found);
    if (++this.#databases.packageCount > limits.layerPackagesMax) throw new LayerLimit("LAYER_TOO_LARGE", `has more than ${limits.layerPackagesMax} packages`);
  }

  /** Reads the file that ends. */
  async leave(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    if (!file || file.collect === undefined || file.kind === undefined) return;
    const { path, kind } = file;
    const packages = new Map<string, FoundPackage>();
    const add = (found: FoundPackage, where = path): void => this.#accept(packages, found, where);
    let os: OsRelease | undefined;
    try {
      const text = textReaders.get(kind);
      if (kind === "os-release") os = readOsRelease(Buffer.concat(file.pieces));
      else if (text) for (const each of text.read(Buffer.concat(file.pieces))) add(each);
      else if (kind === "jar") await readJar(this.#spool.source(), path, { add, problem: (...problem) => this.#problems.add(...problem) });
      else sourceReaders.get(kind)?.(this.#spool.source(), add);
    } catch (thrown) {
      if (thrown instanceof LayerLimit) throw thrown;
      // A reader that fails in another way does not end the layer.
      this.#problems.add("DATABASE_UNREADABLE", thrown instanceof DatabaseError ? thrown.message : "cannot be read", path);
    } finally {
      this.#spool.clear();
    }
    if (packages.size > 0 || os) this.#databases.set({ path, kind, packages: [...packages.values()], ...(os ? { os } : {}) });
    else this.#readPaths.add(path);
  }

  problem(reason: ProblemReason, detail: string): void {
    this.#problems.add(reason, detail);
  }

  result(): LayerContents {
    const { listed, count } = this.#problems;
    return {
      databases: this.#databases.all(),
      paths: this.#paths.build(),
      problems: { listed, count },
      unpackedBytes: this.unpackedBytes,
      entries: this.entries,
    };
  }

  close(): void {
    this.#spool.close();
  }
}

const readEntries = async (reader: LayerReader, pieces: AsyncIterable<Uint8Array>, check: () => void): Promise<void> => {
  const tar = openTar();
  let unchecked = 0;
  for await (const piece of unpackLayer(pieces)) {
    reader.unpackedBytes += piece.length;
    unchecked += piece.length;
    if (reader.unpackedBytes > limits.layerUnpackedBytesMax)
      throw new LayerLimit("LAYER_TOO_LARGE", `unpacks to more than ${limits.layerUnpackedBytesMax} bytes`);
    if (unchecked >= limits.layerCheckBytes) {
      unchecked = 0;
      check();
    }
    tar.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    for (let event = tar.next(); event !== undefined; event = tar.next()) {
      if (event.kind === "entry") reader.enter(event.entry);
      else if (event.kind === "bytes") reader.take(event.bytes);
      else await reader.leave();
    }
  }
  tar.finish();
};

/** Reads the packages of a layer. Throws the errors of `pieces` only. */
export const readLayer = async (pieces: AsyncIterable<Uint8Array>, { check = () => {} }: LayerBounds = {}): Promise<LayerContents> => {
  const reader = new LayerReader();
  try {
    await readEntries(reader, pieces, check);
  } catch (thrown) {
    if (thrown instanceof TarError) reader.problem("LAYER_UNREADABLE", thrown.message);
    else if (thrown instanceof LayerLimit) reader.problem(thrown.reason, thrown.message);
    else throw thrown;
  } finally {
    reader.close();
  }
  return reader.result();
};
