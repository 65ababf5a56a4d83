// Table changes_to_match: a queue of changes that are not yet matched with every organization's images. Triggers of the
// matched tables fill it, as do callers for changes that triggers miss. A row is deleted after all organizations are
// matched, so that the next import completes an interrupted one.

import { columns, text } from "./columns.ts";
import type { Read, Write } from "./handle.ts";

/** A change; without package and repo it covers the whole organization. */
export interface ChangeToMatch {
  readonly id: string;
  /** Empty for all organizations. */
  readonly root: string;
  /** The package whose advisories changed; empty if none. */
  readonly name: string;
  /** Group and repo whose images changed; empty if none. */
  readonly owner: string;
  readonly repo: string;
}

const changeToMatch = columns<ChangeToMatch>({ id: text, root: text, name: text, owner: text, repo: text });

/** Returns the oldest changes. `ofTags` selects only those that a tag created, moved or deleted outside an import. */
export const findChangesToMatch = (rows: Read, limit: number, ofTags = false): Promise<ChangeToMatch[]> =>
  // Two statements: with the condition as a parameter, the query plan always reads every change.
  changeToMatch.find(rows, `select ${changeToMatch.list} from changes_to_match ${ofTags ? "where of_tag" : ""} order by id limit $1`, [limit]);

/** Queues all images of an organization. `ofTags` marks it as a change of tags. */
export const addOrganizationToMatch = async (rows: Write, root: string, ofTags: boolean): Promise<void> => {
  await rows.query("insert into changes_to_match (root, of_tag) values ($1, $2)", [root, ofTags]);
};

/** Queues a package of an organization's own advisories, for matching before the next import. */
export const addPackageToMatch = async (rows: Write, root: string, name: string): Promise<void> => {
  await rows.query("insert into changes_to_match (root, name, of_tag) values ($1, $2, true)", [root, name]);
};

/** Queues advisories whose documents changed, since their rows may not have. */
export const addAdvisoriesToMatch = async (rows: Write, uids: readonly string[]): Promise<void> => {
  if (uids.length === 0) return;
  await rows.query(
    `insert into changes_to_match (root, name)
     select distinct case when public then '' else left(uid, 40) end, artifact_name from advisories where uid = any($1)`,
    [uids],
  );
};

/** Deletes matched changes. By ID, so that concurrent additions stay. */
export const deleteChangesToMatch = async (rows: Write, ids: readonly string[]): Promise<void> => {
  await rows.query("delete from changes_to_match where id = any($1::bigint[])", [ids]);
};
