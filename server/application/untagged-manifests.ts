// Deletes unused untagged manifests (GANTRY_REGISTRY_UNTAGGED_DAYS), like a request, with events. The same transaction deletes an
// index's images and an image's referrers if nothing else keeps them (docs/decisions/0039). Safe to run concurrently: each server
// skips locked rows.

import { limits } from "#base/limits.ts";
import { type ImportCall, type Kernel, runImport } from "#kernel";
import { findManifestsKeptBy, findUnusedManifests, lockUnusedManifest, type ManifestName } from "#registry/store";
import type { Write } from "#db";

/** Also deletes what only they kept. Returns the number deleted. */
const deleteUnused = async (call: ImportCall, rows: Write, names: readonly ManifestName[], sinceMs: number, nowMs: number): Promise<number> => {
  const waiting = [...names];
  let deleted = 0;
  for (let name = waiting.shift(); name !== undefined && deleted < limits.collectedManifests; name = waiting.shift()) {
    if (!(await lockUnusedManifest(rows, name, sinceMs))) continue;
    const [repo, digest] = name;
    // Each is checked too; the rest follows in the next walk.
    waiting.unshift(...(await findManifestsKeptBy(rows, name, limits.collectedManifests)));
    await call("gantry.registry.v1.DistributionService/DeleteManifest", { repo, digest }, nowMs);
    deleted++;
  }
  return deleted;
};

/** Walks through all manifests once and deletes those unused for `days`. `goOn` returning false ends the walk between batches. */
export const collectUntagged = async (kernel: Kernel, days: number, goOn: () => boolean = () => true): Promise<void> => {
  const { store, clock } = kernel.services;
  for (let last: ManifestName = ["", ""]; goOn(); ) {
    const nowMs = clock();
    const sinceMs = nowMs - days * 24 * 60 * 60 * 1000;
    const { unused, end } = await findUnusedManifests(store.read, last, sinceMs, limits.collectionPageRows);
    for (let from = 0; from < unused.length && goOn(); from += limits.collectedManifests) {
      const some = unused.slice(from, from + limits.collectedManifests);
      await runImport(kernel, `collection ${crypto.randomUUID()}`, (call, rows) => deleteUnused(call, rows, some, sinceMs, nowMs));
    }
    if (end === undefined) return;
    last = end;
  }
};

/** Walks periodically until stopped; never if `days` is undefined. */
export const startUntaggedCollection = (kernel: Kernel, days: number | undefined): { readonly stop: () => Promise<void> } => {
  let running: Promise<void> | undefined;
  let stopped = false;
  if (days === undefined) return { stop: async () => {} };
  const timer = setInterval(() => {
    running ??= collectUntagged(kernel, days, () => !stopped)
      .catch((cause: unknown) => kernel.services.log("manifests.untagged.failed", { cause }))
      .finally(() => {
        running = undefined;
      });
  }, limits.collectionMs);
  timer.unref();
  return {
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
};
