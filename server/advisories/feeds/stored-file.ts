// Files with random access: the operator's, and downloads. Temporary files are unlinked at once, so that a killed server leaves
// nothing behind.

import { type FileHandle, mkdtemp, open, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { StoredBytes } from "./parse/zip.ts";

export interface StoredFile extends StoredBytes {
  bytes(): AsyncGenerator<Uint8Array>;
  close(): Promise<void>;
}

const pieceBytes = 256 * 1024;

const storedFileOf = (file: FileHandle, sizeBytes: number): StoredFile => {
  const read = async (position: number, length: number): Promise<Buffer> => {
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, sizeBytes - position)));
    for (let at = 0; at < bytes.length; ) {
      const { bytesRead } = await file.read(bytes, at, bytes.length - at, position + at);
      if (bytesRead === 0) return bytes.subarray(0, at);
      at += bytesRead;
    }
    return bytes;
  };
  return {
    sizeBytes,
    read,
    async *bytes() {
      // A file that grows is read to its size at opening.
      for (let at = 0; at < sizeBytes; at += pieceBytes) yield await read(at, pieceBytes);
    },
    close: () => file.close(),
  };
};

export const openStoredFile = async (path: string): Promise<StoredFile> => {
  const file = await open(path);
  return storedFileOf(file, (await file.stat()).size);
};

export interface TemporaryFile {
  append(piece: Uint8Array): Promise<void>;
  /** Valid until `close`. */
  read(): StoredFile;
  close(): Promise<void>;
}

const spaceLookBytes = 16 * 1024 * 1024;

/** Creates the file in an existing directory (default: TMPDIR). */
export const openTemporaryFile = async (directory = tmpdir()): Promise<TemporaryFile> => {
  const folder = await mkdtemp(join(directory, "gantry-feed-"));
  let file: FileHandle;
  try {
    file = await open(join(folder, "file"), "wx+", 0o600);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  let sizeBytes = 0;
  let lookedAtBytes = 0;
  const requireSpace = async (): Promise<void> => {
    lookedAtBytes = sizeBytes;
    const { bavail, bsize } = await statfs(directory);
    if (bavail * bsize < limits.feedSpaceLeftBytes) throw new Fault("UNAVAILABLE", `cannot be stored: not enough disk space in ${directory}`);
  };
  return {
    async append(piece) {
      if (lookedAtBytes === 0 || sizeBytes - lookedAtBytes >= spaceLookBytes) await requireSpace();
      await file.appendFile(piece);
      sizeBytes += piece.byteLength;
    },
    read: () => storedFileOf(file, sizeBytes),
    close: () => file.close(),
  };
};
