// Serves published advisories as documents at stable, open URLs (docs/decisions). A third-party record is served under its ID
// only unchanged, or converted with the same verdicts. The list names omitted records with reasons (left-out.ts).
//
//   /advisory/v2/osv/<number>.json               one OSV record for each ID: ours, and imported ones
//   /advisory/v2/openvex/<package>.json          ours, one document for each origin package
//   /advisory/v2/openvex/<number>.json           imported documents
//   /advisory/v2/csaf/…                          the same for CSAF (ours with the VEX profile)
//   /advisory/v2/secdb/<number>.json             imported documents; ours are one for each distribution (secdb/index.ts)
//   /advisory/v2/<kind>/all.json                 all documents with change times, and omitted records with reasons;
//                                                ?since=<time> leaves out older ones
//
// The entry points of CSAF are below /.well-known/csaf (csaf/index.ts).

import { parentOf } from "#base/uid.ts";
import { limits } from "#base/limits.ts";
import { createHash } from "node:crypto";
import { Fault, invalid } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { readTimestamp, timestamp } from "#base/time.ts";
import { matchesEtag } from "#base/etag.ts";
import {
  type AdvisoryRow,
  findDocumentsOf,
  findOwnByIds,
  findOwnHistory,
  findOwnPast,
  findOwnPrivate,
  findSourceDocuments,
  type PublicDocument,
  readAdvisoryState,
  type Reader,
  readPublishedState,
} from "#advisories/store";
import { textOfStored } from "../stored-document.ts";
import { type Published, publishedOf } from "./advisory.ts";
import { ownDocumentAddress, ownFolder, privateFolder } from "../csaf/addresses.ts";
import { csafDocument, csafNumberOf, type Publisher } from "./csaf.ts";
import { listEntries, type PageStart } from "./entries.ts";
import { type DocumentKind, documentKinds } from "./left-out.ts";
import { openVexDocument } from "./openvex.ts";
import { readOwnPackage } from "./own-packages.ts";
import { osvRecord, ownNumbersOf } from "./osv.ts";
import { osvTextOf, whyNoOsvOf, withSeverityRecords } from "./own-records.ts";
import { choosePublished } from "./published.ts";
import { scopeOf } from "./scope.ts";

export interface DocumentRequest {
  readonly query: URLSearchParams;
  readonly headers: { readonly ifNoneMatch?: string | undefined; readonly ifModifiedSince?: string | undefined };
}

export interface DocumentResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<string | Uint8Array>;
}

const base = "/advisory/v2/";

export interface Feed {
  readonly reader: Reader;
  readonly publicUrl: string;
  readonly publisher: Publisher;
  /** The last restore of the database, in milliseconds since 1970. */
  readonly restoredMs?: number | undefined;
}

export const documentAddress = ({ publicUrl }: Feed, kind: DocumentKind, name: string): string =>
  `${publicUrl.replace(/\/$/, "")}${base}${kind}/${encodeURIComponent(name)}.json`;

/** A package with private advisories, withdrawn or not. */
interface PrivateHistory {
  readonly advisories: readonly AdvisoryRow[];
  readonly groups: readonly string[];
}

/** Returns undefined if the reader sees no private advisory, or if all are withdrawn. */
const readOwnPrivateHistory = async (reader: Reader, origin: string): Promise<PrivateHistory | undefined> => {
  const rows = await findOwnPrivate(reader, [origin]);
  if (rows.length === 0) return undefined;
  const advisories = [...(await findOwnPast(reader.read, origin)), ...rows];
  if (advisories.every(({ deleteTime }) => deleteTime !== undefined)) return undefined;
  return { advisories, groups: rows.map(({ uid }) => parentOf(uid)) };
};

const buildOwnOsvRecord = async (reader: Reader, name: string): Promise<JsonObject | undefined> => {
  let rows: AdvisoryRow[] = [];
  for (const number of ownNumbersOf(name)) {
    rows = await findOwnByIds(reader, [number], limits.osvRecordsMax);
    if (rows.length > 0) break;
  }
  const [first, ...others] = await withSeverityRecords(reader, rows);
  if (!first) return undefined;
  const reason = [first, ...others].map(whyNoOsvOf).find((each) => each !== undefined);
  if (reason !== undefined) throw new Fault("NOT_FOUND", `${name} is not an OSV record: ${reason}`);
  return osvRecord([first, ...others]);
};

const buildOwnOpenVex = async (feed: Feed, name: string): Promise<JsonObject | undefined> => {
  const found = await readOwnPackage(feed.reader, name);
  if (!found) return undefined;
  const document = openVexDocument(documentAddress(feed, "openvex", name), found);
  if (!document) throw new Fault("NOT_FOUND", `${name} is not an OpenVEX document: no statement remains. The list shows the reasons`);
  return document;
};

/** Returns undefined if there are no advisories. Our secdb covers a whole distribution (secdb/index.ts). */
export const buildOwnDocument = async (feed: Feed, kind: DocumentKind, name: string): Promise<JsonObject | undefined> => {
  if (kind === "secdb") return undefined;
  if (kind === "openvex") return buildOwnOpenVex(feed, name);
  if (kind === "osv") return buildOwnOsvRecord(feed.reader, name);
  return (await buildOwnPrivateCsaf(feed, name)) ?? buildOwnCsaf(feed, name);
};

const csafOf = (feed: Feed, origin: string, rows: readonly AdvisoryRow[], scope: string): JsonObject | undefined => {
  // Without severities from other sources: the version of a CSAF document depends on its content.
  const [first, ...others] = rows.map((row) => publishedOf(row, []));
  if (!first) return undefined;
  const advisories: [Published, ...Published[]] = [first, ...others];
  const address = ownDocumentAddress(feed.publicUrl, scope === "" ? ownFolder : privateFolder, csafNumberOf(origin, scope), advisories);
  return csafDocument({ origin, address, publisher: feed.publisher, scope, advisories });
};

export const buildOwnCsaf = async (feed: Feed, origin: string): Promise<JsonObject | undefined> =>
  csafOf(feed, origin, await findOwnHistory(feed.reader.read, origin), "");

/** Builds the document with private advisories; undefined if the reader sees none. */
export const buildOwnPrivateCsaf = async (feed: Feed, origin: string): Promise<JsonObject | undefined> => {
  const history = await readOwnPrivateHistory(feed.reader, origin);
  return history && csafOf(feed, origin, history.advisories, scopeOf(history.groups));
};

const documentText = async ({ read }: Reader, kind: DocumentKind, { id, form }: PublicDocument): Promise<string | undefined> => {
  const [stored] = await findSourceDocuments(read, [id]);
  if (!stored) return undefined;
  return kind === "osv" ? osvTextOf({ form, body: stored.body }) : textOfStored(stored.body);
};

export interface DocumentContent {
  readonly text: string;
  /** Undefined while it is valid. */
  readonly withdrawTime: string | undefined;
}

const ownContent = (document: JsonObject): DocumentContent => ({ text: JSON.stringify(document), withdrawTime: text(document, "withdrawn") || undefined });

/**
 * Returns the header for a withdrawal. The document stays unchanged: licenses require that, and a `withdrawn` added by Gantry
 * would be a claim in the origin's name.
 */
export const withdrawalHeaders = ({ withdrawTime }: Pick<DocumentContent, "withdrawTime">): Record<string, string> =>
  withdrawTime === undefined ? {} : { "gantry-withdrawn": withdrawTime };

const readStored = async (reader: Reader, kind: DocumentKind, name: string): Promise<DocumentContent | undefined> => {
  const { document, leftOut } = choosePublished(kind, await findDocumentsOf(reader, [name], limits.osvRecordsMax));
  if (leftOut !== "") throw new Fault("NOT_FOUND", `${name} is not published on this server: ${leftOut}`);
  const content = document && (await documentText(reader, kind, document));
  return content === undefined ? undefined : { text: content, withdrawTime: document?.withdrawTime };
};

export const buildOsvRecord = async (reader: Reader, name: string): Promise<DocumentContent | undefined> => {
  const own = await buildOwnOsvRecord(reader, name);
  return own ? ownContent(own) : readStored(reader, "osv", name);
};

export const buildDocument = async (feed: Feed, kind: DocumentKind, name: string): Promise<DocumentContent | undefined> => {
  if (kind === "osv") return buildOsvRecord(feed.reader, name);
  const own = await buildOwnDocument(feed, kind, name);
  return own ? ownContent(own) : readStored(feed.reader, kind, name);
};

/** Reads `since` and `after`; throws INVALID_ARGUMENT. */
const readPageStart = (query: URLSearchParams): PageStart => {
  const since = query.get("since") ?? "";
  const sinceMs = since === "" ? 0 : readTimestamp(since);
  if (sinceMs === undefined) throw invalid([{ field: "since", description: "must be a time such as 2026-01-31T08:00:00Z" }]);
  const after = query.get("after") ?? "";
  if (after.includes("\0") || !after.isWellFormed()) throw invalid([{ field: "after", description: "must be a name that the page before ended with" }]);
  return { since: since === "" ? "" : timestamp(sinceMs), after };
};

export async function* jsonList(pages: AsyncIterable<readonly object[]>): AsyncGenerator<string> {
  let before = "[";
  for await (const page of pages) {
    if (page.length === 0) continue;
    yield before + page.map((entry) => JSON.stringify(entry)).join(",\n");
    before = ",\n";
  }
  yield before === "[" ? "[]" : "]";
}

export async function* lines<Item>(pages: AsyncIterable<readonly Item[]>, line: (item: Item) => string): AsyncGenerator<string> {
  for await (const page of pages) if (page.length > 0) yield page.map(line).join("");
}

/** Yields the rest after a first piece, which is read early so that its errors become an error response. */
async function* begun<Piece>(first: IteratorResult<Piece>, rest: AsyncIterator<Piece>): AsyncGenerator<Piece> {
  try {
    for (let next = first; !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** Changes with any published document. Private views have no ETag. */
export const readFeedState = async ({ read, visibility }: Reader): Promise<readonly string[]> =>
  visibility === "public" ? Promise.all([readAdvisoryState(read), readPublishedState(read)]) : [];

/** Streams a list. Its ETag depends on the published state and `form`. */
export const respondInPieces = async <Piece extends string | Uint8Array>(
  feed: Feed,
  request: DocumentRequest,
  type: string,
  pieces: AsyncGenerator<Piece>,
  form: readonly string[] = [],
): Promise<DocumentResponse> => {
  const state = await readFeedState(feed.reader);
  const tagged = respond(request, type, JSON.stringify([state, request.query.toString(), ...form]), {}, "W/");
  if (tagged.status === 304) return tagged;
  const first = await pieces.next();
  return { ...tagged, body: begun(first, pieces) };
};

export const respondUntagged = async <Piece extends string | Uint8Array>(type: string, pieces: AsyncGenerator<Piece>): Promise<DocumentResponse> => {
  const first = await pieces.next();
  const headers = { "content-type": type, "cache-control": "no-store", vary: "authorization", "x-content-type-options": "nosniff" };
  return { status: 200, headers, body: begun(first, pieces) };
};

/** Returns true if the client's copy is current, by ETag, or by time if it sends none (RFC 9110, 13.2.2). */
export const isKnown = ({ headers }: DocumentRequest, etag: string, lastModified: string | undefined): boolean => {
  if (headers.ifNoneMatch !== undefined) return matchesEtag(headers.ifNoneMatch, etag);
  return lastModified !== undefined && Date.parse(headers.ifModifiedSince ?? "") >= Date.parse(lastModified);
};

export const respond = (request: DocumentRequest, type: string, body: string, more: Record<string, string> = {}, weak = ""): DocumentResponse => {
  // A withdrawal changes only the header, but must change the ETag.
  const tagged = `${body}${more["gantry-withdrawn"] ?? ""}`;
  const etag = `${weak}"${createHash("sha256").update(tagged).digest("base64url").slice(0, 27)}"`;
  // Responses differ for callers with a token.
  const headers = { etag, "cache-control": "public, max-age=60", vary: "authorization", "x-content-type-options": "nosniff", ...more };
  if (isKnown(request, etag, more["last-modified"])) return { status: 304, headers, body: "" };
  return { status: 200, headers: { "content-type": type, ...headers }, body };
};

/** An invalid name gets the same 404 as an unknown one. */
const documentAt = (path: string): { kind: DocumentKind; name: string } | undefined => {
  const kind = documentKinds.find((each) => path.startsWith(`${base}${each}/`));
  if (!kind) return undefined;
  try {
    const name = decodeURIComponent(path.slice(base.length + kind.length + 1));
    return { kind, name: name.includes("\0") ? "" : name };
  } catch {
    return { kind, name: "" };
  }
};

/** Returns the handler for a path; undefined for other paths. */
export const openDocuments =
  (feed: Feed) =>
  (path: string): { GET: (request: DocumentRequest) => Promise<DocumentResponse>; yieldsToToken: boolean } | undefined => {
    const file = documentAt(path);
    if (!file) return undefined;
    const { kind, name } = file;
    return {
      yieldsToToken: true,
      async GET(request) {
        if (name === "all.json")
          return respondInPieces(feed, request, "application/json", jsonList(listEntries(feed.reader, kind, readPageStart(request.query))));
        const document = name.endsWith(".json") ? await buildDocument(feed, kind, name.slice(0, -".json".length)) : undefined;
        if (document === undefined) throw new Fault("NOT_FOUND", `document not found: ${name}`);
        return respond(request, "application/json", document.text, withdrawalHeaders(document));
      },
    };
  };
