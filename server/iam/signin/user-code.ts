// User codes (RFC 8628 §6.1): consonants only, so that they spell nothing and have no look-alikes. 20 letters in 8 places are 2.6 ×
// 10¹⁰ codes.
//
// Cost of guessing (RFC 8628 §5.1): at 600 wrong codes a minute, the most that typing errors cause, one of ten open codes of 8
// letters is found once in 3,000 days. Beyond that, new codes have 10 letters (as safe up to 240,000 a minute), then 12 (up to 96
// million). Each address has ten guesses a minute. Open codes of 8 letters expire within 15 minutes: at 240,000 a minute, one of ten
// is found once in 700 such windows.

import { randomInt } from "node:crypto";
import { limits } from "#base/limits.ts";

const letters = "BCDFGHJKLMNPQRSTVWXZ";

/** With the highest rate of wrong codes per minute for each length. */
const lengths = [
  [8, limits.userCodeGuessesMax],
  [10, limits.userCodeGuessesMax * letters.length ** 2],
  [12, Number.POSITIVE_INFINITY],
] as const;

const lengthMax = 12;

/** Returns the length for new codes, given the wrong codes of the worst recent minute. */
export const userCodeLength = (wrongCodes: number): number => lengths.find(([, wrongMax]) => wrongCodes <= wrongMax)?.[0] ?? lengthMax;

export const makeUserCode = (length: number): string => Array.from({ length }, () => letters[randomInt(letters.length)]).join("");

/** Normalizes a typed code; returns undefined if it cannot be one. */
export const readUserCode = (typed: string): string | undefined => {
  if (typed.length > 4 * lengthMax) return undefined;
  const code = typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
  return lengths.some(([length]) => length === code.length) && [...code].every((letter) => letters.includes(letter)) ? code : undefined;
};

/** Formats a code in groups of four or five, which are easier to read aloud and compare. */
export const formatUserCode = (code: string): string => {
  const size = code.length % 4 === 0 ? 4 : 5;
  return Array.from({ length: Math.ceil(code.length / size) }, (_, group) => code.slice(group * size, (group + 1) * size)).join("-");
};
