// A number for the groups whose private advisories a document of our own has. Readers of different groups read different
// documents on one package: none may be taken for a version of another, or of the one that everybody reads. Pure.

import { createHash } from "node:crypto";

/** Groups' uids, in any order; "" where there are none: everybody may read it. */
export const scopeOf = (groups: readonly string[]): string =>
  groups.length === 0
    ? ""
    : createHash("sha256")
        .update([...new Set(groups)].sort().join(" "))
        .digest("hex")
        .slice(0, 16);
