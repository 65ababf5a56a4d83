// Markdown to HTML, as CommonMark and as GitHub read it, in time linear in the text: md4c, a parser in C without
// backtracking, runs in WebAssembly and reaches nothing but its own memory. Parsers in JavaScript were measured, too
// (2026-11, 262,144 characters): commonmark needs minutes for "[](" and "<?" repeated, markdown-it a second for "![".

import { readFile } from "node:fs/promises";
import { init, mdToHtml } from "md4w";
import { limits } from "#base/limits.ts";
import { divideTables } from "./tables.ts";

let loading: Promise<void> | undefined;

/** Loads the parser with the first readme: 0.9 MB that most servers never need. */
export const loadMarkdown = (): Promise<void> => {
  loading ??= readFile(new URL("md4w-fast.wasm", import.meta.resolve("md4w"))).then(init);
  return loading;
};

const isBlank = (character: string): boolean => character === " " || character === "\t" || character === "\n" || character === "\r" || character === "";

/** Lists and quotes that one line opens or goes on with, at most: each level takes two columns of its beginning, or a ">". */
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

/** A longer run or a deeper nest of one character than Markdown parsers agree about (md4c and cmark end at 32). */
const goesBeyondParsers = (markdown: string): boolean => {
  let backticks = 0;
  let parentheses = 0;
  for (let at = 0; at < markdown.length; at++) {
    const character = markdown.charAt(at);
    backticks = character === "`" ? backticks + 1 : 0;
    if (character === "(") parentheses++;
    else if (isBlank(character)) parentheses = 0;
    else if (character === ")" && parentheses > 0) parentheses--;
    if (backticks > limits.readmeRunMax || parentheses > limits.readmeRunMax) return true;
  }
  return false;
};

// The parser stops to resolve link references when they come to 1 MiB or 16 times the text, and leaves the others as
// text, where a browser's renderer would make links of them. A reference at the end shows whether it got so far.
const probe = { definition: "[gantry-end]: gantry-end\n\n", use: "\n\n[gantry-end]\n", html: '<p><a href="gantry-end">gantry-end</a></p>\n' };
// A fence that is left open swallows the probe; these end one.
const fenceEnds = ["", `\n\n${"`".repeat(limits.readmeRunMax + 1)}\n`, `\n\n${"~".repeat(limits.readmeRunMax + 1)}\n`];

/** None of the parser's extensions. */
const commonMark = 0;

const render = (markdown: string): string | undefined => {
  const text = probe.definition + markdown;
  let first: string | undefined;
  for (const end of fenceEnds) {
    const html = mdToHtml(text + end + probe.use, { parseFlags: commonMark });
    first ??= html;
    if (html.endsWith(probe.html) || !markdown.includes("]:")) return first;
  }
  return undefined;
};

/** The HTML of the text, as CommonMark reads it and with GitHub's tables; undefined where it goes beyond what parsers agree about. */
export const renderMarkdown = (markdown: string): readonly string[] | undefined => {
  if (goesBeyondParsers(markdown) || markdown.split(/[\r\n]/).some(nestsTooDeep)) return undefined;
  const rendered: string[] = [];
  for (const text of new Set([markdown, divideTables(markdown)])) {
    const html = render(text);
    if (html === undefined || html.length > limits.readmeGrowthMax * markdown.length + limits.readmeGrowthSlack) return undefined;
    rendered.push(html);
  }
  return rendered;
};
