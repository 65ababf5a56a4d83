// Writes a zip archive of any length as a stream, with only its directory in memory (some hundred bytes per entry). Contents are
// deflated, as stored, so nothing is compressed on request (docs/decisions/0025). Pure.

import { crc32 } from "node:zlib";

export interface ZipEntry {
  readonly name: string;
  /** Deflated (RFC 1951). */
  readonly deflated: Uint8Array;
  readonly content: Uint8Array;
  readonly modifiedMs: number;
}

const max16 = 0xffff;
const max32 = 0xffff_ffff;

/** MS-DOS time in UTC: from 1980, in steps of two seconds. */
const dosTime = (modifiedMs: number): number => {
  const time = new Date(Math.max(modifiedMs, Date.UTC(1980, 0, 1)));
  const date = ((time.getUTCFullYear() - 1980) << 9) | ((time.getUTCMonth() + 1) << 5) | time.getUTCDate();
  return ((date << 16) | (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | (time.getUTCSeconds() >> 1)) >>> 0;
};

/** Common to local header and directory entry. UTF-8 names, deflated contents. */
const commonHeader = ({ deflated, content, modifiedMs }: ZipEntry, nameBytes: number, extraBytes: number): Buffer => {
  const header = Buffer.alloc(26);
  header.writeUInt16LE(extraBytes > 0 ? 45 : 20, 0);
  header.writeUInt16LE(0x0800, 2);
  header.writeUInt16LE(8, 4);
  header.writeUInt32LE(dosTime(modifiedMs), 6);
  header.writeUInt32LE(crc32(content), 10);
  header.writeUInt32LE(deflated.length, 14);
  header.writeUInt32LE(content.length, 18);
  header.writeUInt16LE(nameBytes, 22);
  header.writeUInt16LE(extraBytes, 24);
  return header;
};

const signature = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

const directoryEntry = (entry: ZipEntry, name: Buffer, offset: number): Buffer => {
  const extra = Buffer.alloc(offset >= max32 ? 12 : 0);
  if (extra.length > 0) {
    extra.writeUInt16LE(1, 0);
    extra.writeUInt16LE(8, 2);
    extra.writeBigUInt64LE(BigInt(offset), 4);
  }
  const rest = Buffer.alloc(14);
  // Unix mode of a regular file, rw-r--r--.
  rest.writeUInt32LE(0o100644 * 0x10000, 6);
  rest.writeUInt32LE(Math.min(offset, max32), 10);
  // Version 4.5, Unix.
  return Buffer.concat([signature(0x02014b50), Buffer.from([45, 3]), commonHeader(entry, name.length, extra.length), rest, name, extra]);
};

const endOfDirectory = (entries: number, bytes: number, offset: number): Buffer => {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Math.min(entries, max16), 8);
  end.writeUInt16LE(Math.min(entries, max16), 10);
  end.writeUInt32LE(Math.min(bytes, max32), 12);
  end.writeUInt32LE(Math.min(offset, max32), 16);
  if (entries < max16 && bytes < max32 && offset < max32) return end;
  const end64 = Buffer.alloc(56 + 20);
  end64.writeUInt32LE(0x06064b50, 0);
  end64.writeBigUInt64LE(44n, 4);
  end64.writeUInt16LE(45, 12);
  end64.writeUInt16LE(45, 14);
  end64.writeBigUInt64LE(BigInt(entries), 24);
  end64.writeBigUInt64LE(BigInt(entries), 32);
  end64.writeBigUInt64LE(BigInt(bytes), 40);
  end64.writeBigUInt64LE(BigInt(offset), 48);
  end64.writeUInt32LE(0x07064b50, 56);
  end64.writeBigUInt64LE(BigInt(offset + bytes), 64);
  end64.writeUInt32LE(1, 72);
  return Buffer.concat([end64, end]);
};

export async function* zipPieces(pages: AsyncIterable<readonly ZipEntry[]>): AsyncGenerator<Uint8Array> {
  const directory: Buffer[] = [];
  let [entries, offset, directoryBytes] = [0, 0, 0];
  for await (const page of pages) {
    const pieces: Uint8Array[] = [];
    const listed: Buffer[] = [];
    for (const entry of page) {
      const name = Buffer.from(entry.name);
      const header = Buffer.concat([signature(0x04034b50), commonHeader(entry, name.length, 0), name]);
      listed.push(directoryEntry(entry, name, offset));
      pieces.push(header, entry.deflated);
      offset += header.length + entry.deflated.length;
    }
    if (page.length === 0) continue;
    const together = Buffer.concat(listed);
    directory.push(together);
    directoryBytes += together.length;
    entries += page.length;
    yield Buffer.concat(pieces);
  }
  yield* directory;
  yield endOfDirectory(entries, directoryBytes, offset);
}
