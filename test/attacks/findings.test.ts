// Attacks on findings: learning about another organization's images, changing its findings, and images that look clean.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { openOwners, type Owners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import { runImport } from "../story/import.ts";
import { openWorld, type World } from "../world.ts";

const list = "gantry.findings.v1.FindingsService/ListFindings";
const protocols = ["rest", "grpc"] as const;
const cve = "CVE-2026-4711";
const critical = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";

let world: World;
let folder: string;
let owners: Owners;
let [ours, theirs] = ["", ""];

const write = (name: string, value: JsonObject): string => {
  writeFileSync(join(folder, name), JSON.stringify(value));
  return join(folder, name);
};

const push = async (group: string, path: string, purls: readonly string[]): Promise<string> => {
  const registry = openPusher(world, path, () => owners.token(group));
  const image = await registry.image("amd64", "v1");
  const sbom = { bomFormat: "CycloneDX", specVersion: "1.6", components: purls.map((purl) => ({ type: "library", name: purl, purl })) };
  await registry.artifact([await registry.blob(JSON.stringify(sbom), "application/vnd.cyclonedx+json")], { subject: image });
  await world.server.sboms.turn();
  return image.digest;
};

const importRecord = async (kind: "vulnerabilities" | "advisories", group: string, record: JsonObject, isPublic?: boolean): Promise<void> => {
  const file = write(`${text(record, "id") || "catalog"}.json`, record);
  assert.deepEqual((await runImport(world, kind, [file], { group, public: isPublic })).refused, []);
};

const osv = (id: string, name: string, more: JsonObject = {}): JsonObject => ({
  schema_version: "1.7.0",
  id,
  modified: "2026-01-01T00:00:00Z",
  affected: [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
  ...more,
});

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-findings-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  owners = openOwners(world);
  [ours, theirs] = [
    text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "ours" } }), "uid"),
    text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "theirs" } }), "uid"),
  ];
});
after(async () => {
  await world?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

test("attack 371: another organization's findings appear in no list, count by severity, filter or error", async () => {
  await push(ours, "ours/web", ["pkg:npm/shared@1.0.0"]);
  const digest = await push(theirs, "theirs/confidential", ["pkg:npm/shared@1.0.1", "pkg:npm/own@1.0.0"]);
  await importRecord("vulnerabilities", theirs, osv("GHSA-shared", "shared", { severity: [{ type: "CVSS_V3", score: critical }] }), true);
  await importRecord("advisories", theirs, osv("GHSA-shared", "shared"), true);
  await importRecord("advisories", theirs, osv("GHSA-confidential", "own"));
  const inUse = { parent: theirs, source: "cluster", images: ["theirs/confidential:v1"] };
  await world.ok("gantry.registry.v1.InUseService/ReportInUse", inUse, { token: await owners.token(theirs) });
  assert.equal(Number((await world.ok(list, {}, { token: await owners.token(theirs) })).totalCount), 2);
  const token = await owners.token(ours);
  for (const protocol of protocols) {
    const requests: readonly JsonObject[] = [
      {},
      { orderBy: "severity desc" },
      { advisoryIds: ["GHSA-shared", "GHSA-confidential"] },
      { packages: ["pkg:npm/shared", "pkg:npm/own"] },
      { tags: ["v*"] },
      { minSeverity: "FINDING_SEVERITY_CRITICAL" },
      { pageSize: 1 },
    ];
    for (const request of requests) {
      const reply = await world.ok(list, request, { protocol, token });
      const counts = objectList(part(reply, "summary"), "severityCounts").map(({ count }) => Number(count));
      assert.deepEqual([Number(reply.totalCount), counts, reply.nextPageToken ?? ""], [1, [1], ""], JSON.stringify(request));
      assert.doesNotMatch(JSON.stringify(reply), /confidential|1\.0\.1/, JSON.stringify(request));
    }
    for (const request of [{ inUse: true }, { advisoryIds: ["GHSA-confidential"] }]) {
      const reply = await world.ok(list, request, { protocol, token });
      assert.deepEqual([Number(reply.totalCount), objectList(part(reply, "summary"), "severityCounts")], [0, []], JSON.stringify(request));
    }
    // The error for an image of another organization is the same as for one that does not exist.
    for (const reference of [":v1", `@${digest}`]) {
      const [there, absent] = await Promise.all(
        ["confidential", "nonexistent1"].map(async (repo) => {
          const { code, message } = await world.call(list, { images: [`theirs/${repo}${reference}`] }, { protocol, token });
          return [code, message.replace(repo, "repo")];
        }),
      );
      assert.equal(there?.[0], codes.NOT_FOUND);
      assert.deepEqual(there, absent);
    }
  }
});

test("attack 372: private severities, EPSS scores and known exploits of another organization change no finding", async () => {
  await push(ours, "ours/api", ["pkg:npm/facts@1.0.0"]);
  await importRecord("advisories", ours, osv("GHSA-facts", "facts", { aliases: [cve] }));
  const facts = async (): Promise<readonly unknown[]> => {
    const { findings } = await world.ok(list, { advisoryIds: [cve] }, { token: await owners.token(ours) });
    const [one = {}] = objectList({ findings: findings ?? [] }, "findings");
    return [text(one, "severity"), text(one, "cvssVector"), one.epssScore, one.epssPercentile, one.exploited, text(one, "exploitDueDate")];
  };
  const before = ["FINDING_SEVERITY_UNKNOWN", "", 0, undefined, false, ""];
  assert.deepEqual(await facts(), before);
  const exploit = { cveID: cve, dateAdded: "2026-01-10", dueDate: "2026-02-10", knownRansomwareCampaignUse: "Known", requiredAction: "update" };
  const catalog = { catalogVersion: "1", dateReleased: "2026-01-10T00:00:00Z", count: 1, vulnerabilities: [exploit] };
  const score = { "status-code": 200, data: [{ cve, epss: "0.97", percentile: "0.99", date: "2026-01-10" }] };
  const record = osv(cve, "facts", { severity: [{ type: "CVSS_V3", score: critical }] });
  const importAll = async (group: string): Promise<void> => {
    for (const [name, value] of Object.entries({ record, catalog, score })) {
      const file = write(`${name}-${group}.json`, value);
      assert.deepEqual((await runImport(world, "vulnerabilities", [file], { group, public: false })).refused, [], name);
    }
  };
  await importAll(theirs);
  assert.deepEqual(await facts(), before);
  // Matching also reads them.
  await push(ours, "ours/api", ["pkg:npm/facts@1.0.1"]);
  assert.deepEqual(await facts(), before);
  await importAll(ours);
  assert.deepEqual(await facts(), ["FINDING_SEVERITY_CRITICAL", critical, 0.97, 0.99, true, "2026-02-10"]);
});

test("attack 373: an image that does not exist or was not read does not look like an image without findings", async () => {
  const token = await owners.token(ours);
  await openPusher(world, "ours/unread", () => owners.token(ours)).image("amd64", "v1");
  for (const protocol of protocols) {
    for (const image of ["ours/web:typo", "ours/typo:v1", `ours/web@sha256:${"0".repeat(64)}`, "ours/web", "ours/web:v1:v1", ""]) {
      const { code } = await world.call(list, { images: [image] }, { protocol, token });
      assert.equal(code, codes.NOT_FOUND, image);
    }
    const reply = await world.ok(list, { images: ["ours/unread:v1"] }, { protocol, token });
    assert.equal(Number(reply.totalCount), 0);
    assert.ok(objectList(part(reply, "coverage"), "images").some((each) => text(each, "repo") === "unread"));
  }
});
