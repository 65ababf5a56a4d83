// Files that only the owner can read, replaced atomically.

import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Writes with mode 0600 and creates folders with 0700. Replaces a symbolic link instead of following it. Throws Node's error. */
export const writePrivateFile = (file: string, content: string): void => {
  const draft = `${file}.${process.getBuiltinModule("node:crypto").randomBytes(4).toString("hex")}`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(draft, content, { mode: 0o600, flag: "wx" });
    // The umask or the file system may have changed the mode.
    chmodSync(draft, 0o600);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
};
