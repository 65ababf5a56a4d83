// Where the files lie that a run of the tests makes and removes: in memory where there is plenty of it. Each database of a test
// file is a thousand files, and ext4 looks at every inode that was given back within the last seconds before it gives one out:
// measured, a third of the processor time of all tests.

import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const memoryFolder = "/dev/shm";
/** Of files that live at once: 2 GiB, measured. The rest is for the programs. */
const wantedBytes = 8 * 1024 ** 3;

/** Tests run programs that lie there, which its mount may forbid. */
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

/** A new folder, for whoever removes it. Open to everybody as /tmp is: PostgreSQL runs as an ordinary user where root runs the tests. */
export const makeTemporaryFolder = (): string => {
  const folder = folderInMemory() ?? mkdtempSync(join(tmpdir(), "gantry-tests-"));
  chmodSync(folder, 0o1777);
  return folder;
};
