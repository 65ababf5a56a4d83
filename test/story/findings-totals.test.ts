// Findings, affected images and the counts of version 1 come from the same rows: their totals agree after any sequence of imports and pushes.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { openOwners, type Owners } from "../owner.ts";
import { fc, runs } from "../property.ts";
import { openPusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";
import { runImport } from "./import.ts";

let world: World;
let folder: string;
let owners: Owners;
let made = 0;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-totals-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") }, undefined, Date.UTC(2026, 1, 1, 9));
  owners = openOwners(world);
});
after(async () => {
  await world?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const vectors = {
  CRITICAL: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H",
  MEDIUM: "CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N",
  LOW: "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N",
  UNKNOWN: "",
} as const;
type Severity = keyof typeof vectors;

const packages = ["alpha", "beta", "gamma"] as const;
const versions = ["1.0.0", "2.0.0", "3.0.0"] as const;
const vulnerabilities = [0, 1, 2, 3] as const;
const repos = ["web", "api"] as const;

type Step =
  | { readonly does: "push"; readonly repo: string; readonly installed: readonly (readonly [name: string, version: string])[] }
  | { readonly does: "publish"; readonly vulnerability: number; readonly name: string; readonly fixed: string; readonly severity: Severity }
  | { readonly does: "rate"; readonly vulnerability: number; readonly severity: Severity };

const severity = fc.constantFrom(...(Object.keys(vectors) as Severity[]));
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    does: fc.constant("push" as const),
    repo: fc.constantFrom(...repos),
    installed: fc.uniqueArray(fc.tuple(fc.constantFrom(...packages), fc.constantFrom(...versions)), { selector: ([name]) => name, maxLength: 3 }),
  }),
  fc.record({
    does: fc.constant("publish" as const),
    vulnerability: fc.constantFrom(...vulnerabilities),
    name: fc.constantFrom(...packages),
    fixed: fc.constantFrom(...versions, ""),
    severity,
  }),
  fc.record({ does: fc.constant("rate" as const), vulnerability: fc.constantFrom(...vulnerabilities), severity }),
);

const importRecord = async (kinds: readonly ("vulnerabilities" | "advisories")[], group: string, id: string, record: JsonObject): Promise<void> => {
  const file = join(folder, `${id}.json`);
  writeFileSync(file, JSON.stringify({ schema_version: "1.7.0", id, modified: new Date(world.clock.now + ++made).toISOString(), ...record }));
  for (const kind of kinds) assert.deepEqual((await runImport(world, kind, [file], { group })).refused, []);
};

const severityOf = (level: Severity): JsonObject => (vectors[level] === "" ? {} : { severity: [{ type: "CVSS_V3", score: vectors[level] }] });

/** What the findings of a group share, of a finding or of a group. */
const groupings: Readonly<Record<string, (of: JsonObject) => string>> = {
  VULNERABILITY: (of) => text(of, "vulnerability") || (texts(of, "aliases")[0] ?? ""),
  PACKAGE: (of) => text(of, "packageName"),
  IMAGE: (of) => `${text(of, "repo")}@${text(of, "digest")}`,
  GROUP: (of) => text(of, "groupUid") || text(of, "uid").slice(0, -17),
};

const summaryOf = (key: string, findings: readonly JsonObject[]): JsonObject => {
  const counts = Map.groupBy(findings, (each) => text(each, "severity"));
  const [worst] = findings.toSorted((one, other) => Number(other.severityRank ?? 0) - Number(one.severityRank ?? 0));
  return {
    key,
    worst: worst ? text(worst, "severity") : "",
    counts: [...counts].map(([level, { length }]) => `${level} ${length}`).sort(),
    findings: findings.length,
    images: new Set(findings.map((each) => `${text(each, "repo")}@${text(each, "digest")}`)).size,
    fixable: findings.filter((each) => text(each, "fixState") === "FINDING_FIX_STATE_FIXABLE").length,
    first: findings.map((each) => text(each, "createTime")).sort()[0] ?? "",
  };
};

const groupSummaryOf = (sharedBy: (of: JsonObject) => string, group: JsonObject): JsonObject => ({
  key: sharedBy(group),
  worst: text(group, "severity"),
  counts: objectList(group, "severityCounts")
    .map((each) => `${text(each, "severity")} ${String(each.count)}`)
    .sort(),
  findings: Number(group.findingCount ?? 0),
  images: Number(group.imageCount ?? 0),
  fixable: Number(group.fixableCount ?? 0),
  first: text(group, "firstCreateTime"),
});

/** Reads pages of two. */
const readGroups = async (request: JsonObject, token: string): Promise<JsonObject[]> => {
  const groups: JsonObject[] = [];
  for (let pageToken = ""; ; ) {
    const page = await world.ok(
      "gantry.findings.v1.FindingsService/GroupFindings",
      { ...request, pageSize: 2, ...(pageToken === "" ? {} : { pageToken }) },
      { token },
    );
    groups.push(...objectList(page, "groups"));
    pageToken = text(page, "nextPageToken");
    if (pageToken !== "") continue;
    assert.equal(Number(page.totalCount), groups.length);
    return groups;
  }
};

test("totals of findings, their groups, affected images and version 1 agree with a model in memory after any imports and pushes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 10 }), async (steps) => {
      const name = `totals-${++made}`;
      const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
      const token = (): Promise<string> => owners.token(group);
      const cveOf = (vulnerability: number): string => `CVE-2026-${group.slice(0, 12).replaceAll(/[a-f]/g, "7")}${vulnerability}`;
      const images = new Map<string, ReadonlyMap<string, string>>();
      const advisories = new Map<number, { readonly name: string; readonly fixed: string }>();
      const severities = new Map<number, Severity>();
      for (const each of steps) {
        // Reports are ordered by their times.
        world.clock.now += 1000;
        if (each.does === "push") {
          const registry = openPusher(world, `${name}/${each.repo}`, token, String(++made));
          const image = await registry.image("amd64", "latest");
          const components = each.installed.map(([of, version]) => ({ type: "library", name: of, purl: `pkg:npm/${of}@${version}` }));
          const sbom = JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components });
          await registry.artifact([await registry.blob(sbom, "application/vnd.cyclonedx+json")], { subject: image });
          await world.server.sboms.turn();
          images.set(each.repo, new Map(each.installed));
        } else if (each.does === "publish") {
          const events = [{ introduced: "0" }, ...(each.fixed === "" ? [] : [{ fixed: each.fixed }])];
          const affected = [{ package: { ecosystem: "npm", name: each.name }, ranges: [{ type: "SEMVER", events }] }];
          const record = { aliases: [cveOf(each.vulnerability)], affected, ...severityOf(each.severity) };
          await importRecord(["vulnerabilities", "advisories"], group, `GHSA-${name}-${each.vulnerability}`, record);
          advisories.set(each.vulnerability, each);
          severities.set(each.vulnerability, each.severity);
        } else if (advisories.has(each.vulnerability)) {
          const record = { aliases: [cveOf(each.vulnerability)], affected: [], ...severityOf(each.severity) };
          await importRecord(["vulnerabilities"], group, `GHSA-${name}-${each.vulnerability}`, record);
          severities.set(each.vulnerability, each.severity);
        }
      }
      const expected = [...images].flatMap(([repo, installed]) =>
        [...advisories].flatMap(([vulnerability, { name: of, fixed }]) => {
          const version = installed.get(of);
          const isAffected = version !== undefined && (fixed === "" || version < fixed);
          return isAffected ? [{ key: `${repo} ${of} ${version} ${cveOf(vulnerability)}`, repo, severity: severities.get(vulnerability) ?? "UNKNOWN" }] : [];
        }),
      );
      const asked = { uidp: { descendantsOf: group }, pageSize: 200 };
      const findings = await world.ok("gantry.findings.v1.FindingsService/ListFindings", asked, { token: await token() });
      const keyOf = (row: JsonObject): string =>
        `${text(row, "repo")} ${text(row, "packageName").replace("pkg:npm/", "")} ${text(row, "installedVersion")} ${texts(row, "aliases")[0]}`;
      assert.deepEqual(
        objectList(findings, "findings")
          .map((row) => `${keyOf(row)} ${text(row, "severity").replace("FINDING_SEVERITY_", "")}`)
          .sort(),
        expected.map((each) => `${each.key} ${each.severity}`).sort(),
      );
      assert.equal(Number(findings.totalCount), expected.length);
      const counts = Object.fromEntries(
        objectList(part(findings, "summary"), "severityCounts").map((each) => [text(each, "severity").replace("FINDING_SEVERITY_", ""), Number(each.count)]),
      );
      const wanted = Map.groupBy(expected, (each) => each.severity);
      assert.deepEqual(counts, Object.fromEntries([...wanted].map(([level, { length }]) => [level, length])));

      const rows = objectList(findings, "findings");
      for (const [by, sharedBy] of Object.entries(groupings)) {
        const groups = await readGroups({ uidp: asked.uidp, groupBy: `FINDING_GROUP_BY_${by}`, orderBy: "finding_count desc" }, await token());
        const shared = [...Map.groupBy(rows, sharedBy)].map(([key, own]) => summaryOf(key, own));
        assert.deepEqual(groups.map((each) => JSON.stringify(groupSummaryOf(sharedBy, each))).sort(), shared.map((each) => JSON.stringify(each)).sort(), by);
        const sizes = groups.map((each) => Number(each.findingCount));
        assert.deepEqual(
          sizes,
          sizes.toSorted((one, other) => other - one),
        );
      }

      const affected = await world.ok("gantry.images.v1.AffectedImagesService/ListAffectedImages", asked, { token: await token() });
      const open = objectList(affected, "affectedImages").filter((row) => text(row, "endTime") === "");
      assert.deepEqual(open.map(keyOf).sort(), expected.map(({ key }) => key).sort());
      const everything = { ...asked, states: ["AFFECTED", "UNDER_INVESTIGATION", "SUPPRESSED", "RESOLVED"].map((state) => `AFFECTED_IMAGE_STATE_${state}`) };
      const all = await world.ok("gantry.findings.v1.FindingsService/ListFindings", everything, { token: await token() });
      assert.equal(all.totalCount, affected.totalCount);

      for (const repo of images.keys()) {
        const reply = await world.ok(
          "chainguard.platform.registry.Vulnerabilities/ListVulnCountReports",
          { repo: `${name}/${repo}`, tag: "latest" },
          { token: await token() },
        );
        const [last = {}] = objectList(reply, "items").slice(-1);
        const counted = Object.fromEntries(
          objectList(last, "vulnCounts").flatMap((each) => (Number(each.count) > 0 ? [[text(each, "severity"), Number(each.count)]] : [])),
        );
        const own = Map.groupBy(
          expected.filter((each) => each.repo === repo),
          (each) => each.severity,
        );
        assert.deepEqual(counted, Object.fromEntries([...own].map(([level, { length }]) => [level, length])), repo);
      }
    }),
    { numRuns: runs(12) },
  );
});
