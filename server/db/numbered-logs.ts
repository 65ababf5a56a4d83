// Logs: a uid is the group's path plus the row's number in hex. Newer rows come later by number and, in each group, by uid. Lists seek to
// the first row after a bound.

import type { Param } from "./handle.ts";

interface Log {
  readonly number: string;
  /** After the parent in the parent index. Within a group both have the same order. */
  readonly behindParent: "uid" | "position";
  /** The column that partitions the rows by month. */
  readonly monthsBy?: string;
}

const logs: ReadonlyMap<string, Log> = new Map([
  ["audit_entries", { number: "sequence", behindParent: "uid", monthsBy: "seal_time" }],
  ["outbox", { number: "position", behindParent: "position" }],
] satisfies [string, Log][]);

const numberMax = "9223372036854775807";

interface LowerBound {
  readonly column: string;
  readonly comparison: string;
  readonly value: Param;
}

/**
 * SQL of a number below that of every row created after `time`, through the monthly partitions. Exact even if clocks differ. Each
 * subquery has one bound of the month: with two the planner would read the whole month.
 */
const numberBeforeTime = (table: string, { number, monthsBy }: Log, root: string, time: string): string => {
  const rows = `from ${table} where left(uid, 40) = ${root}`;
  return `(select first.number - 1 from (
      select min(low::timestamp at time zone 'UTC') as low
      from pg_inherits cross join lateral (select to_date(right(inhrelid::regclass::text, 7), 'YYYY_MM') as low) as named
      where inhparent = '${table}'::regclass and (
        select create_time ${rows} and ${monthsBy} < (low + interval '1 month') at time zone 'UTC' order by create_time desc, uid desc limit 1) > ${time}
    ) as month
    cross join lateral (select ${number} as number ${rows} and ${monthsBy} >= month.low order by ${number}, uid limit 1) as first)`;
};

/** Returns SQL of the lower bound; undefined if the table is not a log or has none. */
export const numberBefore = (table: string, conditions: readonly LowerBound[], root: string, add: (value: Param) => string): string | undefined => {
  const log = logs.get(table);
  const find = (column: string): LowerBound | undefined => conditions.find((each) => each.comparison === "after" && each.column === column);
  if (!log) return undefined;
  const number = find(log.number);
  if (number) return `${add(number.value)}::bigint`;
  const time = log.monthsBy === undefined ? undefined : find("create_time");
  return time && numberBeforeTime(table, log, root, `${add(time.value)}::timestamptz`);
};

export const isBoundedByNumber = (table: string, conditions: readonly LowerBound[], column: string): boolean =>
  (column === "uid" || column === logs.get(table)?.number) && numberBefore(table, conditions, "", () => "") !== undefined;

export interface PlacesPage {
  readonly table: string;
  /** SQL of branches with `low` and `high`. */
  readonly branches: string;
  readonly conditions: readonly LowerBound[];
  readonly terms: readonly string[];
  /** SQL of the cursor's uid. */
  readonly after: string | undefined;
  readonly descending: boolean;
  /** SQL of the rows needed of each group. */
  readonly limit: string;
}

/** Returns SQL of a superset of a page's uids: the first ones after the bound in each group. The groups are found through the parent index. */
export const placesPageText = ({ table, branches, conditions, terms, after, descending, limit }: PlacesPage, add: (value: Param) => string): string => {
  const log = logs.get(table);
  const before = numberBefore(table, conditions, "left(places.place, 40)", add);
  if (!log || before === undefined) throw new Error(`${table} is no log`);
  const next = (than: string): string =>
    `select left(uid, -17) from ${table} where left(uid, -17) ${than} and left(uid, -17) < branch.high order by left(uid, -17) limit 1`;
  const [behind, direction] = descending ? ["<", " desc"] : [">", ""];
  const ofNumber: string[] = [];
  if (log.behindParent === "uid") {
    ofNumber.push(`uid >= places.place || '/' || lpad(to_hex(places.before + 1), 16, '0')`);
    if (after !== undefined) ofNumber.push(`uid ${behind} ${after}`);
  } else {
    ofNumber.push(`${log.number} > places.before`);
    if (after !== undefined) {
      // The digits of the cursor in the position of a number.
      const digits = `('x' || substr(${after}, length(places.place) + 2, 16))::bit(64)::bigint`;
      // A group's digits may exceed the largest number.
      const bounded = `coalesce(nullif(greatest(${digits}, -1), -1), ${numberMax})`;
      const end = descending ? numberMax : "0";
      ofNumber.push(`${log.number} ${behind}= case when starts_with(${after}, places.place || '/') then ${bounded} else ${end} end`);
      ofNumber.push(`(uid ${behind} ${after}) is true`);
    }
  }
  return `select walked.uid from ${branches} cross join lateral (
      with recursive found(place) as (
        (${next(">= rtrim(branch.low, '/')")}) union all select (${next("> found.place")}) from found where found.place is not null
      ), places as materialized (select place from found where place is not null)
      select places.place, ${before} as before from places) as places
    cross join lateral (
      select uid from ${table} where ${["left(uid, -17) = places.place", ...ofNumber, ...terms].join(" and ")}
      order by ${log.behindParent}${direction} limit ${limit}) as walked`;
};
