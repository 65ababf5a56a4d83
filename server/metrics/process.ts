// Process metrics: CPU, memory, and event loop delay.

import { performance } from "node:perf_hooks";
import { limits } from "#base/limits.ts";
import type { Metrics } from "./registry.ts";

/** Watches this process until stopped. @param version of this server */
export const watchProcess = (metrics: Metrics, version: string): { stop: () => void } => {
  metrics.watch("gantry_build_info", () => [{ labels: { version, node: process.versions.node }, value: 1 }]);
  metrics.watch("process_start_time_seconds", () => [{ labels: {}, value: Math.round(performance.timeOrigin) / 1000 }]);
  metrics.watch("process_cpu_seconds_total", () => {
    const { user, system } = process.cpuUsage();
    return [{ labels: {}, value: (user + system) / 1e6 }];
  });
  metrics.watch("process_resident_memory_bytes", () => [{ labels: {}, value: process.memoryUsage.rss() }]);
  metrics.watch("gantry_memory_bytes", () => {
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
    return [
      { labels: { kind: "resident" }, value: rss },
      { labels: { kind: "heap" }, value: heapTotal },
      { labels: { kind: "heap_used" }, value: heapUsed },
      { labels: { kind: "buffers" }, value: external },
    ];
  });
  metrics.watch("gantry_event_loop_active_seconds_total", () => [{ labels: {}, value: performance.eventLoopUtilization().active / 1000 }]);

  // Node's monitorEventLoopDelay has percentiles since its last reset, which two scrapers would take from each other.
  let dueMs = performance.now() + limits.eventLoopLookMs;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    metrics.observe("gantry_event_loop_delay_seconds", {}, Math.max(0, nowMs - dueMs) / 1000);
    dueMs = nowMs + limits.eventLoopLookMs;
  }, limits.eventLoopLookMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
};
