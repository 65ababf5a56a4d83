// Daily vulnerability counts (version 1 only): by a tag's digest on each day and the latest report of one scanner, including days without reports.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { importReports } from "#advisories/feeds";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text, texts } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { openWorld } from "../world.ts";

const dayMs = 24 * 60 * 60 * 1000;
const start = Date.UTC(2026, 1, 1, 9);
const world = await openWorld({ GANTRY_V1_LIST_MAX: "40" }, undefined, start);
const folder = await mkdtemp(join(tmpdir(), "gantry-counts-"));
after(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const list = "chainguard.platform.registry.Vulnerabilities/ListVulnCountReports";
const cumulative = "chainguard.platform.registry.Vulnerabilities/ListCumulativeVulnCountReports";
const day = (number: number): string => `2026-02-${String(number).padStart(2, "0")}`;
/** Sets the world's clock to 9:00 on a day of February. */
const at = (number: number): number => {
  world.clock.now = start + (number - 1) * dayMs;
  return world.clock.now;
};
const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;
const makeRepo = async (name: string, parent = world.organization): Promise<string> =>
  text(await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name } }), "uid");
const tag = (repo: string, name: string, digest: string): Promise<JsonObject> =>
  world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name, digest } });

let files = 0;
const report = async (repo: string, digest: string, found: Readonly<Record<string, string>>, tool: "grype" | "trivy" = "grype"): Promise<void> => {
  const time = timestamp(world.clock.now);
  const content =
    tool === "grype"
      ? {
          matches: Object.entries(found).map(([id, severity]) => ({
            vulnerability: { id, severity },
            artifact: { name: "one", version: "1", purl: "pkg:npm/one@1" },
          })),
          descriptor: { name: "grype", version: "1", timestamp: time },
        }
      : {
          SchemaVersion: 2,
          ArtifactName: "app",
          CreatedAt: time,
          Results: [
            {
              Target: "app",
              Type: "npm",
              Vulnerabilities: Object.entries(found).map(([VulnerabilityID, Severity]) => ({ VulnerabilityID, Severity, PkgName: "one" })),
            },
          ],
        };
  const path = join(folder, `report-${++files}.json`);
  await writeFile(path, JSON.stringify(content));
  const { refused } = await importReports(world.server.application.services, { group: world.organization, sources: [path], repo, digest, progress: () => {} });
  assert.deepEqual(refused, []);
};

/** Formats nonzero counts, such as "2026-02-01 CRITICAL 1 HIGH 2". */
const shown = (item: JsonObject): string =>
  [
    text(item, "date").slice(0, 10),
    ...objectList(item, "vulnCounts").flatMap((each) => (Number(each.count ?? 0) > 0 ? [`${text(each, "severity") || "UNKNOWN"} ${String(each.count)}`] : [])),
  ].join(" ");
const counts = async (request: JsonObject, method = list, protocol: "rest" | "grpc" = "rest"): Promise<string[]> =>
  objectList(await world.ok(method, request, { protocol }), "items").map(shown);

test("each day has the counts of the latest report until then, and cumulative counts include all findings since the first", async () => {
  const repo = await makeRepo("app");
  const [one, two] = [digestOf("1"), digestOf("2")];
  at(2);
  await tag(repo, "v1", one);
  await report(repo, one, { "CVE-2026-0001": "High", "CVE-2026-0002": "Low" });
  at(4);
  await report(repo, one, { "CVE-2026-0001": "Critical", "CVE-2026-0003": "Negligible" });
  at(6);
  await tag(repo, "v1", two);
  at(7);
  await report(repo, two, {});
  at(8);
  const expected = [
    "2026-02-02 HIGH 1 LOW 1",
    "2026-02-03 HIGH 1 LOW 1",
    "2026-02-04 CRITICAL 1 NEGLIGIBLE 1",
    "2026-02-05 CRITICAL 1 NEGLIGIBLE 1",
    "2026-02-07",
    "2026-02-08",
  ];
  for (const protocol of ["rest", "grpc"] as const) {
    assert.deepEqual(await counts({ repo: "app", tag: "v1" }, list, protocol), expected);
    assert.deepEqual(await counts({ repo: "app", tag: "v1", from: `${day(3)}T15:00:00Z`, to: `${day(5)}T00:00:00Z` }, list, protocol), expected.slice(1, 4));
    assert.deepEqual(await counts({ repo, tag: "v1", to: `${day(2)}T00:00:00Z` }, list, protocol), expected.slice(0, 1));
    assert.deepEqual(await counts({ repo: "app", tag: "v1", from: `${day(3)}T00:00:00Z` }, cumulative, protocol), [
      "2026-02-03 HIGH 1 LOW 1",
      "2026-02-04 CRITICAL 1 LOW 1 NEGLIGIBLE 1",
      "2026-02-05 CRITICAL 1 LOW 1 NEGLIGIBLE 1",
      "2026-02-07 CRITICAL 1 LOW 1 NEGLIGIBLE 1",
      "2026-02-08 CRITICAL 1 LOW 1 NEGLIGIBLE 1",
    ]);
  }
  const [, , fourth = {}] = objectList(await world.ok(list, { repo: "app", tag: "v1" }), "items");
  assert.deepEqual(
    [
      text(fourth, "repo"),
      text(fourth, "tag"),
      text(fourth, "date"),
      texts(fourth, "cveIds"),
      texts(fourth, "critCveIds"),
      texts(fourth, "negligibleCveIds"),
      fourth.highCveIds,
    ],
    ["app", "v1", `${day(4)}T00:00:00.000Z`, ["CVE-2026-0001", "CVE-2026-0003"], ["CVE-2026-0001"], ["CVE-2026-0003"], undefined],
  );
});

test("counts come from one scanner: Grype if it has a report, otherwise Trivy, never another tool", async () => {
  const repo = await makeRepo("scanners");
  const one = digestOf("3");
  at(10);
  await tag(repo, "v1", one);
  await report(repo, one, { "CVE-2026-1001": "CRITICAL", "CVE-2026-1002": "CRITICAL" }, "trivy");
  at(11);
  await report(repo, one, { "CVE-2026-1003": "Medium" });
  at(12);
  await report(repo, one, { "CVE-2026-1001": "CRITICAL" }, "trivy");
  assert.deepEqual(await counts({ repo: "scanners", tag: "v1" }), ["2026-02-10 CRITICAL 2", "2026-02-11 MEDIUM 1", "2026-02-12 MEDIUM 1"]);
});

test("gRPC accepts several tags, which override the single one, and a deleted tag has no further days", async () => {
  const repo = await makeRepo("several");
  const [one, two] = [digestOf("4"), digestOf("5")];
  at(14);
  await tag(repo, "a", one);
  const gone = await tag(repo, "b", two);
  await report(repo, one, { "CVE-2026-2001": "Low" });
  await report(repo, two, { "CVE-2026-2002": "High" });
  at(16);
  await world.ok("registry.TagsService/DeleteTag", { uid: text(gone, "uid") });
  at(17);
  const references = [
    { repo: "several", tag: "a" },
    { repo: `first-organization/several`, tag: "b" },
    { repo: "nothing", tag: "c" },
  ];
  assert.deepEqual(await counts({ repo: "app", tag: "v1", references }, list, "grpc"), [
    "2026-02-14 LOW 1",
    "2026-02-15 LOW 1",
    "2026-02-16 LOW 1",
    "2026-02-17 LOW 1",
    "2026-02-14 HIGH 1",
    "2026-02-15 HIGH 1",
  ]);
});

test("counts require a repo and a tag, with dates in order and within the limits", async () => {
  for (const [request, words] of [
    [{}, /repo: is required/],
    [{ repo: "app" }, /tag: is required/],
    [{ repo: "app", tag: "v1", from: `${day(5)}T00:00:00Z`, to: `${day(4)}T00:00:00Z` }, /to: must not be before from/],
    [{ repo: "app", tag: "v1", from: "1990-01-01T00:00:00Z", to: `${day(4)}T00:00:00Z` }, /to: must be at most 3660 days after from/],
  ] as const) {
    for (const method of [list, cumulative]) {
      const answer = await world.call(method, request);
      assert.equal(answer.code, codes.INVALID_ARGUMENT, answer.message);
      assert.match(answer.message, words);
    }
  }
  const answer = await world.call(list, { repo: "app", tag: "v1", from: `${day(1)}T00:00:00Z`, to: "2026-04-30T00:00:00Z" });
  assert.equal(answer.code, codes.FAILED_PRECONDITION);
  assert.match(answer.message, /the list has 88 entries/);
  for (const absent of [
    { repo: "nothing", tag: "v1" },
    { repo: "app", tag: "v9" },
    { repo: "app", tag: "v1", to: "2025-01-01T00:00:00Z" },
  ])
    assert.deepEqual(await counts(absent), []);
});
