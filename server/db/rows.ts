// Statements on rows by uid. Table and column names come from resource files and the contract and are checked at start; values are always
// parameters.

import type { Fault } from "#base/fault.ts";
import { type BatchLoad, makeBatchLoad } from "./batch-load.ts";
import { foundNoRow } from "./faults.ts";
import type { Param, Read, Row, Rows, Write } from "./handle.ts";

/** A resource's table; the first column is `uid`. */
export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** Names are unique below a parent. */
  readonly uniqueNames?: boolean;
}

export type Values = Readonly<Record<string, Param>>;

/** Returns the access version column of a first statement, or null. */
export const versionColumn = (parameter: string | undefined): string =>
  parameter ? `(select version from access_versions where root = ${parameter})` : "null::bigint";

const getStatements = new WeakMap<Table, { withVersion: string; rowAlone: string }>();

const getStatementsOf = (table: Table) => {
  let statements = getStatements.get(table);
  if (!statements) {
    const row = `(select ${table.columns.join(", ")} from ${table.name} where uid = $1) as t`;
    statements = {
      // Returns a row in any case, so that the version is always read.
      withVersion: `select ${versionColumn("$2")}, t.* from (values (1)) as always left join ${row} on true`,
      rowAlone: `select t.* from ${row}`,
    };
    getStatements.set(table, statements);
  }
  return statements;
};

const batchLoads = new WeakMap<Read, WeakMap<Table, BatchLoad>>();

const batchLoadOf = (read: Read, table: Table): BatchLoad => {
  const ofRead = batchLoads.get(read) ?? new WeakMap<Table, BatchLoad>();
  batchLoads.set(read, ofRead);
  const batchLoad = ofRead.get(table) ?? makeBatchLoad(read, table.name, table.columns, getStatementsOf(table).withVersion);
  ofRead.set(table, batchLoad);
  return batchLoad;
};

/** Returns the columns in the table's order, from index `offset`. */
export const findRow = async (rows: Read, table: Table, uid: string): Promise<{ row: Row; offset: number } | undefined> => {
  const { check } = rows;
  if (!check) {
    const [row] = await rows.query(getStatementsOf(table).rowAlone, [uid]);
    return row && { row, offset: 0 };
  }
  const { version, row, offset } = await batchLoadOf(check.bare.shared ?? check.bare, table)(uid, check.root);
  check.confirm(version);
  return row && { row, offset };
};

export const findRows = (rows: Read, table: Table, uids: readonly string[]): Promise<Row[]> =>
  rows.query(`select ${table.columns.join(", ")} from ${table.name} where uid = any($1)`, [uids]);

/** Locks the row until the transaction ends: `key share` prevents deletion, `share` also update. */
export const lockRow = async (rows: Write, table: Table, uid: string, mode: "update" | "share" | "key share" = "update"): Promise<Row | undefined> => {
  const [row] = await rows.query(`select ${table.columns.join(", ")} from ${table.name} where uid = $1 for ${mode}`, [uid]);
  return row;
};

/** Fails the transaction with `absent` if there is no row. Does not wait (handle.ts: send). */
export const requireRow = (rows: Write, statement: string, values: readonly Param[], absent: () => unknown): void =>
  rows.send(`select 1 / count(*) from (${statement}) as required`, values, (fault) => (foundNoRow(fault.cause) ? absent() : fault));

/** Sends a change that returns rows; fails the transaction with `absent` if it changes none. Does not wait. */
export const requireChange = (rows: Write, statement: string, values: readonly Param[], absent: () => unknown): void =>
  rows.send(`with changed as (${statement}) select 1 / count(*) from changed`, values, (fault) => (foundNoRow(fault.cause) ? absent() : fault));

/**
 * Sends a statement whose first column divides by the number of its changes; fails the transaction with `absent` if there is none, or
 * with `faultOf` for another fault. Does not wait.
 */
export const requireChanges = (
  rows: Write,
  statement: string,
  values: readonly Param[],
  { absent, faultOf, answered }: { readonly absent: () => unknown; readonly faultOf: (fault: Fault) => unknown; readonly answered: (row: Row) => void },
): void =>
  rows.send(
    statement,
    values,
    (fault) => (foundNoRow(fault.cause) ? absent() : faultOf(fault)),
    ([row]) => row && answered(row),
  );

/** Runs `work`, which sends one statement before it awaits anything, in a transaction of its own and in one round trip. */
export const writeAtOnce = async <T>(store: Pick<Rows, "write">, work: (rows: Write) => Promise<T>): Promise<T> => {
  const { sent } = await store.write(async (rows) => {
    const sent = work(rows);
    // The commit fails too, and throws the error.
    sent.catch(() => {});
    return { sent };
  });
  return sent;
};

/** Like requireRow; also prevents deletion until the transaction ends. */
export const requireHeldRow = (rows: Write, table: string, uid: string, absent: () => unknown): void =>
  requireRow(rows, `select from ${table} where uid = $1 for key share`, [uid], absent);

/** Inserts without waiting. A unique violation is ALREADY_EXISTS (faults.ts). */
export const insertRow = (rows: Write, table: Table, values: Values, faultOf?: (fault: Fault) => unknown): void => {
  const columns = Object.keys(values);
  const parameters = columns.map((_, index) => `$${index + 1}`);
  rows.send(`insert into ${table.name} (${columns.join(", ")}) values (${parameters.join(", ")})`, Object.values(values), faultOf);
};

/** Updates without waiting. */
export const updateRow = (rows: Write, table: Table, uid: string, values: Values, faultOf?: (fault: Fault) => unknown): void => {
  const sets = Object.keys(values).map((column, index) => `${column} = $${index + 2}`);
  rows.send(`update ${table.name} set ${sets.join(", ")} where uid = $1`, [uid, ...Object.values(values)], faultOf);
};

export const deleteRow = (rows: Write, table: string, uid: string): void => rows.send(`delete from ${table} where uid = $1`, [uid]);

export const holdsBelow = async (rows: Read, table: string, uid: string): Promise<boolean> => {
  const [row] = await rows.query(`select exists (select 1 from ${table} where uid > $1 and uid < $2)`, [`${uid}/`, `${uid}0`]);
  return row?.[0] === "t";
};

/** Deletes the rows with a path at or below `uid`. */
export const deleteBelow = async (rows: Write, table: string, column: string, uid: string): Promise<void> => {
  await rows.query(`delete from ${table} where ${column} >= $1 and ${column} < $2`, [uid, `${uid}0`]);
};

/** Returns false on a unique violation. */
export const insertRowUnlessTaken = async (rows: Write, table: Table, values: Values): Promise<boolean> => {
  const columns = Object.keys(values);
  const parameters = columns.map((_, index) => `$${index + 1}`);
  const made = await rows.query(
    `insert into ${table.name} (${columns.join(", ")}) values (${parameters.join(", ")}) on conflict do nothing returning 1`,
    Object.values(values),
  );
  return made.length > 0;
};

/** Locks and returns the row directly below `parent`. */
export const lockNamed = async (rows: Write, table: Table, parent: string, name: string): Promise<Row | undefined> => {
  const [row] = await rows.query(`select ${table.columns.join(", ")} from ${table.name} where left(uid, -17) = $1 and name = $2 collate "POSIX" for update`, [
    parent,
    name,
  ]);
  return row;
};

/** Returns up to a hundred uids by name or uid suffix. */
export const findNamed = async (rows: Read, table: string, name: string, paths: readonly string[]): Promise<string[]> => {
  const found = await rows.query(
    `select distinct uid from ${table} join unnest($3::text[], $4::text[]) as place(low, high) on uid >= place.low and uid < place.high
     where name = $1 or uid like '%/' || $2 limit 100`,
    [name, name.replace(/[\\%_]/g, "\\$&"), paths, paths.map((path) => (path === "" ? "~" : `${path}0`))],
  );
  return found.flatMap(([uid]) => uid ?? []);
};

export const isReferenced = async (rows: Read, table: string, column: string, uid: string): Promise<boolean> => {
  const [row] = await rows.query(`select exists (select 1 from ${table} where ${column} = $1)`, [uid]);
  return row?.[0] === "t";
};

/** Counts up to `most`. */
export const countBelow = async (rows: Read, table: string, uid: string, most?: number): Promise<number> => {
  const [row] = await rows.query(`select count(*) from (select from ${table} where uid >= $1 and uid < $2 limit $3) as found`, [uid, `${uid}0`, most ?? null]);
  return Number(row?.[0]);
};

/** Counts up to `most`. */
export const countReferences = async (rows: Read, table: string, column: string, uid: string, most?: number): Promise<number> => {
  const [row] = await rows.query(`select count(*) from (select from ${table} where ${column} = $1 limit $2) as found`, [uid, most ?? null]);
  return Number(row?.[0]);
};

export interface RowRange {
  readonly table: string;
  readonly column: string;
  readonly isExact: boolean;
}

// Without an order the plan may read a whole table to find no row.
const firstOfRange = ({ table, column, isExact }: RowRange): string =>
  `exists (select from ${table} where ${isExact ? `${column} = $1` : `${column} >= $1 and ${column} < $2 order by ${column}`} limit 1)`;

/** Returns whether none of these ranges has a row, in one statement. */
export const areEmpty = async (rows: Read, uid: string, ranges: readonly RowRange[]): Promise<boolean> => {
  if (ranges.length === 0) return true;
  // Gives the parameter a type, even if unused.
  const [row] = await rows.query(`select $2::text is not null and not (${ranges.map(firstOfRange).join(" or ")})`, [uid, `${uid}0`]);
  return row?.[0] === "t";
};

const deletedUids = (rows: readonly Row[]): string[] => rows.flatMap(([uid]) => uid ?? []).sort();

export const takeBelow = async (rows: Write, table: string, uid: string): Promise<string[]> =>
  deletedUids(await rows.query(`delete from ${table} where uid >= $1 and uid < $2 returning uid`, [uid, `${uid}0`]));

export const takeReferences = async (rows: Write, table: string, column: string, uid: string): Promise<string[]> =>
  deletedUids(await rows.query(`delete from ${table} where ${column} = $1 returning uid`, [uid]));
