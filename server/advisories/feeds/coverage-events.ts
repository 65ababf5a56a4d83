// Digest events about packages that sources no longer judge, and judge again: one for each group and change (docs/decisions/0096). The
// coverage itself is computed by each request (docs/decisions/0074).

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { parentOf, rootOf } from "#base/uid.ts";
import { type Cause, type Services, toldEvent } from "#kernel";
import { record } from "#outbox";
import {
  type CheckedEcosystem,
  type CoverageReport,
  countImagesWith,
  findCheckedEcosystems,
  findCheckedEcosystemsOf,
  lockMatching,
  writeCoverageReports,
} from "#advisories/store";
import type { Read, Write } from "#db";
import { type CoverageState, ecosystemKey, readCoverage } from "./coverage.ts";
import { backgroundCause, forEachRoot } from "./finding-events.ts";

type CoverageChange = "lost" | "regained";

const kinds: Readonly<Record<CoverageChange, { readonly message: string; readonly states: readonly CoverageState[] }>> = {
  lost: { message: "gantry.findings.v1.CoverageLost", states: ["NO_SOURCE", "STALE", "OS_UNSUPPORTED"] },
  regained: { message: "gantry.findings.v1.CoverageRegained", states: ["MATCHED"] },
};

interface Checked {
  readonly row: CheckedEcosystem;
  readonly state: CoverageState;
  /** Undefined if nothing is to be written. */
  readonly report: CoverageReport | undefined;
  readonly change: CoverageChange | undefined;
}

/** A loss counts once it has lasted: an import that is undone and repeated, or a clock that was wrong, is none. */
const check = (row: CheckedEcosystem, state: CoverageState, nowMs: number): Checked => {
  const { uid, reported, unjudgedMs } = row;
  const unchanged: Checked = { row, state, report: undefined, change: undefined };
  if (state === "MATCHED") {
    if (reported === "JUDGED" && unjudgedMs === undefined) return unchanged;
    return { row, state, report: { uid, reported: "JUDGED", unjudgedMs: undefined }, change: reported === "LOST" ? "regained" : undefined };
  }
  if (reported !== "JUDGED") return unchanged;
  if (unjudgedMs === undefined) return { row, state, report: { uid, reported, unjudgedMs: nowMs }, change: undefined };
  // Also after the clock was set back.
  if (Math.abs(nowMs - unjudgedMs) < limits.coverageLossMs) return unchanged;
  return { row, state, report: { uid, reported: "LOST", unjudgedMs: undefined }, change: "lost" };
};

const checkAll = async (rows: Read, services: Services, held: readonly CheckedEcosystem[], nowMs: number): Promise<Checked[]> => {
  const groups = [...new Set(held.map(({ uid }) => parentOf(uid)))];
  const coverageOf = await readCoverage(rows, { groups, ecosystems: held, nowMs, staleAfterMs: services.feedStaleMs });
  return held.map((row) => check(row, coverageOf(parentOf(row.uid), row).state, nowMs));
};

const recordChange = async (
  rows: Write,
  services: Services,
  cause: Cause,
  groupUid: string,
  change: CoverageChange,
  found: readonly Checked[],
): Promise<void> => {
  const { message, states } = kinds[change];
  const query = new URLSearchParams({ "uidp.childrenOf": groupUid });
  for (const state of states) query.append("states", `COVERAGE_STATE_${state}`);
  const keys = found.map(({ row }) => ecosystemKey(row));
  const body: JsonObject = {
    groupUid,
    imageCount: await countImagesWith(rows, groupUid, keys),
    ecosystems: found.slice(0, limits.namedEcosystemsMax).map(({ row: { ecosystem, release }, state }) => ({
      ecosystem,
      ...(release === "" ? {} : { release }),
      state: `COVERAGE_STATE_${state}`,
    })),
    ecosystemCount: found.length,
    listUrl: `${services.publicUrl}/gantry/v1/advisoryCoverage?${query.toString()}`,
  };
  await record(rows, toldEvent(services, message, body, cause, found.length));
};

/** Records the events of one organization. */
const reportOrganization = async (rows: Write, services: Services, cause: Cause, root: string): Promise<void> => {
  await lockMatching(rows, root);
  const checked = await checkAll(rows, services, await findCheckedEcosystemsOf(rows, root), services.clock());
  await writeCoverageReports(
    rows,
    checked.flatMap(({ report }) => report ?? []),
  );
  for (const [group, own] of Map.groupBy(checked, ({ row }) => parentOf(row.uid)))
    for (const change of ["lost", "regained"] as const) {
      const found = own.filter((each) => each.change === change);
      if (found.length > 0) await recordChange(rows, services, cause, group, change, found);
    }
};

/** Records events of coverage that was lost or regained. A failed organization is retried by the next check. */
export const recordCoverageChanges = async (services: Services): Promise<void> => {
  const { store, clock } = services;
  const cause = backgroundCause("push", crypto.randomUUID());
  const roots = new Set<string>();
  for (let after = "", isLast = false; !isLast; ) {
    const held = await findCheckedEcosystems(store.read, after, limits.coverageCheckRows);
    for (const { row, report } of await checkAll(store.read, services, held, clock())) if (report) roots.add(rootOf(row.uid));
    after = held.at(-1)?.uid ?? after;
    isLast = held.length < limits.coverageCheckRows;
  }
  await forEachRoot(services, roots, (rows, root) => reportOrganization(rows, services, cause, root));
};
