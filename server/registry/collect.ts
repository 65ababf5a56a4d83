// Collection: what nobody needs any more goes, beside pushes and without ever stopping them. One server at a time goes through
// everything, in pieces; what it does not come to, the next one does.
//
// The database alone says what is needed, and each row is looked at again when nobody else can change it: a blob goes out of a
// repo where no manifest needs it and its lease is over, a content where no repo has it, and bytes where no row names them.
// Each of these begins with a row that is hidden or gone, and ends with the bytes, so that a kill leaves nothing that is told
// of and not there. A failure ends the walk; nothing is ever concluded from a list that did not come.

import type { BlobPlace, StoredContent } from "#blobs";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import {
  collectBlobs,
  collectRepoBlobs,
  deleteStaleUploads,
  ensureBlobPlace,
  findBlobPage,
  findNamedKeys,
  findRepoBlobPage,
  insertBlobRemoval,
  isBackupRunning,
  type Store,
  takeBlobSweep,
} from "#store";
import { removeLeftContents } from "./removals.ts";

export interface CollectionParts {
  readonly store: Store;
  readonly blobs: BlobPlace;
  readonly clock: Clock;
  readonly log: Log;
}

async function* collectUploads({ store, clock }: CollectionParts): AsyncGenerator<void> {
  for (;;) {
    const nowMs = clock();
    const ended = await store.write(async (rows) => {
      const gone = await deleteStaleUploads(rows, nowMs, nowMs - limits.uploadKeptMs, limits.collectionPageRows);
      for (const { key, state } of gone) await insertBlobRemoval(rows, key, state, nowMs);
      return gone.length;
    });
    if (ended < limits.collectionPageRows) return;
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

async function* collectContents({ store, clock }: CollectionParts): AsyncGenerator<void> {
  for (let last = ""; ; ) {
    const { unneeded, end } = await findBlobPage(store.read, last, limits.collectionPageRows);
    if (unneeded.length > 0) {
      await store.write(async (rows) => {
        for (const key of await collectBlobs(rows, unneeded)) await insertBlobRemoval(rows, key, undefined, clock());
      });
    }
    if (end === undefined) return;
    last = end;
    yield;
  }
}

async function* removeCollected(parts: CollectionParts): AsyncGenerator<void> {
  while (await removeLeftContents(parts)) yield;
}

/** What a killed server left in the place before any row named it, and what an older copy of the database does not know. */
async function* collectUnnamed({ store, blobs, clock, log }: CollectionParts): AsyncGenerator<void> {
  const removeUnnamed = async (page: readonly StoredContent[]): Promise<void> => {
    const named = await findNamedKeys(
      store.read,
      page.map(({ key }) => key),
    );
    if (await isBackupRunning(store.read)) return;
    for (const { key, state, sizeBytes } of page) {
      if (named.has(key)) continue;
      log("blobs.unnamed.removed", { key, sizeBytes });
      await blobs.remove(key, state);
    }
  };
  // Whoever has begun to write something may be long in telling the database: as long as an upload may be silent.
  const beforeMs = clock() - limits.uploadKeptMs;
  let page: StoredContent[] = [];
  for await (const each of blobs.list()) {
    if (each.changedAtMs > beforeMs) continue;
    page.push(each);
    if (page.length < limits.collectionPageRows) continue;
    await removeUnnamed(page);
    page = [];
    yield;
  }
  await removeUnnamed(page);
}

/** Goes through everything; a step of the generator is a bounded piece. */
export async function* collect(parts: CollectionParts): AsyncGenerator<void> {
  yield* collectUploads(parts);
  yield* collectFromRepos(parts);
  yield* collectContents(parts);
  yield* removeCollected(parts);
  yield* collectUnnamed(parts);
}

/** A part of maintenance: one piece at each call; true where there may be more. One server has its turn each limits.collectionMs. */
export const openCollection = (parts: CollectionParts): (() => Promise<boolean>) => {
  let walk: AsyncGenerator<void> | undefined;
  return async () => {
    const { store, clock } = parts;
    if (walk === undefined) {
      const isTaken = await store.write(async (rows) => {
        await ensureBlobPlace(rows, clock());
        return takeBlobSweep(rows, clock(), limits.collectionMs);
      });
      // What this server, or one that died, has left goes with every look.
      if (!isTaken) return removeLeftContents(parts);
      walk = collect(parts);
    }
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
