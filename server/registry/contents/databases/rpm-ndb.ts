// rpm's own database (Packages.db): SUSE and openSUSE. Pages of slots, each with the place of a header (rpm's lib/backend/ndb).

import { limits } from "#base/limits.ts";
import type { ByteSource } from "../byte-source.ts";
import type { FoundPackage } from "../found-package.ts";
import { DatabaseError } from "../problem.ts";
import { openRpmHeaders } from "./rpm-header.ts";

const magics = { header: 0x506d7052, slot: 0x746f6c53, blob: 0x53626c42 } as const;
const slotBytes = 16;
const pageBytes = 4096;
const blockBytes = 16;
const blobHeadBytes = 16;

const readBlob = (source: ByteSource, position: number, index: number): Buffer => {
  const head = source.read(position, blobHeadBytes);
  if (head.length < blobHeadBytes || head.readUInt32LE(0) !== magics.blob || head.readUInt32LE(4) !== index) throw new DatabaseError("has a damaged header");
  const length = head.readUInt32LE(12);
  if (length > limits.rpmHeaderBytesMax) throw new DatabaseError("has a header that is too large");
  return source.read(position + blobHeadBytes, length);
};

/** Calls `use` for each package. Throws DatabaseError. */
export const readRpmNdb = (source: ByteSource, use: (found: FoundPackage) => void): void => {
  if (source.sizeBytes === 0) return;
  const head = source.read(0, 32);
  if (head.length < 32 || head.readUInt32LE(0) !== magics.header || head.readUInt32LE(4) !== 0) throw new DatabaseError("is no database of rpm");
  const pageCount = head.readUInt32LE(12);
  if (pageCount * pageBytes > source.sizeBytes) throw new DatabaseError("is a truncated database of rpm");
  const headers = openRpmHeaders(use);
  let count = 0;
  for (let page = 0; page < pageCount; page++) {
    const slots = source.read(page * pageBytes, pageBytes);
    // The first two places of the first page are the header.
    for (let at = page === 0 ? 2 * slotBytes : 0; at + slotBytes <= slots.length; at += slotBytes) {
      if (slots.readUInt32LE(at) !== magics.slot) throw new DatabaseError("is a damaged database of rpm");
      const index = slots.readUInt32LE(at + 4);
      if (index === 0) continue;
      if (++count > limits.layerPackagesMax) throw new DatabaseError(`has more than ${limits.layerPackagesMax} packages`);
      headers.read(() => readBlob(source, slots.readUInt32LE(at + 8) * blockBytes, index));
    }
  }
  headers.finish();
};
