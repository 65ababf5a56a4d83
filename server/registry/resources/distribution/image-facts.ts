// What the Images of the Registry domain say of a stored manifest: its platforms, and how large each is. An image has its own;
// an index has those of what it lists, as far as that is here, however it nests and in whichever order it was pushed.

import { findIndexesOf, findPlatformManifests, insertManifests, type ManifestFact, type StoredManifest } from "#registry/store";
import type { Write } from "#db";
import type { Platform, ReadManifest } from "./manifest.ts";

/** The deepest index in an index in an index that is followed. */
const nestingMax = 8;

/** Tells the indexes that list this manifest what is behind it. */
const tellIndexes = async (
  rows: Write,
  repo: string,
  digests: readonly string[],
  facts: readonly Omit<ManifestFact, "indexDigest">[],
  depth: number,
): Promise<void> => {
  if (facts.length === 0 || depth > nestingMax) return;
  const indexes = await findIndexesOf(rows, repo, digests);
  for (const indexDigest of indexes) {
    await insertManifests(
      rows,
      facts.map((fact) => ({ ...fact, indexDigest })),
    );
    await tellIndexes(rows, repo, [indexDigest], facts, depth + 1);
  }
};

/** Writes down what is behind a manifest that has been stored. */
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
