// Counts the manifests in repos below a path. Version 1 only.

import { text } from "#base/json.ts";
import { type Outcome, type ReadContext, resource } from "#kernel";
import { countManifestDigests } from "#registry/store";

const getCount = async ({ request, rows }: ReadContext): Promise<Outcome> => ({
  reply: { count: String(await countManifestDigests(rows, text(request, "parentId"))) },
});

export const manifestDigestCount = resource({
  service: "chainguard.platform.registry.Registry",
  message: "chainguard.platform.registry.ManifestDigestCount",
  methods: { GetManifestDigestCount: { reads: getCount } },
});
