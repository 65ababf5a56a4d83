// Runs one import: reads each source's files (read-files.ts) and writes them in batches (write-batches.ts). Then withdraws
// missing records, unless another source asserts them (select-source.ts) or too many are missing (withdrawal-guard.ts), and
// reports (import-event.ts). A document is imported completely or refused; a refusal does not stop the import.

import { hash } from "node:crypto";
import { basename } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { unreachableText } from "#base/refused-address.ts";
import type { Services } from "#kernel";
import {
  addChanges,
  addOwnedCounts,
  changeCount,
  closeRun,
  countFeedParts,
  countFeedRecords,
  countMissing,
  deleteFeedPartsExcept,
  deleteReplacedDocuments,
  deleteReversalsBehind,
  deleteVanishedFacts,
  findDocumentStep,
  findFeedHistory,
  findFeedPartsExcept,
  findFeedValidators,
  findFeedFiles,
  findFilesOfForms,
  findHeldBack,
  findHeldWithdrawals,
  findAssertedRecords,
  type HeldBack,
  type HeldRecord,
  type HeldReason,
  keepParts,
  lockFeed,
  markAbsentFiles,
  markDocumentsMissing,
  mayDifferInVisibility,
  moveFacts,
  noChanges,
  noOwnedCounts,
  noteFeedDay,
  openFeed,
  type OwnedCounts,
  type RecordTarget,
  refreshFeedEcosystems,
  releaseMissing,
  resetFeedDays,
  takeGoneRecords,
  takePendingDocuments,
  updateFeed,
  writeFeedOutcome,
  writeFeedValidators,
  writeHeldBack,
  writeHeldRecords,
  writeStaleAfter,
  type WriteCounts,
} from "#advisories/store";
import { refreshRecordStatistics, withdrawVanished } from "./write-records.ts";
import type { Write } from "#db";
import type { FeedKind } from "./formats/format.ts";
import { recordImport } from "./import-event.ts";
import { isLicenseName } from "./licenses.ts";
import { readKeyFile } from "./key-file.ts";
import { updateFindings } from "./finding-facts.ts";
import { matchImages } from "./match-images.ts";
import { readStoredDocument } from "./document.ts";
import { readFiles, type Reading, type ReadPart, type Refusal } from "./read-files.ts";
import { formats } from "./recognise.ts";
import type { FeedRecord } from "./record.ts";
import { addressLabel, type Fetch, type Fetching, Validators } from "./fetching.ts";
import { readerVersion } from "./reader-version.ts";
import { keyHeadersFor } from "./record-pages.ts";
import { openSource, type Source } from "./source.ts";
import { factsPublic, isAssertedKind, markStep, reassignGone, type TellContext, tellParts } from "./select-source.ts";
import { judgeDrop } from "./withdrawal-guard.ts";
import { batchesOf, writeBatches } from "./write-batches.ts";

export interface FeedImport {
  readonly kind: FeedKind;
  /** The group that owns the records. */
  readonly group: string;
  /** True publishes, false makes private. Undefined keeps public records public and new ones private. */
  readonly public: boolean | undefined;
  /** SPDX; undefined keeps the current license, initially unknown. */
  readonly license?: string | undefined;
  readonly sources: readonly string[];
  /** Accepts only this format; undefined accepts any. */
  readonly format?: string | undefined;
  /** Overrides the author in the format. */
  readonly author?: string | undefined;
  /** A file with the API key for the hosts of the sources. */
  readonly keyFile?: string | undefined;
  /** Withdraws missing records without a limit. */
  readonly allowWithdrawals?: boolean;
  /** Older records may replace stored ones. */
  readonly allowOlder?: boolean;
  /** Since the last success; 0 uses the server's setting, undefined keeps the current value. */
  readonly staleAfterMs?: number | undefined;
  /** For the audit log (default: the command). */
  readonly operation?: string;
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
  /** Called between batches; throws to stop the import. */
  readonly goOn?: () => Promise<void>;
  readonly signal?: AbortSignal;
}

export interface FeedSummary extends WriteCounts {
  /** Unchanged ones included. */
  readonly files: number;
  readonly filesUnchanged: number;
  /** "git.advisories.yaml:12: advisories[0].id must …" */
  readonly refused: readonly string[];
  /** `refused` lists only the first ones. */
  readonly refusals: number;
  /** Resolved ambiguities, such as a duplicate key; only the first ones. */
  readonly remarks: readonly string[];
  /** Files that are not feeds, and documents without records of this kind: "LICENSE: is not a known feed format". */
  readonly passedOver: readonly string[];
  /** `passedOver` lists only the first ones. */
  readonly passedOverFiles: number;
  /** Documents that are stored and published, but match nothing in part: their versions have no known order. */
  readonly unmatched: readonly string[];
  /** Blocked withdrawals and updates: "feed.test/all.zip: 299 of 300 records are missing, …". */
  readonly held: readonly string[];
  /** Sources that could not be fetched. */
  readonly failed: readonly string[];
}

const recordKinds: Readonly<Record<FeedKind, FeedRecord["kind"]>> = {
  advisories: "advisory",
  vulnerabilities: "vulnerability",
  libraries: "library",
  images: "image",
  lifecycle: "lifecycle",
};

interface SourceResult {
  counts: OwnedCounts;
  unread: number;
  files: number;
  filesUnchanged: number;
  refusals: number;
  readonly refused: string[];
  readonly remarks: string[];
  passedOverFiles: number;
  readonly passedOver: string[];
  readonly unmatched: string[];
  readonly parts: Map<string, number>;
  /** The source could not be read, so nothing counts as missing. */
  isUnread: boolean;
  /** The source reports no change. */
  isSame: boolean;
  /** Only changes were read: unlisted records are not missing. */
  isDelta: boolean;
  /** Not replaced, because the stored ones are newer. */
  older: number;
  /** The first of them. */
  readonly olderRecords: HeldRecord[];
  /** Records of files that are now empty. */
  emptied: number;
  readonly emptiedFiles: string[];
  /** Missing records that were not withdrawn. */
  missing: HeldBack | undefined;
  readonly held: string[];
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
  older: 0,
  olderRecords: [],
  emptied: 0,
  emptiedFiles: [],
  missing: undefined,
  held: [],
});

/** Names are untrusted, and shown in terminals (attack 28). */
const addNamed = (named: string[], line: string): void => {
  if (named.length < limits.feedRefusalsMax) named.push(line.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?"));
};

const addLine = (lines: string[], { label, line, reason }: Refusal): void => addNamed(lines, `${label}:${line}: ${reason}`);

const addRefusal = (result: SourceResult, refusal: Refusal): void => {
  result.refusals++;
  addLine(result.refused, refusal);
};

/** Returns the name for members of the group, without URL secrets and directories. */
const sharedNameOf = ({ key, label }: Source): string => (URL.canParse(key) ? label : basename(key));

/** Returns the error for members of the group, without details of the operator's network and file system. */
const sharedDetailOf = (detail: string): string => detail.replaceAll(/ (cannot be (?:reached|read)): .*/g, " $1");

const howToWithdraw = "none of them were withdrawn. To withdraw them, import the source with --allow-withdrawals.";

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
      case "emptied":
        result.emptied += reading.records;
        result.emptiedFiles.push(reading.name);
        addNamed(result.held, `${reading.label}: is empty, and had ${reading.records} records before; ${howToWithdraw}`);
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
  readonly requestId: string;
  readonly key: string | undefined;
}

interface SourceImport extends ImportRun {
  readonly source: Source;
  readonly feed: string;
  readonly run: number;
  readonly target: RecordTarget;
  /** For kinds with stored documents. */
  readonly told: TellContext | undefined;
}

const requireGoingOn = async ({ signal, goOn }: FeedImport): Promise<void> => {
  if (signal?.aborted) throw new Fault("ABORTED", "the import was stopped");
  await goOn?.();
};

/** Adds counts to the source's row, where they stay until they are reported. */
const addUnreported = async (rows: Write, feed: string, counts: OwnedCounts): Promise<void> => {
  const { settled, unreported } = await lockFeed(rows, feed);
  await updateFeed(rows, feed, { settled, unreported: addChanges(unreported, counts) });
};

const markPublic = async ({ services: { store }, feed, told, options }: SourceImport): Promise<OwnedCounts> => {
  const isPublic = options.public;
  let counts = noOwnedCounts;
  if (!told || isPublic === undefined) return counts;
  // An import writes new documents as they are to be, so usually none differ.
  const isMarked = !(await mayDifferInVisibility(store.read, feed, isPublic));
  for (let after: string | undefined = isMarked ? undefined : "0"; after !== undefined; ) {
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

/** Publishes or unpublishes facts, which have no documents. */
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

/** Formats with one file for each release. A source deletes it when the release ends, which is then no longer covered. */
const releaseForms = ["secdb"];

/** Marks records of missing files; returns false if nothing can be missing. */
const markMissing = ({ services: { store }, feed, run, told, target }: SourceImport, result: SourceResult): Promise<boolean> =>
  store.write(async (rows) => {
    const { settled, unreported } = await lockFeed(rows, feed);
    if (result.isDelta) return !settled;
    const releases = told ? await findFilesOfForms(rows, feed, releaseForms, result.parts.keys()) : [];
    for (const name of await markAbsentFiles(rows, feed, result.parts.keys(), releases, target.nowMs))
      addNamed(result.remarks, `${name}: the source no longer has this file: its release is no longer covered, and none of its records were withdrawn`);
    const kept = new Map([...result.parts, ...releases.map((name) => [name, Number.MAX_SAFE_INTEGER] as const)]);
    if (told) await keepParts(rows, { feed, run }, await findFeedPartsExcept(rows, feed, kept));
    const gone = await deleteFeedPartsExcept(rows, feed, kept);
    if (gone.length === 0) return !settled;
    await markDocumentsMissing(rows, feed, gone);
    await updateFeed(rows, feed, { settled: false, unreported });
    return true;
  });

/** Finds missing records that have no documents, with their names. Records of `emptied` files are missing too. Writes nothing. */
const findMissingUnasserted = async (
  rows: Write,
  { feed, run, target, options }: SourceImport,
  emptied: readonly string[] = [],
): Promise<Map<string, string>> => {
  const missing = new Map<string, string>();
  const lookAt = async (keys: readonly string[], names: readonly string[]): Promise<Set<string>> => {
    const told = await findAssertedRecords(rows, feed, keys, emptied);
    for (const [index, key] of keys.entries()) if (!told.has(key)) missing.set(key, names[index] ?? "");
    return new Set(keys);
  };
  await withdrawVanished(rows, { ...target, public: undefined }, recordKinds[options.kind], lookAt);
  if (options.kind === "vulnerabilities") await deleteVanishedFacts(rows, { feed, run }, lookAt);
  return missing;
};

type Withdrawable = ReadonlyMap<string, string>;

/**
 * Withdraws or keeps missing records. Moved ones are not missing. Returns the records without documents that may be withdrawn,
 * because a concurrent import may remove more.
 */
const decideWithdrawal = (from: SourceImport, result: SourceResult): Promise<Withdrawable> =>
  from.services.store.write(async (rows) => {
    const { feed, run, told, source, target, options } = from;
    const { nowMs } = target;
    await lockFeed(rows, feed);
    if (told) await releaseMissing(rows, { feed, run }, "moved", nowMs);
    const documents = told ? await countMissing(rows, feed) : { records: 0, digest: "" };
    const untold = await findMissingUnasserted(rows, from);
    const missing = documents.records + untold.size;
    const records = await countFeedRecords(rows, feed);
    const history = await findFeedHistory(rows, feed, nowMs);
    const verdict = judgeDrop({
      records,
      missing,
      digest: hash("sha256", JSON.stringify([documents.digest, [...untold.keys()].sort()]), "base64url"),
      history,
      before: await findHeldBack(rows, feed),
      isAllowed: options.allowWithdrawals === true,
      nowMs,
    });
    if (!verdict.withdraws) {
      const { held } = verdict;
      result.missing = held;
      const until = timestamp((held.sinceMs ?? nowMs) + limits.feedHoldMs);
      addNamed(
        result.held,
        held.reason === "EMPTY"
          ? `${sharedNameOf(source)}: is empty, and had ${Math.max(missing, history.largest)} records before; ${howToWithdraw}`
          : `${sharedNameOf(source)}: ${missing} of ${Math.max(missing, history.largest)} records are missing and were not withdrawn. ` +
              `To withdraw them now, import it with --allow-withdrawals. A run after ${until} withdraws them if the same records are missing until then.`,
      );
      await noteFeedDay(rows, feed, nowMs, { records, withdrawn: 0 });
      return new Map();
    }
    if (told) await releaseMissing(rows, { feed, run }, "all", nowMs);
    if (verdict.isLarge) await resetFeedDays(rows, feed);
    await noteFeedDay(rows, feed, nowMs, { records, withdrawn: verdict.isLarge ? 0 : missing });
    return untold;
  });

/** Reassigns a batch of records that this source no longer asserts. */
const reassignSome = async (rows: Write, { feed, told }: SourceImport): Promise<{ readonly counts: OwnedCounts; readonly isLast: boolean }> => {
  const gone = told ? await takeGoneRecords(rows, feed, limits.feedBatchRecords) : [];
  const counts = told && gone.length > 0 ? await reassignGone(rows, told, gone) : noOwnedCounts;
  return { counts, isLast: gone.length < limits.feedBatchRecords };
};

/** Writes a batch of documents that dropped records, once these may be withdrawn. */
const writePendingSome = async (rows: Write, { feed, told, options }: SourceImport): Promise<{ readonly counts: OwnedCounts; readonly isLast: boolean }> => {
  const pending = told ? await takePendingDocuments(rows, feed, limits.feedChunkFiles) : [];
  const parts = pending.flatMap(({ file: name, part, form, ordinal, body }) => {
    const read = readStoredDocument(form, body, { kind: options.kind, author: options.author });
    return read?.draft ? [{ name, part, isPartial: true, documents: [{ ...read, draft: { ...read.draft, ordinal } }] }] : [];
  });
  const written = told && parts.length > 0 ? await tellParts(rows, { ...told, allowOlder: true }, parts) : undefined;
  return { counts: written?.counts ?? noOwnedCounts, isLast: pending.length < limits.feedChunkFiles };
};

/** Withdraws missing records of kinds without documents, and records of the previous version. */
const withdrawUnasserted = async (rows: Write, { feed, run, told, target, options }: SourceImport, allowed: Withdrawable): Promise<OwnedCounts> => {
  if (told) await deleteReplacedDocuments(rows, feed);
  const findAsserted = async (keys: readonly string[]): Promise<Set<string>> => {
    const asked = keys.filter((key) => allowed.has(key));
    const known = await findAssertedRecords(rows, feed, asked);
    for (const key of keys) if (!allowed.has(key)) known.add(key);
    return known;
  };
  const withdrawn = await withdrawVanished(rows, target, recordKinds[options.kind], findAsserted);
  return options.kind === "vulnerabilities" ? addOwnedCounts(withdrawn, await deleteVanishedFacts(rows, { feed, run }, findAsserted)) : withdrawn;
};

const tellImport = async (rows: Write, from: SourceImport, result: SourceResult, isSettled: boolean): Promise<void> => {
  const { services, options, feed, run, source, target, requestId } = from;
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
  if (isToTell || result.missing === undefined) await deleteReversalsBehind(rows, { feed, run }, isToTell);
  await closeRun(rows, feed, run, isToTell, target.nowMs);
  if (isToTell || isSettled) await updateFeed(rows, feed, { settled: settled || isSettled, unreported: { group: noChanges, everybody: noChanges } });
};

/**
 * Withdraws missing records in steps if the source was read to its end (`isRead`), and reports all changes in the last
 * transaction. Changes of earlier steps stay in the source's row until then.
 */
const finishImport = async (from: SourceImport, result: SourceResult, isRead: boolean): Promise<OwnedCounts> => {
  const { services, feed } = from;
  const mayHaveVanished = isRead && !result.isSame && (await markMissing(from, result));
  const allowed: Withdrawable = mayHaveVanished ? await decideWithdrawal(from, result) : new Map();
  let all = isRead ? addOwnedCounts(await markPublic(from), await markFacts(from)) : noOwnedCounts;
  for (let isLast = !mayHaveVanished; !isLast; ) {
    await requireGoingOn(from.options);
    const step = await services.store.write(async (rows) => {
      await lockFeed(rows, feed);
      const some = await writePendingSome(rows, from);
      await addUnreported(rows, feed, some.counts);
      return some;
    });
    all = addOwnedCounts(all, step.counts);
    ({ isLast } = step);
  }
  for (let isLast = false; !isLast; ) {
    if (isRead) await requireGoingOn(from.options);
    const step = await services.store.write(async (rows) => {
      await lockFeed(rows, feed);
      if (!mayHaveVanished) return tellImport(rows, from, result, false).then(() => undefined);
      const some = await reassignSome(rows, from);
      const counts = some.isLast ? addOwnedCounts(some.counts, await withdrawUnasserted(rows, from, allowed)) : some.counts;
      await addUnreported(rows, feed, counts);
      // While records are held back, every run checks again.
      if (some.isLast) await tellImport(rows, from, result, result.missing === undefined);
      return { ...some, counts };
    });
    all = addOwnedCounts(all, step?.counts ?? noOwnedCounts);
    isLast = step?.isLast ?? true;
  }
  return all;
};

const unchangedCount = ({ counts, unread }: SourceResult): number => unread + counts.group.unchanged + counts.everybody.unchanged;

const nothingHeld: HeldBack = { reason: "", records: 0, sinceMs: undefined, digest: "" };

/** An unreadable source says nothing about missing records, so the earlier decision stays. */
const staysDecided = ({ isUnread }: SourceResult, before: HeldBack): boolean => isUnread && before.digest !== "";

const heldOf = (result: SourceResult, before: HeldBack, nowMs: number): HeldBack => {
  const { emptied, isUnread, missing, older } = result;
  const reason: HeldReason = emptied > 0 ? "EMPTY" : isUnread ? "UNREADABLE" : (missing?.reason ?? (older > 0 ? "OLDER" : ""));
  const sinceMs = missing?.sinceMs ?? (reason === before.reason ? before.sinceMs : nowMs);
  if (staysDecided(result, before)) return { ...before, reason };
  return { reason, records: emptied + (missing?.records ?? 0) + older, sinceMs: reason === "" ? undefined : sinceMs, digest: missing?.digest ?? "" };
};

/** Returns what the run held back, in the transaction that writes its state. */
const findHeldRecords = async (rows: Write, from: SourceImport, { missing, emptiedFiles, olderRecords }: SourceResult): Promise<HeldRecord[]> => {
  if (missing === undefined && emptiedFiles.length === 0) return olderRecords;
  const { feed, told, options } = from;
  const scope = { feed, group: options.group, isMarkedHeld: missing !== undefined, emptied: emptiedFiles };
  const documents = told ? await findHeldWithdrawals(rows, scope) : [];
  const others = [...(await findMissingUnasserted(rows, from, emptiedFiles))].map(
    ([key, recordId]): HeldRecord => ({ kind: "WITHDRAWAL", key, recordId, packageName: "", modifyTime: "", sourceModifyTime: "" }),
  );
  return [...documents, ...others, ...olderRecords];
};

/** Writes the source's state after a run. */
const closeSource = async (from: SourceImport, result: SourceResult): Promise<void> => {
  const { services, feed, source, options } = from;
  const { store, clock, log } = services;
  const nowMs = clock();
  if (result.older > 0)
    addNamed(
      result.held,
      `${sharedNameOf(source)}: ${result.older} records were modified earlier than the stored ones and did not replace them. ` +
        "To replace them, import it with --allow-older.",
    );
  // A source without records has nothing to protect.
  const isKnown = !result.isUnread || (await countFeedRecords(store.read, feed)) > 0;
  if (result.isUnread && isKnown && result.held.length === 0)
    addNamed(result.held, `${sharedNameOf(source)}: no records withdrawn; the source is unreadable: ${result.refused[0] ?? "its only file was refused"}`);
  const held = await store.write(async (rows) => {
    await lockFeed(rows, feed);
    const before = await findHeldBack(rows, feed);
    const next = isKnown ? heldOf(result, before, nowMs) : nothingHeld;
    await writeHeldBack(rows, feed, next);
    if (!isKnown || !staysDecided(result, before)) await writeHeldRecords(rows, feed, isKnown ? await findHeldRecords(rows, from, result) : [], nowMs);
    const records = await countFeedRecords(rows, feed);
    const detail = sharedDetailOf((isKnown ? result.held : result.refused).slice(0, 3).join("\n"));
    await writeFeedOutcome(rows, feed, { state: !isKnown ? "FAILED" : next.reason === "" ? "OK" : "HELD", detail, records, nowMs });
    await refreshFeedEcosystems(rows, feed, nowMs);
    return next;
  });
  if (held.reason !== "")
    log("feed.held", { kind: options.kind, source: source.label, reason: held.reason, records: held.records, detail: result.held.slice(0, 3).join("\n") });
};

const importSource = async (run: ImportRun, source: Source, result: SourceResult): Promise<void> => {
  const { services, options } = run;
  const { kind, group, author, format, progress } = options;
  const { store, log } = services;
  // Kinds with stored documents publish after the files (markPublic).
  const manner = JSON.stringify([readerVersion, author ?? "", format ?? "", options.license ?? null, isAssertedKind(kind) ? null : (options.public ?? null)]);
  const opened = { kind, group, source: source.key, sourceName: sharedNameOf(source), manner, license: options.license, author: author ?? "" };
  const nowMs = services.clock();
  const { allowWithdrawals = false, allowOlder = false } = options;
  const {
    id: feed,
    license,
    run: number,
  } = await store.write(async (rows) => {
    const row = await openFeed(rows, opened);
    // The state before this run; the previous version did not store it.
    await noteFeedDay(rows, row.id, nowMs, { records: await countFeedRecords(rows, row.id), withdrawn: 0 });
    if (options.staleAfterMs !== undefined) await writeStaleAfter(rows, row.id, options.staleAfterMs);
    return row;
  });
  const target: RecordTarget = { group, public: options.public, feed: source.key, nowMs };
  const told = isAssertedKind(kind) ? { kind, group, feed, source: source.key, license, public: options.public, run: number, allowOlder, nowMs } : undefined;
  const from: SourceImport = { ...run, source, feed, run: number, target, told };
  const goOn = (): Promise<void> => requireGoingOn(options);
  const fetching = await openFetching(run, feed, manner, source);
  let isStored = true;
  let written = 0;
  let nextLook = 1;
  try {
    const total = await source.count();
    const begin = (label: string): void => progress({ done: result.files - 1, total: Math.max(total, result.files), what: label });
    const readings = readFiles({ rows: store.read, feed, options: { kind, author, format }, allowEmpty: allowWithdrawals }, source.files(fetching));
    const batches = batchesOf(partsOf(readings, result, begin));
    for await (const { counts, older, refusals } of writeBatches({ store, log, feed, target, told, run: number, requireGoingOn: goOn }, batches)) {
      result.counts = addOwnedCounts(result.counts, counts);
      result.older += older.length;
      result.olderRecords.push(...older.slice(0, limits.feedHeldRecordsMax - result.olderRecords.length));
      for (const refusal of refusals) addRefusal(result, refusal);
      isStored &&= refusals.length === 0;
      // Intervals grow as the table does.
      written++;
      if (written === nextLook) {
        nextLook *= 4;
        await store.write((rows) => refreshRecordStatistics(rows, "grown"));
      }
    }
    await goOn();
    progress({ done: result.files, total: result.files, what: "" });
    // A suddenly empty directory is likely an unmounted disk.
    if (result.isSame) {
      result.unread = await countFeedRecords(store.read, feed);
      result.counts = await finishImport(from, result, true);
      await closeSource(from, result);
      return;
    }
    result.isDelta = fetching.found.isDelta;
    if (!allowWithdrawals && !result.isDelta && result.parts.size === 0 && (await countFeedParts(store.read, feed)) > 0) {
      result.isUnread = true;
      result.emptied = await countFeedRecords(store.read, feed);
      result.emptiedFiles.push(...(await findFeedFiles(store.read, feed)));
      addNamed(result.held, `${sharedNameOf(source)}: contains no files any more, but had ${result.emptied} records before; ${howToWithdraw}`);
    }
    result.counts = addOwnedCounts(result.counts, await finishImport(from, result, !result.isUnread));
    await closeSource(from, result);
    // Written last, so that everything not read, stored or accepted is fetched again.
    if (isStored && !result.isUnread && result.held.length === 0)
      await store.write((rows) => writeFeedValidators(rows, feed, manner, fetching.validators.next));
  } catch (thrown) {
    // If the database is unreachable, the source's row keeps the changes.
    await finishImport(from, result, false).catch(() => {});
    if (thrown instanceof Fault && thrown.code !== "ABORTED") {
      const why = thrown.code === "INTERNAL" ? "internal error" : sharedDetailOf(thrown.message);
      const name = sharedNameOf(source);
      const detail = why.startsWith(name) ? why : `${name}: ${why}`;
      await store.write((rows) => writeFeedOutcome(rows, feed, { state: "FAILED", detail, records: undefined, nowMs: services.clock() })).catch(() => {});
    }
    throw thrown;
  } finally {
    for (const file of fetching.opened) await file.close();
  }
};

/** Adds the reason of a failed connection, which the operator may see. */
const withReason = (address: string, thrown: unknown): unknown => {
  const url = URL.parse(address);
  if (!(thrown instanceof Fault) || thrown.message !== unreachableText(address) || url === null) return thrown;
  let { cause } = thrown;
  while (cause instanceof Error && cause.cause !== undefined) ({ cause } = cause);
  const why = cause instanceof Error && cause.message !== "" ? `: ${cause.message}` : "";
  return new Fault("UNAVAILABLE", `${addressLabel(url)} cannot be reached${why}`, { cause: thrown.cause });
};

/** The client follows redirects, and checks each URL. */
const guardedFetch =
  ({ services, options }: ImportRun): Fetch =>
  async (address, { headers, receive }) => {
    await requireGoingOn(options);
    const asked = services.authn.outbound.fetch("feed", address, {
      tenant: "operator",
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

/** Sends the key to the source's own host only. */
const withKey = (fetch: Fetch, source: string, key: string | undefined): Fetch => {
  const own = key === undefined ? undefined : URL.parse(source)?.origin;
  return (address, request) => {
    const url = URL.parse(address);
    if (key === undefined || url === null || url.origin !== own) return fetch(address, request);
    return fetch(address, { ...request, headers: { ...request.headers, ...keyHeadersFor(url, key) } });
  };
};

/** Loads the validators. After an unfinished import there are none, and everything is fetched again. */
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
    held: results.flatMap(({ held }) => held).slice(0, limits.feedRefusalsMax),
    failed,
  };
};

/** Imports every source. A refused document is skipped, and the import continues. */
export const importFeed = async (services: Services, options: FeedImport): Promise<FeedSummary> => {
  if (options.format !== undefined && !formats.some(({ name }) => name === options.format)) {
    throw new Fault("INVALID_ARGUMENT", `unknown format ${JSON.stringify(options.format)}; must be one of ${formats.map(({ name }) => name).join(", ")}`);
  }
  const { license } = options;
  if (license !== undefined && !isLicenseName(license)) throw new Fault("INVALID_ARGUMENT", "the license must be an SPDX identifier. Example: CC-BY-4.0");
  if (options.kind === "lifecycle" && options.public !== undefined)
    throw new Fault("INVALID_ARGUMENT", "import lifecycle does not support --public or --private: a lifecycle belongs to its group");
  const key = options.keyFile === undefined ? undefined : await readKeyFile(options.keyFile);
  const run: ImportRun = { services, options, key, requestId: crypto.randomUUID() };
  // A misspelled source stops the import early.
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
  // Even without changes: the previous import may have been killed before.
  if (options.kind === "images" || options.kind === "advisories") {
    const telling = { operation: options.operation ?? `gantry import ${options.kind}`, requestId: run.requestId };
    await matchImages(services, telling, { goOn: () => requireGoingOn(options) });
  }
  if (options.kind === "vulnerabilities") await updateFindings(services, () => requireGoingOn(options));
  return summary;
};
