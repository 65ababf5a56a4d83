// Entries of the audit log as lines that say by themselves whose they are and can be verified without this server
// (server/audit/log/record.ts): one log after the other, each in its order.

import { recordLine, recordsOf } from "#audit/log";
import { operatorUid } from "#authz";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { findAuditEntries, findChainEnds, findChainRoots, findFirstSealedSince } from "#audit/store";
import type { Application } from "./application.ts";

export interface AuditExport {
  /** Only the log of this group's organization; undefined: all. */
  readonly group: string | undefined;
  /** Behind the entry of this number, up to that one. */
  readonly after: number;
  readonly upTo: number | undefined;
  /** Sealed from the one time on and before the other, in milliseconds since 1970. */
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
  /** One entry, without a line break. */
  readonly write: (line: string) => Promise<void>;
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
}

/** Returns how many entries there were. */
export const exportAudit = async (
  { services }: Pick<Application, "services">,
  { group, after, upTo, sinceMs, untilMs, write, progress }: AuditExport,
): Promise<number> => {
  const { read } = services.store;
  const all = new Set(await findChainRoots(read));
  // As `gantry audit verify` does.
  const own = all.delete(operatorUid) ? [operatorUid] : [];
  const roots = group === undefined ? [...[...all].sort(), ...own] : [rootOf(group)];
  let written = 0;
  for (const [done, root] of roots.entries()) {
    progress({ done, total: roots.length, what: "logs" });
    const { lastSequence = 0 } = await findChainEnds(read, root);
    const end = Math.min(upTo ?? lastSequence, lastSequence);
    const first = sinceMs === undefined ? after + 1 : await findFirstSealedSince(read, root, after, timestamp(sinceMs));
    let last = (first ?? end + 1) - 1;
    while (last < end) {
      const entries = await findAuditEntries(read, root, last, end, limits.exportedEntriesMax);
      const until = untilMs === undefined ? undefined : timestamp(untilMs);
      const wanted = until === undefined ? entries : entries.filter(({ sealTime }) => sealTime < until);
      const records = await recordsOf(
        read,
        wanted.map((entry) => ({ root, entry })),
      );
      for (const record of records) await write(recordLine(record));
      written += wanted.length;
      // Behind an entry that is too late there are only later ones.
      last = wanted.length < entries.length ? end : (entries.at(-1)?.sequence ?? end);
    }
  }
  return written;
};
