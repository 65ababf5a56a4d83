// Repos and groups by their paths of names. Names of groups need not be unique: one path may lead to several places, and the
// caller says which of them are to be seen.

import { columns, flag, number, text } from "./columns.ts";
import type { Read } from "./handle.ts";

/** A repo that a path of names leads to. */
export interface NamedRepo {
  readonly uid: string;
  /** Its organization's name is a domain that it has shown to be its own. */
  readonly isVerified: boolean;
  /** Everybody may pull from it. */
  readonly anonymousPull: boolean;
  readonly isSuspended: boolean;
}

/** A group that the beginning of a path of names leads to. */
export interface NamedGroup {
  readonly uid: string;
  readonly isVerified: boolean;
  /** How many names of the path it takes. */
  readonly depth: number;
}

/** More places than these have one path only where somebody makes them so. */
const namedMax = 100;

// $1: the names of groups, the organization's first; $2: the organizations that count; null: all.
const places = `with recursive place(uid, depth, verified, status) as (
    select uid, 1, verified, status from groups where length(uid) = 40 and name = ($1::text[])[1] and ($2::text[] is null or uid = any($2))
    union all
    select below.uid, place.depth + 1, place.verified, place.status from place
    join groups as below on left(below.uid, -17) = place.uid and below.name collate "POSIX" = ($1::text[])[place.depth + 1]
    where place.depth < cardinality($1::text[])
  )`;

const namedRepo = columns<NamedRepo>({
  uid: { ...text, sql: "repos.uid" },
  isVerified: { ...flag, sql: "place.verified" },
  anonymousPull: { ...flag, sql: "repos.anonymous_pull" },
  isSuspended: { ...flag, sql: "coalesce(place.status = 'ORG_STATUS_SUSPENDED', false)" },
});

/**
 * The repos of this name in groups of these names.
 * @param organizations their uids; undefined: in any
 */
export const findReposByNames = (rows: Read, organizations: readonly string[] | undefined, groups: readonly string[], name: string): Promise<NamedRepo[]> =>
  namedRepo.find(
    rows,
    `${places} select ${namedRepo.list} from place join repos on left(repos.uid, -17) = place.uid and repos.name collate "POSIX" = $3
     where place.depth = cardinality($1::text[]) order by repos.uid limit ${namedMax}`,
    [groups, organizations ?? null, name],
  );

const namedGroup = columns<NamedGroup>({ uid: text, isVerified: { ...flag, sql: "verified" }, depth: number });

/** The groups that begin a path of these names, the deepest first. */
export const findGroupsByNames = (rows: Read, organizations: readonly string[] | undefined, groups: readonly string[]): Promise<NamedGroup[]> =>
  namedGroup.find(rows, `${places} select ${namedGroup.list} from place order by depth desc, uid limit ${namedMax}`, [groups, organizations ?? null]);

const openRepo = columns({
  anonymousPull: flag,
  isSuspended: { ...flag, sql: "coalesce((select status = 'ORG_STATUS_SUSPENDED' from groups where uid = left($1, 40)), false)" },
});

/** Whether everybody may pull from the repo; undefined where there is none. */
export const findRepoOpenness = (rows: Read, uid: string): Promise<{ anonymousPull: boolean; isSuspended: boolean } | undefined> =>
  openRepo.findOne(rows, `select ${openRepo.list} from repos where uid = $1`, [uid]);

/** The names of repos, by uid. */
export const findRepoNames = async (rows: Read, uids: readonly string[]): Promise<Map<string, string>> =>
  new Map((await rows.query("select uid, name from repos where uid = any($1)", [uids])).map(([uid, name]) => [uid ?? "", name ?? ""]));
