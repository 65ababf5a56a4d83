// Patterns that users write: RE2 syntax in a linear-time engine, always matched against the whole text
// (decisions: Tokens). A user's pattern never becomes a RegExp, so no text can make it run away. Linear means text
// times program: both are bounded here, before anything is compiled, and so is what one request may match in all.

import { RE2JS } from "re2js";
import { limits } from "./limits.ts";
import { patternCost } from "./pattern-cost.ts";

/** What one request may still spend on matching. */
export interface MatchingBudget {
  steps: number;
}

export const matchingBudget = (steps: number = limits.matchingStepsMax): MatchingBudget => ({ steps });

/** A compiled pattern: true where it matches the whole text. Beyond the budget it matches nothing: the safe side for a grant. */
export type Pattern = (text: string, budget: MatchingBudget) => boolean;

// Compiling costs 0.1-10 ms, matching microseconds; a server sees few patterns again and again.
const cacheEntriesMax = 1_000;
const compiled = new Map<string, Pattern | undefined>();

const compile = (text: string): Pattern | undefined => {
  try {
    const program = RE2JS.compile(text);
    const size = program.programSize();
    return (value, budget) => {
      if (value.length > limits.matchedLengthMax) return false;
      // Once it is spent nothing more matches, or what stands last would be let in after all.
      budget.steps -= size * value.length;
      if (budget.steps < 0) return false;
      return program.matches(value);
    };
  } catch {
    return undefined;
  }
};

/** The pattern, or undefined where the text is no RE2 pattern, or too large a one. */
export const compilePattern = (text: string): Pattern | undefined => {
  const known = compiled.get(text);
  if (known !== undefined || compiled.has(text)) {
    // Put back last: the first entry is then the one that was not used for longest.
    compiled.delete(text);
    compiled.set(text, known);
    return known;
  }
  // A text beyond the limit is refused at once and would only take the others' entries.
  if (patternCost(text) > limits.patternCostMax) return undefined;
  const pattern = compile(text);
  if (compiled.size >= cacheEntriesMax) {
    const oldest = compiled.keys().next();
    if (!oldest.done) compiled.delete(oldest.value);
  }
  compiled.set(text, pattern);
  return pattern;
};
