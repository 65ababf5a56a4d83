// Contents of the blob place that no row names any more: those of uploads that were given up, or that turned out to be known.
// Whoever leaves one looks at once; what a server that died has left, the next one does.

import { setImmediate, setTimeout } from "node:timers/promises";
import { limits } from "#base/limits.ts";
import type { Services } from "#kernel";
import { removeLeftContents } from "#registry/collection";

let isAsked = false;
let isLooking = false;

/** Looks until nobody has asked meanwhile; and once more, since who asks within a transaction has not committed yet. */
const look = async (services: Services): Promise<void> => {
  do {
    isAsked = false;
    await setImmediate();
    await removeLeftContents(services);
    if (isAsked) continue;
    await setTimeout(limits.blobRemovalAgainMs, undefined, { ref: false });
    await removeLeftContents(services);
  } while (isAsked);
};

/** Looks for them beside other work. What fails is tried again with the next look. */
export const removeSoon = (services: Services): void => {
  isAsked = true;
  if (isLooking) return;
  isLooking = true;
  look(services)
    .catch((cause: unknown) => services.log("blobs.removal.failed", { cause }))
    .finally(() => {
      isLooking = false;
    });
};
