// Package URLs find the records of their ecosystem's rules, in scanner queries and as packages of images.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { openWorld, type World } from "../world.ts";
import { readAll, runImport } from "./import.ts";
import { type PurlRow, records, rows, ruleSources } from "./purl-table.ts";

let world: World;
let scratch: string;

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-purls-"));
  world = await openWorld();
  const path = join(scratch, "records.jsonl");
  await writeFile(path, records.map((each) => JSON.stringify(each)).join("\n"));
  const done = await runImport(world, "advisories", [path], { public: true });
  assert.deepEqual([done.failed, done.refused, done.unmatched], [[], [], []]);
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const idsOf = (answer: JsonObject): string[] =>
  objects(answer.vulns)
    .map((each) => text(each, "id"))
    .sort();

const ask = async (path: string, body: JsonObject): Promise<JsonObject> => {
  const response = await fetch(`${world.url}/osv/v1/${path}`, { method: "POST", body: JSON.stringify(body) });
  assert.equal(response.status, 200, response.status === 200 ? "" : await response.clone().text());
  return (await response.json()) as JsonObject;
};

/** Fails with the differing rows and their rules. */
const assertVerdicts = (expected: readonly PurlRow[], found: readonly (readonly string[])[]): void => {
  const lines = expected.map(({ purl, ids, rule }, index) => ({ purl, rule, expected: ids.join(" "), found: (found[index] ?? ["nothing"]).join(" ") }));
  assert.deepEqual(
    lines.filter((line) => line.expected !== line.found),
    [],
  );
  assert.equal(found.length, expected.length);
};

test("the table has at least 200 package URLs of at least 12 ecosystems, and a source for each rule", () => {
  assert.ok(rows.length >= 200, `${rows.length} rows`);
  const types = new Set(
    rows
      .filter(({ ids }) => ids.length > 0)
      .map(({ purl }) =>
        purl
          .split("/")
          .slice(0, purl.startsWith("pkg:deb") || purl.startsWith("pkg:rpm") || purl.startsWith("pkg:apk") ? 2 : 1)
          .join("/"),
      ),
  );
  assert.ok(types.size >= 12, `${types.size} ecosystems`);
  assert.deepEqual(
    rows.filter(({ rule }) => ruleSources[rule] === undefined),
    [],
  );
  assert.deepEqual(
    Object.keys(ruleSources).filter((rule) => !rows.some((row) => row.rule === rule)),
    [],
  );
});

test("a query by package URL finds exactly the records of the ecosystem's rules", async () => {
  const { results } = await ask("querybatch", { queries: rows.map(({ purl }) => ({ package: { purl } })) });
  const found = objects(results).map(idsOf);
  assertVerdicts(rows, found);
});

test("a query by package URL and separate version equals one by package URL with version", async () => {
  const apart = rows.filter(({ purl }) => /@[^?#/]*(?:[?#]|$)/.test(purl) && !purl.includes("vcs_url"));
  const queries = apart.map(({ purl }) => {
    const [, start = "", version = "", rest = ""] = /^(.*)@([^?#/@]*)([?#].*)?$/.exec(purl) ?? [];
    return { package: { purl: `${start}${rest}` }, version: decodeURIComponent(version) };
  });
  const { results } = await ask("querybatch", { queries });
  assertVerdicts(apart, objects(results).map(idsOf));
});

test("an ecosystem without a release finds the records of every release", async () => {
  for (const [ecosystem, name, version, ids] of [
    ["Debian", "openssl", "1.0", "DEB-11 DEB-12"],
    ["Ubuntu", "openssl", "3.0.2-0ubuntu1.9", "UBU-22 UBU-FIPS"],
    ["Alpine", "busybox", "1.36.1-r1", "ALP-318 ALP-319"],
    ["Red Hat", "openssl-libs", "1:3.0.7-18.el9_2", "RH-9 RH-EUS RH-OCP"],
    ["SUSE", "curl", "7.0-1", "SUSE-MICRO SUSE-MOD"],
    ["Debian:12", "openssl", "1.0", "DEB-12"],
    ["Red Hat:enterprise_linux:9::baseos", "openssl-libs", "1:3.0.7-18.el9_2", "RH-9"],
  ] as const)
    assert.equal(idsOf(await ask("query", { package: { ecosystem, name }, version })).join(" "), ids, ecosystem);
});

/** Excludes rows with a release or commit that the package itself does not contain (decision 0026). */
const isInImages = ({ purl, rule }: PurlRow): boolean =>
  /@[^?#/]*(?:[?#]|$)/.test(purl) && rule !== "release: none" && rule !== "commit" && rule !== "type" && !purl.startsWith("pkg:gradle/") && !purl.includes("#");

test("a package in an image has the verdict of a query by its package URL", async () => {
  const inImages = rows.filter(isInImages);
  assert.ok(inImages.length > 150);
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "verdicts" } }), "uid");
  const path = join(scratch, "images.jsonl");
  // One image each, because two versions of one package would share a row's name.
  const lines = inImages.map(({ purl }, index) => JSON.stringify({ repo: `r${index}`, tags: ["t"], configs: { amd64: { packages: [purl] } } }));
  await writeFile(path, `${lines.join("\n")}\n`);
  const done = await runImport(world, "images", [path], { group });
  assert.deepEqual([done.failed, done.refused], [[], []]);
  const affected = await readAll(world, "gantry.images.v1.AffectedImagesService/ListAffectedImages", "affectedImages", { uidp: { descendantsOf: group } });
  const byRepo = Map.groupBy(affected, (each) => text(each, "repo"));
  assertVerdicts(
    inImages,
    inImages.map((_, index) => [...new Set((byRepo.get(`r${index}`) ?? []).map((each) => text(each, "advisoryId")))].sort()),
  );
});
