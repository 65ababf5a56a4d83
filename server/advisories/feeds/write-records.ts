// Writes records of any kind to their tables (records.ts).

import {
  addCounts,
  type FeedRecord,
  findPublicImages,
  type FindAsserted,
  noCounts,
  noOwnedCounts,
  type OwnedCounts,
  recordKey,
  recordOwner,
  type RecordOwner,
  type RecordTarget,
  refreshAdvisoryStatistics,
  type Refreshed,
  refreshFacetStatistics,
  refreshFactStatistics,
  refreshImageStatistics,
  refreshVulnerabilityStatistics,
  withdrawImages,
  withdrawUnassertedAdvisories,
  withdrawUnassertedVulnerabilities,
  writeAdvisories,
  type WriteCounts,
  writeImages,
  writeOrigins,
  writeVulnerabilities,
} from "#advisories/store";
import type { Write } from "#db";
import { withdrawLifecycles, writeLifecycles } from "#registry/store";
import { refreshLibraryStatistics, refreshVersionStatistics, withdrawLibraries, writeLibraries } from "#libraries/store";

type OfKind<K extends FeedRecord["kind"]> = Extract<FeedRecord, { readonly kind: K }>;

/** Images that this source made public remain public. */
const imagesByOwner = async (rows: Write, target: RecordTarget, records: readonly FeedRecord[]): Promise<[boolean, OfKind<"image">[]][]> => {
  const images = records.filter((record) => record.kind === "image");
  if (images.length === 0 || target.public !== undefined) return [[target.public === true, images]];
  const known = await findPublicImages(rows, target.feed, images);
  return [true, false].map((isPublic) => [isPublic, images.filter((image) => known.has(recordKey(image)) === isPublic)]);
};

/** Writes a batch. Unchanged records are not written; of duplicates the last wins. Facts are written separately (writeFacts). */
export const writeRecords = async (rows: Write, target: RecordTarget, records: readonly FeedRecord[]): Promise<OwnedCounts> => {
  const counts: Record<RecordOwner, WriteCounts> = { ...noOwnedCounts };
  const write = async <K extends FeedRecord["kind"]>(
    kind: K,
    writeBatch: (rows: Write, target: RecordTarget, batch: readonly OfKind<K>[]) => Promise<WriteCounts>,
  ): Promise<void> => {
    const batch = records.filter((record): record is OfKind<K> => record.kind === kind);
    const owner = recordOwner(kind, target);
    if (batch.length > 0) counts[owner] = addCounts(counts[owner], await writeBatch(rows, target, batch));
  };
  await write("advisory", writeAdvisories);
  await write("vulnerability", writeVulnerabilities);
  await write("library", writeLibraries);
  for (const [isPublic, images] of await imagesByOwner(rows, target, records)) {
    const owner = isPublic ? "everybody" : "group";
    if (images.length > 0) counts[owner] = addCounts(counts[owner], await writeImages(rows, { ...target, public: isPublic }, images));
  }
  await write("origin", writeOrigins);
  await write("lifecycle", writeLifecycles);
  return counts;
};

const findNone: FindAsserted = () => Promise.resolve(new Set());

/**
 * Withdraws records that a completely read source no longer has. For advisories and vulnerabilities, only those without a document, which
 * an earlier version wrote.
 * @param findAsserted returns those that the source still has
 * @returns withdrawn records by owner
 */
export const withdrawVanished = async (rows: Write, target: RecordTarget, kind: FeedRecord["kind"], findAsserted: FindAsserted): Promise<OwnedCounts> => {
  const withdrawnOf = (owner: RecordOwner, withdrawn: number): OwnedCounts => ({ ...noOwnedCounts, [owner]: { ...noCounts, withdrawn } });
  switch (kind) {
    case "advisory":
      return withdrawnOf("group", await withdrawUnassertedAdvisories(rows, target, findAsserted));
    case "vulnerability":
      return {
        group: { ...noCounts, withdrawn: await withdrawUnassertedVulnerabilities(rows, { ...target, public: false }, findAsserted) },
        everybody: { ...noCounts, withdrawn: await withdrawUnassertedVulnerabilities(rows, { ...target, public: true }, findAsserted) },
      };
    case "library":
      return withdrawnOf("everybody", await withdrawLibraries(rows, target, findAsserted));
    case "image":
      // After a change of visibility, images belong only to the new owner.
      return {
        group: { ...noCounts, withdrawn: await withdrawImages(rows, { ...target, public: false }, target.public === true ? findNone : findAsserted) },
        everybody: { ...noCounts, withdrawn: await withdrawImages(rows, { ...target, public: true }, target.public === false ? findNone : findAsserted) },
      };
    case "lifecycle":
      return withdrawnOf("group", await withdrawLifecycles(rows, target, findAsserted));
    // Package origins do not change.
    case "origin":
    // Facts have a row for each source (vulnerability-facts.ts).
    case "known exploit":
    case "exploit prediction":
      return noOwnedCounts;
  }
};

/**
 * Refreshes indexes and statistics after an import, and while a table grows: otherwise each batch would read the whole table (measured:
 * an EPSS file into a table of 20 rows, 1.1 s for each 500 rows instead of 35 ms).
 */
export const refreshRecordStatistics = async (rows: Write, refreshed: Refreshed): Promise<void> => {
  await refreshAdvisoryStatistics(rows, refreshed);
  await refreshFacetStatistics(rows, refreshed);
  await refreshVulnerabilityStatistics(rows, refreshed);
  await refreshFactStatistics(rows, refreshed);
  await refreshImageStatistics(rows, refreshed);
  await refreshLibraryStatistics(rows, refreshed);
  await refreshVersionStatistics(rows, refreshed);
};
