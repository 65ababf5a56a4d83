// Reads zip archives of any size in place, as published by OSV and GitHub. The directory is checked before anything is unpacked;
// an entry is unpacked on demand, never beyond its declared size, so at most one is in memory. Names are labels: nothing is
// written to disk.

import { Readable } from "node:stream";
import { crc32 } from "node:zlib";
import type { Entry, RandomAccessReader, ZipFile } from "yauzl";
import { limits } from "#base/limits.ts";
import { DocumentError } from "../invalid.ts";
import { type Inflate, openInflate } from "./inflate.ts";

export interface StoredBytes {
  readonly sizeBytes: number;
  /** Returns fewer than `length` bytes only at the end. */
  read(position: number, length: number): Promise<Buffer>;
}

export interface UnpackedEntry {
  readonly bytes: Buffer;
  /** Deflated (RFC 1951), as in the archive; undefined if stored, large or badly compressed. Valid until the next read. */
  readonly deflated?: Buffer | undefined;
}

export interface ZipEntry {
  readonly name: string;
  /** Checksum, sizes and time: changes with the content. */
  readonly fingerprint: string;
  /** Throws DocumentError. */
  read(): Promise<UnpackedEntry>;
}

export interface ZipArchive {
  readonly entryCount: number;
  /** In the directory's order, without paths outside the archive. Throws DocumentError. */
  entries(): AsyncGenerator<ZipEntry>;
}

type Yauzl = typeof import("yauzl");

export const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4;

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

const archiveError = (reason: string): DocumentError => new DocumentError(1, `is not a complete zip archive: ${reason}`);

const entryError = (reason: string): DocumentError => new DocumentError(1, `cannot be unpacked: ${reason}`);

/** One window each is cached for directory and data. */
const windowBytes = 256 * 1024;

/** Returns the bytes themselves if they are in memory. */
type ReadAt = (position: number, length: number) => Buffer | Promise<Buffer>;

/** The library reads in small steps, and entries are contiguous. */
const openWindows = (stored: StoredBytes): ReadAt => {
  let windows: { readonly start: number; readonly bytes: Buffer }[] = [];
  const load = async (position: number, length: number): Promise<Buffer> => {
    const window = { start: position, bytes: await stored.read(position, Math.max(windowBytes, length)) };
    windows = [window, ...windows.slice(0, 1)];
    if (window.bytes.length < length) throw new Error("it ends too early");
    return window.bytes.subarray(0, length);
  };
  return (position, length) => {
    const found = windows.find(({ start, bytes }) => position >= start && position + length <= start + bytes.length);
    return found ? found.bytes.subarray(position - found.start, position - found.start + length) : load(position, length);
  };
};

const readerOf = ({ RandomAccessReader }: Yauzl, read: ReadAt): RandomAccessReader => {
  let reads = 0;
  class WindowReader extends RandomAccessReader {
    override _readStreamForRange(start: number, end: number): Readable {
      return Readable.from(
        (async function* () {
          for (let at = start; at < end; at += windowBytes) yield await read(at, Math.min(windowBytes, end - at));
        })(),
        { objectMode: false },
      );
    }
    override read(buffer: Buffer, offset: number, length: number, position: number, callback: (error: Error | null) => void): void {
      const found = read(position, length);
      // Most reads are from memory, so yield regularly.
      if (Buffer.isBuffer(found) && ++reads % 64 !== 0) {
        found.copy(buffer, offset);
        callback(null);
        return;
      }
      Promise.resolve(found).then(
        (bytes) => {
          bytes.copy(buffer, offset);
          setImmediate(callback, null);
        },
        (error: unknown) => callback(error instanceof Error ? error : new Error(String(error))),
      );
    }
  }
  return new WindowReader();
};

interface OpenArchive {
  readonly archive: ZipFile;
  readonly read: ReadAt;
  readonly inflate: Inflate;
}

/** Worse entries are compressed again, so that an archive cannot fill the database. */
const reusableShare = 0.75;

/** Streams for a million entries take four times as long (measured for a whole import). */
const unpackAtOnce = async ({ archive, read, inflate }: OpenArchive, entry: Entry): Promise<UnpackedEntry> => {
  const { fileDataStart } = await archive.readLocalFileHeaderPromise(entry, { minimal: true });
  const packed = await read(fileDataStart, entry.compressedSize);
  const { bytes, packedBytes } = entry.compressionMethod === 0 ? { bytes: Buffer.from(packed), packedBytes: 0 } : inflate(packed, entry.uncompressedSize);
  if (bytes.length !== entry.uncompressedSize)
    throw new Error(`${bytes.length < entry.uncompressedSize ? "not enough" : "too many"} bytes for the size in the directory`);
  // Bytes after the compressed data are not content.
  const isReusable = packedBytes === packed.length && packed.length <= bytes.length * reusableShare;
  return { bytes, deflated: isReusable ? packed : undefined };
};

/** The library fails at the first byte beyond the declared size. */
const unpackInPieces = async ({ archive }: OpenArchive, entry: Entry): Promise<UnpackedEntry> => {
  const chunks: Buffer[] = [];
  for await (const chunk of await archive.openReadStreamPromise(entry)) chunks.push(chunk as Buffer);
  return { bytes: Buffer.concat(chunks) };
};

const unpack = async (from: OpenArchive, entry: Entry): Promise<UnpackedEntry> => {
  if (entry.isEncrypted()) throw new DocumentError(1, "is encrypted");
  if (!entry.canDecodeFileData()) throw new DocumentError(1, "is packed in a way that is not known");
  if (entry.uncompressedSize > limits.feedDocumentBytesMax) throw entryError(`it is longer than ${limits.feedDocumentBytesMax} bytes`);
  const isSmall = entry.uncompressedSize <= windowBytes && entry.compressedSize <= windowBytes;
  let unpacked: UnpackedEntry;
  try {
    unpacked = await (isSmall ? unpackAtOnce : unpackInPieces)(from, entry);
  } catch (thrown) {
    throw entryError(messageOf(thrown));
  }
  if (crc32(unpacked.bytes) !== entry.crc32) throw entryError("its checksum differs from the directory");
  return unpacked;
};

const openArchive = async (yauzl: Yauzl, stored: StoredBytes): Promise<OpenArchive> => {
  const read = openWindows(stored);
  const options = { decodeStrings: false, validateEntrySizes: true, autoClose: false };
  // Otherwise the library refuses an archive for one path outside it.
  return { read, inflate: openInflate(), archive: await yauzl.fromRandomAccessReaderPromise(readerOf(yauzl, read), stored.sizeBytes, options) };
};

const asArchiveError = (thrown: unknown): DocumentError => {
  if (thrown instanceof DocumentError) return thrown;
  const message = messageOf(thrown);
  return archiveError(message.startsWith("End of central directory record signature not found") ? "it has no directory" : message);
};

/** One gigabyte, or more for a large archive. */
const unpackedBytesMaxOf = ({ sizeBytes }: StoredBytes): number => Math.max(limits.feedArchiveUnpackedBytesMax, sizeBytes * limits.feedArchiveGrowthMax);

/** Throws DocumentError if the directory is damaged, has too many entries, or declares too large a total. */
export const openZip = async (stored: StoredBytes): Promise<ZipArchive> => {
  const yauzl = await import("yauzl");
  const unpackedBytesMax = unpackedBytesMaxOf(stored);
  let entryCount = 0;
  try {
    const { archive } = await openArchive(yauzl, stored);
    if (archive.entryCount > limits.feedArchiveEntriesMax) throw archiveError(`it has more than ${limits.feedArchiveEntriesMax} entries`);
    let unpackedBytes = 0;
    for await (const entry of archive.eachEntry()) {
      entryCount++;
      unpackedBytes += entry.uncompressedSize;
      if (unpackedBytes > unpackedBytesMax) throw archiveError(`unpacked it is longer than ${unpackedBytesMax} bytes`);
    }
  } catch (thrown) {
    throw asArchiveError(thrown);
  }
  return {
    entryCount,
    async *entries() {
      try {
        const opened = await openArchive(yauzl, stored);
        for await (const entry of opened.archive.eachEntry()) {
          const name = yauzl.getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
          if (name.endsWith("/") || yauzl.validateFileName(name) !== null) continue;
          const { crc32: checksum, uncompressedSize, compressedSize, lastModFileDate, lastModFileTime } = entry;
          yield {
            name,
            fingerprint: [checksum, uncompressedSize, compressedSize, lastModFileDate, lastModFileTime].join(" "),
            read: () => unpack(opened, entry),
          };
        }
      } catch (thrown) {
        throw asArchiveError(thrown);
      }
    },
  };
};
