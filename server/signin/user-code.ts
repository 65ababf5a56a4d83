// The short code that a terminal shows and a person types (RFC 8628, 6.1): consonants alone, so that it spells nothing,
// needs no shift key and has no look-alikes; 20 of them in 8 places are 2.5 × 10¹⁰ codes.

import { randomInt } from "node:crypto";

const letters = "BCDFGHJKLMNPQRSTVWXZ";
const length = 8;

export const makeUserCode = (): string => Array.from({ length }, () => letters[randomInt(letters.length)]).join("");

/** The code that a person means, however it was typed; undefined where it cannot be one. */
export const readUserCode = (typed: string): string | undefined => {
  if (typed.length > 4 * length) return undefined;
  const code = typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
  return code.length === length && [...code].every((letter) => letters.includes(letter)) ? code : undefined;
};

/** As it is shown: in two halves, which are read out and compared more easily. */
export const formatUserCode = (code: string): string => `${code.slice(0, length / 2)}-${code.slice(length / 2)}`;
