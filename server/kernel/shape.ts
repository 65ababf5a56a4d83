// Maps between messages and rows, the only place where the contract's fields and a table's columns meet. Columns have the names of
// proto fields; a field without a column is hydrated, or set by the resource's own method. Pure.
//
// decisions: JSON. A resource always has its booleans, numbers and common fields; empty texts, unset messages, unspecified enums,
// empty lists and maps are omitted. An additive boolean (1000 and above) is omitted if false.

import type { FieldFact, MessageFact } from "#contract/facts.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import type { Param, Row, Table } from "#db";

export interface Shape {
  readonly message: MessageFact;
  readonly table: Table;
  readonly fields: readonly FieldFact[];
  read(row: Row, offset: number): JsonObject;
  write(record: JsonObject, fields?: readonly FieldFact[]): Record<string, Param>;
}

/** Converts PostgreSQL's "2026-11-20 21:47:02.1+00" (the session's zone is UTC) to a timestamp with three decimals. */
export const timestampOf = (text: string): string => {
  const fraction = text.length > 22 ? text.slice(20, -3).padEnd(3, "0") : "000";
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
};

const parseJson = (text: string): Json => JSON.parse(text) as Json;

const compareKeys = ([one]: [string, Json], [other]: [string, Json]): number => (one < other ? -1 : 1);

const arrangedValue = (field: FieldFact, value: Json): Json => {
  const inner = field.message;
  const each = (entry: Json): Json => (inner && isObject(entry) ? arranged(inner, entry) : entry);
  if (field.shape === "list") return Array.isArray(value) && inner ? value.map(each) : value;
  if (field.shape === "one" || !isObject(value)) return each(value);
  return Object.fromEntries(
    Object.entries(value)
      .sort(compareKeys)
      .map(([key, entry]) => [key, each(entry)]),
  );
};

/**
 * Returns the message with its keys in the contract's order, and map keys in byte order. A row (jsonb has its own order), a request
 * body and filled-in fields can then be compared as texts, and the ETag of an update equals that of the next read.
 */
export const arranged = (message: MessageFact, value: JsonObject): JsonObject => {
  const out: JsonObject = {};
  for (const field of message.fields) {
    const held = value[field.json];
    if (held !== undefined) out[field.json] = arrangedValue(field, held);
  }
  return out;
};

// The same few lists (bundles, capabilities) are in thousands of rows: each is parsed once, frozen because it is shared, and cached by
// its text. Measured: a page of 50 repos reads in half the time.
const listsMax = 2_000;
const listLengthMax = 8_192;

const listReader = (): ((text: string) => Json | undefined) => {
  const known = new Map<string, Json | undefined>();
  return (text) => {
    if (text === "[]") return undefined;
    const held = known.get(text);
    if (held !== undefined) return held;
    const list = parseJson(text);
    Object.freeze(list);
    if (known.size >= listsMax) known.clear();
    if (text.length <= listLengthMax) known.set(text, list);
    return list;
  };
};

/** Returns a parser of a column's text; undefined means that the field is omitted. */
const reader = (field: FieldFact): ((text: string) => Json | undefined) => {
  if (field.shape === "list" && !field.message) return listReader();
  if (field.shape !== "one" || field.kind === "message") {
    return (text) => (text === "[]" || (text === "{}" && field.shape === "map") ? undefined : arrangedValue(field, parseJson(text)));
  }
  switch (field.kind) {
    case "bool":
      // An additive boolean is present only if true: clients that know only the public message may reject unknown fields.
      return field.additive ? (text) => (text === "t" ? true : undefined) : (text) => text === "t";
    case "timestamp":
      return timestampOf;
    case "int32":
    case "double":
      return Number;
    case "enum": {
      const unspecified = field.enum?.names.get(0);
      return (text) => (text === unspecified ? undefined : text);
    }
    default:
      return (text) => (text === "" ? undefined : text);
  }
};

export const emptyParamOf = (field: FieldFact): Param => {
  if (field.shape !== "one" || field.kind === "message") return null;
  switch (field.kind) {
    case "bool":
      return false;
    case "int32":
    case "int64":
    case "double":
      return 0;
    case "timestamp":
    case "enum":
      return null;
    default:
      return "";
  }
};

const paramOf = (field: FieldFact, value: Json | undefined): Param => {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return emptyParamOf(field);
  if (field.kind === "enum" && field.enum?.numbers.get(String(value)) === 0) return emptyParamOf(field);
  return typeof value === "object" ? JSON.stringify(value) : value;
};

/** Version 1 has fields that version 2 has elsewhere. */
export type ShapeVersion = "version 1" | "version 2";

/** `columns` are the names of the table's columns in the database. */
export const shapeOf = (message: MessageFact, table: string, columns: Pick<ReadonlySet<string>, "has">, version: ShapeVersion = "version 2"): Shape => {
  // The uid comes first, where pages and hydration expect it.
  const fields = message.fields
    .filter((field) => columns.has(field.name) && (version === "version 1" || !field.version1Only))
    .sort((one, other) => Number(other.name === "uid") - Number(one.name === "uid"));
  const readers = fields.map((field) => ({ key: field.json, of: reader(field) }));
  return {
    message,
    fields,
    table: { name: table, columns: fields.map((field) => field.name), uniqueNames: message.resource?.unique.join() === "name" },
    read(row, offset) {
      const record: JsonObject = {};
      for (let index = 0; index < readers.length; index++) {
        const text = row[offset + index];
        const each = readers[index];
        if (text === null || text === undefined || !each) continue;
        const value = each.of(text);
        if (value !== undefined) record[each.key] = value;
      }
      return record;
    },
    write(record, only = fields) {
      const values: Record<string, Param> = {};
      for (const field of only) values[field.name] = paramOf(field, record[field.json]);
      return values;
    },
  };
};

/** Returns a draft as a read would return it, with the same fields omitted. */
export const presented = ({ fact, shape }: { readonly fact: MessageFact; readonly shape: Shape }, draft: JsonObject): JsonObject => {
  const out: JsonObject = {};
  const values = arranged(fact, draft);
  for (const field of shape.fields) {
    const value = values[field.json];
    const shown = value ?? (field.shape === "one" && field.kind === "bool" ? false : undefined);
    const empty =
      shown === undefined ||
      shown === "" ||
      (shown === false && field.additive) ||
      (Array.isArray(shown) && shown.length === 0) ||
      (field.shape === "map" && Object.keys(shown).length === 0) ||
      (field.kind === "enum" && field.enum?.numbers.get(String(shown)) === 0);
    if (!empty) out[field.json] = shown;
  }
  return out;
};
