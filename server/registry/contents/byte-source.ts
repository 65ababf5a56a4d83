// Bytes of one file of a layer, in any order: in memory, or in a temporary file without a name that only this process can open.

import { closeSync, ftruncateSync, mkdtempSync, openSync, readSync, rmdirSync, rmSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { limits } from "#base/limits.ts";

export interface ByteSource {
  readonly sizeBytes: number;
  /** Returns fewer bytes only at the end. */
  read(position: number, length: number): Buffer;
}

export const sourceOf = (bytes: Buffer): ByteSource => ({
  sizeBytes: bytes.length,
  read: (position, length) => bytes.subarray(position, position + length),
});

export interface Spool {
  /** Returns false if the file is too large. */
  write(bytes: Buffer): boolean;
  /** Valid until `clear`. */
  source(): ByteSource;
  clear(): void;
  close(): void;
}

const openNameless = (): number => {
  const folder = mkdtempSync(join(tmpdir(), "gantry-layer-"));
  const path = join(folder, "file");
  try {
    const descriptor = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    return descriptor;
  } finally {
    rmdirSync(folder);
  }
};

export const openSpool = (bytesMax: number = limits.spoolBytesMax): Spool => {
  let pieces: Buffer[] = [];
  let sizeBytes = 0;
  let descriptor: number | undefined;
  let isInFile = false;

  const spill = (bytes: Buffer): void => {
    descriptor ??= openNameless();
    let at = sizeBytes;
    for (let rest = bytes; rest.length > 0; ) {
      const written = writeSync(descriptor, rest, 0, rest.length, at);
      rest = rest.subarray(written);
      at += written;
    }
  };
  const readFile = (position: number, length: number): Buffer => {
    const wanted = Math.max(0, Math.min(length, sizeBytes - position));
    const bytes = Buffer.allocUnsafe(wanted);
    let got = 0;
    while (got < wanted && descriptor !== undefined) {
      const count = readSync(descriptor, bytes, got, wanted - got, position + got);
      if (count === 0) break;
      got += count;
    }
    return bytes.subarray(0, got);
  };

  return {
    write(bytes) {
      if (sizeBytes + bytes.length > bytesMax) return false;
      if (!isInFile && sizeBytes + bytes.length > limits.spoolMemoryBytesMax) {
        const before = Buffer.concat(pieces);
        sizeBytes = 0;
        spill(before);
        sizeBytes = before.length;
        pieces = [];
        isInFile = true;
      }
      if (isInFile) spill(bytes);
      // The piece's memory is reused.
      else pieces.push(Buffer.from(bytes));
      sizeBytes += bytes.length;
      return true;
    },
    source: () => (isInFile ? { sizeBytes, read: readFile } : sourceOf(Buffer.concat(pieces))),
    clear() {
      if (isInFile && descriptor !== undefined) ftruncateSync(descriptor, 0);
      [pieces, sizeBytes, isInFile] = [[], 0, false];
    },
    close() {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
};

const copyBytes = 1024 * 1024;

/** Calls `use` with the path of a copy, for a library that opens paths. `use` may remove it as soon as it is open. */
export const withCopy = <T>(source: ByteSource, change: (bytes: Buffer, position: number) => void, use: (path: string, remove: () => void) => T): T => {
  const folder = mkdtempSync(join(tmpdir(), "gantry-layer-"));
  const path = join(folder, "file");
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const descriptor = openSync(path, "wx", 0o600);
    try {
      for (let at = 0; at < source.sizeBytes; at += copyBytes) {
        const bytes = Buffer.from(source.read(at, copyBytes));
        change(bytes, at);
        for (let rest = bytes; rest.length > 0; ) rest = rest.subarray(writeSync(descriptor, rest));
      }
    } finally {
      closeSync(descriptor);
    }
    return use(path, remove);
  } finally {
    remove();
  }
};
