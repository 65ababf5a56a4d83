// Whose records somebody sees besides what is public: as places, and as the sources that were imported there. For statements
// about what scanners read; lists of the API have their own way (list.ts).

import { columns, type Read, text } from "#db";

/** What lies at or below one of these paths; sorted, and none lies below another. */
export interface Places {
  readonly lows: readonly string[];
  /** Behind everything of the place. */
  readonly highs: readonly string[];
}

export interface PrivateRecords {
  readonly places: Places;
  /** Sources of advisories there. */
  readonly feeds: readonly string[];
}

const feedId = columns({ id: text });

/** The private records of these paths, of which none lies below another; undefined where there are none. */
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
