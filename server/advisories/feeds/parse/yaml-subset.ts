// Reads the YAML subset of generated files: block maps with simple keys, block lists, one-line scalars and literal blocks. 16
// times as fast as a full parser. For anything else (flow collections, anchors, tags, escapes, folding, comments after values, …)
// it returns undefined, and the full parser takes over. It must never read a text differently.

import type { Json, JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { withoutTrailing } from "#base/trailing.ts";

interface Lines {
  readonly lines: readonly string[];
  at: number;
}

class OutsideSubset extends Error {}

const leaveSubset = (): never => {
  throw new OutsideSubset();
};

const keyForm = /^([A-Za-z_][A-Za-z0-9_-]*):(?: +([^ ].*)?)?$/;
const nullForm = /^(?:~|null|Null|NULL)$/;
// Do not start a plain scalar.
const startsOtherwise = /^[[\]{},#&*!|>'"%@`]|^[-?:](?:\s|$)/;

const indentOf = (line: string): number => {
  let count = 0;
  while (line[count] === " ") count++;
  return count;
};

/** Returns the indent of the next line, or -1 at the end. */
const skipToContent = (from: Lines): number => {
  for (; from.at < from.lines.length; from.at++) {
    const line = from.lines[from.at] ?? "";
    const indent = indentOf(line);
    if (indent === line.length || line[indent] === "#") continue;
    return line[indent] === "\t" ? leaveSubset() : indent;
  }
  return -1;
};

const readScalar = (source: string): Json => {
  const first = source[0];
  if (first === '"') return /^"[^"\\]*"$/.test(source) ? source.slice(1, -1) : leaveSubset();
  if (first === "'") return /^'(?:[^']|'')*'$/.test(source) ? source.slice(1, -1).replaceAll("''", "'") : leaveSubset();
  if (startsOtherwise.test(source) || source.includes(": ") || source.endsWith(":") || source.includes(" #") || source.includes("\t")) leaveSubset();
  return nullForm.test(source) ? null : source;
};

/** `strip` drops the last line end. */
const readLiteralBlock = (from: Lines, outer: number, strip: boolean): string => {
  let indent = -1;
  const kept: string[] = [];
  for (; from.at < from.lines.length; from.at++) {
    const line = from.lines[from.at] ?? "";
    const own = indentOf(line);
    if (own === line.length) {
      // Inside the block such blanks are text, before it an error.
      if (indent < 0 && own > 0) leaveSubset();
      kept.push(indent < 0 ? "" : line.slice(indent));
      continue;
    }
    if (indent < 0) {
      if (own <= outer) break;
      indent = own;
    }
    if (own < indent) {
      if (own > outer) leaveSubset();
      break;
    }
    kept.push(line.slice(indent));
  }
  if (indent < 0) return leaveSubset();
  // The rules for longer blank lines are not worth implementing.
  if (kept.some((line) => line !== "" && /^[ \t]*$/.test(line))) leaveSubset();
  const text = withoutTrailing(kept.join("\n"), "\n");
  return strip ? text : `${text}\n`;
};

/** A scalar, or a literal block. */
const readInlineValue = (from: Lines, source: string, outer: number): Json => {
  if (source === "|" || source === "|-") return readLiteralBlock(from, outer, source === "|-");
  const value = readScalar(source);
  // A deeper line would continue the scalar.
  if (skipToContent(from) > outer) leaveSubset();
  return value;
};

const readBlockMap = (from: Lines, indent: number, depth: number): JsonObject => {
  const found: JsonObject = {};
  let here = skipToContent(from);
  while (here === indent) {
    const line = withoutTrailing((from.lines[from.at] ?? "").slice(indent), " \t");
    const [match, key = "", rest = ""] = keyForm.exec(line) ?? [];
    if (match === undefined || key === "__proto__" || Object.hasOwn(found, key)) leaveSubset();
    from.at++;
    if (rest !== "") found[key] = readInlineValue(from, rest, indent);
    else {
      const below = skipToContent(from);
      // A list may have the same indent as its key.
      const listed = below === indent && /^-(?:\s|$)/.test((from.lines[from.at] ?? "").slice(indent));
      found[key] = below > indent || listed ? readBlock(from, below, depth + 1) : null;
    }
    here = skipToContent(from);
  }
  return here > indent ? leaveSubset() : found;
};

const readBlockList = (from: Lines, indent: number, depth: number): Json[] => {
  const found: Json[] = [];
  let here = skipToContent(from);
  while (here === indent) {
    const line = from.lines[from.at] ?? "";
    if (line[indent] !== "-") break;
    const rest = withoutTrailing(line.slice(indent + 1), " \t");
    const blanks = indentOf(rest);
    if (rest === "") {
      from.at++;
      const below = skipToContent(from);
      found.push(below > indent ? readBlock(from, below, depth + 1) : null);
    } else if (blanks === 0) leaveSubset();
    else if (keyForm.test(rest.slice(blanks)) || /^-(?:\s|$)/.test(rest.slice(blanks))) {
      // The text after the dash is the first line of a nested block.
      (from.lines as string[])[from.at] = `${" ".repeat(indent + 1)}${rest}`;
      found.push(readBlock(from, indent + 1 + blanks, depth + 1));
    } else {
      from.at++;
      found.push(readInlineValue(from, rest.slice(blanks), indent));
    }
    here = skipToContent(from);
  }
  return here > indent ? leaveSubset() : found;
};

const readBlock = (from: Lines, indent: number, depth: number): Json => {
  if (depth > limits.feedDepthMax) leaveSubset();
  const line = (from.lines[from.at] ?? "").slice(indent);
  return /^-(?:\s|$)/.test(line) ? readBlockList(from, indent, depth) : readBlockMap(from, indent, depth);
};

/** Returns undefined if the text is outside the subset. Scalars are texts or null. */
export const readYamlSubset = (text: string): Json | undefined => {
  if (/[\r\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufeff]/.test(text)) return undefined;
  const from: Lines = { lines: text.split("\n"), at: 0 };
  if (from.lines.some((line) => /^(?:%|\.\.\.)/.test(line))) return undefined;
  if (from.lines[0] === "---") from.at++;
  if (from.lines.some((line, index) => index > 0 && line.startsWith("---"))) return undefined;
  try {
    const indent = skipToContent(from);
    if (indent < 0) return undefined;
    const value = readBlock(from, indent, 0);
    return from.at < from.lines.length ? undefined : value;
  } catch (thrown) {
    if (thrown instanceof OutsideSubset) return undefined;
    throw thrown;
  }
};
