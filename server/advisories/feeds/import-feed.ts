// One import: each source's files are read (read-files.ts), written in batches (write-batches.ts), what has vanished is
// withdrawn unless another source tells it (tell-records.ts) or so much is missing that it is held back
// (withdrawal-guard.ts), and the import is told (import-event.ts). A document goes in completely or not at all; the rest
// goes on.

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
  findFilesOfForms,
  findHeldBack,
  findToldRecords,
  type HeldBack,
  type HeldReason,
  keepParts,
  lockFeed,
  markAbsentFiles,
  markDocumentsMissing,
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
  writeStaleAfter,
  type WriteCounts,
} from "#advisories/store";
import { refreshRecordStatistics, withdrawVanished } from "./write-records.ts";
import type { Write } from "#db";
import type { FeedKind } from "./formats/format.ts";
import { recordImport } from "./import-event.ts";
import { isLicenseName } from "./licenses.ts";
import { readKeyFile } from "./key-file.ts";
import { matchImages } from "./match-images.ts";
import { readStoredDocument } from "./document.ts";
import { readFiles, type Reading, type ReadPart, type Refusal } from "./read-files.ts";
import { formats } from "./recognise.ts";
import type { FeedRecord } from "./record.ts";
import { addressLabel, type Fetch, type Fetching, Validators } from "./fetching.ts";
import { readerVersion } from "./reader-version.ts";
import { keyHeadersFor } from "./record-pages.ts";
import { openSource, type Source } from "./source.ts";
import { factsPublic, isToldKind, markStep, reassignGone, type TellContext, tellParts } from "./tell-records.ts";
import { judgeDrop } from "./withdrawal-guard.ts";
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
  /** Withdraw whatever the sources no longer have, however much it is. */
  readonly allowWithdrawals?: boolean;
  /** Replace records by ones that were modified earlier. */
  readonly allowOlder?: boolean;
  /** How long after their last success the sources are stale; 0: as the setting says; undefined: as it was. */
  readonly staleAfterMs?: number | undefined;
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
  /** Files of a folder that are no feed at all, such as a licence, and documents that tell nothing of this kind: "LICENSE: is not a known feed format". */
  readonly passedOver: readonly string[];
  /** How many there were; of very many the first ones are named. */
  readonly passedOverFiles: number;
  /** Documents that are kept and published as they came in, and of which something matches nothing: it has no versions in a known order. */
  readonly unmatched: readonly string[];
  /** What was held back of sources, and why: "feed.test/all.zip: 299 of 300 records are missing, …". */
  readonly held: readonly string[];
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
  /** Records that were not replaced: what is stored was modified later. */
  older: number;
  /** Records of files that are empty now. */
  emptied: number;
  /** What was held back of records that are missing. */
  missing: HeldBack | undefined;
  /** Why something was held back, for people. */
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
  emptied: 0,
  missing: undefined,
  held: [],
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

/** The source's name for members of its group: an address without its secrets, or a file's name without the operator's directories. */
const sharedNameOf = ({ key, label }: Source): string => (URL.canParse(key) ? label : basename(key));

/** What members of the group may read of a failure: not how the operator's network or file system answered. */
const sharedDetailOf = (detail: string): string => detail.replaceAll(/ (cannot be (?:reached|read)): .*/g, " $1");

const howToWithdraw = "none of them were withdrawn. To withdraw them, import the source with --allow-withdrawals.";

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
      case "emptied":
        result.emptied += reading.records;
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
  /** The same for all sources of one command. */
  readonly requestId: string;
  readonly key: string | undefined;
}

interface SourceImport extends ImportRun {
  readonly source: Source;
  readonly feed: string;
  /** The number of the run. */
  readonly run: number;
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

/** Forms whose files judge one release each. A source drops the file at the end of the release's life, and then nothing judges the release. */
const releaseForms = ["secdb"];

/** Marks what is of files that the source has no longer; false where nothing can have vanished. */
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

/** Which records without documents are missing. Nothing is written. */
const findMissingUntold = async (rows: Write, { feed, run, target, options }: SourceImport): Promise<Set<string>> => {
  const missing = new Set<string>();
  const lookAt = async (keys: readonly string[]): Promise<Set<string>> => {
    const told = await findToldRecords(rows, feed, keys);
    for (const key of keys) if (!told.has(key)) missing.add(key);
    return new Set(keys);
  };
  await withdrawVanished(rows, { ...target, public: undefined }, recordKinds[options.kind], lookAt);
  if (options.kind === "vulnerabilities") await deleteVanishedFacts(rows, { feed, run }, lookAt);
  return missing;
};

/** What may be withdrawn of records without documents, by their keys. */
type Withdrawable = ReadonlySet<string>;

/**
 * Decides whether what is missing is withdrawn or held back. What the source has elsewhere is not missing. Returns the records without
 * documents that may be withdrawn: an import of the same source that runs at the same time may make more of them vanish.
 */
const decideWithdrawal = (from: SourceImport, result: SourceResult): Promise<Withdrawable> =>
  from.services.store.write(async (rows) => {
    const { feed, run, told, source, target, options } = from;
    const { nowMs } = target;
    await lockFeed(rows, feed);
    if (told) await releaseMissing(rows, { feed, run }, "moved", nowMs);
    const documents = told ? await countMissing(rows, feed) : { records: 0, digest: "" };
    const untold = await findMissingUntold(rows, from);
    const missing = documents.records + untold.size;
    const records = await countFeedRecords(rows, feed);
    const history = await findFeedHistory(rows, feed, nowMs);
    const verdict = judgeDrop({
      records,
      missing,
      digest: hash("sha256", JSON.stringify([documents.digest, [...untold].sort()]), "base64url"),
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
      return new Set();
    }
    if (told) await releaseMissing(rows, { feed, run }, "all", nowMs);
    if (verdict.isLarge) await resetFeedDays(rows, feed);
    await noteFeedDay(rows, feed, nowMs, { records, withdrawn: verdict.isLarge ? 0 : missing });
    return untold;
  });

/** Decides who tells some of what no document of this source tells any longer; whether that was the last of it. */
const reassignSome = async (rows: Write, { feed, told }: SourceImport): Promise<{ readonly counts: OwnedCounts; readonly isLast: boolean }> => {
  const gone = told ? await takeGoneRecords(rows, feed, limits.feedBatchRecords) : [];
  const counts = told && gone.length > 0 ? await reassignGone(rows, told, gone) : noOwnedCounts;
  return { counts, isLast: gone.length < limits.feedBatchRecords };
};

/** Writes some of the documents that dropped records, now that it is decided that these are withdrawn; whether that was the last of it. */
const writePendingSome = async (rows: Write, { feed, told, options }: SourceImport): Promise<{ readonly counts: OwnedCounts; readonly isLast: boolean }> => {
  const pending = told ? await takePendingDocuments(rows, feed, limits.feedChunkFiles) : [];
  const parts = pending.flatMap(({ file: name, part, form, ordinal, body }) => {
    const read = readStoredDocument(form, body, { kind: options.kind, author: options.author });
    return read?.draft ? [{ name, part, isPartial: true, documents: [{ ...read, draft: { ...read.draft, ordinal } }] }] : [];
  });
  const written = told && parts.length > 0 ? await tellParts(rows, { ...told, allowOlder: true }, parts) : undefined;
  return { counts: written?.counts ?? noOwnedCounts, isLast: pending.length < limits.feedChunkFiles };
};

/** The same of kinds without documents, and of what the version before has written. */
const withdrawUntold = async (rows: Write, { feed, run, told, target, options }: SourceImport, allowed: Withdrawable): Promise<OwnedCounts> => {
  if (told) await deleteReplacedDocuments(rows, feed);
  const findTold = async (keys: readonly string[]): Promise<Set<string>> => {
    const asked = keys.filter((key) => allowed.has(key));
    const known = await findToldRecords(rows, feed, asked);
    for (const key of keys) if (!allowed.has(key)) known.add(key);
    return known;
  };
  const withdrawn = await withdrawVanished(rows, target, recordKinds[options.kind], findTold);
  return options.kind === "vulnerabilities" ? addOwnedCounts(withdrawn, await deleteVanishedFacts(rows, { feed, run }, findTold)) : withdrawn;
};

/** Tells of all that no event has told yet. */
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
 * Ends the import of a source: withdraws what has vanished from a source that was read to its end, in steps, and tells
 * of all in the transaction of the last one. What an earlier step did is kept in the source's row until it is told. Of one
 * that was not (`isRead` is false) it only tells. Returns what was withdrawn and marked.
 */
const finishImport = async (from: SourceImport, result: SourceResult, isRead: boolean): Promise<OwnedCounts> => {
  const { services, feed } = from;
  const mayHaveVanished = isRead && !result.isSame && (await markMissing(from, result));
  const allowed: Withdrawable = mayHaveVanished ? await decideWithdrawal(from, result) : new Set();
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
      const counts = some.isLast ? addOwnedCounts(some.counts, await withdrawUntold(rows, from, allowed)) : some.counts;
      await addUnreported(rows, feed, counts);
      // While something is held back, every run looks again.
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

/** What a run held back, by the reason that matters most. */
const heldOf = ({ emptied, isUnread, missing, older }: SourceResult, before: HeldBack, nowMs: number): HeldBack => {
  const reason: HeldReason = emptied > 0 ? "EMPTY" : isUnread ? "UNREADABLE" : (missing?.reason ?? (older > 0 ? "OLDER" : ""));
  const sinceMs = missing?.sinceMs ?? (reason === before.reason ? before.sinceMs : nowMs);
  // A source that could not be read says nothing of what is missing: what an earlier run held back stays so.
  if (isUnread && before.digest !== "") return { ...before, reason };
  return { reason, records: emptied + (missing?.records ?? 0) + older, sinceMs: reason === "" ? undefined : sinceMs, digest: missing?.digest ?? "" };
};

/** Writes the state of the source behind a run, and logs what it held back. */
const closeSource = async ({ services: { store, clock, log }, feed, source, options }: SourceImport, result: SourceResult): Promise<void> => {
  const nowMs = clock();
  if (result.older > 0)
    addNamed(
      result.held,
      `${sharedNameOf(source)}: ${result.older} records were modified earlier than the stored ones and did not replace them. ` +
        "To replace them, import it with --allow-older.",
    );
  // A source that never told a record holds nothing back: that it was refused says all.
  const isKnown = !result.isUnread || (await countFeedRecords(store.read, feed)) > 0;
  if (result.isUnread && isKnown && result.held.length === 0)
    addNamed(result.held, `${sharedNameOf(source)}: no records withdrawn; the source is unreadable: ${result.refused[0] ?? "its only file was refused"}`);
  const held = await store.write(async (rows) => {
    await lockFeed(rows, feed);
    const next = isKnown ? heldOf(result, await findHeldBack(rows, feed), nowMs) : nothingHeld;
    await writeHeldBack(rows, feed, next);
    const records = await countFeedRecords(rows, feed);
    const detail = sharedDetailOf((isKnown ? result.held : result.refused).slice(0, 3).join("\n"));
    await writeFeedOutcome(rows, feed, { state: !isKnown ? "FAILED" : next.reason === "" ? "OK" : "HELD", detail, records, nowMs });
    await refreshFeedEcosystems(rows, feed, nowMs);
    return next;
  });
  if (held.reason !== "")
    log("feed.held", { kind: options.kind, source: source.label, reason: held.reason, records: held.records, detail: result.held.slice(0, 3).join("\n") });
};

/** Imports one source. What comes of it is in the result, also of a source that fails. */
const importSource = async (run: ImportRun, source: Source, result: SourceResult): Promise<void> => {
  const { services, options } = run;
  const { kind, group, author, format, progress } = options;
  const { store, log } = services;
  // What is public is marked behind the files where documents are kept (markPublic).
  const manner = JSON.stringify([readerVersion, author ?? "", format ?? "", options.license ?? null, isToldKind(kind) ? null : (options.public ?? null)]);
  const opened = { kind, group, source: source.key, sourceName: sharedNameOf(source), manner, license: options.license, author: author ?? "" };
  const nowMs = services.clock();
  const { allowWithdrawals = false, allowOlder = false } = options;
  const {
    id: feed,
    license,
    run: number,
  } = await store.write(async (rows) => {
    const row = await openFeed(rows, opened);
    // What the source had before this run; of the version before nothing else is known.
    await noteFeedDay(rows, row.id, nowMs, { records: await countFeedRecords(rows, row.id), withdrawn: 0 });
    if (options.staleAfterMs !== undefined) await writeStaleAfter(rows, row.id, options.staleAfterMs);
    return row;
  });
  const target: RecordTarget = { group, public: options.public, feed: source.key, nowMs };
  const told = isToldKind(kind) ? { kind, group, feed, source: source.key, license, public: options.public, run: number, allowOlder, nowMs } : undefined;
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
      result.older += older;
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
      await closeSource(from, result);
      return;
    }
    result.isDelta = fetching.found.isDelta;
    if (!allowWithdrawals && !result.isDelta && result.parts.size === 0 && (await countFeedParts(store.read, feed)) > 0) {
      result.isUnread = true;
      result.emptied = await countFeedRecords(store.read, feed);
      addNamed(result.held, `${sharedNameOf(source)}: contains no files any more, but had ${result.emptied} records before; ${howToWithdraw}`);
    }
    result.counts = addOwnedCounts(result.counts, await finishImport(from, result, !result.isUnread));
    await closeSource(from, result);
    // Only now: what was not read to its end, not stored or held back is fetched again.
    if (isStored && !result.isUnread && result.held.length === 0)
      await store.write((rows) => writeFeedValidators(rows, feed, manner, fetching.validators.next));
  } catch (thrown) {
    // Where the store is away, the source's row keeps it for the next import.
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
    held: results.flatMap(({ held }) => held).slice(0, limits.feedRefusalsMax),
    failed,
  };
};

/** Imports every source; what is refused leaves nothing behind and the rest goes on. */
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
