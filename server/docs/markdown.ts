// Renders guides and descriptions as HTML. Although it is our own text, markup in it stays text, links lead only to docs pages or
// the web, and an image that is not one of the docs becomes its description.

import makeParser, { type MarkdownIt, type Token } from "markdown-it";
import { escapeHtml } from "#base/html.ts";
import { codeBlockHtml } from "./highlight.ts";
import type { Fill } from "./own-address.ts";

interface Environment {
  /** Resolves a link; undefined: the text is shown without one. */
  readonly resolve: (href: string) => string | undefined;
  readonly slugs: Map<string, number>;
  readonly headings: Heading[];
  /** Number of levels to shift headings down. */
  readonly below: number;
  /** Returns the address of an image; undefined: its description is shown. */
  readonly imageAt: (source: string) => string | undefined;
  readonly fill: Fill;
}

export interface Heading {
  readonly level: number;
  readonly text: string;
  readonly id: string;
}

export interface RenderedText {
  readonly html: string;
  readonly headings: readonly Heading[];
}

/** Like Git hosts: lower-case letters, digits, hyphens for spaces. */
const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");

const plainText = (tokens: readonly Token[]): string =>
  tokens.map(({ type, content, children }) => (type === "softbreak" ? " " : children ? plainText(children) : content)).join("");

const nameHeadings = (tokens: readonly Token[], environment: Environment): void => {
  for (const [index, token] of tokens.entries()) {
    if (token.type !== "heading_open" && token.type !== "heading_close") continue;
    const level = Number(token.tag.slice(1));
    token.tag = `h${Math.min(6, level + environment.below)}`;
    if (token.type === "heading_close") continue;
    const text = plainText(tokens[index + 1]?.children ?? []);
    const slug = slugOf(text);
    const before = environment.slugs.get(slug) ?? 0;
    environment.slugs.set(slug, before + 1);
    const id = before === 0 ? slug : `${slug}-${before}`;
    token.attrSet("id", id);
    environment.headings.push({ level, text, id });
  }
};

const resolveAddresses = (tokens: Token[], environment: Environment): void => {
  const open: boolean[] = [];
  for (const token of tokens) {
    if (token.children) resolveAddresses(token.children, environment);
    if (token.type === "link_open") {
      const address = environment.resolve(String(token.attrGet("href") ?? ""));
      open.push(address !== undefined);
      if (address === undefined) token.hidden = true;
      else token.attrs = [["href", address], ...(address.startsWith("/") || address.startsWith("#") ? [] : [["rel", "noreferrer"] as [string, string]])];
    }
    if (token.type === "link_close" && open.pop() === false) token.hidden = true;
    if (token.type === "image") token.attrs = [["src", environment.imageAt(String(token.attrGet("src") ?? "")) ?? ""]];
    if (token.type === "fence" || token.type === "code_block") token.content = environment.fill(token.content);
    // The parser writes alignment as a style, which the content policy refuses.
    if (token.type === "th_open" || token.type === "td_open") token.attrs = null;
  }
};

/** Screen readers would announce empty headings. */
const replaceEmptyHeads = (tokens: readonly Token[]): void => {
  for (const [index, token] of tokens.entries()) {
    const end = tokens[index + 2];
    if (token.type !== "th_open" || end?.type !== "th_close" || tokens[index + 1]?.content !== "") continue;
    token.tag = "td";
    end.tag = "td";
  }
};

const makeOwnParser = (): MarkdownIt => {
  const parser = makeParser("default", { html: false, linkify: false, typographer: false, maxNesting: 50 });
  const { rules } = parser.renderer;
  const code: NonNullable<typeof rules.fence> = (tokens, index) => {
    const { content = "", info = "" } = tokens[index] ?? {};
    return `${codeBlockHtml(content.replace(/\n$/, ""), info.trim())}\n`;
  };
  rules.fence = code;
  rules.code_block = code;
  rules.image = (tokens, index) => {
    const description = escapeHtml(tokens[index]?.content ?? "");
    const address = tokens[index]?.attrGet("src");
    return address ? `<img class="picture" src="${escapeHtml(String(address))}" alt="${description}">` : description;
  };
  rules.table_open = () => '<div class="wide" tabindex="0" role="group" aria-label="Table"><table>\n';
  rules.table_close = () => "</table></div>\n";
  // Unresolved links are not written.
  for (const name of ["link_open", "link_close"] as const)
    rules[name] = (tokens, index, options, _, renderer) => (tokens[index]?.hidden ? "" : renderer.renderToken(tokens, index, options));
  return parser;
};

let parser: MarkdownIt | undefined;

export interface RenderOptions {
  readonly below?: Environment["below"];
  readonly imageAt?: Environment["imageAt"];
  readonly fill?: Fill;
}

const newEnvironment = (resolve: Environment["resolve"], { below = 0, imageAt = () => undefined, fill = (code) => code }: RenderOptions = {}): Environment => ({
  resolve,
  slugs: new Map(),
  headings: [],
  below,
  imageAt,
  fill,
});

export const renderMarkdown = (markdown: string, resolve: Environment["resolve"], options: RenderOptions = {}): RenderedText => {
  parser ??= makeOwnParser();
  const environment = newEnvironment(resolve, options);
  const tokens = parser.parse(markdown, {});
  nameHeadings(tokens, environment);
  resolveAddresses(tokens, environment);
  replaceEmptyHeads(tokens);
  return { html: parser.renderer.render(tokens, parser.options, {}), headings: environment.headings };
};

const decisionReference = / \(\d{4}[^()]*\)/g;

/** Returns the first sentence below the title, without markup and references to decisions; "" if no paragraph follows the title. */
export const firstSentence = (markdown: string): string => {
  parser ??= makeOwnParser();
  // The rest of the page is not parsed: the home page needs the sentences of all pages at once.
  const beginning = markdown.split("\n\n", 2).join("\n\n");
  const [title, , , paragraph, inline] = parser.parse(beginning, {});
  if (title?.type !== "heading_open" || paragraph?.type !== "paragraph_open") return "";
  const text = plainText(inline?.children ?? []).replaceAll(decisionReference, "");
  return (/^.*?[.:](?=\s|$)/s.exec(text)?.[0] ?? text).replace(/:$/, ".");
};

export interface TextSection {
  readonly heading: Heading | undefined;
  /** Without markup. */
  readonly text: string;
}

/** Splits a text at its headings, for search results. */
export const sectionsOf = (markdown: string): TextSection[] => {
  parser ??= makeOwnParser();
  const environment = newEnvironment(() => undefined);
  const tokens = parser.parse(markdown, {});
  nameHeadings(tokens, environment);
  const sections: { heading: Heading | undefined; text: string }[] = [{ heading: undefined, text: "" }];
  let headings = 0;
  for (const token of tokens) {
    if (token.type === "heading_open") sections.push({ heading: environment.headings[headings++], text: "" });
    const section = sections.at(-1);
    const content = token.type === "inline" ? plainText(token.children ?? []) : token.type === "fence" || token.type === "code_block" ? token.content : "";
    if (section && content !== "" && content !== section.heading?.text) section.text += `${content} `;
  }
  return sections.filter(({ heading, text }) => heading !== undefined || text.trim() !== "");
};
