// What a push is answered where its organization may have no more bytes. They are counted when a repo is given a blob, exactly and
// across servers, by triggers (store/migrations/0016_registry.sql): a content once for all repos of the organization.

import { type Fault, quotaExceeded } from "#base/fault.ts";
import { rootOf } from "#base/uid.ts";
import { exceededQuota, findSpentStorage, type Read } from "#db";

const storageFault = (organization: string, quota: number): Fault =>
  quotaExceeded(
    `the organization ${organization} has reached its limit of ${quota} bytes (quota blob-bytes): ` +
      "delete images (their layers are removed within a day), expunge deleted repos, or ask the operator of the server to raise it with gantry admin quota",
    `organization:${organization}`,
    `blob-bytes: at most ${quota} in one organization`,
    "blob-bytes",
  );

/** Throws RESOURCE_EXHAUSTED where the organization of `place` has used up its bytes: before any more are sent. */
export const requireStorage = async (rows: Read, place: string): Promise<void> => {
  const spent = await findSpentStorage(rows, rootOf(place));
  if (spent !== undefined) throw storageFault(rootOf(place), spent);
};

/** Runs the statements that give a repo a blob. Throws RESOURCE_EXHAUSTED where the organization may have no more bytes, and lets go of what was sent. */
export const namingStorageQuota = async <T>(repo: string, given: Promise<T>, letGo: () => void): Promise<T> => {
  try {
    return await given;
  } catch (thrown) {
    const exceeded = exceededQuota(thrown);
    if (!exceeded) throw thrown;
    letGo();
    throw storageFault(rootOf(repo), exceeded.value);
  }
};
