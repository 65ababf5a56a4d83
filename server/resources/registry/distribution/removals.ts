// Contents of the blob place that no row names any more: those of uploads that were given up, or that turned out to be known.
// Whoever leaves one looks at once; what a server that died has left, the next one does.

import type { Services } from "#kernel";
import { removeLeftContents } from "#registry";

let removing = false;

/** Looks for them beside other work. What fails is tried again with the next look. */
export const removeSoon = (services: Services): void => {
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
