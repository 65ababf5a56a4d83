// Does a Markdown text carry HTML that a page must not show? Markdown lets raw HTML through; a readme is shown in
// browsers. Not a sanitizer: it refuses, and never changes what was written.

/** Elements that Markdown writers use for layout; anything else in angle brackets is refused. */
const harmless = new Set(
  (
    "a abbr b blockquote br center code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p picture pre q s samp source span " +
    "strike strong sub summary sup table tbody td tfoot th thead tr tt ul var"
  ).split(" "),
);

const withoutCode = (markdown: string): string =>
  markdown
    .replace(/^( {0,3})(```+|~~~+)[^\n]*\n[\s\S]*?(?:^ {0,3}\2[`~]*[ \t]*$|$(?![\s\S]))/gm, "")
    .replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, "")
    .replace(/<!--[\s\S]*?-->/g, "");

/** True where the text holds a script, a style, an event handler, or an address that runs code. */
export const unsafeHtml = (markdown: string): boolean => {
  const prose = withoutCode(markdown);
  for (const [, name = "", attributes = ""] of prose.matchAll(/<\/?([a-z][a-z0-9-]*)((?:\s|\/)[^>]*)?>?/gi)) {
    if (/^https?$|^mailto$/i.test(name)) continue;
    if (!harmless.has(name.toLowerCase())) return true;
    if (/(?:^|[\s"'/])(?:on[a-z]+|style|srcdoc|formaction)\s*=/i.test(attributes)) return true;
  }
  return /(?:javascript|vbscript|data)\s*:(?!image\/(?:png|gif|jpe?g|webp))/i.test(
    prose.replace(/&(?:#x?[0-9a-f]+|[a-z]+);?/gi, "").replace(/[\s\u0000-\u001f]+(?=[a-z]*:)/gi, ""),
  );
};
