// The time of the last complete backup, in a file of the data directory. A row in the database would be no evidence after a restore.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const fileIn = (dataDirectory: string): string => join(dataDirectory, "last-backup");

export const writeLastBackup = async (dataDirectory: string, createTime: string): Promise<void> => {
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  // Readable for the server's user if root makes the backups.
  await writeFile(fileIn(dataDirectory), `${createTime}\n`, { mode: 0o644 });
};

/** Returns undefined without a backup. */
export const readLastBackupMs = async (dataDirectory: string): Promise<number | undefined> => {
  const text = await readFile(fileIn(dataDirectory), "utf8").catch(() => "");
  const ms = Date.parse(text.trim());
  return Number.isNaN(ms) ? undefined : ms;
};
