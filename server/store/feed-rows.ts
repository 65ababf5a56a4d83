// What the writers of feed records share: keys, digests, columns of a batch, tallies.

import { hash } from "node:crypto";
import type { FeedRecord, Written } from "./records.ts";

/** 64 bits of a digest as 16 hex characters: a segment of a uid. */
export const segmentOf = (...parts: readonly string[]): string => hash("sha256", JSON.stringify(parts), "hex").slice(0, 16);

/** Tells whether what is stored says the same. */
export const digestOf = (value: unknown): string => hash("sha256", JSON.stringify(value), "base64url");

/** What makes two records the same one, in 16 characters: what a source's run remembers of all that it has seen. */
export const recordKey = (record: FeedRecord): string => {
  switch (record.kind) {
    case "advisory":
      return segmentOf(record.key);
    case "vulnerability":
      return segmentOf(record.id);
    case "library":
      return segmentOf(record.ecosystem, record.name);
    case "image":
      return segmentOf(record.repo, record.tag, record.architecture);
    case "origin":
      return segmentOf(record.name);
  }
};

/** The records with the last of those that are the same one. */
export const lastOfEach = <R extends FeedRecord>(records: readonly R[]): Map<string, R> => new Map(records.map((record) => [recordKey(record), record]));

/** One column of a batch. */
export const column = <R>(rows: readonly R[], of: (row: R) => string): string[] => rows.map(of);

/** A feed's rows are looked through in steps: it may hold millions. */
export const stepRows = 10_000;

export const nothing: Written = { new: 0, changed: 0, withdrawn: 0, unchanged: 0 };

export const sum = (one: Written, other: Written): Written => ({
  new: one.new + other.new,
  changed: one.changed + other.changed,
  withdrawn: one.withdrawn + other.withdrawn,
  unchanged: one.unchanged + other.unchanged,
});
