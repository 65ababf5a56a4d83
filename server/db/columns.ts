// Rows with names: the columns that a statement lists, and what the text of each becomes. Each table's file declares its
// rows once with `columns`; its statements name them by `list` and read them by `find`. Nobody counts positions.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import type { Param, Read, Row, StatementCost } from "./handle.ts";
import { timeText } from "./time-text.ts";

/** One column: the SQL that lists it, where that is not the field's own name, and what its text becomes. */
export interface Column<Value> {
  /** An expression; undefined: the column that is named like the field, in snake_case. */
  readonly sql?: string;
  read(text: string | null): Value;
}

/** A text; NULL is the empty one. */
export const text: Column<string> = { read: (value) => value ?? "" };

export const nullableText: Column<string | undefined> = { read: (value) => value ?? undefined };

export const flag: Column<boolean> = { read: (value) => value === "t" };

/** A number; NULL is 0. */
export const number: Column<number> = { read: Number };

export const nullableNumber: Column<number | undefined> = { read: (value) => (value === null ? undefined : Number(value)) };

/** A jsonb column; NULL is null. */
export const json: Column<Json> = { read: (value) => (value === null ? null : (JSON.parse(value) as Json)) };

/** A jsonb column that holds an object; undefined for NULL and for what is no object. */
export const nullableObject: Column<JsonObject | undefined> = {
  read: (value) => {
    const parsed = json.read(value);
    return isObject(parsed) ? parsed : undefined;
  },
};

/** A jsonb column that holds an object of texts; anything else is an empty one. */
export const textMap: Column<Readonly<Record<string, string>>> = {
  read: (value) => {
    const map: unknown = value === null ? {} : JSON.parse(value);
    if (typeof map !== "object" || map === null || Array.isArray(map)) return {};
    return Object.fromEntries(Object.entries(map).map(([key, entry]) => [key, String(entry)]));
  },
};

const readTextList = (value: string): readonly string[] => {
  const list: unknown = JSON.parse(value);
  return Array.isArray(list) ? list.map(String) : [];
};

/** A jsonb column that holds a list of texts; NULL is the empty list. */
export const textList: Column<readonly string[]> = { read: (value) => (value === null ? [] : readTextList(value)) };

/** The same, of a column that may be NULL. */
export const nullableTextList: Column<readonly string[] | undefined> = { read: (value) => (value === null ? undefined : readTextList(value)) };

/** An SQL expression in place of a column of the field's name. */
export const expression = <Value>(sql: string, column: Column<Value>): Column<Value> => ({ ...column, sql });

const millisecondsOf = (column: string): string => `(extract(epoch from ${column}) * 1000)::bigint`;

/** A time in milliseconds since 1970, of a column that is never NULL. */
export const timeMs = (column: string): Column<number> => expression(millisecondsOf(column), number);

/** The same, of a column that may be NULL. */
export const nullableTimeMs = (column: string): Column<number | undefined> => expression(millisecondsOf(column), nullableNumber);

/** A time as RFC 3339 with three decimals; NULL is the empty text. */
export const time = (column: string): Column<string> => expression(timeText(column), text);

export interface Columns<Fields> {
  /** For a select or returning list. */
  readonly list: string;
  /** The same with each column of its own name prefixed by the table's alias; expressions stay as they are. */
  listOf(alias: string): string;
  /** The fields of a row whose columns begin at `offset`. */
  read(row: Row, offset?: number): Fields;
  /** Runs a statement that lists these columns. */
  find(rows: Read, statement: string, values?: readonly Param[], cost?: StatementCost): Promise<Fields[]>;
  /** The same for a statement that finds one row at most. */
  findOne(rows: Read, statement: string, values?: readonly Param[], cost?: StatementCost): Promise<Fields | undefined>;
}

const columnName = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Declares the rows of a table, or what a statement makes of several. */
export const columns = <Fields>(fields: { readonly [Name in keyof Fields]: Column<Fields[Name]> }): Columns<Fields> => {
  const names = Object.keys(fields) as (keyof Fields & string)[];
  const listOf = (alias: string): string => names.map((name) => fields[name].sql ?? `${alias}${columnName(name)}`).join(", ");
  const read = (row: Row, offset = 0): Fields => {
    const entries = names.map((name, index) => [name, fields[name].read(row[offset + index] ?? null)]);
    return Object.fromEntries(entries) as Fields;
  };
  const find = async (rows: Read, statement: string, values?: readonly Param[], cost?: StatementCost): Promise<Fields[]> =>
    (await rows.query(statement, values, cost)).map((row) => read(row));
  return {
    list: listOf(""),
    listOf: (alias) => listOf(`${alias}.`),
    read,
    find,
    findOne: async (rows, statement, values, cost) => (await find(rows, statement, values, cost))[0],
  };
};
