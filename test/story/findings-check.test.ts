// `gantry findings check` and `gantry findings list`, as a pipeline of an organization's owner runs them, and the same list as a tool.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { importReports } from "#advisories/feeds";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { runGantry } from "../command-line.ts";
import { connectMcp, mcpLines } from "../mcp-client.ts";
import { openOwners } from "../owner.ts";
import { apk, os, pushImage } from "../image-layers.ts";
import { descriptorOf, ociIndex, ociManifest, openPusher, type Pushed } from "../pusher.ts";
import { configType } from "../registry.ts";
import { sarifProblems } from "../sarif.ts";
import { tarOf } from "../../server/registry/contents/tar.fixture.ts";
import { openWorld, type World } from "../world.ts";
import { runImport } from "./import.ts";

const files = "application/vnd.oci.image.layer.v1.tar+gzip";
const high = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N";
const low = "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N";

let world: World;
let folder = "";
let token = "";
let group = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-check-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "acme" } }), "uid");
  token = await openOwners(world).token(group);
  const osv = (id: string, name: string, vector: string, alias: string, fixed?: string): JsonObject => ({
    schema_version: "1.7.0",
    id,
    aliases: [alias],
    modified: "2026-01-01T00:00:00Z",
    ...(vector === "" ? {} : { severity: [{ type: "CVSS_V3", score: vector }] }),
    affected: [
      { package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, ...(fixed === undefined ? [] : [{ fixed }])] }] },
    ],
  });
  const exploit = { cveID: "CVE-2026-5002", dateAdded: "2026-01-10", dueDate: "2026-02-10", knownRansomwareCampaignUse: "Known", requiredAction: "update" };
  const given: readonly (readonly ["vulnerabilities" | "advisories", JsonObject | readonly JsonObject[]])[] = [
    ...(["vulnerabilities", "advisories"] as const).map(
      (kind) => [kind, [osv("GHSA-high", "alpha", high, "CVE-2026-5001", "2.0.0"), osv("GHSA-low", "beta", low, "CVE-2026-5002")]] as const,
    ),
    ["advisories", osv("GHSA-unrated", "gamma", "", "CVE-2026-5003")],
    ["vulnerabilities", { catalogVersion: "1", dateReleased: "2026-01-10T00:00:00Z", count: 1, vulnerabilities: [exploit] }],
  ];
  for (const [index, [kind, value]] of given.entries()) {
    const file = join(folder, `${index}.json`);
    await writeFile(file, JSON.stringify(value));
    assert.deepEqual((await runImport(world, kind, [file], { group, public: false })).refused, []);
  }
});
after(async () => {
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

const run = (...args: readonly string[]) =>
  runGantry(args, { environment: { GANTRY_SERVER: world.url, GANTRY_TOKEN: token, XDG_CONFIG_HOME: folder, HOME: folder } });

/** Pushes an image with these npm packages; the server has not read it. */
const push = async (path: string, tag: string, packages: readonly string[]): Promise<Pushed> => {
  const registry = openPusher(world, path, token);
  const config = await registry.blob(JSON.stringify({ architecture: "amd64", os: "linux", rootfs: { type: "layers", diff_ids: [] } }), configType);
  const entries = packages.map((name) => ({
    name: `app/node_modules/${name}/package.json`,
    content: JSON.stringify({ name, version: "1.0.0" }),
  }));
  const layer = await registry.blob(gzipSync(tarOf(entries)), files);
  return registry.manifest({ schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(config), layers: [descriptorOf(layer)] }, ociManifest, tag);
};

const turn = async (): Promise<void> => {
  await world.server.contents.turn();
  await world.server.sboms.turn();
};

test("a check waits until the image is read and matched, and its exit status follows --fail-on", async () => {
  const image = await push("acme/app", "1.0", ["alpha", "beta"]);
  const waiting = run("findings", "check", "acme/app:1.0", "--fail-on", "high");
  const late = await run("findings", "check", "acme/app:1.0", "--timeout", "1s");
  assert.equal(late.status, 9, late.err);
  assert.match(late.err, /acme\/app:1\.0 is not indexed yet/);
  await turn();
  const first = await waiting;
  assert.equal(first.status, 11, first.err);
  assert.deepEqual(
    first.out.split("\n").map((line) => line.replaceAll(/ +/g, " ").trim()),
    [
      "FAILS SEVERITY VULNERABILITY PACKAGE INSTALLED FIXED EPSS EXPLOITED",
      "x high CVE-2026-5001 pkg:npm/alpha 1.0.0 2.0.0 - -",
      "low CVE-2026-5002 pkg:npm/beta 1.0.0 - - 2026-02-10",
      "",
    ],
  );
  assert.match(first.err, /acme\/app:1\.0: 2 findings, 1 of them fails the check\n$/);
  for (const [failOn, status] of [
    ["critical", 0],
    ["high", 11],
    ["low", 11],
    ["exploited", 11],
    ["exploited+fixable", 0],
    ["exploited+high", 0],
    ["critical,high+fixable", 11],
    ["unknown", 0],
  ] as const) {
    const each = await run("findings", "check", `acme/app@${image.digest}`, "--fail-on", failOn);
    assert.equal(each.status, status, `${failOn}: ${each.err}`);
  }
  assert.equal((await run("findings", "check", "acme/app:1.0")).status, 0);
});

test("a check with overdue fails from the due date of a finding on, also joined with a severity", async () => {
  await push("acme/overdue", "1.0", ["alpha", "beta"]);
  await turn();
  const statusOf = async (failOn: string): Promise<number> => (await run("findings", "check", "acme/overdue:1.0", "--fail-on", failOn)).status;
  assert.equal(await statusOf("overdue"), 0);
  // The catalog's due date of the finding in beta is past.
  const policy = { parent: group, dueDatePolicy: { useExploitDueDate: true } };
  const made = await world.ok("gantry.findings.v1.DueDatePoliciesService/CreateDueDatePolicy", policy, { token });
  await turn();
  assert.deepEqual([await statusOf("overdue"), await statusOf("low+overdue"), await statusOf("high+overdue")], [11, 11, 0]);
  await world.ok("gantry.findings.v1.DueDatePoliciesService/DeleteDueDatePolicy", { uid: text(made, "uid") }, { token });
  await turn();
});

test("while an image is read and matched, a response says that it is pending or has all its findings", async () => {
  for (let round = 1; round <= 8; round++) {
    const image = `acme/racing:${round}`;
    await push("acme/racing", String(round), ["alpha", "beta"]);
    let isReady = false;
    const counts = new Set<number>();
    const ask = async (): Promise<void> => {
      while (!isReady) {
        const reply = await world.ok("gantry.findings.v1.FindingsService/ListFindings", { images: [image] }, { token });
        if (objectList(part(reply, "summary"), "images").some(({ pending }) => pending === true)) continue;
        isReady = true;
        counts.add(objectList(reply, "findings").length);
      }
    };
    await Promise.all([ask(), ask(), ask(), turn()]);
    assert.deepEqual([...counts], [2]);
  }
});

test("unknown coverage is always printed, and fails a check only with unknown", async () => {
  await push("acme/partly", "1.0", ["gamma"]);
  const registry = openPusher(world, "acme/partly", token);
  await registry.image("amd64", "unread");
  await turn();
  const unrated = await run("findings", "check", "acme/partly:1.0", "--fail-on", "negligible,exploited,fixable");
  assert.equal(unrated.status, 0, unrated.err);
  assert.match(unrated.err, /unknown: 1 finding has no severity, which "gantry import vulnerabilities" imports/);
  assert.equal((await run("findings", "check", "acme/partly:1.0", "--fail-on", "unknown")).status, 11);
  const unread = await run("findings", "check", "acme/partly:unread", "--fail-on", "high");
  assert.equal(unread.status, 0);
  assert.match(unread.err, /unknown: some layers or packages of the image were not read\n.*not everything is known\n$/);
  assert.equal((await run("findings", "check", "acme/partly:unread", "--fail-on", "high,unknown")).status, 11);
});

test("the end of life of the operating system is always printed, and fails a check only with eol once it is reached", async () => {
  const registry = openPusher(world, "acme/systems", token);
  for (const [tag, system] of [
    ["ended", os("alpine", "3.18.4", "Alpine Linux v3.18")],
    ["supported", os("alpine", "3.20.3", "Alpine Linux v3.20")],
    ["unknown", os("plan9", "4", "Plan 9")],
  ] as const)
    await pushImage(registry, tag, [system, apk(["musl", "1.2.5-r0"])]);
  const ended = await pushImage(registry, undefined, [os("alpine", "3.18.4", "Alpine Linux v3.18"), apk(["musl", "1.2.4-r0"])]);
  const manifests = [{ ...descriptorOf(ended), platform: { os: "linux", architecture: "amd64" } }];
  await registry.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests }, ociIndex, "index");
  await turn();
  const file = join(folder, "lifecycle.json");
  const releases = [
    { releaseCycle: "3.18", releaseDate: "2023-05-09", eol: "2025-05-09" },
    { releaseCycle: "3.20", releaseDate: "2024-05-22", eol: "2999-04-01" },
  ];
  await writeFile(file, JSON.stringify({ permalink: "/alpine-linux", alternate_urls: ["/alpine"], releases }));
  assert.deepEqual((await runImport(world, "lifecycle", [file], { group })).refused, []);
  for (const [tag, line, status] of [
    ["ended", "end of life: Alpine Linux v3.18 (linux/amd64): ended on 2025-05-09", 11],
    ["index", "end of life: Alpine Linux v3.18 (linux/amd64): ended on 2025-05-09", 11],
    ["supported", "end of life: Alpine Linux v3.20 (linux/amd64): supported until 2999-04-01", 0],
    ["unknown", "end of life: Plan 9 (linux/amd64): unknown: no imported lifecycle names the release", 0],
  ] as const) {
    const failing = await run("findings", "check", `acme/systems:${tag}`, "--fail-on", "critical,eol");
    assert.deepEqual([failing.status, failing.err.split("\n").filter((each) => each.startsWith("end of life"))], [status, [line]], failing.err);
    assert.equal((await run("findings", "check", `acme/systems:${tag}`, "--fail-on", "critical")).status, 0);
  }
  const json = JSON.parse((await run("findings", "check", "acme/systems:ended", "--output", "json", "--fail-on", "eol")).out) as JsonObject;
  assert.deepEqual(
    [json.fails, json.failingCount, json.operatingSystems],
    [true, 0, [{ platforms: ["linux/amd64"], name: "Alpine Linux v3.18", state: "ended", endDate: "2025-05-09" }]],
  );
  assert.match((await run("findings", "check", "acme/systems:ended", "--output", "sarif")).out, /end of life: Alpine Linux v3\.18/);
});

test("the JSON and SARIF outputs have every finding, and a report reader finds the same vulnerabilities in SARIF", async () => {
  const image = await push("acme/sarif", "1.0", ["alpha", "beta"]);
  await turn();
  const json = JSON.parse((await run("findings", "check", "acme/sarif:1.0", "--output", "json", "--fail-on", "high")).out) as JsonObject;
  assert.deepEqual([json.fails, json.failingCount, json.unknown, objectList(json, "findings").length], [true, 1, [], 2]);
  const { out, status } = await run("findings", "check", `acme/sarif@${image.digest}`, "--output", "sarif", "--fail-on", "high");
  assert.equal(status, 11);
  const sarif = JSON.parse(out) as JsonObject;
  const [sarifRun = {}] = objectList(sarif, "runs");
  const rules = objectList(part(part(sarifRun, "tool"), "driver"), "rules").map((rule) => [
    text(rule, "id"),
    text(part(rule, "properties"), "security-severity"),
  ]);
  assert.deepEqual(rules, [
    ["CVE-2026-5001", "7.0"],
    ["CVE-2026-5002", "0.1"],
  ]);
  const results = objectList(sarifRun, "results").map((result) => [text(result, "ruleId"), text(result, "level"), Number(result.ruleIndex)]);
  assert.deepEqual(results, [
    ["CVE-2026-5001", "error", 0],
    ["CVE-2026-5002", "note", 1],
  ]);
  const file = join(folder, "gantry.sarif");
  await writeFile(file, out);
  const read = await importReports(world.server.application.services, { group, sources: [file], digest: image.digest, progress: () => {} });
  assert.deepEqual(read.refused, []);
});

test("SARIF is valid by its schema without findings, without severities, with unread layers, and without suppressed findings", async () => {
  const service = "gantry.decisions.v1.DecisionsService";
  const decide = async (state: string, repoUid: string): Promise<string> => {
    const findingDecision = { vulnerability: "CVE-2026-5001", repoUid, state: `FINDING_DECISION_STATE_${state}`, reason: "The package is another one." };
    return text(await world.ok(`${service}/CreateFindingDecision`, { parent: group, findingDecision }, { token }), "uid");
  };
  const valid = async (image: string): Promise<string[]> => {
    const { out, err, status } = await run("findings", "check", image, "--output", "sarif");
    assert.equal(status, 0, err);
    const log = JSON.parse(out) as JsonObject;
    assert.deepEqual(sarifProblems(log), []);
    return objectList(log, "runs").flatMap((each) => objectList(each, "results").map((result) => text(result, "ruleId")));
  };
  await push("acme/sarif-none", "1.0", ["delta"]);
  await push("acme/sarif-unrated", "1.0", ["gamma", "alpha"]);
  await push("acme/sarif-decided", "1.0", ["alpha", "beta"]);
  await openPusher(world, "acme/sarif-unread", token).image("amd64", "1.0");
  await turn();
  assert.deepEqual(await valid("acme/sarif-none:1.0"), []);
  assert.deepEqual(await valid("acme/sarif-unrated:1.0"), ["CVE-2026-5001", "CVE-2026-5003"]);
  assert.deepEqual(await valid("acme/sarif-unread:1.0"), []);
  assert.deepEqual(await valid("acme/sarif-decided:1.0"), ["CVE-2026-5001", "CVE-2026-5002"]);
  const reply = await world.ok("gantry.findings.v1.FindingsService/ListFindings", { images: ["acme/sarif-decided:1.0"] }, { token });
  const repoUid = text(objectList(reply, "findings")[0] ?? {}, "repoUid");
  const uid = await decide("UNDER_INVESTIGATION", repoUid);
  await turn();
  assert.deepEqual(await valid("acme/sarif-decided:1.0"), ["CVE-2026-5001", "CVE-2026-5002"]);
  await world.ok(`${service}/DeleteFindingDecision`, { uid }, { token });
  await decide("FALSE_POSITIVE", repoUid);
  await turn();
  assert.deepEqual(await valid("acme/sarif-decided:1.0"), ["CVE-2026-5002"]);
});

test("groups of findings are printed with what they have in common, the worst first", async () => {
  await push("acme/grouped", "1.0", ["alpha", "beta"]);
  await push("acme/grouped", "2.0", ["alpha"]);
  await push("acme/grouped", "3.0", ["beta"]);
  await turn();
  const linesOf = async (by: string): Promise<string[]> => {
    const { out, err, status } = await run("findings", "group", "--group-by", by, "--packages", "pkg:npm/alpha,pkg:npm/beta", "--tags", "*.0");
    assert.equal(status, 0, err);
    const [, ...lines] = out.trim().split("\n");
    return lines.map((line) => line.split(/ {2,}/).slice(0, 2).join(" "));
  };
  assert.deepEqual(await linesOf("package"), ["high pkg:npm/alpha", "low pkg:npm/beta"]);
  assert.deepEqual(await linesOf("vulnerability"), ["high CVE-2026-5001", "low CVE-2026-5002"]);
  assert.ok((await linesOf("image")).includes("high grouped:2.0"));
  assert.deepEqual(await linesOf("group"), [`high ${group}`]);
});

test("wrong arguments and unknown images fail with their own statuses", async () => {
  for (const [args, status, message] of [
    [["acme/app"], 64, /IMAGE must be REPO:TAG or REPO@DIGEST/],
    [
      ["acme/app:1.0", "--fail-on", "severe"],
      64,
      /--fail-on must be a list of critical, high, medium, low, negligible, exploited, fixable, overdue, eol and unknown, not "severe"/,
    ],
    [["acme/app:1.0", "--output", "xml"], 64, /--output must be table, json or sarif/],
    [["acme/app:typo"], 6, /not found/],
    [["acme/typo:1.0"], 6, /not found/],
  ] as const) {
    const { status: actual, err } = await run("findings", "check", ...args);
    assert.deepEqual([actual, message.test(err)], [status, true], err);
  }
});

test("what is exploited, fixable and in use, the worst first, is one request, one command and one call of a tool", async () => {
  await push("acme/prod", "1.0", ["alpha", "beta"]);
  await turn();
  await world.ok("gantry.registry.v1.InUseService/ReportInUse", { parent: group, source: "cluster", images: ["acme/prod:1.0"] }, { token });
  const file = join(folder, "exploits.json");
  const exploits = ["CVE-2026-5001", "CVE-2026-5002"].map((cveID) => ({ cveID, dateAdded: "2026-01-11", dueDate: "2026-02-11", requiredAction: "update" }));
  await writeFile(file, JSON.stringify({ catalogVersion: "2", dateReleased: "2026-01-11T00:00:00Z", count: 2, vulnerabilities: exploits }));
  assert.deepEqual((await runImport(world, "vulnerabilities", [file], { group, public: false })).refused, []);
  const idsOf = (reply: JsonObject): string[] => objectList(reply, "findings").map((row) => `${text(row, "repo")} ${text(row, "advisoryId")}`);
  const request = { exploited: true, inUse: true, orderBy: "severity desc" };
  const wanted = ["prod GHSA-high", "prod GHSA-low"];
  assert.deepEqual(idsOf(await world.ok("gantry.findings.v1.FindingsService/ListFindings", request, { token })), wanted);
  assert.deepEqual(idsOf(await world.ok("gantry.findings.v1.FindingsService/ListFindings", { ...request, fixable: true }, { token })), wanted.slice(0, 1));
  const listed = await run("findings", "list", "--exploited", "--in-use", "--fixable", "--order-by", "severity desc", "-o", "json");
  assert.equal(listed.status, 0, listed.err);
  assert.deepEqual(idsOf(JSON.parse(listed.out) as JsonObject), wanted.slice(0, 1));
  for (const line of mcpLines) {
    const client = await connectMcp(line, { url: `${world.url}/mcp`, headers: { authorization: `Bearer ${token}` } });
    const { structured, isError } = await client.callTool("read_operation", { operation: "findings_list_findings", arguments: { ...request, fixable: true } });
    assert.deepEqual([isError, idsOf(structured ?? {})], [false, wanted.slice(0, 1)]);
    await client.close();
  }
});
