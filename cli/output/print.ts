// Prints responses in the requested format. Standard output gets only the resource's data.

import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { messageByName } from "#contract/catalog.ts";
import type { FieldFact, MessageFact } from "#contract/facts.ts";
import { wrongUsage } from "../exit-status.ts";
import { bold } from "./color.ts";
import { cellText, type Column, columnsByName, columnsOf, valueAtPath } from "./columns.ts";
import { csvColumnsOf, csvHead, csvText } from "./csv.ts";
import { onItsLines, onOneLine, printableJson } from "./escape.ts";
import type { OutputFormat } from "./format.ts";
import { gap, tableText, widthOf } from "./table.ts";
import { relativeTime } from "./relative-time.ts";
import { treeText } from "./tree.ts";

/** Returns name paths by uid, also for summaries in these resources. */
export type FindPaths = (message: MessageFact, resources: readonly JsonObject[]) => Promise<ReadonlyMap<string, string>>;

export interface Output {
  readonly format: OutputFormat;
  /** Requested columns; undefined for the contract's defaults. */
  readonly columns: readonly string[] | undefined;
  readonly out: Pick<NodeJS.WriteStream, "isTTY" | "columns">;
  readonly colored: boolean;
  /** The reference for relative times. */
  readonly now: () => number;
  /** Resolves when more may be written. */
  readonly write: (content: string | Uint8Array) => Promise<void>;
}

const chosenColumns = ({ format, columns }: Output, message: MessageFact): readonly Column[] => {
  if (columns === undefined) return format === "csv" ? csvColumnsOf(message) : columnsOf(message, format === "wide");
  const { columns: found, unknown } = columnsByName(message, columns);
  if (unknown.length > 0)
    throw wrongUsage(`--columns: unknown field ${unknown.join(", ")}. Known fields: ${message.fields.map(({ json }) => json).join(", ")}`);
  return found;
};

const formsWithColumns: readonly OutputFormat[] = ["table", "wide", "csv"];

const checkColumns = (output: Output, message: MessageFact): void => {
  if (output.columns === undefined) return;
  if (!formsWithColumns.includes(output.format)) throw wrongUsage(`--columns requires -o ${formsWithColumns.join(" or ")}`);
  chosenColumns(output, message);
};

const isUidColumn = ({ path }: Column): boolean => path.length === 1 && path[0] === "uid";

type Paths = ReadonlyMap<string, string>;

/** Returns the short form of a cell: relative times, and paths instead of names and uids. */
const shortCell = ({ path, field }: Column, resource: JsonObject, paths: Paths, nowMs: number): string => {
  const value = valueAtPath(resource, path);
  if (field?.kind === "timestamp" && typeof value === "string") return relativeTime(value, nowMs);
  const ownPath = path.length === 1 && path[0] === "name" ? paths.get(text(resource, "uid")) : undefined;
  const referred = typeof value === "string" && field !== undefined && field.refersTo !== "" ? paths.get(value) : undefined;
  return ownPath ?? referred ?? cellText(field, value);
};

/** "CALLER" instead of "CALLER UID" for uids shown as paths. */
const shortHeader = ({ header, field }: Column): string => (field !== undefined && field.refersTo !== "" ? header.replace(/ UID$/, "") : header);

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
  // A path identifies the resource, so no uid is needed.
  const needed = resources.every((resource) => paths.has(text(resource, "uid"))) ? columns.filter((column) => !isUidColumn(column)) : columns;
  const headerOf = (column: Column): string => (isShort && paths.size > 0 ? shortHeader(column) : column.header);
  const all = needed.map((column) => ({ column, cells: [headerOf(column), ...resources.map((resource) => onOneLine(cellOf(column, resource)))] }));
  // Empty columns are dropped; in a narrow terminal, then those of the lowest weight.
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
  // A resource without a name is identified by its fields: if they do not fit next to the uid, the uid is dropped.
  const isNameless = columns.filter(({ weight }) => weight === undefined).length === 1;
  if (isNameless && shown.length < 3 && shown.length < telling.length) shown = fittingColumns(telling.slice(0, -1), 1);
  const rows = (shown[0]?.cells ?? []).map((_, index) => shown.map(({ cells }) => cells[index] ?? ""));
  const uidAt = shown.findIndex(({ column }) => isUidColumn(column));
  return tableText(rows, { columns: out.isTTY ? out.columns : undefined, whole: uidAt === -1 ? 0 : uidAt, heading: (line) => bold(colored, line) });
};

/** Control sequences are kept in files and pipes, and escaped for terminals. */
const forStream = ({ out }: Output, content: string): string => (out.isTTY ? onItsLines(content) : content);

const jsonText = (value: Json): string => `${printableJson(JSON.stringify(value, undefined, 2))}\n`;

const linesOf = (resources: readonly JsonObject[]): string => resources.map((resource) => `${printableJson(JSON.stringify(resource))}\n`).join("");

const uidOf = (resource: JsonObject): string => text(resource, "uid") || text(resource, "id");

/** One per line; a name with a line break must not become two. */
const wordsText = (resources: readonly JsonObject[], word: (resource: JsonObject) => string): string =>
  resources
    .map(word)
    .filter((each) => each !== "")
    .map((each) => `${onOneLine(each)}\n`)
    .join("");

const leavesOf = (message: MessageFact | undefined, value: JsonObject, prefix: string): [path: string, field: FieldFact | undefined, value: Json][] =>
  Object.entries(value).flatMap(([key, held]) => {
    const field = message?.byName.get(key);
    const path = `${prefix}${key}`;
    if (isObject(held) && Object.keys(held).length > 0) return leavesOf(field?.shape === "one" ? field.message : undefined, held, `${path}.`);
    if (Array.isArray(held) && held.some(isObject))
      return held.map((entry, index): [string, FieldFact | undefined, Json] => [`${path}[${index}]`, field, entry]);
    return [[path, field, held]];
  });

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
      return write(forStream(output, csvHead(chosen) + csvText(chosen, [resource])));
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
  /** Prints the next page. */
  readonly add: (resources: readonly JsonObject[]) => Promise<void>;
  /** `reply`: the other fields of the response, for json and yaml. */
  readonly end: (reply: JsonObject) => Promise<void>;
}

export interface PathOptions {
  /** Returns the paths that a table shows instead of uids. */
  readonly findPaths: FindPaths;
  /** Also sorts by path. */
  readonly sorted: boolean;
  /** Rows and columns of a table that differ from the contract's. */
  readonly records?: { readonly columns: readonly Column[]; readonly rows: (resources: readonly JsonObject[]) => Promise<JsonObject[]> } | undefined;
}

const byPath = (resources: readonly JsonObject[], paths: Paths): JsonObject[] => {
  const pathOf = (resource: JsonObject): string => paths.get(text(resource, "uid")) ?? text(resource, "name");
  return resources.toSorted((one, other) => (pathOf(one) < pathOf(other) ? -1 : pathOf(one) > pathOf(other) ? 1 : 0));
};

/** Prints a list: page by page, or at the end if the format needs all of it. `list` is the field with the entries. */
export const openListPrinter = (output: Output, message: MessageFact, list: string, options?: PathOptions): ListPrinter => {
  const { format, write } = output;
  // Validates --columns before the first request.
  checkColumns(output, message);
  const columns = formsWithColumns.includes(format) ? chosenColumns(output, message) : [];
  const held: JsonObject[] = [];
  let begun = false;
  const streamed = (resources: readonly JsonObject[]): string | undefined => {
    switch (format) {
      case "jsonl":
        return linesOf(resources);
      case "csv":
        return forStream(output, (begun ? "" : csvHead(columns)) + csvText(columns, resources));
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
        const { columns: shown, rows } = options?.records ?? { columns, rows: () => Promise.resolve(held) };
        const resources = await rows(held);
        const paths = options ? await pathsOf(options.findPaths, message, shown, resources) : noPaths;
        return write(table(output, shown, options?.sorted ? byPath(resources, paths) : resources, paths));
      }
    },
  };
};
