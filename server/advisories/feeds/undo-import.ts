// `gantry import undo`: restores what a source's last run replaced (feed_reversals), removes what it added, and reassigns
// records. Each step is a transaction, and an interrupted undo continues on the next call. One event for each owner reports all,
// in the last transaction.

import { Fault } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Services } from "#kernel";
import {
  addChanges,
  addCounts,
  addOwnedCounts,
  changeCount,
  clearMissing,
  closeUndo,
  countFeedRecords,
  deleteAllReversals,
  deleteFacts,
  deleteFeedParts,
  deleteReversals,
  findFeedsOfSource,
  findReversals,
  forgetAllDigests,
  lockFeed,
  markMissing,
  noChanges,
  noCounts,
  noteFeedDay,
  noOwnedCounts,
  type OwnedCounts,
  refreshFeedEcosystems,
  releaseAdded,
  releaseMissing,
  type Reversal,
  takeGoneRecords,
  type UndoableFeed,
  updateFeed,
  type WriteCounts,
  writeFacts,
  writeFeedOutcome,
  writeFeedParts,
  writeFeedValidators,
  writeHeldRecords,
} from "#advisories/store";
import { refreshRecordStatistics } from "./write-records.ts";
import type { Write } from "#db";
import { readStoredDocument } from "./document.ts";
import type { FeedKind } from "./formats/format.ts";
import { recordImport } from "./import-event.ts";
import { updateFindings } from "./finding-facts.ts";
import { matchImages } from "./match-images.ts";
import type { ExploitPredictionRecord, KnownExploitRecord } from "./record.ts";
import { sourceKeyOf, sourceLabel } from "./source.ts";
import { isAssertedKind, reassignGone, type TellContext, tellParts, type AssertedKind } from "./select-source.ts";

export interface UndoImport {
  readonly source: string;
  /** Undefined if the source was imported for one group only. */
  readonly group: string | undefined;
  readonly kind: FeedKind | undefined;
  /** GANTRY_DOCUMENT_DAYS; undefined keeps replaced documents forever. */
  readonly documentMs: number | undefined;
}

export interface UndoSummary extends Omit<WriteCounts, "unchanged"> {
  readonly kind: string;
  readonly source: string;
}

const operation = "gantry import undo";

/** Returns the run to undo; throws a Fault with the reason if there is none. */
const findUndoable = async (services: Services, options: UndoImport): Promise<UndoableFeed & { readonly kind: AssertedKind }> => {
  const { store, clock } = services;
  const { source, group, kind, documentMs } = options;
  const label = sourceLabel(source);
  const all = await findFeedsOfSource(store.read, await sourceKeyOf(source));
  const found = all.filter((each) => (group === undefined || each.group === group) && (kind === undefined || each.kind === kind));
  const [only, other] = found;
  if (!only) throw new Fault("NOT_FOUND", `source not found: ${label} has not been imported${all.length > 0 ? " for this group and kind" : ""}`);
  if (other)
    throw new Fault(
      "INVALID_ARGUMENT",
      `${label} was imported more than once (${found.map((each) => `${each.kind} for ${each.group}`).join(", ")}): name one with --kind and --group`,
    );
  if (!isAssertedKind(only.kind))
    throw new Fault(
      "FAILED_PRECONDITION",
      `cannot undo an import of ${only.kind}: only imports of advisories and vulnerabilities can be undone. Import an earlier copy of the source.`,
    );
  if (only.runOpen)
    throw new Fault("FAILED_PRECONDITION", `an import of ${label} is running or was interrupted: wait for its end, or import the source again, then undo`);
  if (only.changedRun === 0)
    throw new Fault("FAILED_PRECONDITION", `nothing to undo: no import of ${label} has changed records since the last undo or upgrade`);
  if (documentMs !== undefined && (only.changeTime ?? 0) < clock() - documentMs)
    throw new Fault("FAILED_PRECONDITION", `cannot undo: the last import of ${label} that changed records is older than GANTRY_DOCUMENT_DAYS`);
  return { ...only, kind: only.kind };
};

interface Undo {
  readonly services: Services;
  readonly feed: UndoableFeed & { readonly kind: AssertedKind };
  readonly context: Omit<TellContext, "public">;
}

const isTrue = (object: JsonObject, key: string): boolean => object[key] === true;
const numberAt = (object: JsonObject, key: string): number => Number(object[key] ?? 0);

const restoreDocuments = async (rows: Write, { feed, context }: Undo, reversals: readonly Reversal[]): Promise<OwnedCounts> => {
  let counts = noOwnedCounts;
  const before = reversals.flatMap(({ previous, body }) => (previous ? [{ previous, body }] : []));
  for (const isPublic of [true, false]) {
    const parts = before.flatMap(({ previous, body }) => {
      if (!isTrue(previous, "told") || isTrue(previous, "public") !== isPublic) return [];
      const read = readStoredDocument(text(previous, "form"), body, { kind: feed.kind, author: feed.author === "" ? undefined : feed.author });
      if (!read?.draft) return [];
      const draft = { ...read.draft, ordinal: numberAt(previous, "ordinal") };
      return [{ name: text(previous, "file"), part: numberAt(previous, "part"), isPartial: true, documents: [{ ...read, draft }] }];
    });
    if (parts.length === 0) continue;
    const told = await tellParts(rows, { ...context, public: isPublic }, parts);
    counts = addOwnedCounts(counts, told.counts);
  }
  return counts;
};

const readFact = (what: string, previous: JsonObject): KnownExploitRecord | ExploitPredictionRecord =>
  what === "known exploit"
    ? {
        kind: "known exploit",
        id: text(previous, "id"),
        dateAdded: text(previous, "date_added"),
        dueDate: text(previous, "due_date"),
        ransomware: isTrue(previous, "ransomware"),
        requiredAction: text(previous, "required_action"),
      }
    : {
        kind: "exploit prediction",
        id: text(previous, "id"),
        score: numberAt(previous, "score"),
        percentile: numberAt(previous, "percentile"),
        date: text(previous, "score_date"),
      };

/** Restores replaced facts, and deletes added ones. */
const restoreFacts = async (
  rows: Write,
  { feed }: Undo,
  what: "known exploit" | "exploit prediction",
  reversals: readonly Reversal[],
): Promise<OwnedCounts> => {
  const added = reversals.filter(({ previous }) => !previous).map(({ key }) => key);
  let counts = await deleteFacts(rows, feed.id, what, added);
  for (const isPublic of [true, false]) {
    const facts = reversals.flatMap(({ previous }) => (previous && (text(previous, "owner") === "") === isPublic ? [readFact(what, previous)] : []));
    const written = await writeFacts(rows, { feed: feed.id, group: feed.group, public: isPublic, run: 0, allowOlder: true }, facts);
    counts = addOwnedCounts(counts, written.counts);
  }
  return counts;
};

/** Restores the records of file parts. The next import reads all files again. */
const restoreParts = async (rows: Write, { feed }: Undo, reversals: readonly Reversal[]): Promise<OwnedCounts> => {
  const parts = reversals.flatMap(({ previous }) => {
    if (!previous) return [];
    const { records } = previous;
    const keys = Array.isArray(records) ? records.filter((each) => typeof each === "string") : undefined;
    return [{ name: text(previous, "name"), part: numberAt(previous, "part"), digest: "", records: keys ?? [], wasThere: keys !== undefined }];
  });
  await deleteFeedParts(
    rows,
    feed.id,
    parts.filter(({ wasThere }) => !wasThere),
  );
  const before = parts.filter(({ wasThere }) => wasThere);
  if (before.length > 0) await writeFeedParts(rows, feed.id, before);
  return noOwnedCounts;
};

/** Runs a step in a transaction. The source's row keeps its changes until they are reported. */
const inStep = (
  { services: { store }, feed }: Undo,
  step: (rows: Write) => Promise<{ readonly counts: OwnedCounts; readonly isLast: boolean }>,
): Promise<boolean> =>
  store.write(async (rows) => {
    const { unreported } = await lockFeed(rows, feed.id);
    const { counts, isLast } = await step(rows);
    await updateFeed(rows, feed.id, { settled: false, unreported: addChanges(unreported, counts) });
    return isLast;
  });

const restoreAll = async (undo: Undo, what: string, restore: (rows: Write, reversals: readonly Reversal[]) => Promise<OwnedCounts>): Promise<void> => {
  const run = { feed: undo.feed.id, run: undo.feed.changedRun };
  for (let isLast = false; !isLast; ) {
    isLast = await inStep(undo, async (rows) => {
      const some = await findReversals(rows, run, what, limits.feedChunkFiles);
      const counts = await restore(rows, some);
      await deleteReversals(
        rows,
        run,
        what,
        some.map(({ key }) => key),
      );
      return { counts, isLast: some.length < limits.feedChunkFiles };
    });
  }
};

/** Restores the state before the last run with changes. Throws a Fault if it cannot. */
export const undoImport = async (services: Services, options: UndoImport): Promise<UndoSummary> => {
  const feed = await findUndoable(services, options);
  const { store, clock } = services;
  const nowMs = clock();
  const label = sourceLabel(feed.source);
  const requestId = crypto.randomUUID();
  const context = { kind: feed.kind, group: feed.group, feed: feed.id, source: feed.source, license: feed.license, run: 0, allowOlder: true, nowMs };
  const undo: Undo = { services, feed, context };
  const run = { feed: feed.id, run: feed.changedRun };
  // The next import checks held-back records again.
  await inStep(undo, async (rows) => {
    await clearMissing(rows, feed.id);
    await forgetAllDigests(rows, feed.id);
    await writeFeedValidators(rows, feed.id, "", new Map());
    return { counts: noOwnedCounts, isLast: true };
  });
  await restoreAll(undo, "document", async (rows, reversals) => {
    const counts = await restoreDocuments(rows, undo, reversals);
    // The run had restored them.
    await markMissing(
      rows,
      reversals.flatMap(({ key, previous }) => (previous && !isTrue(previous, "told") ? [key] : [])),
    );
    return counts;
  });
  await restoreAll(undo, "known exploit", (rows, reversals) => restoreFacts(rows, undo, "known exploit", reversals));
  await restoreAll(undo, "exploit prediction", (rows, reversals) => restoreFacts(rows, undo, "exploit prediction", reversals));
  await restoreAll(undo, "part", (rows, reversals) => restoreParts(rows, undo, reversals));
  await inStep(undo, async (rows) => {
    await releaseAdded(rows, run);
    await releaseMissing(rows, { feed: feed.id, run: 0 }, "all", nowMs);
    return { counts: noOwnedCounts, isLast: true };
  });
  for (let isLast = false; !isLast; ) {
    isLast = await inStep(undo, async (rows) => {
      const gone = await takeGoneRecords(rows, feed.id, limits.feedBatchRecords);
      const counts = gone.length > 0 ? await reassignGone(rows, { ...context, public: undefined }, gone) : noOwnedCounts;
      return { counts, isLast: gone.length < limits.feedBatchRecords };
    });
  }
  const changes = await store.write(async (rows) => {
    const { unreported } = await lockFeed(rows, feed.id);
    await recordImport(rows, services, {
      kind: feed.kind,
      group: feed.group,
      source: label,
      operation,
      requestId,
      changes: unreported,
      unchanged: 0,
      refused: 0,
    });
    await updateFeed(rows, feed.id, { settled: true, unreported: { group: noChanges, everybody: noChanges } });
    await deleteAllReversals(rows, feed.id);
    const records = await countFeedRecords(rows, feed.id);
    await noteFeedDay(rows, feed.id, nowMs, { records, withdrawn: 0 });
    await closeUndo(rows, feed.id, nowMs);
    await writeHeldRecords(rows, feed.id, [], nowMs);
    await writeFeedOutcome(rows, feed.id, { state: "OK", detail: "", records, isUnread: true, nowMs });
    await refreshFeedEcosystems(rows, feed.id, nowMs);
    return unreported;
  });
  const all = addCounts({ ...noCounts, ...changes.group }, { ...noCounts, ...changes.everybody });
  if (changeCount(all) > 0) await store.write((rows) => refreshRecordStatistics(rows, "all"));
  if (feed.kind === "advisories") await matchImages(services, { operation, requestId });
  if (feed.kind === "vulnerabilities") await updateFindings(services);
  return { kind: feed.kind, source: label, new: all.new, changed: all.changed, withdrawn: all.withdrawn };
};
