// Records the platforms of a stored manifest and their sizes, for Images of the Registry domain. An image has its own; an index has
// those of its stored entries, at any nesting and in any order of pushes.

import { limits } from "#base/limits.ts";
import { findIndexesOf, findPlatformManifests, insertManifests, type ManifestFact, type StoredManifest } from "#registry/store";
import type { Write } from "#db";
import type { Platform, ReadManifest } from "./manifest.ts";

/** Adds the platforms to all indexes that list this manifest. */
const tellIndexes = async (
  rows: Write,
  repo: string,
  digests: readonly string[],
  facts: readonly Omit<ManifestFact, "indexDigest">[],
  depth: number,
): Promise<void> => {
  if (facts.length === 0 || depth > limits.indexNestingMax) return;
  const indexes = await findIndexesOf(rows, repo, digests);
  for (const indexDigest of indexes) {
    await insertManifests(
      rows,
      facts.map((fact) => ({ ...fact, indexDigest })),
    );
    await tellIndexes(rows, repo, [indexDigest], facts, depth + 1);
  }
};

/** Adds the platforms of a copied manifest to the indexes that listed it before it was there. */
export const tellIndexesOf = async (rows: Write, repo: string, { sha256, sha512 }: Pick<StoredManifest, "sha256" | "sha512">): Promise<void> =>
  tellIndexes(rows, repo, [sha256, sha512], await findPlatformManifests(rows, repo, [sha256]), 1);

export const writeImageFacts = async (
  rows: Write,
  repo: string,
  { sha256, sha512 }: Pick<StoredManifest, "sha256" | "sha512">,
  read: Pick<ReadManifest, "sizeBytes" | "listed">,
  platform: Platform | undefined,
  nowMs: number,
): Promise<void> => {
  const own: Omit<ManifestFact, "indexDigest">[] = platform
    ? [{ repo, digest: sha256, ...platform, sizeBytes: read.sizeBytes, createTime: new Date(nowMs).toISOString() }]
    : await findPlatformManifests(
        rows,
        repo,
        read.listed.map(({ digest }) => digest),
      );
  await insertManifests(
    rows,
    own.map((fact) => ({ ...fact, indexDigest: sha256 })),
  );
  await tellIndexes(rows, repo, [sha256, sha512], own, 1);
};
