// Runs one statement for concurrent requests that read the same rows, such as many nodes that pull one image. Requests that arrive
// while it runs share the next one, so that no request gets rows from before its start.

import type { Param, Read, Row } from "./handle.ts";
import { versionColumn } from "./rows.ts";
import { atEndOfTick } from "./tick.ts";

interface Waiting {
  readonly resolve: (rows: Row[]) => void;
  readonly reject: (reason: unknown) => void;
}

const running = new WeakMap<Read, Map<string, Waiting[]>>();

const queryShared = (read: Read, statement: string, values: readonly Param[]): Promise<Row[]> => {
  const ofRead = running.get(read) ?? new Map<string, Waiting[]>();
  running.set(read, ofRead);
  const key = JSON.stringify([statement, values]);

  const sendNext = (): void => {
    const waiting = ofRead.get(key) ?? [];
    if (waiting.length === 0) {
      ofRead.delete(key);
      return;
    }
    ofRead.set(key, []);
    read
      .query(statement, values)
      .then(
        (rows) => {
          for (const { resolve } of waiting) resolve(rows);
        },
        (reason: unknown) => {
          for (const { reject } of waiting) reject(reason);
        },
      )
      .finally(() => atEndOfTick(sendNext));
  };

  return new Promise((resolve, reject) => {
    const waiting = ofRead.get(key);
    if (waiting) {
      waiting.push({ resolve, reject });
      return;
    }
    ofRead.set(key, [{ resolve, reject }]);
    atEndOfTick(sendNext);
  });
};

/**
 * Returns the first row, whose columns start at `offset`, and checks the access version in the same statement. The first column is never
 * null. In a transaction, the statement is its own.
 */
export const findSharedRow = async (rows: Read, statement: string, values: readonly Param[]): Promise<{ row: Row; offset: number } | undefined> => {
  if ("writes" in rows) {
    const [row] = await rows.query(statement, values);
    return row && { row, offset: 0 };
  }
  const { check } = rows;
  if (!check) {
    const [row] = await queryShared(rows.shared ?? rows, statement, values);
    return row && { row, offset: 0 };
  }
  // Returns a row in any case, so that the version is always read.
  const checked = `select ${versionColumn(`$${values.length + 1}`)}, found.* from (values (1)) as always left join (${statement}) as found on true`;
  const [row] = await queryShared(check.bare.shared ?? check.bare, checked, [...values, check.root]);
  check.confirm(row?.[0]);
  return row && row[1] !== null ? { row, offset: 1 } : undefined;
};
