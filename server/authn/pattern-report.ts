// Logs at the start identities with patterns beyond current limits, which match no token or could not be saved again. Reads pages in
// the background, because there may be a million identities.

import type { Log } from "#base/log.ts";
import { findPatternHolders } from "#iam/store";
import type { Store } from "#db";
import { oversizedPattern, patternsOf } from "./patterns.ts";

const linesMax = 100;

export interface PatternReport {
  /** Resolves when the report is complete or stopped. */
  readonly ended: Promise<void>;
  stop(): void;
}

export const startPatternReport = (store: Store, log: Log): PatternReport => {
  let stopped = false;
  const report = async (): Promise<void> => {
    let count = 0;
    for (let last: string | undefined = ""; last !== undefined && !stopped; ) {
      const found: Awaited<ReturnType<typeof findPatternHolders>> = await findPatternHolders(store.read, last);
      for (const { uid, claimMatch, awsIdentity } of found) {
        const oversized = oversizedPattern(patternsOf({ claimMatch, awsIdentity }));
        if (!oversized) continue;
        count++;
        if (count <= linesMax) log("authn.pattern.oversized", { identity: uid, field: oversized.field, problem: oversized.description });
      }
      last = found.at(-1)?.uid;
    }
    if (count > 0) log("authn.patterns.oversized", { identities: count, remedy: "update these identities with smaller patterns" });
  };
  const ended = report().catch((cause: unknown) => {
    // A database failure ends the report, not the server.
    if (!stopped) log("authn.patterns.unread", { cause });
  });
  return {
    ended,
    stop() {
      stopped = true;
    },
  };
};
