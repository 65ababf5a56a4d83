// A lock among processes of this machine, held by creating a file.

import { closeSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { limits } from "#base/limits.ts";

const takeLock = (file: string): boolean => {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    closeSync(openSync(file, "wx", 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
};

/** A lock left by a killed process. */
const removeStaleLock = (file: string): void => {
  try {
    if (Date.now() - statSync(file).mtimeMs > limits.sessionLockMs) rmSync(file, { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
};

/** Runs the work under the lock; creates its folder if needed. */
export const withLock = async <T>(file: string, stop: AbortSignal, work: () => Promise<T>): Promise<T> => {
  while (!takeLock(file)) {
    removeStaleLock(file);
    await sleep(limits.sessionLockLookMs, undefined, { signal: stop });
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
};
