// Findings: affected images with severity, exploitation, fix and use, as an organization's owner lists them.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { asOwner, freshDatabase } from "../database.ts";
import { openOwners, type Owners } from "../owner.ts";
import { descriptorOf, ociIndex, openPusher, type Pushed, type Pusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";
import { runImport } from "./import.ts";

const list = "gantry.findings.v1.FindingsService/ListFindings";
const protocols = ["rest", "grpc"] as const;
const dayMs = 24 * 60 * 60 * 1000;

let world: World;
let folder: string;
let owners: Owners;
let made = 0;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-findings-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") }, undefined, Date.UTC(2026, 1, 1, 9));
  owners = openOwners(world);
});
after(async () => {
  await world?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const write = (name: string, value: string): string => {
  writeFileSync(join(folder, name), value);
  return join(folder, name);
};

const newGroup = async (): Promise<{ readonly group: string; readonly name: string }> => {
  const name = `findings-${++made}`;
  return { name, group: text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid") };
};

const newCve = (): string => `CVE-2026-${1000 + ++made}`;

const tokenOf = (group: string): Promise<string> => owners.token(group);

const attach = async (registry: Pusher, image: Pushed, purls: readonly string[]): Promise<void> => {
  const content = JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components: purls.map((purl) => ({ type: "library", name: purl, purl })) });
  await registry.artifact([await registry.blob(content, "application/vnd.cyclonedx+json")], { subject: image });
};

/** Pushes an image with these packages; returns its digest. */
const push = async (group: string, path: string, tag: string, purls: readonly string[]): Promise<string> => {
  const registry = openPusher(world, path, () => tokenOf(group));
  const image = await registry.image("amd64", tag);
  await attach(registry, image, purls);
  await world.server.sboms.turn();
  return image.digest;
};

interface Vulnerability {
  readonly fixed?: string;
  readonly vector?: string;
  readonly aliases?: readonly string[];
}

/** Publishes an advisory and a vulnerability record on an npm package that is affected before the fixed version. */
const publish = async (group: string, id: string, name: string, { fixed, vector, aliases = [] }: Vulnerability = {}): Promise<void> => {
  const file = write(
    `${id}.json`,
    JSON.stringify({
      schema_version: "1.7.0",
      id,
      aliases: [...aliases],
      modified: new Date(world.clock.now + ++made).toISOString(),
      ...(vector === undefined ? {} : { severity: [{ type: "CVSS_V3", score: vector }] }),
      affected: [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, ...(fixed ? [{ fixed }] : [])] }] }],
    }),
  );
  for (const kind of ["vulnerabilities", "advisories"] as const) assert.deepEqual((await runImport(world, kind, [file], { group })).refused, []);
};

const importScores = async (scores: Readonly<Record<string, number>>, day = "2026-02-01"): Promise<void> => {
  const lines = Object.entries(scores).map(([cve, score]) => `${cve},${score},0.9\n`);
  const file = write("epss_scores.csv", `#model_version:v2026.01.01,score_date:${day}T00:00:00+0000\ncve,epss,percentile\n${lines.join("")}`);
  const { refused } = await runImport(world, "vulnerabilities", [file], { public: true, allowWithdrawals: true });
  assert.deepEqual(refused, []);
};

const importExploits = async (exploits: Readonly<Record<string, string>>): Promise<void> => {
  const vulnerabilities = Object.entries(exploits).map(([cveID, dueDate]) => ({
    cveID,
    vendorProject: "vendor",
    product: "product",
    vulnerabilityName: cveID,
    dateAdded: "2026-01-10",
    shortDescription: "short",
    requiredAction: "Apply mitigations",
    dueDate,
    knownRansomwareCampaignUse: "Unknown",
    notes: "",
  }));
  const catalog = { title: "Catalog", catalogVersion: "2026.01.10", dateReleased: "2026-01-10T00:00:00.000Z", count: vulnerabilities.length, vulnerabilities };
  const { refused } = await runImport(world, "vulnerabilities", [write("known_exploited_vulnerabilities.json", JSON.stringify(catalog))], {
    public: true,
    allowWithdrawals: true,
  });
  assert.deepEqual(refused, []);
};

const listFindings = async (group: string, request: JsonObject = {}, protocol: (typeof protocols)[number] = "rest"): Promise<JsonObject> =>
  world.ok(list, { uidp: { descendantsOf: group }, ...request }, { protocol, token: await tokenOf(group) });

const idsOf = (reply: JsonObject): string[] => objectList(reply, "findings").map((each) => text(each, "advisoryId"));

const severityCounts = (reply: JsonObject): string[] =>
  objectList(part(reply, "summary"), "severityCounts").map(
    (each) => `${text(each, "severity").replace("FINDING_SEVERITY_", "").toLowerCase()} ${String(each.count)}`,
  );

const critical = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
const medium = "CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N";
const low = "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N";

for (const protocol of protocols)
  test(`a finding has the severity, exploitation and fix of its vulnerability, and follows each later import (${protocol})`, async () => {
    const { group, name } = await newGroup();
    const cve = newCve();
    const digest = await push(group, `${name}/web`, "latest", ["pkg:npm/lantern@1.0.0"]);
    await publish(group, `GHSA-one-${made}`, "lantern", { fixed: "2.0.0", vector: critical, aliases: [cve] });
    const one = async (): Promise<JsonObject> => {
      const reply = await listFindings(group, {}, protocol);
      assert.equal(Number(reply.totalCount), 1);
      return objectList(reply, "findings")[0] ?? {};
    };
    const first = await one();
    assert.deepEqual(
      [text(first, "repo"), texts(first, "tags"), text(first, "digest"), text(first, "packageName"), text(first, "installedVersion")],
      ["web", ["latest"], digest, "pkg:npm/lantern", "1.0.0"],
    );
    assert.deepEqual([text(first, "fixedVersion"), text(first, "fixState"), texts(first, "aliases")], ["2.0.0", "FINDING_FIX_STATE_FIXABLE", [cve]]);
    assert.deepEqual(
      [text(first, "severity"), first.severityRank, text(first, "severityOrigin"), text(first, "cvssVector"), first.cvssScore],
      ["FINDING_SEVERITY_CRITICAL", 5, "FINDING_SEVERITY_ORIGIN_CVSS", critical, 9.8],
    );
    assert.deepEqual([first.exploited ?? false, first.epssScore ?? 0, first.epssPercentile, first.exploitDueDate], [false, 0, undefined, undefined]);

    const before = text(first, "updateTime");
    world.clock.now += 1000;
    await importScores({ [cve]: 0.25 });
    const scored = await one();
    assert.deepEqual([scored.epssScore, scored.epssPercentile, text(scored, "updateTime")], [0.25, 0.9, before]);
    await importScores({ [cve]: 0.5 }, "2026-02-02");
    assert.equal((await one()).epssScore, 0.5);

    await importExploits({ [cve]: "2026-03-01" });
    const exploited = await one();
    assert.deepEqual([exploited.exploited, text(exploited, "exploitAddedDate"), text(exploited, "exploitDueDate")], [true, "2026-01-10", "2026-03-01"]);
    assert.notEqual(text(exploited, "updateTime"), before);
    await importExploits({ "CVE-2020-1000": "2026-03-01" });
    assert.equal((await one()).exploited ?? false, false);

    await publish(group, `GHSA-one-${made - 1}`, "unrelated", { vector: low, aliases: [cve] });
    await publish(group, text(first, "advisoryId"), "lantern", { vector: medium, aliases: [cve] });
    const changed = await one();
    assert.deepEqual(
      [text(changed, "severity"), text(changed, "fixState"), changed.fixedVersion ?? ""],
      ["FINDING_SEVERITY_MEDIUM", "FINDING_FIX_STATE_NOT_FIXED", ""],
    );
  });

test("version 4.0 of CVSS counts in a record with several versions, the highest score of several records, and version 2 only alone", async () => {
  const { group, name } = await newGroup();
  const v4 = (metrics: string): string => `CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/${metrics}/SC:N/SI:N/SA:N`;
  const [high4, medium4] = [v4("VC:N/VI:N/VA:H"), v4("VC:L/VI:L/VA:L")];
  const threatened = `${v4("VC:H/VI:H/VA:H")}/E:U`;
  const two = "AV:N/AC:L/Au:N/C:C/I:C/A:C";
  await push(group, `${name}/web`, "latest", ["pkg:npm/lantern@1.0.0"]);
  await publish(group, `GHSA-cvss-${made}`, "lantern", { aliases: ["CVE-2026-40001", "GHSA-other-40001"] });
  const imported = async (id: string, ...vectors: readonly string[]): Promise<readonly [string, string, number]> => {
    const severity = vectors.map((score) => ({ type: score.startsWith("CVSS:4") ? "CVSS_V4" : score.startsWith("CVSS:3") ? "CVSS_V3" : "CVSS_V2", score }));
    const modified = new Date(world.clock.now + ++made).toISOString();
    const record = { schema_version: "1.7.0", id, modified, severity, affected: [] };
    assert.deepEqual((await runImport(world, "vulnerabilities", [write(`${id}.json`, JSON.stringify(record))], { group })).refused, []);
    const [found = {}] = objectList(await listFindings(group), "findings");
    assert.equal(text(found, "severityOrigin"), "FINDING_SEVERITY_ORIGIN_CVSS");
    return [text(found, "severity").replace("FINDING_SEVERITY_", ""), text(found, "cvssVector"), Number(found.cvssScore)];
  };
  assert.deepEqual(await imported("CVE-2026-40001", high4), ["HIGH", high4, 8.7]);
  assert.deepEqual(await imported("CVE-2026-40001", critical, medium4), ["MEDIUM", medium4, 6.9]);
  assert.deepEqual(await imported("CVE-2026-40001", critical, threatened), ["HIGH", threatened, 8.1]);
  assert.deepEqual(await imported("CVE-2026-40001", medium4, two), ["MEDIUM", medium4, 6.9]);
  assert.deepEqual(await imported("GHSA-other-40001", two), ["MEDIUM", medium4, 6.9]);
  assert.deepEqual(await imported("GHSA-other-40001", critical), ["CRITICAL", critical, 9.8]);
});

test("the severity is the distribution's, then another source's, then that of CVSS, and unknown without any of them", async () => {
  const { group } = await newGroup();
  const records = [
    ["CVE-2026-3001", [{ type: "CVSS_V3", score: critical }]],
    ["UBUNTU-CVE-2026-3001", [{ type: "Ubuntu", score: "low" }]],
    ["GHSA-3001", [{ type: "Other", score: "moderate" }]],
  ] as const;
  const aliases = records.map(([id]) => id);
  for (const [id, severity] of records) {
    const record = { schema_version: "1.7.0", id, aliases: aliases.filter((each) => each !== id), modified: "2026-01-01T00:00:00Z", severity };
    assert.deepEqual((await runImport(world, "vulnerabilities", [write(`${id}.json`, JSON.stringify({ ...record, affected: [] }))], { group })).refused, []);
  }
  const purls = ["pkg:deb/ubuntu/curl@1.0?distro=ubuntu-22.04", "pkg:deb/debian/curl@1.0?distro=debian-12", "pkg:npm/curl@1.0.0", "pkg:npm/other@1.0.0"];
  const image = { repo: "web", tags: ["latest"], configs: { amd64: { packages: purls } } };
  await runImport(world, "images", [write("severities.jsonl", `${JSON.stringify(image)}\n`)], { group });
  for (const [ecosystem, packageName] of [
    ["Ubuntu:22.04:LTS", "curl"],
    ["Debian:12", "curl"],
    ["npm", "curl"],
    ["npm", "other"],
  ] as const) {
    const id = `GHSA-${ecosystem.slice(0, 3)}-${packageName}`;
    const ranges = [{ type: ecosystem === "npm" ? "SEMVER" : "ECOSYSTEM", events: [{ introduced: "0" }] }];
    const affected = [{ package: { ecosystem, name: packageName }, ranges }];
    const advisory = { schema_version: "1.7.0", id, aliases: packageName === "other" ? [] : aliases, modified: "2026-01-01T00:00:00Z", affected };
    await runImport(world, "advisories", [write(`${id}.json`, JSON.stringify(advisory))], { group });
  }
  const severities = objectList(await listFindings(group, { orderBy: "package_name" }), "findings").map((each) => [
    text(each, "packageName").split("?")[0],
    text(each, "severity").replace("FINDING_SEVERITY_", ""),
    text(each, "severityOrigin").replace("FINDING_SEVERITY_ORIGIN_", ""),
    text(each, "cvssVector") === critical,
  ]);
  assert.deepEqual(severities, [
    ["pkg:deb/debian/curl", "MEDIUM", "SOURCE", true],
    ["pkg:deb/ubuntu/curl", "LOW", "DISTRIBUTION", true],
    ["pkg:npm/curl", "MEDIUM", "SOURCE", true],
    ["pkg:npm/other", "UNKNOWN", "", false],
  ]);
  assert.deepEqual(severityCounts(await listFindings(group)), ["medium 2", "low 1", "unknown 1"]);
});

for (const protocol of protocols)
  test(`one request finds what is exploited, fixable and in use, the worst first, and counts by severity (${protocol})`, async () => {
    const { group, name } = await newGroup();
    const [one, two, three, four] = [newCve(), newCve(), newCve(), newCve()];
    const packages = ["pkg:npm/alpha@1.0.0", "pkg:npm/beta@1.0.0", "pkg:npm/gamma@1.0.0", "pkg:npm/delta@1.0.0"];
    await push(group, `${name}/web`, "prod-1", packages);
    await push(group, `${name}/idle`, "dev-1", packages);
    for (const [id, cve, of, rest] of [
      ["A", one, "alpha", { fixed: "2.0.0", vector: medium }],
      ["B", two, "beta", { fixed: "2.0.0", vector: critical }],
      ["C", three, "gamma", { vector: critical }],
      ["D", four, "delta", { fixed: "2.0.0", vector: low }],
    ] as const)
      await publish(group, `GHSA-${id}-${name}`, of, { ...rest, aliases: [cve] });
    await importExploits({ [one]: "2026-02-20", [two]: "2026-03-20", [three]: "" });
    await importScores({ [one]: 0.1, [two]: 0.7, [three]: 0.7000001, [four]: 0.2 });
    const letters = async (request: JsonObject): Promise<string> => {
      const reply = await listFindings(group, request, protocol);
      const found = idsOf(reply);
      assert.equal(Number(reply.totalCount), found.length, JSON.stringify(request));
      assert.equal(
        objectList(part(reply, "summary"), "severityCounts").reduce((sum, { count }) => sum + Number(count), 0),
        found.length,
        JSON.stringify(request),
      );
      return found.map((id) => id.charAt(5)).join("");
    };
    await world.ok(
      "gantry.registry.v1.InUseService/ReportInUse",
      { parent: group, source: "cluster", images: [`${name}/web:prod-1`] },
      { token: await tokenOf(group) },
    );
    const worst = { exploited: true, fixable: true, inUse: true, orderBy: "severity desc" };
    assert.equal(await letters(worst), "BA");
    const inUse = objectList(await listFindings(group, worst, protocol), "findings").map((each) => [text(each, "repo"), each.inUse]);
    assert.deepEqual(inUse, [
      ["web", true],
      ["web", true],
    ]);
    const web = { images: [`${name}/web:prod-1`] };
    const narrower: readonly (readonly [JsonObject, string])[] = [
      [{ orderBy: "epss_score desc" }, "CBDA"],
      [{ orderBy: "epss" }, "ADBC"],
      [{ orderBy: "exploit_due_date", exploited: true }, "ABC"],
      [{ minEpssScore: 0.7, orderBy: "epss_score" }, "BC"],
      [{ minEpssScore: 0.70000001, orderBy: "epss_score" }, "C"],
      [{ minSeverity: "FINDING_SEVERITY_MEDIUM", fixable: true, orderBy: "advisory_id" }, "AB"],
      [{ minSeverity: "FINDING_SEVERITY_CRITICAL", orderBy: "advisory_id" }, "BC"],
      [{ tags: ["prod-*"], orderBy: "advisory_id" }, "ABCD"],
      [{ tags: ["dev-*", "prod"] }, ""],
      [{ advisoryIds: [two] }, "B"],
      [{ packages: ["pkg:npm/gamma"] }, "C"],
      [{ states: ["AFFECTED_IMAGE_STATE_RESOLVED"] }, ""],
      [{ appearedSince: new Date(world.clock.now).toISOString() }, ""],
      [{ appearedBefore: new Date(world.clock.now).toISOString() }, ""],
      [{ appearedBefore: new Date(world.clock.now + 1).toISOString(), orderBy: "advisory_id" }, "ABCD"],
    ];
    for (const [request, wanted] of narrower) assert.equal(await letters({ ...web, ...request }), wanted, JSON.stringify(request));
    assert.equal(await letters({ orderBy: "advisory_id" }), "AABBCCDD");
    assert.equal(await letters({ tags: ["dev-*"], exploited: true, orderBy: "advisory_id" }), "ABC");
    world.clock.now += 31 * dayMs;
    assert.equal(await letters(worst), "");
  });

test("a digest or tag names an image of several platforms, and an unknown name is an error, not a clean image", async () => {
  const { group, name } = await newGroup();
  const registry = openPusher(world, `${name}/web`, () => tokenOf(group));
  const image = await registry.image("arm64");
  const index = await registry.manifest(
    { schemaVersion: 2, mediaType: ociIndex, manifests: [{ ...descriptorOf(image), platform: { os: "linux", architecture: "arm64" } }] },
    ociIndex,
    "v1",
  );
  await attach(registry, image, ["pkg:npm/lantern@1.0.0"]);
  await world.server.sboms.turn();
  await publish(group, `GHSA-index-${name}`, "lantern", { vector: low });
  const token = await tokenOf(group);
  for (const reference of [":v1", `@${index.digest}`, `@${image.digest}`, `:other@${image.digest}`])
    assert.deepEqual(idsOf(await listFindings(group, { images: [`${name}/web${reference}`] })), [`GHSA-index-${name}`], reference);
  for (const images of [[`${name}/web:v2`], [`${name}/wab:v1`], [`${name}/web`], [`${name}/web:v1`, `${name}/web:v2`], ["first-organization/web:v1"]]) {
    const { code, message } = await world.call(list, { images }, { token });
    assert.equal(code, codes.NOT_FOUND, message);
  }
});

test("a resolved or suppressed finding is listed only if its state is requested", async () => {
  const { group, name } = await newGroup();
  await push(group, `${name}/web`, "latest", ["pkg:npm/lantern@1.0.0"]);
  await publish(group, `GHSA-gone-${name}`, "lantern", { vector: critical });
  assert.equal(idsOf(await listFindings(group)).length, 1);
  await publish(group, `GHSA-gone-${name}`, "unrelated", { vector: critical });
  const reply = await listFindings(group);
  assert.deepEqual([idsOf(reply), Number(reply.totalCount), severityCounts(reply)], [[], 0, []]);
  assert.ok(Number(part(reply, "coverage").imageCount) > 0);
  const [gone = {}] = objectList(await listFindings(group, { states: ["AFFECTED_IMAGE_STATE_RESOLVED"] }), "findings");
  assert.deepEqual([text(gone, "advisoryId"), text(gone, "severity")], [`GHSA-gone-${name}`, "FINDING_SEVERITY_CRITICAL"]);
});

test("totals of a list are the same from counts kept by group as from its rows, for each filter, group and state of a decision", async () => {
  const { group, name } = await newGroup();
  const below = text(await world.ok("iam.GroupsService/CreateGroup", { parent: group, group: { name: "team" } }, { token: await tokenOf(group) }), "uid");
  const packages = ["kept-1", "kept-2", "kept-3", "kept-4"].map((each) => `${each}-${made}`);
  const purls = packages.map((each) => `pkg:npm/${each}@1.0.0`);
  await push(group, `${name}/web`, "latest", purls);
  await push(group, `${name}/team/api`, "latest", purls.slice(1));
  const cves = packages.map(() => newCve());
  for (const [index, each] of packages.entries())
    await publish(group, `GHSA-${each}`, each, {
      ...(index % 2 === 0 ? { fixed: "2.0.0" } : {}),
      vector: [critical, medium, low, critical][index] ?? low,
      aliases: [cves[index] ?? ""],
    });
  await importExploits({ [cves[1] ?? ""]: "2026-03-01", [cves[2] ?? ""]: "2026-03-01" });
  const until = new Date(world.clock.now + dayMs).toISOString();
  const decision = { vulnerability: `GHSA-${packages[3]}`, state: "FINDING_DECISION_STATE_ACCEPTED", expireTime: until, reason: "Not reachable." };
  const totals = async (request: JsonObject): Promise<string> => {
    const reply = await listFindings(group, request);
    return [`total ${reply.totalCount ?? 0}`, ...severityCounts(reply)].join(", ");
  };
  const requireEqualTotals = async (): Promise<void> => {
    for (const uidp of [{ descendantsOf: group }, { childrenOf: group }, { descendantsOf: below }])
      for (const filter of [{}, { fixable: true }, { exploited: true }, { minSeverity: "FINDING_SEVERITY_MEDIUM" }, { fixable: true, exploited: true }]) {
        // A filter that selects every row is counted row by row.
        const counted = await totals({ uidp, ...filter, appearedBefore: "2999-01-01T00:00:00Z" });
        assert.equal(await totals({ uidp, ...filter }), counted, JSON.stringify([uidp, filter]));
      }
  };
  await requireEqualTotals();
  assert.equal(await totals({}), "total 7, critical 3, medium 2, low 2");
  await world.ok("gantry.decisions.v1.DecisionsService/CreateFindingDecision", { parent: group, findingDecision: decision }, { token: await tokenOf(group) });
  await world.server.sboms.turn();
  await requireEqualTotals();
  assert.equal(await totals({}), "total 5, critical 1, medium 2, low 2");
  world.clock.now += 2 * dayMs;
  await requireEqualTotals();
  assert.equal(await totals({}), "total 7, critical 3, medium 2, low 2");
});

for (const protocol of protocols)
  test(`findings are counted by day and severity, and a day without a count is left out (${protocol})`, async () => {
    const { group, name } = await newGroup();
    const below = text(await world.ok("iam.GroupsService/CreateGroup", { parent: group, group: { name: "team" } }, { token: await tokenOf(group) }), "uid");
    const history = async (request: JsonObject = {}): Promise<string[]> => {
      const reply = await world.ok(
        "gantry.findings.v1.FindingsService/GetFindingHistory",
        { uidp: { descendantsOf: group }, ...request },
        { protocol, token: await tokenOf(group) },
      );
      return objectList(reply, "days").map((day) => [text(day, "day"), String(day.findingCount ?? 0), ...severityCounts({ summary: day })].join(" "));
    };
    const days = [0, 1, 2, 3].map((day) => new Date(world.clock.now + day * dayMs).toISOString().slice(0, 10));
    assert.deepEqual(await history(), []);
    await push(group, `${name}/web`, "latest", ["pkg:npm/lantern@1.0.0", `pkg:npm/day-${made}@1.0.0`]);
    const inBoth = `day-${made}`;
    world.clock.now += limits.findingDayMs;
    await world.server.sboms.turn();
    assert.deepEqual(await history(), [`${days[0]} 0`]);
    world.clock.now += dayMs;
    await publish(group, `GHSA-day-${made}`, inBoth, { vector: critical, aliases: [newCve()] });
    await push(group, `${name}/team/api`, "latest", [`pkg:npm/${inBoth}@1.0.0`]);
    world.clock.now += limits.findingDayMs;
    await world.server.sboms.turn();
    const second = `${days[1]} 2 critical 2`;
    assert.deepEqual(await history(), [second, `${days[0]} 0`]);
    world.clock.now += 2 * dayMs;
    await publish(group, `GHSA-day-${made}`, "lantern", { vector: low, aliases: [newCve()] });
    await world.server.sboms.turn();
    const last = `${days[3]} 3 critical 2 low 1`;
    assert.deepEqual(await history(), [last, second, `${days[0]} 0`]);
    assert.deepEqual(await history({ dayCount: 3 }), [last, second]);
    assert.deepEqual(await history({ uidp: { descendantsOf: below } }), [`${days[3]} 1 critical 1`, `${days[1]} 1 critical 1`]);
    assert.deepEqual(await history({ uidp: { childrenOf: group } }), [`${days[3]} 2 critical 1 low 1`, `${days[1]} 1 critical 1`, `${days[0]} 0`]);
    for (const refused of [{ dayCount: 401 }, { dayCount: -1 }, { uidp: { ids: [group] } }]) {
      const { code } = await world.call("gantry.findings.v1.FindingsService/GetFindingHistory", refused, { protocol, token: await tokenOf(group) });
      assert.equal(code, codes.INVALID_ARGUMENT);
    }
    const { group: stranger } = await newGroup();
    const unseen = await world.ok(
      "gantry.findings.v1.FindingsService/GetFindingHistory",
      { uidp: { descendantsOf: group } },
      { protocol, token: await tokenOf(stranger) },
    );
    assert.deepEqual(objectList(unseen, "days"), []);
  });

test("an organization whose findings cannot be updated or counted delays no other, and has the changes after the next match", async () => {
  const database = await freshDatabase();
  const [sharedWorld, sharedOwners] = [world, owners];
  const logged: string[] = [];
  const blobs = join(folder, "blobs-of-failing");
  world = await openWorld({ DATABASE_URL: database.url, GANTRY_BLOBS: blobs, GANTRY_OPEN_ORGANIZATIONS: "true" }, (event, facts) =>
    logged.push(`${event} ${String(facts?.organization ?? "")}`),
  );
  owners = openOwners(world);
  try {
    const both = [await newGroup(), await newGroup()].sort((one, other) => (one.group < other.group ? -1 : 1));
    const cve = newCve();
    for (const { group, name } of both) {
      await push(group, `${name}/web`, "latest", ["pkg:npm/lantern@1.0.0"]);
      await publish(group, `GHSA-fail-${made}`, "lantern", { vector: critical, aliases: [cve] });
    }
    const [first = "", second = ""] = both.map(({ group }) => group);
    const exploited = async (): Promise<unknown[]> =>
      Promise.all([first, second].map(async (group) => objectList(await listFindings(group), "findings").map((each) => each.exploited === true)));
    await asOwner(database.url, `alter table affected_images add constraint broken check (uid not like '${first}%' or exploit_added_date = '')`);
    await importExploits({ [cve]: "2026-03-01" });
    assert.deepEqual(await exploited(), [[false], [true]]);
    assert.deepEqual(new Set(logged.filter((line) => line.startsWith("images."))), new Set([`images.unmatched ${first}`]));
    await asOwner(database.url, "alter table affected_images drop constraint broken");
    await world.server.sboms.turn();
    assert.deepEqual(await exploited(), [[true], [true]]);
    const countedDays = async (): Promise<number[]> =>
      Promise.all(
        [first, second].map(async (group) => {
          const history = await world.ok("gantry.findings.v1.FindingsService/GetFindingHistory", {}, { token: await tokenOf(group) });
          return objectList(history, "days").length;
        }),
      );
    const before = await countedDays();
    await asOwner(database.url, `alter table finding_days add constraint broken check (owner not like '${first}%') not valid`);
    world.clock.now += dayMs;
    await world.server.sboms.turn();
    assert.deepEqual(await countedDays(), [before[0], (before[1] ?? 0) + 1]);
    assert.deepEqual(
      logged.filter((line) => line.startsWith("findings.")),
      [`findings.uncounted ${first}`],
    );
    await asOwner(database.url, "alter table finding_days drop constraint broken");
    world.clock.now += limits.findingDayMs;
    await world.server.sboms.turn();
    assert.deepEqual(
      await countedDays(),
      before.map((count) => count + 1),
    );
  } finally {
    await world.close();
    await database.drop();
    [world, owners] = [sharedWorld, sharedOwners];
  }
});
