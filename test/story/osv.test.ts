// OSV for scanners: the API of osv.dev, the archives of its bucket, and the database of Go.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { crc32, gunzipSync } from "node:zlib";
import { fromBufferPromise } from "yauzl";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { asOwner } from "../database.ts";
import { crc32c, googHashOf } from "../../server/advisories/feeds/osv/crc32c.ts";
import { openWorld, type World } from "../world.ts";
import { fixtures, runImport } from "./import.ts";

let world: World;
let scratch: string;
/** Servers of one database share its key. */
const keyOfBoth = (): Record<string, string> => ({ GANTRY_SECRET_KEY_FILE: join(scratch, "secret.key") });

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-osv-"));
  await writeFile(join(scratch, "secret.key"), randomBytes(32).toString("base64"), { mode: 0o600 });
  world = await openWorld(keyOfBoth());
  world.clock.now = Date.parse("2026-02-01T00:00:00Z");
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

type Range = readonly JsonObject[];
const entry = (ecosystem: string, name: string, events: Range, type = "ECOSYSTEM"): JsonObject => ({
  package: { ecosystem, name },
  ranges: [{ type, events: [...events] }],
});
const record = (id: string, affected: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  schema_version: "1.7.0",
  id,
  modified: "2025-01-01T00:00:00.123456Z",
  affected: [...affected],
  ...more,
});

const write = async (name: string, records: readonly JsonObject[]): Promise<string> => {
  const path = join(scratch, name);
  await writeFile(path, records.map((each) => JSON.stringify(each)).join("\n"));
  return path;
};
const imported = async (source: string, options: Parameters<typeof runImport>[3] = {}): Promise<void> => {
  world.clock.now += 60_000;
  const done = await runImport(world, "advisories", [source], { public: true, ...options });
  assert.deepEqual([done.failed, done.refused], [[], []]);
};

const post = (path: string, body: Json | string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${world.url}/osv/v1/${path}`, { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) });
const query = async (body: JsonObject): Promise<JsonObject> => {
  const response = await post("query", body);
  assert.equal(response.status, 200, response.status === 200 ? "" : await response.clone().text());
  return (await response.json()) as JsonObject;
};
const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const idsOf = (answer: JsonObject): string[] => objects(answer.vulns).map(({ id }) => String(id));
const found = async (body: JsonObject): Promise<string> => idsOf(await query(body)).join(" ");
const get = (path: string, headers: Record<string, string> = {}): Promise<Response> => fetch(`${world.url}/osv/${path}`, { headers });

const commit = "a".repeat(40);
const shapes: readonly JsonObject[] = [
  record("PYSEC-1", [entry("PyPI", "Some_Lantern", [{ introduced: "0" }, { fixed: "1.2" }])], { aliases: ["CVE-2025-0001"], details: "it goes out" }),
  record("PYSEC-2", [{ package: { ecosystem: "PyPI", name: "some-lantern" }, versions: ["1.0", "2.0"] }]),
  record("PYSEC-3", [entry("PyPI", "some.lantern", [{ introduced: "0" }])], { withdrawn: "2025-01-02T00:00:00Z" }),
  record("DEB-12", [entry("Debian:12", "lantern", [{ introduced: "0" }, { fixed: "1:1.0-1" }])]),
  record("DEB-13", [entry("Debian:13", "lantern", [{ introduced: "0" }])]),
  record("ALP-1", [{ ...entry("Alpine:v3.20", "lantern", [{ introduced: "0" }]), versions: ["1.0-r0"] }]),
  record("MVN-1", [entry("Maven", "org.example:lantern", [{ introduced: "1" }, { last_affected: "2" }])]),
  record("OSV-GIT", [
    {
      ranges: [{ type: "GIT", repo: "https://github.com/Example/Lantern.git", events: [{ introduced: commit }, { fixed: "b".repeat(40) }] }],
      versions: ["v1.0"],
    },
  ]),
  record("GO-2025-0001", [
    entry("Go", "example.com/lantern", [{ introduced: "0" }, { fixed: "1.2.0" }, { introduced: "2.0.0" }, { fixed: "2.1.0" }], "SEMVER"),
  ]),
  record("GO-2025-0002", [entry("Go", "example.com/lantern", [{ introduced: "1.0.0" }], "SEMVER")]),
  record("GHSA-go", [entry("Go", "example.com/lantern", [{ introduced: "0" }], "SEMVER")]),
  record("UNREADABLE-1", [entry("PyPI", "some-lantern", [{ introduced: "0" }, { fixed: "the next one" }])]),
];

test("a query by package and version finds affecting records by the ecosystem's order, as they were imported", async () => {
  await imported(await write("shapes.jsonl", shapes));
  const lantern = { package: { ecosystem: "PyPI", name: "Some.Lantern" } };
  assert.equal(await found({ ...lantern, version: "1.0.0" }), "PYSEC-1 PYSEC-2");
  assert.equal(await found({ ...lantern, version: "1.2" }), "");
  assert.equal(await found({ ...lantern, version: "2.0" }), "PYSEC-2");
  // Without a version: every record of the package that is not withdrawn.
  assert.equal(await found(lantern), "PYSEC-1 PYSEC-2 UNREADABLE-1");
  assert.equal(await found({ package: { ecosystem: "Maven", name: "org.example:lantern" }, version: "2.0" }), "MVN-1");
  const [whole] = objects((await query({ ...lantern, version: "1.1" })).vulns);
  assert.deepEqual(whole, shapes[0]);
});

test("a query for a release finds its records, and one for an ecosystem without a release those of all releases", async () => {
  const lantern = (ecosystem: string, version = "1.0-r0") => found({ package: { ecosystem, name: "lantern" }, version });
  assert.equal(await lantern("Debian:12", "1.0"), "DEB-12");
  assert.equal(await lantern("Debian:13", "1:1.0-1"), "DEB-13");
  assert.equal(await lantern("Debian", "0.1"), "DEB-12 DEB-13");
  assert.equal(await lantern("Debian", "1:1.0-1"), "DEB-13");
  assert.equal(await lantern("Alpine:v3.20", "7"), "ALP-1");
  assert.equal(await lantern("Alpine", "7"), "ALP-1");
  assert.equal(await lantern("Alpine"), "ALP-1");
  // Without an ecosystem: any package with the name.
  assert.equal(await found({ package: { name: "lantern" }, version: "0.1" }), "ALP-1 DEB-12 DEB-13");
});

test("a package URL finds the package under its OSV name", async () => {
  for (const [purl, ids] of [
    ["pkg:pypi/some-lantern@1.1", "PYSEC-1"],
    ["pkg:pypi/Some_Lantern", "PYSEC-1 PYSEC-2 UNREADABLE-1"],
    ["pkg:maven/org.example/lantern@1.5", "MVN-1"],
    ["pkg:golang/example.com/lantern@v2.0.5", "GHSA-go GO-2025-0001 GO-2025-0002"],
    ["pkg:deb/debian/lantern@0.5?distro=bookworm&arch=source", "DEB-12"],
    ["pkg:deb/debian/lantern@9?distro=debian-13", "DEB-13"],
    ["pkg:apk/alpine/lantern@1.0-r0", "ALP-1"],
    ["pkg:cocoapods/Lantern@1.0", ""],
  ] as const)
    assert.equal(await found({ package: { purl } }), ids, purl);
});

test("a record is found by its commits and by tags of its repository", async () => {
  assert.equal(await found({ commit: commit.toUpperCase() }), "OSV-GIT");
  assert.equal(await found({ commit: "b".repeat(40) }), "");
  assert.equal(await found({ package: { ecosystem: "GIT", name: "https://github.com/example/lantern" }, version: "v1.0" }), "OSV-GIT");
});

test("no result is exactly {}, and a body is read with any content type", async () => {
  const nothing = JSON.stringify({ package: { ecosystem: "npm", name: "none" }, version: "1" });
  assert.equal(await (await post("query", nothing)).text(), "{}");
  for (const type of ["application/json", "text/plain", "application/x-www-form-urlencoded", "application/octet-stream"])
    assert.equal(await (await post("query", nothing, { "content-type": type })).text(), "{}", type);
});

test("a request that OSV's service refuses is refused with the same error", async () => {
  const bare = { ecosystem: "PyPI", name: "x" };
  for (const body of [
    {},
    { commit: "no hash" },
    { package: { purl: "pkg:pypi/x@1", name: "x" } },
    { package: { purl: "pkg:pypi/x@1", ecosystem: "PyPI" } },
    { package: { purl: "pkg:pypi/x@1" }, version: "1" },
    { package: { purl: "x@1" } },
    { package: { ecosystem: "pypi", name: "x" } },
    { package: { ecosystem: "PyPI" }, version: "1" },
    { package: { name: "x" } },
    { package: bare, page_token: "made up" },
    { package: bare, version: 1 },
    { package: "x" },
    { package: { ecosystem: "PyPI", name: "a\0b" } },
    "no JSON",
    "[]",
    "",
  ]) {
    const response = await post("query", body);
    const answer = (await response.json()) as JsonObject;
    assert.deepEqual([response.status, answer.code, Array.isArray(answer.details)], [400, 3, true], JSON.stringify(body));
    assert.equal(typeof answer.message, "string");
  }
  const wrong = await post("querybatch", { queries: [{ package: bare }, { commit: "no hash" }] });
  assert.equal(wrong.status, 400);
  assert.match(text((await wrong.json()) as JsonObject, "message"), /index 1/);
  const many = await post("querybatch", { queries: Array.from({ length: limits.osvQueriesMax + 1 }, () => ({ package: bare })) });
  assert.equal(many.status, 400);
  const large = await post("query", `{"x":"${"x".repeat(limits.osvQuestionBytesMax)}"}`);
  assert.equal(large.status, 413);
});

test("a batch is answered in order, with IDs and times only", async () => {
  const lantern = (version: string): JsonObject => ({ package: { ecosystem: "PyPI", name: "some-lantern" }, version });
  const response = await post("querybatch", { queries: [lantern("2.0"), lantern("9"), lantern("1.0"), { commit }, lantern("2.0")] });
  const both = (...ids: readonly string[]): JsonObject => ({ vulns: ids.map((id) => ({ id, modified: "2025-01-01T00:00:00.123456Z" })) });
  assert.deepEqual(await response.json(), { results: [both("PYSEC-2"), {}, both("PYSEC-1", "PYSEC-2"), both("OSV-GIT"), both("PYSEC-2")] });
  assert.deepEqual(await (await post("querybatch", { queries: [] })).json(), { results: [] });
});

test("a record is read by its ID, even if withdrawn", async () => {
  for (const each of shapes) assert.deepEqual(await (await get(`v1/vulns/${String(each.id)}`)).json(), each);
  const none = await get("v1/vulns/NONE-1");
  assert.deepEqual([none.status, ((await none.json()) as JsonObject).code], [404, 5]);
  assert.equal((await get(`v1/vulns/${"x".repeat(101)}`)).status, 400);
});

test("pages contain each record once, by query and by batch", async () => {
  const count = limits.osvRecordsMax * 2 + 7;
  const many = Array.from({ length: count }, (_, index) =>
    record(`MANY-${index}`, [entry("npm", "many", [{ introduced: "0" }, ...(index % 2 === 0 ? [{ fixed: "1.0.0" }] : [])], "SEMVER")]),
  );
  await imported(await write("many.jsonl", many));
  const pagesOf = async (ask: (token: string) => Promise<JsonObject>): Promise<{ ids: string[]; pages: number }> => {
    const ids: string[] = [];
    let pages = 0;
    for (let token = ""; ; ) {
      const answer = await ask(token);
      ids.push(...idsOf(answer));
      pages++;
      token = text(answer, "next_page_token");
      if (token === "") return { ids, pages };
    }
  };
  const many1 = { package: { ecosystem: "npm", name: "many" } };
  const wanted = many.map(({ id }) => String(id)).sort();
  const single = await pagesOf((page_token) => query({ ...many1, page_token }));
  assert.deepEqual([single.ids.toSorted(), single.pages], [wanted, 3]);
  const batch = await pagesOf(async (page_token) => {
    const answer = (await (
      await post("querybatch", {
        queries: [
          { ...many1, version: "1.0.0", page_token },
          { ...many1, page_token: "" },
        ],
      })
    ).json()) as JsonObject;
    return objects(answer.results)[0] ?? {};
  });
  assert.deepEqual(
    batch.ids.toSorted(),
    many
      .filter((_, index) => index % 2 === 1)
      .map(({ id }) => String(id))
      .sort(),
  );
  assert.equal(batch.pages, 3);
});

test("a private or unlicensed record is in no response; making it public or private takes effect at once", async () => {
  const source = await write("private.jsonl", [record("PRIVATE-1", [entry("npm", "private", [{ introduced: "0" }], "SEMVER")])]);
  const ask = (): Promise<string> => found({ package: { ecosystem: "npm", name: "private" }, version: "1.0.0" });
  await imported(source, { public: undefined });
  assert.equal(await ask(), "");
  await imported(source, { public: true });
  assert.equal(await ask(), "PRIVATE-1");
  await imported(source, { public: false });
  assert.equal(await ask(), "");
  await imported(source, { public: true, license: "CC-BY-NC-ND-4.0" });
  assert.equal(await ask(), "");
  assert.equal((await get("v1/vulns/PRIVATE-1")).status, 404);
});

test("of two sources with one ID only the later modified record is used", async () => {
  const of = (modified: string, affected: readonly JsonObject[]): JsonObject => ({ ...record("BOTH-1", affected), modified });
  await imported(await write("old.jsonl", [of("2025-01-01T00:00:00Z", [entry("npm", "both", [{ introduced: "0" }], "SEMVER")])]));
  await imported(await write("new.jsonl", [of("2025-02-01T00:00:00Z", [entry("npm", "other", [{ introduced: "0" }], "SEMVER")])]));
  assert.equal(await found({ package: { ecosystem: "npm", name: "both" }, version: "1.0.0" }), "");
  assert.equal(await found({ package: { ecosystem: "npm", name: "other" }, version: "1.0.0" }), "BOTH-1");
});

test("our own advisories are found by their distribution's package and equal the published records", async () => {
  await imported(join(fixtures, "harbour.yaml"));
  const answer = await query({ package: { ecosystem: "Wolfi", name: "harbour" } });
  assert(idsOf(answer).length > 0);
  for (const each of objects(answer.vulns)) assert.deepEqual(await (await get(`v1/vulns/${String(each.id)}`)).json(), each);
  const batch = (await (await post("querybatch", { queries: [{ package: { ecosystem: "Wolfi", name: "harbour" } }] })).json()) as JsonObject;
  assert.deepEqual(
    objects(objects(batch.results)[0]?.vulns).map(({ id, modified }) => [id, modified]),
    objects(answer.vulns).map(({ id, modified }) => [id, modified]),
  );
});

test("records imported by the previous version are found by package after their source's next import", async () => {
  const source = await write("before.jsonl", [record("BEFORE-1", [entry("npm", "before", [{ introduced: "0" }], "SEMVER")])]);
  const ask = (): Promise<string> => found({ package: { ecosystem: "npm", name: "before" }, version: "1.0.0" });
  await imported(source);
  assert.equal(await ask(), "BEFORE-1");
  await asOwner(world.databaseUrl, "delete from affected_packages where origin_id = 'BEFORE-1'");
  await asOwner(world.databaseUrl, "update source_documents set ecosystems = null where origin_id = 'BEFORE-1'");
  await asOwner(world.databaseUrl, "update feed_files set digest = ''");
  assert.equal(await ask(), "");
  await imported(source);
  assert.equal(await ask(), "BEFORE-1");
});

// ---- archives and lists ----------------------------------------------------------------------------------------------------

/** Reads an archive with an independent library, which checks checksums. */
const readArchive = async (path: string): Promise<Map<string, string>> => {
  const response = await get(path);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/zip");
  const archive = Buffer.from(await response.arrayBuffer());
  const files = new Map<string, string>();
  const zip = await fromBufferPromise(archive, { decodeStrings: true, validateEntrySizes: true });
  for await (const each of zip.eachEntry()) {
    const pieces: Buffer[] = [];
    for await (const piece of await zip.openReadStreamPromise(each)) pieces.push(piece as Buffer);
    const content = Buffer.concat(pieces);
    assert.equal(crc32(content), each.crc32);
    files.set(each.fileName, content.toString("utf8"));
  }
  return files;
};

test("an archive has every published record of its ecosystem that is not withdrawn, unchanged, and no other", async () => {
  const ofEcosystem = (ecosystem: string): Map<string, JsonObject> =>
    new Map(
      shapes
        .filter(({ affected, withdrawn }) => withdrawn === undefined && JSON.stringify(affected).includes(`"ecosystem":"${ecosystem}`))
        .map((each) => [`${String(each.id)}.json`, each]),
    );
  for (const ecosystem of ["PyPI", "Debian", "Alpine", "Maven", "Go"]) {
    const files = await readArchive(`${ecosystem}/all.zip`);
    const read = new Map([...files].map(([name, content]): [string, JsonObject] => [name, JSON.parse(content) as JsonObject]));
    assert.deepEqual(new Map([...read].sort()), new Map([...ofEcosystem(ecosystem)].sort()), ecosystem);
  }
  assert.deepEqual([...(await readArchive("GIT/all.zip")).keys()], ["OSV-GIT.json"]);
  assert.deepEqual([...(await readArchive("Rocky%20Linux/all.zip")).keys()], []);
  assert((await readArchive("Wolfi/all.zip")).size > 0);
  assert.equal((await readArchive("npm/all.zip")).size, limits.osvRecordsMax * 2 + 7 + 2);
  const all = await readArchive("all.zip");
  for (const { id, withdrawn } of shapes) assert.equal(all.has(`${String(id)}.json`), withdrawn === undefined, String(id));
  assert(!all.has("PRIVATE-1.json"));
  for (const path of ["pypi/all.zip", "Debian:12/all.zip", "None/all.zip"]) assert.equal((await get(path)).status, 404, path);
});

test("the archive has RustSec's records as published under their ID", async () => {
  await imported(join(fixtures, "rustsec.md"));
  const files = await readArchive("crates.io/all.zip");
  assert(files.size > 0);
  for (const [name, content] of files) assert.equal(content, await (await get(`crates.io/${name}`)).text());
});

test("change lists have every record, last modified first", async () => {
  const lines = (await (await get("PyPI/modified_id.csv")).text()).split("\n");
  assert.deepEqual(lines.pop(), "");
  assert.deepEqual(lines.map((line) => line.split(",")[1]).sort(), ["PYSEC-1", "PYSEC-2", "PYSEC-3", "UNREADABLE-1"]);
  const all = (await (await get("modified_id.csv")).text()).trim().split("\n");
  const times = all.map((line) => Date.parse(line.split(",")[0] ?? ""));
  assert.deepEqual(
    times,
    times.toSorted((one, other) => other - one),
  );
  const names = new Set(all.map((line) => line.split(",")[1]));
  for (const each of ["npm/MANY-1", "npm/BOTH-1", "Debian/DEB-12", "GIT/OSV-GIT"]) assert(names.has(each), each);
  assert.equal(names.size, all.length);
  assert(all.some((line) => line.includes(",Wolfi/")));
  const ecosystems = (await (await get("ecosystems.txt")).text()).trim().split("\n");
  assert.deepEqual(ecosystems, ["Alpine", "Debian", "GIT", "Go", "Maven", "PyPI", "Wolfi", "crates.io", "npm"]);
});

test("a known archive is not sent again, and HEAD equals GET without a body", async () => {
  const first = await get("PyPI/all.zip");
  await first.arrayBuffer();
  const etag = first.headers.get("etag") ?? "";
  assert.equal((await get("PyPI/all.zip", { "if-none-match": etag })).status, 304);
  const head = await fetch(`${world.url}/osv/PyPI/all.zip`, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("etag"), (await head.arrayBuffer()).byteLength], [200, etag, 0]);
  // Clients of an archive compare its CRC-32C, even if it was not requested since its change.
  for (const path of ["PyPI/all.zip", "npm/all.zip", "all.zip"]) {
    const hash = (await fetch(`${world.url}/osv/${path}`, { method: "HEAD" })).headers.get("x-goog-hash");
    const archive = await get(path);
    assert.equal(hash, googHashOf(crc32c(Buffer.from(await archive.arrayBuffer()))), path);
    assert.equal(archive.headers.get("x-goog-hash"), hash, path);
  }
  assert.equal((await get("PyPI/PYSEC-1.json")).status, 200);
  assert.equal((await get("npm/PYSEC-1.json")).status, 404);
});

const archiveOf = async (path: string, headers: Record<string, string> = {}): Promise<{ status: number; headers: Headers; bytes: Buffer }> => {
  const response = await get(path, headers);
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
};

test("the ETag of an archive changes exactly if its content changes", async () => {
  const [before, other] = [await archiveOf("Hex/all.zip"), await archiveOf("Maven/all.zip")];
  await imported(await write("hex.jsonl", [record("HEX-1", [entry("Hex", "lantern", [{ introduced: "0" }])])]));
  const made = await archiveOf("Hex/all.zip", { "if-none-match": before.headers.get("etag") ?? "" });
  assert.equal(made.status, 200);
  assert.match(made.headers.get("etag") ?? "", /^"/);
  assert.equal(made.headers.get("content-length"), String(made.bytes.length));
  // The state of all records has changed, but not this archive.
  const same = await archiveOf("Maven/all.zip", { "if-none-match": other.headers.get("etag") ?? "" });
  assert.equal(same.status, 304);
  assert.equal((await archiveOf("Maven/all.zip")).headers.get("last-modified"), other.headers.get("last-modified"));
  await imported(await write("hex.jsonl", [record("HEX-1", [entry("Hex", "lantern", [{ introduced: "0" }])], { summary: "it goes out" })]));
  const changed = await archiveOf("Hex/all.zip", { "if-none-match": made.headers.get("etag") ?? "" });
  assert.equal(changed.status, 200);
  assert.notEqual(changed.headers.get("etag"), made.headers.get("etag"));
  assert(!changed.bytes.equals(made.bytes));
  assert(Date.parse(changed.headers.get("last-modified") ?? "") > Date.parse(made.headers.get("last-modified") ?? ""));
  const dated = await archiveOf("Hex/all.zip", { "if-modified-since": changed.headers.get("last-modified") ?? "" });
  assert.equal(dated.status, 304);
});

test("a requested archive never contains a record that is no longer public, and is rebuilt if necessary", async () => {
  const source = await write("secret.jsonl", [record("HEX-2", [entry("Hex", "lamp", [{ introduced: "0" }])])]);
  await imported(source);
  assert((await readArchive("Hex/all.zip")).has("HEX-2.json"));
  await imported(source, { public: false });
  assert(!(await readArchive("Hex/all.zip")).has("HEX-2.json"));
  // As an import in another transaction would.
  await imported(source);
  assert((await readArchive("Hex/all.zip")).has("HEX-2.json"));
  await asOwner(world.databaseUrl, "update source_documents set public = false where origin_id = 'HEX-2'");
  assert(!(await readArchive("Hex/all.zip")).has("HEX-2.json"));
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "gone" } }), "uid");
  await imported(await write("gone.jsonl", [record("HEX-3", [entry("Hex", "lamp", [{ introduced: "0" }])])]), { group });
  assert((await readArchive("Hex/all.zip")).has("HEX-3.json"));
  await world.ok("iam.GroupsService/DeleteGroup", { uid: group });
  assert(!(await readArchive("Hex/all.zip")).has("HEX-3.json"));
});

test("two servers on one database send the same archive with the same ETag", async () => {
  const second = await openWorld({ ...keyOfBoth(), DATABASE_URL: world.databaseUrl });
  try {
    for (const path of ["Maven/all.zip", "Wolfi/all.zip"]) {
      const [ours, theirs] = [await archiveOf(path), await fetch(`${second.url}/osv/${path}`)];
      assert.equal(theirs.headers.get("etag"), ours.headers.get("etag"), path);
      assert(ours.bytes.equals(Buffer.from(await theirs.arrayBuffer())), path);
    }
  } finally {
    await second.close();
  }
});

test("a range request returns these bytes of the requested version of the archive", async () => {
  const whole = await archiveOf("PyPI/all.zip");
  const size = whole.bytes.length;
  const etag = whole.headers.get("etag") ?? "";
  for (const [range, start, end] of [
    ["bytes=0-9", 0, 10],
    ["bytes=10-", 10, size],
    ["bytes=-5", size - 5, size],
    [`bytes=5-${size * 2}`, 5, size],
  ] as const) {
    const part = await archiveOf("PyPI/all.zip", { range, "if-range": etag });
    assert.deepEqual([part.status, part.headers.get("content-range"), part.headers.get("etag")], [206, `bytes ${start}-${end - 1}/${size}`, etag], range);
    assert(part.bytes.equals(whole.bytes.subarray(start, end)), range);
  }
  const behind = await archiveOf("PyPI/all.zip", { range: `bytes=${size}-` });
  assert.deepEqual([behind.status, behind.headers.get("content-range")], [416, `bytes */${size}`]);
  for (const headers of [{ range: "bytes=0-9", "if-range": '"another"' }, { range: "bytes=0-1,4-5" }, { range: "bytes=9-1" }, { range: "lines=1-2" }])
    assert.equal((await archiveOf("PyPI/all.zip", headers)).bytes.length, size, JSON.stringify(headers));
});

test("Go's database has three indexes and a file for each Go record, compressed as govulncheck requests them", async () => {
  const unpacked = async (path: string): Promise<Json> => {
    const response = await get(`go/${path}`);
    assert.equal(response.status, 200, path);
    const packed = Buffer.from(await response.arrayBuffer());
    const content = path.endsWith(".gz") ? gunzipSync(packed) : packed;
    return JSON.parse(content.toString("utf8")) as Json;
  };
  assert.equal((await fetch(`${world.url}/osv/go/index/modules.json.gz`, { method: "HEAD" })).status, 200);
  const modified = "2025-01-01T00:00:00.123456Z";
  for (const end of ["json", "json.gz"]) {
    assert.deepEqual(await unpacked(`index/db.${end}`), { modified });
    // An open range has no fixed version at which a reader may skip it.
    const vulns = [
      { id: "GO-2025-0001", modified, fixed: "2.1.0" },
      { id: "GO-2025-0002", modified },
    ];
    assert.deepEqual(await unpacked(`index/modules.${end}`), [{ path: "example.com/lantern", vulns }]);
    assert.deepEqual(await unpacked(`index/vulns.${end}`), [
      { id: "GO-2025-0001", modified },
      { id: "GO-2025-0002", modified },
    ]);
    // govulncheck fails on a record without an address.
    assert.deepEqual(await unpacked(`ID/GO-2025-0001.${end}`), {
      ...shapes.find(({ id }) => id === "GO-2025-0001"),
      database_specific: { url: `${world.url}/osv/go/ID/GO-2025-0001.json` },
    });
  }
  const address = "https://pkg.go.dev/vuln/GO-2025-0003";
  const addressed = { ...record("GO-2025-0003", [entry("Go", "example.com/wick", [{ introduced: "0" }], "SEMVER")]), database_specific: { url: address } };
  await imported(await write("addressed.jsonl", [addressed]));
  assert.equal(await (await get("go/ID/GO-2025-0003.json")).text(), JSON.stringify(addressed));
  assert.equal((await get("go/ID/GHSA-go.json")).status, 404);
  await imported(
    await write("go.jsonl", [
      { ...record("GO-2026-0001", [entry("Go", "example.com/wick", [{ introduced: "0" }], "SEMVER")]), modified: "2026-01-01T00:00:00Z" },
    ]),
  );
  assert.deepEqual(await unpacked("index/db.json"), { modified: "2026-01-01T00:00:00Z" });
});

test("a change list is sent again after every change of its records, even after two in one millisecond", async () => {
  const lists = ["Go/modified_id.csv", "modified_id.csv", "../advisory/v2/osv/all.json"];
  const readList = async (path: string, known = ""): Promise<{ status: number; etag: string; content: string }> => {
    const response = await get(path, known === "" ? {} : { "if-none-match": known });
    return { status: response.status, etag: response.headers.get("etag") ?? "", content: await response.text() };
  };
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "lists" } }), "uid");
  const flame = (modified: string): JsonObject => ({
    ...record("GO-2026-0077", [entry("Go", "example.com/flame", [{ introduced: "0" }], "SEMVER")]),
    modified,
  });
  const source = await write("flame.jsonl", [flame("2026-01-05T00:00:00Z")]);
  await imported(source, { group });
  const before = new Map<string, Awaited<ReturnType<typeof readList>>>();
  for (const path of lists) before.set(path, await readList(path));
  const goBefore = await (await get("go/index/db.json")).text();
  // The clock and the number of records stay the same.
  await write("flame.jsonl", [flame("2026-01-06T00:00:00Z")]);
  const done = await runImport(world, "advisories", [source], { public: true, group });
  assert.equal(done.changed, 1);
  for (const path of lists) {
    const { etag = "" } = before.get(path) ?? {};
    const changed = await readList(path, etag);
    assert.deepEqual([changed.status, changed.etag === etag], [200, false], path);
    assert.equal((await readList(path, changed.etag)).status, 304, path);
    before.set(path, changed);
  }
  assert.notEqual(await (await get("go/index/db.json")).text(), goBefore);
  // Records deleted with their group are in no list, and the ETags change.
  await world.ok("iam.GroupsService/DeleteGroup", { uid: group });
  for (const path of lists) {
    const gone = await readList(path, before.get(path)?.etag);
    assert.deepEqual([gone.status, gone.content.includes("GO-2026-0077")], [200, false], path);
  }
});
