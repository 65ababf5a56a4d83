// Process that reads one layer from its standard input (layer-process.ts), and ends.

import { LayerLimit, readLayer } from "./read-layer.ts";

const memoryBytesMax = Number(process.argv[2]);

const isAbove = (bytes: number): boolean => process.memoryUsage.rss() > bytes;

const check = (): void => {
  // Pieces of the layer that are no longer used count until they are collected, and V8 collects them after 64 MiB.
  if (isAbove(memoryBytesMax / 2)) globalThis.gc?.({ type: "minor" });
  if (isAbove(memoryBytesMax)) globalThis.gc?.();
  if (isAbove(memoryBytesMax)) throw new LayerLimit("LAYER_TOO_LARGE", `takes more than ${Math.round(memoryBytesMax / 1024 / 1024)} MiB of memory to read`);
};

// The other process has ended.
process.once("disconnect", () => process.exit(1));

const contents = await readLayer(process.stdin, { check });
process.send?.(contents, () => process.exit(0));
