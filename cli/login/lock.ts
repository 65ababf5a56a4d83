// One program of this machine at a time, by a file that only one of them can make.

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

/** Left by a program that was killed while it renewed. */
const removeStaleLock = (file: string): void => {
  try {
    if (Date.now() - statSync(file).mtimeMs > limits.sessionLockMs) rmSync(file, { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
};

/** Does the work while no other program of this machine that takes the same lock does. The lock is a file, in a folder that is made where it lacks. */
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
