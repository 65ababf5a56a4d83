// Scanner reports (requirement: Vulnerabilities; version 1 only): imported from files, returned raw and parsed, in the image's repo only.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { importReports, type ReportImport, type ReportImportSummary } from "#advisories/feeds";
import { codes } from "#base/fault.ts";
import { defaultPeriods } from "#base/retention-periods.ts";
import { type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { openWorld } from "../world.ts";

const world = await openWorld({ GANTRY_V1_LIST_MAX: "20" });
const folder = await mkdtemp(join(tmpdir(), "gantry-reports-"));
after(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const protocols = ["rest", "grpc"] as const;
const vulnerabilities = "chainguard.platform.registry.Vulnerabilities";
const getReport = "chainguard.platform.registry.Registry/GetVulnReport";

const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;
const makeRepo = async (name: string, parent = world.organization): Promise<string> =>
  text(await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name } }), "uid");
const makeTag = (parent: string, name: string, digest: string): Promise<JsonObject> =>
  world.ok("registry.TagsService/CreateTag", { parent, tag: { name, digest } });

const grype = (digest: string, time: string, severity = "High"): JsonObject => ({
  matches: [
    {
      vulnerability: {
        id: "GHSA-aaaa-bbbb-cccc",
        dataSource: "https://github.com/advisories/GHSA-aaaa-bbbb-cccc",
        namespace: "github:language:javascript",
        severity,
        urls: ["https://example.com/one"],
        description: "One is broken",
        cvss: [{ version: "3.1", vector: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N", metrics: { baseScore: 7.5 } }],
        fix: { versions: ["1.0.1"], state: "fixed" },
      },
      relatedVulnerabilities: [{ id: "CVE-2024-1111", namespace: "nvd:cpe" }],
      artifact: {
        name: "one",
        version: "1.0.0",
        type: "npm",
        locations: [{ path: "/app/package-lock.json" }],
        licenses: ["MIT"],
        cpes: [],
        purl: "pkg:npm/one@1.0.0",
      },
    },
    {
      vulnerability: { id: "CVE-2024-2222", severity: "Negligible", namespace: "debian:distro:debian:12", fix: { versions: [], state: "wont-fix" } },
      artifact: { name: "two", version: "2.0-1", type: "deb", locations: [], licenses: [], cpes: [], purl: "pkg:deb/debian/two@2.0-1" },
    },
  ],
  source: { type: "image", target: { userInput: "app:v1", manifestDigest: digest, repoDigests: [] } },
  descriptor: { name: "grype", version: "0.80.0", timestamp: time, db: { built: "2026-01-01T01:02:03Z" } },
});

const trivy = (digest: string, time: string): JsonObject => ({
  SchemaVersion: 2,
  Trivy: { Version: "0.60.0" },
  CreatedAt: time,
  ArtifactName: "app:v1",
  ArtifactType: "container_image",
  Metadata: { RepoDigests: [`app@${digest}`] },
  Results: [
    {
      Target: "app:v1 (debian 12)",
      Class: "os-pkgs",
      Type: "debian",
      Vulnerabilities: [
        {
          VulnerabilityID: "CVE-2024-2222",
          PkgName: "two",
          InstalledVersion: "2.0-1",
          PkgIdentifier: { PURL: "pkg:deb/debian/two@2.0-1?arch=amd64" },
          Severity: "LOW",
          Status: "will_not_fix",
        },
      ],
    },
  ],
});

const sarif = (driver: string): JsonObject => ({
  version: "2.1.0",
  runs: [
    {
      tool: {
        driver: {
          name: driver,
          version: "1.2.3",
          rules: [{ id: "CVE-2024-3333", help: { text: "Severity: critical\nPackage: three\nVersion: 3.0\nFix Version: 3.1" } }],
        },
      },
      results: [
        { ruleId: "CVE-2024-3333", message: { text: "three is broken" }, locations: [{ physicalLocation: { artifactLocation: { uri: "usr/lib/three" } } }] },
      ],
    },
  ],
});

let files = 0;
const write = async (content: JsonObject | string | Uint8Array, name = `report-${++files}.json`): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content));
  return path;
};

const take = (sources: readonly string[], options: Partial<ReportImport> = {}): Promise<ReportImportSummary> =>
  importReports(world.server.application.services, { group: world.organization, sources, progress: () => {}, ...options });
const took = async (content: JsonObject | string, options: Partial<ReportImport> = {}): Promise<void> => {
  assert.deepEqual((await take([await write(content)], options)).refused, []);
};

const list = async (request: JsonObject, protocol: "rest" | "grpc" = "rest"): Promise<JsonObject[]> =>
  objectList(await world.ok(`${vulnerabilities}/ListVulnReports`, request, { protocol }), "items");
const shape = (report: JsonObject): string[] => [text(part(report, "scanner"), "name") || "UNKNOWN", text(part(report, "scanner"), "version")];

test("a report belongs to the image that it names, in its repo, and is returned parsed", async () => {
  const repo = await makeRepo("app");
  const digest = digestOf("a");
  await makeTag(repo, "v1", digest);
  const summary = await take([await write(grype(digest, "2026-02-01T10:00:00Z"))]);
  assert.deepEqual(summary, { files: 1, new: 1, unchanged: 0, refused: [] });
  for (const protocol of protocols) {
    for (const request of [{ repoId: repo }, { digest }, { repoId: repo, tag: "v1" }]) {
      const [report = {}, ...more] = await list(request, protocol);
      assert.equal(more.length, 0);
      assert.equal(text(report, "digest"), digest);
      assert.deepEqual(shape(report), ["GRYPE", "0.80.0"]);
      assert.equal(Date.parse(text(report, "createdAt")), Date.UTC(2026, 1, 1, 10));
      assert.equal(Date.parse(text(part(report, "scanner"), "dbBuildTime")), Date.UTC(2026, 0, 1, 1, 2, 3));
      const [one = {}, two = {}] = objectList(report, "vulnerabilities");
      assert.deepEqual(
        [text(one, "id"), texts(one, "aliases"), texts(one, "purls"), text(one, "severity"), texts(one, "locations"), one.cvss, one.fix],
        [
          "GHSA-aaaa-bbbb-cccc",
          ["CVE-2024-1111"],
          ["pkg:npm/one@1.0.0"],
          "HIGH",
          ["/app/package-lock.json"],
          [{ score: "7.5", version: "3.1" }],
          { versions: ["1.0.1"], state: "FIXED" },
        ],
      );
      assert.deepEqual([text(two, "id"), text(two, "severity"), text(part(two, "fix"), "state")], ["CVE-2024-2222", "NEGLIGIBLE", "WONT_FIX"]);
    }
    const shown = await world.ok(getReport, { repoId: repo, digest }, { protocol });
    assert.deepEqual(shown.scanner, { name: "grype", version: "0.80.0" });
    const [match = {}, other = {}] = objectList(shown, "vulnerabilityMatches");
    const record = part(match, "vulnerability");
    assert.deepEqual([text(record, "id"), text(record, "displayId"), text(record, "severity")], ["GHSA-aaaa-bbbb-cccc", "CVE-2024-1111", "HIGH"]);
    assert.deepEqual(match.pkg, { id: "pkg:npm/one@1.0.0", name: "one", version: "1.0.0", license: "MIT", purl: "pkg:npm/one@1.0.0" });
    assert.equal(text(part(other, "vulnerability"), "severity"), "LOW");
  }
});

test("reports of several scanners coexist; a filter selects one, and the default is all", async () => {
  const repo = await makeRepo("scanners");
  const digest = digestOf("b");
  await makeTag(repo, "v1", digest);
  await took(trivy(digest, "2026-02-01T10:00:00Z"));
  await took(sarif("othertool"), { repo: "scanners", digest });
  const before = await world.ok(getReport, { repoId: repo, digest });
  assert.deepEqual(before.scanner, { name: "trivy", version: "0.60.0" });
  await took(grype(digest, "2026-01-15T10:00:00Z"));
  const scanners = async (scanner?: JsonObject): Promise<string[][]> =>
    (await list({ repoId: repo, ...(scanner ? { scanner } : {}) }, "grpc")).map(shape).sort();
  assert.deepEqual(await scanners(), [
    ["GRYPE", "0.80.0"],
    ["TRIVY", "0.60.0"],
    ["UNKNOWN", "othertool/1.2.3"],
  ]);
  assert.deepEqual(await scanners({ name: "TRIVY" }), [["TRIVY", "0.60.0"]]);
  assert.deepEqual(await scanners({ name: "UNKNOWN", version: "othertool/1.2.3" }), [["UNKNOWN", "othertool/1.2.3"]]);
  assert.deepEqual(await scanners({ name: "GRYPE", version: "0.1" }), []);
  const rest = objectList(await world.ok(`${vulnerabilities}/ListVulnReports`, { repoId: repo, scanner: { name: "GRYPE" } }), "items");
  assert.deepEqual(rest.map(shape), [["GRYPE", "0.80.0"]]);
  assert.deepEqual((await world.ok(getReport, { repoId: repo, digest })).scanner, { name: "grype", version: "0.80.0" });
  const [otherTool = {}] = objectList((await list({ repoId: repo })).find((each) => shape(each)[0] === "UNKNOWN") ?? {}, "vulnerabilities");
  assert.deepEqual(
    [text(otherTool, "severity"), texts(otherTool, "purls"), texts(part(otherTool, "fix"), "versions"), texts(otherTool, "locations")],
    ["CRITICAL", ["pkg:generic/three@3.0"], ["3.1"], ["usr/lib/three"]],
  );
});

test("the raw report is the scanner's file byte for byte: the latest, or that of a given time", async () => {
  const repo = await makeRepo("raw");
  const digest = digestOf("c");
  await makeTag(repo, "v1", digest);
  const [old, young] = [`${JSON.stringify(grype(digest, "2026-02-01T10:00:00Z"), undefined, 3)}\n\n`, JSON.stringify(grype(digest, "2026-02-02T10:00:00Z"))];
  const packed = await write(gzipSync(old), "old.json.gz");
  assert.equal((await take([packed])).new, 1);
  await took(young);
  for (const protocol of protocols) {
    const raw = async (request: JsonObject): Promise<JsonObject> => world.ok(`${vulnerabilities}/GetRawVulnReport`, { digest, ...request }, { protocol });
    assert.equal(text(await raw({}), "rawReport"), young);
    assert.equal(text(await raw({ scanner: "GRYPE", createdAt: "2026-02-01T10:00:00Z" }), "rawReport"), old);
    for (const absent of [{ scanner: "TRIVY" }, { createdAt: "2026-02-03T10:00:00Z" }, { digest: digestOf("9") }]) {
      const answer = await world.call(`${vulnerabilities}/GetRawVulnReport`, { digest, ...absent }, { protocol });
      assert.equal(answer.code, codes.NOT_FOUND);
    }
  }
});

test("a repeated import writes nothing, a newer report precedes the older one, and created_since omits older ones", async () => {
  const repo = await makeRepo("again");
  const digest = digestOf("d");
  await makeTag(repo, "v1", digest);
  const file = await write(grype(digest, "2026-02-01T10:00:00Z"));
  assert.equal((await take([file])).new, 1);
  assert.deepEqual(await take([file]), { files: 1, new: 0, unchanged: 1, refused: [] });
  await took(grype(digest, "2026-02-05T10:00:00Z", "Critical"));
  const times = async (request: JsonObject): Promise<string[]> => (await list({ repoId: repo, ...request })).map((each) => text(each, "createdAt"));
  assert.deepEqual(await times({}), ["2026-02-05T10:00:00.000Z", "2026-02-01T10:00:00.000Z"]);
  assert.deepEqual(await times({ createdSince: "2026-02-01T10:00:00Z" }), ["2026-02-05T10:00:00.000Z"]);
});

test("a file that cannot be imported is named with the reason, and the rest is imported", async () => {
  const repo = await makeRepo("refusals");
  const digest = digestOf("e");
  const good = await write(grype(digest, "2026-02-01T10:00:00Z"), "good.json");
  const nowhere = await write(grype(digestOf("7"), "2026-02-01T10:00:00Z"), "nowhere.json");
  const nameless = await write({ ...grype("", "2026-02-01T10:00:00Z") }, "nameless.json");
  const broken = await write('{"matches": [', "broken.json");
  const linter = await write({ version: "2.1.0", runs: [{ tool: { driver: { name: "linter" } }, results: [{ ruleId: "no-eval" }] }] }, "linter.sarif");
  const wrong = await write({ matches: [{ vulnerability: { id: "CVE-1", severity: 7 }, artifact: { name: "x" } }] }, "wrong.json");
  const other = await write({ name: "something else" }, "other.json");
  await makeTag(repo, "v1", digest);
  const summary = await take([good, nowhere, nameless, broken, linter, wrong, other]);
  assert.equal(summary.new, 1);
  assert.deepEqual(summary.refused, [
    `nowhere.json: no repo of the group has the image ${digestOf("7")}. Name the repo with --repo`,
    "nameless.json: names no image digest. Give it with --digest",
    "broken.json: line 1: not valid JSON: Unexpected end of JSON input",
    "linter.sarif: names no vulnerability by its number",
    "wrong.json: matches[0].vulnerability.severity must be a text",
    "other.json: is not a JSON report of Grype or Trivy, or SARIF",
  ]);
});

test("one of repo_id and digest is required, and a list that is too long is refused with its count", async () => {
  for (const protocol of protocols) {
    const answer = await world.call(`${vulnerabilities}/ListVulnReports`, {}, { protocol });
    assert.equal(answer.code, codes.INVALID_ARGUMENT);
    assert.match(answer.message, /repo_id or digest must be given/);
  }
  const repo = await makeRepo("many");
  const digest = digestOf("f");
  await makeTag(repo, "v1", digest);
  await take(await Promise.all(Array.from({ length: 21 }, (_, index) => write(grype(digest, `2026-03-01T10:00:${String(index).padStart(2, "0")}Z`)))));
  const answer = await world.call(`${vulnerabilities}/ListVulnReports`, { repoId: repo });
  assert.equal(answer.code, codes.FAILED_PRECONDITION);
  assert.match(answer.message, /21 entries/);
});

test("a report is deleted with its repo, and a replaced one after its retention", async () => {
  const repo = await makeRepo("gone");
  const digest = digestOf("0");
  const tag = await makeTag(repo, "v1", digest);
  await took(grype(digest, "2026-02-01T10:00:00Z"));
  await took(grype(digest, "2026-02-02T10:00:00Z"));
  const { store } = world.server.application.services;
  const { vulnReportsRetention } = await import("../../server/advisories/store/vuln-reports.ts");
  await vulnReportsRetention.deleteExpired(store, world.clock.now + 399 * 86_400_000, defaultPeriods);
  assert.equal((await list({ repoId: repo })).length, 2);
  await vulnReportsRetention.deleteExpired(store, world.clock.now + 401 * 86_400_000, defaultPeriods);
  assert.deepEqual(
    (await list({ repoId: repo })).map((each) => text(each, "createdAt")),
    ["2026-02-02T10:00:00.000Z"],
  );
  await world.ok("registry.TagsService/DeleteTag", { uid: text(tag, "uid") });
  await world.ok("registry.ReposService/DeleteRepo", { uid: repo });
  assert.deepEqual(await list({ digest }), []);
  assert.equal((await world.call(getReport, { repoId: repo, digest })).code, codes.NOT_FOUND);
});

test("an import of reports is recorded in the audit log only, with its counts", async () => {
  const told = (await world.events()).filter(({ type }) => type === "dev.gantry.feeds.imported.v1").map(({ body }) => body);
  assert.deepEqual(told[0], { kind: "reports", source: "report-1.json", counts: { new: 1, changed: 0, withdrawn: 0, unchanged: 0, refused: 0 } });
});
