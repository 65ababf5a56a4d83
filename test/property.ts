// fast-check with the seed of the run, ten times as many cases in a long run. All property tests import it from here
// (tidy.test.ts).

import fc from "fast-check";
import { seed, shortOrLong } from "./length.ts";

/** Returns the number of cases; `count` is for `npm test`. */
export const runs = (count: number): number => shortOrLong(count, count * 10);

fc.configureGlobal({ seed, numRuns: runs(100) });

export { fc };
