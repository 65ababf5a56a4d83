// An ID for the groups with private advisories in a document; "" if it is public. Readers of different groups get different
// documents on one package, which must not pass for versions of each other. Pure.

import { createHash } from "node:crypto";

export const scopeOf = (groups: readonly string[]): string =>
  groups.length === 0
    ? ""
    : createHash("sha256")
        .update([...new Set(groups)].sort().join(" "))
        .digest("hex")
        .slice(0, 16);
