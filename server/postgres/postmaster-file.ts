// postmaster.pid, by which PostgreSQL tells who runs in a data directory, and the processes that such files name.

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { link, readFile, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type DataDirectory, port } from "./data-directory.ts";
import { startFailure } from "./start-failure.ts";

/** What the PostgreSQL that runs or ran in a data directory has written to postmaster.pid. */
export interface PostmasterFile {
  readonly pid: number;
  /** Empty until it has got that far. */
  readonly socketDirectory: string;
  readonly ready: boolean;
}

export const readPostmasterFile = async (directory: string): Promise<PostmasterFile | undefined> => {
  const text = await readFile(join(directory, "postmaster.pid"), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw startFailure(`the database in ${directory} cannot be looked at: ${error.message}`, error);
  });
  if (text === undefined) return undefined;
  const lines = text.split("\n");
  return { pid: Math.abs(Number(lines[0])), socketDirectory: lines[4]?.trim() ?? "", ready: lines[7]?.startsWith("ready") ?? false };
};

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
};

/** Whether this process is the PostgreSQL of this directory; false for any other that has got the same id since. */
export const isServerOf = async (pid: number, directory: string): Promise<boolean> => {
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return false;
  if (process.platform !== "linux") {
    try {
      return execFileSync("ps", ["-p", String(pid), "-o", "command="], { encoding: "utf8" }).includes(directory);
    } catch {
      return false;
    }
  }
  // Empty for one that has ended and that its parent has not waited for yet: a signal still finds it.
  const commandLine = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  if (commandLine.includes(directory)) return true;
  if (!commandLine.includes("postgres")) return false;
  // Started under another name of the same folder: a PostgreSQL stands in its data directory. (In a container
  // even root may not see where another user's process stands.)
  const [itsDirectory, ours] = await Promise.all([stat(`/proc/${pid}/cwd`).catch(() => undefined), stat(directory)]);
  return itsDirectory !== undefined && itsDirectory.dev === ours.dev && itsDirectory.ino === ours.ino;
};

/** Removes a file that still has this text; one that has been replaced since is put back. */
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
 * Lock files of a dead PostgreSQL whose process id is another's by now: PostgreSQL would take them for a living
 * one's and refuse to start for ever. (Where the id is nobody's, it clears them itself.)
 */
export const clearStaleLockFiles = async ({ directory, socketDirectory }: DataDirectory): Promise<void> => {
  for (const file of [join(directory, "postmaster.pid"), join(socketDirectory, `.s.PGSQL.${port}.lock`)]) {
    const text = await readFile(file, "utf8").catch(() => "");
    const pid = Math.abs(Number(text.split("\n")[0]));
    if (text !== "" && isAlive(pid) && !(await isServerOf(pid, directory))) await removeUnchanged(file, text);
  }
};
