// Table feed_schedules: when an import that servers repeat is due, and which of them holds its turn. One row for each feed
// of GANTRY_FEEDS, kept for good.

import { columns, number, type Read, type Write } from "#db";

/**
 * Takes a feed's turn: only one of all servers gets it, when it is due and nobody holds it. A server that dies gives its
 * turn back when the lease ends.
 */
export const claimFeed = async (rows: Write, schedule: string, holder: string, now: string, leaseUntil: string): Promise<boolean> => {
  await rows.query("insert into feed_schedules (schedule, next_time, failures) values ($1, $2, 0) on conflict do nothing", [schedule, now]);
  const claimed = await rows.query(
    `update feed_schedules set lease_holder = $2, lease_until = $4
     where schedule = $1 and next_time <= $3 and (lease_until is null or lease_until <= $3 or lease_holder = $2) returning 1`,
    [schedule, holder, now, leaseUntil],
  );
  return claimed.length > 0;
};

/** Keeps the turn; false where somebody else has it by now. */
export const renewFeed = async (rows: Write, schedule: string, holder: string, leaseUntil: string): Promise<boolean> =>
  (await rows.query("update feed_schedules set lease_until = $3 where schedule = $1 and lease_holder = $2 returning 1", [schedule, holder, leaseUntil]))
    .length > 0;

const failed = columns({ failures: number });

/** Returns the number of consecutive failures. */
export const countFeedFailures = async (rows: Read, schedule: string): Promise<number> => {
  const found = await failed.findOne(rows, `select ${failed.list} from feed_schedules where schedule = $1`, [schedule]);
  return found?.failures ?? 0;
};

/** Ends the turn: when the next one is due, and what came of this one. */
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
