// Which records a caller can see besides public ones. For statements about feeds and scanner data; API lists use list.ts.

import { columns, type Param, type Read, text } from "#db";

/** Sorted and disjoint subtrees. */
export interface Places {
  readonly lows: readonly string[];
  /** Upper bounds. */
  readonly highs: readonly string[];
}

/** Public records, or also the private ones in these subtrees and from the sources there. */
export type Visibility = "public" | { readonly places: Places; readonly feeds: readonly string[] };

export interface Reader {
  readonly read: Read;
  readonly visibility: Visibility;
}

export const publicReader = (read: Read): Reader => ({ read, visibility: "public" });

/** Returns the subtrees of paths, none of which contains another. */
export const placesAt = (paths: readonly string[]): Places => {
  const lows = [...paths].sort();
  return { lows, highs: lows.map((path) => (path === "" ? "~" : `${path}0`)) };
};

const feedId = columns({ id: text });

/** Returns a reader of public records, and of the private records at and below these paths, none of which contains another. */
export const openReader = async (read: Read, paths: readonly string[]): Promise<Reader> => {
  if (paths.length === 0) return publicReader(read);
  const places = placesAt(paths);
  const found = await feedId.find(
    read,
    `select ${feedId.list} from unnest($1::text[], $2::text[]) as place(low, high)
     cross join lateral (select id from feeds where kind = 'advisories' and group_uid >= low and group_uid < high offset 0) as feed`,
    [places.lows, places.highs],
  );
  return { read, visibility: { places, feeds: found.map(({ id }) => id) } };
};

/** One part of the visible records: its predicate, and the predicate's parameters. */
export interface Part {
  readonly isPublic: boolean;
  readonly terms: string;
  readonly values: readonly Param[];
}

/** Selects the organizations of the subtrees in parameter `lows`. */
export const rootsOf = (lows: string): string => `
  select left(low, 40) from unnest(${lows}::text[]) as place(low) where low <> '' union select root from access_versions where '' = any(${lows}::text[])`;

/** Selects uids in the subtrees: a binary search for the nearest preceding one. */
export const isWithin = (lows: string, highs: string): string => `uid < (${highs}::text[])[width_bucket(uid, ${lows}::text[])]`;

/**
 * Returns the predicates of the visible advisories. Each part is a statement of its own, and private rows are found by organization, so
 * that no statement reads those of other organizations (attack 116). The values follow `before` other parameters.
 */
export const partsOf = (visibility: Visibility, before: number): Part[] => {
  const parts: Part[] = [{ isPublic: true, terms: "public", values: [] }];
  if (visibility === "public") return parts;
  const [lows, highs] = [`$${before + 1}`, `$${before + 2}`];
  const terms = `not public and left(uid, 40) in (${rootsOf(lows)}) and ${isWithin(lows, highs)}`;
  return [...parts, { isPublic: false, terms, values: [visibility.places.lows, visibility.places.highs] }];
};
