// Headers of rpm packages, as rpm's databases store them: an index of tags, then their data, big-endian.

import { limits } from "#base/limits.ts";
import type { FoundPackage } from "../found-package.ts";
import { DatabaseError } from "../problem.ts";

const tags = { name: 1000, version: 1001, release: 1002, epoch: 1003, architecture: 1022, source: 1044 } as const;
const entryBytes = 16;

/** Of rpmTagType: a number of 32 bits, and a string. */
const types = { int32: 4, string: 6 } as const;

/** "openssl-3.0.7-18.el9.src.rpm" is the source "openssl" of version "3.0.7-18.el9". */
const sourceForm = /^(.+)-([^-]+-[^-]+)\.(?:no)?src\.rpm$/;

/** Returns undefined for entries that are not software, such as keys. Throws DatabaseError. */
const readRpmHeader = (bytes: Buffer): FoundPackage | undefined => {
  if (bytes.length < 8) throw new DatabaseError("has a truncated header");
  const [count, dataBytes] = [bytes.readUInt32BE(0), bytes.readUInt32BE(4)];
  const start = 8 + count * entryBytes;
  if (count > limits.rpmHeaderBytesMax / entryBytes || start + dataBytes > bytes.length) throw new DatabaseError("has a header with sizes that do not fit");
  const data = bytes.subarray(start, start + dataBytes);
  const texts = new Map<number, string>();
  let epoch = 0;
  for (let at = 8; at < start; at += entryBytes) {
    const [tag, type, offset] = [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4), bytes.readUInt32BE(at + 8)];
    if (offset > data.length) throw new DatabaseError("has a header with sizes that do not fit");
    if (tag === tags.epoch && type === types.int32) {
      if (offset + 4 > data.length) throw new DatabaseError("has a header with sizes that do not fit");
      epoch = data.readUInt32BE(offset);
    } else if (type === types.string && Object.values(tags).some((wanted) => wanted === tag)) {
      const end = data.indexOf(0, offset);
      texts.set(tag, data.toString("utf8", offset, end < 0 ? data.length : end));
    }
  }
  const field = (tag: number): string => texts.get(tag) ?? "";
  const [name, version, release] = [field(tags.name), field(tags.version), field(tags.release)];
  if (name === "" || version === "" || name === "gpg-pubkey") return undefined;
  const [, origin = "", originVersion = ""] = sourceForm.exec(field(tags.source)) ?? [];
  const own = release === "" ? version : `${version}-${release}`;
  const isOther = origin !== "" && (origin !== name || originVersion !== own);
  return {
    type: "rpm",
    namespace: "",
    name,
    version: epoch > 0 ? `${epoch}:${own}` : own,
    architecture: field(tags.architecture),
    origin: isOther ? origin : "",
    originVersion: isOther ? originVersion : "",
  };
};

export interface RpmHeaders {
  /** Reads one header; undefined for none. A damaged one does not stop the others. */
  read(header: () => Buffer | undefined): void;
  /** Throws DatabaseError if one was damaged. */
  finish(): void;
}

export const openRpmHeaders = (use: (found: FoundPackage) => void): RpmHeaders => {
  let damage: DatabaseError | undefined;
  return {
    read(header) {
      let found: FoundPackage | undefined;
      try {
        const bytes = header();
        found = bytes && readRpmHeader(bytes);
      } catch (thrown) {
        if (!(thrown instanceof DatabaseError)) throw thrown;
        damage ??= thrown;
      }
      if (found) use(found);
    },
    finish() {
      if (damage) throw damage;
    },
  };
};
