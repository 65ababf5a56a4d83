// Wraps help for narrow terminals, with continuation lines aligned to their text. Examples stay unchanged: a wrapped one would be
// another command.

/** Below this width nothing is wrapped. */
const narrowest = 40;

/** Returns the column at which the text starts: after the indentation, or after a term ("    --group GROUP  the group …"). */
const textColumn = (line: string): number => {
  const term = /^ *\S+(?: \S+)* {2,}(?=\S)/.exec(line)?.[0];
  return term?.length ?? line.length - line.trimStart().length;
};

/** "gantry import KIND [--group GROUP] …": an option stays with its value. */
const isUsage = (line: string): boolean => line.startsWith("gantry ");

const piecesOf = (line: string): string[] => (isUsage(line) ? line.split(/ (?=\[|--|\|)/) : line.trim().split(/ +/));

const brokenLine = (line: string, columns: number): string[] => {
  if (line.length <= columns) return [line];
  const column = isUsage(line) ? 4 : textColumn(line);
  // Text far to the right moves below its term.
  const hanging = column > columns / 2 ? 6 : column;
  const pieces = isUsage(line) ? piecesOf(line) : piecesOf(line.slice(column));
  let current = isUsage(line) ? (pieces.shift() ?? "") : line.slice(0, column);
  const lines: string[] = [];
  if (hanging < column) {
    lines.push(current.trimEnd());
    current = " ".repeat(hanging);
  }
  for (const piece of pieces) {
    const gap = current.trim() === "" || current.endsWith(" ") ? "" : " ";
    if (current.trim() !== "" && current.length + gap.length + piece.length > columns) {
      lines.push(current.trimEnd());
      current = " ".repeat(hanging) + piece;
    } else current += gap + piece;
  }
  return [...lines, current.trimEnd()];
};

/** Returns the text wrapped to the terminal; unchanged if its width is unknown. */
export const narrow = (text: string, columns: number | undefined): string => {
  if (columns === undefined || columns < narrowest) return text;
  const lines: string[] = [];
  // A long line with its continuation lines, wrapped again as one.
  let open: { readonly text: string; readonly column: number } | undefined;
  const close = (): void => {
    if (open !== undefined) lines.push(...brokenLine(open.text, columns));
    open = undefined;
  };
  let inExamples = false;
  for (const line of text.split("\n")) {
    const indentation = line.length - line.trimStart().length;
    if (line.trim() === "") inExamples = false;
    if (/^ *Examples?:/.test(line)) inExamples = true;
    const goesOn = open !== undefined && !inExamples && line.trim() !== "" && indentation === open.column && textColumn(line) === indentation;
    if (open !== undefined && goesOn) {
      open = { text: `${open.text} ${line.trim()}`, column: open.column };
      continue;
    }
    close();
    if (inExamples || line.length <= columns) lines.push(line);
    else open = { text: line, column: textColumn(line) };
  }
  close();
  return lines.join("\n");
};
