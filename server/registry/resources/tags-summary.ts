// Version 1's summary of tags and count of repos with a common source; its build reports are always empty.

import { messageNamed } from "#contract/catalog.ts";
import { messageInView } from "#contract/views.ts";
import { visiblePaths } from "#authz";
import { text } from "#base/json.ts";
import { boundOf, type Outcome, type ReadContext, resource } from "#kernel";
import { countReposOfSource, findTagsSummary } from "#registry/store";
import { findRow } from "#db";

const getRepoTagsSummary = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const id = text(request, "repoId");
  const leftOut = { referrers: request.excludeReferrers === true, dates: request.excludeDates === true, epochs: request.excludeEpochs === true };
  const { count, lastUpdated, latest, latestVersion } = await findTagsSummary(rows, id, leftOut);
  if (latest === "") return { reply: { id, tagCount: String(count) } };
  const tags = boundOf(context, "chainguard.platform.registry.v2.Tag");
  const held = await findRow(rows, tags.shape.table, latest);
  const latestTag = held && messageInView(messageNamed("chainguard.platform.registry.Tag"), tags.fact, tags.shape.read(held.row, held.offset));
  return { reply: { id, tagCount: String(count), lastUpdated, ...(latestTag ? { latestTag } : {}), ...(latestVersion === "" ? {} : { latestVersion }) } };
};

/** Counts only visible repos, so that the number reveals no others. */
const getRepoCountBySource = async ({ request, rows, rights }: ReadContext): Promise<Outcome> => ({
  reply: { count: String(await countReposOfSource(rows, text(request, "id"), visiblePaths(rights, ["repo.list"]))) },
});

export const tagsSummary = resource({
  service: "chainguard.platform.registry.Registry",
  message: "chainguard.platform.registry.RepoTagsSummary",
  methods: {
    GetRepoTagsSummary: { reads: getRepoTagsSummary },
    GetRepoCountBySource: { reads: getRepoCountBySource },
    // Gantry builds nothing.
    ListBuildReports: { reads: async () => ({ reply: { reports: [] } }) },
  },
});
