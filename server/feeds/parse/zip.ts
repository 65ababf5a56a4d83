// Zip archives, as OSV and GitHub give whole folders away: what the directory at the end lists, each entry unpacked when
// it is read. Nothing is written to a disk, so that a name in it can lead nowhere.

import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";
import { limits } from "#base/limits.ts";
import { Broken } from "../refused.ts";

const inflate = promisify(inflateRaw);

export interface ZipEntry {
  readonly name: string;
  /** Throws Broken. */
  read(): Promise<Buffer>;
}

const marks = { entry: 0x04034b50, listed: 0x02014b50, end: 0x06054b50 } as const;

export const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4;

const broken = (reason: string): Broken => new Broken(1, `is no whole zip archive: ${reason}`);

/** Where the directory is listed: the last mark of its end, in front of which a remark of 64 KiB may stand. */
const endOf = (bytes: Buffer): number => {
  for (let at = bytes.length - 22; at >= Math.max(0, bytes.length - 22 - 0xffff); at--) if (bytes.readUInt32LE(at) === marks.end) return at;
  throw broken("it has no directory");
};

const content = async (bytes: Buffer, at: number, packed: number, method: number): Promise<Buffer> => {
  if (bytes.readUInt32LE(at) !== marks.entry) throw broken("an entry is not where the directory says");
  const start = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28);
  const given = bytes.subarray(start, start + packed);
  if (given.length < packed) throw broken("an entry ends too early");
  if (method === 0) return given;
  if (method !== 8) throw new Broken(1, "is packed in a way that is not known");
  try {
    return await inflate(given, { maxOutputLength: limits.feedDocumentBytesMax });
  } catch (thrown) {
    throw new Broken(1, `cannot be unpacked: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
};

/** The files of an archive, in the directory's order. Throws Broken. */
export const readZip = (bytes: Buffer): ZipEntry[] => {
  try {
    const end = endOf(bytes);
    const count = bytes.readUInt16LE(end + 10);
    const entries: ZipEntry[] = [];
    let at = bytes.readUInt32LE(end + 16);
    // More entries than 16 bits can say, or sizes of 64 bits, have the last number of all in their place.
    for (let index = 0; count === 0xffff ? bytes.readUInt32LE(at) === marks.listed : index < count; index++) {
      if (bytes.readUInt32LE(at) !== marks.listed) throw broken("its directory is damaged");
      const [flags, method, packed, offset] = [
        bytes.readUInt16LE(at + 8),
        bytes.readUInt16LE(at + 10),
        bytes.readUInt32LE(at + 20),
        bytes.readUInt32LE(at + 42),
      ];
      const nameLength = bytes.readUInt16LE(at + 28);
      const name = bytes.toString("utf8", at + 46, at + 46 + nameLength);
      at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
      if (name.endsWith("/")) continue;
      entries.push({
        name,
        async read() {
          if ((flags & 1) === 1) throw new Broken(1, "is encrypted");
          try {
            return await content(bytes, offset, packed, method);
          } catch (thrown) {
            throw thrown instanceof RangeError ? broken("an entry stands outside of it") : thrown;
          }
        },
      });
    }
    return entries;
  } catch (thrown) {
    throw thrown instanceof RangeError ? broken("its directory stands outside of it") : thrown;
  }
};
