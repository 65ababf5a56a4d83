// Maven's libraries in Java archives: pom.properties, else the manifest, and the same of the archives within, to a depth of
// limits.jarDepthMax. The central directory counts, as for Java.

import { Readable } from "node:stream";
import type { Entry, RandomAccessReader, ZipFile } from "yauzl";
import { limits } from "#base/limits.ts";
import { type ByteSource, openSpool } from "../byte-source.ts";
import { type FoundPackage, plainPackage } from "../found-package.ts";
import { baseNameOf } from "../layer-path.ts";
import { DatabaseError, type ProblemReason } from "../problem.ts";

type Yauzl = typeof import("yauzl");

export interface JarSink {
  add(found: FoundPackage, path: string): void;
  problem(reason: ProblemReason, detail: string, path: string): void;
}

export const isJar = (path: string): boolean => /\.(?:jar|war|ear|jpi|hpi|rar|sar|par|lpkg)$/i.test(path);

const readerOf = ({ RandomAccessReader }: Yauzl, source: ByteSource): RandomAccessReader => {
  class SourceReader extends RandomAccessReader {
    override _readStreamForRange(start: number, end: number): Readable {
      return Readable.from(
        (function* () {
          for (let at = start; at < end; at += limits.unpackChunkBytes) yield Buffer.from(source.read(at, Math.min(limits.unpackChunkBytes, end - at)));
        })(),
        { objectMode: false },
      );
    }
    override read(buffer: Buffer, offset: number, length: number, position: number, callback: (error: Error | null) => void): void {
      const bytes = source.read(position, length);
      bytes.copy(buffer, offset);
      setImmediate(callback, bytes.length < length ? new Error("it ends too early") : null);
    }
  }
  return new SourceReader();
};

/** Calls `use` with each piece; stops when it returns false. */
const unpack = async (archive: ZipFile, entry: Entry, use: (piece: Buffer) => boolean): Promise<boolean> => {
  const stream = await archive.openReadStreamPromise(entry);
  for await (const piece of stream) {
    if (use(piece as Buffer)) continue;
    stream.destroy();
    return false;
  }
  return true;
};

const readText = async (archive: ZipFile, entry: Entry): Promise<string> => {
  const pieces: Buffer[] = [];
  let size = 0;
  const isWhole = await unpack(archive, entry, (piece) => {
    size += piece.length;
    pieces.push(piece);
    return size <= limits.packageTextBytesMax;
  });
  if (!isWhole) throw new DatabaseError(`has a description of more than ${limits.packageTextBytesMax} bytes`);
  return Buffer.concat(pieces).toString("utf8");
};

/** Lines such as "groupId=org.example", or "Bundle-Version: 1.0". */
const fieldsIn = (lines: readonly string[]): ReadonlyMap<string, string> =>
  new Map(
    lines.flatMap((line): [string, string][] => {
      const end = line.search(/[=:]/);
      return end < 1 ? [] : [[line.slice(0, end).trim(), line.slice(end + 1).trim()]];
    }),
  );

const propertiesIn = (text: string): ReadonlyMap<string, string> => fieldsIn(text.split(/\r\n|\n|\r/));

/** The main section, with its lines of at most 72 bytes joined. */
const manifestIn = (text: string): ReadonlyMap<string, string> => {
  const [main = ""] = text
    .replace(/\r\n|\r/g, "\n")
    .replaceAll("\n ", "")
    .split("\n\n", 1);
  return fieldsIn(main.split("\n"));
};

/** "log4j-core-2.14.1.jar": the version starts at the first digit behind a hyphen. */
const partsOfFileName = (fileName: string): { readonly artifact: string; readonly version: string } => {
  const name = fileName.slice(0, Math.max(0, fileName.lastIndexOf(".")));
  const hyphen = name.search(/-\d/);
  return hyphen < 1 ? { artifact: "", version: "" } : { artifact: name.slice(0, hyphen), version: name.slice(hyphen + 1) };
};

const groupForm = /^[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)+$/;

/** Guesses a library without pom.properties: the group is what the manifest names as such. */
const libraryByManifest = (fileName: string, manifest: ReadonlyMap<string, string>): FoundPackage | undefined => {
  const { artifact, version: fileVersion } = partsOfFileName(fileName);
  const version = manifest.get("Implementation-Version") ?? (fileVersion || manifest.get("Bundle-Version") || "");
  const [symbolic = ""] = (manifest.get("Bundle-SymbolicName") ?? "").split(";");
  const candidates = [manifest.get("Implementation-Vendor-Id") ?? "", symbolic.endsWith(`.${artifact}`) ? symbolic.slice(0, -artifact.length - 1) : symbolic];
  const group = candidates.find((each) => groupForm.test(each)) ?? "";
  return artifact === "" || version === "" || group === "" ? undefined : plainPackage("maven", artifact, version, group);
};

/** Returns the library of the archive itself if all coordinates in it are those of libraries that were copied into it. */
const libraryBeside = (found: readonly FoundPackage[], fileName: string, manifest: ReadonlyMap<string, string>): FoundPackage | undefined => {
  const { artifact, version } = partsOfFileName(fileName);
  const guessed = libraryByManifest(fileName, manifest);
  return found.some((each) => each.name === artifact || each.version === version || each.version === guessed?.version) ? undefined : guessed;
};

const readArchive = async (yauzl: Yauzl, source: ByteSource, path: string, depth: number, sink: JarSink, budget: { bytes: number }): Promise<void> => {
  const archive = await yauzl.fromRandomAccessReaderPromise(readerOf(yauzl, source), source.sizeBytes, {
    decodeStrings: false,
    validateEntrySizes: true,
    autoClose: false,
  });
  if (archive.entryCount > limits.jarEntriesMax) throw new DatabaseError(`has more than ${limits.jarEntriesMax} entries`);
  const own: FoundPackage[] = [];
  const nested: Entry[] = [];
  let manifest: ReadonlyMap<string, string> = new Map();
  let hasClasses = false;
  let entryCount = 0;
  for await (const entry of archive.eachEntry()) {
    if (++entryCount > limits.jarEntriesMax) throw new DatabaseError(`has more than ${limits.jarEntriesMax} entries`);
    const name = yauzl.getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
    if (name.endsWith(".class")) hasClasses = true;
    const isReadable = !entry.isEncrypted() && entry.canDecodeFileData();
    if (/^META-INF\/maven\/[^/]+\/[^/]+\/pom\.properties$/.test(name) && isReadable) {
      const properties = propertiesIn(await readText(archive, entry));
      const [group, artifact, version] = [properties.get("groupId") ?? "", properties.get("artifactId") ?? "", properties.get("version") ?? ""];
      if (group !== "" && artifact !== "" && version !== "") own.push(plainPackage("maven", artifact, version, group));
    } else if (/^META-INF\/MANIFEST\.MF$/i.test(name) && isReadable) manifest = manifestIn(await readText(archive, entry));
    else if (isJar(name)) {
      if (isReadable) nested.push(entry);
      else sink.problem("FILE_UNSUPPORTED", "is packed or encrypted in a way that is not known", `${path}!/${name}`);
    }
  }
  const guessed = libraryBeside(own, baseNameOf(path), manifest);
  for (const each of guessed ? [guessed, ...own] : own) sink.add(each, path);
  // An application's own archive has classes, too, but what it contains is known.
  if (own.length === 0 && !guessed && hasClasses && nested.length === 0) sink.problem("JAR_UNIDENTIFIED", "does not name its group, name and version", path);
  for (const entry of nested) {
    const inside = `${path}!/${yauzl.getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false)}`;
    if (depth >= limits.jarDepthMax) {
      sink.problem("JAR_TOO_DEEP", `is nested deeper than ${limits.jarDepthMax} archives`, inside);
      continue;
    }
    await readNested(yauzl, archive, entry, inside, depth, sink, budget);
  }
};

const readNested = async (
  yauzl: Yauzl,
  archive: ZipFile,
  entry: Entry,
  path: string,
  depth: number,
  sink: JarSink,
  budget: { bytes: number },
): Promise<void> => {
  const spool = openSpool(limits.jarNestedBytesMax);
  try {
    const isWhole = await unpack(archive, entry, (piece) => {
      budget.bytes -= piece.length;
      return budget.bytes >= 0 && spool.write(piece);
    });
    if (isWhole) await readArchive(yauzl, spool.source(), path, depth + 1, sink, budget);
    else sink.problem("FILE_TOO_LARGE", "is a nested archive that is too large", path);
  } catch (thrown) {
    sink.problem("DATABASE_UNREADABLE", messageOf(thrown), path);
  } finally {
    spool.close();
  }
};

const messageOf = (thrown: unknown): string => (thrown instanceof DatabaseError ? thrown.message : "is not a complete zip archive");

/** Reads an archive and those within. Problems of one do not stop the others. */
export const readJar = async (source: ByteSource, path: string, sink: JarSink): Promise<void> => {
  const yauzl = await import("yauzl");
  try {
    await readArchive(yauzl, source, path, 1, sink, { bytes: limits.spoolBytesMax });
  } catch (thrown) {
    sink.problem("DATABASE_UNREADABLE", messageOf(thrown), path);
  }
};
