import assert from "node:assert/strict";
import { test } from "node:test";
import { openWorld } from "./world.ts";
import { type FeedRecord, settleRecords, withdrawVanished, writeRecords, recordKey } from "#store";

test("scratch", async () => {
  const world = await openWorld();
  const { store } = world.server.open.house;
  const target = { group: world.organization, public: true, feed: "f", nowMs: Date.now() };
  const records: FeedRecord[] = [
    { kind: "advisory", key: "CGA-1", advisoryId: "CGA-1", author: "Wolfi", artifactName: "go", artifactType: "apk", aliases: ["CVE-1", "CVE-1"], events: [
      { time: "2024-01-02T00:00:00Z", data: { fixed: { fixedVersion: "1.0-r1" } } }, { time: "2024-01-01T00:00:00Z", data: { detection: { manual: {} } } }] },
    { kind: "vulnerability", id: "CVE-1", aliases: [], state: "PUBLISHED", summary: "s", details: "d\\ \"x", severities: [{ type: "TYPE_CVSS_V3", score: "x" }], references: [], modifyTime: "2024-01-01T00:00:00Z" },
    { kind: "image", repo: "public/go", tag: "latest", architecture: "amd64", packages: [{ name: "go", version: "1.0-r1" }] },
    { kind: "origin", name: "go-dev", origin: "go" },
    { kind: "library", ecosystem: "ECOSYSTEM_JAVA", name: "a:b", versions: [{ version: "1.0", sizeBytes: 3 }, { version: "1.10" }, { version: "1.9", publishTime: "2020-01-01T00:00:00Z" }] },
  ];
  const w = () => store.write((rows) => writeRecords(rows, target, records));
  console.log(await w(), await w(), await w());
  console.log(await store.write((rows) => writeRecords(rows, { ...target, feed: "g" }, records)));
  await store.write((rows) => settleRecords(rows));
  console.log(await store.read.query("select uid, latest_version, version_count from library_artifacts"), await store.read.query("select * from advisories"), await store.read.query("select * from advisory_facets"));
  const none = new Set<string>();
  for (const kind of ["advisory", "vulnerability", "image", "library"] as const) console.log(await store.write((rows) => withdrawVanished(rows, target, kind, (k) => none.has(k))));
  console.log(await w(), await w(), records.map(recordKey));
  await world.close();
});
