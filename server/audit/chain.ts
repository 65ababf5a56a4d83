// An organization's entries as a chain: each has the hash of itself and of the one before. Pure.

import { createHash } from "node:crypto";

/** What the log keeps of one thing that was done or refused. */
export interface Entry {
  /** The place that it is told at, and its number in the chain. */
  readonly uid: string;
  /** From 1, without gaps within an organization. */
  readonly sequence: number;
  /** RFC 3339, to the millisecond: when it happened, and when it was sealed. */
  readonly createTime: string;
  readonly sealTime: string;
  readonly callerUid: string;
  readonly act: Readonly<Record<string, string>>;
  readonly operation: string;
  readonly subject: string;
  readonly type: string;
  readonly code: string;
  readonly count: number;
  readonly bindingUids: readonly string[];
  readonly remoteAddress: string;
  readonly userAgent: string;
  readonly requestId: string;
  readonly eventId: string;
}

/** Where a chain stands: its last entry, or what stands before its first. */
export interface Link {
  readonly sequence: number;
  readonly hash: string;
}

export const beginning: Link = Object.freeze({ sequence: 0, hash: "" });

/** The entry as one text. A list, whose order nothing can change; the columns' types (jsonb) keep no order of keys. */
const textOf = (entry: Entry): string =>
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
  ]);

/** SHA-256, in hex, of the hash before and the entry. */
export const hashOf = (previous: string, entry: Entry): string =>
  createHash("sha256")
    .update(`${previous}\n${textOf(entry)}`)
    .digest("hex");
