// CPU time of process trees, from /proc, independent of other load.

import { readdir, readFile } from "node:fs/promises";

/** Linux counts exited processes in hundredths of a second. */
const tickMs = 10;

interface Entry {
  readonly parent: number;
  /** Includes exited threads. */
  readonly ownMs: number;
  /** Of its exited children. */
  readonly childrenMs: number;
}

const readProcessEntry = async (pid: string): Promise<Entry | undefined> => {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields.length < 16) return undefined;
  const ticks = (index: number): number => Number(fields[index]);
  return { parent: ticks(1), ownMs: (ticks(11) + ticks(12)) * tickMs, childrenMs: (ticks(13) + ticks(14)) * tickMs };
};

/** Returns the time of running threads in nanosecond precision; 0 if the kernel does not count it. */
const readThreadsMs = async (pid: string): Promise<number> => {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const times = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, "latin1").catch(() => "0")));
  return times.reduce((sum, line) => sum + Number(line.split(" ")[0]) / 1e6, 0);
};

/** Returns user and system CPU time of a process and all descendants, including exited ones. */
export const readTreeCpuMs = async (root: number): Promise<number> => {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const entries = new Map<number, Entry>();
  await Promise.all(
    pids.map(async (pid) => {
      const entry = await readProcessEntry(pid);
      if (entry) entries.set(Number(pid), entry);
    }),
  );
  if (!entries.has(root)) throw new Error(`no process ${root} in /proc: CPU time is measured on Linux only, of a process that runs`);
  const children = new Map<number, number[]>();
  for (const [pid, { parent }] of entries) children.set(parent, [...(children.get(parent) ?? []), pid]);
  let total = 0;
  const waiting = [root];
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    const entry = entries.get(pid);
    if (!entry) continue;
    total += Math.max(entry.ownMs, await readThreadsMs(String(pid))) + entry.childrenMs;
    waiting.push(...(children.get(pid) ?? []));
  }
  return total;
};

/** Returns the running children of a process. */
export const findChildren = async (pid: number): Promise<number[]> =>
  (await readFile(`/proc/${pid}/task/${pid}/children`, "latin1")).split(" ").filter(Boolean).map(Number);

export interface MachineTime {
  readonly busyMs: number;
  readonly allMs: number;
}

/** Returns the time of all CPUs since boot. */
export const readMachineTime = async (): Promise<MachineTime> => {
  const [line = ""] = (await readFile("/proc/stat", "latin1")).split("\n");
  // user nice system idle iowait irq softirq steal; guest time is part of user time. Waiting for disk counts as idle.
  const times = line
    .trim()
    .split(/\s+/)
    .slice(1, 9)
    .map((ticks) => Number(ticks) * tickMs);
  const allMs = times.reduce((sum, time) => sum + time, 0);
  return { allMs, busyMs: allMs - (times[3] ?? 0) - (times[4] ?? 0) };
};
