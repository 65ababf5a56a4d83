// The operator's policies about tags: patterns that fit a repo's name and a tag's, as "nginx:1.2[0-5](\..*)?".

import { compilePattern, matchingBudget } from "./pattern.ts";

/** Whether any of these patterns fits the tag. */
export const fitsTagPolicy = (patterns: readonly string[], repoName: string, tag: string): boolean =>
  patterns.some((pattern) => compilePattern(pattern)?.(`${repoName}:${tag}`, matchingBudget()) ?? false);
