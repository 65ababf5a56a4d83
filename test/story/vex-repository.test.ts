// A VEX repository for Trivy, and the same documents as files for grype: the rules of OpenVEX 0.2.0 and vex-repo-spec 0.1, as a reader applies them.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isObject, type Json, type JsonObject, objectList, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { openWorld, type World } from "../world.ts";
import { fixtures, runImport } from "./import.ts";
import { checkDocument, timeForm } from "./openvex-rules.ts";
import { advisory, eventAt, everyKind, writeTestRecords } from "./records.ts";

let world: World;
let scratch: string;
const publicUrl = "https://vex.example";

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-vex-"));
  world = await openWorld({ GANTRY_PUBLIC_URL: publicUrl });
  world.clock.now = Date.parse("2026-02-01T00:00:00Z");
  await writeTestRecords(world, [
    ...everyKind.map((data, index) =>
      advisory(`CGA-${index}`, {
        artifactName: "every",
        origin: "every",
        aliases: [`CVE-2024-${index}`],
        events: [eventAt(`2024-01-0${(index % 9) + 1}T00:00:00Z`, data)],
      }),
    ),
    advisory("CGA-gtk", {
      artifactName: "gtk+3.0",
      aliases: ["CVE-2024-100"],
      events: [eventAt("2024-01-01T00:00:00Z", { fixed: { fixedVersion: "3.0-r1" } })],
    }),
    ...["1.0-r0", "2.0-r0"].map((fixedVersion) =>
      advisory(`CGA-${fixedVersion}`, {
        artifactName: "both",
        aliases: ["CVE-2024-101"],
        events: [eventAt("2024-01-01T00:00:00Z", { fixed: { fixedVersion } })],
      }),
    ),
  ]);
  await writeTestRecords(world, [advisory("CGA-private", { artifactName: "private", events: [eventAt("2024-01-01T00:00:00Z", { fixNotPlanned: {} })] })], {
    public: false,
  });
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> => fetch(`${world.url}${path}`, { headers });
const archive = "/vex/vex-repository.tar.gz";

const unpack = async (): Promise<Map<string, JsonObject>> => {
  const folder = await mkdtemp(join(scratch, "unpacked-"));
  const packed = Buffer.from(await (await ask(archive)).arrayBuffer());
  const { status, stderr } = spawnSync("tar", ["-xzf", "-", "-C", folder], { input: packed });
  assert.equal(status, 0, String(stderr));
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".json"));
  return new Map(
    await Promise.all(names.map(async (name): Promise<[string, JsonObject]> => [name, JSON.parse(await readFile(join(folder, name), "utf8")) as JsonObject])),
  );
};
const packagesOf = (files: ReadonlyMap<string, JsonObject>): Map<string, string> =>
  new Map(objectList(files.get("index.json") ?? {}, "packages").map((entry) => [text(entry, "id"), text(entry, "location")]));
const leftOut = async (): Promise<Map<string, string>> => {
  const entries = (await (await ask("/vex/all.json")).json()) as Json;
  return new Map((Array.isArray(entries) ? entries.filter(isObject) : []).map((entry) => [text(entry, "id"), text(entry, "leftOut")]));
};
const imported = async (document: JsonObject, options: Parameters<typeof runImport>[3] = {}): Promise<void> => {
  const path = join(scratch, `${encodeURIComponent(text(document, "@id")).slice(0, 60)}.json`);
  await writeFile(path, JSON.stringify(document));
  world.clock.now += 1000;
  const { refused, failed } = await runImport(world, "advisories", [path], { public: true, ...options });
  assert.deepEqual([refused, failed], [[], []]);
};
const vex = (id: string, purl: string, more: JsonObject = {}): JsonObject => ({
  "@context": "https://openvex.dev/ns/v0.2.0",
  "@id": `https://example.com/vex/${id}`,
  author: "The Yard",
  timestamp: "2025-01-01T00:00:00Z",
  version: 1,
  statements: [{ vulnerability: { name: "CVE-2025-1" }, products: [{ "@id": purl }], status: "not_affected", justification: "component_not_present" }],
  ...more,
});

test("the manifest leads to the archive and has the members that readers require", async () => {
  const manifest = (await (await ask("/.well-known/vex-repository.json")).json()) as JsonObject;
  assert.deepEqual([text(manifest, "name"), text(manifest, "description") !== ""], ["vex.example", true]);
  assert.deepEqual(manifest.versions, [{ spec_version: "0.1", locations: [{ url: `${publicUrl}${archive}` }], update_interval: "1h" }]);
});

test("each of our documents follows every rule of OpenVEX and has one statement per vulnerability", async () => {
  const files = await unpack();
  const documents = [...files].filter(([name]) => name.startsWith("own/"));
  assert.deepEqual(documents.map(([name]) => name).sort(), ["own/every.json", "own/gtk_2b3.0.json"]);
  for (const [, document] of documents) checkDocument(publicUrl, document);
  const every = objectList(files.get("own/every.json") ?? {}, "statements");
  assert.equal(every.length, everyKind.length);
  assert.deepEqual([...new Set(every.map(({ status }) => status))].sort(), ["affected", "fixed", "not_affected", "under_investigation"]);
});

test("the index has each package once, under the text that readers look up, with a location in the archive", async () => {
  const files = await unpack();
  const index = files.get("index.json") ?? {};
  assert.deepEqual(Object.keys(index).sort(), ["packages", "updated_at"]);
  assert.match(text(index, "updated_at"), timeForm);
  const packages = objectList(index, "packages");
  assert.equal(packagesOf(files).size, packages.length);
  for (const entry of packages) {
    assert.deepEqual(Object.keys(entry).sort(), ["format", "id", "location"]);
    assert.match(text(entry, "id"), /^pkg:[a-z]+\/[^@?#\s]+$/);
    assert.match(text(entry, "location"), /^[a-zA-Z0-9_/.-]+\.json$/);
    assert(files.has(text(entry, "location")));
  }
  assert.deepEqual([...packagesOf(files).keys()], ["pkg:apk/wolfi/every", "pkg:apk/wolfi/gtk%2B3.0"]);
  // The same content as at the document's own address.
  assert.deepEqual(files.get("own/gtk_2b3.0.json"), await (await ask("/advisory/v2/openvex/gtk%2B3.0.json")).json());
});

test("contradicting advisories with one ID are omitted from both, and the list names them", async () => {
  const entries = objectList({ list: (await (await ask("/advisory/v2/openvex/all.json")).json()) as Json }, "list");
  const reasons = new Map(entries.map((entry) => [text(entry, "id"), text(entry, "leftOut")]));
  for (const id of ["CGA-1.0-r0", "CGA-2.0-r0"]) assert.match(reasons.get(id) ?? "", /with the same ID/);
  const gone = await ask("/advisory/v2/openvex/both.json");
  assert.equal(gone.status, 404);
  assert.match(text((await gone.json()) as JsonObject, "message"), /no statement remains/);
});

test("an imported document is in the archive unchanged, for every package that it names", async () => {
  const document = vex("1", "pkg:npm/%40deck/rudder@1.0.0", {
    statements: [
      {
        vulnerability: { name: "CVE-2025-1" },
        products: [{ "@id": "pkg:npm/%40deck/rudder@1.0.0" }, { identifiers: { purl: "pkg:pypi/hull@2" } }],
        status: "fixed",
      },
      { vulnerability: { name: "CVE-2025-1" }, products: [{ "@id": "pkg:npm/%40deck/rudder@2.0.0?arch=x" }], status: "under_investigation" },
    ],
  });
  await imported(document);
  await runImport(world, "advisories", [join(fixtures, "openvex-0.2.0.json")], { public: true });
  const files = await unpack();
  const packages = packagesOf(files);
  for (const id of ["pkg:npm/%40deck/rudder", "pkg:pypi/hull"]) assert.deepEqual(files.get(packages.get(id) ?? ""), document, id);
  assert.equal(text(files.get(packages.get("pkg:oci/hull") ?? "") ?? {}, "@id"), "https://example.com/vex/2");
});

test("documents that readers cannot open, may not have or would find twice are omitted from the index, with the reason in the list", async () => {
  await imported(vex("string-version", "pkg:npm/a@1", { version: "1" }));
  await runImport(world, "advisories", [join(fixtures, "openvex-0.0.1.json")], { public: true });
  await imported(vex("no-purl", "nginx"));
  await imported(vex("older", "pkg:npm/twice@1"));
  await imported(vex("newer", "pkg:npm/twice@2", { last_updated: "2025-06-01T00:00:00Z" }));
  await imported(vex("withheld", "pkg:npm/withheld@1"), { license: "CC-BY-NC-ND-4.0" });
  await imported(vex("hidden", "pkg:npm/hidden@1"), { public: undefined });
  const [files, reasons] = [await unpack(), await leftOut()];
  const packages = packagesOf(files);
  assert.match(reasons.get("https://example.com/vex/string-version") ?? "", /0\.2\.0/);
  assert.match(reasons.get("https://example.com/vex/no-purl") ?? "", /package URL/);
  assert.match(reasons.get("https://example.com/vex/older") ?? "", /for pkg:npm\/twice: of several/);
  assert([...reasons.values()].filter((reason) => reason !== "").length >= 4);
  assert.equal(text(files.get(packages.get("pkg:npm/twice") ?? "") ?? {}, "@id"), "https://example.com/vex/newer");
  for (const id of ["pkg:npm/a", "pkg:npm/withheld", "pkg:npm/hidden", "pkg:apk/wolfi/private"]) assert(!packages.has(id), id);
  assert(![...files.values()].some((document) => JSON.stringify(document).includes("hidden")));
});

test("a known archive is not sent again until it changes, and a change or withdrawal raises the version", async () => {
  const versionOf = async (): Promise<number> => Number((await unpack()).get("own/gtk_2b3.0.json")?.version);
  const etag = (await ask(archive)).headers.get("etag") ?? "";
  assert.equal((await ask(archive, { "if-none-match": etag })).status, 304);
  const head = await fetch(`${world.url}${archive}`, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("etag"), (await head.arrayBuffer()).byteLength], [200, etag, 0]);
  const first = await versionOf();
  const second = advisory("CGA-gtk-2", {
    artifactName: "gtk+3.0",
    aliases: ["CVE-2024-200"],
    events: [eventAt("2024-01-02T00:00:00Z", { fixNotPlanned: {} })],
  });
  world.clock.now += 60_000;
  await writeTestRecords(world, [second]);
  assert.equal((await ask(archive, { "if-none-match": etag })).status, 200);
  const changed = await versionOf();
  assert(changed > first);
  world.clock.now += 60_000;
  await writeTestRecords(world, [{ ...second, withdrawnTime: timestamp(world.clock.now) }]);
  const document = (await unpack()).get("own/gtk_2b3.0.json") ?? {};
  assert.equal(objectList(document, "statements").length, 1);
  assert(Number(document.version) > changed);
  // The statement keeps its time.
  assert.equal(text(objectList(document, "statements")[0] ?? {}, "timestamp"), "2024-01-01T00:00:00.000Z");
});
