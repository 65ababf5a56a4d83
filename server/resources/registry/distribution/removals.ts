// Contents of the blob place that no row names any more: those of uploads that were given up, or that turned out to be known.
// Whoever leaves one looks at once; what a server that died has left, the next one does.

import type { Services } from "#kernel";
import { limits } from "#base/limits.ts";
import { deleteBlobRemovals, lockBlobRemovals } from "#store";

type Parts = Pick<Services, "store" | "blobs" | "log">;

/** Removes some of them; false where nothing is left. */
export const removeLeftContents = ({ store, blobs }: Parts): Promise<boolean> =>
  store.write(async (rows) => {
    const found = await lockBlobRemovals(rows, limits.blobRemovalsMax);
    for (const { key, state } of found) await blobs.remove(key, state);
    await deleteBlobRemovals(
      rows,
      found.map(({ key }) => key),
    );
    return found.length === limits.blobRemovalsMax;
  });

let removing = false;

/** Looks for them beside other work. What fails is tried again with the next look. */
export const removeSoon = (services: Parts): void => {
  if (removing) return;
  removing = true;
  setImmediate(() => {
    removeLeftContents(services)
      .catch((cause: unknown) => services.log("blobs.removal.failed", { cause }))
      .finally(() => {
        removing = false;
      });
  });
};
