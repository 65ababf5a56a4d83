// Every published CSAF document passes an independent validator: the strict schema and all mandatory tests of CSAF 2.0 §6.1. The long form covers all
// real data.

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import * as mandatoryTests from "@secvisogram/csaf-validator-lib/mandatoryTests.js";
import { csaf_2_0_strict } from "@secvisogram/csaf-validator-lib/schemaTests.js";
import validate from "@secvisogram/csaf-validator-lib/validate.js";
import { type JsonObject, part, text } from "#base/json.ts";
import { randomNumbers, shortOrLong } from "../length.ts";
import { openWorld, type World } from "../world.ts";
import { fixtures, realData, runImport, withRealData } from "./import.ts";
import { advisory, eventAt, everyKind, writeTestRecords } from "./records.ts";

let world: World;

before(async () => {
  world = await openWorld();
});
after(() => world?.close());

const tests = [csaf_2_0_strict, ...Object.values(mandatoryTests).filter((each) => typeof each === "function")];

const base = "/.well-known/csaf/white/";

const listPaths = async (): Promise<string[]> => {
  const index = await (await fetch(`${world.url}${base}index.txt`)).text();
  return index.split("\n").filter((line) => line !== "");
};

const fetchDocument = async (path: string): Promise<JsonObject> => {
  let response = await fetch(`${world.url}${base}${path}`);
  for (; response.status === 429; response = await fetch(`${world.url}${base}${path}`)) {
    await response.arrayBuffer();
    world.clock.now += 60_000;
  }
  assert.equal(response.status, 200, path);
  return (await response.json()) as JsonObject;
};

const findingsOf = async (path: string): Promise<string[]> => {
  const document = await fetchDocument(path);
  const { isValid, tests: results } = await validate(tests, document);
  const findings = results.flatMap((result) => result.errors.map((error) => `${path}: ${result.name} ${error.instancePath} ${error.message ?? ""}`));
  if (!isValid && findings.length === 0) findings.push(`${path}: not valid`);
  // §5.1: the file is named after the document, in the directory of its first release's year.
  const tracking = part(part(document, "document"), "tracking");
  const name = text(tracking, "id")
    .toLowerCase()
    .replace(/[^+\-a-z0-9]+/g, "_");
  const year = text(tracking, "initial_release_date").slice(0, 4);
  if (path !== `${year}/${name}.json`) findings.push(`${path} should be ${year}/${name}.json`);
  return findings;
};

test("a document is valid for any advisories: all kinds of events, invalid names, contradictions, duplicate CVEs", async () => {
  assert.equal(tests.length, 44);
  const fixed = (version: string, time = "2024-01-02T00:00:00Z") => eventAt(time, { fixed: { fixedVersion: version } });
  const affected = eventAt("2024-01-01T00:00:00Z", { truePositiveDetermination: { note: "as seen" } });
  await writeTestRecords(world, [
    ...everyKind.map((data, index) =>
      advisory(`CGA-kind-${index}`, {
        artifactName: "kinds",
        origin: "kinds",
        aliases: [`CVE-2024-${1000 + index}`],
        events: [eventAt("2024-01-01T00:00:00Z", data)],
      }),
    ),
    advisory("CGA-one", { artifactName: "twice", origin: "twice", aliases: ["CVE-2024-2000", "GHSA-aaaa-bbbb-cccc"], events: [affected] }),
    advisory("CGA-two", { artifactName: "twice", origin: "twice", aliases: ["CVE-2024-2000", "GHSA-aaaa-bbbb-cccc"], events: [fixed("1.0-r1")] }),
    advisory("CGA-three", { artifactName: "twice-libs", origin: "twice", aliases: ["CVE-2024-2000"], events: [fixed("1.0-r1")] }),
    advisory("CGA-four", { artifactName: "twice", origin: "twice", aliases: ["CVE-2024-2001", "CVE-2024-2002"], events: [fixed("1.0-r1")] }),
    advisory("CGA-five", { artifactName: "twice", origin: "twice", aliases: [], events: [affected, fixed("2", "2023-01-01T00:00:00Z")] }),
    advisory("CGA-six", { artifactName: "twice", origin: "twice", aliases: ["CVE-99-1"], events: [] }),
    // The same product would be in two groups under one CVE (6.1.6).
    advisory("CGA-seven", { artifactName: "twice", origin: "twice", aliases: ["CVE-2024-2004"], events: [affected] }),
    advisory("CGA-eight", {
      artifactName: "twice",
      origin: "twice",
      aliases: ["CVE-2024-2004"],
      events: [eventAt("2024-01-03T00:00:00Z", { falsePositiveDetermination: { type: "TYPE_COMPONENT_VULNERABILITY_MISMATCH", note: "another" } })],
    }),
    advisory("CVE-2024-2003", { key: "bare", artifactName: "Bare_Name", origin: "Bare_Name", aliases: [], events: [affected] }),
    advisory("CGA-soon", { artifactName: "soon", origin: "soon", events: [eventAt("2999-01-01T00:00:00Z", { fixed: { fixedVersion: "1" } })] }),
  ]);
  await runImport(world, "advisories", [join(fixtures, "harbour.yaml")], { public: true });
  const paths = await listPaths();
  assert(paths.length >= 5);
  const findings = (await Promise.all(paths.map(findingsOf))).flat();
  assert.deepEqual(findings, []);
});

test("of two contradicting advisories for one package the later is used for the CVE, and each keeps its own ID", async () => {
  const [path = ""] = (await listPaths()).filter((each) => each.endsWith("/twice.json"));
  const { vulnerabilities } = await fetchDocument(path);
  assert(Array.isArray(vulnerabilities));
  const about = (name: string) => vulnerabilities.filter((each) => JSON.stringify(each).includes(`"${name}"`)) as JsonObject[];
  const [one, ...more] = about("CGA-one");
  assert.deepEqual(more, []);
  assert.equal(one?.cve, undefined);
  assert.deepEqual(one?.ids, [{ system_name: "CGA", text: "CGA-one" }]);
  assert.deepEqual(one?.product_status, { known_affected: ["pkg:apk/wolfi/twice"] });
  const [cve] = about("CVE-2024-2000");
  assert.deepEqual(cve?.product_status, { fixed: ["pkg:apk/wolfi/twice-libs@1.0-r1", "pkg:apk/wolfi/twice@1.0-r1"] });
  assert.deepEqual(
    about("CGA-four")
      .map(({ cve: name }) => name)
      .sort(),
    ["CVE-2024-2001", "CVE-2024-2002"],
  );
});

test("every document of the real data is valid and named as CSAF requires", withRealData, async () => {
  const folder = join(realData, "advisories/wolfi");
  const random = randomNumbers(14);
  const files = (await readdir(folder)).filter((name) => name.endsWith(".yaml") && random() < shortOrLong(0.15, 1));
  assert(files.length >= shortOrLong(100, 870), `only ${files.length} files`);
  const before = new Set(await listPaths());
  await runImport(
    world,
    "advisories",
    files.map((name) => join(folder, name)),
    { public: true },
  );
  const paths = (await listPaths()).filter((path) => !before.has(path));
  assert.equal(new Set(paths).size, files.length);
  const findings: string[] = [];
  for (const path of paths) findings.push(...(await findingsOf(path)));
  assert.deepEqual(findings.slice(0, 20), [], `${findings.length} findings in ${paths.length} documents`);
});
