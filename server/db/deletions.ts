// Tables deletions and deleted_rows: soft-deleted rows of any table, until they expire or are restored or purged
// (docs/decisions/0058-soft-delete-and-undelete.md).
//
// Rows move by single statements and never pass through the server. They are stored by column name. On restore, newer
// columns have their defaults, and dropped ones are ignored.

import { type Json, objectList } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, expression, flag, json, text } from "./columns.ts";
import type { Read, Row, Store, Write } from "./handle.ts";
import { deleteRows, type Retention, sweptNothing } from "./retention.ts";
import type { Table } from "./rows.ts";

export interface Keeping {
  readonly deletion: string;
  /** Omitted; restored rows have the defaults. */
  readonly without: readonly string[];
}

/** The rows with `column` equal to `uid` or, unless exact, below it. */
export interface DeletedRange {
  readonly table: string;
  readonly column: string;
  readonly uid: string;
  readonly isExact: boolean;
}

const whereOf = ({ column, isExact }: DeletedRange): string => (isExact ? `${column} = $1` : `${column} >= $1 and ${column} < $2`);

const keepStatement = (range: DeletedRange, from: string): string => `
  with gone as (delete from ${range.table} where ${whereOf(range)} returning *), kept as (
    insert into deleted_rows (deletion_uid, table_name, content) select $3, $4, to_jsonb(gone.*) - $5::text[] from gone returning 1
  ) ${from}`;

const keepValues = ({ table, uid }: DeletedRange, { deletion, without }: Keeping) => [uid, `${uid}0`, deletion, table, without];

// An exact range leaves $2 unused, but PostgreSQL must know its type.
const countKept = "select count(*) from kept where $2::text is not null";

/** Soft-deletes one row that the transaction has locked. Sends without waiting. */
export const keepHeldRow = (rows: Write, table: string, uid: string, keeping: Keeping): void => {
  const range: DeletedRange = { table, column: "uid", uid, isExact: true };
  rows.send(keepStatement(range, countKept), keepValues(range, keeping));
};

export const keepDeleted = async (rows: Write, range: DeletedRange, keeping: Keeping): Promise<number> => {
  const [row] = await rows.query(keepStatement(range, countKept), keepValues(range, keeping));
  return Number(row?.[0] ?? 0);
};

export const takeDeleted = async (rows: Write, range: DeletedRange, keeping: Keeping): Promise<string[]> => {
  const statement = keepStatement(range, "select uid from gone where $2::text is not null");
  return (await rows.query(statement, keepValues(range, keeping))).flatMap(([uid]) => uid ?? []).sort();
};

export interface KeptTable {
  readonly name: string;
  readonly count: number;
}

export interface NewDeletion {
  readonly uid: string;
  /** Empty if the resource has no parent. */
  readonly parentUid: string;
  /** The message's full name. */
  readonly resourceType: string;
  readonly resourceUid: string;
  readonly resourceName: string;
  readonly deleterUid: string;
  readonly createTimeMs: number;
  readonly expireTimeMs: number;
  readonly kinds: readonly { readonly resourceType: string; readonly count: number }[];
  /** In order of restoration. */
  readonly tables: readonly KeptTable[];
}

/** Sends without waiting. */
export const insertDeletion = (rows: Write, deletion: NewDeletion): void => {
  const { uid, parentUid, resourceType, resourceUid, resourceName, deleterUid, createTimeMs, expireTimeMs, kinds, tables } = deletion;
  rows.send(
    `insert into deletions
       (uid, parent_uid, resource_type, resource_uid, resource_name, deleter_uid, create_time, update_time, expire_time, kinds, row_count, tables)
     values ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10, $11)`,
    [
      uid,
      parentUid,
      resourceType,
      resourceUid,
      resourceName,
      deleterUid,
      timestamp(createTimeMs),
      timestamp(expireTimeMs),
      JSON.stringify(kinds.map(({ resourceType: of, count }) => ({ resourceType: of, count: String(count) }))),
      tables.reduce((sum, { count }) => sum + count, 0),
      JSON.stringify(tables),
    ],
  );
};

const keptTables = columns({ tables: json });

const readTables = (tables: Json): KeptTable[] => objectList({ tables }, "tables").map(({ name, count }) => ({ name: String(name), count: Number(count) }));

export const findKeptTables = async (rows: Read, deletion: string): Promise<KeptTable[]> => {
  const found = await keptTables.findOne(rows, `select ${keptTables.list} from deletions where uid = $1`, [deletion]);
  return found ? readTables(found.tables) : [];
};

/** Returns rows in the table's current columns; null for columns not kept. */
export const findDeletedRows = (rows: Read, deletion: string, { name, columns: names }: Table): Promise<Row[]> =>
  rows.query(
    `select ${names.map((column) => `kept.${column}`).join(", ")} from deleted_rows, jsonb_populate_record(null::${name}, content) as kept
     where deletion_uid = $1 and table_name = $2 order by number`,
    [deletion, name],
    { rows: limits.deletedRowsMax, wide: true },
  );

const columnName = columns({ name: expression("attname", text) });

/** Returns current columns that the kept rows have. */
const findReturningColumns = async (rows: Read, deletion: string, table: string): Promise<string[]> => {
  const found = await columnName.find(
    rows,
    `select ${columnName.list} from pg_attribute
     where attrelid = to_regclass($2) and attnum > 0 and not attisdropped and attgenerated = ''
       and (select content from deleted_rows where deletion_uid = $1 and table_name = $2 order by number limit 1) ? attname
     order by attnum`,
    [deletion, table],
  );
  return found.map(({ name }) => name);
};

const returnPageStatement = (table: string, names: readonly string[]): string => `
  with page as materialized (
    select number, content from deleted_rows where deletion_uid = $1 and table_name = $2 and number > $3 order by number limit $4
  ), back as (
    insert into ${table} (${names.join(", ")}) overriding system value
    select ${names.map((name) => `kept.${name}`).join(", ")} from page, jsonb_populate_record(null::${table}, content) as kept order by number
  )
  select max(number) from page`;

/**
 * Restores rows in pages well below the statement timeout, since inserts are slower than the delete. Throws
 * ALREADY_EXISTS on a unique conflict (faults.ts).
 */
export const returnRows = async (rows: Write, deletion: string, table: string): Promise<void> => {
  const names = await findReturningColumns(rows, deletion, table);
  if (names.length === 0) return;
  const statement = returnPageStatement(table, names);
  for (let last: string | null = "0"; last !== null; ) last = (await rows.query(statement, [deletion, table, last, limits.keptRowsPage]))[0]?.[0] ?? null;
};

/** Returns the restored uids; `unlessTaken` skips unique conflicts. */
export const returnResources = async (
  rows: Write,
  deletion: string,
  { name }: Table,
  uids: readonly string[],
  unlessTaken: boolean,
): Promise<ReadonlySet<string>> => {
  const names = await findReturningColumns(rows, deletion, name);
  const statement = `
    insert into ${name} (${names.join(", ")}) overriding system value
    select ${names.map((each) => `kept.${each}`).join(", ")} from deleted_rows, jsonb_populate_record(null::${name}, content) as kept
    where deletion_uid = $1 and table_name = $2 and content ->> 'uid' = any($3) order by number ${unlessTaken ? "on conflict do nothing" : ""} returning uid`;
  return new Set((await rows.query(statement, [deletion, name, uids])).flatMap(([uid]) => uid ?? []));
};

/** Locks a deletion until the transaction ends; returns false if it does not exist. */
export const lockDeletion = async (rows: Write, deletion: string): Promise<boolean> =>
  (await rows.query("select 1 from deletions where uid = $1 for update", [deletion])).length > 0;

/** Returns whether all rows still exist: by another server's clock a locked deletion may have expired. */
export const isKeptWhole = async (rows: Read, deletion: string): Promise<boolean> => {
  const statement = "select (select count(*) from deleted_rows where deletion_uid = $1) >= row_count from deletions where uid = $1";
  return (await rows.query(statement, [deletion]))[0]?.[0] === "t";
};

// Starts after the previous page: its rows stay in the index until commit.
const removePage = `
  with page as materialized (
    select ctid as place, table_name, number from deleted_rows
    where deletion_uid = $1 and (table_name, number) > ($2, $3::bigint) order by table_name, number limit $4
  ), gone as (
    delete from deleted_rows where ctid = any(array(select place from page))
  )
  select table_name, number from page order by table_name desc, number desc limit 1`;

/** Purges in pages well below the statement timeout. */
export const removeDeletion = async (rows: Write, deletion: string): Promise<void> => {
  for (let last: Row | undefined = ["", "0"]; last !== undefined; )
    [last] = await rows.query(removePage, [deletion, last[0] ?? "", last[1] ?? "0", limits.keptRowsPage]);
  await rows.query("delete from deletions where uid = $1", [deletion]);
};

const expired = columns({ uid: text, hasRows: expression("exists (select from deleted_rows where deletion_uid = uid)", flag) });

/**
 * Deletes rows first, then the deletion: a listed one is restorable as a whole, or has expired. Skips locked ones, so
 * that an undelete which started in time completes.
 */
export const deletionsRetention: Retention = {
  table: "deletions",
  async deleteExpired(store: Store, nowMs: number) {
    const statement = `select ${expired.list} from deletions where expire_time <= $1 order by expire_time, uid limit 1`;
    const first = await expired.findOne(store.read, statement, [timestamp(nowMs)]);
    if (!first) return sweptNothing;
    const held = "(select uid from deletions where uid = $1 for update skip locked)";
    const { deleted, more } = first.hasRows
      ? await deleteRows(store, { table: "deleted_rows", where: `deletion_uid = ${held}`, order: "table_name, number" }, [first.uid])
      : await deleteRows(store, { table: "deletions", where: `uid = ${held} and expire_time <= $2`, order: "uid" }, [first.uid, timestamp(nowMs)]);
    // No progress means locked; the next run retries.
    return { deleted, more: deleted > 0 || more };
  },
};
