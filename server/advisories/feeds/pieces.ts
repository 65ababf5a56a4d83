// Splits large files into texts of one record: JSON Lines, lists of documents, the NVD's pages and years, Debian's tracker, the
// EPSS table. One piece is in memory at a time. An invalid one is refused with its line, and the others are read.

import { limits } from "#base/limits.ts";
import type { FeedFileReader } from "./file-reader.ts";
import { DocumentError } from "./invalid.ts";
import { isJsonLines } from "./recognise.ts";

export interface Piece {
  readonly text: Buffer;
  /** Its first line, from 1. */
  readonly line: number;
}

/** Returns undefined after the last piece. Throws DocumentError if the file is truncated. */
export type Pieces = () => Promise<Piece | undefined>;

const around = (before: string, piece: Piece, behind: string): Piece => ({
  text: Buffer.concat([Buffer.from(before), piece.text, Buffer.from(behind)]),
  line: piece.line,
});

const linePieces =
  (reader: FeedFileReader): Pieces =>
  async () => {
    const line = reader.lineNumber;
    const text = await reader.line();
    // A view would keep the larger chunk in memory.
    return text === undefined ? undefined : { text: Buffer.from(text), line };
  };

const characters = (text: string): number => text.charCodeAt(0);
const [listStart, listEnd, objectStart, objectEnd, comma, colon] = ["[", "]", "{", "}", ",", ":"].map(characters);

const notJson = (reader: FeedFileReader, reason: string): DocumentError => new DocumentError(reader.lineNumber, `not valid JSON: ${reason}`);

/** Iterates over a list or object. */
const partsUntil = (reader: FeedFileReader, first: number | undefined, last: number | undefined, readPart: () => Promise<Piece>): Pieces => {
  let isBegun = false;
  let isEnded = false;
  return async () => {
    if (isEnded) return undefined;
    if (!isBegun && (await reader.take()) !== first) throw notJson(reader, "must be a list or an object");
    const next = await reader.peek();
    if (next === last) {
      await reader.take();
      isEnded = true;
      return undefined;
    }
    if (next === undefined) throw notJson(reader, "it ends too early");
    if (isBegun && (await reader.take()) !== comma) throw notJson(reader, "expected a comma");
    if (isBegun && (await reader.peek()) === last) throw notJson(reader, "expected a value after the comma");
    isBegun = true;
    return readPart();
  };
};

const listPieces = (reader: FeedFileReader, before = "", behind = ""): Pieces =>
  partsUntil(reader, listStart, listEnd, async () => {
    const piece = await reader.value();
    return before === "" ? piece : around(before, piece, behind);
  });

/** Yields each member as an object. */
const memberPieces = (reader: FeedFileReader): Pieces =>
  partsUntil(reader, objectStart, objectEnd, async () => {
    const key = await reader.value();
    if ((await reader.take()) !== colon) throw notJson(reader, "expected a colon");
    const value = await reader.value();
    return { text: Buffer.concat([Buffer.from("{"), key.text, Buffer.from(":"), value.text, Buffer.from("}")]), line: key.line };
  });

const trackerForm = /^\s*\{\s*"[a-z0-9][a-z0-9+.-]*"\s*:\s*\{\s*"(?:CVE-\d{4}-\d+|TEMP-\w+-\w+)"\s*:\s*\{/;
const nvdForm = /"format"\s*:\s*"NVD_CVE"/;
const nvdListForm = /"vulnerabilities"\s*:\s*(?=\[)/;
const scoresForm = /^(?:#model_version:|cve,epss,percentile\s)/;

const scoreDate = /score_date:(\d{4}-\d{2}-\d{2})/;

/** Yields rows with the date from the header. */
const scorePieces = async (reader: FeedFileReader): Promise<Pieces> => {
  const readText = async (): Promise<string> => ((await reader.line()) ?? Buffer.alloc(0)).toString("latin1").trim();
  const head = await readText();
  const [, date] = scoreDate.exec(head) ?? [];
  if (date === undefined) throw new DocumentError(1, "must have score_date in the first line of the EPSS table");
  if ((await readText()) !== "cve,epss,percentile") throw new DocumentError(2, "must be the heading cve,epss,percentile");
  const next = linePieces(reader);
  return async () => {
    const piece = await next();
    if (piece === undefined) return undefined;
    const [cve, epss, percentile, ...more] = piece.text.toString("latin1").trim().split(",");
    const row = cve === "" ? undefined : { cve, epss, percentile, date, ...(more.length > 0 ? { more } : {}) };
    return { text: Buffer.from(row ? JSON.stringify(row) : ""), line: piece.line };
  };
};

/** Returns undefined if the file is one document. */
export const openPieces = async (reader: FeedFileReader, start: string, isComplete: boolean): Promise<Pieces | undefined> => {
  const head = start.replace(/^\uFEFF/, "");
  if (head.length < start.length) reader.skip(3);
  if (scoresForm.test(head)) return scorePieces(reader);
  if (isJsonLines(head, isComplete)) return linePieces(reader);
  if (/^\s*\[/.test(head)) return listPieces(reader);
  if (trackerForm.test(head)) return memberPieces(reader);
  const list = nvdForm.test(head) ? nvdListForm.exec(head) : null;
  if (list === null) return undefined;
  reader.skip(Buffer.byteLength(head.slice(0, list.index + list[0].length)));
  return listPieces(reader, '{"format":"NVD_CVE","vulnerabilities":[', "]}");
};

/** A part is the unit that is tracked and written. */
export const readPiecesOfPart = async (next: Pieces): Promise<{ readonly pieces: readonly Piece[]; readonly isLast: boolean }> => {
  const pieces: Piece[] = [];
  for (let sizeBytes = 0; pieces.length < limits.feedPartLines && sizeBytes < limits.feedPartBytes; ) {
    const piece = await next();
    if (piece === undefined) return { pieces, isLast: true };
    pieces.push(piece);
    sizeBytes += piece.text.length;
  }
  return { pieces, isLast: false };
};
