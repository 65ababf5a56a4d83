// Bytes that a repo, a group or an organization uses, and its quota.

import { missingCapability } from "#authz";
import { missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { rootOf } from "#base/uid.ts";
import { type Outcome, type ReadContext, resource } from "#kernel";
import { findStorageQuota, findUsedStorage } from "#registry/store";
import { isGroupOrRepo } from "./rules/group-or-repo.ts";

const getStorage = async ({ request, rows, rights }: ReadContext): Promise<Outcome> => {
  const uid = text(request, "uid");
  if (!(await isGroupOrRepo(rows, uid))) throw missing("registry", "Repo", uid);
  const organization = rootOf(uid);
  const mayList = missingCapability(rights, ["repo.list"], organization) === undefined;
  const [used, quota] = await Promise.all([findUsedStorage(rows, uid), mayList ? findStorageQuota(rows, organization) : undefined]);
  return { reply: { uid, ...used, ...(quota ? { organizationBytes: quota.usedBytes, quotaBytes: quota.quotaBytes } : {}) } };
};

export const storage = resource({
  service: "gantry.registry.v1.StorageService",
  message: "gantry.registry.v1.Storage",
  methods: { GetStorage: { reads: getStorage } },
});
