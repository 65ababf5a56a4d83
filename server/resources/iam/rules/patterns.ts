// Patterns that an identity is given: bounded together, before an engine sees any of them (attack 37).

import type { Violation } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { patternCost } from "#base/pattern-cost.ts";
import { compilePattern } from "#base/pattern.ts";

/** Violations of all patterns of one identity, each with its field. What they cost together is told before any is compiled. */
export const patternViolations = (patterns: readonly (readonly [field: string, pattern: string])[]): Violation[] => {
  let cost = 0;
  for (const [field, pattern] of patterns) {
    const own = patternCost(pattern);
    if (own > limits.patternCostMax) return [{ field, description: "is too large a pattern: its classes, repetitions or groups are too many" }];
    cost += own;
    if (cost > limits.identityPatternsCostMax) return [{ field, description: "is too much together with the identity's other patterns" }];
  }
  return patterns.flatMap(([field, pattern]) => (pattern === "" || compilePattern(pattern) ? [] : [{ field, description: "is not a valid RE2 pattern" }]));
};
