// The first step of an import: a source's files, read in chunks, to parts that are to be written. What is the same as the
// last time is not read again; a document that is wrong is refused as a whole, of JSON Lines each line by itself.

import { createHash } from "node:crypto";
import { findRepeatedKey } from "#base/json-keys.ts";
import { limits } from "#base/limits.ts";
import { type FeedPart, findFeedParts, findPartRecords, type KnownParts, partKey, type Read, recordKey } from "#store";
import { type DocumentOptions, type ReadDocument, readDocument } from "./document.ts";
import { decodeUtf8, FeedFileReader } from "./file-reader.ts";
import { DocumentError } from "./invalid.ts";
import { isJsonLines, recogniseNotation } from "./recognise.ts";
import type { FeedFile } from "./source.ts";

/** A file, or a part of a long one, with the records that it tells. */
export interface ReadPart {
  readonly part: FeedPart;
  readonly documents: readonly ReadDocument[];
  /** Some of its lines were refused. */
  readonly isPartial: boolean;
  /** The file's name and the part's first line, for a refusal by the store. */
  readonly label: string;
  readonly line: number;
  readonly sizeBytes: number;
}

export interface Refusal {
  readonly label: string;
  /** From 1. */
  readonly line: number;
  readonly reason: string;
}

export interface ReadFile {
  readonly name: string;
  /** How many parts it has; everyPart of a file that was refused. */
  readonly parts: number;
  readonly isUnchanged: boolean;
  /** It is its source's only file and was refused: nothing is known of what the source still tells. */
  readonly isUnread: boolean;
}

/** What comes out of reading, in the order of the files. */
export type Reading =
  | { readonly kind: "begin"; readonly label: string }
  | { readonly kind: "part"; readonly part: ReadPart }
  | { readonly kind: "unchanged"; readonly records: number }
  | { readonly kind: "refusal"; readonly refusal: Refusal }
  /** Something that was read in one of several ways. */
  | { readonly kind: "remark"; readonly remark: Refusal }
  | { readonly kind: "unmatched"; readonly refusal: Refusal }
  | { readonly kind: "passed over"; readonly label: string; readonly reason: string }
  | { readonly kind: "end"; readonly file: ReadFile };

export interface ReadContext {
  readonly rows: Read;
  readonly feed: string;
  readonly options: DocumentOptions;
}

/** What is refused is still there: what it told before is not gone. */
const everyPart = Number.MAX_SAFE_INTEGER;

const bytesDigestOf = (chunks: readonly Uint8Array[]): string => {
  const hash = createHash("sha256");
  for (const chunk of chunks) hash.update(chunk).update("\n");
  return hash.digest("base64url");
};

interface Lines {
  readonly lines: readonly Buffer[];
  /** From 1. */
  readonly firstLine: number;
  readonly sizeBytes: number;
  readonly isLast: boolean;
}

/** The lines of the part that comes next. */
const readLinesOfPart = async (reader: FeedFileReader): Promise<Lines> => {
  const lines: Buffer[] = [];
  const firstLine = reader.lineNumber;
  let sizeBytes = 0;
  while (lines.length < limits.feedPartLines && sizeBytes < limits.feedPartBytes) {
    const line = await reader.line();
    if (line === undefined) return { lines, firstLine, sizeBytes, isLast: true };
    // A line is a view of a larger piece; kept alone it would hold all of it in memory.
    lines.push(Buffer.from(line));
    sizeBytes += line.length;
  }
  return { lines, firstLine, sizeBytes, isLast: false };
};

/** JSON.parse takes the last of what a key is given; documents of others are read all the same, and it is told. */
const remarkOn = (text: string, label: string, line: number): Reading[] => {
  const key = findRepeatedKey(text);
  if (key === undefined) return [];
  const reason = `gives the key ${JSON.stringify(key.slice(0, 100))} more than once in one object: the last counts`;
  return [{ kind: "remark", remark: { label, line, reason } }];
};

async function* readPart(
  { rows, feed, options }: ReadContext,
  file: FeedFile,
  { part, digest, isKnown }: { readonly part: number; readonly digest: string; readonly isKnown: boolean },
  { lines, firstLine, sizeBytes }: Lines,
): AsyncGenerator<Reading> {
  const documents: ReadDocument[] = [];
  let isRefused = false;
  for (const [index, line] of lines.entries()) {
    try {
      const text = decodeUtf8(line);
      if (text.trim() === "") continue;
      const document = await readDocument(text, "json", options);
      documents.push(document);
      yield* remarkOn(text, file.label, firstLine + index);
      if (document.unmatched) yield { kind: "unmatched", refusal: { label: file.label, line: firstLine + index, reason: document.unmatched.reason } };
    } catch (thrown) {
      if (!(thrown instanceof DocumentError)) throw thrown;
      isRefused = true;
      yield { kind: "refusal", refusal: { label: file.label, line: firstLine + index, reason: thrown.message } };
    }
  }
  const keys = new Set(documents.flatMap(({ records }) => records.map(recordKey)));
  // What a refused line told before is not gone; and the part is read again the next time.
  if (isRefused && isKnown) for (const key of await findPartRecords(rows, feed, file.name, part)) keys.add(key);
  const read = { name: file.name, part, digest: isRefused ? "" : digest, records: [...keys] };
  yield { kind: "part", part: { part: read, documents, isPartial: isRefused, label: file.label, line: firstLine, sizeBytes } };
}

/** A file of JSON Lines, part by part. */
async function* readJsonLines(context: ReadContext, file: FeedFile, reader: FeedFileReader, known: KnownParts): AsyncGenerator<Reading> {
  let isUnchanged = true;
  let part = 0;
  for (let isLast = false; !isLast; part++) {
    const lines = await readLinesOfPart(reader);
    if (lines.lines.length === 0 && part > 0) break;
    isLast = lines.isLast;
    const digest = bytesDigestOf(lines.lines);
    const before = known.get(partKey(file.name, part));
    if (before?.digest === digest) yield { kind: "unchanged", records: before.records };
    else {
      isUnchanged = false;
      yield* readPart(context, file, { part, digest, isKnown: before !== undefined }, lines);
    }
  }
  yield { kind: "end", file: { name: file.name, parts: part, isUnchanged, isUnread: false } };
}

/** A file that is one document. */
async function* readOneDocument({ options }: ReadContext, file: FeedFile, reader: FeedFileReader, known: KnownParts): AsyncGenerator<Reading> {
  const bytes = await reader.rest();
  const digest = bytesDigestOf([bytes]);
  const before = known.get(partKey(file.name, 0));
  const end = { name: file.name, parts: 1, isUnchanged: before?.digest === digest, isUnread: false };
  if (before && end.isUnchanged) {
    yield { kind: "unchanged", records: before.records };
    yield { kind: "end", file: end };
    return;
  }
  // Before it is known to be text: a picture is no damaged feed.
  const notation = recogniseNotation(bytes.toString("utf8", 0, limits.feedHeadLength));
  if (notation === "prose" && file.isOfMany) {
    yield { kind: "passed over", label: file.label, reason: "is no feed" };
    yield { kind: "end", file: end };
    return;
  }
  const text = decodeUtf8(bytes);
  if (notation === "prose") throw new DocumentError(1, text.trim() === "" ? "is empty" : `is of no format that import ${options.kind} knows`);
  const document = await readDocument(text, notation, options);
  const { records } = document;
  if (notation === "json") yield* remarkOn(text, file.label, 1);
  if (document.unmatched) yield { kind: "unmatched", refusal: { label: file.label, ...document.unmatched } };
  else if (records.length === 0 && !/"?advisories"?\s*:/.test(text)) yield { kind: "passed over", label: file.label, reason: `tells of no ${options.kind}` };
  const read = { name: file.name, part: 0, digest, records: [...new Set(records.map(recordKey))] };
  yield { kind: "part", part: { part: read, documents: [document], isPartial: false, label: file.label, line: 1, sizeBytes: bytes.length } };
  yield { kind: "end", file: end };
}

async function* readFile(context: ReadContext, file: FeedFile, known: KnownParts): AsyncGenerator<Reading> {
  yield { kind: "begin", label: file.label };
  let reader: FeedFileReader | undefined;
  try {
    reader = await FeedFileReader.open(file);
    // The second line must have begun.
    const start = await reader.head((bytes) => {
      const lineEnd = bytes.indexOf("\n");
      return bytes.length >= limits.feedHeadLength && lineEnd >= 0 && bytes.subarray(lineEnd).toString("latin1").trimStart() !== "";
    });
    const isComplete = start.length < limits.feedHeadLength;
    yield* (isJsonLines(start.toString("utf8"), isComplete) ? readJsonLines : readOneDocument)(context, file, reader, known);
  } catch (thrown) {
    if (!(thrown instanceof DocumentError)) throw thrown;
    yield { kind: "refusal", refusal: { label: file.label, line: thrown.line, reason: thrown.message } };
    yield { kind: "end", file: { name: file.name, parts: everyPart, isUnchanged: false, isUnread: !file.isOfMany } };
  } finally {
    await reader?.close();
  }
}

async function* chunksOf(files: AsyncIterable<FeedFile>): AsyncGenerator<FeedFile[]> {
  let chunk: FeedFile[] = [];
  for await (const file of files) {
    chunk.push(file);
    if (chunk.length < limits.feedChunkFiles) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/** Reads the files of a source. */
export async function* readFiles(context: ReadContext, files: AsyncIterable<FeedFile>): AsyncGenerator<Reading> {
  for await (const chunk of chunksOf(files)) {
    const known = await findFeedParts(
      context.rows,
      context.feed,
      chunk.map(({ name }) => name),
    );
    for (const file of chunk) yield* readFile(context, file, known);
  }
}
