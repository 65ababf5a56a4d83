// What the writers of feed records share: keys, digests, columns of a batch.

import { hash } from "node:crypto";
import { columns, expression, number, type Write } from "#db";
import type { FeedRecord } from "./records.ts";

/** 64 bits of a digest as 16 hex characters: a segment of a uid. */
export const uidSegmentOf = (...parts: readonly string[]): string => hash("sha256", JSON.stringify(parts), "hex").slice(0, 16);

/** The uid of what has none of its own: always the same for the same parts, and no other's. */
export const derivedUidOf = (...parts: readonly string[]): string => hash("sha256", JSON.stringify(parts), "hex").slice(0, 40);

/** Shows whether what is stored says the same. */
export const recordDigestOf = (value: unknown): string => hash("sha256", JSON.stringify(value), "base64url");

export const vulnerabilityKey = (id: string): string => uidSegmentOf(id);

const keys = new WeakMap<FeedRecord, string>();

/** What makes two records the same one, in 16 characters: what is remembered of all that a source tells. Computed once for each record. */
export const recordKey = (record: FeedRecord): string => {
  const known = keys.get(record);
  if (known !== undefined) return known;
  const key = computeRecordKey(record);
  keys.set(record, key);
  return key;
};

const computeRecordKey = (record: FeedRecord): string => {
  switch (record.kind) {
    case "advisory":
      return uidSegmentOf(record.key);
    case "vulnerability":
      return vulnerabilityKey(record.id);
    case "known exploit":
    case "exploit prediction":
      return uidSegmentOf(record.kind, record.id);
    case "library":
      return uidSegmentOf(record.ecosystem, record.name);
    case "image":
      return uidSegmentOf(record.repo, record.tag, record.architecture);
    case "origin":
      return uidSegmentOf(record.name);
    case "lifecycle":
      return uidSegmentOf(record.product);
  }
};

/** The records by key, with the last of those that are the same one. */
export const lastByKey = <R extends FeedRecord>(records: readonly R[]): Map<string, R> => new Map(records.map((record) => [recordKey(record), record]));

/** Which of these keys (recordKey) the source still tells: all that it tells is never held in memory. */
export type FindTold = (keys: readonly string[]) => Promise<ReadonlySet<string>>;

/** One column of a batch. */
export const columnOf = <R>(rows: readonly R[], value: (row: R) => string): string[] => rows.map(value);

/** A feed's rows are looked through in steps: it may hold millions. */
export const stepRows = 10_000;

/** What a statement says of the rows that it wrote: each has `fresh`, whether there was none of its key before. */
export const writtenCounts = columns({
  new: expression("count(*) filter (where fresh)", number),
  changed: expression("count(*) filter (where not fresh)", number),
});

/** Which tables learn of their rows: all, or within an import those that are more than twice as large as when they last did. */
export type Refreshed = "all" | "grown";

const refreshConditions: Readonly<Record<Refreshed, string>> = {
  all: "pg_relation_size(to_regclass($1)) > 0",
  grown: `exists (
    select from pg_class where oid = to_regclass($1) and relpages > 0
      and pg_relation_size(oid) > 2 * relpages * current_setting('block_size')::bigint)`,
};

/**
 * Behind an import: what the indexes of lists have put off is put in, and the planner learns of the table's new rows. Not of
 * a table that has none: its first import would look for each of its rows by reading all that it has written.
 */
export const refreshStatistics = async (rows: Write, table: string, refreshed: Refreshed): Promise<void> => {
  await rows.query(`select refresh_import_statistics($1) where ${refreshConditions[refreshed]}`, [table]);
};
