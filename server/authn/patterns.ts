// The patterns of identities: which there are, and that they are bounded together before an engine sees any of them
// (attack 37).

import type { Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { patternCost } from "#base/pattern-cost.ts";
import { compilePattern } from "#base/pattern.ts";

/** A pattern and the field that holds it. */
export type PatternField = readonly [field: string, pattern: string];

/** What has patterns of an identity. */
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

/** The first pattern that is too large, alone or with those before it; told from their texts. */
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

/** Violations of all patterns of one identity, each with its field. What they cost together is told before any is compiled. */
export const patternViolations = (patterns: readonly PatternField[]): Violation[] => {
  const oversized = oversizedPattern(patterns);
  if (oversized) return [oversized];
  return patterns.flatMap(([field, pattern]) => (compilePattern(pattern) ? [] : [{ field, description: "is not a valid RE2 pattern" }]));
};
