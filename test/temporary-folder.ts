// The folder for temporary files of a test run: in memory if there is enough. A test database has a thousand files, and ext4
// checks recently freed inodes before reuse: a third of the CPU time of all tests (measured).

import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const memoryFolder = "/dev/shm";
/** Concurrent files take 2 GiB (measured); the rest is for programs. */
const wantedBytes = 8 * 1024 ** 3;

/** Tests run programs in it, which its mount may forbid. */
const mayRunPrograms = (folder: string): boolean => {
  const program = join(folder, "program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o700 });
  return spawnSync(program).status === 0;
};

const folderInMemory = (): string | undefined => {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    if (Math.min(bavail * bsize, process.availableMemory()) < wantedBytes) return undefined;
    const folder = mkdtempSync(join(memoryFolder, "gantry-tests-"));
    if (mayRunPrograms(folder)) return folder;
    rmSync(folder, { recursive: true });
    return undefined;
  } catch {
    return undefined;
  }
};

/** Creates a folder that the caller removes. World-writable like /tmp, because PostgreSQL runs as another user if tests run as root. */
export const makeTemporaryFolder = (): string => {
  const folder = folderInMemory() ?? mkdtempSync(join(tmpdir(), "gantry-tests-"));
  chmodSync(folder, 0o1777);
  return folder;
};
