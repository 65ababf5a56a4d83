// Table tag_history: digests that tags pointed to. At most limits.tagHistoryMax are kept for a name, for GANTRY_TAG_HISTORY_DAYS after their end.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, expression, periodRetention, type Read, type Retention, type RowOf, text, time, type Write } from "#db";

export type TagHistoryEntry = RowOf<typeof historyEntry>;

const historyEntry = columns({
  digest: text,
  updateTime: time("start_time"),
  /** "" if it still points there. */
  endTime: time("end_time"),
});

/**
 * Ends the current entry of a tag and starts a new one. Does not wait.
 * @param digest "" if the tag was deleted
 */
export const appendTagHistory = (rows: Write, repo: string, name: string, digest: string, timeMs: number): void => {
  rows.send(
    `with ended as (
       update tag_history set end_time = greatest($4::timestamptz, start_time) where repo_uid = $1 and name = $2 and end_time is null
     ), trimmed as (
       delete from tag_history where id = any(array(select id from tag_history where repo_uid = $1 and name = $2 order by id desc offset $5))
     ) insert into tag_history (repo_uid, name, digest, start_time) select $1, $2, $3, $4::timestamptz where $3 <> ''`,
    [repo, name, digest, timestamp(timeMs), limits.tagHistoryMax - 1],
  );
};

/** Returns entries that start between these times ("" for no bound), latest first. */
export const findTagHistory = (rows: Read, repo: string, name: string, start: string, end: string): Promise<TagHistoryEntry[]> =>
  historyEntry.find(
    rows,
    `select ${historyEntry.list} from tag_history where repo_uid = $1 and name = $2
       and ($3 = '' or start_time >= nullif($3, '')::timestamptz) and ($4 = '' or start_time <= nullif($4, '')::timestamptz)
     order by id desc limit $5`,
    [repo, name, start, end, limits.tagHistoryMax],
    { rows: limits.tagHistoryMax, wide: false },
  );

const tagName = columns({ name: expression("name", text) });

export const findTagName = async (rows: Read, uid: string): Promise<string | undefined> =>
  (await tagName.findOne(rows, `select ${tagName.list} from tags where uid = $1`, [uid]))?.name;

/** Current entries have no end. */
export const tagHistoryRetention: Retention = periodRetention("tagHistoryMs", { table: "tag_history", where: "end_time < $1", order: "end_time" });
