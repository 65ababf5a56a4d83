// An organization's entries as a hash chain. Pure.

import { createHash } from "node:crypto";
import type { AuditEntry } from "#audit/store";

/** An entry without the hash computed from it. */
export type Entry = Omit<AuditEntry, "hash">;

/** The end of a chain: its last entry, or the start. */
export interface Link {
  readonly sequence: number;
  readonly hash: string;
}

export const chainStart: Link = Object.freeze({ sequence: 0, hash: "" });

/** A list with a fixed order, because jsonb keeps no order of keys. */
const hashedText = (entry: Entry): string =>
  JSON.stringify([
    entry.uid,
    entry.sequence,
    entry.createTime,
    entry.sealTime,
    entry.callerUid,
    Object.entries(entry.act).sort(([one], [other]) => (one < other ? -1 : 1)),
    entry.operation,
    entry.subject,
    entry.type,
    entry.code,
    entry.count,
    entry.bindingUids,
    entry.remoteAddress,
    entry.userAgent,
    entry.requestId,
    entry.eventId,
    entry.resourceUids,
  ]);

/** Returns SHA-256, in hex, of the previous hash and the entry. */
export const hashEntry = (previous: string, entry: Entry): string =>
  createHash("sha256")
    .update(`${previous}\n${hashedText(entry)}`)
    .digest("hex");
