// `gantry audit verify`: whether the audit log is what was written.

import { readFileSync } from "node:fs";
import { type Link, type Verdict, verifyAllChains, verifyChain } from "#audit";
import { operatorUid } from "#authz";
import { Fault } from "#base/fault.ts";
import { rootOf } from "#base/uid.ts";
import { findChainRoots, findRows, type Read } from "#store";
import type { Application } from "./application.ts";
import type { Progress } from "./progress.ts";

export interface Verification {
  /** Only the log of this group's organization. */
  readonly group: string | undefined;
  /** A file with what an earlier run said in JSON. */
  readonly known: string | undefined;
  readonly json: boolean;
  readonly write: (line: string) => void;
  readonly progress: (progress: Progress) => void;
}

/** One line of JSON for each organization: {organization, entries, last: {sequence, hash} or null, problems}; {problems} of all together. */
const readKnown = (file: string): ReadonlyMap<string, Link> => {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new Fault("INVALID_ARGUMENT", `--known names a file that cannot be read: ${file}`, { cause });
  }
  const known = new Map<string, Link>();
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    try {
      const { organization, last, problems } = JSON.parse(line) as {
        organization?: unknown;
        last?: { sequence?: unknown; hash?: unknown } | null;
        problems?: unknown;
      };
      // A log whose seal was missing then, and what was wrong with all together, has no end to compare with.
      if (last == null && Array.isArray(problems) && problems.length > 0) continue;
      if (typeof organization !== "string" || typeof last?.sequence !== "number" || typeof last.hash !== "string")
        throw new Error("it lacks organization, last.sequence or last.hash");
      known.set(organization, { sequence: last.sequence, hash: last.hash });
    } catch (cause) {
      throw new Fault("INVALID_ARGUMENT", `--known: line ${index + 1} of ${file} is not what gantry audit verify --json prints`, { cause });
    }
  }
  return known;
};

const lineOf = ({ root, entries, last, problems }: Verdict, name: string): string =>
  problems.length === 0
    ? `${root} ${name}  whole: ${entries === 1 ? "1 entry" : `${entries} entries`}, the last is ${last?.sequence ?? 0} with hash ${last?.hash ?? ""}`
    : `${root} ${name}  NOT WHOLE: ${problems.join("; ")}`;

/** What a person calls each of these logs. */
const namesOf = async (read: Read, roots: readonly string[]): Promise<(root: string) => string> => {
  const found = await findRows(read, { name: "groups", columns: ["uid", "name"] }, roots);
  const names = new Map(found.map(([uid, name]) => [uid ?? "", JSON.stringify(name ?? "")]));
  return (root) => names.get(root) ?? (root === operatorUid ? "(the operator's)" : "(no organization of now)");
};

/** Looks at every chain, or one. True where all is as it was written. */
export const verifyAudit = async ({ services }: Application, { group, known, json, write, progress }: Verification): Promise<boolean> => {
  const {
    store: { read },
    seal,
  } = services;
  const earlier = known === undefined ? new Map<string, Link>() : readKnown(known);
  const roots = group === undefined ? [...new Set([...(await findChainRoots(read)), ...earlier.keys()])].sort() : [rootOf(group)];
  const verdicts: Verdict[] = [];
  const nameOf = await namesOf(read, roots);
  for (const root of roots) {
    progress({ done: verdicts.length, total: roots.length, what: "logs" });
    const verdict = await verifyChain(read, seal, root, earlier.get(root));
    verdicts.push(verdict);
    write(
      json
        ? JSON.stringify({ organization: root, entries: verdict.entries, last: verdict.last ?? null, problems: verdict.problems })
        : lineOf(verdict, nameOf(root)),
    );
  }
  // Also for one of them: an older seal of its own shows here alone.
  const together = await verifyAllChains(read, seal);
  if (!json) for (const problem of together) write(`all logs together  NOT WHOLE: ${problem}`);
  else if (together.length > 0) write(JSON.stringify({ problems: together }));
  if (roots.length === 0 && !json) write("nothing has been logged yet");
  return together.length === 0 && verdicts.every(({ problems }) => problems.length === 0);
};
