// Attacks 89 and 90: files that scanners and database builders read unattended, and documents that try to manipulate them.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { runImport } from "../story/import.ts";
import { advisory, eventAt, writeTestRecords } from "../story/records.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let scratch: string;

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-scanner-files-"));
  world = await openWorld();
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

let files = 0;
const imported = async (document: JsonObject): Promise<void> => {
  const path = join(scratch, `${++files}.json`);
  await writeFile(path, JSON.stringify(document));
  await runImport(world, "advisories", [path], { public: true });
};
const read = async (path: string): Promise<string> => (await fetch(`${world.url}${path}`)).text();

const vex = (id: string, purl: string, more: JsonObject = {}): JsonObject => ({
  "@context": "https://openvex.dev/ns/v0.2.0",
  "@id": id,
  author: "Somebody",
  timestamp: "2030-01-01T00:00:00Z",
  version: 1,
  statements: [{ vulnerability: { name: "CVE-2024-1" }, products: [{ "@id": purl }], status: "not_affected", justification: "component_not_present" }],
  ...more,
});

/** Reads the repository as another program unpacks it: the archive's names, and the index. */
const readRepository = async (): Promise<{ names: string[]; packages: JsonObject[]; folder: string }> => {
  const folder = await mkdtemp(join(scratch, "unpacked-"));
  const input = Buffer.from(await (await fetch(`${world.url}/vex/vex-repository.tar.gz`)).arrayBuffer());
  const names = spawnSync("tar", ["-tzf", "-"], { input, encoding: "utf8" }).stdout.trim().split("\n");
  assert.equal(spawnSync("tar", ["-xzf", "-", "-C", folder], { input }).status, 0);
  return { names, folder, packages: objectList(JSON.parse(await readFile(join(folder, "index.json"), "utf8")) as JsonObject, "packages") };
};

test("attack 89: a document's ID or package name cannot escape an archive or replace another file", async () => {
  const ids = ["../../etc/lantern", "/etc/lantern", "..", "index", "index.json", "own/nginx", "a\\b", "A", "a", `long-${"x".repeat(300)}`];
  for (const [index, id] of ids.entries()) await imported(vex(id, `pkg:npm/lantern-${index}`));
  await writeTestRecords(world, [
    advisory("CGA-path", { artifactName: "../../etc/passwd", events: [eventAt("2024-01-01T00:00:00Z", { fixNotPlanned: {} })], aliases: ["CVE-2024-2"] }),
  ]);
  const { names, packages } = await readRepository();
  for (const name of names) assert.match(name, /^(?:index\.json|(?:own|others)\/[a-z0-9_.-]+\.json)$/);
  assert.equal(new Set(names).size, names.length);
  assert.equal(names.filter((name) => name === "index.json").length, 1);
  const locations = packages.map((entry) => text(entry, "location"));
  for (const location of locations) assert(names.includes(location), location);
  assert(locations.length >= ids.length, String(locations.length));
});

test("attack 89: a secdb's values add no YAML key, no listing link and no second ID", async () => {
  const names = ['x":{"packages":[]}', "-", "*x", "!!python/object:os.system", "<a/href=v1>", "0", "yes", "#"];
  const document = {
    distroversion: "v9.9",
    reponame: "main",
    packages: names.map((name) => ({ pkg: { name, secfixes: { "1.0-r0": [`CVE-2024-1 ${name}: "x" # - \\ '`] } } })),
  };
  await imported(document);
  assert.deepEqual(JSON.parse(await read("/secdb/alpine/v9.9/main.json")), document);
  assert.deepEqual(parse(await read("/secdb/alpine/v9.9/main.yaml"), { version: "1.1" }), document);
  for (const distroversion of ['v1"><a href="v2/', "v1/../..", "v1 v2", "v1%2f", "../v1", "<a>v3</a>"]) await imported({ ...document, distroversion });
  for (const path of ["/secdb/alpine/", "/secdb/alpine/v9.9/"]) {
    const links = [...(await read(path)).matchAll(/<a [^>]*>[^<]*<\/a>/g)].map(([link]) => link);
    for (const link of links) assert.match(link, /^<a href="([A-Za-z0-9._-]+\/?)">\1<\/a>$/);
    assert.deepEqual(links.length, path.endsWith("alpine/") ? 1 : 2);
  }
  await writeTestRecords(world, [
    advisory("CGA-blank", {
      artifactName: "blank",
      aliases: ["CVE-2024-3 CVE-2024-4"],
      events: [eventAt("2024-01-01T00:00:00Z", { fixed: { fixedVersion: "1.0-r0" } })],
    }),
    advisory("CGA-proto", {
      artifactName: "__proto__",
      aliases: ["CVE-2024-5"],
      events: [eventAt("2024-01-01T00:00:00Z", { fixed: { fixedVersion: "1.0-r0" } })],
    }),
  ]);
  const security = await read("/secdb/wolfi/security.json");
  assert(!security.includes("CVE-2024-4"));
  assert(security.includes('{"pkg":{"name":"__proto__","secfixes":{"1.0-r0":["CVE-2024-5"]}}}'));
});

test("attack 90: another organization's document never overrides our own about our package, however recent it is", async () => {
  await writeTestRecords(world, [
    advisory("CGA-ours", { artifactName: "anchor", aliases: ["CVE-2024-1"], events: [eventAt("2024-01-01T00:00:00Z", { truePositiveDetermination: {} })] }),
  ]);
  const names = ["pkg:apk/wolfi/anchor", "pkg:apk/wolfi/anchor@1.0-r0?arch=x86_64", "pkg:APK/wolfi//anchor", "pkg:apk/wolfi/%61nchor"];
  for (const [index, purl] of names.entries()) await imported(vex(`https://example.com/silence/${index}`, purl));
  // A name that a reader's library normalizes to ours counts as ours, so it is indexed once.
  const { packages, folder } = await readRepository();
  const ours = packages.filter((entry) => decodeURIComponent(text(entry, "id")) === "pkg:apk/wolfi/anchor");
  assert.equal(ours.length, 1);
  const [entry] = ours;
  const document = JSON.parse(await readFile(join(folder, text(entry ?? {}, "location")), "utf8")) as JsonObject;
  assert.equal(text(document, "@id"), `${world.url}/advisory/v2/openvex/anchor.json`);
  assert.deepEqual(
    objectList(document, "statements").map(({ status }) => status),
    ["affected"],
  );
});

test("attack 90: of two contradicting advisories with one ID, neither suppresses the other", async () => {
  const one = (key: string, day: number, data: Parameters<typeof eventAt>[1]) =>
    advisory(key, { artifactName: "chain", aliases: ["CVE-2024-6"], events: [eventAt(`2024-01-0${day}T00:00:00Z`, data)] });
  await writeTestRecords(world, [
    one("CGA-bad", 1, { truePositiveDetermination: {} }),
    one("CGA-late", 2, { falsePositiveDetermination: { type: "TYPE_UNSPECIFIED" } }),
  ]);
  assert.equal((await fetch(`${world.url}/advisory/v2/openvex/chain.json`)).status, 404);
  assert(!(await readRepository()).packages.some((entry) => text(entry, "id").endsWith("/chain")));
  assert(!(await read("/secdb/wolfi/security.json")).includes("CVE-2024-6"));
});
