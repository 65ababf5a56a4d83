// Identities from before a bound: a pattern beyond it matches nobody, or could not be written again, and whoever wonders
// finds it in the log of the start. Read page by page beside the server's work, for there may be a million identities.

import type { Log } from "#base/log.ts";
import { findPatternHolders } from "#iam/store";
import type { Store } from "#db";
import { oversizedPattern, patternsOf } from "./patterns.ts";

/** Lines of one start; of more than these the number alone is told. */
const linesMax = 100;

export interface PatternReport {
  /** Settled when all identities were looked at, or when it was stopped. */
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
    // A database that goes away meanwhile stops the report, not the server.
    if (!stopped) log("authn.patterns.unread", { cause });
  });
  return {
    ended,
    stop() {
      stopped = true;
    },
  };
};
