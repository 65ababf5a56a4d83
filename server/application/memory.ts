// Gives memory back to the system once a flood is over, and the start is the first. V8 keeps the pages of what it has
// collected, for the next flood, and collects nothing while a server is calm: after two hundred greedy clients 450 MB stayed
// resident where 145 had been, and after the start 175 where 120 do (measured, Node 24.21), until the end of the process. Its
// collection of last resort lets go of them.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { limits } from "#base/limits.ts";

/** V8's own function, which it shows to those alone who ask for it by a flag. */
type Collect = (options: { readonly type: "major"; readonly execution: "sync"; readonly flavor: "last-resort" }) => void;

let collect: Collect | undefined;

/** Collects whatever nobody holds, and gives its pages back. Takes some 50 ms of the event loop. */
export const releaseMemory = (): void => {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as Collect;
  }
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
};

/** Whether it is worth the pause: the event loop has next to nothing to do, and there is more than there was when it last was so. */
export const isWorthRelease = (utilization: number, residentBytes: number, calmBytes: number): boolean =>
  utilization < limits.calmUtilization && residentBytes > calmBytes * limits.memoryGrowthMax;

/**
 * While a command does bulk work, which answers nobody: what it makes and drops is collected before it has grown by as much
 * as a server may use. V8 by itself lets its young generation grow to 128 MB and collects the old one late where the machine
 * has memory (measured: an import of any size rose to 260 MB above one of nothing, of which 50 were held).
 */
export const boundMemory = (): { stop: () => void } => {
  let worthBytes = process.memoryUsage.rss() + limits.bulkGrowthBytes;
  const look = (): void => {
    if (process.memoryUsage.rss() < worthBytes) return;
    releaseMemory();
    // Where more is held, collecting all the time would not help.
    worthBytes = Math.max(worthBytes, process.memoryUsage.rss() + limits.bulkGrowthBytes / 2);
  };
  const timer = setInterval(look, limits.bulkLookMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
};

/** Looks often until the start is over, and then from time to time, until stopped. */
export const watchMemory = (): { stop: () => void } => {
  // V8 by itself collects twice more some seconds after each full collection, in small steps, which costs more than the release
  // itself and finds nothing behind it.
  setFlagsFromString("--memory-reducer-gc-count=0");
  let seen = performance.eventLoopUtilization();
  // It has not been calm yet: whatever the start left is worth a release.
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
