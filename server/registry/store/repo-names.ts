// Resolves paths of names to repositories and groups (docs/decisions/0068). A path leads to the same place for every caller, or to
// none: names that several groups have had since before names were unique lead nowhere, except to a verified organization.

import { columns, expression, flag, number, type Read, text } from "#db";

/** The repository of a path of names. */
export interface RepoByName {
  readonly uid: string;
  /** Everybody may pull from it. */
  readonly anonymousPull: boolean;
  readonly isSuspended: boolean;
}

/** The deepest group of a path of names. */
export interface NamedGroup {
  readonly uid: string;
  /** How many names of the path it takes. */
  readonly depth: number;
  /** Several groups have the next name of the path. */
  readonly isAmbiguous: boolean;
}

/**
 * The groups along a path, by $1, their names from the organization's on. A name that is reserved for another organization does not
 * resolve, even if a group has it since before names were unique.
 */
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

const namedRepo = columns<RepoByName>({
  uid: { ...text, sql: "repos.uid" },
  anonymousPull: { ...flag, sql: "repos.anonymous_pull" },
  isSuspended: { ...flag, sql: "coalesce(place.status = 'ORG_STATUS_SUSPENDED', false)" },
});

/** Returns the repository at `<organization>/<group…>/<repo>`, whoever asks; undefined if the path leads to none. */
export const findRepoByName = async (rows: Read, path: string): Promise<RepoByName | undefined> => {
  const groups = path.split("/");
  const name = groups.pop() ?? "";
  if (groups.length === 0) return undefined;
  return namedRepo.findOne(
    rows,
    `${places} select ${namedRepo.list} from place join repos on left(repos.uid, -17) = place.uid and repos.name collate "POSIX" = $2
     where place.depth = cardinality($1::text[])`,
    [groups, name],
  );
};

const namedGroup = columns<NamedGroup>({
  uid: text,
  depth: number,
  isAmbiguous: expression(
    `exists (select from groups as next where left(next.uid, -17) = place.uid and next.name collate "POSIX" = ($1::text[])[place.depth + 1])`,
    flag,
  ),
});

/** Returns the deepest group on a path of names, whoever asks; undefined if not even its organization resolves. */
export const findGroupByNames = (rows: Read, names: readonly string[]): Promise<NamedGroup | undefined> =>
  namedGroup.findOne(rows, `${places} select ${namedGroup.list} from place order by depth desc limit 1`, [names]);

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
