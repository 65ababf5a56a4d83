// rpm's database in Berkeley DB (Packages, a hash): RHEL and UBI 8, CentOS 7, Amazon Linux 2. Read only, without the library: pages
// with pairs of a number and a header, which is on overflow pages.

import { limits } from "#base/limits.ts";
import type { ByteSource } from "../byte-source.ts";
import type { FoundPackage } from "../found-package.ts";
import { DatabaseError } from "../problem.ts";
import { openRpmHeaders } from "./rpm-header.ts";

const hashMagic = 0x00061561;
const pageTypes = { unsortedHash: 2, overflow: 7, hash: 13 } as const;
const itemTypes = { keyData: 1, offPage: 3 } as const;
const pageHeadBytes = 26;

class Pages {
  readonly #source: ByteSource;
  readonly #isLittleEndian: boolean;
  readonly pageBytes: number;
  readonly lastPage: number;

  constructor(source: ByteSource) {
    this.#source = source;
    const head = source.read(0, 72);
    if (head.length < 72) throw new DatabaseError("is no hash of Berkeley DB");
    this.#isLittleEndian = head.readUInt32LE(12) === hashMagic;
    if (!this.#isLittleEndian && head.readUInt32BE(12) !== hashMagic) throw new DatabaseError("is no hash of Berkeley DB");
    if (head[24] !== 0) throw new DatabaseError("is an encrypted database");
    this.pageBytes = this.u32(head, 20);
    this.lastPage = this.u32(head, 32);
    const isPower = (this.pageBytes & (this.pageBytes - 1)) === 0;
    if (this.pageBytes < 512 || this.pageBytes > 65_536 || !isPower) throw new DatabaseError("has a page size that is not possible");
    if ((this.lastPage + 1) * this.pageBytes > source.sizeBytes) throw new DatabaseError("is a truncated database");
  }

  u16(bytes: Buffer, at: number): number {
    return this.#isLittleEndian ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at);
  }

  u32(bytes: Buffer, at: number): number {
    return this.#isLittleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
  }

  read(page: number): Buffer {
    const bytes = this.#source.read(page * this.pageBytes, this.pageBytes);
    if (bytes.length < this.pageBytes) throw new DatabaseError("is a truncated database");
    return bytes;
  }

  /** Follows overflow pages. Each page has content, so that a loop ends with the length. */
  readOverflow(first: number, length: number): Buffer {
    if (length > limits.rpmHeaderBytesMax) throw new DatabaseError("has a header that is too large");
    const pieces: Buffer[] = [];
    let rest = length;
    for (let page = first; rest > 0; ) {
      if (page === 0 || page > this.lastPage) throw new DatabaseError("is a damaged database");
      const bytes = this.read(page);
      const used = this.u16(bytes, 22);
      if (bytes[25] !== pageTypes.overflow || used === 0 || pageHeadBytes + used > bytes.length) throw new DatabaseError("is a damaged database");
      const piece = bytes.subarray(pageHeadBytes, pageHeadBytes + Math.min(used, rest));
      pieces.push(piece);
      rest -= piece.length;
      page = this.u32(bytes, 16);
    }
    return Buffer.concat(pieces);
  }
}

/** Returns undefined for values that are not headers. */
const readEntry = (pages: Pages, bytes: Buffer, entry: number): Buffer | undefined => {
  const at = pages.u16(bytes, pageHeadBytes + entry * 2);
  const before = pages.u16(bytes, pageHeadBytes + (entry - 1) * 2);
  if (at < pageHeadBytes || at >= before || before > bytes.length) throw new DatabaseError("has a damaged page");
  if (bytes[at] === itemTypes.offPage && at + 12 <= bytes.length) return pages.readOverflow(pages.u32(bytes, at + 4), pages.u32(bytes, at + 8));
  // The next free number of a package has four bytes.
  return bytes[at] === itemTypes.keyData && before - at - 1 > 16 ? bytes.subarray(at + 1, before) : undefined;
};

/** Calls `use` for each package. Throws DatabaseError. */
export const readRpmBdb = (source: ByteSource, use: (found: FoundPackage) => void): void => {
  if (source.sizeBytes === 0) return;
  const pages = new Pages(source);
  const headers = openRpmHeaders(use);
  let readBytes = 0;
  for (let page = 1; page <= pages.lastPage; page++) {
    const bytes = pages.read(page);
    if (bytes[25] !== pageTypes.hash && bytes[25] !== pageTypes.unsortedHash) continue;
    const count = pages.u16(bytes, 20);
    if (pageHeadBytes + count * 2 > bytes.length) throw new DatabaseError("is a damaged database");
    // Keys and values take turns.
    for (let entry = 1; entry < count; entry += 2) {
      headers.read(() => {
        const header = readEntry(pages, bytes, entry);
        readBytes += header?.length ?? 0;
        return header;
      });
      // Several entries may share overflow pages.
      if (readBytes > limits.spoolBytesMax) throw new DatabaseError("has headers that are too large");
    }
  }
  headers.finish();
};
