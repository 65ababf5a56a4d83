// Deletes expired rows. Each table's owner exports its Retention; retentions.ts lists them.

import { isPieceFault } from "#base/pieces.ts";
import { limits } from "#base/limits.ts";
import type { RetentionPeriods } from "#base/retention-periods.ts";
import { timestamp } from "#base/time.ts";
import type { Param, Store, Write } from "./handle.ts";
import { limitPiece } from "./lock.ts";

export interface Swept {
  readonly deleted: number;
  readonly more: boolean;
}

export const sweptNothing: Swept = Object.freeze({ deleted: 0, more: false });

export interface Retention {
  /** With the subset of rows in parentheses, if there are several. */
  readonly table: string;
  /** Absent if each row has its own expiry. */
  readonly period?: keyof RetentionPeriods;
  /** In separate transactions. Any number of servers may run it concurrently. */
  deleteExpired(store: Store, nowMs: number, periods: RetentionPeriods): Promise<Swept>;
  /** Returns the time of the oldest kept row (Unix ms). Only with a period. */
  findOldestMs?(store: Store): Promise<number | undefined>;
}

/** In index order. */
export interface ExpiredRows {
  readonly table: string;
  readonly where: string;
  readonly order: string;
}

// Batch sizes after a failure; they grow again with each success.
const sizes = new WeakMap<Store, Map<string, number>>();

const sizesOf = (store: Store): Map<string, number> => {
  const known = sizes.get(store) ?? new Map<string, number>();
  sizes.set(store, known);
  return known;
};

/** Returns undefined on failure and halves the next batch. */
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

/** Deletes up to limits.retentionRowsMax rows, by ctid: a row updated meanwhile has another and is kept. */
export const deleteRows = async (store: Store, { table, where, order }: ExpiredRows, values: readonly Param[]): Promise<Swept> => {
  const statement = `delete from ${table} where ctid = any(array(
    select ctid from ${table} where ${where} order by ${order} limit $${values.length + 1})) returning 1`;
  const piece = await doPiece(store, table, (rows, count) => rows.query(statement, [...values, count]));
  if (!piece) return { deleted: 0, more: true };
  return { deleted: piece.result.length, more: piece.result.length === piece.count };
};

export const findFirstTimeMs = async (store: Store, { table, where, order }: ExpiredRows): Promise<number | undefined> => {
  const [row] = await store.read.query(`select (extract(epoch from ${order}) * 1000)::bigint from ${table} where ${where} order by ${order} limit 1`, [
    "infinity",
  ]);
  return row?.[0] == null ? undefined : Number(row[0]);
};

/** Returns the retention of rows older than a period; `where` has the limit as $1. */
export const periodRetention = (period: keyof RetentionPeriods, rows: ExpiredRows, name: string = rows.table): Retention => ({
  table: name,
  period,
  async deleteExpired(store, nowMs, periods) {
    const keptMs = periods[period];
    return keptMs === undefined ? sweptNothing : deleteRows(store, rows, [timestamp(nowMs - keptMs)]);
  },
  findOldestMs: (store) => findFirstTimeMs(store, rows),
});

// ---- rows that may still be needed ----------------------------------------------------------------------------------

interface WalkPlace {
  readonly time: string;
  readonly id: string;
}

/** Expired rows that are `needed` are kept. */
export interface WalkedRows extends ExpiredRows {
  /** SQL on a row named `old`. */
  readonly needed: string;
}

const walkStart: WalkPlace = { time: "-infinity", id: "0" };

const walked = new WeakMap<Store, Map<string, WalkPlace>>();

/** Checks up to limits.retentionRowsMax expired rows. The next batch continues after them, so needed rows are checked once in each walk. */
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
