// Serves OSV data for scanners below /osv. It is open and consistent with the open documents (docs/decisions/0025).
//
//   /osv/v1/query, /osv/v1/querybatch, /osv/v1/vulns/<number>     the API of osv.dev
//   /osv/<ecosystem>/all.zip, modified_id.csv, <number>.json      the layout of its bucket; /osv/all.zip, modified_id.csv and
//                                                                 ecosystems.txt for all ecosystems
//   /osv/go/index/db.json, modules.json, vulns.json, ID/<number>  Go's vulnerability database, also as .json.gz

import { gzipSync } from "node:zlib";
import type { Endpoint, EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { findDocumentEcosystems, findOwnArtifacts, findSourceDocuments, publicReader, type Reader, readPublishedState } from "#advisories/store";
import type { Read } from "#db";
import {
  buildOsvRecord,
  type DocumentContent,
  type Feed,
  isKnown,
  lines,
  readFeedState,
  respond,
  respondInPieces,
  respondUntagged,
  withdrawalHeaders,
} from "../documents/index.ts";
import { isOwnEcosystem, osvEcosystem, ownNumbersOf } from "../documents/osv.ts";
import { osvTextOf } from "../documents/own-records.ts";
import { type Archives, type ArchivesOptions, openArchives as openPreparedArchives, type PreparedArchive } from "./archives.ts";
import { isEcosystem } from "./ecosystems.ts";
import { ecosystemsOfRecord } from "./facts.ts";
import { type FoundRecord, findAnswers } from "./find.ts";
import { buildGoIndexes, type GoIndexes, isGoNumber, withAddress } from "./go-database.ts";
import { type Question, readBatch, readQuery, writeToken } from "./question.ts";
import { archivedFiles, fileNameOf, type ModifiedRecord, modifiedRecords } from "./records.ts";
import { zipPieces } from "./zip.ts";

/** `requests` is the endpoint's weight in the rate limit. */
export interface OsvEndpoint extends Endpoint {
  readonly requests: number;
}

const base = "/osv/";

const json = (text: string): EndpointAnswer => ({
  status: 200,
  headers: { "content-type": "application/json", "cache-control": "no-store", vary: "authorization", "x-content-type-options": "nosniff" },
  body: text,
});

const findEcosystems = async (reader: Reader): Promise<string[]> => {
  const own = await findOwnArtifacts(reader);
  return [...new Set([...(await findDocumentEcosystems(reader)), ...own.flatMap((each) => osvEcosystem(each) ?? [])])].sort();
};

/** Returns records up to the maximum size of a response. */
const readRecords = async (reader: Reader, found: readonly FoundRecord[]): Promise<string[]> => {
  const records: string[] = [];
  let bytes = 0;
  for (const { id, documentId } of found) {
    const [stored] = documentId === undefined ? [] : await findSourceDocuments(reader.read, [documentId]);
    const record = stored ? osvTextOf(stored) : documentId === undefined ? (await buildOsvRecord(reader, id))?.text : undefined;
    if (record === undefined) continue;
    records.push(record);
    bytes += record.length;
    if (bytes > limits.osvAnswerBytes) break;
  }
  return records;
};

export const answerOsvQuestion = async (reader: Reader, question: Question): Promise<string> => {
  const [answer] = await findAnswers(reader, [question], limits.osvCandidatesMax);
  const found = answer?.found ?? [];
  const records = await readRecords(reader, found);
  const last = found[records.length - 1];
  // The rest is on the next page; ours are on the first.
  const token = records.length < found.length && last?.documentId !== undefined ? writeToken(last.id) : (answer?.nextPageToken ?? "");
  const members = [...(records.length > 0 ? [`"vulns":[${records.join(",")}]`] : []), ...(token === "" ? [] : [`"next_page_token":${JSON.stringify(token)}`])];
  return `{${members.join(",")}}`;
};

export const answerOsvQuestions = async (reader: Reader, questions: readonly Question[]): Promise<JsonObject> => {
  const answers = await findAnswers(reader, questions, limits.osvRecordsMax);
  const results = answers.map(({ found, nextPageToken }) => ({
    ...(found.length > 0 ? { vulns: found.map(({ id, modified }) => ({ id, modified })) } : {}),
    ...(nextPageToken === "" ? {} : { next_page_token: nextPageToken }),
  }));
  return { results };
};

/** Throws NOT_FOUND if it does not exist or is not visible. */
export const requireOsvRecord = async (reader: Reader, id: string): Promise<DocumentContent> => {
  const document = await buildOsvRecord(reader, id);
  if (document === undefined) throw new Fault("NOT_FOUND", "Bug not found.");
  return document;
};

const get = (handle: (request: EndpointRequest) => Promise<EndpointAnswer>, requests = 1): OsvEndpoint => ({ GET: handle, requests, yieldsToToken: true });
const post = (handle: (request: EndpointRequest) => Promise<EndpointAnswer>, requests: number): OsvEndpoint => ({
  POST: handle,
  textBytesMax: limits.osvQuestionBytesMax,
  requests,
  yieldsToToken: true,
});

const apiEndpoint = (feed: Feed, [name, id, ...more]: readonly string[]): OsvEndpoint | undefined => {
  if (name === "query" && id === undefined) return post(async (request) => json(await answerOsvQuestion(feed.reader, readQuery(await request.readText()))), 1);
  if (name === "querybatch" && id === undefined) {
    const answer = async (request: EndpointRequest): Promise<EndpointAnswer> =>
      json(JSON.stringify(await answerOsvQuestions(feed.reader, readBatch(await request.readText()))));
    return post(answer, limits.osvBatchRequests);
  }
  if (name !== "vulns" || id === undefined || more.length > 0) return undefined;
  const answerRecord = async (): Promise<EndpointAnswer> => {
    if (id.length > 100) throw new Fault("INVALID_ARGUMENT", "Invalid ID.");
    const record = await requireOsvRecord(feed.reader, id);
    const answer = json(record.text);
    return { ...answer, headers: { ...answer.headers, ...withdrawalHeaders(record) } };
  };
  return get(answerRecord);
};

const csv = "text/csv; charset=utf-8";

const globalLine = ({ id, modified, ecosystems }: ModifiedRecord): string =>
  ecosystems.map((ecosystem) => `${modified},${ecosystem}/${fileNameOf(id)}\n`).join("");

const requireInEcosystem = (ecosystem: string, content: DocumentContent): DocumentContent => {
  const record = JSON.parse(content.text) as Json;
  if (isObject(record)) {
    const named = ecosystemsOfRecord(record);
    // A record of ours whose packages are all unaffected names none.
    const isUnnamed = named.length === 0 && ownNumbersOf(text(record, "id")).length > 0;
    if (named.includes(ecosystem) || isOwnEcosystem(ecosystem, isUnnamed)) return content;
  }
  throw new Fault("NOT_FOUND", `record not found in ${ecosystem}`);
};

export const openArchives = (read: Read, options: Pick<ArchivesOptions, "folder" | "clock" | "log" | "bytesMax">): Archives =>
  openPreparedArchives({
    ...options,
    readState: () => readPublishedState(read),
    pieces: (ecosystem) => zipPieces(archivedFiles(publicReader(read), ecosystem)),
  });

const zip = "application/zip";

/** Returns undefined for the whole file. Supports single ranges only (RFC 9110, 14.2). */
const requestedRange = (request: EndpointRequest, { etag, sizeBytes }: PreparedArchive): { readonly start: number; readonly end: number } | undefined => {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(request.headerOf("range") ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  const ifRange = request.headerOf("if-range");
  if (ifRange !== undefined && ifRange !== etag) return undefined;
  if (first === "") return { start: Math.max(0, sizeBytes - Number(last)), end: sizeBytes };
  if (last !== "" && Number(last) < Number(first)) return undefined;
  return { start: Number(first), end: last === "" ? sizeBytes : Math.min(sizeBytes, Number(last) + 1) };
};

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Returns undefined if the file has been deleted meanwhile. */
const answerPrepared = async (request: EndpointRequest, archive: PreparedArchive): Promise<EndpointAnswer | undefined> => {
  const { etag, hash, sizeBytes, modifiedMs } = archive;
  const lastModified = new Date(modifiedMs).toUTCString();
  const validators = { etag, "last-modified": lastModified, "cache-control": "public, max-age=60", vary: "authorization", "x-content-type-options": "nosniff" };
  if (isKnown(request, etag, lastModified)) return { status: 304, headers: validators, body: "" };
  const headers = { "content-type": zip, "accept-ranges": "bytes", "x-goog-hash": hash, ...validators };
  // HEAD ignores ranges.
  const range = request.isHead ? undefined : requestedRange(request, archive);
  if (range && range.start >= range.end) return { status: 416, headers: { ...headers, "content-range": `bytes */${sizeBytes}` }, body: "" };
  const { start, end } = range ?? { start: 0, end: sizeBytes };
  const body = request.isHead ? nothing() : await archive.read(start, end);
  return (
    body && {
      status: range ? 206 : 200,
      headers: { ...headers, ...(range ? { "content-range": `bytes ${start}-${end - 1}/${sizeBytes}` } : {}), "content-length": String(end - start) },
      body,
    }
  );
};

/** Sends a prepared file, or a stream if there is none or the reader sees private records. */
const answerArchive = async (feed: Feed, request: EndpointRequest, ecosystem: string, archives: Archives | undefined): Promise<EndpointAnswer> => {
  const archive = await archives?.find(ecosystem);
  const prepared = archive && (await answerPrepared(request, archive));
  return prepared ?? respondUntagged(zip, request.isHead ? nothing() : zipPieces(archivedFiles(feed.reader, ecosystem)));
};

const bucketEndpoint = (feed: Feed, archives: Archives | undefined, steps: readonly string[]): OsvEndpoint | undefined => {
  const [ecosystem, file] = steps.length === 1 ? ["", steps[0] ?? ""] : [steps[0] ?? "", steps[1] ?? ""];
  if (steps.length > 2 || (ecosystem !== "" && ecosystem !== "[EMPTY]" && (!isEcosystem(ecosystem) || ecosystem.includes(":")))) return undefined;
  if (file === "all.zip") return get((request) => answerArchive(feed, request, ecosystem, archives), limits.osvArchiveRequests);
  if (file === "modified_id.csv")
    return get(
      (request) =>
        respondInPieces(
          feed,
          request,
          csv,
          lines(modifiedRecords(feed.reader, ecosystem), ecosystem === "" ? globalLine : ({ id, modified }) => `${modified},${fileNameOf(id)}\n`),
        ),
      limits.osvBatchRequests,
    );
  if (ecosystem === "") {
    if (file !== "ecosystems.txt") return undefined;
    return get(async (request) => {
      const names = await findEcosystems(feed.reader);
      return respond(request, "text/plain; charset=utf-8", names.map((name) => `${name}\n`).join(""));
    }, limits.osvBatchRequests);
  }
  if (!file.endsWith(".json")) return undefined;
  return get(async (request) => {
    const content = requireInEcosystem(ecosystem, await requireOsvRecord(feed.reader, file.slice(0, -".json".length)));
    return respond(request, "application/json", content.text, withdrawalHeaders(content));
  });
};

/** govulncheck requests only compressed files. */
async function* packed(text: string): AsyncGenerator<Uint8Array> {
  yield gzipSync(text);
}

const goFile = (request: EndpointRequest, name: string, text: string, headers: Record<string, string> = {}): EndpointAnswer => {
  const answer = respond(request, "application/json", text, headers);
  return name.endsWith(".gz") && answer.status === 200
    ? { ...answer, headers: { ...answer.headers, "content-type": "application/gzip" }, body: packed(text) }
    : answer;
};

const goDatabase = (feed: Feed): ((steps: readonly string[]) => OsvEndpoint | undefined) => {
  let built: { readonly state: string; readonly indexes: Promise<GoIndexes> } | undefined;
  const indexesNow = async (): Promise<GoIndexes> => {
    const state = JSON.stringify(await readFeedState(feed.reader));
    if (built?.state !== state) {
      const indexes = buildGoIndexes(feed.reader);
      built = { state, indexes };
      // The next request retries after a failure.
      indexes.catch(() => {
        if (built?.indexes === indexes) built = undefined;
      });
    }
    return built.indexes;
  };
  return ([folder, file = "", ...more]) => {
    const [, name, extension] = /^(.*?)\.(json|json\.gz)$/.exec(file) ?? [];
    if (name === undefined || extension === undefined || more.length > 0) return undefined;
    if (folder === "index" && ["db", "modules", "vulns"].includes(name))
      return get(async (request) => goFile(request, file, (await indexesNow()).get(name) ?? ""));
    if (folder !== "ID" || !isGoNumber(name)) return undefined;
    return get(async (request) => {
      const record = await requireOsvRecord(feed.reader, name);
      const address = `${feed.publicUrl.replace(/\/$/, "")}${base}go/ID/${encodeURIComponent(name)}.json`;
      return goFile(request, file, withAddress(record.text, address), withdrawalHeaders(record));
    });
  };
};

const stepsOf = (path: string): string[] | undefined => {
  try {
    const steps = path.slice(base.length).split("/").map(decodeURIComponent);
    return steps.some((step) => step === "" || step.includes("\0")) ? undefined : steps;
  } catch {
    return undefined;
  }
};

/** Returns undefined for other paths. `archives` requires a reader of public records only. */
export const openOsv = (feed: Feed, archives?: Archives): ((path: string) => OsvEndpoint | undefined) => {
  const goEndpoint = goDatabase(feed);
  return (path) => {
    const [first, ...steps] = (path.startsWith(base) && stepsOf(path)) || [];
    if (first === undefined) return undefined;
    if (first === "v1") return apiEndpoint(feed, steps);
    return first === "go" ? goEndpoint(steps) : bucketEndpoint(feed, archives, [first, ...steps]);
  };
};
