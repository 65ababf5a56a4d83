// Table tag_history: what tags pointed at, from when until when. A row is written with each change of a tag and goes with its repo, or
// a time after its end (GANTRY_TAG_HISTORY_DAYS); of a name the last limits.tagHistoryMax are kept.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, expression, periodRetention, type Read, type Retention, text, time, type Write } from "#db";

/** A digest that a tag pointed at. */
export interface TagHistoryEntry {
  readonly digest: string;
  /** When the tag was pointed at it. */
  readonly updateTime: string;
  /** When the tag was moved on, or deleted; "": it points there now. */
  readonly endTime: string;
}

const historyEntry = columns<TagHistoryEntry>({ digest: text, updateTime: time("start_time"), endTime: time("end_time") });

/**
 * Ends what the tag of this name pointed at, and begins what it points at from now on.
 * @param digest "": the tag is gone
 */
export const appendTagHistory = async (rows: Write, repo: string, name: string, digest: string, timeMs: number): Promise<void> => {
  await rows.query(
    `with ended as (
       update tag_history set end_time = greatest($4::timestamptz, start_time) where repo_uid = $1 and name = $2 and end_time is null
     ), trimmed as (
       delete from tag_history where id = any(array(select id from tag_history where repo_uid = $1 and name = $2 order by id desc offset $5))
     ) insert into tag_history (repo_uid, name, digest, start_time) select $1, $2, $3, $4::timestamptz where $3 <> ''`,
    [repo, name, digest, timestamp(timeMs), limits.tagHistoryMax - 1],
  );
};

/** What the tag of this name was pointed at between these times ("": no bound), the latest first. */
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

/** The name of a tag; undefined where there is none. */
export const findTagName = async (rows: Read, uid: string): Promise<string | undefined> =>
  (await tagName.findOne(rows, `select ${tagName.list} from tags where uid = $1`, [uid]))?.name;

/** What a tag points at now has no end. */
export const tagHistoryRetention: Retention = periodRetention("tagHistoryMs", { table: "tag_history", where: "end_time < $1", order: "end_time" });
