// Table feed_days: how many records a source had on each of the last days, and how many were withdrawn. An import compares
// itself with them before it withdraws anything (server/advisories/feeds/withdrawal-guard.ts). At most one row for each day and source.

import { limits } from "#base/limits.ts";
import { columns, expression, number, type Read, type Write } from "#db";

export interface FeedHistory {
  /** The largest number of records within limits.feedBaselineDays. */
  readonly largest: number;
  /** Records withdrawn within limits.feedDropDays. */
  readonly withdrawn: number;
}

const history = columns<FeedHistory>({
  largest: expression("coalesce(max(records), 0)", number),
  withdrawn: expression("coalesce(sum(withdrawn) filter (where day > $2::date - $4::integer), 0)", number),
});

const dateText = (nowMs: number): string => new Date(nowMs).toISOString().slice(0, 10);

/** Returns what is known of the last days. */
export const findFeedHistory = async (rows: Read, feed: string, nowMs: number): Promise<FeedHistory> => {
  const found = await history.findOne(rows, `select ${history.list} from feed_days where feed_id = $1 and day > $2::date - $3::integer`, [
    feed,
    dateText(nowMs),
    limits.feedBaselineDays,
    limits.feedDropDays,
  ]);
  return found ?? { largest: 0, withdrawn: 0 };
};

/** Adds to the day: keeps the largest count, sums what was withdrawn. Deletes the days that no run compares with any more. */
export const noteFeedDay = async (rows: Write, feed: string, nowMs: number, { records, withdrawn }: { records: number; withdrawn: number }): Promise<void> => {
  await rows.query("delete from feed_days where feed_id = $1 and day <= $2::date - $3::integer", [feed, dateText(nowMs), limits.feedBaselineDays]);
  await rows.query(
    `insert into feed_days as held (feed_id, day, records, withdrawn) values ($1, $2::date, $3, $4)
     on conflict (feed_id, day) do update set records = greatest(held.records, excluded.records), withdrawn = held.withdrawn + excluded.withdrawn`,
    [feed, dateText(nowMs), records, withdrawn],
  );
};

/** Forgets the days before: a large withdrawal was accepted, and the next run compares with what is left. */
export const resetFeedDays = async (rows: Write, feed: string): Promise<void> => {
  await rows.query("delete from feed_days where feed_id = $1", [feed]);
};
