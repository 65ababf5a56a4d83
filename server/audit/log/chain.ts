// An organization's entries as a chain: each has the hash of itself and of the one before. Pure.

import { createHash } from "node:crypto";
import type { AuditEntry } from "#audit/store";

/** What the log keeps of an event, without the hash that comes of it. */
export type Entry = Omit<AuditEntry, "hash">;

/** Where a chain stands: its last entry, or what stands before its first. */
export interface Link {
  readonly sequence: number;
  readonly hash: string;
}

export const chainStart: Link = Object.freeze({ sequence: 0, hash: "" });

/** The entry as one text. A list, whose order nothing can change; the columns' types (jsonb) keep no order of keys. */
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

/** SHA-256, in hex, of the hash before and the entry. */
export const hashEntry = (previous: string, entry: Entry): string =>
  createHash("sha256")
    .update(`${previous}\n${hashedText(entry)}`)
    .digest("hex");
