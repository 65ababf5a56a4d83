// Table feed_days: a source's daily counts of records and withdrawals, which an import compares itself with before it
// withdraws records (server/advisories/feeds/withdrawal-guard.ts).

import { limits } from "#base/limits.ts";
import { columns, expression, number, type Read, type RowOf, type Write } from "#db";

export type FeedHistory = RowOf<typeof history>;

const history = columns({
  /** The largest number of records within limits.feedBaselineDays. */
  largest: expression("coalesce(max(records), 0)", number),
  /** Records withdrawn within limits.feedDropDays. */
  withdrawn: expression("coalesce(sum(withdrawn) filter (where day > $2::date - $4::integer), 0)", number),
});

const dateText = (nowMs: number): string => new Date(nowMs).toISOString().slice(0, 10);

export const findFeedHistory = async (rows: Read, feed: string, nowMs: number): Promise<FeedHistory> => {
  const found = await history.findOne(rows, `select ${history.list} from feed_days where feed_id = $1 and day > $2::date - $3::integer`, [
    feed,
    dateText(nowMs),
    limits.feedBaselineDays,
    limits.feedDropDays,
  ]);
  return found ?? { largest: 0, withdrawn: 0 };
};

/** Keeps the day's largest count, adds withdrawals, and deletes days outside the baseline. */
export const noteFeedDay = async (rows: Write, feed: string, nowMs: number, { records, withdrawn }: { records: number; withdrawn: number }): Promise<void> => {
  await rows.query("delete from feed_days where feed_id = $1 and day <= $2::date - $3::integer", [feed, dateText(nowMs), limits.feedBaselineDays]);
  await rows.query(
    `insert into feed_days as held (feed_id, day, records, withdrawn) values ($1, $2::date, $3, $4)
     on conflict (feed_id, day) do update set records = greatest(held.records, excluded.records), withdrawn = held.withdrawn + excluded.withdrawn`,
    [feed, dateText(nowMs), records, withdrawn],
  );
};

/** After an accepted withdrawal, the next run starts a new baseline. */
export const resetFeedDays = async (rows: Write, feed: string): Promise<void> => {
  await rows.query("delete from feed_days where feed_id = $1", [feed]);
};
