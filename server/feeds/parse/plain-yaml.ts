// The plain part of YAML that generated files keep to: block maps with simple keys, block lists, scalars on one line and
// literal blocks. Sixteen times as fast as the whole language. Whatever else a text holds (flow collections, anchors,
// tags, escapes, folding, comments behind values, …), the answer is undefined, and the whole language reads it: this file
// may know less than YAML, but must never read anything differently.

import type { Json, JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";

interface Lines {
  readonly lines: readonly string[];
  /** Of the line that comes next. */
  at: number;
}

/** Not plain: the reading is given up. */
class Unplain extends Error {}

const give = (): never => {
  throw new Unplain();
};

const keyForm = /^([A-Za-z_][A-Za-z0-9_-]*):(?: +(.*))?$/;
const blanksBehind = /[ \t]+$/;
const nullForm = /^(?:~|null|Null|NULL)$/;
// Indicators that begin something else than a plain scalar.
const startsOtherwise = /^[[\]{},#&*!|>'"%@`]|^[-?:](?:\s|$)/;

const indentOf = (line: string): number => {
  let count = 0;
  while (line[count] === " ") count++;
  return count;
};

/** Passes over blank lines and comments; the indent of the line that stands next, -1 at the end. */
const settle = (from: Lines): number => {
  for (; from.at < from.lines.length; from.at++) {
    const line = from.lines[from.at] ?? "";
    const indent = indentOf(line);
    if (indent === line.length || line[indent] === "#") continue;
    return line[indent] === "\t" ? give() : indent;
  }
  return -1;
};

/** A scalar that stands on its line whole. */
const scalar = (given: string): Json => {
  const first = given[0];
  if (first === '"') return /^"[^"\\]*"$/.test(given) ? given.slice(1, -1) : give();
  if (first === "'") return /^'(?:[^']|'')*'$/.test(given) ? given.slice(1, -1).replaceAll("''", "'") : give();
  if (startsOtherwise.test(given) || given.includes(": ") || given.endsWith(":") || given.includes(" #") || given.includes("\t")) give();
  return nullForm.test(given) ? null : given;
};

/** The lines of a literal block below something of this indent; `strip` leaves the last line end out. */
const literal = (from: Lines, outer: number, strip: boolean): string => {
  let indent = -1;
  const kept: string[] = [];
  for (; from.at < from.lines.length; from.at++) {
    const line = from.lines[from.at] ?? "";
    const own = indentOf(line);
    if (own === line.length) {
      // Blanks deeper than the block are text inside of it, and a mistake in front of it.
      if (indent < 0 && own > 0) give();
      kept.push(indent < 0 ? "" : line.slice(indent));
      continue;
    }
    if (indent < 0) {
      if (own <= outer) break;
      indent = own;
    }
    if (own < indent) {
      if (own > outer) give();
      break;
    }
    kept.push(line.slice(indent));
  }
  if (indent < 0) return give();
  // A line of nothing but blanks beyond the block's own counts as text, or not, by rules too rare to be known here.
  if (kept.some((line) => line !== "" && /^[ \t]*$/.test(line))) give();
  const text = kept.join("\n").replace(/\n+$/, "");
  return strip ? text : `${text}\n`;
};

/** What stands behind "key:" or "-": a scalar, or what is indented below. */
const inline = (from: Lines, given: string, outer: number): Json => {
  if (given === "|" || given === "|-") return literal(from, outer, given === "|-");
  const value = scalar(given);
  // A line that is indented deeper goes on with the scalar.
  if (settle(from) > outer) give();
  return value;
};

const map = (from: Lines, indent: number, depth: number): JsonObject => {
  const found: JsonObject = {};
  let here = settle(from);
  while (here === indent) {
    const line = (from.lines[from.at] ?? "").slice(indent).replace(blanksBehind, "");
    const [whole, key = "", rest = ""] = keyForm.exec(line) ?? [];
    if (whole === undefined || key === "__proto__" || Object.hasOwn(found, key)) give();
    from.at++;
    if (rest !== "") found[key] = inline(from, rest, indent);
    else {
      const below = settle(from);
      // A list may stand as deep as its key.
      const listed = below === indent && /^-(?:\s|$)/.test((from.lines[from.at] ?? "").slice(indent));
      found[key] = below > indent || listed ? block(from, below, depth + 1) : null;
    }
    here = settle(from);
  }
  return here > indent ? give() : found;
};

const list = (from: Lines, indent: number, depth: number): Json[] => {
  const found: Json[] = [];
  let here = settle(from);
  while (here === indent) {
    const line = from.lines[from.at] ?? "";
    if (line[indent] !== "-") break;
    const rest = line.slice(indent + 1).replace(blanksBehind, "");
    const blanks = indentOf(rest);
    if (rest === "") {
      from.at++;
      const below = settle(from);
      found.push(below > indent ? block(from, below, depth + 1) : null);
    } else if (blanks === 0) give();
    else if (keyForm.test(rest.slice(blanks)) || /^-(?:\s|$)/.test(rest.slice(blanks))) {
      // What stands behind the dash is the first line of a block of its own.
      (from.lines as string[])[from.at] = `${" ".repeat(indent + 1)}${rest}`;
      found.push(block(from, indent + 1 + blanks, depth + 1));
    } else {
      from.at++;
      found.push(inline(from, rest.slice(blanks), indent));
    }
    here = settle(from);
  }
  return here > indent ? give() : found;
};

const block = (from: Lines, indent: number, depth: number): Json => {
  if (depth > limits.feedDepthMax) give();
  const line = (from.lines[from.at] ?? "").slice(indent);
  return /^-(?:\s|$)/.test(line) ? list(from, indent, depth) : map(from, indent, depth);
};

/** The value of a plain text: every scalar is its text, or null. Undefined where only the whole language can tell. */
export const readPlainYaml = (text: string): Json | undefined => {
  if (/[\r\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufeff]/.test(text)) return undefined;
  const from: Lines = { lines: text.split("\n"), at: 0 };
  if (from.lines.some((line) => /^(?:%|\.\.\.)/.test(line))) return undefined;
  if (from.lines[0] === "---") from.at++;
  if (from.lines.some((line, index) => index > 0 && line.startsWith("---"))) return undefined;
  try {
    const indent = settle(from);
    if (indent < 0) return undefined;
    const value = block(from, indent, 0);
    return from.at < from.lines.length ? undefined : value;
  } catch (thrown) {
    if (thrown instanceof Unplain) return undefined;
    throw thrown;
  }
};
