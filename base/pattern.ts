// Patterns written by users: RE2 syntax in a linear-time engine, matched against the whole text (decisions: Tokens). They never
// become a RegExp.
//
// Matching takes text times program, so both are bounded before compilation, and so is all matching of one request.

import { RE2JS } from "re2js";
import { limits } from "./limits.ts";
import { patternCost } from "./pattern-cost.ts";

/** The remaining steps that a request may spend on matching. */
export interface MatchingBudget {
  steps: number;
}

export const matchingBudget = (steps: number = limits.matchingStepsMax): MatchingBudget => ({ steps });

/** Returns a function that is true after each limits.matchingStepsMax steps: then other requests should proceed. */
export const openTurns = (budget: MatchingBudget): (() => boolean) => {
  let start = budget.steps;
  return () => {
    if (start - budget.steps < limits.matchingStepsMax) return false;
    start = budget.steps;
    return true;
  };
};

/** A compiled pattern: returns true if it matches the whole text. Beyond the budget it matches nothing, the safe side for a grant. */
export type Pattern = (text: string, budget: MatchingBudget) => boolean;

// Compiling takes 0.1 to 10 ms, matching microseconds; a server sees few patterns repeatedly.
const cacheEntriesMax = 1_000;
const compiled = new Map<string, Pattern | undefined>();

const compile = (text: string): Pattern | undefined => {
  try {
    const program = RE2JS.compile(text);
    const size = program.programSize();
    return (value, budget) => {
      if (value.length > limits.matchedLengthMax) return false;
      // Once the budget is spent, nothing may match, or a short text at the end still would.
      budget.steps -= size * value.length;
      if (budget.steps < 0) return false;
      return program.matches(value);
    };
  } catch {
    return undefined;
  }
};

/** Returns the compiled pattern; undefined if it is not RE2 syntax or costs too much. */
export const compilePattern = (text: string): Pattern | undefined => {
  const known = compiled.get(text);
  if (known !== undefined || compiled.has(text)) {
    // Moves it to the end, so that the first entry is the least recently used.
    compiled.delete(text);
    compiled.set(text, known);
    return known;
  }
  // Not cached: the refusal is cheap and would evict other entries.
  if (patternCost(text) > limits.patternCostMax) return undefined;
  const pattern = compile(text);
  if (compiled.size >= cacheEntriesMax) {
    const oldest = compiled.keys().next();
    if (!oldest.done) compiled.delete(oldest.value);
  }
  compiled.set(text, pattern);
  return pattern;
};
