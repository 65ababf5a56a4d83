// Bounds the buffers of 64 KiB left behind by passing content, which V8 lets grow beyond 64 MiB, the budget of a hundred pushes. A
// minor collection, under a millisecond, frees the young ones; the few old ones need a major collection once they are many.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { limits } from "#base/limits.ts";

/** V8's gc function, available only with a flag. */
type Collect = (options: { readonly type: "minor" | "major" }) => void;

let collect: Collect | undefined;
let passedBytes = 0;
// Memory in use after the last major collection.
let usedBytes = 0;

/** Records passed bytes and collects if due. */
export const notePassed = (count: number): void => {
  passedBytes += count;
  if (passedBytes < limits.blobYoungBytes) return;
  passedBytes = 0;
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as Collect;
  }
  collect({ type: "minor" });
  const { arrayBuffers } = process.memoryUsage();
  usedBytes = Math.min(usedBytes, arrayBuffers);
  if (arrayBuffers - usedBytes < limits.blobOldBytes) return;
  collect({ type: "major" });
  usedBytes = process.memoryUsage().arrayBuffers;
};
