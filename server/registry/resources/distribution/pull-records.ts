// Counts pulls of manifests by day, tag, digest and caller. A pull adds to a map in memory and never waits for the database; the map is
// written every limits.pullRecordsMs. A crash loses what was not written yet.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import type { ReadContext, Services } from "#kernel";
import { type PullRecord, writePulls } from "#registry/store";

export interface PulledManifest {
  readonly repo: string;
  /** "" for a pull by digest. */
  readonly tag: string;
  readonly sha256: string;
}

interface PullCounter {
  readonly add: (pull: PullRecord) => void;
  readonly write: () => Promise<void>;
}

const keyOf = ({ repo, digest, tag, caller, day }: PullRecord): string => [repo, digest, tag, caller, day].join(" ");

const openPullCounter = (services: Services): PullCounter => {
  let waiting = new Map<string, PullRecord>();
  /** Records by organization: each has a share. */
  let counts = new Map<string, number>();
  let lost = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();
  const add = (pull: PullRecord): void => {
    const key = keyOf(pull);
    const held = waiting.get(key);
    if (held) {
      waiting.set(key, { ...held, count: held.count + pull.count, lastMs: Math.max(held.lastMs, pull.lastMs) });
      return;
    }
    const root = rootOf(pull.repo);
    const count = counts.get(root) ?? 0;
    if (count >= limits.pullRecordsEach || waiting.size >= limits.pullRecordsMax) {
      lost++;
      return;
    }
    counts.set(root, count + 1);
    waiting.set(key, pull);
    timer ??= setTimeout(() => void write(), limits.pullRecordsMs).unref();
  };
  const writeAll = async (pulls: readonly PullRecord[]): Promise<void> => {
    for (let from = 0; from < pulls.length; from += limits.pullRecordsWritten) {
      const some = pulls.slice(from, from + limits.pullRecordsWritten);
      try {
        await services.store.write((rows) => writePulls(rows, some));
        services.metrics.count("gantry_registry_pull_records_total", { outcome: "written" }, some.length);
      } catch (cause) {
        services.log("registry.pulls.failed", { cause, count: pulls.length - from });
        // With the next ones, if there is room.
        for (const pull of pulls.slice(from)) add(pull);
        return;
      }
    }
  };
  const write = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const pulls = [...waiting.values()];
    waiting = new Map();
    counts = new Map();
    if (lost > 0) {
      services.log("registry.pulls.lost", { count: lost });
      services.metrics.count("gantry_registry_pull_records_total", { outcome: "lost" }, lost);
    }
    lost = 0;
    if (pulls.length > 0) writing = writing.then(() => writeAll(pulls));
    return writing;
  };
  services.onStop(write);
  return { add, write };
};

const counters = new WeakMap<Services["store"], PullCounter>();

export const countPull = ({ services, caller, nowMs, request }: ReadContext, { repo, tag, sha256 }: PulledManifest): void => {
  const counter = counters.get(services.store) ?? openPullCounter(services);
  counters.set(services.store, counter);
  const day = timestamp(nowMs).slice(0, 10);
  counter.add({ repo, tag, digest: sha256, caller: caller?.uid ?? "", day, count: request.head === true ? 0 : 1, lastMs: nowMs });
};

/** Resolves once every pull so far is written. */
export const finishPullCounts = async ({ store }: Pick<Services, "store">): Promise<void> => counters.get(store)?.write();
