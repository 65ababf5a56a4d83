// How long the rows of a table are kept. Each table's owner exports its own; retentions.ts lists them.

import { isPieceFault } from "#base/pieces.ts";
import { limits } from "#base/limits.ts";
import type { RetentionPeriods } from "#base/retention-periods.ts";
import { timestamp } from "#base/time.ts";
import type { Param, Store, Write } from "./handle.ts";
import { limitPiece } from "./lock.ts";

/** What came of a piece. */
export interface Swept {
  readonly deleted: number;
  /** True: there may be more. */
  readonly more: boolean;
}

export const sweptNothing: Swept = Object.freeze({ deleted: 0, more: false });

export interface Retention {
  /** The table, and in brackets which of its rows where they have several. */
  readonly table: string;
  /** Which of the periods it is; absent: the rows say themselves when their time is over. */
  readonly period?: keyof RetentionPeriods;
  /** Deletes some of the rows whose time is over, in transactions of its own. Any number of servers may do it at once. */
  deleteExpired(store: Store, nowMs: number, periods: RetentionPeriods): Promise<Swept>;
  /** Since when the oldest of these rows is kept, in milliseconds since 1970; undefined where there is none. With a period alone. */
  findOldestMs?(store: Store): Promise<number | undefined>;
}

/** Rows whose time is over: by an index that has them in this order. */
export interface ExpiredRows {
  readonly table: string;
  readonly where: string;
  readonly order: string;
}

// How many rows of a table a piece may have that has failed before; it grows again with each that is done.
const sizes = new WeakMap<Store, Map<string, number>>();

const sizesOf = (store: Store): Map<string, number> => {
  const known = sizes.get(store) ?? new Map<string, number>();
  sizes.set(store, known);
  return known;
};

/** Does a piece of at most `count` rows, or of half as many the next time where that fails: then undefined. */
const doPiece = async <T>(
  store: Store,
  name: string,
  work: (rows: Write, count: number) => Promise<T>,
): Promise<{ readonly result: T; readonly count: number } | undefined> => {
  const known = sizesOf(store);
  const count = known.get(name) ?? limits.retentionRowsMax;
  try {
    const result = await store.write(async (rows) => {
      if (count > 1) await limitPiece(rows);
      return work(rows, count);
    });
    known.set(name, Math.min(limits.retentionRowsMax, Math.ceil(count * 1.25)));
    return { result, count };
  } catch (thrown) {
    if (count === 1 || !isPieceFault(thrown)) throw thrown;
    known.set(name, Math.ceil(count / 2));
    return undefined;
  }
};

/**
 * Deletes limits.retentionRowsMax of these rows, or as many as it has the time for. By their places, of which a row that
 * is changed meanwhile has another.
 */
export const deleteRows = async (store: Store, { table, where, order }: ExpiredRows, values: readonly Param[]): Promise<Swept> => {
  const statement = `delete from ${table} where ctid = any(array(
    select ctid from ${table} where ${where} order by ${order} limit $${values.length + 1})) returning 1`;
  const piece = await doPiece(store, table, (rows, count) => rows.query(statement, [...values, count]));
  if (!piece) return { deleted: 0, more: true };
  return { deleted: piece.result.length, more: piece.result.length === piece.count };
};

/** Of these rows, the time that they are ordered by: of the first one. */
export const findFirstTimeMs = async (store: Store, { table, where, order }: ExpiredRows): Promise<number | undefined> => {
  const [row] = await store.read.query(`select (extract(epoch from ${order}) * 1000)::bigint from ${table} where ${where} order by ${order} limit 1`, [
    "infinity",
  ]);
  return row?.[0] == null ? undefined : Number(row[0]);
};

/** The retention of rows that are over when the time they are ordered by is longer ago than the period: their `where` has it as $1. */
export const periodRetention = (period: keyof RetentionPeriods, rows: ExpiredRows, name: string = rows.table): Retention => ({
  table: name,
  period,
  async deleteExpired(store, nowMs, periods) {
    const keptMs = periods[period];
    return keptMs === undefined ? sweptNothing : deleteRows(store, rows, [timestamp(nowMs - keptMs)]);
  },
  findOldestMs: (store) => findFirstTimeMs(store, rows),
});

// ---- rows of which some are needed still ------------------------------------------------------------------------

/** Where a walk through a table's rows in time has come. */
interface WalkPlace {
  readonly time: string;
  readonly id: string;
}

/** Rows in the order of a time and an id. A row that is over and `needed` stays. */
export interface WalkedRows extends ExpiredRows {
  /** Of a row named `old`, with the same values: true where it is needed still. */
  readonly needed: string;
}

const walkStart: WalkPlace = { time: "-infinity", id: "0" };

// How far each process has walked through a store's.
const walked = new WeakMap<Store, Map<string, WalkPlace>>();

/**
 * Looks at limits.retentionRowsMax of the rows whose time is over, and deletes those that nothing needs. The next piece goes on behind
 * them, so that what is needed is looked at once in each walk, however much of it there is.
 */
export const deleteUnneededRows = async (store: Store, { table, where, order, needed }: WalkedRows, values: readonly Param[]): Promise<Swept> => {
  const places = walked.get(store) ?? new Map<string, WalkPlace>();
  walked.set(store, places);
  const place = places.get(table) ?? walkStart;
  const next = values.length + 1;
  const statement = `
    with old as materialized (
      select ctid as place, * from ${table} where ${where} and (${order}, id) > ($${next}::timestamptz, $${next + 1}::bigint)
      order by ${order}, id limit $${next + 2}
    ), gone as (
      delete from ${table} where ctid = any(array(select place from old where not (${needed}))) returning 1
    )
    select ${order}::text, id, (select count(*) from gone), (select count(*) from old) from old order by ${order} desc, id desc limit 1`;
  const piece = await doPiece(store, table, (rows, count) => rows.query(statement, [...values, place.time, place.id, count]));
  if (!piece) return { deleted: 0, more: true };
  const [time, id, deleted, seen] = piece.result[0] ?? [];
  const more = Number(seen ?? 0) === piece.count;
  if (more && time != null && id != null) places.set(table, { time, id });
  else places.delete(table);
  return { deleted: Number(deleted ?? 0), more };
};
