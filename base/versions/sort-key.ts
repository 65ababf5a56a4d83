// Sort keys: texts that sort by bytes as versions do, so that an index can order them.

/** Ends a text within a key. It is below every character, so that "a" sorts before "ab". */
const end = "\u0001";

/** Encodes a number of any length with its number of digits first. */
export const numberKey = (digits: string): string => {
  const significant = digits.replace(/^0+(?=\d)/, "");
  // The number of digits is one character, "0" to "X", up to 40; beyond that a "Z" and five digits.
  return significant.length <= 40
    ? String.fromCharCode(48 + significant.length) + significant
    : `Z${String(significant.length).padStart(5, "0")}${significant}`;
};

export const textKey = (text: string): string => {
  // Versions need no characters below a space.
  const printable = [...text].map((character) => (character < " " ? " " : character)).join("");
  return printable + end;
};

/** Compares as PostgreSQL's collation "C" does: by UTF-8 bytes, which is the order of code points. */
export const compareBytes = (one: string, other: string): number => {
  const [left, right] = [[...one], [...other]];
  for (let index = 0; ; index++) {
    const [a, b] = [left[index], right[index]];
    if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
    if (a !== b) return (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0);
  }
};
