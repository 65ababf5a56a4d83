// What somebody may have meant who mistyped a name.

import { distance } from "fastest-levenshtein";

/** The nearest of the names that is no further than a slip of the fingers; undefined where none is. */
export const nearestOf = (typed: string, names: Iterable<string>): string | undefined => {
  let best: { readonly name: string; readonly slips: number } | undefined;
  for (const name of names) {
    const slips = distance(typed.toLowerCase(), name);
    // As many as commander allows.
    if (slips <= 3 && slips < Math.max(name.length, typed.length) * 0.4 + 1 && slips < (best?.slips ?? Number.POSITIVE_INFINITY)) best = { name, slips };
  }
  return best?.name;
};
