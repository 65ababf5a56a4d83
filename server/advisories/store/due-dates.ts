// Tables due_date_policies and due_dates_to_update. Triggers write the due dates of new and changed findings (0012_due_dates.sql). A
// changed policy queues its organization; its other findings are updated in pieces.

import { columns, expression, number, type Read, type RowOf, text, type Write } from "#db";
import { writeDueTimes } from "./affected-images.ts";

/** Findings without a due date, which sort last. */
export const withoutDueTime = "9999-12-31T00:00:00.000Z";

/** Serializes the creations of an organization until the transaction ends. */
export const lockDueDatePolicies = async (rows: Write, root: string): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock(730141296, hashtext($1))", [root]);
};

const counted = columns({ count: expression("count(*)", number) });

export const countDueDatePolicies = async (rows: Read, root: string): Promise<number> =>
  (await counted.findOne(rows, `select ${counted.list} from due_date_policies where left(uid, 40) = $1`, [root]))?.count ?? 0;

const queued = columns({ root: text, lastUid: text });

/** Returns the organizations with due dates to update. */
export const findDueDateRoots = async (rows: Read): Promise<string[]> => {
  const found = await queued.find(rows, `select ${queued.list} from due_dates_to_update order by root`);
  return found.map(({ root }) => root);
};

/** Updates the next findings of an organization. Another server's step is left to it. */
export const updateDueDates = async (rows: Write, root: string, limit: number, nowMs: number): Promise<void> => {
  const found = await queued.findOne(rows, `select ${queued.list} from due_dates_to_update where root = $1 for update skip locked`, [root]);
  if (!found) return;
  const { lastUid, count } = await writeDueTimes(rows, root, found.lastUid, limit, nowMs);
  if (count >= limit) await rows.query("update due_dates_to_update set last_uid = $2 where root = $1", [root, lastUid]);
  else await rows.query("delete from due_dates_to_update where root = $1", [root]);
};

const overdue = columns({ severityRank: number, count: expression("count(*)", number) });

export type OverdueCount = RowOf<typeof overdue>;

/** Returns the number of overdue findings of all organizations by rank of severity. */
export const countOverdueFindings = (rows: Read, nowMs: number): Promise<OverdueCount[]> =>
  overdue.find(
    rows,
    `select ${overdue.list} from affected_images where not closed and due_time < '9999-12-31T00:00:00Z' and due_time < $1 group by severity_rank`,
    [new Date(nowMs).toISOString()],
  );
