// Removes content that no row names. Keys are never reused, so removing twice, even on two servers, is harmless.

import type { BlobPlace } from "#registry/blobs";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { deleteBlobRemovals, findBlobRemovals } from "#registry/store";
import { isBackupRunning, type Store } from "#db";

export interface RemovalParts {
  readonly store: Store;
  readonly blobs: BlobPlace;
  readonly log: Log;
}

/** Removes some; returns true if there may be more. Failures are retried next time and do not affect others. */
export const removeLeftContents = async ({ store, blobs, log }: RemovalParts): Promise<boolean> => {
  const found = await findBlobRemovals(store.read, limits.blobRemovalsMax);
  if (found.length === 0 || (await isBackupRunning(store.read))) return false;
  const removed: string[] = [];
  for (const { key, state } of found) {
    try {
      await blobs.remove(key, state);
      removed.push(key);
    } catch (cause) {
      log("blobs.removal.failed", { key, cause });
    }
  }
  if (removed.length > 0) await store.write((rows) => deleteBlobRemovals(rows, removed));
  // If the storage is unreachable, the next attempt is later.
  return found.length === limits.blobRemovalsMax && removed.length > 0;
};
