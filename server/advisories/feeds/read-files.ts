// First step of an import: reads a source's files in chunks and yields parts to write. Unchanged parts are skipped. An invalid
// document is refused; in a file of many, the others are read.

import { createHash } from "node:crypto";
import { findRepeatedKey } from "#base/json-keys.ts";
import { limits } from "#base/limits.ts";
import { type FeedPart, findFeedParts, findPartRecords, type KnownParts, partKey, recordKey } from "#advisories/store";
import type { Read } from "#db";
import { type DocumentOptions, type ReadDocument, readDocument } from "./document.ts";
import { decodeUtf8, FeedFileReader } from "./file-reader.ts";
import { DocumentError } from "./invalid.ts";
import { openPieces, type Piece, type Pieces, readPiecesOfPart } from "./pieces.ts";
import { type Notation, recogniseNotation } from "./recognise.ts";
import type { Bundle, FeedFile } from "./feed-file.ts";

export interface ReadPart {
  readonly part: FeedPart;
  readonly documents: readonly ReadDocument[];
  /** Some of its documents were refused. */
  readonly isPartial: boolean;
  /** For errors on writing. */
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
  /** The number of its parts; everyPart if the file was refused. */
  readonly parts: number;
  readonly isUnchanged: boolean;
  /** The source's only file was refused: its records are unknown. */
  readonly isUnread: boolean;
}

export type Reading =
  | { readonly kind: "begin"; readonly label: string }
  | { readonly kind: "part"; readonly part: ReadPart }
  | { readonly kind: "unchanged"; readonly records: number }
  | { readonly kind: "refusal"; readonly refusal: Refusal }
  /** Ambiguous input that was resolved. */
  | { readonly kind: "remark"; readonly remark: Refusal }
  | { readonly kind: "unmatched"; readonly refusal: Refusal }
  | { readonly kind: "passed over"; readonly label: string; readonly reason: string }
  /** The file had records and has none now; they are kept. */
  | { readonly kind: "emptied"; readonly label: string; readonly name: string; readonly records: number }
  /** The source reports no change. */
  | { readonly kind: "same source" }
  | { readonly kind: "end"; readonly file: ReadFile };

export interface ReadContext {
  readonly rows: Read;
  readonly feed: string;
  readonly options: DocumentOptions;
  /** A suddenly empty file may remove its records. */
  readonly allowEmpty: boolean;
}

/** The records of a refused file are not missing. */
const everyPart = Number.MAX_SAFE_INTEGER;

const bytesDigestOf = (chunks: readonly Uint8Array[]): string => {
  const hash = createHash("sha256");
  for (const chunk of chunks) hash.update(chunk).update("\n");
  return hash.digest("base64url");
};

interface PartOfFile {
  readonly part: number;
  readonly digest: string;
  readonly isKnown: boolean;
}

type PartRead = Pick<ReadPart, "documents" | "isPartial" | "line" | "sizeBytes">;

/** Returns a part. Records of a refused document are kept, and the part is read again next time. */
const partReading = async ({ rows, feed }: ReadContext, file: FeedFile, { part, digest, isKnown }: PartOfFile, read: PartRead): Promise<Reading> => {
  const keys = new Set(read.documents.flatMap(({ records }) => records.map(recordKey)));
  if (read.isPartial && isKnown) for (const key of await findPartRecords(rows, feed, file.name, part)) keys.add(key);
  return { kind: "part", part: { part: { name: file.name, part, digest: read.isPartial ? "" : digest, records: [...keys] }, label: file.label, ...read } };
};

/** JSON.parse takes the last of duplicate keys; such documents are accepted with a remark. */
const remarkOn = (text: string, label: string, line: number): Reading[] => {
  const key = findRepeatedKey(text);
  if (key === undefined) return [];
  const reason = `gives the key ${JSON.stringify(key.slice(0, 100))} more than once in one object: the last counts`;
  return [{ kind: "remark", remark: { label, line, reason } }];
};

const remarksOn = (text: string, notation: Notation, documents: readonly ReadDocument[], label: string, line: number): Reading[] => [
  ...(notation === "json" ? remarkOn(text, label, line) : []),
  ...documents.flatMap(({ cuts }) => cuts.map((cut): Reading => ({ kind: "remark", remark: { label, line: line + cut.line - 1, reason: cut.reason } }))),
  ...documents.flatMap(({ unmatched }): Reading[] =>
    unmatched ? [{ kind: "unmatched", refusal: { label, line: line + unmatched.line - 1, reason: unmatched.reason } }] : [],
  ),
];

async function* readPart(context: ReadContext, file: FeedFile, part: PartOfFile, pieces: readonly Piece[]): AsyncGenerator<Reading> {
  const documents: ReadDocument[] = [];
  let isRefused = false;
  for (const { text: bytes, line } of pieces) {
    try {
      const text = decodeUtf8(bytes);
      if (text.trim() === "") continue;
      const read = await readDocument(text, "json", context.options);
      documents.push(...read);
      yield* remarksOn(text, "json", read, file.label, line);
    } catch (thrown) {
      if (!(thrown instanceof DocumentError)) throw thrown;
      isRefused = true;
      yield { kind: "refusal", refusal: { label: file.label, line: line + thrown.line - 1, reason: thrown.message } };
    }
  }
  const sizeBytes = pieces.reduce((sum, { text }) => sum + text.length, 0);
  yield partReading(context, file, part, { documents, isPartial: isRefused, line: pieces[0]?.line ?? 1, sizeBytes });
}

/** Returns the former number of records in a suddenly empty file; 0 if that is allowed. */
const emptiedRecords = ({ allowEmpty }: ReadContext, file: FeedFile, known: KnownParts): number => {
  if (allowEmpty) return 0;
  let records = 0;
  for (let part = 0; ; part++) {
    const before = known.get(partKey(file.name, part));
    if (!before) return records;
    records += before.records;
  }
};

function* keepEmptied(file: FeedFile, records: number): Generator<Reading> {
  file.refused?.();
  yield { kind: "emptied", label: file.label, name: file.name, records };
  yield { kind: "end", file: { name: file.name, parts: everyPart, isUnchanged: false, isUnread: !file.isOfMany } };
}

async function* readPieces(context: ReadContext, file: FeedFile, next: Pieces, known: KnownParts): AsyncGenerator<Reading> {
  let isUnchanged = true;
  let part = 0;
  for (let isEnded = false; !isEnded; part++) {
    const { pieces, isLast } = await readPiecesOfPart(next);
    if (pieces.length === 0 && part > 0) break;
    const emptied = pieces.every(({ text }) => text.length === 0) && part === 0 && isLast ? emptiedRecords(context, file, known) : 0;
    if (emptied > 0) {
      yield* keepEmptied(file, emptied);
      return;
    }
    isEnded = isLast;
    const digest = bytesDigestOf(pieces.map(({ text }) => text));
    const before = known.get(partKey(file.name, part));
    if (before?.digest === digest) yield { kind: "unchanged", records: before.records };
    else {
      isUnchanged = false;
      if (pieces.length === 0) yield { kind: "passed over", label: file.label, reason: `contains no ${context.options.kind}` };
      yield* readPart(context, file, { part, digest, isKnown: before !== undefined }, pieces);
    }
  }
  yield { kind: "end", file: { name: file.name, parts: part, isUnchanged, isUnread: false } };
}

/** An empty list of advisories counts as content. */
const tellsNothing = (text: string, documents: readonly ReadDocument[]): boolean =>
  documents.every(({ records, unmatched }) => records.length === 0 && !unmatched) && !/"?advisories"?\s*:/.test(text);

/** Each document is refused or skipped individually. */
async function* readBundle(context: ReadContext, file: FeedFile, { digest, documents }: Bundle, known: KnownParts): AsyncGenerator<Reading> {
  const { options } = context;
  const before = known.get(partKey(file.name, 0));
  const end: ReadFile = { name: file.name, parts: 1, isUnchanged: before?.digest === digest, isUnread: false };
  if (before && end.isUnchanged) yield { kind: "unchanged", records: before.records };
  else {
    const read: ReadDocument[] = [];
    let isRefused = false;
    let sizeBytes = 0;
    for (const { label, read: readBytes } of documents) {
      try {
        const { bytes, deflated } = await readBytes();
        sizeBytes += bytes.length;
        const notation = recogniseNotation(bytes.toString("utf8", 0, limits.feedHeadLength));
        if (notation === "prose") {
          yield { kind: "passed over", label, reason: "is not a known feed format" };
          continue;
        }
        const text = decodeUtf8(bytes);
        // With a byte order mark the deflated bytes cannot be reused.
        const found = await readDocument(text, notation, options, bytes[0] === 0xef ? undefined : deflated);
        read.push(...found);
        yield* remarksOn(text, notation, found, label, 1);
        if (tellsNothing(text, found)) yield { kind: "passed over", label, reason: `contains no ${options.kind}` };
      } catch (thrown) {
        if (!(thrown instanceof DocumentError)) throw thrown;
        isRefused = true;
        yield { kind: "refusal", refusal: { label, line: thrown.line, reason: thrown.message } };
      }
    }
    yield partReading(context, file, { part: 0, digest, isKnown: before !== undefined }, { documents: read, isPartial: isRefused, line: 1, sizeBytes });
  }
  yield { kind: "end", file: end };
}

async function* readOneDocument(context: ReadContext, file: FeedFile, reader: FeedFileReader, known: KnownParts): AsyncGenerator<Reading> {
  const { options } = context;
  const bytes = await reader.rest();
  const digest = bytesDigestOf([bytes]);
  const before = known.get(partKey(file.name, 0));
  const end = { name: file.name, parts: 1, isUnchanged: before?.digest === digest, isUnread: false };
  if (before && end.isUnchanged) {
    yield { kind: "unchanged", records: before.records };
    yield { kind: "end", file: end };
    return;
  }
  // Before decoding: a binary file is skipped, not refused.
  const notation = recogniseNotation(bytes.toString("utf8", 0, limits.feedHeadLength));
  if (notation === "prose" && file.isOfMany) {
    yield { kind: "passed over", label: file.label, reason: "is not a known feed format" };
    yield { kind: "end", file: end };
    return;
  }
  const text = decodeUtf8(bytes);
  if (notation === "prose") throw new DocumentError(1, text.trim() === "" ? "is empty" : `is of no format that import ${options.kind} knows`);
  const documents = await readDocument(text, notation, options);
  yield* remarksOn(text, notation, documents, file.label, 1);
  if (tellsNothing(text, documents)) {
    const emptied = emptiedRecords(context, file, known);
    if (emptied > 0) {
      yield* keepEmptied(file, emptied);
      return;
    }
    yield { kind: "passed over", label: file.label, reason: `contains no ${options.kind}` };
  }
  const place = { part: 0, digest, isKnown: before !== undefined };
  yield partReading(context, file, place, { documents, isPartial: false, line: 1, sizeBytes: bytes.length });
  yield { kind: "end", file: end };
}

async function* readUnchanged(file: FeedFile, known: KnownParts): AsyncGenerator<Reading> {
  let parts = 0;
  for (let part = known.get(partKey(file.name, 0)); part !== undefined; part = known.get(partKey(file.name, parts))) {
    yield { kind: "unchanged", records: part.records };
    parts++;
  }
  yield { kind: "end", file: { name: file.name, parts, isUnchanged: true, isUnread: false } };
}

async function* readContent(context: ReadContext, file: FeedFile, known: KnownParts): AsyncGenerator<Reading> {
  let reader: FeedFileReader | undefined;
  try {
    reader = await FeedFileReader.open(file);
    // The second line must have started.
    const start = await reader.head((bytes) => {
      const lineEnd = bytes.indexOf("\n");
      return bytes.length >= limits.feedHeadLength && lineEnd >= 0 && bytes.subarray(lineEnd).toString("latin1").trimStart() !== "";
    });
    const pieces = await openPieces(reader, start.toString("utf8"), start.length < limits.feedHeadLength);
    yield* pieces ? readPieces(context, file, pieces, known) : readOneDocument(context, file, reader, known);
  } finally {
    await reader?.close();
  }
}

async function* readFile(context: ReadContext, file: FeedFile, known: KnownParts): AsyncGenerator<Reading> {
  yield { kind: "begin", label: file.label };
  if (file.unchanged === "source") {
    yield { kind: "same source" };
    return;
  }
  if (file.unchanged === "file") {
    yield* readUnchanged(file, known);
    return;
  }
  try {
    for await (const reading of file.bundle ? readBundle(context, file, file.bundle, known) : readContent(context, file, known)) {
      if (reading.kind === "refusal") file.refused?.();
      yield reading;
    }
  } catch (thrown) {
    if (!(thrown instanceof DocumentError)) throw thrown;
    file.refused?.();
    yield { kind: "refusal", refusal: { label: file.label, line: thrown.line, reason: thrown.message } };
    yield { kind: "end", file: { name: file.name, parts: everyPart, isUnchanged: false, isUnread: !file.isOfMany } };
  }
}

async function* chunksOf(files: AsyncIterable<FeedFile>): AsyncGenerator<FeedFile[]> {
  let chunk: FeedFile[] = [];
  let documents = 0;
  let heldBytes = 0;
  for await (const file of files) {
    chunk.push(file);
    documents += file.bundle?.documents.length ?? 1;
    heldBytes += file.heldBytes ?? 0;
    if (chunk.length < limits.feedChunkFiles && documents < limits.feedChunkDocuments && heldBytes < limits.feedChunkBytes) continue;
    yield chunk;
    [chunk, documents, heldBytes] = [[], 0, 0];
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
