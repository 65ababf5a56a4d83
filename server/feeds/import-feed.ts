// One import: each source's files are read (read-files.ts), written in batches (write-batches.ts), what has vanished is
// withdrawn unless another source tells it (tell-records.ts), and the import is told (import-event.ts). A document goes in completely or not at
// all; the rest goes on.

import { setTimeout as wait } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { unreachableText } from "#base/refused-address.ts";
import type { Services } from "#kernel";
import {
  addChanges,
  addOwnedCounts,
  changeCount,
  countFeedParts,
  countFeedRecords,
  deleteFeedPartsExcept,
  deleteReplacedDocuments,
  deleteVanishedFacts,
  findDocumentStep,
  findFeedValidators,
  findToldRecords,
  lockFeed,
  markDocumentsGone,
  moveFacts,
  noChanges,
  noOwnedCounts,
  openFeed,
  type OwnedCounts,
  type RecordTarget,
  refreshRecordStatistics,
  takeGoneRecords,
  updateFeed,
  withdrawVanished,
  type Write,
  writeFeedValidators,
  type WriteCounts,
} from "#store";
import type { FeedKind } from "./formats/format.ts";
import { recordImport } from "./import-event.ts";
import { isLicenseName } from "./licenses.ts";
import { readKeyFile } from "./key-file.ts";
import { matchImages } from "./match-images.ts";
import { readFiles, type Reading, type ReadPart, type Refusal } from "./read-files.ts";
import { formats } from "./recognise.ts";
import type { FeedRecord } from "./record.ts";
import { addressLabel, type Fetch, type Fetching, Validators } from "./fetching.ts";
import { readerVersion } from "./reader-version.ts";
import { keyHeadersFor } from "./record-pages.ts";
import { openSource, type Source } from "./source.ts";
import { factsPublic, isToldKind, markStep, reassignGone, type TellContext } from "./tell-records.ts";
import { batchesOf, writeBatches } from "./write-batches.ts";

export interface FeedImport {
  readonly kind: FeedKind;
  /** The group that the records are for. */
  readonly group: string;
  /** True: the open operations show them too; false: no longer. Undefined: what is public stays so, and what is new is not. */
  readonly public: boolean | undefined;
  /** The licence of what the sources tell, as an SPDX identifier; undefined: as it was, at first unknown. */
  readonly license?: string | undefined;
  /** Files, folders and https addresses. */
  readonly sources: readonly string[];
  /** The one format that is taken; any without it. */
  readonly format?: string | undefined;
  /** Who wrote it; the format's own word without it. */
  readonly author?: string | undefined;
  /** A file with the key that the sources' hosts want to see; each has the same. */
  readonly keyFile?: string | undefined;
  /** What imports, for the audit log; the command without it. */
  readonly operation?: string;
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
  /** Called between batches; throws where the import shall not go on. */
  readonly goOn?: () => Promise<void>;
  readonly signal?: AbortSignal;
}

export interface FeedSummary extends WriteCounts {
  /** Files that were looked at, and how many of them are the same as the last time. */
  readonly files: number;
  readonly filesUnchanged: number;
  /** "git.advisories.yaml:12: advisories[0].id must …" */
  readonly refused: readonly string[];
  /** How many were refused; of very many the first ones are named. */
  readonly refusals: number;
  /** What was read in one of several ways, such as a key that is given twice; of very many the first ones. */
  readonly remarks: readonly string[];
  /** Files of a folder that are no feed at all, such as a licence, and documents that tell nothing of this kind: "LICENSE: is no feed". */
  readonly passedOver: readonly string[];
  /** How many there were; of very many the first ones are named. */
  readonly passedOverFiles: number;
  /** Documents that are kept and published as they came in, and of which something matches nothing: it has no versions in a known order. */
  readonly unmatched: readonly string[];
  /** Sources that could not be had. */
  readonly failed: readonly string[];
}

const recordKinds: Readonly<Record<FeedKind, FeedRecord["kind"]>> = {
  advisories: "advisory",
  vulnerabilities: "vulnerability",
  libraries: "library",
  images: "image",
  lifecycle: "lifecycle",
};

/** What came of one source. */
interface SourceResult {
  counts: OwnedCounts;
  /** Records of parts that were not read again. */
  unread: number;
  files: number;
  filesUnchanged: number;
  refusals: number;
  readonly refused: string[];
  readonly remarks: string[];
  passedOverFiles: number;
  readonly passedOver: string[];
  readonly unmatched: string[];
  /** Parts of each file that the source has. */
  readonly parts: Map<string, number>;
  /** Nothing is known of what the source still tells. */
  isUnread: boolean;
  /** Nothing has changed, by the word of who has it. */
  isSame: boolean;
  /** Only what has changed was read: what is not named is not gone. */
  isDelta: boolean;
}

const newResult = (): SourceResult => ({
  counts: noOwnedCounts,
  unread: 0,
  files: 0,
  filesUnchanged: 0,
  refusals: 0,
  refused: [],
  remarks: [],
  passedOverFiles: 0,
  passedOver: [],
  unmatched: [],
  parts: new Map(),
  isUnread: false,
  isSame: false,
  isDelta: false,
});

/** Names of files and keys are written by strangers, and this is read on terminals (attack 28). */
const addNamed = (named: string[], line: string): void => {
  if (named.length < limits.feedRefusalsMax) named.push(line.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?"));
};

const addLine = (lines: string[], { label, line, reason }: Refusal): void => addNamed(lines, `${label}:${line}: ${reason}`);

const addRefusal = (result: SourceResult, refusal: Refusal): void => {
  result.refusals++;
  addLine(result.refused, refusal);
};

/** The parts that were read; everything else about reading goes into the result. */
async function* partsOf(readings: AsyncIterable<Reading>, result: SourceResult, begin: (label: string) => void): AsyncGenerator<ReadPart> {
  for await (const reading of readings) {
    switch (reading.kind) {
      case "begin":
        result.files++;
        begin(reading.label);
        break;
      case "part":
        yield reading.part;
        break;
      case "unchanged":
        result.unread += reading.records;
        break;
      case "refusal":
        addRefusal(result, reading.refusal);
        break;
      case "remark":
        addLine(result.remarks, reading.remark);
        break;
      case "unmatched":
        addLine(result.unmatched, reading.refusal);
        break;
      case "passed over":
        result.passedOverFiles++;
        addNamed(result.passedOver, `${reading.label}: ${reading.reason}`);
        break;
      case "same source":
        result.isSame = true;
        result.filesUnchanged++;
        break;
      case "end":
        result.parts.set(reading.file.name, reading.file.parts);
        if (reading.file.isUnchanged) result.filesUnchanged++;
        result.isUnread ||= reading.file.isUnread;
        break;
    }
  }
}

interface ImportRun {
  readonly services: Services;
  readonly options: FeedImport;
  /** The same for all sources of one command. */
  readonly requestId: string;
  readonly key: string | undefined;
}

interface SourceImport extends ImportRun {
  readonly source: Source;
  readonly feed: string;
  readonly target: RecordTarget;
  /** Of kinds whose documents are kept. */
  readonly told: TellContext | undefined;
}

const requireGoingOn = async ({ signal, goOn }: FeedImport): Promise<void> => {
  if (signal?.aborted) throw new Fault("ABORTED", "the import was stopped");
  await goOn?.();
};

/** What the source's row keeps until it is told, in the transaction that makes the changes. */
const addUnreported = async (rows: Write, feed: string, counts: OwnedCounts): Promise<void> => {
  const { settled, unreported } = await lockFeed(rows, feed);
  await updateFeed(rows, feed, { settled, unreported: addChanges(unreported, counts) });
};

/** Makes public what the source tells, or takes it back, step by step. */
const markPublic = async ({ services: { store }, feed, told, options }: SourceImport): Promise<OwnedCounts> => {
  const isPublic = options.public;
  let counts = noOwnedCounts;
  if (!told || isPublic === undefined) return counts;
  for (let after: string | undefined = "0"; after !== undefined; ) {
    await requireGoingOn(options);
    const from: string = after;
    after = await store.write(async (rows) => {
      await lockFeed(rows, feed);
      const step = await findDocumentStep(rows, feed, from, limits.feedBatchRecords);
      if (!step) return undefined;
      const marked = await markStep(rows, told, isPublic, step);
      await addUnreported(rows, feed, marked);
      counts = addOwnedCounts(counts, marked);
      return step.last;
    });
  }
  return counts;
};

/** The same of facts, which have no documents. */
const markFacts = async ({ services: { store }, feed, told, options }: SourceImport): Promise<OwnedCounts> => {
  const isPublic = told?.kind === "vulnerabilities" ? factsPublic(told) : undefined;
  let counts = noOwnedCounts;
  for (let isLast = isPublic === undefined; !isLast; ) {
    await requireGoingOn(options);
    const moved = await store.write(async (rows) => {
      await lockFeed(rows, feed);
      const some = await moveFacts(rows, { feed, group: options.group }, isPublic === true);
      if (some) await addUnreported(rows, feed, some);
      return some;
    });
    counts = addOwnedCounts(counts, moved ?? noOwnedCounts);
    isLast = moved === undefined;
  }
  return counts;
};

/** Marks what is of files that the source has no longer; false where nothing can have vanished. */
const markMissing = ({ services: { store }, feed, target }: SourceImport, { parts, isDelta }: SourceResult): Promise<boolean> =>
  store.write(async (rows) => {
    const { settled, unreported } = await lockFeed(rows, feed);
    const gone = isDelta ? [] : await deleteFeedPartsExcept(rows, feed, parts);
    if (gone.length === 0) return !settled;
    await markDocumentsGone(rows, feed, gone, target.nowMs);
    await updateFeed(rows, feed, { settled: false, unreported });
    return true;
  });

/** Decides who tells some of what no document of this source tells any longer; whether that was the last of it. */
const reassignSome = async (rows: Write, { feed, told }: SourceImport): Promise<{ readonly counts: OwnedCounts; readonly isLast: boolean }> => {
  const gone = told ? await takeGoneRecords(rows, feed, limits.feedBatchRecords) : [];
  const counts = told && gone.length > 0 ? await reassignGone(rows, told, gone) : noOwnedCounts;
  return { counts, isLast: gone.length < limits.feedBatchRecords };
};

/** The same of kinds without documents, and of what the version before has written. */
const withdrawUntold = async (rows: Write, { feed, told, target, options }: SourceImport): Promise<OwnedCounts> => {
  if (told) await deleteReplacedDocuments(rows, feed);
  const findTold = (keys: readonly string[]): Promise<Set<string>> => findToldRecords(rows, feed, keys);
  const withdrawn = await withdrawVanished(rows, target, recordKinds[options.kind], findTold);
  return options.kind === "vulnerabilities" ? addOwnedCounts(withdrawn, await deleteVanishedFacts(rows, feed, findTold)) : withdrawn;
};

/** Tells of all that no event has told yet. */
const tellImport = async (rows: Write, from: SourceImport, result: SourceResult, isSettled: boolean): Promise<void> => {
  const { services, options, feed, source, requestId } = from;
  const { settled, unreported } = await lockFeed(rows, feed);
  await recordImport(rows, services, {
    kind: options.kind,
    group: options.group,
    source: source.label,
    operation: options.operation ?? `gantry import ${options.kind}`,
    requestId,
    changes: unreported,
    unchanged: unchangedCount(result),
    refused: result.refusals,
  });
  const isToTell = changeCount(unreported.group) + changeCount(unreported.everybody) > 0;
  if (isToTell || isSettled) await updateFeed(rows, feed, { settled: settled || isSettled, unreported: { group: noChanges, everybody: noChanges } });
};

/**
 * Ends the import of a source: withdraws what has vanished from a source that was read to its end, in steps, and tells
 * of all in the transaction of the last one. What an earlier step did is kept in the source's row until it is told. Of one
 * that was not (`isRead` is false) it only tells. Returns what was withdrawn and marked.
 */
const finishImport = async (from: SourceImport, result: SourceResult, isRead: boolean): Promise<OwnedCounts> => {
  const { services, feed } = from;
  const mayHaveVanished = isRead && !result.isSame && (await markMissing(from, result));
  let all = isRead ? addOwnedCounts(await markPublic(from), await markFacts(from)) : noOwnedCounts;
  for (let isLast = false; !isLast; ) {
    if (isRead) await requireGoingOn(from.options);
    const step = await services.store.write(async (rows) => {
      await lockFeed(rows, feed);
      if (!mayHaveVanished) return tellImport(rows, from, result, false).then(() => undefined);
      const some = await reassignSome(rows, from);
      const counts = some.isLast ? addOwnedCounts(some.counts, await withdrawUntold(rows, from)) : some.counts;
      await addUnreported(rows, feed, counts);
      if (some.isLast) await tellImport(rows, from, result, true);
      return { ...some, counts };
    });
    all = addOwnedCounts(all, step?.counts ?? noOwnedCounts);
    isLast = step?.isLast ?? true;
  }
  return all;
};

const unchangedCount = ({ counts, unread }: SourceResult): number => unread + counts.group.unchanged + counts.everybody.unchanged;

/** Imports one source. What comes of it is in the result, also of a source that fails. */
const importSource = async (run: ImportRun, source: Source, result: SourceResult): Promise<void> => {
  const { services, options } = run;
  const { kind, group, author, format, progress } = options;
  const { store, log } = services;
  // What is public is marked behind the files where documents are kept (markPublic).
  const manner = JSON.stringify([readerVersion, author ?? "", format ?? "", options.license ?? null, isToldKind(kind) ? null : (options.public ?? null)]);
  const opened = { kind, group, source: source.key, manner, license: options.license, author: author ?? "" };
  const { id: feed, license } = await store.write((rows) => openFeed(rows, opened));
  const nowMs = services.clock();
  const target: RecordTarget = { group, public: options.public, feed: source.key, nowMs };
  const told = isToldKind(kind) ? { kind, group, feed, source: source.key, license, public: options.public, nowMs } : undefined;
  const from: SourceImport = { ...run, source, feed, target, told };
  const goOn = (): Promise<void> => requireGoingOn(options);
  const fetching = await openFetching(run, feed, manner, source);
  let isStored = true;
  let written = 0;
  let nextLook = 1;
  try {
    const total = await source.count();
    const begin = (label: string): void => progress({ done: result.files - 1, total: Math.max(total, result.files), what: label });
    const readings = readFiles({ rows: store.read, feed, options: { kind, author, format } }, source.files(fetching));
    const batches = batchesOf(partsOf(readings, result, begin));
    for await (const { counts, refusals } of writeBatches({ store, log, feed, target, told, requireGoingOn: goOn }, batches)) {
      result.counts = addOwnedCounts(result.counts, counts);
      for (const refusal of refusals) addRefusal(result, refusal);
      isStored &&= refusals.length === 0;
      // A table's next looks are further apart, as its growth is.
      written++;
      if (written === nextLook) {
        nextLook *= 4;
        await store.write((rows) => refreshRecordStatistics(rows, "grown"));
      }
    }
    await goOn();
    progress({ done: result.files, total: result.files, what: "" });
    // A folder that is empty all of a sudden is a disk that is not mounted.
    if (result.isSame) {
      result.unread = await countFeedRecords(store.read, feed);
      result.counts = await finishImport(from, result, true);
      return;
    }
    result.isDelta = fetching.found.isDelta;
    if (!result.isDelta && result.parts.size === 0 && (await countFeedParts(store.read, feed)) > 0)
      throw new Fault("FAILED_PRECONDITION", "holds no files any more; nothing was withdrawn");
    result.counts = addOwnedCounts(result.counts, await finishImport(from, result, !result.isUnread));
    // Only now: what was not read to its end, or not stored, is fetched again.
    if (isStored && !result.isUnread) await store.write((rows) => writeFeedValidators(rows, feed, manner, fetching.validators.next));
  } catch (thrown) {
    // Where the store is away, the source's row keeps it for the next import.
    await finishImport(from, result, false).catch(() => {});
    throw thrown;
  } finally {
    for (const file of fetching.opened) await file.close();
  }
};

/** What a connection failed with, for the operator, who has named the address. */
const withReason = (address: string, thrown: unknown): unknown => {
  const url = URL.parse(address);
  if (!(thrown instanceof Fault) || thrown.message !== unreachableText(address) || url === null) return thrown;
  let { cause } = thrown;
  while (cause instanceof Error && cause.cause !== undefined) ({ cause } = cause);
  const why = cause instanceof Error && cause.message !== "" ? `: ${cause.message}` : "";
  return new Fault("UNAVAILABLE", `${addressLabel(url)} cannot be reached${why}`, { cause: thrown.cause });
};

/** The guarded client: redirects are followed within it, each address checked like the first. */
const guardedFetch =
  ({ services, options }: ImportRun): Fetch =>
  async (address, { headers, receive }) => {
    await requireGoingOn(options);
    const asked = services.authn.outbound.fetch("feed", address, {
      headers,
      receive: async (piece) => {
        await requireGoingOn(options);
        await receive(piece);
      },
      redirectsMax: limits.feedRedirectsMax,
      bytesMax: limits.feedSourceBytesMax,
      timeoutMs: limits.feedFetchMs,
      idleMs: limits.feedIdleMs,
      ...(options.signal ? { signal: options.signal } : {}),
    });
    return asked.catch((thrown: unknown) => {
      throw withReason(address, thrown);
    });
  };

/** The same with a key, for the source's own host and no other; of redirects the client takes care. */
const withKey = (fetch: Fetch, source: string, key: string | undefined): Fetch => {
  const own = key === undefined ? undefined : URL.parse(source)?.origin;
  return (address, request) => {
    const url = URL.parse(address);
    if (key === undefined || url === null || url.origin !== own) return fetch(address, request);
    return fetch(address, { ...request, headers: { ...request.headers, ...keyHeadersFor(url, key) } });
  };
};

/** What a source is fetched with. Behind an import that did not come to its end everything is fetched again. */
const openFetching = async (run: ImportRun, feed: string, manner: string, source: Source): Promise<Fetching> => ({
  fetch: withKey(guardedFetch(run), source.key, run.key),
  hasKey: run.key !== undefined,
  nowMs: run.services.clock(),
  found: { isDelta: false },
  validators: new Validators(await findFeedValidators(run.services.store.read, feed, manner)),
  pause: (ms) => wait(ms, undefined, run.options.signal ? { signal: run.options.signal } : {}),
  opened: new Set(),
});

const openSources = async ({ options }: ImportRun): Promise<Source[]> => {
  const sources: Source[] = [];
  for (const source of options.sources) sources.push(await openSource(source));
  return sources;
};

const summaryOf = (results: readonly SourceResult[], failed: readonly string[]): FeedSummary => {
  const sumOf = (count: (result: SourceResult) => number): number => results.reduce((sum, result) => sum + count(result), 0);
  return {
    new: sumOf(({ counts }) => counts.group.new + counts.everybody.new),
    changed: sumOf(({ counts }) => counts.group.changed + counts.everybody.changed),
    withdrawn: sumOf(({ counts }) => counts.group.withdrawn + counts.everybody.withdrawn),
    unchanged: sumOf(unchangedCount),
    files: sumOf(({ files }) => files),
    filesUnchanged: sumOf(({ filesUnchanged }) => filesUnchanged),
    refusals: sumOf(({ refusals }) => refusals),
    refused: results.flatMap(({ refused }) => refused).slice(0, limits.feedRefusalsMax),
    remarks: results.flatMap(({ remarks }) => remarks).slice(0, limits.feedRefusalsMax),
    passedOver: results.flatMap(({ passedOver }) => passedOver).slice(0, limits.feedRefusalsMax),
    passedOverFiles: sumOf(({ passedOverFiles }) => passedOverFiles),
    unmatched: results.flatMap(({ unmatched }) => unmatched).slice(0, limits.feedRefusalsMax),
    failed,
  };
};

/** Imports every source; what is refused leaves nothing behind and the rest goes on. */
export const importFeed = async (services: Services, options: FeedImport): Promise<FeedSummary> => {
  if (options.format !== undefined && !formats.some(({ name }) => name === options.format)) {
    throw new Fault("INVALID_ARGUMENT", `there is no format ${JSON.stringify(options.format)}; possible are: ${formats.map(({ name }) => name).join(", ")}`);
  }
  const { license } = options;
  if (license !== undefined && !isLicenseName(license)) throw new Fault("INVALID_ARGUMENT", "the licence must be an SPDX identifier such as CC-BY-4.0");
  if (options.kind === "lifecycle" && options.public !== undefined)
    throw new Fault("INVALID_ARGUMENT", "a lifecycle is its group's and never everybody's: import lifecycle takes neither --public nor --private");
  const key = options.keyFile === undefined ? undefined : await readKeyFile(options.keyFile);
  const run: ImportRun = { services, options, key, requestId: crypto.randomUUID() };
  // A source that is misspelt stops all before anything is written.
  const sources = await openSources(run);
  const results: SourceResult[] = [];
  const failed: string[] = [];
  for (const source of sources) {
    const result = newResult();
    results.push(result);
    try {
      await importSource(run, source, result);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code === "INTERNAL" || thrown.code === "ABORTED") throw thrown;
      failed.push(`${source.label}: ${thrown.message}`);
    }
  }
  const summary = summaryOf(results, failed);
  if (changeCount(summary) > 0) await services.store.write((rows) => refreshRecordStatistics(rows, "all"));
  // Also where this import changed nothing: the one before may have been cut off between the two.
  if (options.kind === "images" || options.kind === "advisories") {
    const telling = { operation: options.operation ?? `gantry import ${options.kind}`, requestId: run.requestId };
    await matchImages(services, telling, { goOn: () => requireGoingOn(options) });
  }
  return summary;
};
