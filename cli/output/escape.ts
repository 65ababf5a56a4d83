// Text of a server on its way to a terminal. What others have named can hold what a terminal obeys: it moves the cursor, rewrites
// lines above, turns the direction of writing or sets the clipboard. None of it arrives (attack 142).

import { jsonEscapeOf, withUnseenAs } from "#base/unseen.ts";

const escapeOf = (character: string): string => {
  const known: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  return known[character] ?? jsonEscapeOf(character);
};

/** Controls (C0, DEL, C1), what is not seen or turns what stands around it, and breaks of a line. */
const escaped = (text: string): string => withUnseenAs(text, escapeOf).replace(/[\n\r\t]/g, escapeOf);

/** On one line, each such character as JSON escapes it. */
export const onOneLine = (text: string): string => escaped(text.toWellFormed());

/** The same, and lines stay lines. */
export const onItsLines = (text: string): string => text.split(/\r?\n/).map(onOneLine).join("\n");

/** JSON that means the same and holds none of these characters. A line break between its parts stays. */
export const printableJson = (json: string): string => json.split("\n").map(escaped).join("\n");

/** True where a text holds what must be escaped. */
export const isUnprintable = (text: string): boolean => escaped(text) !== text;
