// Exports audit entries as lines that can be verified without this server (server/audit/log/record.ts), log by log, each in order.

import { recordLine, recordsOf } from "#audit/log";
import { operatorUid } from "#base/operator.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { findAuditEntries, findChainEnds, findChainRoots, findFirstSealedSince } from "#audit/store";
import type { Application } from "./application.ts";

export interface AuditExport {
  /** Export only the log of this group's organization; undefined: all. */
  readonly group: string | undefined;
  /** After the first number, up to and including the second. */
  readonly after: number;
  readonly upTo: number | undefined;
  /** Seal times from the first, before the second. */
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
  /** Receives one entry, without a line break. */
  readonly write: (line: string) => Promise<void>;
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
}

/** Exports the entries; returns their number. */
export const exportAudit = async (
  { services }: Pick<Application, "services">,
  { group, after, upTo, sinceMs, untilMs, write, progress }: AuditExport,
): Promise<number> => {
  const { read } = services.store;
  const all = new Set(await findChainRoots(read));
  // The order of `gantry audit verify`.
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
      // Seal times increase, so all later entries are too late as well.
      last = wanted.length < entries.length ? end : (entries.at(-1)?.sequence ?? end);
    }
  }
  return written;
};
