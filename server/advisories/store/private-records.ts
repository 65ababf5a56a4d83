// Private records that a caller can see. For statements about scanner data; API lists use list.ts.

import { columns, type Read, text } from "#db";

/** Sorted and disjoint subtrees. */
export interface Places {
  readonly lows: readonly string[];
  /** Upper bounds. */
  readonly highs: readonly string[];
}

export interface PrivateRecords {
  readonly places: Places;
  readonly feeds: readonly string[];
}

const feedId = columns({ id: text });

/** Returns undefined if there are no paths. */
export const findPrivateRecords = async (rows: Read, paths: readonly string[]): Promise<PrivateRecords | undefined> => {
  if (paths.length === 0) return undefined;
  const lows = [...paths].sort();
  const places = { lows, highs: lows.map((path) => (path === "" ? "~" : `${path}0`)) };
  const found = await feedId.find(
    rows,
    `select ${feedId.list} from unnest($1::text[], $2::text[]) as place(low, high)
     cross join lateral (select id from feeds where kind = 'advisories' and group_uid >= low and group_uid < high offset 0) as feed`,
    [places.lows, places.highs],
  );
  return { places, feeds: found.map(({ id }) => id) };
};
