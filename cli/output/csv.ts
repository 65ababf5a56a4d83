// CSV for spreadsheets and other programs: RFC 4180, with full enum values and times.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import type { MessageFact } from "#contract/facts.ts";
import { type Column, columnOf, valueAtPath } from "./columns.ts";

/** Fields of a message that contains itself stay in one cell, as JSON. */
const leafColumns = (message: MessageFact, path: readonly string[], above: readonly MessageFact[]): Column[] =>
  message.fields
    .filter(({ inputOnly }) => !inputOnly)
    .flatMap((field): Column[] => {
      const nested = field.shape === "map" ? undefined : field.message;
      const own = [...path, field.json];
      if (nested === undefined || nested.fields.length === 0 || above.includes(nested)) return [{ ...columnOf(field, undefined), path: own }];
      return leafColumns(nested, own, [...above, nested]);
    });

/** Returns a column for each field, also for those of nested messages; the name is first and the uid last. */
export const csvColumnsOf = (message: MessageFact): Column[] => {
  const rank = ({ path }: Column): number => (path.join(".") === "name" ? 0 : path.join(".") === "uid" ? 2 : 1);
  return leafColumns(message, [], [message]).sort((one, other) => rank(one) - rank(other));
};

/** Spreadsheets run a cell that begins with one of these as a formula. Some convert the full-width forms first. */
const formulaStart = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const negativeNumber = /^-\d+(?:\.\d+)?$/;

const inert = (cell: string): string => (formulaStart.test(cell) && !negativeNumber.test(cell) ? `'${cell}` : cell);

const csvLine = (cells: readonly string[]): string =>
  `${cells
    .map(inert)
    .map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
    .join(",")}\r\n`;

const csvCell = (value: Json | undefined): string => {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map((entry) => csvCell(entry)).join(",");
  return isObject(value) ? JSON.stringify(value) : String(value);
};

export const csvHead = (columns: readonly Column[]): string => csvLine(columns.map(({ path }) => path.join(".")));

export const csvText = (columns: readonly Column[], resources: readonly JsonObject[]): string =>
  resources.map((resource) => csvLine(columns.map(({ path }) => csvCell(valueAtPath(resource, path))))).join("");
