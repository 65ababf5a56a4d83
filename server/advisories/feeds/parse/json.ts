// Parses untrusted JSON: the depth is checked before anything recurses into it. The parser with positions is several times slower
// than JSON.parse, so it runs only for the line of an error.

import type { Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { DocumentError, type Path } from "../invalid.ts";

const lineAt = (text: string, offset: number): number => {
  let line = 1;
  for (let end = text.indexOf("\n"); end >= 0 && end < offset; end = text.indexOf("\n", end + 1)) line++;
  return line;
};

/** Returns -1 if the string is not closed. */
const closingQuote = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return -1;
};

/** Returns undefined if the depth is within the limit. */
const tooDeepOffset = (text: string): number | undefined => {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      // Skips strings: most of a document is prose.
      at = closingQuote(text, at);
      if (at < 0) return undefined;
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > limits.feedDepthMax) return at;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return undefined;
};

const contentEnd = (text: string): number => {
  let end = text.length;
  while (end > 0 && " \t\r\n".includes(text[end - 1] ?? "")) end--;
  return end;
};

/** Returns the last line if the text is truncated. */
const mistakeLine = async (text: string): Promise<number> => {
  const { visit } = await import("jsonc-parser");
  let offset = text.length;
  const note = (at: number): void => {
    offset = Math.min(offset, at);
  };
  visit(text, { onError: (_code, at) => note(at), onComment: note }, { disallowComments: true });
  return lineAt(text, Math.min(offset, contentEnd(text)));
};

/** Throws DocumentError. */
export const readJson = async (text: string): Promise<Json> => {
  const deep = tooDeepOffset(text);
  if (deep !== undefined) throw new DocumentError(lineAt(text, deep), `is nested deeper than ${limits.feedDepthMax} levels`);
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    // Node's message quotes the text, including control characters.
    const message = (error instanceof Error ? error.message : String(error)).replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, " ").replace(/,? \.*".*/, "");
    throw new DocumentError(await mistakeLine(text), `not valid JSON: ${message}`);
  }
};

/** Returns the line (from 1) of the value at `path`, or of the nearest enclosing one. */
export const jsonLineOf = async (text: string, path: Path): Promise<number> => {
  const { visit } = await import("jsonc-parser");
  let offset = 0;
  /** Other values are skipped with their content. */
  const isOnPath = (at: number, pathOfValue: () => Path): boolean => {
    const here = pathOfValue();
    if (here.length > path.length || here.some((step, index) => step !== path[index])) return false;
    offset = at;
    return true;
  };
  visit(text, {
    onObjectBegin: (at, _length, _line, _character, pathOfValue) => isOnPath(at, pathOfValue),
    onArrayBegin: (at, _length, _line, _character, pathOfValue) => isOnPath(at, pathOfValue),
    onLiteralValue: (_value, at, _length, _line, _character, pathOfValue) => void isOnPath(at, pathOfValue),
    // Otherwise the library ignores everything after the first skipped value.
    onObjectEnd: () => {},
    onArrayEnd: () => {},
  });
  return lineAt(text, offset);
};
