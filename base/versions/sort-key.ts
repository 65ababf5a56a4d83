// Pieces of sort keys: texts whose bytes sort as versions do, so that an index can hold them in order. Pure.

/** Ends a text within a key: below every character that a text may have, so that "a" comes before "ab". */
const end = "\u0001";

/** A number of any length: as many more digits, as much larger. */
export const numberKey = (digits: string): string => {
  const significant = digits.replace(/^0+(?=\d)/, "");
  // Up to 40 digits the count is one character from "0" to "X"; more of them follow a "Z" and their count in five.
  return significant.length <= 40
    ? String.fromCharCode(48 + significant.length) + significant
    : `Z${String(significant.length).padStart(5, "0")}${significant}`;
};

/** A text within a key. */
export const textKey = (text: string): string => {
  // Below a space there is nothing that a version needs.
  const printable = [...text].map((character) => (character < " " ? " " : character)).join("");
  return printable + end;
};

/** Compares as PostgreSQL does under the collation "C": by the bytes of UTF-8, which are in the order of code points. */
export const compareBytes = (one: string, other: string): number => {
  const [left, right] = [[...one], [...other]];
  for (let index = 0; ; index++) {
    const [a, b] = [left[index], right[index]];
    if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
    if (a !== b) return (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0);
  }
};
