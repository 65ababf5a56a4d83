// An entry of the log as it leaves the server: one line of JSON that says by itself to which organization's chain it belongs
// and where. A receiver can verify the chain without this server (verify-file.ts).
//
// The line is plain ASCII: whatever a name holds, a reader of lines sees one line, and a terminal no letter that it obeys.

import { isObject, type Json, text, texts } from "#base/json.ts";
import { findEntryHashes, type StoredAuditEntry } from "#audit/store";
import type { Read } from "#db";
import type { Entry } from "./chain.ts";

/** An entry with its hashes, as it is sent. */
export interface AuditRecord extends Entry {
  /** The uid of the chain's organization; the operator's own for what is in none. */
  readonly organization: string;
  /** "" for the first entry of a chain, and where the one before is kept no longer. */
  readonly previousHash: string;
  readonly hash: string;
}

/** Entries of any chains, in the order of each, with the hashes of those before them. */
export const recordsOf = async (
  read: Read,
  entries: readonly { readonly root: string; readonly entry: StoredAuditEntry }[],
): Promise<{ readonly organization: string; readonly entry: StoredAuditEntry; readonly previousHash: string }[]> => {
  const hashes = new Map<string, string>();
  const keyOf = (root: string, sequence: number): string => `${root} ${sequence}`;
  for (const { root, entry } of entries) hashes.set(keyOf(root, entry.sequence), entry.hash);
  const absent = entries
    .filter(({ root, entry: { sequence } }) => sequence > 1 && !hashes.has(keyOf(root, sequence - 1)))
    .map(({ root, entry: { sequence } }) => ({ root, sequence: sequence - 1 }));
  if (absent.length > 0) for (const { root, sequence, hash } of await findEntryHashes(read, absent)) hashes.set(keyOf(root, sequence), hash);
  return entries.map(({ root, entry }) => ({ organization: root, entry, previousHash: hashes.get(keyOf(root, entry.sequence - 1)) ?? "" }));
};

const escaped = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** JSON in ASCII alone, without a line break. */
export const asciiJson = (value: unknown): string => JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped);

/** The line of an entry, without the line break. */
export const recordLine = ({
  organization,
  entry,
  previousHash,
}: {
  readonly organization: string;
  readonly entry: StoredAuditEntry;
  readonly previousHash: string;
}): string => {
  const { hash, ...fields } = entry;
  return asciiJson({ organization, ...fields, previousHash, hash });
};

const textFields = [
  "uid",
  "createTime",
  "sealTime",
  "callerUid",
  "operation",
  "subject",
  "type",
  "code",
  "remoteAddress",
  "userAgent",
  "requestId",
  "eventId",
] as const;

const isTextMap = (value: Json | undefined): value is Record<string, string> =>
  isObject(value) && Object.values(value).every((each) => typeof each === "string");

const isTextList = (value: Json | undefined): value is string[] => Array.isArray(value) && value.every((each) => typeof each === "string");

/** The entry of a line; undefined where the line is none. */
export const readRecord = (line: string): AuditRecord | undefined => {
  let value: Json;
  try {
    value = JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { act, sequence, count, bindingUids, resourceUids, organization, previousHash, hash } = value;
  if (!isTextMap(act) || !isTextList(bindingUids) || !isTextList(resourceUids)) return undefined;
  if (typeof sequence !== "number" || typeof count !== "number") return undefined;
  for (const field of [organization, previousHash, hash, ...textFields.map((name) => value[name])]) if (typeof field !== "string") return undefined;
  const own = (name: (typeof textFields)[number]): string => text(value, name);
  return {
    organization: text(value, "organization"),
    previousHash: text(value, "previousHash"),
    hash: text(value, "hash"),
    uid: own("uid"),
    sequence,
    createTime: own("createTime"),
    sealTime: own("sealTime"),
    callerUid: own("callerUid"),
    act,
    operation: own("operation"),
    subject: own("subject"),
    type: own("type"),
    code: own("code"),
    count,
    bindingUids: texts(value, "bindingUids"),
    remoteAddress: own("remoteAddress"),
    userAgent: own("userAgent"),
    requestId: own("requestId"),
    eventId: own("eventId"),
    resourceUids: texts(value, "resourceUids"),
  };
};
