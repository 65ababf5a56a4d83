// Retention of the log: entries are partitioned by month of sealing, and expired months are dropped whole. Each head records the
// last dropped entry, so that any other deletion is detected.

import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { timestamp } from "#base/time.ts";
import {
  dropAuditMonth,
  findAuditRootsOfMonth,
  findFirstKeptMonth,
  findTargetsWithout,
  listAuditMonths,
  markMonthMissed,
  type Month,
  monthAfter,
} from "#audit/store";
import { lockExclusive, type Retention, type Store, sweptNothing, type Vault } from "#db";
import { type Head, readHeads, writeHead } from "./heads.ts";

export const monthOf = (time: string): Month => time.slice(0, 7);

/** Returns the head for continuing in this month. */
export const headInMonth = (head: Head, month: Month): Head =>
  head.month === month || head.last.sequence === 0
    ? { ...head, month }
    : { ...head, month, monthEnds: [...head.monthEnds, { month: head.month, last: head.last }] };

/** Uses sealed data only: entries inserted into an old month must not count as dropped. */
const headAfterDrop = (head: Head, month: Month): Head => {
  const gone = head.month < month ? { month: head.month, last: head.last } : head.monthEnds.findLast((end) => end.month < month);
  if (!gone || gone.last.sequence <= head.dropped.sequence) return head;
  return { ...head, dropped: gone.last, monthEnds: head.monthEnds.filter((end) => end.month >= month) };
};

/** Returns the number of sealed entries dropped. `targets` had not received them. */
const dropMonth = (store: Store, vault: Pick<Vault, "seal" | "open">, month: Month, targets: readonly string[]): Promise<number> =>
  store.write(async (rows) => {
    await lockExclusive(rows, "sealing");
    if (!(await listAuditMonths(rows)).includes(month)) return 0;
    let dropped = 0;
    for (const [root, head] of await readHeads(rows, vault, await findAuditRootsOfMonth(rows, month))) {
      const after = headAfterDrop(head, monthAfter(month, 1));
      if (after === head) continue;
      dropped += after.dropped.sequence - head.dropped.sequence;
      await writeHead(rows, vault, root, after);
    }
    await markMonthMissed(rows, targets, month);
    await dropAuditMonth(rows, month);
    return dropped;
  });

const startOf = (month: Month): string => `${month}-01T00:00:00.000Z`;

/**
 * Drops months older than the last `months`, including the current one, one at a time. A month that a target has not fully received
 * stays limits.auditHeldMonths longer, and is then dropped anyway, because undelivered entries must not fill the disk. Both are
 * logged.
 */
export const auditRetention = (vault: Pick<Vault, "seal" | "open">, log: Log, months: number): Retention => ({
  table: "audit_entries",
  async deleteExpired(store, nowMs) {
    const first = monthAfter(monthOf(timestamp(nowMs)), 1 - months);
    const firstKept = await findFirstKeptMonth(store.read);
    const [month, ...more] = (await listAuditMonths(store.read)).filter((each) => each < first && each < firstKept);
    if (month === undefined) return sweptNothing;
    const targets = await findTargetsWithout(store.read, startOf(monthAfter(month, 1)), timestamp(nowMs - limits.auditTargetSeenMs));
    if (targets.length > 0 && month >= monthAfter(first, -limits.auditHeldMonths)) {
      log("audit.month.held", { month, targets });
      return sweptNothing;
    }
    if (targets.length > 0) log("audit.month.missed", { month, targets });
    return { deleted: await dropMonth(store, vault, month, targets), more: more.length > 0 };
  },
  async findOldestMs(store) {
    const [month] = await listAuditMonths(store.read);
    return month === undefined ? undefined : Date.parse(startOf(month));
  },
});
