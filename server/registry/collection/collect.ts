// Garbage collection, concurrent with pushes. One server at a time walks through everything, in batches.
//
// Only the database decides what is needed, and each row is checked again under its lock. A blob leaves a repo if no manifest needs
// it and its lease has expired. Content is removed if no repo has it, and bytes if no row names them. Rows are hidden or deleted
// before their bytes, so that a crash never leaves a row without bytes. A failure ends the walk: nothing is concluded from an
// incomplete list. Expired data and leftovers of crashes are collected within an hour.

import type { BlobPlace, StoredContent } from "#registry/blobs";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import {
  collectBlobs,
  collectRepoBlobs,
  countStalePendingRepos,
  countStaleUploads,
  deleteStaleBlobWrites,
  deleteStalePendingRepos,
  deleteStaleUploads,
  ensureBlobPlace,
  findBlobPage,
  findLeftoverSince,
  findCollectableBlobs,
  findNamedKeys,
  findRepoBlobPage,
  insertBlobRemoval,
  takeBlobSweep,
  takeLeftoverSweep,
} from "#registry/store";
import { isBackupRunning, type Store } from "#db";
import { removeLeftContents } from "./removals.ts";
import { isWriting } from "./writing.ts";

export interface CollectionParts {
  readonly store: Store;
  readonly blobs: BlobPlace;
  readonly clock: Clock;
  readonly log: Log;
}

/** Amounts that a collection removed or would remove. */
export interface CollectionSummary {
  /** Uploads idle for a week. */
  uploads: number;
  /** Paths with pushed blobs but no manifest. */
  pendingRepos: number;
  /** Contents that no repo needs, and their bytes. */
  contents: number;
  contentBytes: number;
  /** Files or objects that no row names. */
  unnamed: number;
  unnamedBytes: number;
}

const emptyCollection = (): CollectionSummary => ({ uploads: 0, pendingRepos: 0, contents: 0, contentBytes: 0, unnamed: 0, unnamedBytes: 0 });

async function* collectUploads({ store, clock }: CollectionParts, summary: CollectionSummary): AsyncGenerator<void> {
  for (;;) {
    const nowMs = clock();
    const ended = await store.write(async (rows) => {
      const gone = await deleteStaleUploads(rows, nowMs, nowMs - limits.uploadKeptMs, limits.collectionPageRows);
      for (const { key, state } of gone) await insertBlobRemoval(rows, key, state, nowMs);
      return gone.length;
    });
    summary.uploads += ended;
    if (ended < limits.collectionPageRows) return;
    yield;
  }
}

/** Small pages: each path has up to some hundred blobs, which a trigger deletes too. */
const pendingPage = 50;

async function* collectPending({ store, clock }: CollectionParts, summary: CollectionSummary): AsyncGenerator<void> {
  for (;;) {
    const nowMs = clock();
    const { pending, more } = await store.write((rows) => deleteStalePendingRepos(rows, nowMs, nowMs - limits.pendingKeptMs, pendingPage));
    summary.pendingRepos += pending;
    if (!more) return;
    yield;
  }
}

async function* collectFromRepos({ store, clock }: CollectionParts): AsyncGenerator<void> {
  for (let last: readonly [string, string] = ["", ""]; ; ) {
    const { unneeded, end } = await findRepoBlobPage(store.read, last, clock(), limits.collectionPageRows);
    if (unneeded.length > 0) await store.write((rows) => collectRepoBlobs(rows, unneeded, clock()));
    if (end === undefined) return;
    last = end;
    yield;
  }
}

async function* collectContents({ store, clock }: CollectionParts, summary: CollectionSummary): AsyncGenerator<void> {
  for (let last = ""; ; ) {
    const { unneeded, end } = await findBlobPage(store.read, last, limits.collectionPageRows);
    if (unneeded.length > 0) {
      const gone = await store.write(async (rows) => {
        const collected = await collectBlobs(rows, unneeded);
        for (const { key } of collected) await insertBlobRemoval(rows, key, undefined, clock());
        return collected;
      });
      summary.contents += gone.length;
      for (const { sizeBytes } of gone) summary.contentBytes += sizeBytes;
    }
    if (end === undefined) return;
    last = end;
    yield;
  }
}

async function* removeCollected(parts: CollectionParts): AsyncGenerator<void> {
  while (await removeLeftContents(parts)) yield;
}

/**
 * Unfinished uploads expire soon. Completed content may be known to a newer copy of the database, so it stays for a week, unless
 * servers have been collecting ever since it was written.
 */
const isOld = ({ completed, changedAtMs }: StoredContent, nowMs: number, sinceMs: number): boolean => {
  if (changedAtMs > nowMs - limits.unnamedKeptMs) return false;
  return !completed || changedAtMs >= sinceMs || changedAtMs <= nowMs - limits.completedKeptMs;
};

async function* findUnnamed({ store, blobs, clock }: CollectionParts, afterMs: number): AsyncGenerator<readonly StoredContent[]> {
  const sinceMs = (await findLeftoverSince(store.read)) ?? Infinity;
  const nowMs = clock();
  const unnamedOf = async (page: readonly StoredContent[]): Promise<readonly StoredContent[]> => {
    const keys = page.map(({ key }) => key);
    const named = await findNamedKeys(store.read, keys, clock());
    return page.filter(({ key }) => !named.has(key) && !isWriting(key));
  };
  let page: StoredContent[] = [];
  for await (const each of blobs.list()) {
    if (each.changedAtMs < afterMs || !isOld(each, nowMs, sinceMs)) continue;
    page.push(each);
    if (page.length < limits.collectionPageRows) continue;
    yield await unnamedOf(page);
    page = [];
  }
  yield await unnamedOf(page);
}

/** Leftovers of crashes, and content unknown to an older copy of the database. */
async function* collectUnnamed(parts: CollectionParts, afterMs: number, summary: CollectionSummary): AsyncGenerator<void> {
  const { store, blobs, clock, log } = parts;
  for await (const page of findUnnamed(parts, afterMs)) {
    if (await isBackupRunning(store.read)) return;
    for (const { key, state, sizeBytes } of page) {
      log("blobs.unnamed.removed", { key, sizeBytes });
      await blobs.remove(key, state);
      summary.unnamed++;
      summary.unnamedBytes += sizeBytes;
    }
    yield;
  }
  await store.write((rows) => deleteStaleBlobWrites(rows, clock()));
}

/** Collects everything; each step of the generator is a bounded batch. */
export async function* collect(parts: CollectionParts, summary = emptyCollection()): AsyncGenerator<void> {
  yield* collectUploads(parts, summary);
  yield* collectPending(parts, summary);
  yield* collectFromRepos(parts);
  yield* collectContents(parts, summary);
  yield* removeCollected(parts);
  yield* collectUnnamed(parts, -Infinity, summary);
}

async function* collectLeftovers(parts: CollectionParts): AsyncGenerator<void> {
  const summary = emptyCollection();
  yield* collectUploads(parts, summary);
  yield* collectPending(parts, summary);
  yield* removeCollected(parts);
  yield* collectUnnamed(parts, parts.clock() - 2 * limits.collectionMs, summary);
}

/** Returns what `collect` would remove now. It shares no writing statement with it. */
export const surveyCollection = async (parts: CollectionParts): Promise<CollectionSummary> => {
  const { store, clock } = parts;
  const nowMs = clock();
  const summary = emptyCollection();
  summary.uploads = await countStaleUploads(store.read, nowMs, nowMs - limits.uploadKeptMs);
  summary.pendingRepos = await countStalePendingRepos(store.read, nowMs, nowMs - limits.pendingKeptMs);
  for (let last: string | undefined = ""; last !== undefined; ) {
    const found: Awaited<ReturnType<typeof findCollectableBlobs>> = await findCollectableBlobs(
      store.read,
      last,
      { nowMs, pendingBeforeMs: nowMs - limits.pendingKeptMs },
      limits.collectionPageRows,
    );
    summary.contents += found.sizes.length;
    for (const sizeBytes of found.sizes) summary.contentBytes += sizeBytes;
    last = found.end;
  }
  for await (const page of findUnnamed(parts, -Infinity)) {
    summary.unnamed += page.length;
    for (const { sizeBytes } of page) summary.unnamedBytes += sizeBytes;
  }
  return summary;
};

/** Collects now, regardless of the last collection. */
export const collectNow = async (parts: CollectionParts): Promise<CollectionSummary> => {
  const summary = emptyCollection();
  await parts.store.write((rows) => ensureBlobPlace(rows, parts.clock()));
  for await (const _ of collect(parts, summary));
  return summary;
};

/** The walk that is due, for this server only. */
const takeWalk = async (parts: CollectionParts): Promise<AsyncGenerator<void> | undefined> => {
  const { store, clock } = parts;
  const nowMs = clock();
  const turn = await store.write(async (rows) => {
    await ensureBlobPlace(rows, nowMs);
    if (await takeBlobSweep(rows, nowMs, limits.collectionMs)) return "all";
    return (await takeLeftoverSweep(rows, nowMs, limits.leftoversMs)) === undefined ? undefined : "leftovers";
  });
  if (turn === undefined) return undefined;
  return turn === "all" ? collect(parts) : collectLeftovers(parts);
};

/** Returns a part of maintenance: each call runs one batch and returns true if there may be more. */
export const openCollection = (parts: CollectionParts): (() => Promise<boolean>) => {
  let walk: AsyncGenerator<void> | undefined;
  return async () => {
    walk ??= await takeWalk(parts);
    // Leftovers of this or a crashed server are removed on every call.
    if (walk === undefined) return removeLeftContents(parts);
    try {
      const { done } = await walk.next();
      if (done === true) walk = undefined;
      return done !== true;
    } catch (thrown) {
      walk = undefined;
      throw thrown;
    }
  };
};
