// Records of any kind into their tables (records.ts).

import { withdrawAdvisories, writeAdvisories } from "./advisories.ts";
import { nothing, sum } from "./feed-rows.ts";
import type { Write } from "./handle.ts";
import { withdrawImages, writeImages, writeOrigins } from "./image-packages.ts";
import { withdrawLibraries, writeLibraries } from "./library-records.ts";
import type { FeedRecord, RecordTarget, Written } from "./records.ts";
import { withdrawVulnerabilities, writeVulnerabilities } from "./vulnerabilities.ts";

type OfKind<K extends FeedRecord["kind"]> = Extract<FeedRecord, { readonly kind: K }>;

/**
 * Writes a batch (best some hundred to a thousand) in the transaction of `rows`. What is there and says the same is not
 * written. Of records that are the same one the last counts.
 */
export const writeRecords = async (rows: Write, target: RecordTarget, records: readonly FeedRecord[]): Promise<Written> => {
  const of = <K extends FeedRecord["kind"]>(kind: K): OfKind<K>[] => records.filter((record): record is OfKind<K> => record.kind === kind);
  let written = nothing;
  const add = async <R>(batch: readonly R[], write: (rows: Write, target: RecordTarget, batch: readonly R[]) => Promise<Written>): Promise<void> => {
    if (batch.length > 0) written = sum(written, await write(rows, target, batch));
  };
  await add(of("advisory"), writeAdvisories);
  await add(of("vulnerability"), writeVulnerabilities);
  await add(of("library"), writeLibraries);
  await add(of("image"), writeImages);
  await add(of("origin"), writeOrigins);
  return written;
};

/**
 * Behind a source that was read whole: what it told earlier and no longer tells is withdrawn, never deleted.
 * @param seen whether this run has had the record of this key (recordKey)
 * @returns how many were withdrawn
 */
export const withdrawVanished = async (rows: Write, target: RecordTarget, kind: FeedRecord["kind"], seen: (key: string) => boolean): Promise<number> => {
  switch (kind) {
    case "advisory":
      return withdrawAdvisories(rows, target, seen);
    case "vulnerability":
      return withdrawVulnerabilities(rows, target, seen);
    case "library":
      return withdrawLibraries(rows, target, seen);
    case "image":
      return withdrawImages(rows, target, seen);
    // Which package was built from which stays true.
    case "origin":
      return 0;
  }
};

/** Behind an import: what the indexes of substrings have put off is put in, and the planner learns of the new rows. */
export const settleRecords = async (rows: Write): Promise<void> => {
  for (const index of ["advisories_by_aliases", "advisories_by_search", "library_artifacts_by_search"]) {
    await rows.query(`select gin_clean_pending_list('${index}')`);
  }
  for (const table of ["advisories", "advisory_facets", "vulnerabilities", "image_packages", "library_artifacts", "library_versions"]) {
    await rows.query(`analyze ${table}`);
  }
};
