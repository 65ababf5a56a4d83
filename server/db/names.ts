// Finds rows of a resource by name: exact, below parents, or by a part of it. Callers check that each row may be shown.

import { limits } from "#base/limits.ts";
import type { Read, StatementCost } from "./handle.ts";
import type { Branch } from "./list.ts";
import { containingPattern } from "./search-text.ts";

const costOf = (rows: number): StatementCost => ({ rows, wide: true });

/** The organizations of the branches, and whether a row is in a branch, by binary search. $1 and $2 are the bounds. */
const roots = `(select left(low, 40) as root from unnest($1::text[]) as branch(low) where low <> ''
   union select root from access_versions where '' = any($1::text[])) as place`;
const isVisible = "uid < ($2::text[])[width_bucket(uid, $1::text[])]";

const boundsOf = (branches: readonly Branch[]): [string[], string[]] => [branches.map(({ low }) => low), branches.map(({ high }) => high)];

/**
 * Returns rows in the branches whose name starts with the query, and if these are fewer than `limit`, rows that contain it. A part of names
 * that is in many is in one of the first, where the index of names finds it; the trigram index would first collect all of them.
 */
export const findByPartOfName = async (read: Read, table: string, branches: readonly Branch[], query: string, limit: number): Promise<readonly string[]> => {
  if (branches.length === 0) return [];
  const part = (terms: string, rest = "") => `select found.uid from ${roots} cross join lateral (
     select matched.uid from (select uid, name from ${table} where left(uid, 40) = root ${terms} offset 0) as matched
     where ${isVisible} ${rest} limit $3) as found limit $3`;
  const notFirst = "and not (name >= $4 and name < $5)";
  const found = await read.query(
    `with started as materialized (${part("and name >= $4 and name < $5 order by name, uid")}),
       near as materialized (${part(`order by name, uid limit ${limits.searchedFirstRows}`, `and lower(name) like $6 ${notFirst}`)}),
       far as materialized (${part("and lower(name) like $6 and (select count(*) from started) + (select count(*) from near) < $3", notFirst)})
     select uid from started union all select uid from near union all select uid from far`,
    [...boundsOf(branches), limit, query, `${query}\u{10ffff}`, containingPattern(query)],
    costOf(3 * limit),
  );
  return [...new Set(found.map(([uid]) => uid ?? ""))];
};

/** Returns rows in the branches with this name. */
export const findByName = async (read: Read, table: string, branches: readonly Branch[], name: string, limit: number): Promise<readonly string[]> => {
  if (branches.length === 0) return [];
  const found = await read.query(
    `select found.uid from ${roots} cross join lateral (
       select uid from ${table} where left(uid, 40) = root and name = $4 and ${isVisible} limit $3) as found limit $3`,
    [...boundsOf(branches), limit, name],
    costOf(limit),
  );
  return found.map(([uid]) => uid ?? "");
};

/** Returns rows below any of the parents with this name. */
export const findChildrenByName = async (read: Read, table: string, parents: readonly string[], name: string, limit: number): Promise<readonly string[]> => {
  if (parents.length === 0) return [];
  const found = await read.query(
    `select child.uid from unnest($1::text[]) as given(parent) cross join lateral (
       select uid from ${table} where left(uid, -17) = parent and name collate "POSIX" = $2 limit $3) as child limit $3`,
    [parents, name, limit],
    { rows: limit, wide: false },
  );
  return found.map(([uid]) => uid ?? "");
};

/** Returns tags in the branches whose digest starts with this text. */
export const findByDigest = async (read: Read, table: string, branches: readonly Branch[], digest: string, limit: number): Promise<readonly string[]> => {
  if (branches.length === 0) return [];
  const found = await read.query(
    `select found.uid from ${roots} cross join lateral (
       select matched.uid from (
         select uid from ${table} where left(uid, 40) = root and digest >= $4 and digest < $5 order by digest, uid offset 0) as matched
       where ${isVisible} limit $3) as found limit $3`,
    [...boundsOf(branches), limit, digest, `${digest}~`],
    costOf(limit),
  );
  return found.map(([uid]) => uid ?? "");
};
