// Converts command-line values by the kind of their field.

import { isObject, type Json } from "#base/json.ts";
import type { FieldFact } from "#contract/facts.ts";
import { wrongUsage } from "../exit-status.ts";
import { nearestOf } from "../nearest.ts";
import { shortValue, shortValues } from "../output/columns.ts";

export interface ValueReader {
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  /** Returns the content of a file, or of standard input for "-". Throws a Fault. */
  readonly readContent: (option: string, file: string) => Promise<string>;
}

/** More than fits into a line of help. */
export const shownValuesMax = 24;

const wrong = (option: string, what: string, value: string): Error => wrongUsage(`${option} must be ${what}, not ${JSON.stringify(value)}`);

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Parses "2026-11-20T08:00:00Z", a date, or a relative time: "+30d", "-90m". */
const readTime = (option: string, value: string, nowMs: number): string => {
  const [, sign, count, unit = ""] = /^([+-])(\d{1,6})([smhdw])$/.exec(value) ?? [];
  if (sign !== undefined) return new Date(nowMs + (sign === "-" ? -1 : 1) * Number(count) * (unitMs[unit] ?? 0)).toISOString();
  const full = /^\d{4}-\d\d-\d\d$/.test(value) ? `${value}T00:00:00Z` : value;
  const isTime = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:\d\d)$/.test(full) && !Number.isNaN(Date.parse(full));
  if (!isTime) throw wrong(option, "a time such as 2026-11-20T08:00:00Z, a day, or a time from now such as +30d or -12h", value);
  return new Date(full).toISOString();
};

const readSeconds = (option: string, value: string): string => {
  const [, count, unit = ""] = /^(\d{1,12}(?:\.\d{1,9})?)([smhdw])$/.exec(value) ?? [];
  if (count === undefined) throw wrong(option, "a duration such as 90m, 12h or 30d", value);
  return unit === "s" ? `${count}s` : `${(Number(count) * (unitMs[unit] ?? 0)) / 1000}s`;
};

const readEnum = (option: string, { enum: fact }: FieldFact, value: string): string => {
  if (fact === undefined || fact.numbers.has(value)) return value;
  const written = (name: string): string => name.toLowerCase().replaceAll("_", "-");
  const wanted = written(value);
  for (const name of fact.numbers.keys()) if (written(shortValue(fact, name)) === wanted) return name;
  const known = shortValues(fact);
  const nearest = nearestOf(wanted, known);
  const all = known.length > shownValuesMax ? "one of the values in the API reference" : `one of ${known.join(", ")}`;
  throw wrongUsage(`${option} must be ${all}, not ${JSON.stringify(value)}${nearest === undefined ? "" : ` (did you mean ${nearest}?)`}`);
};

const readStructure = async (option: string, content: string): Promise<Json> => {
  const { parseStructured } = await import("../output/yaml.ts");
  const { value, problem } = parseStructured(content);
  if (problem !== undefined || value === undefined) throw wrongUsage(`${option} must be JSON or YAML: ${problem ?? "it is empty"}`);
  return value;
};

/** Returns true for text of several lines, which is usually in a file. */
export const isMultiLine = ({ kind, name, example }: FieldFact): boolean =>
  kind === "string" && (example.includes("\n") || ["content", "readme"].includes(name));

/** Returns true for secrets, which other users could read on a command line, for structures and bytes, and for text of several lines. */
const takesContent = (field: FieldFact): boolean =>
  field.redacted || field.inputOnly || field.kind === "bytes" || field.kind === "message" || field.kind === "any" || isMultiLine(field);

const readOne = async (option: string, field: FieldFact, value: string, { nowMs }: ValueReader): Promise<Json> => {
  switch (field.kind) {
    case "bool":
      if (value !== "true" && value !== "false") throw wrong(option, "true or false", value);
      return value === "true";
    case "int32":
    case "double":
      if (value.trim() === "" || !Number.isFinite(Number(value)) || (field.kind === "int32" && !Number.isInteger(Number(value))))
        throw wrong(option, "a number", value);
      return Number(value);
    case "int64":
      if (!/^-?\d{1,19}$/.test(value)) throw wrong(option, "a whole number", value);
      return value;
    case "enum":
      return readEnum(option, field, value);
    case "timestamp":
      return value === "" ? "" : readTime(option, value, nowMs());
    case "duration":
      return readSeconds(option, value);
    case "bytes":
      return Buffer.from(value, "utf8").toString("base64");
    case "message":
    case "any":
      return readStructure(option, value);
    default:
      return value;
  }
};

const readEntry = async (option: string, field: FieldFact, value: string, reader: ValueReader): Promise<Json> => {
  const file = takesContent(field) && value === "-" ? "-" : takesContent(field) && value.startsWith("@") ? value.slice(1) : undefined;
  const content = file === undefined ? value : await reader.readContent(option, file);
  // The final line break of a file is not part of a secret.
  return readOne(option, field, file !== undefined && field.redacted ? content.replace(/\r?\n$/, "") : content, reader);
};

/** Parses "a,b", repeated; or a JSON list if an entry has a comma. */
const readListValue = async (option: string, field: FieldFact, values: readonly string[], reader: ValueReader): Promise<Json[]> => {
  const entries: Json[] = [];
  for (const value of values) {
    if (value === "") continue;
    if (value.startsWith("[")) {
      const list = await readStructure(option, value);
      if (!Array.isArray(list)) throw wrong(option, "a list", value);
      entries.push(...list);
    } else if (field.kind === "message" || field.kind === "any") {
      const read = await readEntry(option, field, value, reader);
      entries.push(...(Array.isArray(read) ? read : [read]));
    } else for (const entry of value.split(",")) if (entry !== "") entries.push(await readEntry(option, field, entry, reader));
  }
  return entries;
};

/** Parses "key=value", repeated; or one JSON object. */
const readMapValue = async (option: string, field: FieldFact, values: readonly string[], reader: ValueReader): Promise<Json> => {
  const entries: [string, Json][] = [];
  for (const value of values) {
    if (value === "") continue;
    if (value.startsWith("{")) {
      const object = await readStructure(option, value);
      if (!isObject(object)) throw wrong(option, "an object", value);
      entries.push(...Object.entries(object));
      continue;
    }
    const at = value.indexOf("=");
    if (at < 1) throw wrong(option, "KEY=VALUE", value);
    entries.push([value.slice(0, at), await readEntry(option, field, value.slice(at + 1), reader)]);
  }
  return Object.fromEntries(entries);
};

/** Returns the value of all occurrences of a flag. Throws a Fault if the field cannot hold it. */
export const readValue = async (option: string, field: FieldFact, values: readonly string[], reader: ValueReader): Promise<Json> => {
  if (field.shape === "list") return readListValue(option, field, values, reader);
  if (field.shape === "map") return readMapValue(option, field, values, reader);
  const [value = "", ...others] = values;
  if (others.length > 0) throw wrongUsage(`${option} must be given once, not ${values.length} times`);
  return readEntry(option, field, value, reader);
};
