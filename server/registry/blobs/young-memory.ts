// Bytes that pass leave buffers behind, of 64 KiB each, which V8 counts outside of its heap and lets grow to 64 MiB and more
// before it looks at them: as much as a hundred pushes may take in all. They die young, so that a collection of the young alone,
// which takes less than a millisecond, gives their memory to those that come next. The few that grow old, because they waited
// for their turn, are collected with everything else when they have become many.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { limits } from "#base/limits.ts";

/** V8's own function, which it shows to those alone who ask for it by a flag. */
type Collect = (options: { readonly type: "minor" | "major" }) => void;

let collect: Collect | undefined;
let passedBytes = 0;
// What is in use, as far as the last look at everything knows.
let usedBytes = 0;

/** Notes that so many bytes have passed. */
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
