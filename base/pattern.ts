// Patterns that users write: RE2 syntax in a linear-time engine, always matched against the whole text
// (decisions: Tokens). A user's pattern never becomes a RegExp, so no text can make it run away.

import { RE2JS } from "re2js";

/** A compiled pattern: true where it matches the whole text. */
export type Pattern = (text: string) => boolean;

/** Longest pattern text: the documented ones are below 100 characters, a list of 20 repositories below this. */
export const patternLengthMax = 1024;

// Linear means text × program, and `(?:a?){500}a{500}` is a small text with a large program. 3,000 instructions
// hold one `.{1,1000}` and the longest pattern of literals; with texts of 1,024 characters the worst pattern found
// takes 0.07 s (2 cores, 2026-11). A longer text matches nothing: refusing is the safe side for a grant.
const programSizeMax = 3_000;
const textLengthMax = 1_024;

// Compiling costs 0.1-10 ms, matching microseconds; a server sees few patterns again and again.
const cacheEntriesMax = 1_000;
const compiled = new Map<string, Pattern | undefined>();

const compile = (text: string): Pattern | undefined => {
  if (text.length > patternLengthMax) return undefined;
  try {
    const program = RE2JS.compile(text);
    if (program.programSize() > programSizeMax) return undefined;
    return (value) => value.length <= textLengthMax && program.matches(value);
  } catch {
    return undefined;
  }
};

/** The pattern, or undefined where the text is no RE2 pattern, or too large a one. */
export const compilePattern = (text: string): Pattern | undefined => {
  const known = compiled.get(text);
  if (known !== undefined || compiled.has(text)) {
    // Put back last: the first entry is then the one that was not used for longest.
    compiled.delete(text);
    compiled.set(text, known);
    return known;
  }
  const pattern = compile(text);
  // A text beyond the limit is refused at once and would only take the others' entries.
  if (text.length > patternLengthMax) return undefined;
  if (compiled.size >= cacheEntriesMax) {
    const oldest = compiled.keys().next();
    if (!oldest.done) compiled.delete(oldest.value);
  }
  compiled.set(text, pattern);
  return pattern;
};
