// Limits of a readme before parsing: inputs that no author writes, and that parsers are slow on or disagree about. Pure; a single
// pass.

import { limits } from "#base/limits.ts";

export const tooComplex = "readme nests or repeats more than can be judged";

const isBlank = (character: string): boolean => character === " " || character === "\t" || character === "";

/** Control characters except blanks and line ends: parsers disagree whether they are blanks. */
const isControl = (character: string): boolean => (character < " " && !"\t\n\r".includes(character)) || character === "\u007f";

/** Nested lists and quotes of a line: each level takes two columns, or a ">". */
const nestsTooDeep = (line: string): boolean => {
  let column = 0;
  let quotes = 0;
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at);
    if (character === "\t") column += 4 - (column % 4);
    else if (" >*+-.)0123456789".includes(character)) column++;
    else return false;
    if (character === ">" && ++quotes > limits.readmeDepthMax) return true;
    const before = line.charAt(at - 1);
    const isMarker = "*+-".includes(character) ? isBlank(before) || before === ">" : ".)".includes(character) && before >= "0" && before <= "9";
    if (isMarker && isBlank(line.charAt(at + 1)) && column > 2 * limits.readmeDepthMax) return true;
  }
  return false;
};

/** True if the text has too many lines, nests too deeply, or repeats more than Markdown parsers agree about. */
export const exceedsBounds = (markdown: string): boolean => {
  const lines = markdown.split(/\r\n|\n|\r/);
  if (lines.length > limits.readmeLinesMax) return true;
  let backticks = 0;
  let brackets = 0;
  for (const line of lines) {
    if (nestsTooDeep(line)) return true;
    if (line.trim() === "") brackets = 0;
    let parentheses = 0;
    let pipes = 0;
    backticks = 0;
    for (let at = 0; at < line.length; at++) {
      const character = line.charAt(at);
      backticks = character === "`" ? backticks + 1 : 0;
      if (character === "|") pipes++;
      else if (character === "(") parentheses++;
      else if (isBlank(character)) parentheses = 0;
      else if (character === ")" && parentheses > 0) parentheses--;
      else if (character === "[") brackets++;
      else if (character === "]" && brackets > 0) brackets--;
      if (isControl(character) || backticks > limits.readmeRunMax || parentheses > limits.readmeRunMax) return true;
      if (brackets > limits.readmeBracketsMax || pipes > limits.readmeCellsMax) return true;
    }
  }
  return false;
};
