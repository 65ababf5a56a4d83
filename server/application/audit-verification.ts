// Verifies the audit log of one or all organizations and reports each result; the command line formats it.

import { isRecent, type Link, openPart, type Restore, sealPart, type VerifiedPart, verifyAllChains, verifyChain, verifyRestores } from "#audit/log";
import { Fault } from "#base/fault.ts";
import { operatorUid } from "#base/operator.ts";
import { rootOf } from "#base/uid.ts";
import { findChainRoots } from "#audit/store";
import { findRows, type Read, type Vault } from "#db";
import type { Application } from "./application.ts";

export interface AuditVerdict {
  readonly organization: string;
  readonly name: string;
  readonly entries: number;
  /** The sealed end; undefined if the seal cannot be opened. */
  readonly last: Link | undefined;
  /** One sentence per problem; empty if the log is intact. */
  readonly problems: readonly string[];
  /** One sentence per known entry that a restore removed. */
  readonly notes: readonly string[];
}

export interface AuditVerdictOfAll {
  /** One sentence each. */
  readonly problems: readonly string[];
  /** Oldest first. */
  readonly restores: readonly Restore[];
}

export interface AuditVerification {
  /** Verify only the log of this group's organization; undefined: all. */
  readonly group: string | undefined;
  /** Known ends of logs by organization. */
  readonly known: ReadonlyMap<string, Link>;
  /** Lines that an interrupted run passed to `note`; empty for a new verification. */
  readonly earlier?: readonly string[];
  /** Receives a line after each batch of entries, with which another run can continue. */
  readonly note?: (line: string) => void;
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
  readonly report: (verdict: AuditVerdict) => void;
}

const organizationNames = async (rows: Read, roots: readonly string[]): Promise<(root: string) => string> => {
  const found = await findRows(rows, { name: "groups", columns: ["uid", "name"] }, roots);
  const names = new Map(found.map(([uid, name]) => [uid ?? "", JSON.stringify(name ?? "")]));
  return (root) => names.get(root) ?? (root === operatorUid ? "(the operator's)" : "(no organization of now)");
};

/** Returns the newest part of each log. Throws INVALID_ARGUMENT if no line is one of this server's. */
const readParts = (vault: Pick<Vault, "open">, lines: readonly string[], nowMs: number): ReadonlyMap<string, VerifiedPart> => {
  const parts = lines.flatMap((line) => openPart(vault, line) ?? []);
  if (parts.length === 0 && lines.length > 0)
    throw new Fault("INVALID_ARGUMENT", "--resume: the file was not written by gantry audit verify with this secret key. Name another file, or delete it");
  return new Map(parts.filter((part) => isRecent(part, nowMs)).map((part) => [part.root, part]));
};

/** Verifies the logs, reports a verdict for each, and returns the overall result. */
export const verifyAudit = async (
  { services }: Pick<Application, "services">,
  { group, known, earlier = [], note, progress, report }: AuditVerification,
): Promise<AuditVerdictOfAll> => {
  const {
    store: { read },
    seal,
    clock,
  } = services;
  const beganMs = clock();
  const parts = readParts(seal, earlier, beganMs);
  const all = new Set([...(await findChainRoots(read)), ...known.keys()]);
  // The operator's own log comes last.
  const own = all.delete(operatorUid) ? [operatorUid] : [];
  const roots = group === undefined ? [...[...all].sort(), ...own] : [rootOf(group)];
  const nameOf = await organizationNames(read, roots);
  for (const [done, root] of roots.entries()) {
    progress({ done, total: roots.length, what: "logs" });
    const knownEnd = known.get(root);
    const { entries, last, problems, notes } = await verifyChain(read, seal, root, {
      known: knownEnd,
      part: parts.get(root),
      tell(count, span, sinceMs = beganMs) {
        progress({ done, total: roots.length, what: `logs: ${count} entries of ${nameOf(root)}` });
        note?.(sealPart(seal, { root, ...span, entries: count, sinceMs, ...(knownEnd === undefined ? {} : { known: knownEnd }) }));
      },
    });
    report({ organization: root, name: nameOf(root), entries, last, problems: problems.map(({ description }) => description), notes });
  }
  // Needed for a single log too: only this detects an older seal.
  return { problems: await verifyAllChains(read, seal), restores: (await verifyRestores(read, seal)).restores };
};
