// The HTML permitted in a readme: listed elements, attributes and URL schemes; all else is rejected. Uses parse5's tokenizer, which
// follows the HTML standard. A tree is not needed: only forbidden elements (script, style, title, svg, …) change how the rest is
// tokenized.

import { type Token, Tokenizer, type TokenHandler } from "parse5";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const elements = words(
  "a abbr b bdi bdo big blockquote br caption center cite code col colgroup dd del details dfn div dl dt em figcaption figure font h1 h2 h3 h4 h5 h6 " +
    "hr i img ins kbd li mark ol p picture pre q rp rt ruby s samp section small source span strike strong sub summary sup table tbody td tfoot th " +
    "thead time tr tt u ul var wbr",
);

const attributes = words(
  "abbr align alt aria-describedby aria-hidden aria-label aria-labelledby axis bgcolor border cellpadding cellspacing char cite class clear color " +
    "colspan compact coords crossorigin datetime decoding dir face fetchpriority headers height href hreflang hspace id itemprop lang loading longdesc " +
    "media name noshade nowrap open referrerpolicy rel reversed role rowspan rules scope size sizes span src srcset start summary tabindex target title " +
    "translate type valign value vspace width",
);

const addressed = words("cite href longdesc src");

const schemes = words("ftp git http https irc ircs magnet mailto matrix news oci sms ssh tel xmpp");
const pictures = ["image/png", "image/gif", "image/jpg", "image/jpeg", "image/webp"];

/** Control characters and blanks, which browsers drop in URLs. */
const isDropped = (character: string): boolean => character <= " ";

/** True if the URL's scheme is allowed, parsed as by the URL standard, or absent. */
const isSafeAddress = (address: string, isPicture: boolean): boolean => {
  let scheme = "";
  for (let at = 0; at < address.length; at++) {
    const character = address.charAt(at).toLowerCase();
    if (character === ":") {
      const rest = address.slice(at + 1, at + 32).toLowerCase();
      return schemes.has(scheme) || (isPicture && scheme === "data" && pictures.some((type) => rest.startsWith(`${type};`) || rest.startsWith(`${type},`)));
    }
    if (isDropped(character)) continue;
    // Schemes have none of these characters, and no allowed one is longer: the rest is a path.
    if (!"abcdefghijklmnopqrstuvwxyz0123456789+-.".includes(character)) return true;
    if (scheme.length < 32) scheme += character;
  }
  return true;
};

const isSafeAttribute = (element: string, name: string, value: string): boolean => {
  if (!attributes.has(name)) return false;
  if (name === "srcset") return value.split(",").every((candidate) => isSafeAddress(candidate, true));
  return !addressed.has(name) || isSafeAddress(value, name === "src" && element === "img");
};

/** Malformed comments, which browsers and Markdown parsers read differently. */
const oddComments = new Set<string>([
  "abrupt-closing-of-empty-comment",
  "cdata-in-html-content",
  "incorrectly-closed-comment",
  "incorrectly-opened-comment",
  "unexpected-question-mark-instead-of-tag-name",
]);

/** Appended to detect unclosed constructs: then this element is not tokenized as one. */
const end = "wbr";

/** True if the HTML is allowed and ends outside of tags and comments. */
export const isSafeHtml = (html: string): boolean => isSafe(html, true);

const isSafe = (html: string, judgesComments: boolean): boolean => {
  let safe = true;
  let last = "";
  const refuse = (): void => {
    safe = false;
    // The rest cannot change the result.
    tokenizer.pause();
  };
  const readElement = ({ tagName, attrs }: Token.TagToken): void => {
    last = tagName;
    if (!elements.has(tagName) || !attrs.every(({ name, value }) => isSafeAttribute(tagName, name, value))) refuse();
  };
  const ignore = (): void => undefined;
  const handler: TokenHandler = {
    onStartTag: readElement,
    onEndTag: readElement,
    onDoctype: refuse,
    // Before CommonMark 0.31, a comment with "--" inside was shown as text.
    onComment: ({ data }) => {
      if (judgesComments && data.includes("--") && !isSafe(data, false)) refuse();
    },
    onParseError: ({ code }) => {
      if (judgesComments && oddComments.has(code)) refuse();
    },
    onCharacter: ignore,
    onNullCharacter: ignore,
    onWhitespaceCharacter: ignore,
    onEof: ignore,
  };
  const tokenizer = new Tokenizer({ sourceCodeLocationInfo: false }, handler);
  tokenizer.write(`${html}<${end}>`, true);
  return safe && last === end;
};
