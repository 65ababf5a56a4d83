// Builds zip archives for tests, both valid and invalid.

import { crc32, deflateRawSync } from "node:zlib";
import { openZip, type ZipEntry } from "./zip.ts";

export interface ZipFixtureEntry {
  readonly name: string;
  readonly content: string | Uint8Array;
  /** 0 is stored, 8 deflated (default). */
  readonly method?: number;
  /** Bit 0 is encryption. */
  readonly flags?: number;
  /** Wrong values for the directory. */
  readonly unpackedBytes?: number;
  readonly checksum?: number;
  /** Refers to the previous entry's data. */
  readonly isOverlapping?: boolean;
  /** Appended to the compressed data and counted as part of it. */
  readonly behind?: Uint8Array;
}

const u16 = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 2);
  values.forEach((value, index) => {
    bytes.writeUInt16LE(value, index * 2);
  });
  return bytes;
};

const u32 = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => {
    bytes.writeUInt32LE(value, index * 4);
  });
  return bytes;
};

const u64 = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 8);
  values.forEach((value, index) => {
    bytes.writeBigUInt64LE(BigInt(value), index * 8);
  });
  return bytes;
};

/** Optionally with a wrong entry count. 64-bit counts if needed. */
export const zipArchive = (entries: readonly ZipFixtureEntry[], claimed = entries.length): Buffer => {
  const data: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  let before = 0;
  for (const { name, content, method = 8, flags = 0, unpackedBytes, checksum, isOverlapping = false, behind = new Uint8Array() } of entries) {
    const bytes = Buffer.from(content);
    const packed = Buffer.concat([method === 8 ? deflateRawSync(bytes) : bytes, behind]);
    const facts = [u32(checksum ?? crc32(bytes), packed.length, unpackedBytes ?? bytes.length), u16(Buffer.byteLength(name), 0)];
    const start = isOverlapping ? before : offset;
    if (!isOverlapping) {
      const local = Buffer.concat([u32(0x04034b50), u16(20, flags, method, 0, 0), ...facts, Buffer.from(name), packed]);
      data.push(local);
      before = offset;
      offset += local.length;
    }
    directory.push(u32(0x02014b50), u16(20, 20, flags, method, 0, 0), ...facts, u16(0, 0, 0), u32(0, start), Buffer.from(name));
  }
  const listed = Buffer.concat(directory);
  const count = claimed;
  const end64 = [
    u32(0x06064b50),
    u64(44),
    u16(45, 45),
    u32(0, 0),
    u64(count, count, listed.length, offset),
    u32(0x07064b50, 0),
    u64(offset + listed.length),
    u32(1),
  ];
  const isLarge = count > 0xfffe;
  const end = [u32(0x06054b50), u16(0, 0, isLarge ? 0xffff : count, isLarge ? 0xffff : count), u32(listed.length, isLarge ? 0xffffffff : offset), u16(0)];
  return Buffer.concat([...data, listed, ...(isLarge ? end64 : []), ...end]);
};

export const readZip = async (bytes: Buffer): Promise<ZipEntry[]> => {
  const entries: ZipEntry[] = [];
  const stored = { sizeBytes: bytes.length, read: async (position: number, length: number) => bytes.subarray(position, position + length) };
  for await (const entry of (await openZip(stored)).entries()) entries.push(entry);
  return entries;
};
