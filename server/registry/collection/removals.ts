// Contents of the blob place that no row names any more. Their keys are nobody's, and are given to nothing else: removing one
// twice, at two servers perhaps, does no harm.

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

/** Removes some of them; true where there may be more. What fails stays for the next time, and keeps no other one. */
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
  // Where the place is out of reach the next look is later.
  return found.length === limits.blobRemovalsMax && removed.length > 0;
};
