// The sync status of a repo. Gantry does not copy images, so it is always empty. Version 1 only.

import { missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { type Outcome, type ReadContext, resource } from "#kernel";
import { findRows } from "#db";

const getSyncStatus = async ({ request, rows }: ReadContext): Promise<Outcome> => {
  const repo = text(request, "repoId");
  const [found] = await findRows(rows, { name: "repos", columns: ["uid"] }, [repo]);
  if (!found) throw missing("registry", "Repo", repo);
  return { reply: {} };
};

export const syncStatus = resource({
  service: "chainguard.platform.registry.Registry",
  message: "chainguard.platform.registry.SyncStatus",
  methods: {
    GetSyncStatus: { reads: getSyncStatus },
    ListSyncStatuses: { reads: async () => ({ reply: { items: [] } }) },
  },
});
