// File status without following links.

import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";

/** Returns a file's status; undefined if it does not exist. */
export const findFileStatus = (path: string): Promise<Stats | undefined> =>
  lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });

/** False also if it cannot be checked. */
export const fileExists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
