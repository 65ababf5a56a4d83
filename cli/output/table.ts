// Tables for terminals: columns fit their content and are cut at the terminal's width. Other outputs are not cut.

/** Characters of two columns: East Asian ones and emoji. */
const wide = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const combining = /[\p{M}\u200c\u200d]/u;

const columnsOfCharacter = (character: string): number => (combining.test(character) ? 0 : wide.test(character) ? 2 : 1);

export const widthOf = (text: string): number => {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += columnsOfCharacter(character);
  return width;
};

const cutTo = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text;
  let [cut, width] = ["", 0];
  for (const character of text) {
    width += columnsOfCharacter(character);
    if (width > columns - 1) break;
    cut += character;
  }
  return `${cut}…`;
};

const padTo = (text: string, columns: number): string => text + " ".repeat(Math.max(columns - widthOf(text), 0));

const narrowest = 10;
export const gap = "  ";

/** Shrinks the widest columns until all fit; the protected one keeps its width for copying. */
const fit = (widths: readonly number[], columns: number, whole: number): number[] => {
  const fitted = [...widths];
  const used = (): number => fitted.reduce((sum, width) => sum + width, gap.length * (fitted.length - 1));
  while (used() > columns) {
    const shrinking = fitted.map((width, at) => (at === whole ? 0 : width));
    const widest = Math.max(...shrinking);
    if (widest <= narrowest) return fitted;
    const at = shrinking.indexOf(widest);
    fitted[at] = Math.max(narrowest, widest - (used() - columns));
  }
  return fitted;
};

export interface TableOptions {
  /** Width of the terminal; undefined: nothing is cut. */
  readonly columns: number | undefined;
  /** Index of the column that is never cut, which identifies the resource. */
  readonly whole: number;
  /** Formats the first row. */
  readonly heading: (line: string) => string;
}

/** Returns the rows as lines; the first one is the heading. */
export const tableText = (rows: readonly (readonly string[])[], { columns, whole, heading }: TableOptions): string => {
  const natural = (rows[0] ?? []).map((_, at) => rows.reduce((width, row) => Math.max(width, widthOf(row[at] ?? "")), 0));
  const widths = columns === undefined ? natural : fit(natural, columns, whole);
  const lines = rows.map((row) =>
    row
      .map((cell, at) => (at === row.length - 1 ? cutTo(cell, widths[at] ?? 0) : padTo(cutTo(cell, widths[at] ?? 0), widths[at] ?? 0)))
      .join(gap)
      .trimEnd(),
  );
  const [first = "", ...rest] = lines;
  return [heading(first), ...rest].map((line) => `${line}\n`).join("");
};
