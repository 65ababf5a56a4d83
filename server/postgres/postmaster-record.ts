// Reads postmaster.pid, PostgreSQL's record of the server in a data directory.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startFailure } from "./start-failure.ts";

/** Content of postmaster.pid, of a running or dead server. */
export interface PostmasterFile {
  readonly pid: number;
  /** Empty early in the start. */
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
