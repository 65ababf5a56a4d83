// Suggestions for misspelled names.

import { distance } from "fastest-levenshtein";

/** Returns the closest name within a typing error, or undefined. */
export const nearestOf = (typed: string, names: Iterable<string>): string | undefined => {
  let best: { readonly name: string; readonly slips: number } | undefined;
  for (const name of names) {
    const slips = distance(typed.toLowerCase(), name);
    if (slips <= 3 && slips < Math.max(name.length, typed.length) * 0.4 + 1 && slips < (best?.slips ?? Number.POSITIVE_INFINITY)) best = { name, slips };
  }
  return best?.name;
};
