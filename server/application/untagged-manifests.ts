// Manifests that no tag names and nobody uses, where the operator wants them to go (GANTRY_REGISTRY_UNTAGGED_DAYS). What is deleted is
// deleted as a request deletes it, with its event; what it alone has kept goes in the same transaction: the images of an index, and what
// refers to an image (docs/decisions/0038). Any number of servers may do it at once: each takes what nobody else holds.

import { limits } from "#base/limits.ts";
import { type ImportCall, type Kernel, runImport } from "#kernel";
import { findManifestsKeptBy, findUnusedManifests, lockUnusedManifest, type ManifestName } from "#registry/store";
import type { Write } from "#db";

/** Deletes these where still nobody uses them, and what they alone have kept; returns how many went. */
const deleteUnused = async (call: ImportCall, rows: Write, names: readonly ManifestName[], sinceMs: number, nowMs: number): Promise<number> => {
  const waiting = [...names];
  let deleted = 0;
  for (let name = waiting.shift(); name !== undefined && deleted < limits.collectedManifests; name = waiting.shift()) {
    if (!(await lockUnusedManifest(rows, name, sinceMs))) continue;
    const [repo, digest] = name;
    // Whether these are still needed is asked of each; what does not fit into this transaction goes with the next walk.
    waiting.unshift(...(await findManifestsKeptBy(rows, name, limits.collectedManifests)));
    await call("gantry.registry.v1.DistributionService/DeleteManifest", { repo, digest }, nowMs);
    deleted++;
  }
  return deleted;
};

/** One walk through all manifests: deletes those that nobody has used for so many days. `goOn`: false ends it between two pieces. */
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

/** Walks from time to time, until it is stopped. `days` undefined: never. */
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
