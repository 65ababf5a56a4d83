// Removes contents of the blob storage that no row references any more: of canceled uploads, and of duplicates. The request that
// leaves one triggers this; a later one also removes what a crashed server left.

import { setImmediate, setTimeout } from "node:timers/promises";
import { limits } from "#base/limits.ts";
import type { Services } from "#kernel";
import { removeLeftContents } from "#registry/collection";

let isRequested = false;
let isLooking = false;

/** Repeats while requests arrive, and once more, because a request within a transaction has not committed yet. */
const look = async (services: Services): Promise<void> => {
  do {
    isRequested = false;
    await setImmediate();
    await removeLeftContents(services);
    if (isRequested) continue;
    await setTimeout(limits.blobRemovalAgainMs, undefined, { ref: false });
    await removeLeftContents(services);
  } while (isRequested);
};

/** Starts the removal in the background; failures are retried with the next one. */
export const removeSoon = (services: Services): void => {
  isRequested = true;
  if (isLooking) return;
  isLooking = true;
  look(services)
    .catch((cause: unknown) => services.log("blobs.removal.failed", { cause }))
    .finally(() => {
      isLooking = false;
    });
};
