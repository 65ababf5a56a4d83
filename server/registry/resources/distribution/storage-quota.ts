// The error of a push over the organization's storage quota. Triggers count bytes exactly when a repo gets a blob, each content once
// per organization.

import { Fault, quotaExceeded } from "#base/fault.ts";
import { rootOf } from "#base/uid.ts";
import { exceededQuota, findSpentStorage, type Read, requireUnspentStorage, type Write } from "#db";

const storageFault = (organization: string, quota: number): Fault =>
  quotaExceeded(
    `the organization ${organization} has reached its limit of ${quota} bytes (quota blob-bytes): ` +
      "delete images (their layers are removed within a day), expunge deleted repos, or ask the operator of the server to raise it with gantry admin quota",
    `organization:${organization}`,
    `blob-bytes: at most ${quota} in one organization`,
    "blob-bytes",
  );

/** Throws RESOURCE_EXHAUSTED if the quota of `place`'s organization is used up, before more bytes are sent. */
export const requireStorage = async (rows: Read, place: string): Promise<void> => {
  const spent = await findSpentStorage(rows, rootOf(place));
  if (spent !== undefined) throw storageFault(rootOf(place), spent);
};

/** The transaction fails with `spent` if the quota is used up. Does not wait. */
export const requireStorageAtOnce = (rows: Write, place: string, spent: () => unknown): void => requireUnspentStorage(rows, rootOf(place), spent);

/** Returns how to name an exceeded quota of a statement that adds a blob to a repo; then also runs `letGo`. */
export const storageFaultOf =
  (repo: string, letGo: () => void) =>
  (fault: Fault): Fault => {
    const exceeded = exceededQuota(fault);
    if (!exceeded) return fault;
    letGo();
    return storageFault(rootOf(repo), exceeded.value);
  };

/** Runs statements that add blobs to a repo. If the quota is exceeded, throws RESOURCE_EXHAUSTED. */
export const namingStorageQuota = async <T>(repo: string, given: Promise<T>): Promise<T> => {
  try {
    return await given;
  } catch (thrown) {
    throw thrown instanceof Fault ? storageFaultOf(repo, () => {})(thrown) : thrown;
  }
};
