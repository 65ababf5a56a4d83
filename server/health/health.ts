// Decides which dependencies of the server have failed. The owner of each dependency probes it and reports here; readiness, the pools,
// log lines and metrics follow this decision. A single bad probe fails a dependency, and three good ones in a row recover it.

import { limits } from "#base/limits.ts";
import { type Log, silent } from "#base/log.ts";
import type { Metrics } from "#metrics";

export const dependencies = ["database", "replica", "blobs", "clock", "descriptors", "disk", "memory", "dns"] as const;
export type DependencyName = (typeof dependencies)[number];

export interface Dependency {
  readonly isFailed: boolean;
  /** Aborts when the dependency fails; after the recovery there is a new one. */
  readonly failure: AbortSignal;
  good(): void;
  bad(why: string): void;
}

export interface Health {
  /** Returns the dependency, which counts as good until a probe fails. */
  watch(name: DependencyName): Dependency;
}

export interface HealthOptions {
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  /** Monotonic. */
  readonly nowMs?: () => number;
}

const durationText = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const openDependency = (name: DependencyName, log: Log, nowMs: () => number): Dependency => {
  let failed: { readonly sinceMs: number; loggedMs: number } | undefined;
  let failure = new AbortController();
  let goodProbes = 0;
  return {
    get isFailed() {
      return failed !== undefined;
    },
    get failure() {
      return failure.signal;
    },
    good() {
      if (failed === undefined || ++goodProbes < limits.recoveryProbes) return;
      log("dependency.recovered", { dependency: name, message: `recovered after ${durationText(nowMs() - failed.sinceMs)}` });
      failed = undefined;
      failure = new AbortController();
    },
    bad(why) {
      goodProbes = 0;
      const atMs = nowMs();
      if (failed !== undefined && atMs - failed.loggedMs < limits.failureLogMs) return;
      failed ??= { sinceMs: atMs, loggedMs: atMs };
      failed.loggedMs = atMs;
      failure.abort();
      log("dependency.failed", { dependency: name, why, ...(failed.sinceMs === atMs ? {} : { for: durationText(atMs - failed.sinceMs) }) });
    },
  };
};

export const openHealth = ({ log, metrics, nowMs = () => performance.now() }: HealthOptions): Health => {
  const watched = new Map<DependencyName, Dependency>();
  metrics?.watch("gantry_dependency_failed", () => [...watched].map(([dependency, { isFailed }]) => ({ labels: { dependency }, value: isFailed ? 1 : 0 })));
  return {
    watch(name) {
      const found = watched.get(name) ?? openDependency(name, log, nowMs);
      watched.set(name, found);
      return found;
    },
  };
};

/** For commands: no log lines and no metrics. */
export const unreported = (): Health => openHealth({ log: silent });
