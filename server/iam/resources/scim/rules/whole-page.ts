// Pages of a list whose entries show rows of another table: groups their members, users their groups.

import { limits } from "#base/limits.ts";

/**
 * As many of these rows, from the first on, as one answer shows with all that belongs to them: a reader takes what is not shown for what
 * is not there. The first one comes always, with as much as an answer shows.
 * @param list what belongs to these rows, so many at most
 * @param ownerUid the uid of the row that something belongs to
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
