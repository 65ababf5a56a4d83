// The manifest of one platform behind a digest: an image's own, or of an index the one for an architecture.

import { Fault, missing } from "#base/fault.ts";
import { findManifestByDigest, findPlatformManifests } from "#registry/store";
import type { Read } from "#db";

const defaultArchitecture = "amd64";

/** The image that is meant, by sha256; undefined where the repo has nothing of this digest, or not for this architecture. */
export const findPlatformDigest = async (rows: Read, repo: string, digest: string, architecture: string): Promise<string | undefined> => {
  const platforms = await findPlatformManifests(rows, repo, [digest]);
  // Of an image, what it is for need not be said.
  const own = platforms.find((platform) => platform.digest === digest);
  if (own && (architecture === "" || own.architecture === architecture)) return digest;
  const wanted = architecture || defaultArchitecture;
  const fitting = platforms.filter((platform) => platform.architecture === wanted);
  const found = fitting.find(({ variant }) => variant === "") ?? fitting[0];
  if (found) return found.digest;
  // What says no platform, such as a chart, is for all.
  return platforms.length === 0 && architecture === "" && (await findManifestByDigest(rows, repo, digest)) ? digest : undefined;
};

export const noSuchImage = (digest: string, architecture: string): Fault =>
  architecture === ""
    ? missing("registry", "Image", digest)
    : new Fault("NOT_FOUND", `Image ${JSON.stringify(digest)} has no architecture ${JSON.stringify(architecture)}`, {
        details: [{ kind: "resource", domain: "registry", resource: "Image", name: digest }],
      });
