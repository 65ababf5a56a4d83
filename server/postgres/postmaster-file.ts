// Checks the process that postmaster.pid names, and removes the files of a dead one.

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { link, readFile, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type DataDirectory, port } from "./data-directory.ts";
import { isAlive } from "./postmaster-record.ts";

/** Returns whether the process is this directory's PostgreSQL, rather than one with a reused ID. */
export const isServerOf = async (pid: number, directory: string): Promise<boolean> => {
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return false;
  if (process.platform !== "linux") {
    try {
      return execFileSync("ps", ["-p", String(pid), "-o", "command="], { encoding: "utf8" }).includes(directory);
    } catch {
      return false;
    }
  }
  // Empty for a zombie, which signals still find.
  const commandLine = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  if (commandLine.includes(directory)) return true;
  if (!commandLine.includes("postgres")) return false;
  // Started under another path of the directory: compare working directories, as PostgreSQL changes into its data. In a container
  // even root may be unable to read another user's.
  const [itsDirectory, ours] = await Promise.all([stat(`/proc/${pid}/cwd`).catch(() => undefined), stat(directory)]);
  return itsDirectory !== undefined && itsDirectory.dev === ours.dev && itsDirectory.ino === ours.ino;
};

/** Restores a file replaced since. */
const removeUnchanged = async (file: string, text: string): Promise<void> => {
  const aside = `${file}.${randomBytes(4).toString("hex")}`;
  try {
    await rename(file, aside);
  } catch {
    return;
  }
  if ((await readFile(aside, "utf8")) !== text) await link(aside, file).catch(() => {});
  await unlink(aside);
};

/**
 * Removes lock files of a dead PostgreSQL with a reused process ID, for which PostgreSQL would refuse to start. It clears those with
 * an unused ID itself.
 */
export const clearStaleLockFiles = async ({ directory, socketDirectory }: DataDirectory): Promise<void> => {
  for (const file of [join(directory, "postmaster.pid"), join(socketDirectory, `.s.PGSQL.${port}.lock`)]) {
    const text = await readFile(file, "utf8").catch(() => "");
    const pid = Math.abs(Number(text.split("\n")[0]));
    if (text !== "" && isAlive(pid) && !(await isServerOf(pid, directory))) await removeUnchanged(file, text);
  }
};
