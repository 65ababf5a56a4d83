// Is a readme fit to be shown? Markdown lets raw HTML through, and a readme is shown in browsers. Not a sanitizer: it
// refuses, and never changes what was written (attack 35).

import { isSafeHtml } from "./html.ts";
import { loadMarkdown, renderMarkdown } from "./markdown.ts";

/** What is wrong with the text, for a violation; undefined: nothing. */
export const judgeReadme = async (markdown: string): Promise<string | undefined> => {
  await loadMarkdown();
  const rendered = renderMarkdown(markdown);
  if (!rendered) return "readme nests or repeats more than readers of Markdown agree about";
  return rendered.every(isSafeHtml) ? undefined : "readme contained unsafe html content";
};
