// Finds the problem of a readme. Takes up to 0.2 s, so judge.ts runs it in a thread.

import { exceedsBounds, tooComplex } from "./bounds.ts";
import { isSafeHtml } from "./html.ts";
import { htmlOf } from "./markdown.ts";

export const findProblem = (markdown: string): string | undefined => {
  const rendered = exceedsBounds(markdown) ? undefined : htmlOf(markdown);
  if (!rendered) return tooComplex;
  return rendered.every(isSafeHtml) ? undefined : "readme contained unsafe html content";
};
