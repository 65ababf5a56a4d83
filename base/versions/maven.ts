// The order of Maven's versions, by the "Version Order Specification" of the POM reference, as a sort key. Pure.
//
// A version is a sequence of tokens, each with the separator before it. Changing from digits to letters or back counts
// as a hyphen, and so does a dot before a qualifier. Trailing nulls (0, "", final, ga) mean nothing, nor do those
// before a hyphen. At each position, in this order:
//
//   alpha < beta < milestone < rc = cr < snapshot < (nothing) < sp < other qualifiers < -number < .number

import { compareBytes, numberKey, textKey } from "./sort-key.ts";

interface Token {
  readonly separator: "." | "-";
  readonly text: string;
}

const knownQualifiers: Readonly<Record<string, string>> = { alpha: "A", beta: "B", milestone: "C", rc: "D", cr: "D", snapshot: "E", sp: "G" };
const noQualifier = "F";
const otherQualifier = "H";
const hyphenNumber = "I";
const dotNumber = "J";
/** Before a digit, one letter is enough. */
const abbreviations: Readonly<Record<string, string>> = { a: "alpha", b: "beta", m: "milestone" };

const isNumber = ({ text }: Token): boolean => /^[0-9]/.test(text);
const isNull = ({ text }: Token): boolean => /^0+$/.test(text) || text === "" || text === "final" || text === "ga" || text === "release";

const mavenTokens = (version: string): Token[] => {
  const tokens: Token[] = [];
  // Each separator with the token behind it, which is empty where two separators meet.
  const parts = version.toLowerCase().matchAll(/([.-]|^|(?<=[0-9])(?=[^0-9.-])|(?<=[^0-9.-])(?=[0-9]))([0-9]+|[^0-9.-]*)/g);
  for (const [, separator = "", found = ""] of parts) {
    const text = found === "" ? "0" : found;
    const dotted = separator === "." || (separator === "" && tokens.length === 0);
    tokens.push({ separator: dotted && /^[0-9]/.test(text) ? "." : "-", text });
  }
  return tokens.map((token, index) => {
    const next = tokens[index + 1];
    const digitFollows = next !== undefined && next.separator === "-" && isNumber(next);
    return digitFollows && abbreviations[token.text] !== undefined ? { ...token, text: abbreviations[token.text] ?? "" } : token;
  });
};

/** Without the nulls at the end and before each hyphen. */
const withoutTrailingNulls = (tokens: readonly Token[]): Token[] => {
  const kept: Token[] = [];
  for (const token of tokens) {
    if (token.separator === "-") while (kept.length > 0 && isNull(kept.at(-1) as Token)) kept.pop();
    kept.push(token);
  }
  while (kept.length > 0 && isNull(kept.at(-1) as Token)) kept.pop();
  return kept;
};

const tokenKey = (token: Token): string => {
  if (isNumber(token)) return (token.separator === "." ? dotNumber : hyphenNumber) + numberKey(token.text);
  // A null that something follows with a dot: as much as none.
  if (isNull(token)) return noQualifier;
  return knownQualifiers[token.text] ?? otherQualifier + textKey(token.text);
};

/** Sorts by its bytes as Maven sorts versions; equal for equal ones ("1" and "1.0"). */
export const mavenKey = (version: string): string => withoutTrailingNulls(mavenTokens(version)).map(tokenKey).join("") + noQualifier;

export const compareMaven = (one: string, other: string): number => compareBytes(mavenKey(one), mavenKey(other));
