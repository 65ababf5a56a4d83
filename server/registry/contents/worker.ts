// Process that reads one layer from its standard input (layer-process.ts), and ends.

import { LayerLimit, readLayer } from "./read-layer.ts";

const memoryBytesMax = Number(process.argv[2]);

const check = (): void => {
  if (process.memoryUsage.rss() > memoryBytesMax)
    throw new LayerLimit("LAYER_TOO_LARGE", `takes more than ${Math.round(memoryBytesMax / 1024 / 1024)} MiB of memory to read`);
};

// The other process has ended.
process.once("disconnect", () => process.exit(1));

const contents = await readLayer(process.stdin, { check });
process.send?.(contents, () => process.exit(0));
