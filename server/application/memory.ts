// Returns memory to the system after load. V8 keeps collected pages and does not collect while idle: after two hundred greedy
// clients 450 MB stayed resident instead of 145, and after the start 175 instead of 120 (Node 24.21). A last-resort collection
// releases them.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { limits } from "#base/limits.ts";

/** V8's gc function, available only with a flag. */
type Collect = (options: { readonly type: "major"; readonly execution: "sync"; readonly flavor: "last-resort" }) => void;

let collect: Collect | undefined;

/** Collects garbage and releases its pages. Blocks the event loop for about 50 ms. */
export const releaseMemory = (): void => {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as Collect;
  }
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
};

/** Returns whether a release is worth the pause: the event loop is idle, and memory has grown since it last was. */
export const isWorthRelease = (utilization: number, residentBytes: number, calmBytes: number): boolean =>
  utilization < limits.calmUtilization && residentBytes > calmBytes * limits.memoryGrowthMax;

/**
 * Bounds the memory of a command's bulk work until stopped. V8 by itself lets the young generation grow to 128 MB and collects the old
 * one late: an import of any size rose to 260 MB above an empty one, of which 50 were live.
 */
export const boundMemory = (): { stop: () => void } => {
  let worthBytes = process.memoryUsage.rss() + limits.bulkGrowthBytes;
  const look = (): void => {
    if (process.memoryUsage.rss() < worthBytes) return;
    releaseMemory();
    // If the memory is live, collecting more often would not help.
    worthBytes = Math.max(worthBytes, process.memoryUsage.rss() + limits.bulkGrowthBytes / 2);
  };
  const timer = setInterval(look, limits.bulkLookMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
};

/** Polls often until the start is over, then at intervals, until stopped. */
export const watchMemory = (): { stop: () => void } => {
  // V8 otherwise runs two more incremental collections after each full one, which cost more than the release and find nothing.
  setFlagsFromString("--memory-reducer-gc-count=0");
  let seen = performance.eventLoopUtilization();
  // Not idle yet, so the memory of the start is worth a release.
  let calmBytes = 0;
  const look = (): void => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, seen);
    seen = now;
    if (!isWorthRelease(utilization, process.memoryUsage.rss(), calmBytes)) return;
    releaseMemory();
    if (calmBytes === 0) {
      clearInterval(timer);
      timer = setInterval(look, limits.memoryLookMs).unref();
    }
    calmBytes = process.memoryUsage.rss();
  };
  let timer = setInterval(look, limits.memoryStartLookMs).unref();
  return { stop: () => clearInterval(timer) };
};
