// Pages of lists that are computed as a whole.

import type { JsonObject } from "#base/json.ts";
import { type Page, pageOf, type PageRequest } from "#base/page.ts";

export interface Sortable {
  /** Unique in the list. Its first text is the column that the list is ordered by. */
  readonly key: readonly string[];
}

/** Compares by code units, so that the order is the same on every server. */
const compareKeys = (one: readonly string[], other: readonly string[]): number => {
  for (const [index, text] of one.entries()) {
    const against = other[index] ?? "";
    if (text !== against) return text < against ? -1 : 1;
  }
  return 0;
};

/** Returns a page of `all` in the order of their keys. */
export const pageOfAll = <Entry extends Sortable>(page: PageRequest, all: readonly Entry[], toRecord: (entry: Entry) => JsonObject): Page => {
  const { order, after, skip, limit } = page;
  const direction = order.descending ? -1 : 1;
  const sorted = all.toSorted((one, other) => direction * compareKeys(one.key, other.key));
  const next = after === undefined ? 0 : sorted.findIndex(({ key }) => direction * compareKeys(key, after) > 0);
  const shown = next === -1 ? [] : sorted.slice(next + skip, next + skip + limit);
  return pageOf(
    page,
    shown.map((entry) => ({ key: entry.key, record: toRecord(entry) })),
    all.length,
  );
};
