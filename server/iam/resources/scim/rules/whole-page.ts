// Pages of lists with related rows: groups with members, users with groups.

import { limits } from "#base/limits.ts";

/**
 * Returns as many leading rows as fit with all their related rows, because clients take omitted ones as missing. The first row is
 * always returned, with as many as fit.
 * @param list returns the related rows of these rows, up to a maximum
 * @param ownerUid returns the uid of the row that a related row belongs to
 */
export const wholePage = async <Row extends { readonly uid: string }, Related>(
  found: readonly Row[],
  list: (owners: readonly Row[], most: number) => Promise<readonly Related[]>,
  ownerUid: (related: Related) => string,
): Promise<(readonly [row: Row, related: readonly Related[]])[]> => {
  const most = limits.scimMembersMax;
  const together = await list(found, most + 1);
  if (together.length <= most) {
    const related = Map.groupBy(together, ownerUid);
    return found.map((row) => [row, related.get(row.uid) ?? []]);
  }
  const page: (readonly [Row, readonly Related[]])[] = [];
  let left: number = most;
  for (const row of found) {
    const related = await list([row], left + 1);
    if (related.length > left && page.length > 0) break;
    page.push([row, related.slice(0, left)]);
    left = Math.max(0, left - related.length);
  }
  return page;
};
