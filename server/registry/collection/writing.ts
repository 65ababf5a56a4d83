// Keys that requests of this server are writing and that no row names yet. Collection skips them regardless of clocks; for other
// servers it relies on modification times and the table blob_writes.

import { limits } from "#base/limits.ts";

const writing = new Set<string>();

/** Registers a key. The returned function removes it once the naming transaction must have ended. */
export const noteWriting = (key: string): (() => void) => {
  writing.add(key);
  return () => void setTimeout(() => writing.delete(key), limits.uploadHoldMs).unref();
};

export const isWriting = (key: string): boolean => writing.has(key);
