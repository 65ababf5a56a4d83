// Export format of entries: one line of JSON that names its organization and position, so that a receiver can verify the chain
// (verify-file.ts). Plain ASCII, so names cannot break lines or control a terminal.

import { isObject, type Json, text, texts } from "#base/json.ts";
import { findEntryHashes, type StoredAuditEntry } from "#audit/store";
import type { Read } from "#db";
import type { Entry } from "./chain.ts";

/** An exported entry with its hashes. */
export interface AuditRecord extends Entry {
  /** UID of the chain's organization; the operator's for entries outside any organization. */
  readonly organization: string;
  /** "" for the first entry of a chain, and if the previous one has been dropped. */
  readonly previousHash: string;
  readonly hash: string;
}

/** Adds the previous hashes to entries of any chains. */
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

/** Formats JSON in ASCII without line breaks. */
export const asciiJson = (value: unknown): string => JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped);

/** Formats an entry as a line, without the line break. */
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

/** Parses a line; returns undefined if it is no entry. */
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
