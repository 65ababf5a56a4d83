// A control group with a limit of memory, for one program and a file that fills it. Needs root.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { memoryFiles } from "../server/application/machine.ts";

export interface MemoryGroup {
  /** A shell command moves itself there by writing its process ID to this file. */
  readonly processes: string;
  /** Uses memory up to this share of the limit, until emptied. */
  fill(share: number): Promise<void>;
  empty(): Promise<void>;
  close(): void;
}

/** Returns undefined if no group can be created here. */
export const openMemoryGroup = (limitBytes: number, folder: string): MemoryGroup | undefined => {
  try {
    const [own] = memoryFiles(readFileSync("/proc/self/cgroup", "utf8")).filter(({ used }) => existsSync(used));
    if (own === undefined) return undefined;
    const group = mkdtempSync(join(own.used, "..", "gantry-test-"));
    const isFirst = own.used.endsWith("usage_in_bytes");
    try {
      writeFileSync(join(group, isFirst ? "memory.limit_in_bytes" : "memory.max"), String(limitBytes));
    } catch {
      rmdirSync(group);
      return undefined;
    }
    const disk = join(folder, "memory");
    mkdirSync(disk);
    if (spawnSync("mount", ["-t", "tmpfs", "-o", `size=${limitBytes}`, "gantry", disk]).status !== 0) return undefined;
    const processes = join(group, "cgroup.procs");
    const usedBytes = (): number => {
      const cache = new RegExp(`^${isFirst ? "total_" : ""}inactive_file (\\d+)$`, "m").exec(readFileSync(join(group, "memory.stat"), "utf8"))?.[1];
      return Number(readFileSync(join(group, isFirst ? "memory.usage_in_bytes" : "memory.current"), "utf8")) - Number(cache);
    };
    const filler = join(disk, "filler");
    return {
      processes,
      async fill(share) {
        const bytes = Math.max(0, Math.floor(limitBytes * share - usedBytes()));
        await once(spawn("sh", ["-c", `echo $$ > ${processes}; exec head -c ${bytes} /dev/zero >> ${filler}`]), "exit");
      },
      empty: () => rm(filler, { force: true }),
      close() {
        spawnSync("umount", [disk]);
        rmdirSync(group);
      },
    };
  } catch {
    return undefined;
  }
};
