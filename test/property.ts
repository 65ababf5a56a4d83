// fast-check for property tests: from the seed of the run, and in a long run ten times as often. Every property test takes
// it from here (tidy.test.ts).

import fc from "fast-check";
import { seed, shortOrLong } from "./length.ts";

/** How often a property is tried: so often in `npm test`. */
export const runs = (count: number): number => shortOrLong(count, count * 10);

fc.configureGlobal({ seed, numRuns: runs(100) });

export { fc };
