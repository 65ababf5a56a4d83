// Zip archives, as OSV and GitHub give whole folders away. The directory at an archive's end is read and bounded before
// anything is unpacked; each entry is unpacked when it is read, and never to more than its directory says. Nothing is
// written to a disk: a name in an archive is a label.

import { crc32 } from "node:zlib";
import type { Entry, ZipFile } from "yauzl";
import { limits } from "#base/limits.ts";
import { DocumentError } from "../invalid.ts";

export interface ZipEntry {
  readonly name: string;
  /** Throws DocumentError. */
  read(): Promise<Buffer>;
}

export const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4;

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

const archiveError = (reason: string): DocumentError => new DocumentError(1, `is no whole zip archive: ${reason}`);

const entryError = (reason: string): DocumentError => new DocumentError(1, `cannot be unpacked: ${reason}`);

/** The library holds the unpacked bytes against the directory's size, and fails at the first one too many. */
const unpack = async (archive: ZipFile, entry: Entry): Promise<Buffer> => {
  if (entry.isEncrypted()) throw new DocumentError(1, "is encrypted");
  if (!entry.canDecodeFileData()) throw new DocumentError(1, "is packed in a way that is not known");
  if (entry.uncompressedSize > limits.feedDocumentBytesMax) throw entryError(`it is longer than ${limits.feedDocumentBytesMax} bytes`);
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of await archive.openReadStreamPromise(entry)) chunks.push(chunk as Buffer);
  } catch (thrown) {
    throw entryError(messageOf(thrown));
  }
  const bytes = Buffer.concat(chunks);
  if (crc32(bytes) !== entry.crc32) throw entryError("its checksum is another one than the directory says");
  return bytes;
};

/**
 * The files of an archive, in the directory's order, without those whose names lead out of it. Throws DocumentError where
 * the directory is damaged, has too many entries, or promises more than all of them may hold together.
 */
export const readZip = async (bytes: Buffer): Promise<ZipEntry[]> => {
  const { fromBufferPromise, getFileNameLowLevel, validateFileName } = await import("yauzl");
  const entries: ZipEntry[] = [];
  let unpackedBytes = 0;
  try {
    // Names are decoded here: the library would refuse the archive for one that leads out of it.
    const archive = await fromBufferPromise(bytes, { decodeStrings: false, validateEntrySizes: true });
    if (archive.entryCount > limits.feedArchiveEntriesMax) throw archiveError(`it has more than ${limits.feedArchiveEntriesMax} entries`);
    for await (const entry of archive.eachEntry()) {
      unpackedBytes += entry.uncompressedSize;
      if (unpackedBytes > limits.feedArchiveUnpackedBytesMax) throw archiveError(`unpacked it is longer than ${limits.feedArchiveUnpackedBytesMax} bytes`);
      const name = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
      if (name.endsWith("/") || validateFileName(name) !== null) continue;
      entries.push({ name, read: () => unpack(archive, entry) });
    }
  } catch (thrown) {
    if (thrown instanceof DocumentError) throw thrown;
    const message = messageOf(thrown);
    throw archiveError(message.startsWith("End of central directory record signature not found") ? "it has no directory" : message);
  }
  return entries;
};
