// Tables as GitHub reads them (GFM, 4.10): a row is divided at its pipes before anything in it is read, so that what is
// one code span to CommonMark may be two cells with HTML between. Our parser reads code first, in its own tables, too.

const delimiters = "|:- \t>";

/** "|---|:-:|", in a quote perhaps: what stands below a table's first row. A line of hyphens alone is a rule or a heading. */
const isDelimiterRow = (line: string): boolean => {
  let hyphens = 0;
  let others = 0;
  for (const character of line) {
    if (!delimiters.includes(character)) return false;
    if (character === "-") hyphens++;
    if (character === "|" || character === ":") others++;
  }
  return hyphens > 0 && others > 0;
};

const cellsOf = (row: string): string[] => {
  const cells: string[] = [];
  let start = 0;
  for (let at = 0; at <= row.length; at++) {
    if (at < row.length && (row.charAt(at) !== "|" || row.charAt(at - 1) === "\\")) continue;
    cells.push(row.slice(start, at));
    start = at + 1;
  }
  return cells;
};

/** Each cell that could hold an element or a link, as a paragraph of its own: a word before it keeps it from being a block. */
const paragraphsOf = (row: string): string =>
  cellsOf(row)
    .filter((cell) => cell.includes("<") || cell.includes("["))
    .map((cell) => `\n\nx ${cell.trim()}\n\n`)
    .join("");

/** The text with the rows of its tables divided; the text itself where there is no table. */
export const divideTables = (markdown: string): string => {
  const lines = markdown.split(/\r\n|\n|\r/);
  const divided: string[] = [];
  let found = false;
  let inTable = false;
  for (const [index, line] of lines.entries()) {
    const isRow: boolean = inTable && line.trim() !== "";
    inTable = isRow || isDelimiterRow(line);
    if (inTable) found = true;
    const isHeader = !inTable && index + 1 < lines.length && isDelimiterRow(lines[index + 1] ?? "");
    divided.push(isRow || isHeader ? paragraphsOf(line) : inTable ? "\n" : line);
  }
  return found ? divided.join("\n") : markdown;
};
