// Table changes_to_match: changes not yet matched with every organization's images. Triggers fill it, as do callers for
// changes that triggers miss. A row is deleted after all organizations, so that the next import completes an
// interrupted one.

import { columns, type Read, type RowOf, text, type Write } from "#db";

/** Without package and repo: the whole organization. */
export type ChangeToMatch = RowOf<typeof changeToMatch>;

const changeToMatch = columns({
  id: text,
  /** Empty for all. */
  root: text,
  /** A package with changed advisories; or empty. */
  name: text,
  /** A repo with changed images; or empty. */
  owner: text,
  repo: text,
});

/** Oldest first. `ofTags` selects changes by tags outside an import. */
export const findChangesToMatch = (rows: Read, limit: number, ofTags = false): Promise<ChangeToMatch[]> =>
  // With the condition as a parameter, the query plan reads every change.
  changeToMatch.find(rows, `select ${changeToMatch.list} from changes_to_match ${ofTags ? "where of_tag" : ""} order by id limit $1`, [limit]);

/** `ofTags` marks a change of tags. */
export const addOrganizationToMatch = async (rows: Write, root: string, ofTags: boolean): Promise<void> => {
  await rows.query("insert into changes_to_match (root, of_tag) values ($1, $2)", [root, ofTags]);
};

/** For matching before the next import. */
export const addPackageToMatch = async (rows: Write, root: string, name: string): Promise<void> => {
  await rows.query("insert into changes_to_match (root, name, of_tag) values ($1, $2, true)", [root, name]);
};

/** Needed if documents changed, since their rows may not have. */
export const addAdvisoriesToMatch = async (rows: Write, uids: readonly string[]): Promise<void> => {
  if (uids.length === 0) return;
  await rows.query(
    `insert into changes_to_match (root, name)
     select distinct case when public then '' else left(uid, 40) end, artifact_name from advisories where uid = any($1)`,
    [uids],
  );
};

/** By ID, so that concurrent additions stay. */
export const deleteChangesToMatch = async (rows: Write, ids: readonly string[]): Promise<void> => {
  await rows.query("delete from changes_to_match where id = any($1::bigint[])", [ids]);
};
