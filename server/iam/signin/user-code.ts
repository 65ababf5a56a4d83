// The short code that a terminal shows and a person types (RFC 8628, 6.1): consonants alone, so that it spells nothing,
// needs no shift key and has no look-alikes. 20 of them in 8 places are 2.6 × 10¹⁰ codes, and each two more are 400 times
// as many.
//
// What guessing is worth (RFC 8628, 5.1). At 600 wrong codes a minute, which is what people mistype at the very most, one
// of ten open codes of eight letters is found once in 3,000 days. From there on new codes have ten letters, which is as
// good up to 240,000 a minute, and beyond that twelve, up to 96 million; each address has ten a minute. Nobody is ever
// kept from typing. The codes of eight letters that are open when it begins end within a quarter of an hour: at 240,000 a
// minute one of ten is found in it once in 700 times. Whoever finds one can sign a stranger's terminal in as himself.

import { randomInt } from "node:crypto";
import { limits } from "#base/limits.ts";

const letters = "BCDFGHJKLMNPQRSTVWXZ";

/** How many letters a code may have, each length with the wrong codes in a minute up to which it is given. */
const lengths = [
  [8, limits.userCodeGuessesMax],
  [10, limits.userCodeGuessesMax * letters.length ** 2],
  [12, Number.POSITIVE_INFINITY],
] as const;

const lengthMax = 12;

/** The length of a new code, when in the worst minute of late so many wrong ones were typed. */
export const userCodeLength = (wrongCodes: number): number => lengths.find(([, wrongMax]) => wrongCodes <= wrongMax)?.[0] ?? lengthMax;

export const makeUserCode = (length: number): string => Array.from({ length }, () => letters[randomInt(letters.length)]).join("");

/** The code that a person means, however it was typed; undefined where it cannot be one. */
export const readUserCode = (typed: string): string | undefined => {
  if (typed.length > 4 * lengthMax) return undefined;
  const code = typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
  return lengths.some(([length]) => length === code.length) && [...code].every((letter) => letters.includes(letter)) ? code : undefined;
};

/** As it is shown: in groups of four or five, which are read out and compared more easily. */
export const formatUserCode = (code: string): string => {
  const size = code.length % 4 === 0 ? 4 : 5;
  return Array.from({ length: Math.ceil(code.length / size) }, (_, group) => code.slice(group * size, (group + 1) * size)).join("-");
};
