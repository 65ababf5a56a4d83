// Queues images to be read again. Running servers read them (image-indexing.ts).

import { missing } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { isUid } from "#base/uid.ts";
import { countImagesToQueue, type ImagesToQueue, queueImages } from "#advisories/store";
import type { Services } from "#kernel";
import { expireLayerContents, findRepoByName } from "#registry/store";

export interface IndexOptions {
  /** A repo's path of names, or its UID; undefined for all. */
  readonly repo: string | undefined;
  /** Only images that were last read before this time. */
  readonly readBeforeMs: number;
  readonly dryRun: boolean;
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
}

const findRepo = async ({ store }: Pick<Services, "store">, repo: string): Promise<string> => {
  if (isUid(repo)) return repo;
  const found = await findRepoByName(store.read, repo.replace(/^\//, ""));
  if (!found) throw missing("registry", "Repo", repo);
  return found.uid;
};

/** Queues images and returns their number. Each batch is a transaction, so that an interrupted run has queued what it counted. */
export const indexImages = async (services: Pick<Services, "store" | "clock">, options: IndexOptions): Promise<number> => {
  const { store, clock } = services;
  const images: ImagesToQueue = { repoUid: options.repo === undefined ? "" : await findRepo(services, options.repo), readBeforeMs: options.readBeforeMs };
  const total = await countImagesToQueue(store.read, images);
  if (options.dryRun) return total;
  let [queued, after] = [0, ""];
  for (;;) {
    const batch = await store.write(async (rows) => {
      const found = await queueImages(rows, images, after, clock(), limits.contentsRequeuedMax);
      await expireLayerContents(rows, found);
      return found;
    });
    if (batch.length === 0) return queued;
    queued += batch.length;
    after = batch.reduce((last, { uid }) => (uid > last ? uid : last), after);
    options.progress({ done: queued, total, what: "images" });
  }
};
