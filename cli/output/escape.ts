// Escapes server text for terminals. User-chosen names could otherwise move the cursor, rewrite lines, change text direction or
// set the clipboard (attack 142).

import { jsonEscapeOf, withUnseenAs } from "#base/unseen.ts";

const escapeOf = (character: string): string => {
  const known: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  return known[character] ?? jsonEscapeOf(character);
};

/** Escapes control characters (C0, DEL, C1), invisible and direction-changing characters, and line breaks. */
const escaped = (text: string): string => withUnseenAs(text, escapeOf).replace(/[\n\r\t]/g, escapeOf);

/** Returns the text on one line, with JSON escapes. */
export const onOneLine = (text: string): string => escaped(text.toWellFormed());

/** The same, but keeps line breaks. */
export const onItsLines = (text: string): string => text.split(/\r?\n/).map(onOneLine).join("\n");

/** Returns equivalent JSON without such characters; line breaks between tokens stay. */
export const printableJson = (json: string): string => json.split("\n").map(escaped).join("\n");

export const isUnprintable = (text: string): boolean => escaped(text) !== text;
