// Converts Markdown to HTML as CommonMark and as GitHub, where tables split code spans. Uses markdown-it, which passes the CommonMark
// tests. Faster parsers do not: md4c starts HTML blocks in indented paragraph lines (found by comparing a million generated texts),
// and commonmark.js takes minutes for repeated "<?".

import makeParser, { type MarkdownIt, type Token } from "markdown-it";
import { limits } from "#base/limits.ts";

/** Without emphasis, which is irrelevant to scripts and the slowest to parse. Other limits keep nesting far below maxNesting. */
const parserOf = (...more: readonly string[]): MarkdownIt => {
  const parser = makeParser("commonmark", { html: true, maxNesting: 10_000 });
  parser.disable("emphasis").enable([...more]);
  // html.ts checks all URLs; the parser would drop some.
  parser.validateLink = () => true;
  return parser;
};

const commonMark = parserOf();
const withTables = parserOf("table");

/** Sums the attribute lengths: a text of 262,144 characters could repeat one long URL 40,000 times. */
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
 * Returns the text for parsers that see other references: indented lines below one are code for markdown-it but part of the
 * paragraph in CommonMark, and some parsers reject references with tabs.
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
  // The parser writes column alignment as a style.
  for (const token of tokens) if (token.type === "th_open" || token.type === "td_open") token.attrs = null;
  if (attributeLength(tokens) > most) return undefined;
  const html = parser.renderer.render(tokens, parser.options, environment);
  return html.length > most ? undefined : html;
};

/** Returns the HTML of each interpretation; undefined if one is much larger than the text. */
export const htmlOf = (markdown: string): readonly string[] | undefined => {
  const most = limits.readmeGrowthMax * markdown.length + limits.readmeGrowthSlack;
  const rendered = new Set<string>();
  for (const text of new Set([markdown, withFewerReferences(markdown)])) {
    // A table has a line of hyphens with a pipe or colon.
    for (const parser of ["|", ":-", "-:"].some((part) => text.includes(part)) ? [commonMark, withTables] : [commonMark]) {
      const html = render(parser, text, most);
      if (html === undefined) return undefined;
      rendered.add(html);
    }
  }
  return [...rendered];
};
