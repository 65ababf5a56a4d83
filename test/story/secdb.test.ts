// Alpine's secdb format for scanners' database builders: our own advisories, and imported releases.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import type { AdvisoryEventData } from "#advisories/store";
import { openWorld, type World } from "../world.ts";
import { fixtures, runImport } from "./import.ts";
import { advisory, eventAt, writeTestRecords } from "./records.ts";

let world: World;
let scratch: string;

const one = (key: string, data: AdvisoryEventData, more: Parameters<typeof advisory>[1] = {}) =>
  advisory(key, { artifactName: "hawser", events: [eventAt("2024-01-01T00:00:00Z", data)], ...more });
const fixed = (fixedVersion: string): AdvisoryEventData => ({ fixed: { fixedVersion } });

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-secdb-"));
  world = await openWorld();
  await writeTestRecords(world, [
    one("CGA-1", fixed("1.0-r0"), { aliases: ["GHSA-1", "CVE-2024-1", "CVE-2024-2"] }),
    one("CGA-2", fixed("1.0-r0"), { aliases: ["GHSA-2"] }),
    one("CGA-3", { falsePositiveDetermination: { type: "TYPE_COMPONENT_VULNERABILITY_MISMATCH" } }, { aliases: ["CVE-2024-3"] }),
    one("CGA-4", fixed("2.0-r0")),
    one("CGA-open", { pendingUpstreamFix: {} }, { aliases: ["CVE-2024-5"] }),
    one("CGA-found", { detection: { manual: {} } }, { aliases: ["CVE-2024-6"] }),
    one("CGA-unreadable", fixed("1.0 or so"), { aliases: ["CVE-2024-7"] }),
    one("CGA-commit", fixed("1.0~abc-r0"), { aliases: ["CVE-2024-8"] }),
    one("CGA-often", { patched: { patchedVersions: ["1.0-r0", "2.0-r0"] } }, { aliases: ["CVE-2024-9"] }),
    one("CGA-part", fixed("1.0-r0"), { aliases: ["CVE-2024-10"], artifactName: "hawser-doc", origin: "hawser" }),
    one("CGA-arch", fixed("1.0-r0"), { aliases: ["CVE-2024-11"], artifactArchitecture: "x86_64" }),
    one("CGA-one", fixed("1.0-r0"), { aliases: ["CVE-2024-12"] }),
    one("CGA-other", { truePositiveDetermination: {} }, { aliases: ["CVE-2024-12"] }),
    one("CGA-npm", fixed("1.0.0"), { aliases: ["CVE-2024-13"], artifactType: "npm", author: "Somebody" }),
    one("CGA-chain", fixed("3.0-r0"), { aliases: ["CVE-2024-14"], namespace: "chainguard" }),
  ]);
  await writeTestRecords(world, [one("CGA-private", fixed("1.0-r0"), { artifactName: "private", origin: "private" })], { public: false });
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> => fetch(`${world.url}${path}`, { headers });
const json = async (path: string): Promise<JsonObject> => {
  const response = await ask(path);
  assert.equal(response.status, 200, path);
  const body = (await response.json()) as Json;
  return isObject(body) ? body : { list: body };
};
const imported = async (content: JsonObject, options: Parameters<typeof runImport>[3] = {}): Promise<void> => {
  const path = join(scratch, `${text(content, "distroversion")}-${text(content, "reponame")}.json`);
  await writeFile(path, JSON.stringify(content));
  const { refused, failed } = await runImport(world, "advisories", [path], { public: true, ...options });
  assert.deepEqual([refused, failed], [[], []]);
};
const release = (distroversion: string, reponame: string): JsonObject => ({
  distroversion,
  reponame,
  archs: ["x86_64"],
  packages: [{ pkg: { name: "yes", secfixes: { "1.10": ["CVE-2024-1 GHSA-1"], "0": ["CVE-2024-2"] } } }],
});
const links = async (path: string): Promise<string[]> => [...(await (await ask(path)).text()).matchAll(/href\s*=\s*"([^"]*)"/g)].map(([, href = ""]) => href);

test("a distribution's file has each fix under its CVE with one name per entry, and never affected packages under 0", async () => {
  const document = await json("/secdb/wolfi/security.json");
  assert.deepEqual(objectList(document, "packages"), [
    { pkg: { name: "hawser", secfixes: { "0": ["CVE-2024-3"], "1.0-r0": ["CVE-2024-1", "CVE-2024-2", "GHSA-2"], "2.0-r0": ["CGA-4"] } } },
  ]);
  assert.deepEqual([text(document, "reponame"), document.archs], ["wolfi", []]);
  assert.deepEqual(await json("/secdb/os/security.json"), document);
  const chainguard = await json("/secdb/chainguard/security.json");
  assert.deepEqual(objectList(chainguard, "packages"), [{ pkg: { name: "hawser", secfixes: { "3.0-r0": ["CVE-2024-14"] } } }]);
  for (const path of [
    "/secdb/alpine/security.json",
    "/secdb/none/security.json",
    "/secdb/Wolfi/security.json",
    "/secdb/",
    "/secdb/wolfi/",
    "/secdb/wolfi/security.yaml",
  ])
    assert.equal((await ask(path)).status, 404, path);
});

test("advisories that secdb cannot express are in no file, and the list names them with the reason", async () => {
  const entries = new Map(objectList(await json("/advisory/v2/secdb/all.json"), "list").map((entry) => [text(entry, "id"), text(entry, "leftOut")]));
  for (const id of ["CGA-1", "CGA-2", "CGA-3", "CGA-4", "CGA-chain"]) assert.equal(entries.get(id), "", id);
  for (const [id, reason] of [
    ["CGA-open", /still open/],
    ["CGA-found", /still open/],
    ["CGA-unreadable", /none that readers know/],
    ["CGA-commit", /none that readers know/],
    ["CGA-often", /several patched/],
    ["CGA-part", /origin packages/],
    ["CGA-arch", /architectures/],
    ["CGA-one", /with the same ID/],
    ["CGA-other", /with the same ID/],
    ["CGA-npm", /apk distributions/],
  ] as const)
    assert.match(entries.get(id) ?? "", reason, id);
  assert(!entries.has("CGA-private"));
});

test("an imported release is listed like Alpine's and served unchanged, as JSON and as YAML", async () => {
  for (const [version, repository] of [
    ["v9.2", "main"],
    ["v9.2", "community"],
    ["edge", "main"],
  ] as const)
    await imported(release(version, repository));
  await runImport(world, "advisories", [join(fixtures, "secdb.json")], { public: true });
  // Readers omit the last slash and join links with the requested address.
  for (const slash of ["", "/"]) {
    assert.deepEqual(await links(`/secdb/alpine${slash}`), ["edge/", "v9.1/", "v9.2/"]);
    assert.deepEqual(await links(`/secdb/alpine/v9.2${slash}`), ["community.json", "community.yaml", "main.json", "main.yaml"]);
  }
  assert.match(await (await ask("/secdb/alpine/")).text(), /<a href="v9\.2\/">v9\.2\/<\/a>/);
  const source = JSON.parse(await readFile(join(fixtures, "secdb.json"), "utf8")) as JsonObject;
  assert.deepEqual(await json("/secdb/alpine/v9.1/main.json"), source);
  assert.deepEqual(parse(await (await ask("/secdb/alpine/v9.1/main.yaml")).text(), { version: "1.1" }), source);
  assert.deepEqual(await json("/advisory/v2/secdb/v9.1%2Fmain.json"), source);
  for (const path of ["v9.1/community.json", "v9.9/", "v9.1/main.xml", "v9.1/main.json/", "v9.1/..%2fmain.json"])
    assert.equal((await ask(`/secdb/alpine/${path}`)).status, 404, path);
});

test("a file that is not an Alpine release has its own address, and private or unlicensed ones have none", async () => {
  await imported({ ...release("", "os"), urlprefix: "https://packages.example" });
  assert.equal(part(objectList(await json("/advisory/v2/secdb/os.json"), "packages")[0] ?? {}, "pkg").name, "yes");
  await imported(release("v9.3", "main"), { public: undefined });
  await imported(release("v9.4", "main"), { license: "CC-BY-NC-ND-4.0" });
  const listed = await links("/secdb/alpine/");
  for (const version of ["v9.3", "v9.4"]) {
    assert(!listed.includes(`${version}/`));
    assert.equal((await ask(`/secdb/alpine/${version}/main.json`)).status, 404);
    assert.equal((await ask(`/secdb/alpine/${version}/`)).status, 404);
  }
  const entries = new Map(objectList(await json("/advisory/v2/secdb/all.json"), "list").map((entry) => [text(entry, "id"), entry]));
  assert.match(text(entries.get("v9.4/main") ?? {}, "leftOut"), /licence CC-BY-NC-ND-4.0/);
  assert(!entries.has("v9.3/main"));
});

test("a known file is not sent again until it changes, and HEAD equals GET without a body", async () => {
  for (const path of ["/secdb/wolfi/security.json", "/secdb/alpine/", "/secdb/alpine/v9.1/main.yaml"]) {
    const first = await ask(path);
    await first.arrayBuffer();
    const etag = first.headers.get("etag") ?? "";
    assert.equal((await ask(path, { "if-none-match": etag })).status, 304, path);
    const head = await fetch(`${world.url}${path}`, { method: "HEAD" });
    assert.deepEqual([head.status, head.headers.get("etag"), (await head.arrayBuffer()).byteLength], [200, etag, 0], path);
    assert.equal((await fetch(`${world.url}${path}`, { method: "POST" })).status, 405, path);
  }
  const etag = (await ask("/secdb/wolfi/security.json")).headers.get("etag") ?? "";
  world.clock.now += 1000;
  await writeTestRecords(world, [one("CGA-15", fixed("4.0-r0"), { aliases: ["CVE-2024-15"] })]);
  assert.equal((await ask("/secdb/wolfi/security.json", { "if-none-match": etag })).status, 200);
});
