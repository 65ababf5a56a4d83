// Tables last_pulls and pull_days: pulls of manifests, for limits.pullsKeptMs.

import { limits } from "#base/limits.ts";
import type { PageRequest } from "#base/page.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, expression, number, type Read, type Retention, type RowOf, text, time, type Write } from "#db";

export interface PullRecord {
  readonly repo: string;
  readonly digest: string;
  /** "" for pulls by digest. */
  readonly tag: string;
  /** "" without a token. */
  readonly caller: string;
  /** "2026-04-30" */
  readonly day: string;
  /** 0 if the manifest was only looked up. */
  readonly count: number;
  readonly lastMs: number;
}

/** Adds to the pulls of repos that still exist. A fixed order prevents deadlocks. */
export const writePulls = async (rows: Write, records: readonly PullRecord[]): Promise<void> => {
  const column = (of: (record: PullRecord) => string): string[] => records.map(of);
  await rows.query(
    `with given as materialized (
       select given.repo, given.digest, given.tag, given.day::date, sum(given.count::bigint) as count, max(given.last_time::timestamptz) as last_time,
         max(given.last_time::timestamptz) filter (where identities.uid is not null) as runtime_time
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
         as given(repo, digest, tag, caller, day, count, last_time)
       left join identities on identities.uid = given.caller and identities.labels ? 'runtime'
       where exists (select from repos where repos.uid = given.repo)
       group by given.repo, given.digest, given.tag, given.day::date
     ), counted as (
       insert into pull_days as held (repo_uid, day, digest, tag, pull_count)
       select repo, day, digest, tag, count from given where count > 0 order by 1, 2, 3, 4
       on conflict (repo_uid, day, digest, tag) do update set pull_count = held.pull_count + excluded.pull_count
     ) insert into last_pulls as held (repo_uid, digest, tag, pull_count, pull_time, runtime_time)
     select repo, digest, tag, sum(count), max(last_time), max(runtime_time) from given group by 1, 2, 3 order by 1, 2, 3
     on conflict (repo_uid, digest, tag) do update set pull_count = held.pull_count + excluded.pull_count,
       pull_time = greatest(held.pull_time, excluded.pull_time), runtime_time = greatest(held.runtime_time, excluded.runtime_time)`,
    [
      column(({ repo }) => repo),
      column(({ digest }) => digest),
      column(({ tag }) => tag),
      column(({ caller }) => caller),
      column(({ day }) => day),
      column(({ count }) => String(count)),
      column(({ lastMs }) => timestamp(lastMs)),
    ],
  );
};

export type PullDay = RowOf<typeof pullDay>;

/** 64 bits. */
const pullDay = columns({ day: expression("day::text", text), pullCount: expression("sum(pull_count)", text) });
const lastPull = columns({ pullTime: time("max(pull_time)"), runtimeTime: time("max(runtime_time)") });

const within = "repo_uid = $1 and ($2 = '' or tag = $2) and ($3 = '' or digest = $3)";

/** Returns the days with pulls, newest first; "" for any tag or digest. */
export const findPullDays = (rows: Read, repo: string, tag: string, digest: string, sinceMs: number): Promise<PullDay[]> =>
  pullDay.find(
    rows,
    `select ${pullDay.list} from pull_days where ${within} and day > ($4::timestamptz at time zone 'UTC')::date group by day order by pull_days.day desc`,
    [repo, tag, digest, timestamp(sinceMs)],
    { rows: 400, wide: true },
  );

export const findLastPull = async (rows: Read, repo: string, tag: string, digest: string): Promise<RowOf<typeof lastPull>> =>
  (await lastPull.findOne(rows, `select ${lastPull.list} from last_pulls where ${within}`, [repo, tag, digest])) ?? { pullTime: "", runtimeTime: "" };

export type PulledName = RowOf<typeof pulledName>;

const pulledName = columns({ digest: text, tag: text, pullCount: text, pullTime: time("pull_time"), runtimeTime: time("runtime_time") });
const total = columns({ count: expression("count(*)", number) });

export const findPulledNames = async (
  rows: Read,
  repo: string,
  { order, after, skip, limit, total: known }: PageRequest,
): Promise<{ readonly names: readonly PulledName[]; readonly total: number }> => {
  const direction = order.descending ? "desc" : "asc";
  const [digest = "", tag = ""] = after ?? [];
  const [names, counted] = await Promise.all([
    pulledName.find(
      rows,
      `select ${pulledName.list} from last_pulls where repo_uid = $1 and ($2 or (digest, tag) ${order.descending ? "<" : ">"} ($3, $4))
       order by digest ${direction}, tag ${direction} limit $5 offset $6`,
      [repo, after === undefined, digest, tag, limit, skip],
      { rows: limit, wide: false },
    ),
    known ?? total.findOne(rows, `select ${total.list} from last_pulls where repo_uid = $1`, [repo]).then((found) => found?.count ?? 0),
  ]);
  return { names, total: counted };
};

const pullRetention = (table: string, column: string): Retention => ({
  table,
  deleteExpired: (store, nowMs) => deleteRows(store, { table, where: `${column} < $1`, order: column }, [timestamp(nowMs - limits.pullsKeptMs)]),
});

export const lastPullsRetention: Retention = pullRetention("last_pulls", "pull_time");
export const pullDaysRetention: Retention = pullRetention("pull_days", "day");
