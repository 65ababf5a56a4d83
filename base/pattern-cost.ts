// Estimates the cost of compiling a pattern from its text in one pass, before an engine sees it.
//
// The unit is one instruction of the program, about 2 µs (2 cores, 2026-11). The estimate is an upper bound; a test compares it
// with the real size of programs. For invalid patterns the result is meaningless.

import { limits } from "./limits.ts";

/** A Unicode class (\pL) is copied range by range: 0.1 ms; with (?i) letter by letter. */
const unicodeClassCost = 60;
/** With (?i), a range in a class is walked by code point: 24 ns each. */
const foldedPerUnit = 80;

interface Group {
  cost: number;
  /** Cost of the atom that a following repetition repeats. */
  atom: number;
}

const isDigit = (character: string): boolean => character >= "0" && character <= "9" && character !== "";

/** Reads "{2,5}": how often the preceding atom is written, how many of these are optional, and where it ends. */
const readRepetition = (text: string, from: number): { readonly times: number; readonly optional: number; readonly end: number } | undefined => {
  let at = from + 1;
  const readNumber = (): number | undefined => {
    const start = at;
    while (isDigit(text.charAt(at))) at++;
    return at > start ? Number(text.slice(start, at)) : undefined;
  };
  const least = readNumber();
  if (least === undefined) return undefined;
  let most: number | undefined = least;
  if (text.charAt(at) === ",") {
    at++;
    most = readNumber();
  }
  const times = Math.max(1, least, most ?? 0);
  return text.charAt(at) === "}" ? { times, optional: Math.max(2, times - least), end: at + 1 } : undefined;
};

const readEscape = (text: string, from: number): { readonly end: number; readonly isUnicodeClass: boolean } => {
  const kind = text.charAt(from + 1);
  const isUnicodeClass = kind === "p" || kind === "P";
  if ((isUnicodeClass || kind === "x") && text.charAt(from + 2) === "{") {
    const close = text.indexOf("}", from + 3);
    return { end: close < 0 ? text.length : close + 1, isUnicodeClass };
  }
  return { end: from + (isUnicodeClass ? 3 : kind === "x" ? 4 : 2), isUnicodeClass };
};

const codePointOf = (text: string, from: number, end: number): number => {
  if (text.charAt(from) !== "\\") return text.codePointAt(from) ?? 0;
  const digits = text.slice(from + 2, end).replace(/[{}]/g, "");
  return text.charAt(from + 1) === "x" ? Number.parseInt(digits, 16) || 0 : (text.codePointAt(from + 1) ?? 0);
};

const readClass = (text: string, from: number, folds: boolean): { readonly cost: number; readonly end: number } => {
  let at = from + 1;
  let cost = 0;
  let low: number | undefined;
  let isRange = false;
  if (text.charAt(at) === "^") at++;
  for (let first = true; at < text.length && (first || text.charAt(at) !== "]"); first = false) {
    if (text.startsWith("[:", at)) {
      const close = text.indexOf(":]", at + 2);
      at = close < 0 ? at + 2 : close + 2;
      cost++;
      continue;
    }
    const escape = text.charAt(at) === "\\" ? readEscape(text, at) : undefined;
    const end = escape?.end ?? at + String.fromCodePoint(text.codePointAt(at) ?? 0).length;
    if (escape?.isUnicodeClass) cost += unicodeClassCost;
    else if (text.charAt(at) === "-" && low !== undefined && text.charAt(at + 1) !== "]") isRange = true;
    else {
      const point = codePointOf(text, at, end);
      cost += 1 + (folds && isRange && low !== undefined ? Math.ceil(Math.max(0, point - low) / foldedPerUnit) : 0);
      low = isRange ? undefined : point;
      isRange = false;
    }
    at = end;
  }
  return { cost, end: at + 1 };
};

/** Returns an upper bound of the instructions; Infinity if the pattern is too long or nested too deeply. */
export const patternCost = (text: string): number => {
  if (text.length > limits.patternLengthMax) return Number.POSITIVE_INFINITY;
  const folds = /\(\?[A-Za-z-]*i/.test(text);
  // Cost of classes, which are read once however often they are repeated.
  let reading = 0;
  // Two for the whole: the match, and the start before it.
  const groups: Group[] = [{ cost: 4, atom: 0 }];
  const top = (): Group => groups.at(-1) ?? { cost: 0, atom: 0 };
  const add = (cost: number): void => {
    top().cost += cost;
    top().atom = cost;
  };
  const repeat = (times: number, optional: number): void => {
    const group = top();
    const repeated = times * group.atom + optional;
    group.cost += repeated - group.atom;
    group.atom = repeated;
  };
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (character === "\\" && text.charAt(at + 1) === "Q") {
      const close = text.indexOf("\\E", at + 2);
      const end = close < 0 ? text.length : close;
      for (let literal = at + 2; literal < end; literal++) add(1);
      at = end + 2;
    } else if (character === "\\") {
      const escape = readEscape(text, at);
      add(1);
      if (escape.isUnicodeClass) reading += unicodeClassCost;
      at = escape.end;
    } else if (character === "[") {
      const { cost, end } = readClass(text, at, folds);
      if (end - at > limits.patternClassLengthMax) return Number.POSITIVE_INFINITY;
      add(1);
      reading += cost;
      at = end;
    } else if (character === "(") {
      const opening = /\(\?[A-Za-z-]*:?/y;
      opening.lastIndex = at;
      const flags = opening.exec(text)?.[0].length ?? 0;
      groups.push({ cost: flags > 0 && text.charAt(at + flags) !== "<" ? 0 : 2, atom: 0 });
      if (groups.length > limits.patternDepthMax) return Number.POSITIVE_INFINITY;
      at += flags || 1;
    } else if (character === ")") {
      const inner = groups.length > 1 ? groups.pop() : undefined;
      add(inner?.cost ?? 1);
      at++;
    } else if (character === "*" || character === "+" || character === "?") {
      repeat(1, 2);
      at++;
    } else if (character === "{") {
      const repetition = readRepetition(text, at);
      if (repetition) repeat(repetition.times, repetition.optional);
      else add(1);
      at = repetition?.end ?? at + 1;
    } else {
      // "|" with an empty side takes two.
      add(character === "|" ? 2 : 1);
      at++;
    }
  }
  return groups.reduce((sum, { cost }) => sum + cost, reading);
};
