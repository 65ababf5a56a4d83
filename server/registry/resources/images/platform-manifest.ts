// Resolves a digest and architecture to a platform's manifest: an image itself, or an entry of an index.

import { Fault, missing } from "#base/fault.ts";
import { findManifestByDigest, findPlatformManifests } from "#registry/store";
import type { Read } from "#db";

const defaultArchitecture = "amd64";

/** Returns the image's sha256; undefined if the repo does not have the digest, or not for this architecture. */
export const findPlatformDigest = async (rows: Read, repo: string, digest: string, architecture: string): Promise<string | undefined> => {
  const platforms = await findPlatformManifests(rows, repo, [digest]);
  // For an image, the architecture is optional.
  const own = platforms.find((platform) => platform.digest === digest);
  if (own && (architecture === "" || own.architecture === architecture)) return digest;
  const wanted = architecture || defaultArchitecture;
  const fitting = platforms.filter((platform) => platform.architecture === wanted);
  const found = fitting.find(({ variant }) => variant === "") ?? fitting[0];
  if (found) return found.digest;
  // A manifest without a platform, such as a chart, fits all.
  return platforms.length === 0 && architecture === "" && (await findManifestByDigest(rows, repo, digest)) ? digest : undefined;
};

export const noSuchImage = (digest: string, architecture: string): Fault =>
  architecture === ""
    ? missing("registry", "Image", digest)
    : new Fault("NOT_FOUND", `Image ${JSON.stringify(digest)} has no architecture ${JSON.stringify(architecture)}`, {
        details: [{ kind: "resource", domain: "registry", resource: "Image", name: digest }],
      });
