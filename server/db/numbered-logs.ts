// Logs: tables in which a row's uid is its place and its number, in sixteen hex digits. What is newer than a bound lies behind all that
// is older, in the order of numbers and, in each place, in the order of uids. A list finds where that begins, and passes over nothing.

import type { Param } from "./handle.ts";

interface Log {
  /** The column of the number. */
  readonly number: string;
  /** What the index of a parent has behind it; in one place both are in the same order. */
  readonly behindParent: "uid" | "position";
  /** The column by whose months the rows are partitioned. */
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
 * A number that is less than that of every row that was created after a time: one less than the first number since the first month by
 * whose end such a row was there. Exact, however the clocks of the servers differ that create and seal. Each look has one bound of
 * the month alone: of two the planner would expect few rows, and go through all of the month.
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

/** What the lower bounds of a list say of the numbers of its rows, as SQL; undefined where the table is no log or nothing follows. */
export const numberBefore = (table: string, conditions: readonly LowerBound[], root: string, add: (value: Param) => string): string | undefined => {
  const log = logs.get(table);
  const find = (column: string): LowerBound | undefined => conditions.find((each) => each.comparison === "after" && each.column === column);
  if (!log) return undefined;
  const number = find(log.number);
  if (number) return `${add(number.value)}::bigint`;
  const time = log.monthsBy === undefined ? undefined : find("create_time");
  return time && numberBeforeTime(table, log, root, `${add(time.value)}::timestamptz`);
};

/** True where a lower bound leads to the first rows of a list in the order of this column. */
export const isBoundedByNumber = (table: string, conditions: readonly LowerBound[], column: string): boolean =>
  (column === "uid" || column === logs.get(table)?.number) && numberBefore(table, conditions, "", () => "") !== undefined;

export interface PlacesPage {
  readonly table: string;
  /** A row of low and high for each branch, named `branch`. */
  readonly branches: string;
  readonly conditions: readonly LowerBound[];
  /** Other terms of a row. */
  readonly terms: readonly string[];
  /** The uid behind which the page begins, as SQL. */
  readonly after: string | undefined;
  readonly descending: boolean;
  /** As SQL: how many rows of each place the page may need. */
  readonly limit: string;
}

/**
 * Returns the statement of uids, in no order, among which are those of a page in the order of uids: of each place at which a branch has
 * rows, the first ones beyond the bound. The places are found one by one, by the index of the parent.
 */
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
      // Of the place that the last row of the page before lies in, or below, the digits at a number's place.
      const digits = `('x' || substr(${after}, length(places.place) + 2, 16))::bit(64)::bigint`;
      // A group's digits may be more than any number.
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
