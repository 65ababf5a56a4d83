// Keys, digests and batch columns, shared by the writers of feed records.

import { hash } from "node:crypto";
import { columns, expression, number, type Write } from "#db";
import type { FeedRecord } from "./records.ts";

/** Returns 64 bits of a digest as 16 hex digits, for a uid segment. */
export const uidSegmentOf = (...parts: readonly string[]): string => hash("sha256", JSON.stringify(parts), "hex").slice(0, 16);

/** Derives a unique, stable uid from its parts. */
export const derivedUidOf = (...parts: readonly string[]): string => hash("sha256", JSON.stringify(parts), "hex").slice(0, 40);

export const textDigestOf = (text: string): string => hash("sha256", text, "base64url");

/** Returns a digest for change detection. */
export const recordDigestOf = (value: unknown): string => textDigestOf(JSON.stringify(value));

export const vulnerabilityKey = (id: string): string => uidSegmentOf(id);

const keys = new WeakMap<FeedRecord, string>();

/** Returns a record's identity in 16 characters; cached. */
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

/** Returns records by key; the last duplicate wins. */
export const lastByKey = <R extends FeedRecord>(records: readonly R[]): Map<string, R> => new Map(records.map((record) => [recordKey(record), record]));

/** Returns the keys (recordKey) that the source still asserts, of records with these names. Batched, since all do not fit in memory. */
export type FindAsserted = (keys: readonly string[], names: readonly string[]) => Promise<ReadonlySet<string>>;

export const columnOf = <R, V extends string | Uint8Array>(rows: readonly R[], value: (row: R) => V): V[] => rows.map(value);

/** Like columnOf, but a value that all rows share is sent once. The statement reads the column by `sharedOr`. */
export const sharedColumnOf = <R>(rows: readonly R[], value: (row: R) => string): string[] => {
  const values = rows.map(value);
  return values.every((each) => each === values[0]) ? values.slice(0, 1) : values;
};

/** A shorter list of `unnest` reads as null behind its end. */
export const sharedOr = (column: string, position: number): string => `coalesce(${column}, ($${position}::text[])[1])`;

/** Returns the text form of a list of text. */
export const arrayText = (values: readonly string[]): string => `{${values.map((value) => `"${value.replace(/[\\"]/g, "\\$&")}"`).join(",")}}`;

/** Rows per step when scanning a feed, which may have millions. */
export const stepRows = 10_000;

/** `fresh` marks inserted rows. */
export const writtenCounts = columns({
  new: expression("count(*) filter (where fresh)", number),
  changed: expression("count(*) filter (where not fresh)", number),
});

/** Tables to analyze: all, or those that have more than doubled since. */
export type Refreshed = "all" | "grown";

const refreshConditions: Readonly<Record<Refreshed, string>> = {
  all: "pg_relation_size(to_regclass($1)) > 0",
  grown: `exists (
    select from pg_class where oid = to_regclass($1) and relpages > 0
      and pg_relation_size(oid) > 2 * relpages * current_setting('block_size')::bigint)`,
};

/**
 * Flushes list indexes and updates planner statistics after an import. Skips empty tables: with statistics of zero
 * rows, the first import would scan the table for every row.
 */
export const refreshStatistics = async (rows: Write, table: string, refreshed: Refreshed): Promise<void> => {
  await rows.query(`select refresh_import_statistics($1) where ${refreshConditions[refreshed]}`, [table]);
};
