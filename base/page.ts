// The request and the result of one page of any list.

import type { JsonObject } from "./json.ts";

export interface Order {
  /** A column, named as the proto field. */
  readonly column: string;
  readonly descending: boolean;
}

export interface PageRequest {
  readonly order: Order;
  /** The key of the previous page's last record; undefined for the first page. */
  readonly after: readonly string[] | undefined;
  readonly skip: number;
  /** Rows to read: one more than the page holds, to detect a next page. */
  readonly limit: number;
  /** The total that the first page counted; undefined if it has yet to be counted. */
  readonly total: number | undefined;
}

export interface Page {
  readonly records: readonly JsonObject[];
  readonly total: number;
  /** The key of the last record if there is a next page. */
  readonly next: readonly string[] | undefined;
}

/** A record and its position in the order of the list. */
export interface KeyedRecord {
  readonly key: readonly string[];
  readonly record: JsonObject;
}

export const pageOf = ({ limit }: PageRequest, rows: readonly KeyedRecord[], total: number): Page => {
  const kept = rows.slice(0, limit - 1);
  return { records: kept.map(({ record }) => record), total, next: rows.length >= limit ? kept.at(-1)?.key : undefined };
};
