// What is wrong with a readme. It takes as long as the text is, up to 0.2 s: judge.ts has it done in another thread.

import { exceedsBounds, tooComplex } from "./bounds.ts";
import { isSafeHtml } from "./html.ts";
import { htmlOf } from "./markdown.ts";

/** What is wrong with the text, for a violation; undefined: nothing. */
export const findProblem = (markdown: string): string | undefined => {
  const rendered = exceedsBounds(markdown) ? undefined : htmlOf(markdown);
  if (!rendered) return tooComplex;
  return rendered.every(isSafeHtml) ? undefined : "readme contained unsafe html content";
};
