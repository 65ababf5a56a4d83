// Whether the audit logs of all organizations, or of one, are what was written. What is found is handed on as it is
// found; how it reads is the command line's affair.

import { type Link, type Restore, verifyAllChains, verifyChain, verifyRestores } from "#audit/log";
import { operatorUid } from "#authz";
import { rootOf } from "#base/uid.ts";
import { findChainRoots } from "#audit/store";
import { findRows, type Read } from "#db";
import type { Application } from "./application.ts";

/** What was found in the log of one organization. */
export interface AuditVerdict {
  readonly organization: string;
  /** What a person calls it. */
  readonly name: string;
  /** How many entries were read. */
  readonly entries: number;
  /** The sealed end; undefined where its seal cannot be opened. */
  readonly last: Link | undefined;
  /** What is wrong, in a sentence each; empty where all is as it was written. */
  readonly problems: readonly string[];
  /** What was known before and is gone by a restore, in a sentence each. */
  readonly notes: readonly string[];
}

export interface AuditVerdictOfAll {
  /** What is wrong with all logs together, in a sentence each. */
  readonly problems: readonly string[];
  /** What the database was restored from, the first first. */
  readonly restores: readonly Restore[];
}

export interface AuditVerification {
  /** Only the log of this group's organization; undefined: all. */
  readonly group: string | undefined;
  /** Ends of logs as they were at an earlier time, by organization: the logs must still go through these entries. */
  readonly known: ReadonlyMap<string, Link>;
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
  readonly report: (verdict: AuditVerdict) => void;
}

const organizationNames = async (rows: Read, roots: readonly string[]): Promise<(root: string) => string> => {
  const found = await findRows(rows, { name: "groups", columns: ["uid", "name"] }, roots);
  const names = new Map(found.map(([uid, name]) => [uid ?? "", JSON.stringify(name ?? "")]));
  return (root) => names.get(root) ?? (root === operatorUid ? "(the operator's)" : "(no organization of now)");
};

/** Reports a verdict for each log. */
export const verifyAudit = async (
  { services }: Pick<Application, "services">,
  { group, known, progress, report }: AuditVerification,
): Promise<AuditVerdictOfAll> => {
  const {
    store: { read },
    seal,
  } = services;
  const all = new Set([...(await findChainRoots(read)), ...known.keys()]);
  // The operator's own comes last: it is nobody's organization.
  const own = all.delete(operatorUid) ? [operatorUid] : [];
  const roots = group === undefined ? [...[...all].sort(), ...own] : [rootOf(group)];
  const nameOf = await organizationNames(read, roots);
  for (const [done, root] of roots.entries()) {
    progress({ done, total: roots.length, what: "logs" });
    const { entries, last, problems, notes } = await verifyChain(read, seal, root, known.get(root));
    report({ organization: root, name: nameOf(root), entries, last, problems, notes });
  }
  // Also for one of them: an older seal of its own shows here alone.
  return { problems: await verifyAllChains(read, seal), restores: (await verifyRestores(read, seal)).restores };
};
