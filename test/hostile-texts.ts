// Texts that trigger quadratic or worse behaviour in naive parsers: repetitions with a different end.

/** Returns a text of exactly this many characters (UTF-16 units). */
export type HostileText = (length: number) => string;

const repeated =
  (part: string, end = "", beginning = ""): HostileText =>
  (length) =>
    (beginning + part.repeat(Math.ceil(length / part.length))).slice(0, Math.max(0, length - end.length)) + end;

const counted =
  (part: (index: number) => string): HostileText =>
  (length) => {
    let text = "";
    for (let index = 0; text.length < length; index++) text += part(index);
    return text.slice(0, length);
  };

/** For any field. */
export const hostileTexts: Readonly<Record<string, HostileText>> = {
  letters: repeated("a", "!"),
  blanks: repeated(" ", "!"),
  "blanks inside": repeated(" ", "!", "a"),
  digits: repeated("1", "!"),
  slashes: repeated("/", "!"),
  "letters with dots": repeated("a.", "!"),
  "letters with hyphens": repeated("a-", "!"),
  brackets: repeated("["),
  parentheses: repeated("(a", "!"),
  backticks: counted((index) => `e${"`".repeat(index + 1)}`),
  "angle brackets": repeated("<"),
  "ampersands and entities": repeated("&amp"),
  "percent signs": repeated("%4"),
  "commas and quotes": repeated('",'),
  "combining characters": repeated("\u0301", "!", "a"),
  "pairs of surrogates": (length) => repeated("\u{1F600}")(length - (length % 2)),
};

/** For Markdown and its HTML. */
export const hostileMarkdown: Readonly<Record<string, HostileText>> = {
  ...hostileTexts,
  "line ends": repeated("\n"),
  "opening links": repeated("[]("),
  "links that do not close": repeated("[a](<b"),
  "links in links": repeated("[a]("),
  "images in images": repeated("!["),
  "images around links": repeated("![[]()"),
  "brackets in brackets": (length) => "[".repeat(length / 2) + "]".repeat(length / 2),
  "code and tables": repeated("`a|", "\n|-|-|\n"),
  "emphasis two ways": repeated("*_"),
  "emphasis that opens": repeated("*a **a "),
  "strong that closes": repeated("c* ", "", "a**b"),
  "quotes in quotes": repeated("> ", "a"),
  "quotes of many depths": counted((index) => `${">".repeat(index % 100)}\n`),
  "lists in lists": repeated("* ", "a"),
  "lists in lists and then blank lines": (length) => `${"* ".repeat(99)}a\n${"\n".repeat(length - 200)}`,
  "lists that step in": counted((index) => (index < 99 ? `${"  ".repeat(index)}* a\n` : "\n")),
  "lists of many": repeated("* a\n"),
  "numbered lists": repeated("1) "),
  fences: repeated("```\n"),
  "fences of tildes": repeated("~~~ a\n"),
  references: counted((index) => `[${index.toString(36)}]: u\n`),
  "one long reference, used often": (length) => repeated("[a]", "", `[a]: ${"u".repeat(length / 2)}\n\n`)(length),
  "reference titles that do not end": repeated("[a]: u 't\n"),
  comments: repeated("a <!--"),
  "comments one in another": repeated("<!--"),
  "processing instructions": repeated("a <?"),
  declarations: repeated("a <!A "),
  "character data": repeated("a <![CDATA["),
  "opening tags": repeated("<a "),
  "tags in tags": repeated("<b>x"),
  "a tag of many attributes": (length) => `<a${counted((index) => ` b${index.toString(36)}`)(length - 3)}>`,
  "a tag of blanks": repeated(" ", ">", "<a"),
  "attributes that do not end": repeated("x <a b='"),
  autolinks: repeated("<http:"),
  "mail addresses": repeated("<a@"),
  "table cells": repeated("|", "", "|a|b|\n|-|-|\n"),
  "table rows": repeated("|\n", "", "|a|b|\n|-|-|\n"),
  "table cells of tags": repeated("|<b>", "", "|a|b|\n|-|-|\n"),
  "table cells of brackets": repeated("|[", "", "|a|b|\n|-|-|\n"),
  "tables one after another": repeated("a\n-|\n"),
  "headings that do not close": repeated("#", " b", "# a "),
  "backslashes at line ends": repeated("a\\\n"),
  tabs: repeated("-\t"),
  NUL: repeated("\0"),
};
