// The log's parts: one for each month of sealing. A month that has been kept long enough is dropped at once.

import { lockAlone, type Read, type Store, type Vault, type Write } from "#store";
import { type Head, keepHead, readHeads } from "./heads.ts";

/** "2026-11" of an RFC 3339 time. */
export const monthOf = (time: string): string => time.slice(0, 7);

/** The month so many after this one. */
const plusMonths = (month: string, step: number): string => {
  const [year = 0, number = 1] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1 + step, 1)).toISOString().slice(0, 7);
};

const partOf = (month: string): string => `audit_entries_${month.replace("-", "_")}`;

const parts = async (rows: Read): Promise<string[]> => {
  const found = await rows.query("select inhrelid::regclass::text from pg_inherits where inhparent = 'audit_entries'::regclass order by 1");
  return found.flatMap(([name]) => name ?? []);
};

/**
 * Makes the part for the month of `time` unless it is there. Made beside and attached: to create it in place would wait
 * for every reader, and every reader for it.
 */
export const ensureMonth = async (rows: Write, time: string): Promise<void> => {
  const month = monthOf(time);
  const name = partOf(month);
  const [row] = await rows.query("select to_regclass($1)", [name]);
  if (row?.[0]) return;
  await rows.query(`create table ${name} (like audit_entries including all)`);
  await rows.query(`alter table audit_entries attach partition ${name} for values from ('${month}-01T00:00:00Z') to ('${plusMonths(month, 1)}-01T00:00:00Z')`);
};

/** The organizations that have entries in this table. Each is a look at the index: a month may have millions of entries. */
export const rootsIn = (table: string): string => `
  with recursive each as (
    (select left(uid, 40) as root from ${table} order by left(uid, 40) limit 1)
    union all
    select (select left(next.uid, 40) from ${table} as next where left(next.uid, 40) > each.root order by left(next.uid, 40) limit 1) from each where each.root is not null
  )
  select root from each where root is not null`;

/** The head as it is written on in this month. */
export const inMonth = (head: Head, month: string): Head =>
  head.month === month || head.last.sequence === 0 ? { ...head, month } : { ...head, month, ends: [...head.ends, { month: head.month, last: head.last }] };

/** The head after everything before this month was dropped. By what is sealed alone: entries that somebody wrote into an old month must not say that all before them went with it. */
const droppedBefore = (head: Head, month: string): Head => {
  const gone = head.month < month ? { month: head.month, last: head.last } : head.ends.findLast((end) => end.month < month);
  return gone && gone.last.sequence > head.dropped.sequence ? { ...head, dropped: gone.last, ends: head.ends.filter((end) => end.month >= month) } : head;
};

/**
 * Drops the months before the last `months`, the one of `now` included. Each chain's head remembers the last entry that
 * went, so that a beginning which somebody else deleted can be told apart.
 */
export const dropMonths = async (store: Store, vault: Pick<Vault, "seal" | "open">, now: string, months: number): Promise<void> => {
  const first = plusMonths(monthOf(now), 1 - months);
  for (const name of await parts(store.read)) {
    if (name >= partOf(first)) continue;
    const next = plusMonths(name.slice(-7).replace("_", "-"), 1);
    await store.write(async (rows) => {
      await lockAlone(rows, "sealing");
      if (!(await parts(rows)).includes(name)) return;
      const roots = await rows.query(rootsIn(name));
      const heads = await readHeads(
        rows,
        vault,
        roots.map(([root]) => root ?? ""),
      );
      for (const [root, head] of heads) {
        const after = droppedBefore(head, next);
        if (after !== head) await keepHead(rows, vault, root, after);
      }
      // It waits for every reader, and every reader for it: rather another hour than a second.
      await rows.query("set local lock_timeout = '1s'");
      await rows.query(`drop table ${name}`);
    });
  }
};
