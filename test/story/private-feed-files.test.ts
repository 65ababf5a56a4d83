// The files that scanners and builders of their databases fetch, with a token: whoever reads them concludes what the API's
// list says for the same caller. Without a token they are, byte by byte, what they were before anything private came.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { satisfies } from "semver";
import { fromBufferPromise } from "yauzl";
import { isObject, type Json, type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { openWorld, type World } from "../world.ts";
import { runImport } from "./import.ts";
import { bind, createIdentity } from "./installation.ts";

let world: World;
let scratch: string;
/** Tokens by who has them; "" is nobody's. */
const tokens = new Map<string, string>();
/** What open files were before anything private was there. */
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

interface Told {
  readonly records: readonly JsonObject[];
  readonly isPublic?: boolean;
}
/** What each group tells, under a name of its own. */
const told: Readonly<Record<string, Told>> = {
  public: {
    isPublic: true,
    records: [
      lantern("PUB-1", "0", "1.1.0"),
      lantern("BOTH-1", "0", "1.2.0"),
      record("GO-2025-0001", [semantic("Go", "example.com/lantern", { introduced: "0" }, { fixed: "1.1.0" })]),
      fixed("harbour", "CGA-pppp-pppp-pppp", "CVE-2025-0001", "2-r0"),
      fixed("pier", "CGA-pppp-pppp-qqqq", "CVE-2025-0002", "1-r0"),
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
    ],
  },
};

const imported = async (group: string, name: string, records: readonly JsonObject[], isPublic?: boolean): Promise<void> => {
  const path = join(scratch, `${name}.jsonl`);
  await writeFile(path, records.map((each) => JSON.stringify(each)).join("\n"));
  const done = await runImport(world, "advisories", [path], { group, public: isPublic, author: "Wolfi" });
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
const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Files that everybody may read. */
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
  "/osv/v1/query",
  "/osv/nowhere/all.zip",
  "/osv/go/nowhere/db.json",
];

/** Status, headers that say what it is, and bytes. */
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
  const theirs = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "rival" } })).uid);
  const below = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "team" } })).uid);
  const places = { ours: world.organization, below, theirs };
  tokens.set("", "");
  for (const [name, place] of Object.entries(places)) {
    const identity = await createIdentity(world, place, name, { issuer: "https://issuer.example.com", subject: name });
    await bind(world, place, identity, "viewer");
    tokens.set(name, await world.token(identity));
  }
  const without = await createIdentity(world, world.organization, "without", { issuer: "https://issuer.example.com", subject: "without" });
  await bind(world, world.organization, without, "registry.pull");
  tokens.set("a puller", await world.token(without));
  tokens.set("the operator", await world.token());
  await imported(theirs, "public", told.public?.records ?? [], true);
  for (const path of openPaths) openBefore.set(path, await openAnswer(path));
  for (const [name, place] of Object.entries(places)) await imported(place, name, told[name]?.records ?? []);
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

const callers = (): string[] => [...tokens.keys()].filter((who) => who !== "");

/** The numbers that the API's own list has for this caller, and what is public. */
const numbersOf = async (who: string): Promise<Set<string>> => {
  const { advisories } = await json(who, "/vulnerabilities/v2/advisories?pageSize=200");
  return new Set(["PUB-1", "BOTH-1", "GO-2025-0001", "CGA-pppp-pppp-pppp", "CGA-pppp-pppp-qqqq", ...objects(advisories).map((each) => text(each, "advisoryId"))]);
};

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

test("open files are byte by byte what they were before anything private came, for whoever shows no token", async () => {
  for (const path of openPaths) assert.equal(await openAnswer(path), openBefore.get(path), path);
  assert.equal([...openBefore.values()].filter((answer) => answer.startsWith("[200")).length, openPaths.length - 5);
});

test("the archive of everything holds for each caller the records that the API lists, in the words of the record by its number", async () => {
  const sizes: number[] = [];
  for (const who of callers()) {
    const numbers = await numbersOf(who);
    const files = await unzip(await bytes(who, "/osv/all.zip"));
    assert.deepEqual([...files.keys()].sort(), [...numbers].map((id) => `${id}.json`).sort(), who);
    for (const id of numbers) assert.deepEqual(files.get(`${id}.json`), await json(who, `/osv/v1/vulns/${id}`), `${who} ${id}`);
    sizes.push(files.size);
  }
  // It is not the same for all: that is what was compared.
  assert.deepEqual(sizes, [14, 7, 10, 5, 18]);
});

/** Whether a record says so of a version, by other code than the server's. */
const affects = (of: JsonObject, name: string, version: string): boolean =>
  objectList(of, "affected")
    .filter((entry) => text(part(entry, "package"), "name") === name)
    .flatMap((entry) => objectList(entry, "ranges"))
    .some((range) => {
      const events = objectList(range, "events");
      const [from, to] = ["introduced", "fixed"].map((kind) => events.map((event) => text(event, kind)).find((bound) => bound !== ""));
      return satisfies(version, `>=${from === undefined || from === "0" ? "0.0.0" : from}${to === undefined ? "" : ` <${to}`}`);
    });

test("an ecosystem's archive leads to the verdicts of the query, for each caller and every version at and beside a bound", async () => {
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

test("lists of what has changed, of ecosystems and of everything name for each caller what the archives hold", async () => {
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
    const listed = objects((await json(who, "/advisory/v2/osv/all.json")).list).map((each) => text(each, "id"));
    assert.deepEqual(listed.sort(), names, who);
  }
});

test("a list since a time names what changed behind it, for whom it is there", async () => {
  const since = (who: string): Promise<string[]> =>
    json(who, "/advisory/v2/osv/all.json?since=2100-01-01T00:00:00Z").then(({ list }) => objects(list).map((each) => text(each, "id")));
  assert.deepEqual(await since("ours"), []);
  assert.equal((await get("ours", "/advisory/v2/osv/all.json?since=yesterday")).status, 400);
});

test("Go's database leads each caller to what it sees of Go's records, packed or not", async () => {
  for (const who of callers()) {
    const numbers = [...(await numbersOf(who))].filter((id) => id.startsWith("GO-")).sort();
    const vulns = objects((await json(who, "/osv/go/index/vulns.json")).list);
    assert.deepEqual(vulns.map((each) => text(each, "id")).sort(), numbers, who);
    const modules = objects((await json(who, "/osv/go/index/modules.json")).list);
    assert.deepEqual(JSON.parse(gunzipSync(await bytes(who, "/osv/go/index/modules.json.gz")).toString("utf8")), modules);
    // As govulncheck does: by the module's entry, as far as it is not fixed before, and then by the record.
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

test("a file of nobody's is absent, a token that is none is refused, a password is a token, and nothing is kept", async () => {
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
  // Elsewhere a password is none.
  assert.equal((await fetch(`${world.url}/vulnerabilities/v2/advisories`, { headers: { authorization: named } })).status, 401);
});
