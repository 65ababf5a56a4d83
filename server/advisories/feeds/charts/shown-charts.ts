// Reads pushed charts for version 1 on request: one at a time for each server, with fair queueing across organizations.

import { openFairQueue, type FairnessKey } from "#base/fair-queue.ts";
import { limits } from "#base/limits.ts";
import { openDocumentReader, type ReadDocumentStream } from "../sbom/open-reader.ts";
import type { Unreadable } from "../sbom/statement.ts";
import type { ChartFacts, ChartImage } from "./read-chart.ts";

export interface ShownCharts {
  /** Throws RESOURCE_EXHAUSTED with RetryInfo if the queue is full, and the errors of `open`. */
  read(fairnessKey: FairnessKey, open: () => Promise<AsyncIterable<Uint8Array>>): Promise<ChartFacts | Unreadable>;
  /** Returns undefined for each annotation that is not a list of images. Throws as `read` does. */
  readImages(fairnessKey: FairnessKey, annotations: readonly string[]): Promise<readonly (readonly ChartImage[] | undefined)[]>;
}

async function* pieces(content: object): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(content));
}

export const openShownCharts = (): ShownCharts => {
  const turns = openFairQueue({
    name: "shown-charts",
    what: "charts are read",
    places: 1,
    placesEach: 1,
    placesAlone: 1,
    waiting: limits.shownChartsWaiting,
    waitingEach: limits.shownChartsWaitingEach,
    waitMs: limits.shownChartsWaitMs,
  });
  const bounds = { longestMs: limits.chartReadMs, memoryMb: limits.chartMemoryMb };
  const readChart = openDocumentReader<ChartFacts>({ script: new URL("./worker.ts", import.meta.url), ...bounds });
  const readLists = openDocumentReader<{ readonly lists: readonly (readonly ChartImage[] | undefined)[] }>({
    script: new URL("./images-worker.ts", import.meta.url),
    ...bounds,
  });
  const inTurn = async <Reading>(fairnessKey: FairnessKey, read: ReadDocumentStream<Reading>, open: () => Promise<AsyncIterable<Uint8Array>>) => {
    if (!turns.tryAcquire(fairnessKey)) await turns.wait(fairnessKey);
    try {
      return await read(await open(), []);
    } finally {
      turns.leave(fairnessKey);
    }
  };
  return {
    read: (fairnessKey, open) => inTurn(fairnessKey, readChart, open),
    readImages: async (fairnessKey, annotations) => {
      if (annotations.length === 0) return [];
      const reading = await inTurn(fairnessKey, readLists, async () => pieces({ annotations }));
      return "problem" in reading ? annotations.map(() => undefined) : reading.lists;
    },
  };
};
