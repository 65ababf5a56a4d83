// Patterns of identities, with a limit on their total size before any is compiled (attack 37).

import type { Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { patternCost } from "#base/pattern-cost.ts";
import { compilePattern } from "#base/pattern.ts";

export type PatternField = readonly [field: string, pattern: string];

export interface PatternHolder {
  readonly claimMatch?: JsonObject | undefined;
  readonly awsIdentity?: JsonObject | undefined;
}

export const patternsOf = ({ claimMatch = {}, awsIdentity = {} }: PatternHolder): PatternField[] =>
  [
    ...["issuerPattern", "subjectPattern", "audiencePattern"].map((name) => [`claimMatch.${name}`, text(claimMatch, name)] as const),
    ...Object.entries(part(claimMatch, "claimPatterns")).map(
      ([claim, pattern]) => [`claimMatch.claimPatterns[${JSON.stringify(claim)}]`, String(pattern)] as const,
    ),
    ...["arnPattern", "userIdPattern"].map((name) => [`awsIdentity.${name}`, text(awsIdentity, name)] as const),
  ].filter(([, pattern]) => pattern !== "");

/** Returns the first pattern that exceeds the size limit, alone or together with earlier ones, without compiling. */
export const oversizedPattern = (patterns: readonly PatternField[]): Violation | undefined => {
  let cost = 0;
  for (const [field, pattern] of patterns) {
    const own = patternCost(pattern);
    if (own > limits.patternCostMax) return { field, description: "is too large: the pattern has too many classes, repetitions or groups" };
    cost += own;
    if (cost > limits.identityPatternsCostMax) return { field, description: "is too large together with the identity's other patterns" };
  }
  return undefined;
};

/** Returns violations of an identity's patterns. The total size is checked before any is compiled. */
export const patternViolations = (patterns: readonly PatternField[]): Violation[] => {
  const oversized = oversizedPattern(patterns);
  if (oversized) return [oversized];
  return patterns.flatMap(([field, pattern]) => (compilePattern(pattern) ? [] : [{ field, description: "is not a valid RE2 pattern" }]));
};
