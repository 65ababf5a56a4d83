// What stands at a path, without following it where it is a link.

import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";

/** A file's status; undefined where there is none. */
export const findFileStatus = (path: string): Promise<Stats | undefined> =>
  lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });

/** False also where it cannot be looked at. */
export const fileExists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
