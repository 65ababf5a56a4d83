// Memory and disk of the embedded PostgreSQL: derived from the machine, unless the operator sets them.

import { statfsSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname } from "node:path";
import type { Tuning } from "#postgres";

const tunedNames = ["shared_buffers", "work_mem", "maintenance_work_mem", "max_wal_size"] as const satisfies (keyof Tuning)[];

export interface Machine {
  /** Available to this process, in MiB. */
  readonly memoryMb: number;
  /** Size of the data directory's file system, in MiB. */
  readonly diskMb: number;
}

const mib = 1024 * 1024;

const between = (least: number, value: number, most: number): string => `${Math.floor(Math.min(Math.max(value, least), most))}MB`;

/**
 * Returns the parameters for a machine that Node and the registry share. shared_buffers gets an eighth of the memory, up to 1 GiB;
 * work_mem for 60 connections together another eighth at most. 1 GiB of memory and 50 GiB of disk yield PostgreSQL's defaults.
 */
export const tuningFor = ({ memoryMb, diskMb }: Machine): Tuning => ({
  // Each megabyte also costs time at the start.
  shared_buffers: between(32, memoryMb / 8, 1024),
  work_mem: between(4, memoryMb / 512, 32),
  maintenance_work_mem: between(64, memoryMb / 32, 512),
  // More means fewer checkpoints, and a longer recovery after a crash.
  max_wal_size: between(256, diskMb / 50, 4096),
});

const sizeOfFileSystem = (directory: string): number => {
  try {
    const { blocks, bsize } = statfsSync(directory);
    return blocks * bsize;
  } catch {
    // Created later.
    const parent = dirname(directory);
    return parent === directory ? 0 : sizeOfFileSystem(parent);
  }
};

/** Returns the memory that this process and its siblings may use: the machine's, or a container's limit. */
export const memoryLimitBytes = (): number => {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
};

/** Reads the machine's size, or a container's memory limit. */
export const readMachine = (dataDirectory: string): Machine => {
  return { memoryMb: memoryLimitBytes() / mib, diskMb: sizeOfFileSystem(dataDirectory) / mib };
};

const isTunedName = (name: string): name is keyof Tuning => tunedNames.some((each) => each === name);

/** Parses parameters such as `shared_buffers=2GB`. Throws an Error that completes "the setting …". */
export const readTuning = (entries: readonly string[]): Partial<Tuning> =>
  Object.fromEntries(
    entries.map((entry) => {
      const [, name = "", value = ""] = /^(\w+)=(\d{1,7}(?:kB|MB|GB))$/.exec(entry) ?? [];
      if (!isTunedName(name))
        throw new Error(
          `must contain parameters such as shared_buffers=2GB; allowed are ${tunedNames.join(", ")}, in kB, MB or GB, not ${JSON.stringify(entry)}`,
        );
      return [name, value];
    }),
  );

/** Formats parameters for readTuning. */
export const tuningText = (tuning: Tuning): string => tunedNames.map((name) => `${name}=${tuning[name]}`).join(",");
