// Resolves paths of names (docs/decisions/0002), with the same result for every caller. A name that several groups share from before
// names were unique resolves only to a verified organization.

import { columns, expression, flag, number, type Read, requireRow, type RowOf, text, type Write } from "#db";

export type RepoByName = RowOf<typeof namedRepo>;

export type NamedGroup = RowOf<typeof namedGroup>;

/** The groups along $1. A name reserved for another organization does not resolve. */
const places = `with recursive place(uid, depth, status) as (
    select uid, 1, status from groups as root
    where length(uid) = 40 and name = ($1::text[])[1]
      and (verified or not exists (select from groups as other where length(other.uid) = 40 and other.name = root.name and other.uid <> root.uid))
      and not exists (
        select from group_names as reserved
        where reserved.parent = '' and reserved.skeleton = group_name_skeleton(root.name) and reserved.name = root.name
          and not reserved.held and reserved.group_uid <> root.uid
      )
    union all
    select below.uid, place.depth + 1, place.status from place
    join groups as below on left(below.uid, -17) = place.uid and below.name collate "POSIX" = ($1::text[])[place.depth + 1]
    where place.depth < cardinality($1::text[]) and not exists (
      select from groups as other
      where left(other.uid, -17) = place.uid and other.name collate "POSIX" = ($1::text[])[place.depth + 1] and other.uid <> below.uid
    )
  )`;

const namedRepo = columns({
  uid: { ...text, sql: "repos.uid" },
  anonymousPull: { ...flag, sql: "repos.anonymous_pull" },
  isSuspended: { ...flag, sql: "coalesce(place.status = 'ORG_STATUS_SUSPENDED', false)" },
});

/** Returns the repository at `<organization>/<group…>/<repo>`; undefined if there is none. */
export const findRepoByName = async (rows: Read, path: string): Promise<RepoByName | undefined> => {
  const groups = path.split("/");
  const name = groups.pop() ?? "";
  if (groups.length === 0) return undefined;
  return namedRepo.findShared(
    rows,
    `${places} select ${namedRepo.list} from place join repos on left(repos.uid, -17) = place.uid and repos.name collate "POSIX" = $2
     where place.depth = cardinality($1::text[])`,
    [groups, name],
  );
};

const isNamed = `${places} select from place join repos on left(repos.uid, -17) = place.uid and repos.name collate "POSIX" = $2
  where place.depth = cardinality($1::text[]) and repos.uid = $3`;

/** The transaction fails with `absent` unless the path leads to the repo, which is locked against deletion if `locked`. Does not wait. */
export const requireRepoByName = (rows: Write, path: string, uid: string, locked: boolean, absent: () => unknown): void => {
  const groups = path.split("/");
  const name = groups.pop() ?? "";
  requireRow(rows, locked ? `${isNamed} for key share of repos` : isNamed, [groups, name, uid], absent);
};

const namedGroup = columns({
  uid: text,
  /** Names of the path that it covers. */
  depth: number,
  isAmbiguous: expression(
    `exists (select from groups as next where left(next.uid, -17) = place.uid and next.name collate "POSIX" = ($1::text[])[place.depth + 1])`,
    flag,
  ),
});

/** Returns the deepest group on a path; undefined if not even the organization resolves. */
export const findGroupByNames = (rows: Read, names: readonly string[]): Promise<NamedGroup | undefined> =>
  namedGroup.findOne(rows, `${places} select ${namedGroup.list} from place order by depth desc limit 1`, [names]);

/** Returns the names of groups by uid, without those that do not lead to the group on a path. */
export const findGroupNames = async (rows: Read, uids: readonly string[]): Promise<Map<string, string>> => {
  if (uids.length === 0) return new Map();
  const found = await rows.query(
    `with shared as (select name from groups where length(uid) = 40 group by name having count(*) > 1)
     select uid, name from groups as named where uid = any($1) and case when length(uid) = 40
       then (verified or name not in (select name from shared))
         and not exists (
           select from group_names as reserved
           where reserved.parent = '' and reserved.skeleton = group_name_skeleton(named.name) and reserved.name = named.name
             and not reserved.held and reserved.group_uid <> named.uid)
       else not exists (
         select from groups as other
         where left(other.uid, -17) = left(named.uid, -17) and other.name collate "POSIX" = named.name and other.uid <> named.uid) end`,
    [uids],
    { rows: uids.length, wide: false },
  );
  return new Map(found.map(([uid, name]) => [uid ?? "", name ?? ""]));
};

const openRepo = columns({
  anonymousPull: flag,
  isSuspended: { ...flag, sql: "coalesce((select status = 'ORG_STATUS_SUSPENDED' from groups where uid = left($1, 40)), false)" },
});

/** Returns undefined if there is no such repo. */
export const findRepoOpenness = (rows: Read, uid: string): Promise<{ anonymousPull: boolean; isSuspended: boolean } | undefined> =>
  openRepo.findOne(rows, `select ${openRepo.list} from repos where uid = $1`, [uid]);

export const findRepoNames = async (rows: Read, uids: readonly string[]): Promise<Map<string, string>> =>
  new Map((await rows.query("select uid, name from repos where uid = any($1)", [uids])).map(([uid, name]) => [uid ?? "", name ?? ""]));
