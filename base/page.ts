// A page of a list: what is asked for and what is found, the same for every list, whoever reads its rows.

import type { JsonObject } from "./json.ts";

export interface Order {
  /** A column, which is the field's proto name. */
  readonly column: string;
  readonly descending: boolean;
}

export interface PageRequest {
  readonly order: Order;
  /** The key of the last record of the page before: its position in the order. Undefined: this is the first page. */
  readonly after: readonly string[] | undefined;
  readonly skip: number;
  /** Rows to read: one more than the page holds, which tells whether there is a next one. */
  readonly limit: number;
  /** The total as the first page counted it; undefined where it is to be counted. */
  readonly total: number | undefined;
}

export interface Page {
  readonly records: readonly JsonObject[];
  readonly total: number;
  /** The key of the last record, where there is a next page. */
  readonly next: readonly string[] | undefined;
}

/** A record and its position in the list's order. */
export interface KeyedRecord {
  readonly key: readonly string[];
  readonly record: JsonObject;
}

/** The page of up to `limit` rows as they were read. */
export const pageOf = ({ limit }: PageRequest, rows: readonly KeyedRecord[], total: number): Page => {
  const kept = rows.slice(0, limit - 1);
  return { records: kept.map(({ record }) => record), total, next: rows.length >= limit ? kept.at(-1)?.key : undefined };
};
