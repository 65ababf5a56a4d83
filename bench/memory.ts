// Resident memory of processes.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

/** Returns the resident memory in megabytes (10^6 bytes). */
export const residentMb = async (pid: number): Promise<number> => {
  if (process.platform === "linux") {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    return (Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024) / 1e6;
  }
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
  return (Number(stdout) * 1024) / 1e6;
};

/** Returns the peak resident memory of a process until it exits. */
export const highestMb = async (pid: number, ended: Promise<unknown>): Promise<number> => {
  let running = true;
  void ended.then(
    () => (running = false),
    () => (running = false),
  );
  let highest = 0;
  while (running) {
    // It may have exited.
    highest = Math.max(highest, (await residentMb(pid).catch(() => 0)) || 0);
    await sleep(10);
  }
  return highest;
};
