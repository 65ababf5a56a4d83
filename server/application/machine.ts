// Watches the machine: clock, disk, memory. connections.ts of the transport counts connections refused for want of descriptors.

import { readFileSync } from "node:fs";
import { readFile, statfs } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import { type Health, startProbe } from "#health";
import type { Metrics } from "#metrics";
import { readLastBackupMs } from "./last-backup.ts";
import { memoryLimitBytes } from "./postgres-tuning.ts";
import type { Settings } from "./settings.ts";

const secondsText = (ms: number): string => `${(Math.abs(ms) / 1000).toFixed(1)} s`;

/** Returns a one-line description if the clocks differ too much. `aheadMs`: of this machine. */
export const clockProblem = (aheadMs: number): string | undefined =>
  Math.abs(aheadMs) < limits.clockApartMs
    ? undefined
    : `this machine's clock is ${secondsText(aheadMs)} ${aheadMs > 0 ? "ahead of" : "behind"} the database's; tokens allow ${limits.clockSkewMs / 1000} s`;

/** Compares this machine's clock with the database's, whenever that is probed. */
export const watchClock = (health: Health, clock: Clock, metrics: Metrics | undefined): ((databaseMs: number, roundTripMs: number) => void) => {
  const dependency = health.watch("clock");
  let aheadMs = 0;
  metrics?.watch("gantry_clock_ahead_seconds", () => [{ labels: {}, value: aheadMs / 1000 }]);
  return (databaseMs, roundTripMs) => {
    aheadMs = clock() - roundTripMs / 2 - databaseMs;
    const why = clockProblem(aheadMs);
    if (why === undefined) dependency.good();
    else dependency.bad(why);
  };
};

/** Directories with the server's files, by label. */
const diskFolders = ({ dataDirectory, blobs }: Pick<Settings, "dataDirectory" | "blobs">): ["data" | "blobs", string][] => [
  ["data", dataDirectory],
  ...(blobs.kind === "file" ? [["blobs", blobs.folder] as ["blobs", string]] : []),
];

const freeBytes = async (folder: string): Promise<number | undefined> => {
  const found = await statfs(folder).catch(() => undefined);
  return found === undefined || found.bsize === 0 ? undefined : found.bavail * found.bsize;
};

interface MemoryFiles {
  readonly used: string;
  readonly stat: string;
}

/**
 * Returns the files with the memory of a control group, from the lines of /proc/self/cgroup. Its own first, such as that of a systemd
 * unit; a container sees its group as the root.
 */
export const memoryFiles = (groups: string): readonly MemoryFiles[] => {
  const filesIn = (folder: string, used: string): MemoryFiles => ({ used: join(folder, used), stat: join(folder, "memory.stat") });
  const lines = groups.split("\n").map((line) => line.split(":"));
  const pathOf = (isOf: (controllers: string) => boolean): string | undefined =>
    lines
      .find(([, controllers]) => controllers !== undefined && isOf(controllers))
      ?.slice(2)
      .join(":");
  const first = pathOf((controllers) => controllers.split(",").includes("memory"));
  const second = pathOf((controllers) => controllers === "");
  const [root, oldRoot] = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory"];
  return [
    ...(first === undefined ? [] : [join(oldRoot, first), oldRoot]).map((folder) => filesIn(folder, "memory.usage_in_bytes")),
    ...(second === undefined ? [] : [join(root, second), root]).map((folder) => filesIn(folder, "memory.current")),
  ];
};

/** The container's memory without its file cache, which the kernel frees by itself; undefined without a control group. */
const containerBytes = async (files: readonly MemoryFiles[]): Promise<number | undefined> => {
  for (const { used, stat } of files)
    try {
      const [bytes, facts] = await Promise.all([used, stat].map((path) => readFile(path, "utf8")));
      const cache = /^total_inactive_file (\d+)$/m.exec(facts ?? "")?.[1] ?? /^inactive_file (\d+)$/m.exec(facts ?? "")?.[1];
      return Number(bytes) - Number(cache ?? 0);
    } catch {
      // The next one.
    }
  return undefined;
};

const readGroups = (): string => {
  try {
    return readFileSync("/proc/self/cgroup", "utf8");
  } catch {
    return "";
  }
};

/** Returns the number of files that this process may open; undefined if unknown. Node has already raised the soft limit. */
export const descriptorLimit = (): number | undefined => {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
};

/** All connections, and everything else. */
export const descriptorsNeeded = limits.connectionsMax + limits.descriptorsKept;

export const descriptorProblem = (limit: number | undefined = descriptorLimit()): string | undefined =>
  limit === undefined || limit >= descriptorsNeeded
    ? undefined
    : `this process may open ${limit} files, and ${limits.connectionsMax} connections need ${descriptorsNeeded}`;

/** Returns the maximum number of connections, so that the rest of the server keeps descriptors. */
export const connectionsFor = (limit: number | undefined = descriptorLimit()): number =>
  limit === undefined ? limits.connectionsMax : Math.max(1, Math.min(limits.connectionsMax, limit - Math.min(limits.descriptorsKept, Math.ceil(limit / 2))));

export const watchMachine = (settings: Pick<Settings, "dataDirectory" | "blobs">, health: Health, metrics: Metrics | undefined): { stop: () => void } => {
  const free = new Map<"data" | "blobs", number>();
  const limitBytes = memoryLimitBytes();
  metrics?.watch("gantry_disk_free_bytes", () => [...free].map(([disk, value]) => ({ labels: { disk }, value })));
  metrics?.watch("gantry_memory_limit_bytes", () => [{ labels: {}, value: limitBytes }]);
  metrics?.watch("gantry_backup_last_timestamp_seconds", async () => {
    const lastMs = await readLastBackupMs(settings.dataDirectory);
    return lastMs === undefined ? [] : [{ labels: {}, value: lastMs / 1000 }];
  });
  const folders = diskFolders(settings);
  const isContainer = limitBytes < totalmem();
  const groupFiles = memoryFiles(readGroups());
  const calm = { calmBeats: limits.calmProbeBeats };
  const probes = [
    // A file system that hangs is found by the probes of the database and the blobs.
    startProbe(
      health.watch("disk"),
      async () => {
        for (const [disk, folder] of folders) {
          const bytes = await freeBytes(folder);
          // The directory may not exist yet.
          if (bytes === undefined) continue;
          free.set(disk, bytes);
          if (bytes < limits.blobSpaceLeftBytes) throw new Error(`${folder} has ${Math.floor(bytes / 1e6)} MB left`);
        }
      },
      calm,
    ),
    startProbe(
      health.watch("memory"),
      async () => {
        const usedBytes = isContainer ? await containerBytes(groupFiles) : undefined;
        const share = (usedBytes ?? process.memoryUsage.rss()) / limitBytes;
        if (share > limits.memoryShareMax) throw new Error(`${Math.round(share * 100)} % of ${Math.round(limitBytes / 1e6)} MB are in use`);
      },
      calm,
    ),
  ];
  return {
    stop: () => {
      for (const probe of probes) probe.stop();
    },
  };
};
