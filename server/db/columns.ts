// Named row fields: each table declares its columns once, so that no code counts positions.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import type { Param, Read, Row, StatementCost } from "./handle.ts";
import { findSharedRow } from "./shared-read.ts";
import { timeText } from "./time-text.ts";

export interface Column<Value> {
  /** Default: the field's name in snake_case. */
  readonly sql?: string;
  read(text: string | null): Value;
}

/** NULL reads as empty. */
export const text: Column<string> = { read: (value) => value ?? "" };

export const nullableText: Column<string | undefined> = { read: (value) => value ?? undefined };

export const flag: Column<boolean> = { read: (value) => value === "t" };

/** NULL reads as 0. */
export const number: Column<number> = { read: Number };

export const nullableNumber: Column<number | undefined> = { read: (value) => (value === null ? undefined : Number(value)) };

/** A jsonb column; NULL reads as null. */
export const json: Column<Json> = { read: (value) => (value === null ? null : (JSON.parse(value) as Json)) };

/** NULL and other values read as undefined. */
export const nullableObject: Column<JsonObject | undefined> = {
  read: (value) => {
    const parsed = json.read(value);
    return isObject(parsed) ? parsed : undefined;
  },
};

/** Other values read as empty. */
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

/** NULL reads as empty. */
export const textList: Column<readonly string[]> = { read: (value) => (value === null ? [] : readTextList(value)) };

export const nullableTextList: Column<readonly string[] | undefined> = { read: (value) => (value === null ? undefined : readTextList(value)) };

export const expression = <Value>(sql: string, column: Column<Value>): Column<Value> => ({ ...column, sql });

const millisecondsOf = (column: string): string => `(extract(epoch from ${column}) * 1000)::bigint`;

/** Milliseconds since 1970; never NULL. */
export const timeMs = (column: string): Column<number> => expression(millisecondsOf(column), number);

/** Milliseconds since 1970. */
export const nullableTimeMs = (column: string): Column<number | undefined> => expression(millisecondsOf(column), nullableNumber);

/** RFC 3339 with milliseconds; NULL reads as empty. */
export const time = (column: string): Column<string> => expression(timeText(column), text);

export interface Columns<Fields> {
  readonly list: string;
  /** Prefixes column names with a table alias, but not expressions. */
  listOf(alias: string): string;
  /** The columns start at `offset`. */
  read(row: Row, offset?: number): Fields;
  find(rows: Read, statement: string, values?: readonly Param[], cost?: StatementCost): Promise<Fields[]>;
  /** For statements that return at most one row. */
  findOne(rows: Read, statement: string, values?: readonly Param[], cost?: StatementCost): Promise<Fields | undefined>;
  /** The same, in one statement for concurrent requests; the first column is never null (shared-read.ts). */
  findShared(rows: Read, statement: string, values: readonly Param[]): Promise<Fields | undefined>;
}

/** The row type of a `columns` declaration, which is its only definition. */
export type RowOf<Declared> = Declared extends Columns<infer Fields> ? Readonly<Fields> : never;

const columnName = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const columns = <Fields>(fields: { readonly [Name in keyof Fields]: Column<Fields[Name]> }): Columns<Fields> => {
  const names = Object.keys(fields) as (keyof Fields & string)[];
  const listOf = (alias: string): string => names.map((name) => fields[name].sql ?? `${alias}${columnName(name)}`).join(", ");
  const read = (row: Row, offset = 0): Fields => {
    const found: Partial<Fields> = {};
    for (const [index, name] of names.entries()) found[name] = fields[name].read(row[offset + index] ?? null);
    return found as Fields;
  };
  const find = async (rows: Read, statement: string, values?: readonly Param[], cost?: StatementCost): Promise<Fields[]> =>
    (await rows.query(statement, values, cost)).map((row) => read(row));
  return {
    list: listOf(""),
    listOf: (alias) => listOf(`${alias}.`),
    read,
    find,
    findOne: async (rows, statement, values, cost) => (await find(rows, statement, values, cost))[0],
    findShared: async (rows, statement, values) => {
      const found = await findSharedRow(rows, statement, values);
      return found && read(found.row, found.offset);
    },
  };
};
