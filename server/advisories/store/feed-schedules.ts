// Table feed_schedules: due times and leases of recurring imports, one row per feed of GANTRY_FEEDS.

import { columns, number, type Read, type Write } from "#db";

/** Acquires the lease; false if not due or leased. A dead server's lease expires. */
export const claimFeed = async (rows: Write, schedule: string, holder: string, now: string, leaseUntil: string): Promise<boolean> => {
  await rows.query("insert into feed_schedules (schedule, next_time, failures) values ($1, $2, 0) on conflict do nothing", [schedule, now]);
  const claimed = await rows.query(
    `update feed_schedules set lease_holder = $2, lease_until = $4
     where schedule = $1 and next_time <= $3 and (lease_until is null or lease_until <= $3 or lease_holder = $2) returning 1`,
    [schedule, holder, now, leaseUntil],
  );
  return claimed.length > 0;
};

/** Returns false if another server holds the lease. */
export const renewFeed = async (rows: Write, schedule: string, holder: string, leaseUntil: string): Promise<boolean> =>
  (await rows.query("update feed_schedules set lease_until = $3 where schedule = $1 and lease_holder = $2 returning 1", [schedule, holder, leaseUntil]))
    .length > 0;

const failed = columns({ failures: number });

export const countFeedFailures = async (rows: Read, schedule: string): Promise<number> => {
  const found = await failed.findOne(rows, `select ${failed.list} from feed_schedules where schedule = $1`, [schedule]);
  return found?.failures ?? 0;
};

/** Records outcome and next due time. */
export const releaseFeed = async (
  rows: Write,
  schedule: string,
  holder: string,
  outcome: { readonly nextTime: string; readonly failures: number; readonly lastTime: string; readonly lastOutcome: string },
): Promise<void> => {
  await rows.query(
    `update feed_schedules set next_time = $3, failures = $4, last_time = $5, last_outcome = $6, lease_holder = null, lease_until = null
     where schedule = $1 and lease_holder = $2`,
    [schedule, holder, outcome.nextTime, outcome.failures, outcome.lastTime, outcome.lastOutcome],
  );
};
