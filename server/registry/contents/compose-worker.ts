// Process that composes one image (compose-process.ts), and ends.

import { composeLayers, type ImageLayer } from "./compose.ts";

// The other process has ended.
process.once("disconnect", () => process.exit(1));

process.once("message", (layers: readonly ImageLayer[]) => {
  process.send?.(composeLayers(layers), () => process.exit(0));
});
