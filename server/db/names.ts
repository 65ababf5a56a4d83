// Finds rows of a resource by name: exact, below parents, or by a part of it. Callers check that each row may be shown.

import { limits } from "#base/limits.ts";
import type { Read, StatementCost } from "./handle.ts";
import type { Branch } from "./list.ts";
import { containingPattern } from "./search-text.ts";

export interface NamedRows {
  readonly uids: readonly string[];
  /** There may be more. */
  readonly isCut: boolean;
}

const costOf = (rows: number): StatementCost => ({ rows, wide: true });

/** The organizations of the branches, and whether a row is in a branch, by binary search. $1 and $2 are the bounds. */
const roots = `(select left(low, 40) as root from unnest($1::text[]) as branch(low) where low <> ''
   union select root from access_versions where '' = any($1::text[])) as place`;
const isVisible = "uid < ($2::text[])[width_bucket(uid, $1::text[])]";

const boundsOf = (branches: readonly Branch[]): [string[], string[]] => [branches.map(({ low }) => low), branches.map(({ high }) => high)];

/**
 * Returns rows in the branches whose name starts with the query, then those that contain it. Each part stops after `limit` rows, and after
 * limits.searchedRowsMax matches in an organization.
 */
export const findByPartOfName = async (read: Read, table: string, branches: readonly Branch[], query: string, limit: number): Promise<NamedRows> => {
  if (branches.length === 0) return { uids: [], isCut: false };
  const part = (terms: string) => `(select found.uid from ${roots} cross join lateral (
     select matched.uid from (
       select uid from ${table} where left(uid, 40) = root and ${terms} limit ${limits.searchedRowsMax}) as matched
     where ${isVisible} limit $3) as found limit $3)`;
  const found = await read.query(
    `${part("name >= $4 and name < $5 order by name, uid")} union all ${part("lower(name) like $6")}`,
    [...boundsOf(branches), limit, query, `${query}\u{10ffff}`, containingPattern(query)],
    costOf(2 * limit),
  );
  return { uids: [...new Set(found.map(([uid]) => uid ?? ""))], isCut: found.length >= limit };
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
         select uid from ${table} where left(uid, 40) = root and digest >= $4 and digest < $5 order by digest, uid limit ${limits.searchedRowsMax}) as matched
       where ${isVisible} limit $3) as found limit $3`,
    [...boundsOf(branches), limit, digest, `${digest}~`],
    costOf(limit),
  );
  return found.map(([uid]) => uid ?? "");
};
