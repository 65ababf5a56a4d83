// Bytes that pass leave buffers behind, of 64 KiB each, which V8 counts outside of its heap and lets grow to 64 MiB before it
// looks at them: as much as a hundred pushes may take in all. They die young, so that a collection of the young alone, which
// takes less than a millisecond, gives their memory to those that come next.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { limits } from "#base/limits.ts";

/** V8's own function, which it shows to those alone who ask for it by a flag. */
type CollectYoung = (options: { readonly type: "minor" }) => void;

let collectYoung: CollectYoung | undefined;
let passedBytes = 0;

/** Notes that so many bytes have passed. */
export const notePassed = (count: number): void => {
  passedBytes += count;
  if (passedBytes < limits.blobYoungBytes) return;
  passedBytes = 0;
  if (collectYoung === undefined) {
    setFlagsFromString("--expose-gc");
    collectYoung = runInNewContext("gc") as CollectYoung;
  }
  collectYoung({ type: "minor" });
};
