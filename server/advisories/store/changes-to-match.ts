// Table changes_to_match: changes not yet matched with every organization's images. Triggers fill it, as do callers for
// changes that triggers miss. A row is deleted after all organizations, so that the next import completes an
// interrupted one.

import { columns, flag, type Read, type RowOf, text, type Write } from "#db";

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

const isAnyExpired = columns({ found: flag });

/** Returns whether a decision about a finding has expired, and the finding was not matched since. */
export const isDecisionExpired = async (rows: Read, nowMs: number): Promise<boolean> =>
  (await isAnyExpired.findOne(rows, "select true as found from affected_images where decided_until <= $1 limit 1", [new Date(nowMs).toISOString()])) !==
  undefined;

/** Queues the findings of expired decisions that are not queued yet. */
export const addExpiredToMatch = async (rows: Write, nowMs: number): Promise<void> => {
  await rows.query(
    `insert into changes_to_match (root, name, of_tag)
     select root, name, true from (
       select distinct left(affected.uid, 40) as root, artifact_name as name from affected_images as affected
       join advisories as advisory on advisory.uid = affected.advisory_uid where affected.decided_until <= $1) as expired
     where not exists (select from changes_to_match as queued where queued.of_tag and queued.root = expired.root and queued.name = expired.name)`,
    [new Date(nowMs).toISOString()],
  );
};

/** By ID, so that concurrent additions stay. */
export const deleteChangesToMatch = async (rows: Write, ids: readonly string[]): Promise<void> => {
  await rows.query("delete from changes_to_match where id = any($1::bigint[])", [ids]);
};
