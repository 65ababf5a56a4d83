// Records for import tests: a few of each kind, and many from a seed.

import { deflateRawSync } from "node:zlib";
import {
  addCounts,
  type AdvisoryEventData,
  type AdvisoryEventRecord,
  type AdvisoryRecord,
  type FactRecord,
  type FeedRecord,
  insertVulnReports,
  openFeed,
  type OwnedCounts,
  type RecordTarget,
  type WriteCounts,
  writeFacts,
} from "#advisories/store";
import { refreshRecordStatistics, writeRecords } from "../../server/advisories/feeds/write-records.ts";
import type { Write } from "#db";
import type { World } from "../world.ts";

/** Writes records like an import; by default public and in the world's organization. */
export const writeTestRecords = async (world: World, records: readonly FeedRecord[], target: Partial<RecordTarget> = {}): Promise<WriteCounts> => {
  const { store } = world.server.application.services;
  const whole = { group: world.organization, public: true, feed: "test", form: "wolfi", nowMs: world.clock.now, ...target };
  const written = await store.write((rows) => writeRecords(rows, whole, records));
  await store.write((rows) => refreshRecordStatistics(rows, "all"));
  return addCounts(written.group, written.everybody);
};

/** Writes public facts about vulnerabilities like an import. */
export const writeTestFacts = async (world: World, facts: readonly FactRecord[]): Promise<void> => {
  const group = world.organization;
  await world.server.application.services.store.write(async (rows) => {
    const { id } = await openFeed(rows, { kind: "vulnerabilities", group, source: "test", sourceName: "test", manner: "", license: undefined, author: "" });
    await writeFacts(rows, { feed: id, group, public: true, run: 0, allowOlder: true }, facts);
  });
};

export const withdrawnBy = async (world: World, withdraw: (rows: Write) => Promise<OwnedCounts>): Promise<number> => {
  const { group, everybody } = await world.server.application.services.store.write(withdraw);
  return group.withdrawn + everybody.withdrawn;
};

/** Returns a minimal advisory. */
export const advisory = (key: string, more: Partial<AdvisoryRecord> = {}): AdvisoryRecord => ({
  kind: "advisory",
  key,
  advisoryId: key,
  author: "Wolfi",
  artifactName: "nginx",
  artifactType: "apk",
  aliases: [],
  events: [],
  ...more,
});

export const eventAt = (time: string, data: AdvisoryEventData, more: Partial<AdvisoryEventRecord> = {}): AdvisoryEventRecord => ({ time, data, ...more });

export const everyKind: readonly AdvisoryEventData[] = [
  { detection: { nvdapi: { cpeSearched: "cpe:2.3:a:nginx:*", cpeFound: "cpe:2.3:a:nginx:nginx:1.0" } } },
  { detection: { manual: {} } },
  {
    detection: {
      scanv1: {
        scanner: "grype",
        subpackage: "nginx-mod",
        componentId: "c7a0b32f7640e957",
        component: "stdlib",
        componentVersion: "go1.22.5",
        componentType: "go-module",
        componentLocation: "/usr/bin/nginx",
        artifactVersion: "1.0-r1",
        scannerVersion: "0.80",
        grypeDbBuilt: "2024-01-01",
        grypeDbChecksum: "sha256:0",
      },
    },
  },
  { fixed: { fixedVersion: "1.0-r2", note: "upgraded", scannerVersion: "0.80", grypeDbBuilt: "2024-01-01", grypeDbChecksum: "sha256:1" } },
  { falsePositiveDetermination: { type: "TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH", note: "never runs" } },
  { analysisNotPlanned: { note: "too old" } },
  { fixNotPlanned: { note: "end of life" } },
  { pendingUpstreamFix: { note: "awaited" } },
  { truePositiveDetermination: { note: "it applies" } },
  { patched: { patchedVersions: ["1.0-r3", "1.1-r0"], note: "backported" } },
];

/** Writes a Grype report on an image of a repo like an import. */
export const writeTestReport = async (world: World, repoUid: string, digest: string): Promise<void> => {
  const nothing = deflateRawSync("[]").toString("base64");
  const said = { version: "0.80.0", findingCount: 0, severities: "{}", findings: nothing, raw: nothing, rawBytes: 2, manifestDigest: "" };
  const draft = { ...said, repoUid, digest, scanner: "GRYPE", tool: "grype", databaseTimeMs: undefined, createTimeMs: world.clock.now, documentDigest: digest };
  await world.server.application.services.store.write((rows) => insertVulnReports(rows, [draft], world.clock.now));
};
