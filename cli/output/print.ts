// Writes what a server answered, in the form that is asked for. Only the resource's own data goes to standard output.

import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { messageByName } from "#contract/catalog.ts";
import type { FieldFact, MessageFact } from "#contract/facts.ts";
import { wrongUsage } from "../exit-status.ts";
import { bold } from "./color.ts";
import { cellText, type Column, columnsByName, columnsOf, valueAtPath } from "./columns.ts";
import { onItsLines, onOneLine, printableJson } from "./escape.ts";
import type { OutputFormat } from "./format.ts";
import { gap, tableText, widthOf } from "./table.ts";
import { relativeTime } from "./relative-time.ts";
import { treeText } from "./tree.ts";

/** The paths of names of these resources by their uids; of those without a name it is read. */
export type FindPaths = (message: MessageFact, resources: readonly JsonObject[]) => Promise<ReadonlyMap<string, string>>;

export interface Output {
  readonly format: OutputFormat;
  /** The columns that were asked for; undefined: those that the contract suggests. */
  readonly columns: readonly string[] | undefined;
  readonly out: Pick<NodeJS.WriteStream, "isTTY" | "columns">;
  readonly colored: boolean;
  /** What a table's times are told from. */
  readonly now: () => number;
  /** Resolves when more may be written. */
  readonly write: (content: string | Uint8Array) => Promise<void>;
}

const chosenColumns = ({ format, columns }: Output, message: MessageFact): readonly Column[] => {
  if (columns === undefined) return columnsOf(message, format === "wide" || format === "csv");
  const { columns: found, unknown } = columnsByName(message, columns);
  if (unknown.length > 0)
    throw wrongUsage(`--columns: unknown field ${unknown.join(", ")}. Known fields: ${message.fields.map(({ json }) => json).join(", ")}`);
  return found;
};

const formsWithColumns: readonly OutputFormat[] = ["table", "wide", "csv"];

/** Throws where columns are asked for that the form does not have, or the resource. */
const checkColumns = (output: Output, message: MessageFact): void => {
  if (output.columns === undefined) return;
  if (!formsWithColumns.includes(output.format)) throw wrongUsage(`--columns requires -o ${formsWithColumns.join(" or ")}`);
  chosenColumns(output, message);
};

const isUidColumn = ({ path }: Column): boolean => path.length === 1 && path[0] === "uid";

type Paths = ReadonlyMap<string, string>;

/** What a table shows in short: how long ago something was, and paths of names in place of names and uids. */
const shortCell = ({ path, field }: Column, resource: JsonObject, paths: Paths, nowMs: number): string => {
  const value = valueAtPath(resource, path);
  if (field?.kind === "timestamp" && typeof value === "string") return relativeTime(value, nowMs);
  const ownPath = path.length === 1 && path[0] === "name" ? paths.get(text(resource, "uid")) : undefined;
  const referred = typeof value === "string" && field !== undefined && field.refersTo !== "" ? paths.get(value) : undefined;
  return ownPath ?? referred ?? cellText(field, value);
};

/** "CALLER" of a column of uids that are shown as paths. */
const shortHeader = ({ header, field }: Column): string => (field !== undefined && field.refersTo !== "" ? header.replace(/ UID$/, "") : header);

/** The paths of what these are called, and of what their columns name. */
const pathsOf = async (findPaths: FindPaths, message: MessageFact, columns: readonly Column[], resources: readonly JsonObject[]): Promise<Paths> => {
  const paths = new Map(await findPaths(message, resources));
  for (const { path, field } of columns) {
    const referred = field === undefined ? undefined : messageByName(field.refersTo);
    if (referred === undefined) continue;
    const uids = new Set(resources.map((resource) => valueAtPath(resource, path)));
    const named = [...uids].flatMap((uid) => (typeof uid === "string" && uid !== "" ? [{ uid }] : []));
    for (const [uid, place] of await findPaths(referred, named)) paths.set(uid, place);
  }
  return paths;
};

const noPaths: Paths = new Map();

const table = (output: Output, columns: readonly Column[], resources: readonly JsonObject[], paths = noPaths): string => {
  const { out, colored } = output;
  if (resources.length === 0) return "";
  const nowMs = output.now();
  const isShort = output.format === "table";
  const cellOf = (column: Column, resource: JsonObject): string =>
    isShort ? shortCell(column, resource, paths, nowMs) : cellText(column.field, valueAtPath(resource, column.path));
  // Who has a path needs no uid to be named.
  const needed = resources.every((resource) => paths.has(text(resource, "uid"))) ? columns.filter((column) => !isUidColumn(column)) : columns;
  const headerOf = (column: Column): string => (isShort && paths.size > 0 ? shortHeader(column) : column.header);
  const all = needed.map((column) => ({ column, cells: [headerOf(column), ...resources.map((resource) => onOneLine(cellOf(column, resource)))] }));
  // A column that says nothing of any row says nothing; on a narrow terminal the least of what is left goes first.
  const telling = all.filter(({ column: { weight }, cells }) => weight === undefined || cells.some((cell, index) => index > 0 && cell !== ""));
  const fittingColumns = (chosen: typeof all, columnsMin: number): typeof all => {
    let shown = chosen;
    const widthOfAll = (): number => shown.reduce((sum, { cells }) => sum + gap.length + Math.max(...cells.map(widthOf)), -gap.length);
    while (out.isTTY && widthOfAll() > out.columns && shown.length > columnsMin) {
      const weights = shown.flatMap(({ column: { weight } }) => (weight === undefined ? [] : [weight]));
      if (weights.length === 0) break;
      const least = shown.findLastIndex(({ column: { weight } }) => weight === Math.min(...weights));
      shown = shown.toSpliced(least, 1);
    }
    return shown;
  };
  let shown = fittingColumns(telling, 0);
  // What has no name is told by what it says: where next to nothing of that has room beside the uid, the uid goes.
  const isNameless = columns.filter(({ weight }) => weight === undefined).length === 1;
  if (isNameless && shown.length < 3 && shown.length < telling.length) shown = fittingColumns(telling.slice(0, -1), 1);
  const rows = (shown[0]?.cells ?? []).map((_, index) => shown.map(({ cells }) => cells[index] ?? ""));
  const uidAt = shown.findIndex(({ column }) => isUidColumn(column));
  return tableText(rows, { columns: out.isTTY ? out.columns : undefined, whole: uidAt === -1 ? 0 : uidAt, heading: (line) => bold(colored, line) });
};

/** RFC 4180, in full: neither enums nor times are shortened. */
const csvLine = (cells: readonly string[]): string =>
  `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")}\r\n`;

const csvCell = (value: Json | undefined): string => {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map((entry) => csvCell(entry)).join(",");
  return isObject(value) ? JSON.stringify(value) : String(value);
};

/** What a terminal would obey goes to a file or another program as it is, and to no terminal. */
const forStream = ({ out }: Output, content: string): string => (out.isTTY ? onItsLines(content) : content);

const csvHead = (output: Output, columns: readonly Column[]): string => forStream(output, csvLine(columns.map(({ path }) => path.join("."))));

const csvText = (output: Output, columns: readonly Column[], resources: readonly JsonObject[]): string =>
  resources.map((resource) => forStream(output, csvLine(columns.map(({ path }) => csvCell(valueAtPath(resource, path)))))).join("");

const jsonText = (value: Json): string => `${printableJson(JSON.stringify(value, undefined, 2))}\n`;

const linesOf = (resources: readonly JsonObject[]): string => resources.map((resource) => `${printableJson(JSON.stringify(resource))}\n`).join("");

const uidOf = (resource: JsonObject): string => text(resource, "uid") || text(resource, "id");

/** One a line, for other programs: a name with a line break must not become two. */
const wordsText = (resources: readonly JsonObject[], word: (resource: JsonObject) => string): string =>
  resources
    .map(word)
    .filter((each) => each !== "")
    .map((each) => `${onOneLine(each)}\n`)
    .join("");

/** The fields that are lines of their own, by their dotted JSON names. */
const leavesOf = (message: MessageFact | undefined, value: JsonObject, prefix: string): [path: string, field: FieldFact | undefined, value: Json][] =>
  Object.entries(value).flatMap(([key, held]) => {
    const field = message?.byName.get(key);
    const path = `${prefix}${key}`;
    if (isObject(held) && Object.keys(held).length > 0) return leavesOf(field?.shape === "one" ? field.message : undefined, held, `${path}.`);
    if (Array.isArray(held) && held.some(isObject))
      return held.map((entry, index): [string, FieldFact | undefined, Json] => [`${path}[${index}]`, field, entry]);
    return [[path, field, held]];
  });

/** A line for each field, for people. */
const recordText = ({ colored }: Output, message: MessageFact | undefined, resource: JsonObject): string => {
  const lines = leavesOf(message, resource, "");
  const width = Math.max(0, ...lines.map(([path]) => path.length));
  return lines
    .map(([path, field, value]) => {
      const shown = onItsLines(cellText(field, value)).replaceAll("\n", `\n${" ".repeat(width + 2)}`);
      return `${bold(colored, onOneLine(path).padEnd(width))}  ${shown}`.trimEnd().concat("\n");
    })
    .join("");
};

/** Writes one resource, or an answer that is none. */
export const printResource = async (output: Output, message: MessageFact, resource: JsonObject): Promise<void> => {
  const { format, columns, write } = output;
  checkColumns(output, message);
  switch (format) {
    case "table":
    case "wide":
      return write(columns === undefined ? recordText(output, message, resource) : table(output, chosenColumns(output, message), [resource]));
    case "json":
      return write(jsonText(resource));
    case "jsonl":
      return write(linesOf([resource]));
    case "yaml":
      return write((await import("./yaml.ts")).yamlText(resource));
    case "csv": {
      const chosen = chosenColumns(output, message);
      return write(csvHead(output, chosen) + csvText(output, chosen, [resource]));
    }
    case "uid":
      return write(wordsText([resource], uidOf));
    case "name":
      return write(wordsText([resource], (each) => text(each, "name")));
    case "tree":
      return write(treeText([resource]));
  }
};

export interface ListPrinter {
  /** What the next page has. */
  readonly add: (resources: readonly JsonObject[]) => Promise<void>;
  /** `reply`: what the list's answer says besides, for json and yaml. */
  readonly end: (reply: JsonObject) => Promise<void>;
}

export interface PathOptions {
  /** The paths of names that a table shows in place of uids. */
  readonly findPaths: FindPaths;
  /** In their order, too. */
  readonly sorted: boolean;
}

const byPath = (resources: readonly JsonObject[], paths: Paths): JsonObject[] => {
  const pathOf = (resource: JsonObject): string => paths.get(text(resource, "uid")) ?? text(resource, "name");
  return resources.toSorted((one, other) => (pathOf(one) < pathOf(other) ? -1 : pathOf(one) > pathOf(other) ? 1 : 0));
};

/** Writes a list: line by line as its pages come, or whole where the form wants all of it. `list` is the field that holds it. */
export const openListPrinter = (output: Output, message: MessageFact, list: string, options?: PathOptions): ListPrinter => {
  const { format, write } = output;
  // Before anything is asked for: what is wrong with --columns is.
  checkColumns(output, message);
  const columns = formsWithColumns.includes(format) ? chosenColumns(output, message) : [];
  const held: JsonObject[] = [];
  let begun = false;
  const streamed = (resources: readonly JsonObject[]): string | undefined => {
    switch (format) {
      case "jsonl":
        return linesOf(resources);
      case "csv":
        return (begun ? "" : csvHead(output, columns)) + csvText(output, columns, resources);
      case "uid":
        return wordsText(resources, uidOf);
      case "name":
        return wordsText(resources, (each) => text(each, "name"));
      default:
        return undefined;
    }
  };
  const add = async (resources: readonly JsonObject[]): Promise<void> => {
    const lines = streamed(resources);
    begun = true;
    if (lines === undefined) held.push(...resources);
    else if (lines !== "") await write(lines);
  };
  return {
    add,
    async end(reply) {
      if (!begun) await add([]);
      if (format === "json") return write(jsonText({ [list]: held, ...reply }));
      if (format === "yaml") return write((await import("./yaml.ts")).yamlText({ [list]: held, ...reply }));
      if (format === "tree") return write(treeText(held));
      if (format === "wide" || (format === "table" && output.columns !== undefined)) return write(table(output, columns, held));
      if (format === "table") {
        const paths = options ? await pathsOf(options.findPaths, message, columns, held) : noPaths;
        return write(table(output, columns, options?.sorted ? byPath(held, paths) : held, paths));
      }
    },
  };
};
