// Markdown to HTML, as CommonMark and as GitHub read it: GitHub's tables divide what is one code span to CommonMark. The
// parser is markdown-it, which passes CommonMark's own tests. Faster ones do not: md4c begins HTML blocks in indented lines
// of a paragraph (found by comparing a million made-up texts), and commonmark.js needs minutes for "<?" repeated.

import makeParser, { type MarkdownIt, type Token } from "markdown-it";
import { limits } from "#base/limits.ts";

/** Emphasis tells nothing about what a browser runs, and is the dearest thing to parse. Bounds keep nesting far below. */
const parserOf = (...more: readonly string[]): MarkdownIt => {
  const parser = makeParser("commonmark", { html: true, maxNesting: 10_000 });
  parser.disable("emphasis").enable([...more]);
  // Addresses are judged where everything is (html.ts); the parser would leave out what it does not like.
  parser.validateLink = () => true;
  return parser;
};

const commonMark = parserOf();
const withTables = parserOf("table");

/** Characters of all attributes: a text of 262,144 could name one long address 40,000 times. */
const attributeLength = (tokens: readonly Token[]): number => {
  let sum = 0;
  for (const { attrs, children } of tokens) {
    for (const [, value] of attrs ?? []) sum += String(value).length;
    if (children) sum += attributeLength(children);
  }
  return sum;
};

const isIndented = (line: string): boolean => line.startsWith("    ") || /^ {0,3}\t/.test(line);

/**
 * The text as parsers read it that see other references: to markdown-it what is indented below one is code, to CommonMark
 * it goes on with the paragraph; to some a reference with tabs is none.
 */
const withFewerReferences = (markdown: string): string => {
  const lines = markdown.split(/\r\n|\n|\r/);
  let changed = false;
  const read = lines.map((line, index) => {
    const at = line.indexOf("]:");
    if (at >= 0 && line.includes("\t", at)) {
      changed = true;
      return `${line.slice(0, at + 1)} ${line.slice(at + 1)}`;
    }
    if (!isIndented(line) || !lines[index - 1]?.includes("]:")) return line;
    changed = true;
    return `x ${line.trimStart()}`;
  });
  return changed ? read.join("\n") : markdown;
};

const render = (parser: MarkdownIt, markdown: string, most: number): string | undefined => {
  const environment = {};
  const tokens = parser.parse(markdown, environment);
  // The parser writes a column's alignment as a style.
  for (const token of tokens) if (token.type === "th_open" || token.type === "td_open") token.attrs = null;
  if (attributeLength(tokens) > most) return undefined;
  const html = parser.renderer.render(tokens, parser.options, environment);
  return html.length > most ? undefined : html;
};

/** The HTML of the text in every way of reading it; undefined where one is too much more than the text. */
export const htmlOf = (markdown: string): readonly string[] | undefined => {
  const most = limits.readmeGrowthMax * markdown.length + limits.readmeGrowthSlack;
  const rendered = new Set<string>();
  for (const text of new Set([markdown, withFewerReferences(markdown)])) {
    // A table has a line of hyphens with a pipe or a colon.
    for (const parser of ["|", ":-", "-:"].some((part) => text.includes(part)) ? [commonMark, withTables] : [commonMark]) {
      const html = render(parser, text, most);
      if (html === undefined) return undefined;
      rendered.add(html);
    }
  }
  return [...rendered];
};
