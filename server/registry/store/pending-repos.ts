// Table pending_repos: paths that are pushed to and have no repository yet (docs/decisions/0069). Triggers move the content to a new
// repository, or delete it.

import { timestamp } from "#base/time.ts";
import { columns, nullableText, type Read, type RowOf, text, type Write } from "#db";

export type PendingRepo = RowOf<typeof pendingRepo>;

const pendingRepo = columns({ uid: text, groupUid: text, path: text });
const lockedRepo = columns<PendingRepo & { readonly repoUid: string | undefined }>({ uid: text, groupUid: text, path: text, repoUid: nullableText });

/**
 * Returns the pending rows of a path, highest group first. There are several if a group was created between two pushes. Rows of other
 * groups with the same path are not returned.
 */
export const findPendingRepos = (rows: Read, path: string, group: string): Promise<PendingRepo[]> =>
  pendingRepo.find(
    rows,
    `select ${pendingRepo.list} from pending_repos
     where path = $1 and repo_uid is null and ($2 = group_uid or starts_with($2, group_uid || '/')) order by length(group_uid)`,
    [path, group],
  );

/** Returns the repository that a path has become; undefined if it is still pending or has expired. */
export const findAdoptingRepo = async (rows: Read, uid: string): Promise<string | undefined> =>
  (await rows.query("select repo_uid from pending_repos where uid = $1", [uid]))[0]?.[0] ?? undefined;

/** Prevents expiry until the transaction ends; returns undefined if it has expired. */
export const lockPendingRepo = (rows: Write, uid: string): Promise<(PendingRepo & { readonly repoUid: string | undefined }) | undefined> =>
  lockedRepo.findOne(rows, `select ${lockedRepo.list} from pending_repos where uid = $1 for key share`, [uid]);

export const countPendingRepos = async (rows: Read, organization: string): Promise<number> => {
  const [row] = await rows.query(
    "select count(*) from pending_repos where repo_uid is null and (group_uid = $1 or (group_uid > $1 || '/' and group_uid < $1 || '0'))",
    [organization],
  );
  return Number(row?.[0] ?? 0);
};

export const insertPendingRepo = async (rows: Write, { uid, groupUid, path }: PendingRepo, nowMs: number): Promise<void> => {
  await rows.query("insert into pending_repos (uid, group_uid, path, create_time, update_time) values ($1, $2, $3, $4, $4)", [
    uid,
    groupUid,
    path,
    timestamp(nowMs),
  ]);
};

/** Records use unless recorded after `unlessSinceMs`, so that parallel uploads do not wait for each other. */
export const usePendingRepo = async (rows: Write, uid: string, nowMs: number, unlessSinceMs: number): Promise<void> => {
  await rows.query("update pending_repos set update_time = $2 where uid = $1 and update_time < $3", [uid, timestamp(nowMs), timestamp(unlessSinceMs)]);
};

const isExpired = `update_time < $2 and not exists (
  select from uploads where uploads.repo_uid = pending_repos.uid and holder <> '' and hold_time >= $1)`;

/** Deletes unused rows with their blobs and uploads. Returns the number of pending ones, and whether there may be more. */
export const deleteStalePendingRepos = async (
  rows: Write,
  nowMs: number,
  beforeMs: number,
  count: number,
): Promise<{ readonly pending: number; readonly more: boolean }> => {
  const gone = await rows.query(
    `delete from pending_repos where uid = any(array(
       select uid from pending_repos where ${isExpired} order by update_time limit $3 for update skip locked)) returning repo_uid is null`,
    [timestamp(nowMs), timestamp(beforeMs), count],
  );
  return { pending: gone.filter(([isPending]) => isPending === "t").length, more: gone.length === count };
};

export const countStalePendingRepos = async (rows: Read, nowMs: number, beforeMs: number): Promise<number> => {
  const [row] = await rows.query(`select count(*) from pending_repos where repo_uid is null and ${isExpired}`, [timestamp(nowMs), timestamp(beforeMs)]);
  return Number(row?.[0] ?? 0);
};
