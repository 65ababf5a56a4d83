// The operator's tag policies: patterns of repository and tag, such as "nginx:1.2[0-5](\..*)?".

import { compilePattern, matchingBudget } from "./pattern.ts";

export const fitsTagPolicy = (patterns: readonly string[], repoName: string, tag: string): boolean =>
  patterns.some((pattern) => compilePattern(pattern)?.(`${repoName}:${tag}`, matchingBudget()) ?? false);
