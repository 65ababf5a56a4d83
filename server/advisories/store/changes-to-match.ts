// Table changes_to_match: what imports have changed and no organization's images were matched with yet. Written by triggers
// of the tables that are matched and by whoever changes what these do not see; a row is deleted when every organization was
// matched with it, so that an import that is cut off is made up for by the next one.

import { columns, type Read, text, type Write } from "#db";

/** With neither a package nor a repo: everything of the organization. */
export interface ChangeToMatch {
  readonly id: string;
  /** "" for all organizations. */
  readonly root: string;
  /** Package of advisories that changed; "" for none. */
  readonly name: string;
  /** Group and repo whose images changed; "" for none. */
  readonly owner: string;
  readonly repo: string;
}

const changeToMatch = columns<ChangeToMatch>({ id: text, root: text, name: text, owner: text, repo: text });

/** Some of the changes, the oldest first. `ofTags`: only those that a tag made by itself, made, moved or deleted outside of an import. */
export const findChangesToMatch = (rows: Read, limit: number, ofTags = false): Promise<ChangeToMatch[]> =>
  // Two statements: the plan of one with a parameter in place of the condition reads every change in both cases.
  changeToMatch.find(rows, `select ${changeToMatch.list} from changes_to_match ${ofTags ? "where of_tag" : ""} order by id limit $1`, [limit]);

/** All images of an organization are to be matched with everything. `ofTags`: with those of tags. */
export const addOrganizationToMatch = async (rows: Write, root: string, ofTags: boolean): Promise<void> => {
  await rows.query("insert into changes_to_match (root, of_tag) values ($1, $2)", [root, ofTags]);
};

/** What an organization's own advisories say of this package is to be matched now, and not only behind the next import. */
export const addPackageToMatch = async (rows: Write, root: string, name: string): Promise<void> => {
  await rows.query("insert into changes_to_match (root, name, of_tag) values ($1, $2, true)", [root, name]);
};

/** What these advisories say is to be matched: their documents changed, and their rows perhaps not. */
export const addAdvisoriesToMatch = async (rows: Write, uids: readonly string[]): Promise<void> => {
  if (uids.length === 0) return;
  await rows.query(
    `insert into changes_to_match (root, name)
     select distinct case when public then '' else left(uid, 40) end, artifact_name from advisories where uid = any($1)`,
    [uids],
  );
};

/** Every organization was matched with these. Others that were written meanwhile stay, whatever their numbers. */
export const deleteChangesToMatch = async (rows: Write, ids: readonly string[]): Promise<void> => {
  await rows.query("delete from changes_to_match where id = any($1::bigint[])", [ids]);
};
