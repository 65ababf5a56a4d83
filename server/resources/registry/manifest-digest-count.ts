// How many manifests the repos of a place have. Version 1's own.

import { ManifestDigestCountSchema, Registry } from "#contract/gen/chainguard/platform/registry/registry_pb.js";
import { text } from "#base/json.ts";
import { type Outcome, type ReadContext, resource } from "#kernel";
import { countManifestDigests } from "#store";

const getCount = async ({ request, rows }: ReadContext): Promise<Outcome> => ({
  reply: { count: String(await countManifestDigests(rows, text(request, "parentId"))) },
});

export const manifestDigestCount = resource({
  service: Registry,
  message: ManifestDigestCountSchema,
  methods: { GetManifestDigestCount: { reads: getCount } },
});
