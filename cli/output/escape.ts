// Text of a server on its way to a terminal. What others have named can hold what a terminal obeys: it moves the cursor, rewrites
// lines above, turns the direction of writing or sets the clipboard. None of it arrives (attack 142).

/** Controls (C0, DEL, C1), marks that are not seen or turn what stands around them, and further breaks of a line. */
const unprintable = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

const escapeOf = (character: string): string => {
  const known: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  if (known[character] !== undefined) return known[character];
  // As JSON writes it: beyond four digits two halves.
  return [...Array(character.length).keys()].map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
};

/** On one line, each such character as JSON escapes it. */
export const onOneLine = (text: string): string => text.toWellFormed().replace(unprintable, escapeOf);

/** The same, and lines stay lines. */
export const onItsLines = (text: string): string => text.split(/\r?\n/).map(onOneLine).join("\n");

/** JSON that means the same and holds none of these characters. A line break or a tab between its parts stays. */
export const printableJson = (json: string): string => json.replace(unprintable, (character) => (character === "\n" ? character : escapeOf(character)));

/** True where a text holds what must be escaped. */
export const isUnprintable = (text: string): boolean => text.search(unprintable) !== -1;
