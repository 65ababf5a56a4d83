// How long the rows of a table are kept. Each table's owner exports its own; retentions.ts lists them.

import { isPieceFault } from "#base/pieces.ts";
import { limits } from "#base/limits.ts";
import type { Param, Store } from "./handle.ts";
import { limitPiece } from "./lock.ts";

export interface Retention {
  readonly table: string;
  /**
   * Deletes some of the rows whose time is over, in transactions of its own; true where there may be more. Any number of
   * servers may do it at once.
   */
  deleteExpired(store: Store, nowMs: number): Promise<boolean>;
}

/** Rows whose time is over: by an index that has them in this order. */
export interface ExpiredRows {
  readonly table: string;
  readonly where: string;
  readonly order: string;
}

/**
 * Deletes limits.retentionRowsMax of these rows, or as many as it has the time for; true where there may be more. By
 * their places, of which a row that is changed meanwhile has another.
 */
export const deleteRows = async (store: Store, { table, where, order }: ExpiredRows, values: readonly Param[]): Promise<boolean> => {
  const statement = `delete from ${table} where ctid = any(array(
    select ctid from ${table} where ${where} order by ${order} limit $${values.length + 1})) returning 1`;
  for (let count: number = limits.retentionRowsMax; ; count = Math.ceil(count / 2)) {
    try {
      const deleted = await store.write(async (rows) => {
        if (count > 1) await limitPiece(rows);
        return rows.query(statement, [...values, count]);
      });
      return deleted.length === count;
    } catch (thrown) {
      if (count === 1 || !isPieceFault(thrown)) throw thrown;
    }
  }
};
