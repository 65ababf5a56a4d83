// Order of Maven versions ("Version Order Specification" of the POM reference) as a sort key.
//
// A version is a sequence of tokens, each with its preceding separator. A change between digits and letters counts as a hyphen,
// as does a dot before a qualifier. Null tokens (0, "", final, ga) at the end or before a hyphen are dropped. At each position:
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
/** Valid only before a digit. */
const abbreviations: Readonly<Record<string, string>> = { a: "alpha", b: "beta", m: "milestone" };

const isNumber = ({ text }: Token): boolean => /^[0-9]/.test(text);
const isNull = ({ text }: Token): boolean => /^0+$/.test(text) || text === "" || text === "final" || text === "ga" || text === "release";

const mavenTokens = (version: string): Token[] => {
  const tokens: Token[] = [];
  // Each separator with the following token, which is empty between two separators.
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
  // A null token followed by a dot counts as none.
  if (isNull(token)) return noQualifier;
  return knownQualifiers[token.text] ?? otherQualifier + textKey(token.text);
};

/** Returns a key that sorts, by bytes, as Maven does; equal versions ("1" and "1.0") have equal keys. */
export const mavenKey = (version: string): string => withoutTrailingNulls(mavenTokens(version)).map(tokenKey).join("") + noQualifier;

export const compareMaven = (one: string, other: string): number => compareBytes(mavenKey(one), mavenKey(other));
