// Reads APIs with pages of records: the NVD's by index, GitHub's by link (RFC 8288). Each record is tracked as a file, because
// records move between pages. After a complete read only changes are requested, and unlisted records count as unchanged. From
// time to time everything is read again, for late and deleted records (docs/decisions/0024).

import { Fault } from "#base/fault.ts";
import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readTimestamp, timestamp } from "#base/time.ts";
import type { FeedFile } from "./feed-file.ts";
import { addressLabel, AnswerFault, type Fetched, type Fetching, fetchFile, readOnce } from "./fetching.ts";
import { FeedFileReader } from "./file-reader.ts";
import { DocumentError } from "./invalid.ts";
import { openPieces } from "./pieces.ts";
import type { StoredFile } from "./stored-file.ts";

type FetchedFile = Extract<Fetched, { readonly isUnchanged: false }>;

interface PagedApi {
  readonly name: "nvd" | "github";
  readonly isAt: (url: URL) => boolean;
  readonly isAnswer: (head: string) => boolean;
  /** Returns the headers for a key. */
  readonly keyHeaders: (key: string) => Readonly<Record<string, string>>;
  readonly pauseMs: (hasKey: boolean) => number;
  /** Returns the URL of changes; undefined if the URL has such filters already. */
  readonly changedBetween: (url: URL, fromMs: number, untilMs: number) => URL | undefined;
  /** Returns the response time by the server's clock; undefined if unknown. */
  readonly answerMs: (head: string) => number | undefined;
  /** Returns undefined after the last page. */
  readonly nextPage: (url: URL, head: string, fetched: FetchedFile) => URL | undefined;
  /** Throws if it is not the requested page. */
  readonly requirePage: (url: URL, head: string) => void;
  readonly numberOf: (document: Json) => unknown;
}

const pageNumber = (head: string, form: RegExp): number => Number(form.exec(head)?.[1] ?? 0);

const nvdPageOf = (head: string): { readonly size: number; readonly from: number; readonly total: number } => ({
  size: pageNumber(head, /"resultsPerPage" {0,4}: {0,4}(\d{1,9})/),
  from: pageNumber(head, /"startIndex" {0,4}: {0,4}(\d{1,9})/),
  total: pageNumber(head, /"totalResults" {0,4}: {0,4}(\d{1,9})/),
});

const withParameters = (url: URL, parameters: Readonly<Record<string, string>>): URL => {
  const to = new URL(url);
  for (const [name, value] of Object.entries(parameters)) to.searchParams.set(name, value);
  return to;
};

const memberOf = (value: Json | undefined, key: string): Json | undefined => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined);

/** NVD times are UTC without an offset. */
const nvdTime = (timeMs: number): string => timestamp(timeMs).replace(/Z$/, "");

const nvdApi: PagedApi = {
  name: "nvd",
  isAt: ({ pathname }) => pathname.endsWith("/cves/2.0"),
  isAnswer: (head) => /^\s*\{/.test(head) && /"format"\s*:\s*"NVD_CVE"/.test(head),
  keyHeaders: (key) => ({ apikey: key }),
  pauseMs: (hasKey) => (hasKey ? limits.nvdKeyPauseMs : limits.nvdPauseMs),
  changedBetween: (url, fromMs, untilMs) =>
    ["lastModStartDate", "lastModEndDate", "pubStartDate", "startIndex", "cveId"].some((name) => url.searchParams.has(name))
      ? undefined
      : withParameters(url, { lastModStartDate: nvdTime(fromMs), lastModEndDate: nvdTime(untilMs) }),
  answerMs: (head) => {
    const [, time = ""] = /"timestamp"\s*:\s*"([^"]{1,40})"/.exec(head) ?? [];
    return readTimestamp(/Z$/.test(time) ? time : `${time}Z`);
  },
  nextPage: (url, head) => {
    const { size, from, total } = nvdPageOf(head);
    return size > 0 && from + size < total ? withParameters(url, { startIndex: String(from + size) }) : undefined;
  },
  requirePage: (url, head) => {
    if (nvdPageOf(head).from !== Number(url.searchParams.get("startIndex") ?? 0))
      throw new Fault("UNAVAILABLE", `${addressLabel(url)} returned a different page than requested`);
  },
  numberOf: (document) => {
    const list = memberOf(document, "vulnerabilities");
    return memberOf(memberOf(Array.isArray(list) ? list[0] : undefined, "cve"), "id");
  },
};

const githubApi: PagedApi = {
  name: "github",
  isAt: ({ pathname }) => pathname.endsWith("/advisories"),
  isAnswer: (head) => /^\s*\[\s*(?:\]|\{)/.test(head) && (head.includes('"ghsa_id"') || /^\s*\[\s*\]/.test(head)),
  keyHeaders: (key) => ({ authorization: `Bearer ${key}` }),
  pauseMs: () => 0,
  // GitHub filters by days, so the first day is read completely.
  changedBetween: (url, fromMs) =>
    ["updated", "published", "modified", "ghsa_id", "cve_id", "after", "before"].some((name) => url.searchParams.has(name))
      ? undefined
      : withParameters(url, { updated: `>=${timestamp(fromMs).slice(0, 10)}` }),
  answerMs: () => undefined,
  nextPage: (_, __, { next }) => next,
  requirePage: () => {},
  numberOf: (document) => memberOf(document, "ghsa_id"),
};

const apis: readonly PagedApi[] = [nvdApi, githubApi];

export const keyHeadersFor = (url: URL, key: string): Readonly<Record<string, string>> => (nvdApi.isAt(url) ? nvdApi : githubApi).keyHeaders(key);

/** Stored for a completely read URL: the times of the last full read and of the last changes. */
const readForm = /^(nvd|github) (\S+) (\S+)$/;

const headOf = async (file: StoredFile): Promise<string> => (await file.read(0, limits.feedHeadLength)).toString("utf8");

const numberForm = /^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$/;

const fileOfRecord = (url: URL, api: PagedApi, text: Buffer, place: string): FeedFile => {
  let number: unknown;
  try {
    number = api.numberOf(JSON.parse(text.toString("utf8")) as Json);
  } catch {
    // The reader refuses it with its position.
  }
  const name = typeof number === "string" && numberForm.test(number) ? number : place;
  return {
    name,
    label: `${addressLabel(url)} ${name}`,
    isOfMany: true,
    heldBytes: text.length,
    async *bytes() {
      yield text;
    },
    // Not retried: it would be refused until its origin changes it.
    refused: () => {},
  };
};

async function* recordsOfPage(fetching: Fetching, url: URL, api: PagedApi, page: number, file: StoredFile): AsyncGenerator<FeedFile> {
  const reader = await FeedFileReader.open({ name: "", label: "", isOfMany: false, bytes: () => readOnce(fetching, file) });
  try {
    const head = await reader.head((bytes) => bytes.length >= limits.feedHeadLength);
    const pieces = await openPieces(reader, head.toString("utf8"), head.length < limits.feedHeadLength);
    for (let element = 1; pieces; element++) {
      const piece = await pieces();
      if (piece === undefined) return;
      yield fileOfRecord(url, api, piece.text, `page ${page} element ${element}`);
    }
  } catch (thrown) {
    // A partial page must not pass for a complete one.
    if (thrown instanceof DocumentError) throw new Fault("UNAVAILABLE", `${addressLabel(url)} returned an incomplete page: ${thrown.message}`);
    throw thrown;
  } finally {
    await reader.close();
  }
}

const isBusy = (thrown: unknown): boolean => thrown instanceof AnswerFault && (thrown.status === 429 || thrown.status >= 500);

/** Fetches a page, with retries if the host is busy. A failure fails the source: some pages must not pass for all. */
const fetchPage = async (fetching: Fetching, url: URL, api: PagedApi): Promise<FetchedFile> => {
  for (let tries = 1; ; tries++) {
    try {
      const fetched = await fetchFile(fetching, url);
      fetching.validators.forget(url.href);
      // Pages shift: an unchanged one says nothing about others.
      if (fetched.isUnchanged) throw new Fault("UNAVAILABLE", `${addressLabel(url)} returned "not modified" for a page after the first one`);
      return fetched;
    } catch (thrown) {
      if (tries >= limits.feedPageTriesMax || !isBusy(thrown)) throw thrown;
      await fetching.pause(Math.max(limits.feedPageRetryMs, api.pauseMs(fetching.hasKey)));
    }
  }
};

async function* recordsFrom(fetching: Fetching, first: URL, api: PagedApi, fetched: FetchedFile): AsyncGenerator<FeedFile> {
  let [url, page] = [first, fetched];
  for (let pages = 1; ; pages++) {
    const head = await headOf(page.file);
    if (!api.isAnswer(head)) throw new Fault("UNAVAILABLE", `${addressLabel(url)} returned a different document than on the page before`);
    api.requirePage(url, head);
    const next = api.nextPage(url, head, page);
    yield* recordsOfPage(fetching, url, api, pages, page.file);
    if (next === undefined) return;
    if (pages >= limits.feedPagesMax) throw new Fault("UNAVAILABLE", `${addressLabel(url)} has more than ${limits.feedPagesMax} pages`);
    await fetching.pause(api.pauseMs(fetching.hasKey));
    [url, page] = [next, await fetchPage(fetching, next, api)];
  }
}

/** Stores the time up to which changes are known, by the earlier of both clocks. */
const rememberRead = ({ validators, nowMs }: Fetching, url: URL, api: PagedApi, head: string, fullMs: number): void => {
  const untilMs = Math.min(nowMs, api.answerMs(head) ?? nowMs);
  validators.keep(url.href, { etag: "", lastModified: "", listed: `${api.name} ${timestamp(fullMs)} ${timestamp(untilMs)}` });
};

/** Returns undefined if the response is not a first page. */
export const recordPages = async (fetching: Fetching, url: URL, fetched: FetchedFile): Promise<AsyncIterable<FeedFile> | undefined> => {
  const head = await headOf(fetched.file);
  const api = apis.find(({ isAt, isAnswer }) => isAt(url) && isAnswer(head));
  if (!api) return undefined;
  fetching.validators.forget(url.href);
  return (async function* () {
    yield* recordsFrom(fetching, url, api, fetched);
    if (api.changedBetween(url, 0, 0)) rememberRead(fetching, url, api, head, fetching.nowMs);
  })();
};

/** Returns undefined if the URL must be read completely. */
export const changedRecords = (fetching: Fetching, url: URL): AsyncIterable<FeedFile> | undefined => {
  const [, name, full = "", until = ""] = readForm.exec(fetching.validators.find(url.href)?.listed ?? "") ?? [];
  const api = apis.find((each) => each.name === name);
  const [fullMs, untilMs] = [readTimestamp(full), readTimestamp(until)];
  if (!api || fullMs === undefined || untilMs === undefined || fetching.nowMs - fullMs >= limits.feedFullMs || untilMs > fetching.nowMs) return undefined;
  const from = api.changedBetween(url, untilMs - limits.feedOverlapMs, fetching.nowMs);
  if (!from) return undefined;
  fetching.found.isDelta = true;
  return (async function* () {
    const first = await fetchPage(fetching, from, api);
    const head = await headOf(first.file);
    yield* recordsFrom(fetching, from, api, first);
    rememberRead(fetching, url, api, head, fullMs);
  })();
};
