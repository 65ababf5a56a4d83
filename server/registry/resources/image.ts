// Architectures and sizes of an image, by digest.

import { Fault, missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { type Outcome, type ReadContext, resource } from "#kernel";
import { findManifests, type Manifest } from "#registry/store";

const defaultArchitecture = "amd64";

const manifestsOf = async ({ request, rows }: ReadContext): Promise<[Manifest, ...Manifest[]]> => {
  const digest = text(request, "digest");
  const [first, ...others] = await findManifests(rows, text(request, "repoUid"), digest);
  if (!first) throw missing("registry", "Image", digest);
  return [first, ...others];
};

const getArchitectures = async (context: ReadContext): Promise<Outcome> => ({
  reply: { architectures: [...new Set((await manifestsOf(context)).map(({ architecture }) => architecture))].sort() },
});

const getSize = async (context: ReadContext): Promise<Outcome> => {
  const architecture = text(context.request, "architecture") || defaultArchitecture;
  const digest = text(context.request, "digest");
  const found = (await manifestsOf(context)).find((manifest) => manifest.architecture === architecture);
  if (!found) {
    throw new Fault("NOT_FOUND", `Image ${JSON.stringify(digest)} has no architecture ${JSON.stringify(architecture)}`, {
      details: [{ kind: "resource", domain: "registry", resource: "Image", name: digest }],
    });
  }
  return { reply: { size: found.sizeBytes, architecture } };
};

export const image = resource({
  service: "chainguard.platform.registry.v2.ImagesService",
  message: "chainguard.platform.registry.v2.Architectures",
  methods: { GetArchitectures: { reads: getArchitectures }, GetSize: { reads: getSize } },
});
