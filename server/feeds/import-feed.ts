// One import: each source's files are read (read-files.ts), written in batches (write-batches.ts), and what has vanished
// is withdrawn in the transaction that tells of the import (import-event.ts). A document goes in completely or not at
// all; the rest goes on.

import { setTimeout as wait } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Services } from "#kernel";
import {
  addChanges,
  changeCount,
  countFeedParts,
  countFeedRecords,
  deleteFeedPartsExcept,
  findFeedRecords,
  findFeedValidators,
  lockFeed,
  noChanges,
  openFeed,
  type OwnedChanges,
  recordOwner,
  type RecordTarget,
  refreshRecordStatistics,
  updateFeed,
  withdrawVanished,
  type Write,
  writeFeedValidators,
  type WriteCounts,
} from "#store";
import type { FeedKind } from "./formats/format.ts";
import { recordImport } from "./import-event.ts";
import { readFiles, type Reading, type ReadPart, type Refusal } from "./read-files.ts";
import { formats } from "./recognise.ts";
import type { FeedRecord } from "./record.ts";
import { type Fetch, type Fetching, Validators } from "./fetching.ts";
import { openSource, type Source } from "./source.ts";
import { addOwnedCounts, batchesOf, noOwnedCounts, writeBatches } from "./write-batches.ts";

export interface FeedImport {
  readonly kind: FeedKind;
  /** The group that the records are for. */
  readonly group: string;
  /** The open operations show them too. */
  readonly public: boolean;
  /** Files, folders and https addresses. */
  readonly sources: readonly string[];
  /** The one format that is taken; any without it. */
  readonly format?: string | undefined;
  /** Who wrote it; the format's own word without it. */
  readonly author?: string | undefined;
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
  /** Files of a folder that are no feed at all, such as a licence, and documents that tell nothing of this kind: "LICENSE: is no feed". */
  readonly passedOver: readonly string[];
  /** How many there were; of very many the first ones are named. */
  readonly passedOverFiles: number;
  /** Sources that could not be had. */
  readonly failed: readonly string[];
}

/** Raised whenever formats read something differently, so that files are read again. */
const readerVersion = "1";

const recordKinds: Readonly<Record<FeedKind, FeedRecord["kind"]>> = {
  advisories: "advisory",
  vulnerabilities: "vulnerability",
  libraries: "library",
  images: "image",
};

/** What came of one source. */
interface SourceResult {
  counts: typeof noOwnedCounts;
  /** Records of parts that were not read again. */
  unread: number;
  withdrawn: number;
  files: number;
  filesUnchanged: number;
  refusals: number;
  readonly refused: string[];
  passedOverFiles: number;
  readonly passedOver: string[];
  /** Parts of each file that the source has. */
  readonly parts: Map<string, number>;
  /** Nothing is known of what the source still tells. */
  isUnread: boolean;
  /** Nothing has changed, by the word of who has it. */
  isSame: boolean;
}

const newResult = (): SourceResult => ({
  counts: noOwnedCounts,
  unread: 0,
  withdrawn: 0,
  files: 0,
  filesUnchanged: 0,
  refusals: 0,
  refused: [],
  passedOverFiles: 0,
  passedOver: [],
  parts: new Map(),
  isUnread: false,
  isSame: false,
});

/** Names of files and keys are written by strangers, and this is read on terminals (attack 28). */
const addNamed = (named: string[], line: string): void => {
  if (named.length < limits.feedRefusalsMax) named.push(line.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?"));
};

const addRefusal = (result: SourceResult, { label, line, reason }: Refusal): void => {
  result.refusals++;
  addNamed(result.refused, `${label}:${line}: ${reason}`);
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
}

interface SourceImport extends ImportRun {
  readonly source: Source;
  readonly feed: string;
  readonly target: RecordTarget;
}

const requireGoingOn = async ({ signal, goOn }: FeedImport): Promise<void> => {
  if (signal?.aborted) throw new Fault("ABORTED", "the import was stopped");
  await goOn?.();
};

/** Withdraws what no file tells any longer; undefined where nothing can have vanished. */
const withdrawMissing = async (
  rows: Write,
  { feed, target, options }: SourceImport,
  parts: ReadonlyMap<string, number>,
  settled: boolean,
): Promise<number | undefined> => {
  const gone = await deleteFeedPartsExcept(rows, feed, parts);
  if (gone === 0 && settled) return undefined;
  const known = await findFeedRecords(rows, feed);
  return withdrawVanished(rows, target, recordKinds[options.kind], (key) => known.has(key));
};

/**
 * Ends the import of a source, in one transaction: withdraws what has vanished from a source that was read to its end
 * (`parts` are what it has), and tells of all that no event has told yet. Returns how many records were withdrawn.
 */
const finishImport = (from: SourceImport, result: SourceResult, parts: ReadonlyMap<string, number> | undefined): Promise<number> =>
  from.services.store.write(async (rows) => {
    const { services, options, feed, target, source, requestId } = from;
    const { settled, unreported } = await lockFeed(rows, feed);
    const missing = parts && (await withdrawMissing(rows, from, parts, settled));
    const withdrawn: OwnedChanges = {
      group: noChanges,
      everybody: noChanges,
      [recordOwner(recordKinds[options.kind], target)]: { ...noChanges, withdrawn: missing ?? 0 },
    };
    const changes = addChanges(unreported, withdrawn);
    await recordImport(rows, services, {
      kind: options.kind,
      group: options.group,
      source: source.label,
      operation: options.operation ?? `gantry import ${options.kind}`,
      requestId,
      changes,
      unchanged: unchangedCount(result),
      refused: result.refusals,
    });
    const isToTell = changeCount(changes.group) + changeCount(changes.everybody) > 0;
    if (isToTell || missing !== undefined)
      await updateFeed(rows, feed, { settled: settled || missing !== undefined, unreported: { group: noChanges, everybody: noChanges } });
    return missing ?? 0;
  });

const unchangedCount = ({ counts, unread }: SourceResult): number => unread + counts.group.unchanged + counts.everybody.unchanged;

/** Imports one source. What comes of it is in the result, also of a source that fails. */
const importSource = async (run: ImportRun, source: Source, result: SourceResult): Promise<void> => {
  const { services, options } = run;
  const { kind, group, author, format, progress } = options;
  const { store, log } = services;
  const manner = JSON.stringify([readerVersion, options.public, author ?? "", format ?? ""]);
  const feed = await store.write((rows) => openFeed(rows, { kind, group, source: source.key, manner }));
  const target: RecordTarget = { group, public: options.public, feed: source.key, nowMs: services.clock() };
  const from: SourceImport = { ...run, source, feed, target };
  const goOn = (): Promise<void> => requireGoingOn(options);
  const fetching = await openFetching(run, feed, manner);
  let isStored = true;
  try {
    const total = await source.count();
    const begin = (label: string): void => progress({ done: result.files - 1, total: Math.max(total, result.files), what: label });
    const readings = readFiles({ rows: store.read, feed, options: { kind, author, format } }, source.files(fetching));
    const batches = batchesOf(partsOf(readings, result, begin));
    for await (const { counts, refusals } of writeBatches({ store, log, feed, target, requireGoingOn: goOn }, batches)) {
      result.counts = addOwnedCounts(result.counts, counts);
      for (const refusal of refusals) addRefusal(result, refusal);
      isStored &&= refusals.length === 0;
    }
    await goOn();
    progress({ done: result.files, total: result.files, what: "" });
    // A folder that is empty all of a sudden is a disk that is not mounted.
    if (result.isSame) {
      result.unread = await countFeedRecords(store.read, feed);
      return;
    }
    if (result.parts.size === 0 && (await countFeedParts(store.read, feed)) > 0)
      throw new Fault("FAILED_PRECONDITION", "holds no files any more; nothing was withdrawn");
    result.withdrawn = await finishImport(from, result, result.isUnread ? undefined : result.parts);
    // Only now: what was not read to its end, or not stored, is fetched again.
    if (isStored && !result.isUnread) await store.write((rows) => writeFeedValidators(rows, feed, manner, fetching.validators.next));
  } catch (thrown) {
    // Where the store is away, the source's row keeps it for the next import.
    await finishImport(from, result, undefined).catch(() => {});
    throw thrown;
  } finally {
    for (const file of fetching.opened) await file.close();
  }
};

/** The guarded client: redirects are followed within it, each address checked like the first. */
const guardedFetch =
  ({ services, options }: ImportRun): Fetch =>
  async (address, { headers, receive }) => {
    await requireGoingOn(options);
    return services.authn.outbound.fetch("feed", address, {
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
  };

/** What a source is fetched with. Behind an import that did not come to its end everything is fetched again. */
const openFetching = async (run: ImportRun, feed: string, manner: string): Promise<Fetching> => ({
  fetch: guardedFetch(run),
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
    withdrawn: sumOf(({ counts, withdrawn }) => withdrawn + counts.group.withdrawn + counts.everybody.withdrawn),
    unchanged: sumOf(unchangedCount),
    files: sumOf(({ files }) => files),
    filesUnchanged: sumOf(({ filesUnchanged }) => filesUnchanged),
    refusals: sumOf(({ refusals }) => refusals),
    refused: results.flatMap(({ refused }) => refused).slice(0, limits.feedRefusalsMax),
    passedOver: results.flatMap(({ passedOver }) => passedOver).slice(0, limits.feedRefusalsMax),
    passedOverFiles: sumOf(({ passedOverFiles }) => passedOverFiles),
    failed,
  };
};

/** Imports every source; what is refused leaves nothing behind and the rest goes on. */
export const importFeed = async (services: Services, options: FeedImport): Promise<FeedSummary> => {
  if (options.format !== undefined && !formats.some(({ name }) => name === options.format)) {
    throw new Fault("INVALID_ARGUMENT", `there is no format ${JSON.stringify(options.format)}; possible are: ${formats.map(({ name }) => name).join(", ")}`);
  }
  const run: ImportRun = { services, options, requestId: crypto.randomUUID() };
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
  if (changeCount(summary) > 0) await services.store.write(refreshRecordStatistics);
  return summary;
};
