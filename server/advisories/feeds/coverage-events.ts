// Digest events about packages that sources no longer judge, and judge again, and about layers that can no longer be read: one for each
// group and change (docs/decisions/0096). The coverage itself is computed by each request (docs/decisions/0074).

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { parentOf, rootOf } from "#base/uid.ts";
import { type Cause, type Services, toldEvent } from "#kernel";
import { record } from "#outbox";
import {
  type ChangedContents,
  type CheckedEcosystem,
  type CoverageReport,
  countImagesWith,
  findCheckedEcosystems,
  findCheckedEcosystemsOf,
  findRootsOfChangedContents,
  lockMatching,
  takeChangedContents,
  writeCoverageReports,
} from "#advisories/store";
import type { Read, Write } from "#db";
import { type CoverageState, ecosystemKey, readCoverage } from "./coverage.ts";
import { backgroundCause, forEachRoot } from "./finding-events.ts";

type CoverageChange = "lost" | "regained";

interface Kind {
  readonly message: string;
  /** Of ecosystems in the list. */
  readonly states: readonly CoverageState[];
  /** Of image contents without this event. */
  readonly coverage: string;
  /** Of image contents in the list. */
  readonly contents: readonly string[];
  /** State of packages in layers that were not read, and are. */
  readonly unread: CoverageState;
}

const kinds: Readonly<Record<CoverageChange, Kind>> = {
  lost: {
    message: "gantry.findings.v1.CoverageLost",
    states: ["NO_SOURCE", "STALE", "OS_UNSUPPORTED"],
    coverage: "LOSING",
    contents: ["PARTIAL", "FAILED"],
    unread: "NO_SOURCE",
  },
  regained: { message: "gantry.findings.v1.CoverageRegained", states: ["MATCHED"], coverage: "REGAINED", contents: ["INDEXED"], unread: "MATCHED" },
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

/** Layers of these images were read, and no longer are; or they are again. Images without tags have no event. */
const recordContents = async (
  rows: Write,
  services: Services,
  cause: Cause,
  groupUid: string,
  change: CoverageChange,
  images: readonly ChangedContents[],
): Promise<void> => {
  const { message, contents, unread } = kinds[change];
  const tagged = new Set(images.flatMap(({ repoUid, taggedDigests }) => taggedDigests.map((digest) => `${repoUid} ${digest}`)));
  if (tagged.size === 0) return;
  const query = new URLSearchParams({ "uidp.descendantsOf": groupUid });
  for (const state of contents) query.append("states", `IMAGE_CONTENTS_STATE_${state}`);
  const body: JsonObject = {
    groupUid,
    imageCount: tagged.size,
    ecosystems: [{ ecosystem: "unknown", state: `COVERAGE_STATE_${unread}` }],
    ecosystemCount: 1,
    listUrl: `${services.publicUrl}/gantry/v1/imageContents?${query.toString()}`,
  };
  await record(rows, toldEvent(services, message, body, cause, 1));
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
  const changed = await takeChangedContents(rows, root, services.clock() - limits.coverageLossMs);
  for (const [group, own] of Map.groupBy(changed, ({ repoUid }) => parentOf(repoUid)))
    for (const change of ["lost", "regained"] as const) {
      const images = own.filter(({ coverage }) => coverage === kinds[change].coverage);
      await recordContents(rows, services, cause, group, change, images);
    }
};

/** Records events of coverage that was lost or regained. A failed organization is retried by the next check. */
export const recordCoverageChanges = async (services: Services): Promise<void> => {
  const { store, clock } = services;
  const cause = backgroundCause("push", crypto.randomUUID());
  const roots = new Set(await findRootsOfChangedContents(store.read, clock() - limits.coverageLossMs));
  for (let after = "", isLast = false; !isLast; ) {
    const held = await findCheckedEcosystems(store.read, after, limits.coverageCheckRows);
    for (const { row, report } of await checkAll(store.read, services, held, clock())) if (report) roots.add(rootOf(row.uid));
    after = held.at(-1)?.uid ?? after;
    isLast = held.length < limits.coverageCheckRows;
  }
  await forEachRoot(services, roots, (rows, root) => reportOrganization(rows, services, cause, root));
};
