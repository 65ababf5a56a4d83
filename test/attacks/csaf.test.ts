// Attacks on consumers of the CSAF feed.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { asOwner } from "../database.ts";
import { runImport } from "../story/import.ts";
import { advisory, writeTestRecords } from "../story/records.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let scratch: string;

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-csaf-attacks-"));
  world = await openWorld();
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

const wellKnown = "/.well-known/";
const ask = (path: string): Promise<Response> => fetch(`${world.url}${path}`);
const read = async (path: string): Promise<string> => {
  const response = await ask(path);
  assert.equal(response.status, 200, path);
  return response.text();
};
const json = async (path: string): Promise<JsonObject> => {
  const value = JSON.parse(await read(path)) as Json;
  return isObject(value) ? value : {};
};

const document = (id: string, word: string, more: { readonly label?: string; readonly namespace?: string; readonly current?: string } = {}): JsonObject => ({
  document: {
    category: "csaf_vex",
    csaf_version: "2.0",
    title: word,
    publisher: { category: "vendor", name: "Yard", namespace: more.namespace ?? "https://yard.example.org" },
    ...(more.label === undefined ? {} : { distribution: { tlp: { label: more.label } } }),
    tracking: {
      id,
      status: "final",
      version: "1",
      initial_release_date: "2025-05-01T00:00:00Z",
      current_release_date: more.current ?? "2025-05-02T00:00:00Z",
      revision_history: [{ date: "2025-05-01T00:00:00Z", number: "1", summary: "First" }],
    },
  },
  product_tree: { full_product_names: [{ name: "keel", product_id: "keel", product_identification_helper: { purl: "pkg:rpm/yard/keel@1.0-1" } }] },
  vulnerabilities: [{ cve: "CVE-2025-6001", notes: [{ category: "description", text: word }], product_status: { fixed: ["keel"] } }],
});

let files = 0;
const imported = async (content: JsonObject, options: Parameters<typeof runImport>[3] = {}): Promise<void> => {
  world.clock.now += 1000;
  const path = join(scratch, `${files++}.json`);
  await writeFile(path, JSON.stringify(content));
  const done = await runImport(world, "advisories", [path], { public: true, ...options });
  assert.deepEqual([done.failed, done.refused], [[], []]);
};

const yard = `${wellKnown}csaf-aggregator/yard_example_org/unlabeled/`;

test("attack 91: no document ID replaces the file, directory or list line of another organization's document", async () => {
  await imported(document("Yard#1", "the first"));
  await imported(document("DOCK-1", "another issuer", { namespace: "https://dock.example.org" }));
  // Newer, but with another ID that maps to the same file name.
  await imported(document("YARD_1", "the thief", { current: "2026-01-01T00:00:00Z" }));
  assert.match(await read(`${yard}2025/yard_1.json`), /the first/);
  assert.equal(await read(`${yard}index.txt`), "2025/yard_1.json\n");
  assert.doesNotMatch(await read(`${yard}csaf-feed-tlp-unlabeled.json`), /the thief/);
  // Paths, line breaks and markup in an ID or title have no effect in a list.
  await imported(document('../../x"><script>,"2030-01-01T00:00:00Z', '</a><script>"\n2025/evil.json'));
  for (const line of (await read(`${yard}index.txt`)).trim().split("\n")) assert.match(line, /^2025\/[-+a-z0-9_]+\.json$/);
  for (const line of (await read(`${yard}changes.csv`)).trim().split("\n")) assert.match(line, /^"2025\/[-+a-z0-9_]+\.json","\d{4}-[0-9T:.Z-]+"$/);
  assert.doesNotMatch(await read(`${yard}2025/`), /<script|\.\./);
  assert.equal(objectList(part(await json(`${yard}csaf-feed-tlp-unlabeled.json`), "feed"), "entry").length, 2);
  const namespaces = ["https://yard.example.org/../dock.example.org", "https://YARD.example.org/..", "https://yard_example_org", "https://../../csaf/white"];
  for (const [index, namespace] of namespaces.entries()) await imported(document(`PLACE-${index}`, "elsewhere", { namespace }));
  assert.doesNotMatch(await read(`${yard}index.txt`), /place/);
  const { csaf_publishers: publishers } = await json(`${wellKnown}csaf-aggregator/aggregator.json`);
  for (const each of Array.isArray(publishers) ? publishers.filter(isObject) : [])
    assert.match(text(part(each, "metadata"), "url"), /\/csaf-aggregator\/[-+a-z0-9_]+\/provider-metadata\.json$/);
  assert.equal(Array.isArray(publishers) && publishers.length, 2 + namespaces.length);
  const names = ["hull.x", "hull_x", "Hull.x", "hull..x", "hull.x."];
  await writeTestRecords(
    world,
    names.map((name) => advisory(`CGA-${name}`, { artifactName: name, origin: name })),
  );
  const paths = (await read(`${wellKnown}csaf/white/index.txt`)).trim().split("\n");
  assert.equal(new Set(paths).size, names.length);
  const told = await Promise.all(paths.map(async (path) => /CGA-[^"\\]*/.exec(await read(`${wellKnown}csaf/white/${path}`))?.[0]));
  assert.deepEqual(told.sort(), names.map((name) => `CGA-${name}`).sort());
});

test("attack 92: private, restricted or third-party documents are in no list and have no checksum or signature", async () => {
  const secrets = ["GREEN", "AMBER", "RED", "AMBER+STRICT"];
  for (const label of secrets) await imported(document(`SECRET-${label}`, "word of the few", { label }));
  await imported(document("SECRET-private", "word of the few"), { public: undefined });
  await imported(document("SECRET-license", "word of the few"), { license: "CC-BY-NC-ND-4.0" });
  await writeTestRecords(world, [advisory("CGA-few", { artifactName: "secret-few", origin: "secret-few" })], { public: false });
  const names = [...secrets, "private", "license"].map((each) => `secret-${each.toLowerCase().replace(/[^-+a-z0-9]+/g, "_")}`);
  for (const folder of [yard, yard.replace("unlabeled", "white"), yard.replace("unlabeled", "red"), `${wellKnown}csaf/white/`]) {
    for (const name of [...names, "secret-few"])
      for (const ending of ["", ".asc", ".sha256", ".sha512"])
        for (const year of ["2025", "1970", "2026"])
          assert.equal((await ask(`${folder}${year}/${name}.json${ending}`)).status, 404, `${folder}${name}${ending}`);
    for (const list of ["index.txt", "changes.csv", "2025/", "csaf-feed-tlp-white.json", "csaf-feed-tlp-unlabeled.json", "csaf-feed-tlp-red.json"])
      assert.doesNotMatch(await (await ask(`${folder}${list}`)).text(), /secret|few/i, `${folder}${list}`);
  }
  for (const label of [...secrets, "private", "license"]) {
    const response = await ask(`/advisory/v2/csaf/${encodeURIComponent(`SECRET-${label}`)}.json`);
    assert.equal(response.status, 404, label);
    assert.doesNotMatch(await response.text(), /word of the few/);
  }
  assert.match(await read("/advisory/v2/csaf/all.json"), /"id":"SECRET-RED"[^\n]*"leftOut":"TLP:RED does not allow publication"/);
});

test("attack 92: signing costs count towards the caller, and a key is useless in another row or without the secret key", async () => {
  const [path = ""] = (await read(`${wellKnown}csaf/white/index.txt`)).split("\n");
  await read(`${wellKnown}csaf/white/${path}.asc`);
  let asked = 0;
  for (let status = 200; status === 200 && asked <= limits.openReadsPerMinute; asked++) {
    const response = await ask(`${wellKnown}csaf/white/csaf-feed-tlp-white.json`);
    await response.arrayBuffer();
    ({ status } = response);
  }
  assert(asked <= limits.openReadsPerMinute / limits.csafListRequests + 1, `${asked} lists were answered within a minute`);
  assert.equal((await ask(`${wellKnown}csaf/white/${path}.asc`)).status, 429);
  world.clock.now += 60_000;
  await asOwner(world.databaseUrl, "update document_signing_keys set fingerprint = reverse(fingerprint)");
  const response = await ask(`${wellKnown}csaf/white/${path}.asc`);
  assert.equal(response.status, 500);
  assert.doesNotMatch(await response.text(), /PGP|sealed|secret/);
});
