// Real records of vulnerabilities, libraries and images are imported and read back equal to their files.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import { isObject, type Json, type JsonObject, part, text, texts } from "#base/json.ts";
import { openWorld, type World } from "../world.ts";
import { counts, readAll, realData, runImport, withRealData } from "./import.ts";

const metadata = join(realData, "vulnerability-metadata");

let world: World;
before(async () => {
  if (!withRealData.skip) world = await openWorld();
});
after(() => world?.close());

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

const filesOf = (folder: string): string[] => readdirSync(join(metadata, folder)).map((name) => readFileSync(join(metadata, folder, name), "utf8"));

/** Returns records by ID, with rejected and withdrawn ones: over gRPC, where 1,000 fit into one request. */
const byIds = async (ids: readonly string[]): Promise<Map<string, JsonObject>> => {
  const found = new Map<string, JsonObject>();
  for (let from = 0; from < ids.length; from += 200) {
    const asked = ids.slice(from, from + 200);
    for (const protocol of ["rest", "grpc"] as const) {
      // A REST request line is limited to 8 KiB.
      if (protocol === "rest" && from > 0) continue;
      const { vulnerabilityMetadata } = await world.ok(
        "advisory.SecurityAdvisoryService/ListVulnerabilityMetadata",
        { ids: asked, pageSize: 200 },
        { protocol },
      );
      for (const record of objects(vulnerabilityMetadata)) found.set(text(record, "id"), record);
    }
  }
  return found;
};

interface Expected {
  readonly id: string;
  readonly summary: string;
  readonly details: string;
  readonly urls: readonly string[];
  readonly scores: readonly string[];
}

const shownAs = (record: JsonObject): Expected => ({
  id: text(record, "id"),
  summary: text(record, "summary"),
  details: text(record, "details"),
  urls: objects(record.references).map((reference) => text(reference, "url")),
  scores: objects(record.severities).map((severity) => text(severity, "score")),
});

const compare = async (expected: readonly Expected[]): Promise<void> => {
  const found = await byIds(expected.map(({ id }) => id));
  for (const record of expected) {
    const answered = found.get(record.id);
    assert.ok(answered, `${record.id} is missing`);
    assert.deepEqual(shownAs(answered), record);
  }
};

const distinct = (values: readonly string[]): string[] => [...new Set(values)];

test("every CVE record of JSON 5 is read back with its texts, references and severities", withRealData, async () => {
  const done = await runImport(world, "vulnerabilities", [join(metadata, "cve-json5")], { public: true });
  assert.deepEqual(counts(done), { new: 251, changed: 0, withdrawn: 0, unchanged: 0, refused: 0 });
  const expected = filesOf("cve-json5").map((content): Expected => {
    const record = JSON.parse(content) as JsonObject;
    const cna = part(part(record, "containers"), "cna");
    const all = [cna, ...objects(part(record, "containers").adp)];
    const metrics = all.flatMap((container) => objects(container.metrics));
    return {
      id: text(part(record, "cveMetadata"), "cveId"),
      summary: text(cna, "title"),
      details: text(objects(cna.descriptions)[0] ?? {}, "value"),
      urls: distinct(all.flatMap((container) => objects(container.references).map((reference) => text(reference, "url")))),
      scores: distinct(
        metrics.flatMap((metric) =>
          ["cvssV4_0", "cvssV3_1", "cvssV3_0", "cvssV2_0"].map((key) => text(part(metric, key), "vectorString")).filter((vector) => vector !== ""),
        ),
      ),
    };
  });
  await compare(expected);
});

test("every OSV record, in JSON and YAML, is read back with its texts, references and severities", withRealData, async () => {
  const folders = ["osv-go", "osv-pypa", "osv-ghsa-fixtures"];
  const done = await runImport(
    world,
    "vulnerabilities",
    folders.map((folder) => join(metadata, folder)),
    { public: true },
  );
  const records = folders
    .flatMap(filesOf)
    .map((content) => (content.startsWith("{") ? JSON.parse(content) : parse(content, { schema: "failsafe" })) as JsonObject);
  assert.equal(done.refused.length + done.failed.length, 0);
  const expected = records.map(
    (record): Expected => ({
      id: text(record, "id"),
      summary: text(record, "summary"),
      details: text(record, "details"),
      urls: objects(record.references).map((reference) => text(reference, "url")),
      scores: distinct(objects(record.severity).map((severity) => text(severity, "score"))),
    }),
  );
  assert.equal(expected.length, 504);
  // CVE records are excluded, because another source may have them; their test covers them.
  await compare(expected.filter(({ id }) => !id.startsWith("CVE-")));
});

test("every RustSec record is read back with its title, text and vector", withRealData, async () => {
  const done = await runImport(world, "vulnerabilities", [join(metadata, "rustsec")], { public: true });
  assert.deepEqual(counts(done), { new: 643, changed: 0, withdrawn: 0, unchanged: 0, refused: 0 });
  const contents = filesOf("rustsec");
  const found = await byIds(contents.map((content) => /^id = "(.*)"/m.exec(content)?.[1] ?? ""));
  assert.equal(found.size, 643);
  for (const content of contents) {
    const record = found.get(/^id = "(.*)"/m.exec(content)?.[1] ?? "") ?? {};
    const body = content.slice(content.indexOf("\n```\n") + 5).trim();
    const [heading = "", ...rest] = body.split("\n");
    assert.equal(text(record, "summary"), heading.replace(/^#\s+/, "").trim());
    assert.equal(text(record, "details"), rest.join("\n").trim());
    const vector = /^cvss = "(.*?)"/m.exec(content)?.[1];
    assert.deepEqual(
      objects(record.severities).map((severity) => text(severity, "score")),
      vector === undefined ? [] : [vector],
    );
  }
});

test("distilled records are read back whole, and rejected ones only by ID", withRealData, async () => {
  const source = join(metadata, "cve-distilled.jsonl");
  const done = await runImport(world, "vulnerabilities", [source], { public: true });
  assert.equal(done.refused.length + done.failed.length, 0);
  const records = readFileSync(source, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
  await compare(
    records.map((record) => ({
      id: text(record, "id"),
      summary: text(record, "summary"),
      details: text(record, "details"),
      urls: distinct(objects(record.references).map((reference) => text(reference, "url"))),
      scores: distinct(objects(record.severities).map((severity) => text(severity, "score"))),
    })),
  );
  const rejected = records.filter((record) => text(record, "state") === "REJECTED").map((record) => text(record, "id"));
  assert.ok(rejected.length > 0);
  const listed = new Set(
    (await readAll(world, "advisory.SecurityAdvisoryService/ListVulnerabilityMetadata", "vulnerabilityMetadata", {})).map((record) => text(record, "id")),
  );
  assert.deepEqual(
    rejected.filter((id) => listed.has(id)),
    [],
  );
  assert.equal((await byIds(rejected)).size, rejected.length);
});

test("libraries are read back with every version and its size", withRealData, async () => {
  const folder = join(realData, "libraries");
  const done = await runImport(
    world,
    "libraries",
    ["maven-facts", "pypi-files"].map((name) => join(folder, name)),
  );
  assert.deepEqual(done.failed, []);
  assert.deepEqual(counts(done), { new: 650, changed: 0, withdrawn: 0, unchanged: 0, refused: 0 });
  const [line = ""] = readFileSync(join(folder, "maven-facts", "artifacts.jsonl"), "utf8").split("\n");
  const source = JSON.parse(line) as JsonObject;
  const artifacts = await readAll(world, "libraries.ArtifactsService/ListArtifacts", "artifacts", { ecosystems: ["ECOSYSTEM_JAVA"] });
  assert.equal(artifacts.length, 541);
  const found = artifacts.find((artifact) => text(artifact, "name") === text(source, "name"));
  assert.ok(found);
  const versions = await readAll(world, "libraries.ArtifactsService/ListArtifactVersions", "artifactVersions", { artifactId: text(found, "uid") });
  const shown = (version: string, size: unknown): string => `${version} ${String(size)}`;
  assert.deepEqual(
    versions.map((version) => shown(text(version, "version"), version.sizeBytes)).sort(),
    objects(source.versions)
      .map((version) => shown(text(version, "version"), version.sizeBytes))
      .sort(),
  );
});

test("lists of images and of packages are imported without refusals, and again without changes", withRealData, async () => {
  const sources = [join(realData, "registry", "chainguard-images-2026", "locked-configs.jsonl"), join(realData, "registry", "wolfi-os-packages.jsonl")];
  const done = await runImport(world, "images", sources);
  assert.deepEqual([done.refused, done.failed], [[], []]);
  assert.ok(done.new > 2_363 + 64, String(done.new));
  const again = await runImport(world, "images", sources);
  assert.deepEqual({ ...counts(again), unchanged: 0 }, { new: 0, changed: 0, withdrawn: 0, unchanged: 0, refused: 0 });
});

test("every OpenVEX and CSAF sample is imported without refusals", withRealData, async () => {
  const done = await runImport(world, "advisories", [join(realData, "advisories", "openvex-csaf")]);
  assert.deepEqual([done.refused, done.failed], [[], []]);
  assert.deepEqual(done.passedOver, ["vex-vex.yaml: contains no advisories"]);
  const found = await readAll(world, "vulnerabilities.AdvisoriesService/ListAdvisories", "advisories", { aliases: ["CVE-2009-4487"] });
  assert.deepEqual(
    found.map((advisory) => [text(advisory, "advisoryId"), Object.keys(objects(advisory.events)[0] ?? {}).filter((key) => /Determination$/.test(key))]).sort(),
    [
      ["2022-EVD-UC-01-NA-001", ["falsePositiveDetermination"]],
      ["2022-EVD-UC-01-NA-001", ["truePositiveDetermination"]],
    ],
  );
  assert.ok(found.every((advisory) => texts(advisory, "aliases").includes("CVE-2009-4487")));
});
