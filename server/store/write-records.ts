// Records of any kind into their tables (records.ts).

import { refreshAdvisoryStatistics, withdrawAdvisories, writeAdvisories } from "./advisories.ts";
import { refreshFacetStatistics } from "./advisory-facets.ts";
import { addCounts, noCounts, type OwnedCounts, type RecordOwner, recordOwner } from "./feed-counts.ts";
import type { Write } from "./handle.ts";
import { refreshImageStatistics, withdrawImages, writeImages } from "./image-packages.ts";
import { refreshLibraryStatistics, withdrawLibraries, writeLibraries } from "./library-artifacts.ts";
import { refreshVersionStatistics } from "./library-versions.ts";
import { writeOrigins } from "./package-origins.ts";
import type { FeedRecord, RecordTarget, WriteCounts } from "./records.ts";
import { deleteVanishedFacts, refreshFactStatistics, writeExploitPredictions, writeKnownExploits } from "./vulnerability-facts.ts";
import { refreshVulnerabilityStatistics, withdrawVulnerabilities, writeVulnerabilities } from "./vulnerabilities.ts";

type OfKind<K extends FeedRecord["kind"]> = Extract<FeedRecord, { readonly kind: K }>;

/**
 * Writes a batch (best some hundred to a thousand) in the transaction of `rows`. What is stored and says the same is not
 * written. Of records that are the same one the last counts.
 */
export const writeRecords = async (rows: Write, target: RecordTarget, records: readonly FeedRecord[]): Promise<OwnedCounts> => {
  const counts: Record<RecordOwner, WriteCounts> = { group: noCounts, everybody: noCounts };
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
  await write("known exploit", writeKnownExploits);
  await write("exploit prediction", writeExploitPredictions);
  await write("library", writeLibraries);
  await write("image", writeImages);
  await write("origin", writeOrigins);
  return counts;
};

/**
 * Behind a source that was read to its end: what it told earlier and no longer tells is withdrawn, never deleted.
 * @param isKnown whether the source still tells the record of this key (recordKey)
 * @returns how many were withdrawn
 */
export const withdrawVanished = async (rows: Write, target: RecordTarget, kind: FeedRecord["kind"], isKnown: (key: string) => boolean): Promise<number> => {
  switch (kind) {
    case "advisory":
      return withdrawAdvisories(rows, target, isKnown);
    case "vulnerability":
      return (await withdrawVulnerabilities(rows, target, isKnown)) + (await deleteVanishedFacts(rows, target, isKnown));
    case "library":
      return withdrawLibraries(rows, target, isKnown);
    case "image":
      return withdrawImages(rows, target, isKnown);
    // Which package was built from which stays true.
    case "origin":
    // Facts go with the vulnerabilities, whose imports they are.
    case "known exploit":
    case "exploit prediction":
      return 0;
  }
};

/** Behind an import: indexes take in what they have put off, and the planner learns of the new rows. */
export const refreshRecordStatistics = async (rows: Write): Promise<void> => {
  await refreshAdvisoryStatistics(rows);
  await refreshFacetStatistics(rows);
  await refreshVulnerabilityStatistics(rows);
  await refreshFactStatistics(rows);
  await refreshImageStatistics(rows);
  await refreshLibraryStatistics(rows);
  await refreshVersionStatistics(rows);
};
