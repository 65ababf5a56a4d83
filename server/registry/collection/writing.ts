// Keys of the blob place that a request of this server is writing to and that no row names yet. Collection leaves them alone whatever the
// clocks say; of other servers it goes by the time of the last change and by the table blob_writes.

import { limits } from "#base/limits.ts";

const writing = new Set<string>();

/** Notes a key. The returned function forgets it, after the time in which the transaction that names it ends. */
export const noteWriting = (key: string): (() => void) => {
  writing.add(key);
  return () => void setTimeout(() => writing.delete(key), limits.uploadHoldMs).unref();
};

export const isWriting = (key: string): boolean => writing.has(key);
