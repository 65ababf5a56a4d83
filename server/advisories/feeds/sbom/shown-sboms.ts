// Pushed SBOMs for version 1, read on request: one at a time for each server, with fair queueing across organizations.

import { openFairQueue, type FairnessKey } from "#base/fair-queue.ts";
import { limits } from "#base/limits.ts";
import type { SbomGraph } from "./graph.ts";
import { openDocumentReader } from "./open-reader.ts";
import type { Unreadable } from "./statement.ts";

export type ShownSbom = { readonly text: string; readonly sbom: SbomGraph } | { readonly sizeBytes: number } | Unreadable | { readonly isOther: true };

export interface ShownSboms {
  /** Throws RESOURCE_EXHAUSTED with RetryInfo if the queue is full, and the errors of `open`. */
  show(fairnessKey: FairnessKey, digest: string, open: () => Promise<AsyncIterable<Uint8Array>>): Promise<ShownSbom>;
}

export const openShownSboms = (): ShownSboms => {
  const turns = openFairQueue({
    name: "shown-sboms",
    what: "SBOMs are read",
    places: 1,
    placesEach: 1,
    placesAlone: 1,
    waiting: limits.shownSbomsWaiting,
    waitingEach: limits.shownSbomsWaitingEach,
    waitMs: limits.shownSbomsWaitMs,
  });
  const read = openDocumentReader<ShownSbom>({
    script: new URL("./document-worker.ts", import.meta.url),
    longestMs: limits.shownSbomReadMs,
    memoryMb: limits.shownSbomMemoryMb,
  });
  return {
    show: async (fairnessKey, digest, open) => {
      if (!turns.tryAcquire(fairnessKey)) await turns.wait(fairnessKey);
      try {
        return await read(await open(), [digest]);
      } finally {
        turns.leave(fairnessKey);
      }
    },
  };
};
