// A file for its owner's eyes alone, replaced whole: a program that reads it at this moment finds the one before or this one.

import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Writes it with mode 0600, and the folders that it lacks with 0700. A link that stands there is replaced, not followed. Throws what Node throws. */
export const writePrivateFile = (file: string, content: string): void => {
  const draft = `${file}.${process.getBuiltinModule("node:crypto").randomBytes(4).toString("hex")}`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(draft, content, { mode: 0o600, flag: "wx" });
    // Whatever the umask took away or an odd file system made of it.
    chmodSync(draft, 0o600);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
};
