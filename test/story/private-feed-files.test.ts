// Files for scanners and database builders, read with a token: their readers reach the verdicts of the API's list for the same caller. Without a token
// the files are byte for byte unaffected by private data.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import * as mandatoryTests from "@secvisogram/csaf-validator-lib/mandatoryTests.js";
import { csaf_2_0_strict } from "@secvisogram/csaf-validator-lib/schemaTests.js";
import validate from "@secvisogram/csaf-validator-lib/validate.js";
import { createMessage, readKey, readSignature, verify } from "openpgp";
import { satisfies } from "semver";
import { fromBufferPromise } from "yauzl";
import { isObject, type Json, type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { csafDocument } from "../csaf-documents.ts";
import { openWorld, type World } from "../world.ts";
import { runImport } from "./import.ts";
import { checkDocument } from "./openvex-rules.ts";
import { bind, createIdentity } from "./installation.ts";

let world: World;
let scratch: string;
let [theirs, belowBinding] = ["", ""];
/** Tokens by caller; "" has none. */
const tokens = new Map<string, string>();
const openBefore = new Map<string, string>();

const modified = "2025-01-01T00:00:00.123456Z";
const record = (id: string, affected: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  schema_version: "1.7.0",
  id,
  modified,
  affected: [...affected],
  ...more,
});
const semantic = (ecosystem: string, name: string, ...events: JsonObject[]): JsonObject => ({
  package: { ecosystem, name },
  ranges: [{ type: "SEMVER", events }],
});
const lantern = (id: string, introduced: string, fixed: string, more: JsonObject = {}): JsonObject =>
  record(id, [semantic("npm", "lantern", { introduced }, { fixed })], more);
const wolfi = (name: string, number: string, cve: string, type: string, data: JsonObject): JsonObject => ({
  "schema-version": "2.0.2",
  package: { name },
  advisories: [{ id: number, aliases: [cve], events: [{ timestamp: "2026-01-01T00:00:00Z", type, data }] }],
});
const fixed = (name: string, number: string, cve: string, version: string): JsonObject => wolfi(name, number, cve, "fixed", { "fixed-version": version });

const release = (distroversion: string, name: string): JsonObject => ({
  distroversion,
  reponame: "main",
  archs: ["x86_64"],
  packages: [{ pkg: { name, secfixes: { "1.10": ["CVE-2024-1"] } } }],
});
const openVex = (id: string, purl: string): JsonObject => ({
  "@context": "https://openvex.dev/ns/v0.2.0",
  "@id": `https://vex.example/${id}`,
  author: "Somebody",
  timestamp: "2025-01-01T00:00:00Z",
  version: 1,
  statements: [{ vulnerability: { name: "CVE-2025-0050" }, products: [{ "@id": purl }], status: "not_affected", justification: "component_not_present" }],
});

/** Each group's records, one per file, and documents of other issuers. */
const told: Readonly<Record<string, { readonly records: readonly JsonObject[] }>> = {
  public: {
    records: [
      lantern("PUB-1", "0", "1.1.0"),
      lantern("BOTH-1", "0", "1.2.0"),
      record("GO-2025-0001", [semantic("Go", "example.com/lantern", { introduced: "0" }, { fixed: "1.1.0" })]),
      fixed("harbour", "CGA-pppp-pppp-pppp", "CVE-2025-0001", "2-r0"),
      fixed("pier", "CGA-pppp-pppp-qqqq", "CVE-2025-0002", "1-r0"),
      release("v3.19", "everybody"),
      openVex("everybody", "pkg:npm/everybody"),
      csafDocument("YARD-1", "yard", { label: "WHITE" }),
      csafDocument("DOCK-1", "dock", { label: "WHITE" }),
    ],
  },
  ours: {
    records: [
      lantern("OURS-1", "1.0.0", "1.4.0"),
      lantern("BOTH-1", "0", "1.6.0", { modified: "2025-06-01T00:00:00Z" }),
      record("OURS-2", [semantic("crates.io", "lantern-rs", { introduced: "0" }, { fixed: "1.0.0" })]),
      record("GO-2025-0002", [semantic("Go", "example.com/lantern", { introduced: "0" }, { fixed: "1.3.0" })]),
      record("GO-2025-0003", [semantic("Go", "example.com/ours", { introduced: "0" })]),
      fixed("harbour", "CGA-oooo-oooo-oooo", "CVE-2025-0011", "3-r0"),
      wolfi("harbour", "CGA-oooo-oooo-pppp", "CVE-2025-0012", "false-positive-determination", {
        type: "vulnerable-code-not-included-in-package",
        note: "not built",
      }),
      fixed("quay", "CGA-oooo-oooo-qqqq", "CVE-2025-0013", "4-r1"),
      // Two contradicting advisories: readers of statements or fixes get neither.
      fixed("quay", "CGA-oooo-oooo-rrrr", "CVE-2025-0014", "4-r2"),
      fixed("quay", "CGA-oooo-oooo-ssss", "CVE-2025-0014", "4-r3"),
      release("v3.20", "ours"),
      openVex("ours", "pkg:npm/ours"),
      csafDocument("YARD-2", "yard", { label: "AMBER" }),
      csafDocument("YARD-3", "yard", { label: "WHITE" }),
    ],
  },
  below: { records: [lantern("BELOW-1", "2.0.0", "2.1.0"), fixed("harbour", "CGA-bbbb-bbbb-bbbb", "CVE-2025-0021", "5-r0")] },
  theirs: {
    records: [
      lantern("THEIRS-1", "0", "9.0.0"),
      record("THEIRS-2", [semantic("Hex", "their_lantern", { introduced: "0" })]),
      record("GO-2025-0004", [semantic("Go", "example.com/theirs", { introduced: "0" })]),
      fixed("harbour", "CGA-tttt-tttt-tttt", "CVE-2025-0031", "6-r0"),
      fixed("theirs-alone", "CGA-tttt-tttt-uuuu", "CVE-2025-0032", "7-r0"),
      release("v3.21", "theirs"),
      openVex("theirs", "pkg:npm/theirs"),
      csafDocument("RIG-1", "rig", { label: "RED" }),
    ],
  },
};

const imported = async (group: string, name: string, records: readonly JsonObject[], isPublic?: boolean): Promise<void> => {
  const folder = join(scratch, name);
  await mkdir(folder);
  for (const [index, each] of records.entries()) await writeFile(join(folder, `${index}.json`), JSON.stringify(each));
  const done = await runImport(world, "advisories", [folder], { group, public: isPublic, author: "Wolfi" });
  assert.deepEqual([done.failed, done.refused], [[], []]);
};

const headersOf = (who: string): Record<string, string> => {
  const token = tokens.get(who) ?? "";
  return token === "" ? {} : { authorization: `Bearer ${token}` };
};
const get = (who: string, path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Response> =>
  fetch(`${world.url}${path}`, { method, headers: { ...headersOf(who), ...headers } });
const bytes = async (who: string, path: string): Promise<Buffer> => {
  const response = await get(who, path);
  assert.equal(response.status, 200, `${who} ${path}: ${response.status === 200 ? "" : await response.clone().text()}`);
  return Buffer.from(await response.arrayBuffer());
};
const read = async (who: string, path: string): Promise<string> => (await bytes(who, path)).toString("utf8");
const json = async (who: string, path: string): Promise<JsonObject> => {
  const value = JSON.parse(await read(who, path)) as Json;
  return isObject(value) ? value : { list: value };
};
const lines = async (who: string, path: string): Promise<string[]> => (await read(who, path)).split("\n").filter((line) => line !== "");
/** Requests one of our addresses at the server's own address. */
const pathOf = (address: string): string => new URL(address).pathname;
const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

const openPaths = [
  "/osv/all.zip",
  "/osv/npm/all.zip",
  "/osv/Wolfi/all.zip",
  "/osv/crates.io/all.zip",
  "/osv/modified_id.csv",
  "/osv/npm/modified_id.csv",
  "/osv/ecosystems.txt",
  "/osv/npm/BOTH-1.json",
  "/osv/npm/OURS-1.json",
  "/osv/Wolfi/CGA-pppp-pppp-pppp.json",
  "/osv/go/index/db.json",
  "/osv/go/index/modules.json",
  "/osv/go/index/vulns.json",
  "/osv/go/ID/GO-2025-0001.json",
  "/osv/go/ID/GO-2025-0002.json",
  "/advisory/v2/osv/all.json",
  "/secdb/wolfi/security.json",
  "/secdb/alpine/",
  "/secdb/alpine/v3.19/",
  "/secdb/alpine/v3.19/main.json",
  "/secdb/alpine/v3.19/main.yaml",
  "/advisory/v2/secdb/all.json",
  "/advisory/v2/openvex/harbour.json",
  "/advisory/v2/openvex/all.json",
  "/vex/vex-repository.tar.gz",
  "/vex/all.json",
  "/advisory/v2/csaf/harbour.json",
  "/advisory/v2/csaf/all.json",
  "/.well-known/csaf/provider-metadata.json",
  "/.well-known/csaf/service.json",
  "/.well-known/csaf/white/",
  "/.well-known/csaf/white/index.txt",
  "/.well-known/csaf/white/changes.csv",
  "/.well-known/csaf/white/csaf-feed-tlp-white.json",
  "/.well-known/csaf/white/2026/harbour.json",
  "/.well-known/csaf/white/2026/harbour.json.sha512",
  "/.well-known/csaf/white/2026/harbour.json.asc",
  "/.well-known/csaf-aggregator/aggregator.json",
  "/.well-known/csaf-aggregator/yard_example_org/provider-metadata.json",
  "/.well-known/csaf-aggregator/yard_example_org/white/index.txt",
  "/.well-known/csaf-aggregator/yard_example_org/white/2025/yard-1.json",
  "/secdb/alpine/v3.20/main.json",
  "/advisory/v2/openvex/quay.json",
  "/.well-known/csaf/amber/index.txt",
  "/.well-known/csaf-aggregator/yard_example_org/amber/index.txt",
  "/osv/v1/query",
  "/osv/nowhere/all.zip",
  "/osv/go/nowhere/db.json",
];

const openAnswer = async (path: string): Promise<string> => {
  const response = await get("", path);
  const body = Buffer.from(await response.arrayBuffer()).toString("base64");
  const { status, headers } = response;
  const [type, etag, vary] = ["content-type", "etag", "vary"].map((name) => headers.get(name));
  return status === 200 ? JSON.stringify([status, type, etag, vary, body]) : `${status} ${type}`;
};

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-private-feed-files-"));
  world = await openWorld();
  theirs = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "rival" } })).uid);
  const below = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "team" } })).uid);
  const places = { ours: world.organization, below, theirs };
  tokens.set("", "");
  for (const [name, place] of Object.entries(places)) {
    const identity = await createIdentity(world, place, name, { issuer: "https://issuer.example.com", subject: name });
    const binding = await bind(world, place, identity, "viewer");
    if (name === "below") belowBinding = binding;
    tokens.set(name, await world.token(identity));
  }
  const without = await createIdentity(world, world.organization, "without", { issuer: "https://issuer.example.com", subject: "without" });
  await bind(world, world.organization, without, "registry.pull");
  tokens.set("a puller", await world.token(without));
  tokens.set("the operator", await world.token());
  const market = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "market" } })).uid);
  await imported(market, "public", told.public?.records ?? [], true);
  for (const path of openPaths) openBefore.set(path, await openAnswer(path));
  for (const [name, place] of Object.entries(places)) await imported(place, name, told[name]?.records ?? []);
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

const untar = (archive: Buffer): Map<string, JsonObject> => {
  const tar = gunzipSync(archive);
  const files = new Map<string, JsonObject>();
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const name = tar.toString("utf8", at, at + 100).replace(/\0.*$/s, "");
    const size = Number.parseInt(tar.toString("latin1", at + 124, at + 136), 8);
    files.set(name, JSON.parse(tar.toString("utf8", at + 512, at + 512 + size)) as JsonObject);
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
};

const callers = (): string[] => [...tokens.keys()].filter((who) => who !== "");

/** Returns the IDs that the API lists for this caller, and the public ones. */
const numbersOf = async (who: string): Promise<Set<string>> => {
  const { advisories } = await json(who, "/vulnerabilities/v2/advisories?pageSize=200");
  return new Set([
    "PUB-1",
    "BOTH-1",
    "GO-2025-0001",
    "CGA-pppp-pppp-pppp",
    "CGA-pppp-pppp-qqqq",
    ...objects(advisories)
      .map((each) => text(each, "advisoryId"))
      .filter((id) => osvNumbers.test(id)),
  ]);
};
const osvNumbers = /^(?:PUB|BOTH|OURS|BELOW|THEIRS|GO|CGA)-/;

const unzip = async (archive: Buffer): Promise<Map<string, JsonObject>> => {
  const zip = await fromBufferPromise(archive);
  const files = new Map<string, JsonObject>();
  for await (const entry of zip.eachEntry()) {
    const chunks: Buffer[] = [];
    for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk as Buffer);
    assert(!files.has(entry.fileName), entry.fileName);
    const value = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Json;
    assert(isObject(value));
    files.set(entry.fileName, value);
  }
  return files;
};

test("public files without a token are byte for byte unaffected by private data", async () => {
  for (const path of openPaths) assert.equal(await openAnswer(path), openBefore.get(path), path);
  assert.equal([...openBefore.values()].filter((answer) => answer.startsWith("[200")).length, openPaths.length - 9);
});

test("each caller's full archive has exactly the records that the API lists, as returned by ID", async () => {
  const sizes: number[] = [];
  for (const who of callers()) {
    const numbers = await numbersOf(who);
    const files = await unzip(await bytes(who, "/osv/all.zip"));
    assert.deepEqual([...files.keys()].sort(), [...numbers].map((id) => `${id}.json`).sort(), who);
    for (const id of numbers) assert.deepEqual(files.get(`${id}.json`), await json(who, `/osv/v1/vulns/${id}`), `${who} ${id}`);
    sizes.push(files.size);
  }
  // Callers differ, so the comparison is meaningful.
  assert.deepEqual(sizes, [16, 7, 10, 5, 21]);
});

/** Evaluates a record for a version, independently of the server's code. */
const affects = (of: JsonObject, name: string, version: string): boolean =>
  objectList(of, "affected")
    .filter((entry) => text(part(entry, "package"), "name") === name)
    .flatMap((entry) => objectList(entry, "ranges"))
    .some((range) => {
      const events = objectList(range, "events");
      const [from, to] = ["introduced", "fixed"].map((kind) => events.map((event) => text(event, kind)).find((bound) => bound !== ""));
      return satisfies(version, `>=${from === undefined || from === "0" ? "0.0.0" : from}${to === undefined ? "" : ` <${to}`}`);
    });

test("each caller's ecosystem archive has the verdicts of the query, for every version at and around a bound", async () => {
  const versions = ["0.9.0", "1.0.0", "1.0.9", "1.1.0", "1.2.0", "1.3.9", "1.4.0", "1.5.9", "1.6.0", "2.0.0", "2.0.9", "2.1.0", "8.9.9", "9.0.0"];
  const distinct = new Set<string>();
  let compared = 0;
  for (const who of callers()) {
    const files = [...(await unzip(await bytes(who, "/osv/npm/all.zip"))).values()];
    for (const version of versions) {
      const response = await fetch(`${world.url}/osv/v1/query`, {
        method: "POST",
        headers: { ...headersOf(who), "content-type": "application/json" },
        body: JSON.stringify({ package: { ecosystem: "npm", name: "lantern" }, version }),
      });
      const asked = objects(((await response.json()) as JsonObject).vulns).map((each) => text(each, "id"));
      const concluded = files.filter((file) => affects(file, "lantern", version)).map((file) => text(file, "id"));
      assert.deepEqual(concluded.sort(), asked.sort(), `${who} ${version}`);
      distinct.add(JSON.stringify([version, asked.sort()]));
      compared += 1;
    }
  }
  assert.equal(compared, 5 * versions.length);
  assert(distinct.size > versions.length * 2, `${distinct.size}`);
});

test("each caller's lists of changes, ecosystems and records name exactly the archives' contents", async () => {
  for (const who of callers()) {
    const files = await unzip(await bytes(who, "/osv/all.zip"));
    const names = [...files.keys()].map((name) => name.slice(0, -".json".length));
    const all = await lines(who, "/osv/modified_id.csv");
    assert.deepEqual(all.map((line) => line.replace(/^[^,]*,[^/]*\//, "")).sort(), names.sort(), who);
    const times = all.map((line) => line.split(",", 1)[0] ?? "");
    assert.deepEqual(times, [...times].sort().reverse(), who);
    const ecosystems = await lines(who, "/osv/ecosystems.txt");
    assert.deepEqual(ecosystems, [...new Set(all.map((line) => line.replace(/^[^,]*,([^/]*)\/.*$/, "$1")))].sort(), who);
    for (const ecosystem of ecosystems) {
      const inside = [...(await unzip(await bytes(who, `/osv/${ecosystem}/all.zip`))).keys()].map((name) => name.slice(0, -".json".length)).sort();
      const changed = (await lines(who, `/osv/${ecosystem}/modified_id.csv`)).map((line) => line.replace(/^[^,]*,/, "")).sort();
      assert.deepEqual(changed, inside, `${who} ${ecosystem}`);
      assert.deepEqual(
        all
          .filter((line) => line.includes(`,${ecosystem}/`))
          .map((line) => line.replace(/^.*\//, ""))
          .sort(),
        inside,
        `${who} ${ecosystem}`,
      );
      for (const id of inside) assert.deepEqual(await json(who, `/osv/${ecosystem}/${id}.json`), files.get(`${id}.json`), `${who} ${id}`);
    }
    const listed = objects((await json(who, "/advisory/v2/osv/all.json")).list);
    const [out, left] = [listed.filter(({ leftOut }) => leftOut === undefined), listed.filter(({ leftOut }) => leftOut !== undefined)];
    assert.deepEqual(out.map((each) => text(each, "id")).sort(), names, who);
    // A secdb release is listed for callers who can read it, with the reason for its omission.
    for (const [id, group] of [
      ["v3.20/main", "ours"],
      ["v3.21/main", "theirs"],
    ])
      assert.equal(
        left.some((each) => each.id === id),
        who === group || who === "the operator",
        `${who} ${id}`,
      );
  }
});

test("a list since a time names the later changes that the caller can read", async () => {
  const since = (who: string): Promise<string[]> =>
    json(who, "/advisory/v2/osv/all.json?since=2100-01-01T00:00:00Z").then(({ list }) => objects(list).map((each) => text(each, "id")));
  assert.deepEqual(await since("ours"), []);
  assert.equal((await get("ours", "/advisory/v2/osv/all.json?since=yesterday")).status, 400);
});

test("Go's database leads each caller to its visible Go records, compressed or not", async () => {
  for (const who of callers()) {
    const numbers = [...(await numbersOf(who))].filter((id) => id.startsWith("GO-")).sort();
    const vulns = objects((await json(who, "/osv/go/index/vulns.json")).list);
    assert.deepEqual(vulns.map((each) => text(each, "id")).sort(), numbers, who);
    const modules = objects((await json(who, "/osv/go/index/modules.json")).list);
    assert.deepEqual(JSON.parse(gunzipSync(await bytes(who, "/osv/go/index/modules.json.gz")).toString("utf8")), modules);
    // Like govulncheck: reads the module's entry unless fixed before, then the record.
    const found = new Set<string>();
    for (const entry of modules)
      for (const { id, fixed: end } of objects(entry.vulns)) {
        const file = JSON.parse(gunzipSync(await bytes(who, `/osv/go/ID/${id}.json.gz`)).toString("utf8")) as JsonObject;
        for (const version of ["1.0.0", "1.2.0", "1.4.0"]) {
          const isPassed = typeof end === "string" && satisfies(version, `>=${end}`);
          assert.equal(!isPassed && affects(file, text(entry, "path"), version), affects(file, text(entry, "path"), version), `${who} ${id} ${version}`);
          if (affects(file, text(entry, "path"), version)) found.add(String(id));
        }
      }
    assert.deepEqual([...found].sort(), numbers, who);
    for (const id of ["GO-2025-0001", "GO-2025-0002", "GO-2025-0003", "GO-2025-0004"])
      assert.equal((await get(who, `/osv/go/ID/${id}.json`)).status, numbers.includes(id) ? 200 : 404, `${who} ${id}`);
  }
});

/** Returns the fixes of our packages that the API lists for this caller, by ID; "0" means never affected. */
const fixesOf = async (who: string): Promise<string[]> => {
  const own = objects((await json(who, "/vulnerabilities/v2/advisories?pageSize=200")).advisories).filter((each) =>
    text(each, "advisoryId").startsWith("CGA-"),
  );
  const said = own.map((each) => {
    const event = objects(each.events).at(-1) ?? {};
    const version = event.fixed === undefined ? "0" : text(part(event, "fixed"), "fixedVersion");
    return `${text(each, "artifactName")} ${texts(each, "aliases").join()} ${version}`;
  });
  return [...new Set([...said, "harbour CVE-2025-0001 2-r0", "pier CVE-2025-0002 1-r0"])].filter((each) => !each.includes("CVE-2025-0014")).sort();
};

test("each caller's secdb has the fixes that the API lists, and the list names omissions", async () => {
  const sizes: number[] = [];
  for (const who of callers()) {
    const document = await json(who, "/secdb/os/security.json");
    const concluded = objectList(document, "packages").flatMap((each) => {
      const of = part(each, "pkg");
      return Object.entries(part(of, "secfixes")).flatMap(([version, names]) =>
        (Array.isArray(names) ? names : []).map((name) => `${text(of, "name")} ${String(name)} ${version}`),
      );
    });
    assert.deepEqual(concluded.sort(), await fixesOf(who), who);
    sizes.push(concluded.length);
    const listed = objects((await json(who, "/advisory/v2/secdb/all.json")).list);
    const left = listed.filter(({ leftOut }) => typeof leftOut === "string").map((each) => text(each, "id"));
    assert.equal(left.includes("CGA-oooo-oooo-rrrr"), who === "ours" || who === "the operator", who);
    assert.equal(
      listed.some(({ id, leftOut }) => id === "CGA-tttt-tttt-tttt" && leftOut === undefined),
      who === "theirs" || who === "the operator",
      who,
    );
  }
  assert.deepEqual(sizes, [6, 3, 4, 2, 8]);
});

test("imported secdb releases are listed and readable only for callers who can read their group", async () => {
  const releases: Readonly<Record<string, readonly string[]>> = {
    ours: ["v3.19", "v3.20"],
    theirs: ["v3.19", "v3.21"],
    "the operator": ["v3.19", "v3.20", "v3.21"],
  };
  for (const who of callers()) {
    const seen = releases[who] ?? ["v3.19"];
    const links = [...(await read(who, "/secdb/alpine/")).matchAll(/href="([^"]*)"/g)].map(([, href = ""]) => href);
    assert.deepEqual(
      links,
      seen.map((each) => `${each}/`),
      who,
    );
    for (const each of ["v3.19", "v3.20", "v3.21"])
      for (const path of [
        `/secdb/alpine/${each}/`,
        `/secdb/alpine/${each}/main.json`,
        `/secdb/alpine/${each}/main.yaml`,
        `/advisory/v2/secdb/${each}%2Fmain.json`,
      ])
        assert.equal((await get(who, path)).status, seen.includes(each) ? 200 : 404, `${who} ${path}`);
  }
  assert.deepEqual(await json("ours", "/secdb/alpine/v3.20/main.json"), release("v3.20", "ours"));
});

const statementsOf = (document: JsonObject): string[] =>
  objectList(document, "statements").flatMap((statement) =>
    objectList(statement, "products").map((product) => {
      const [, name = "", version = "0"] = /^pkg:apk\/wolfi\/([^@]+)(?:@(.*))?$/.exec(text(product, "@id")) ?? [];
      assert.equal(text(statement, "status"), version === "0" ? "not_affected" : "fixed");
      return `${name} ${text(part(statement, "vulnerability"), "name")} ${version}`;
    }),
  );

test("each caller's OpenVEX documents, by package and in the repository, state what the API lists", async () => {
  const ids = new Map<string, Set<string>>();
  for (const who of callers()) {
    const fixes = await fixesOf(who);
    const packages = [...new Set(fixes.map((each) => each.split(" ", 1)[0] ?? ""))];
    const concluded: string[] = [];
    for (const name of ["harbour", "pier", "quay", "theirs-alone"]) {
      const response = await get(who, `/advisory/v2/openvex/${name}.json`);
      assert.equal(response.status, packages.includes(name) ? 200 : 404, `${who} ${name}`);
      const body = (await response.json()) as JsonObject;
      if (response.status !== 200) continue;
      checkDocument(world.url, body);
      concluded.push(...statementsOf(body));
      ids.set(text(body, "@id"), (ids.get(text(body, "@id")) ?? new Set()).add(JSON.stringify(body)));
    }
    assert.deepEqual(concluded.sort(), fixes, who);
    const files = untar(await bytes(who, "/vex/vex-repository.tar.gz"));
    const packed = [...files].filter(([name]) => name.startsWith("own/")).flatMap(([, document]) => statementsOf(document));
    assert.deepEqual(packed.sort(), fixes, who);
    const indexed = objectList(files.get("index.json") ?? {}, "packages").map((each) => text(each, "id"));
    const others = ["everybody", "ours", "theirs"].filter((name) => indexed.includes(`pkg:npm/${name}`));
    assert.deepEqual(others, ["everybody", ...["ours", "theirs"].filter((name) => who === name || who === "the operator")], who);
    assert.deepEqual(indexed.filter((id) => id.startsWith("pkg:apk/")).sort(), packages.map((name) => `pkg:apk/wolfi/${name}`).sort(), who);
    const listed = objects((await json(who, "/vex/all.json")).list).filter(({ leftOut }) => leftOut === undefined);
    assert.deepEqual(listed.map((each) => text(each, "id")).sort(), indexed.sort(), who);
    const documents = objects((await json(who, "/advisory/v2/openvex/all.json")).list).filter(
      ({ form, leftOut }) => form === undefined && leftOut === undefined,
    );
    assert.deepEqual(documents.map((each) => text(each, "id")).sort(), packages.sort(), who);
    for (const name of ["ours", "theirs"])
      assert.equal(
        (await get(who, `/advisory/v2/openvex/${encodeURIComponent(`https://vex.example/${name}`)}.json`)).status,
        who === name || who === "the operator" ? 200 : 404,
        `${who} ${name}`,
      );
  }
  // One ID has one document: harbour has one per set of groups, and the public one equals the file without a token.
  for (const [id, documents] of ids) assert.equal(documents.size, 1, id);
  assert.equal([...ids.keys()].filter((id) => id.includes("harbour.json")).length, 5);
  assert(ids.has(text(JSON.parse(await read("", "/advisory/v2/openvex/harbour.json")) as JsonObject, "@id")));
});

const csafTests = [csaf_2_0_strict, ...Object.values(mandatoryTests).filter((each) => typeof each === "function")];

/** Returns the statements of CSAF documents about our own packages, by CVE and package URL. */
const saidOf = (document: JsonObject): string[] =>
  objectList(document, "vulnerabilities").flatMap((vulnerability) =>
    ["fixed", "known_not_affected"].flatMap((status) =>
      texts(part(vulnerability, "product_status"), status).map((product) => {
        const [, name = "", version = "0"] = /^pkg:apk\/wolfi\/([^@]+)(?:@(.*))?$/.exec(product) ?? [];
        return `${name} ${text(vulnerability, "cve")} ${version}`;
      }),
    ),
  );

test("CSAF leads each caller from the provider metadata to the API's statements, in labeled and signed documents with their own IDs", async () => {
  const numbers = new Map<string, string>();
  for (const who of callers()) {
    const metadata = await json(who, "/.well-known/csaf/provider-metadata.json");
    const [rolie = {}] = objectList(metadata, "distributions").map((each) => part(each, "rolie"));
    const [key] = objectList(metadata, "public_openpgp_keys");
    const verificationKeys = await readKey({ armoredKey: await read(who, pathOf(text(key ?? {}, "url"))) });
    const concluded: string[] = [];
    for (const feed of objectList(rolie, "feeds")) {
      const label = text(feed, "tlp_label");
      const folder = pathOf(text(feed, "url")).replace(/[^/]*$/, "");
      const entries = objectList(part(await json(who, pathOf(text(feed, "url"))), "feed"), "entry");
      const listed = await lines(who, `${folder}index.txt`);
      assert.deepEqual(entries.map((each) => pathOf(text(part(each, "content"), "src")).slice(folder.length)).sort(), [...listed].sort(), who);
      assert.deepEqual((await lines(who, `${folder}changes.csv`)).map((line) => line.split('"')[1]).sort(), [...listed].sort(), who);
      for (const path of listed) {
        assert((await read(who, `${folder}${path.split("/", 1)[0]}/`)).includes(`"${path.split("/")[1]}"`), `${who} ${path}`);
        const content = await read(who, folder + path);
        const document = JSON.parse(content) as JsonObject;
        const { isValid, tests: results } = await validate(csafTests, document);
        assert(isValid, `${path}: ${JSON.stringify(results.flatMap(({ errors }) => errors))}`);
        const head = part(document, "document");
        assert.equal(text(part(part(head, "distribution"), "tlp"), "label"), label);
        const [self] = objectList(head, "references");
        assert.equal(pathOf(text(self ?? {}, "url")), folder + path);
        const id = text(part(head, "tracking"), "id");
        assert.equal(path.split("/")[1], `${id.toLowerCase().replace(/[^+\-a-z0-9]+/g, "_")}.json`);
        assert.equal(
          entries.some((each) => text(each, "id") === id),
          true,
          id,
        );
        assert.equal(numbers.get(id) ?? content, content, id);
        numbers.set(id, content);
        for (const algorithm of ["sha256", "sha512"])
          assert.equal((await read(who, `${folder}${path}.${algorithm}`)).split(" ")[0], createHash(algorithm).update(content).digest("hex"));
        const signature = await readSignature({ armoredSignature: await read(who, `${folder}${path}.asc`) });
        const { signatures } = await verify({ message: await createMessage({ binary: Buffer.from(content) }), signature, verificationKeys });
        assert.equal(await signatures[0]?.verified, true, path);
        if (label === "AMBER") assert.equal(await read(who, `/advisory/v2/csaf/${(/\/([a-z-]+)_/.exec(path) ?? [])[1]}.json`), content);
        else assert.equal(await read("", folder + path), content);
        concluded.push(...saidOf(document));
      }
    }
    const expected = (await fixesOf(who)).sort();
    assert.deepEqual([...new Set(concluded)].filter((each) => !each.startsWith("quay CVE-2025-0014") && !each.includes("  ")).sort(), expected, who);
  }
  // Harbour has one public document, and one for each of the four callers who see more.
  assert.deepEqual([...numbers.keys()].filter((id) => id.startsWith("harbour")).length, 5);
  for (const id of numbers.keys()) for (const year of ["2026"]) assert.equal((await get("", `/.well-known/csaf/amber/${year}/${id}.json`)).status, 404);
});

test("a document for one group is absent for another, with its checksum and signature", async () => {
  const [path = ""] = (await lines("theirs", "/.well-known/csaf/amber/index.txt")).filter((each) => each.includes("theirs-alone"));
  for (const ending of ["", ".sha256", ".sha512", ".asc"]) {
    assert.equal((await get("theirs", `/.well-known/csaf/amber/${path}${ending}`)).status, 200);
    for (const who of ["ours", "below", "a puller"]) assert.equal((await get(who, `/.well-known/csaf/amber/${path}${ending}`)).status, 404, who);
  }
  assert.equal((await get("ours", "/advisory/v2/csaf/theirs-alone.json")).status, 404);
});

test("other issuers' documents are served under their labels to callers who can read their group only", async () => {
  const folder = (issuer: string, label: string): string => `/.well-known/csaf-aggregator/${issuer}_example_org/${label}/`;
  for (const who of callers()) {
    const [mine, others] = [who === "ours" || who === "the operator", who === "theirs" || who === "the operator"];
    const { csaf_publishers: publishers } = await json(who, "/.well-known/csaf-aggregator/aggregator.json");
    assert.equal(objects(publishers).length, others ? 3 : 2, who);
    const metadata = await json(who, "/.well-known/csaf-aggregator/yard_example_org/provider-metadata.json");
    const labels = objectList(part(objectList(metadata, "distributions")[0] ?? {}, "rolie"), "feeds").map((each) => text(each, "tlp_label"));
    assert.deepEqual(labels, mine ? ["WHITE", "AMBER"] : ["WHITE"], who);
    assert.deepEqual((await lines(who, `${folder("yard", "white")}index.txt`)).sort(), ["2025/yard-1.json", ...(mine ? ["2025/yard-3.json"] : [])], who);
    if (who === "a puller") assert.equal((await get(who, `${folder("yard", "amber")}index.txt`)).status, 404);
    else assert.deepEqual(await lines(who, `${folder("yard", "amber")}index.txt`), mine ? ["2025/yard-2.json"] : [], who);
    for (const [path, isSeen] of [
      [`${folder("yard", "white")}2025/yard-1.json`, true],
      [`${folder("yard", "amber")}2025/yard-2.json`, mine],
      [`${folder("yard", "amber")}2025/yard-2.json.asc`, mine],
      [`${folder("yard", "white")}2025/yard-3.json`, mine],
      [`${folder("rig", "red")}2025/rig-1.json`, others],
      ["/advisory/v2/csaf/YARD-2.json", mine],
      ["/advisory/v2/csaf/RIG-1.json", others],
    ] as const)
      assert.equal((await get(who, path)).status, isSeen ? 200 : 404, `${who} ${path}`);
    const listed = objects((await json(who, "/advisory/v2/csaf/all.json")).list);
    for (const [id, isSeen] of [
      ["YARD-1", true],
      ["YARD-2", mine],
      ["RIG-1", others],
    ] as const) {
      const entry = listed.find((each) => each.id === id);
      assert.deepEqual([entry !== undefined, entry?.leftOut, entry?.unlisted], [isSeen, undefined, undefined], `${who} ${id}`);
    }
  }
});

test("a withdrawal of a private advisory raises the version of its documents, and changes no public one", async () => {
  const versionOf = async (who: string): Promise<[string, number]> => {
    const [path = ""] = (await lines(who, "/.well-known/csaf/amber/index.txt")).filter((each) => each.includes("harbour"));
    const tracking = part(part(await json(who, `/.well-known/csaf/amber/${path}`), "document"), "tracking");
    return [`${text(tracking, "id")} ${text(tracking, "current_release_date")}`, Number((await json(who, "/advisory/v2/openvex/harbour.json")).version)];
  };
  const [[before_, vexBefore], open] = [await versionOf("theirs"), await openAnswer("/.well-known/csaf/white/2026/harbour.json")];
  world.clock.now += 5000;
  const { records } = told.theirs ?? { records: [] };
  await rm(join(scratch, "theirs"), { recursive: true, force: true });
  await imported(
    theirs,
    "theirs",
    records.filter((each) => text(part(each, "package"), "name") !== "harbour"),
  );
  const [after_, vexAfter] = await versionOf("theirs");
  assert.equal(after_.split(" ")[0], before_.split(" ")[0]);
  assert(after_ > before_ && vexAfter > vexBefore, `${before_} ${after_} ${vexBefore} ${vexAfter}`);
  const [path = ""] = (await lines("theirs", "/.well-known/csaf/amber/index.txt")).filter((each) => each.includes("harbour"));
  assert.deepEqual(saidOf(await json("theirs", `/.well-known/csaf/amber/${path}`)), ["harbour CVE-2025-0001 2-r0"]);
  assert.equal(await openAnswer("/.well-known/csaf/white/2026/harbour.json"), open);
});

test("revoked access removes data from every file on the next request", async () => {
  assert((await lines("below", "/osv/modified_id.csv")).some((line) => line.endsWith("BELOW-1")));
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: belowBinding });
  for (const path of ["/osv/modified_id.csv", "/secdb/os/security.json", "/vex/all.json", "/.well-known/csaf/white/index.txt", "/advisory/v2/osv/all.json"])
    assert(!/BELOW|2025-0021|harbour_/.test(await read("below", path)), path);
  for (const path of ["/osv/npm/BELOW-1.json", "/.well-known/csaf/amber/index.txt"]) assert.equal((await get("below", path)).status, 404, path);
});

test("an unreadable file is absent, an invalid token is refused, a password can be a token, and responses are not cacheable", async () => {
  tokens.set("a forger", "x.y.z");
  for (const path of openPaths.filter((each) => each !== "/osv/v1/query")) {
    assert.equal((await get("a forger", path)).status, 401, path);
    const response = await get("ours", path);
    assert([200, 404].includes(response.status), `${path} ${response.status}`);
    await response.arrayBuffer();
    if (response.status === 404) continue;
    assert.equal(response.headers.get("cache-control"), "private, no-store", path);
    assert.equal(response.headers.get("vary"), "authorization", path);
    assert.deepEqual([response.headers.get("etag"), response.headers.get("last-modified")], [null, null], path);
    const [head, open] = [await get("ours", path, {}, "HEAD"), await get("", path)];
    assert.deepEqual([head.status, await head.text()], [200, ""], path);
    assert.equal(head.headers.get("content-type"), response.headers.get("content-type"), path);
    if (open.status === 200) assert.equal(response.headers.get("content-type"), open.headers.get("content-type"), path);
    await open.arrayBuffer();
  }
  tokens.delete("a forger");
  const named = `Basic ${Buffer.from(`_token:${tokens.get("ours")}`).toString("base64")}`;
  for (const path of ["/osv/npm/OURS-1.json", "/osv/v1/vulns/OURS-1", "/osv/go/ID/GO-2025-0003.json"])
    assert.equal((await fetch(`${world.url}${path}`, { headers: { authorization: named } })).status, 200, path);
  const wrong = `Basic ${Buffer.from("_token:none").toString("base64")}`;
  assert.equal((await fetch(`${world.url}/osv/npm/OURS-1.json`, { headers: { authorization: wrong } })).status, 401);
  // Other operations accept no password.
  assert.equal((await fetch(`${world.url}/vulnerabilities/v2/advisories`, { headers: { authorization: named } })).status, 401);
});
