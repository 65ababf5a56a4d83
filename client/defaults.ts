// Adds the defaults that proto3 omits from responses, so that programs need not handle absent values. Messages, times and fields
// with presence stay absent.

import { isObject, type Json, type JsonObject } from "#base/json.ts";

/** JSON names of a message's fields by default value, and its nested messages. */
export interface MessageDefaults {
  readonly texts?: readonly string[];
  readonly flags?: readonly string[];
  readonly numbers?: readonly string[];
  /** 64-bit integers, strings in JSON. */
  readonly longs?: readonly string[];
  readonly lists?: readonly string[];
  readonly maps?: readonly string[];
  readonly enums?: Readonly<Record<string, string>>;
  readonly parts?: Readonly<Record<string, string>>;
}

type Table = Readonly<Record<string, MessageDefaults>>;

const withPart = (table: Table, name: string, isMap: boolean, value: Json): Json => {
  if (Array.isArray(value)) return value.map((entry) => withPart(table, name, false, entry));
  if (!isObject(value)) return value;
  return isMap ? Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, withPart(table, name, false, entry)])) : withDefaults(table, name, value);
};

export const withDefaults = (table: Table, name: string, message: JsonObject): JsonObject => {
  const { texts = [], flags = [], numbers = [], longs = [], lists = [], maps = [], enums = {}, parts = {} } = table[name] ?? {};
  const out: JsonObject = { ...message };
  for (const key of texts) out[key] ??= "";
  for (const key of flags) out[key] ??= false;
  for (const key of numbers) out[key] ??= 0;
  for (const key of longs) out[key] ??= "0";
  for (const key of lists) out[key] ??= [];
  for (const key of maps) out[key] ??= {};
  for (const [key, value] of Object.entries(enums)) out[key] ??= value;
  for (const [key, part] of Object.entries(parts)) {
    const value = out[key];
    if (value !== undefined) out[key] = withPart(table, part, maps.includes(key), value);
  }
  return out;
};
