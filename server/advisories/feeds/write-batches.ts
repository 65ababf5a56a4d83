// Second step of an import: writes parts in batches, each in one transaction with records, file states and counts to report. One
// batch is written while the next is read.

import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import {
  addChanges,
  addOwnedCounts,
  forgetPartDigests,
  type HeldRecord,
  keepParts,
  lockFeed,
  noOwnedCounts,
  type OwnedCounts,
  type RecordTarget,
  updateFeed,
  writeFeedParts,
} from "#advisories/store";
import type { Store } from "#db";
import { writeRecords } from "./write-records.ts";
import type { ReadPart, Refusal } from "./read-files.ts";
import type { FeedRecord } from "./record.ts";
import { type TellContext, tellParts } from "./select-source.ts";

export interface WriteContext {
  readonly store: Store;
  readonly log: Log;
  readonly feed: string;
  readonly target: RecordTarget;
  /** For kinds with stored documents. */
  readonly told: TellContext | undefined;
  readonly run: number;
  /** Called before each batch; throws to stop the import. */
  readonly requireGoingOn: () => Promise<void>;
}

export interface WrittenBatch {
  readonly counts: OwnedCounts;
  /** Did not replace newer ones. */
  readonly older: readonly HeldRecord[];
  readonly refusals: readonly Refusal[];
}

const recordsOf = (documents: ReadPart["documents"]): FeedRecord[] => documents.flatMap(({ records }) => records);

/** A library costs as much as its versions. */
const workOf = ({ documents }: ReadPart): number =>
  recordsOf(documents).reduce((sum, record) => sum + (record.kind === "library" ? Math.max(1, record.versions.length) : 1), 0);

export async function* batchesOf(parts: AsyncIterable<ReadPart>): AsyncGenerator<ReadPart[]> {
  let batch: ReadPart[] = [];
  let work = 0;
  let bytes = 0;
  for await (const part of parts) {
    batch.push(part);
    work += workOf(part);
    bytes += part.sizeBytes;
    if (work < limits.feedBatchRecords && bytes < limits.feedBatchBytes && batch.length < limits.feedBatchFiles) continue;
    yield batch;
    [batch, work, bytes] = [[], 0, 0];
  }
  if (batch.length > 0) yield batch;
}

const writeTogether = ({ store, feed, target, told, run }: WriteContext, batch: readonly ReadPart[]): Promise<Omit<WrittenBatch, "refusals">> =>
  store.write(async (rows) => {
    // First, so that concurrent imports of one source alternate.
    const { unreported } = await lockFeed(rows, feed);
    const parts = batch.map(({ part }) => part);
    if (told) await keepParts(rows, { feed, run }, parts);
    await writeFeedParts(rows, feed, parts);
    const { counts, older, olderParts } = told
      ? await tellParts(
          rows,
          told,
          batch.map(({ part: { name, part }, isPartial, documents }) => ({ name, part, isPartial, documents })),
        )
      : {
          counts: await writeRecords(
            rows,
            target,
            batch.flatMap(({ documents }) => recordsOf(documents)),
          ),
          older: [],
          olderParts: [],
        };
    await forgetPartDigests(rows, feed, olderParts);
    await updateFeed(rows, feed, { settled: false, unreported: addChanges(unreported, counts) });
    return { counts, older };
  });

/** Writes a batch in one transaction. If the database refuses it, each part is written separately. */
const writeBatch = async (context: WriteContext, batch: readonly ReadPart[]): Promise<WrittenBatch> => {
  try {
    return { ...(await writeTogether(context, batch)), refusals: [] };
  } catch (thrown) {
    const [only, other] = batch;
    const isTransient = !(thrown instanceof Fault) || thrown.code === "UNAVAILABLE" || thrown.code === "ABORTED";
    // Too large for one statement may succeed in parts.
    if (isTransient || only === undefined || (thrown.code === "DEADLINE_EXCEEDED" && other === undefined)) throw thrown;
    if (other === undefined) {
      context.log("feed.refused", { source: context.target.feed, file: only.label, cause: thrown });
      return { counts: noOwnedCounts, older: [], refusals: [{ label: only.label, line: only.line, reason: "contains a value that cannot be stored" }] };
    }
    let counts = noOwnedCounts;
    const older: HeldRecord[] = [];
    const refusals: Refusal[] = [];
    for (const part of batch) {
      const written = await writeBatch(context, [part]);
      counts = addOwnedCounts(counts, written.counts);
      older.push(...written.older);
      refusals.push(...written.refusals);
    }
    return { counts, older, refusals };
  }
};

/** Writes batches in order. No write is in progress after it returns or throws. */
export async function* writeBatches(context: WriteContext, batches: AsyncIterable<readonly ReadPart[]>): AsyncGenerator<WrittenBatch> {
  let writing: Promise<WrittenBatch> | undefined;
  try {
    for await (const batch of batches) {
      if (writing !== undefined) yield await writing;
      await context.requireGoingOn();
      writing = writeBatch(context, batch);
      // Awaited with the next batch; must not count as unhandled until then.
      writing.catch(() => {});
    }
    if (writing !== undefined) yield await writing;
  } finally {
    await writing?.catch(() => {});
  }
}
