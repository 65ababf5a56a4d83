// Withdrawn records in all outputs: absent from scanner responses and archives, readable by ID with a header, in change lists, and with a pointer to
// the replacement (decision 0073).

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fromBufferPromise } from "yauzl";
import { isObject, type Json, type JsonObject, objectList, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { undoImport } from "#advisories/feeds";
import { asOwner } from "../database.ts";
import { openWorld, type World } from "../world.ts";
import { readAll, runImport } from "./import.ts";

let world: World;
let scratch: string;
before(async () => {
  world = await openWorld();
  world.clock.now = Date.parse("2026-03-01T00:00:00Z");
  scratch = await mkdtemp(join(tmpdir(), "gantry-withdrawals-"));
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

const record = (id: string, name: string, more: JsonObject = {}): JsonObject => ({
  schema_version: "1.7.0",
  id,
  modified: "2026-01-01T00:00:00Z",
  affected: [{ package: { ecosystem: "Go", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed: "3.0.0" }] }] }],
  ...more,
});

const write = async (name: string, content: unknown): Promise<string> => {
  const path = join(scratch, name);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, JSON.stringify(content));
  return path;
};

const imported = async (source: string, options: Parameters<typeof runImport>[3] = {}) => {
  world.clock.now += 60_000;
  const done = await runImport(world, "advisories", [source], { public: true, ...options });
  assert.deepEqual([done.failed, done.refused], [[], []]);
  return done;
};

const get = (path: string): Promise<Response> => fetch(`${world.url}${path}`);
const found = async (name: string): Promise<string> => {
  const body = JSON.stringify({ package: { ecosystem: "Go", name }, version: "1.0.0" });
  const answer = (await (await fetch(`${world.url}/osv/v1/query`, { method: "POST", body })).json()) as JsonObject;
  return objectList(answer, "vulns")
    .map((each) => text(each, "id"))
    .join(" ");
};
const archive = async (path: string): Promise<string[]> => {
  const zip = await fromBufferPromise(Buffer.from(await (await get(path)).arrayBuffer()));
  const names: string[] = [];
  for await (const each of zip.eachEntry()) names.push(each.fileName);
  return names.sort();
};
const entries = async (query = ""): Promise<Map<string, JsonObject>> => {
  const all = (await (await get(`/advisory/v2/osv/all.json${query}`)).json()) as Json;
  return new Map((Array.isArray(all) ? all.filter(isObject) : []).map((each) => [text(each, "id"), each]));
};
const advisoriesOf = (ids: readonly string[], protocol: "rest" | "grpc" = "rest"): Promise<JsonObject[]> =>
  readAll(world, "chainguard.platform.vulnerabilities.v2.AdvisoriesService/ListAdvisories", "advisories", { advisoryIds: [...ids] }, protocol);

test("a withdrawn record is in no scanner response or archive, and is readable by ID as imported, with its withdrawal time", async () => {
  const [kept, gone] = [record("GO-2026-1000", "example.com/keel"), record("GO-2026-1001", "example.com/keel")];
  const source = await write("plain.json", [kept, gone]);
  await imported(source);
  const paths = [
    "/osv/Go/GO-2026-1001.json",
    "/osv/v1/vulns/GO-2026-1001",
    "/osv/go/ID/GO-2026-1001.json",
    "/osv/go/ID/GO-2026-1001.json.gz",
    "/advisory/v2/osv/GO-2026-1001.json",
  ];
  const before = new Map<string, string>();
  for (const path of paths) {
    const response = await get(path);
    assert.equal(response.headers.get("gantry-withdrawn"), null, path);
    before.set(path, Buffer.from(await response.arrayBuffer()).toString("base64"));
  }
  const etag = (await get(paths[0] ?? "")).headers.get("etag") ?? "";
  assert.equal(await found("example.com/keel"), "GO-2026-1000 GO-2026-1001");
  const since = timestamp(world.clock.now);
  const { modified: database } = (await (await get("/osv/go/index/db.json")).json()) as JsonObject;

  await write("plain.json", [kept]);
  await imported(source);
  const time = timestamp(world.clock.now);
  assert.equal(await found("example.com/keel"), "GO-2026-1000");
  for (const path of ["/osv/Go/all.zip", "/osv/all.zip"]) assert.equal((await archive(path)).includes("GO-2026-1001.json"), false, path);
  assert.doesNotMatch(await (await get("/osv/go/index/modules.json")).text(), /GO-2026-1001/);
  assert.doesNotMatch(await (await get("/osv/go/index/vulns.json")).text(), /GO-2026-1001/);
  // Clients that compare times notice the change.
  assert.equal(((await (await get("/osv/go/index/db.json")).json()) as JsonObject).modified, time);
  assert.notEqual(database, time);
  for (const path of paths) {
    const response = await get(path);
    assert.deepEqual([response.status, response.headers.get("gantry-withdrawn")], [200, time], path);
    assert.equal(Buffer.from(await response.arrayBuffer()).toString("base64"), before.get(path), path);
  }
  assert.equal((await fetch(`${world.url}${paths[0] ?? ""}`, { headers: { "if-none-match": etag } })).status, 200);
  const [first] = (await (await get("/osv/Go/modified_id.csv")).text()).split("\n");
  assert.equal(first, `${time},GO-2026-1001`);
  assert.match(await (await get("/osv/modified_id.csv")).text(), new RegExp(`^${time},Go/GO-2026-1001$`, "m"));
  const entry = (await entries(`?since=${since}`)).get("GO-2026-1001");
  assert.deepEqual([entry?.withdrawnTime, entry?.noLongerTold, entry?.withdrawnBy], [time, true, undefined]);
  for (const protocol of ["rest", "grpc"] as const) {
    const [advisory] = await advisoriesOf(["GO-2026-1001"], protocol);
    const times = [text(advisory ?? {}, "withdrawnTime"), text(advisory ?? {}, "deleteTime")].map((each) => timestamp(Date.parse(each)));
    assert.deepEqual([...times, advisory?.withdrawnBy], [time, time, undefined], protocol);
    assert.equal((await advisoriesOf(["GO-2026-1000"], protocol))[0]?.withdrawnTime, undefined);
  }
  const headers = { authorization: `Bearer ${await world.token()}` };
  for (const path of ["/osv/Go/GO-2026-1001.json", "/osv/v1/vulns/GO-2026-1001", "/advisory/v2/osv/GO-2026-1001.json"])
    assert.equal((await fetch(`${world.url}${path}`, { headers })).headers.get("gantry-withdrawn"), time, path);

  await write("plain.json", [kept, gone]);
  await imported(source);
  assert.equal(await found("example.com/keel"), "GO-2026-1000 GO-2026-1001");
  assert.equal((await get("/osv/Go/GO-2026-1001.json")).headers.get("gantry-withdrawn"), null);
  assert.equal((await archive("/osv/Go/all.zip")).includes("GO-2026-1001.json"), true);
  assert.equal((await entries()).get("GO-2026-1001")?.withdrawnTime, undefined);
  assert.equal((await advisoriesOf(["GO-2026-1001"]))[0]?.withdrawnTime, undefined);
});

test("a record withdrawn by its origin is withdrawn here since that time, in each output", async () => {
  const source = await write("origin.json", [record("GO-2026-1100", "example.com/bow", { withdrawn: "2026-01-15T00:00:00Z" })]);
  await imported(source);
  const time = "2026-01-15T00:00:00.000Z";
  assert.equal(await found("example.com/bow"), "");
  assert.equal((await archive("/osv/Go/all.zip")).includes("GO-2026-1100.json"), false);
  assert.equal((await get("/osv/Go/GO-2026-1100.json")).headers.get("gantry-withdrawn"), time);
  assert.match(await (await get("/osv/Go/modified_id.csv")).text(), /GO-2026-1100/);
  const entry = (await entries()).get("GO-2026-1100");
  assert.deepEqual([entry?.withdrawnTime, entry?.noLongerTold], [time, undefined]);
  assert.equal((await advisoriesOf(["GO-2026-1100"]))[0]?.withdrawnTime, time);
});

test("a record under a new ID replaces the old one, which names it; renaming back leaves one record", async () => {
  for (const [name, make] of [
    // The only document of a file, about the same package.
    ["place", (id: string) => record(id, "example.com/place")],
    // A list in which the new record has the old ID as alias.
    ["alias", (id: string, old: string) => [record(id, "example.com/alias", { aliases: [old] }), record("GO-2026-1999", "example.com/other")]],
    // A list in which both share a CVE and a package.
    ["shared", (id: string) => [record(id, "example.com/shared", { aliases: ["CVE-2026-7"] }), record("GO-2026-1998", "example.com/other")]],
  ] as const) {
    const [one, two] = [`GO-${name}-1`, `GO-${name}-2`];
    const source = await write(`${name}.json`, make(one, "CVE-2026-1"));
    await imported(source);
    await write(`${name}.json`, make(two, one));
    await imported(source);
    const time = timestamp(world.clock.now);
    assert.equal(await found(`example.com/${name}`), two, name);
    const entry = (await entries()).get(one);
    assert.deepEqual([entry?.withdrawnTime, entry?.withdrawnBy], [time, two], name);
    const [advisory] = await advisoriesOf([one]);
    assert.deepEqual([advisory?.withdrawnTime, advisory?.withdrawnBy], [time, two], name);
    assert.equal((await entries()).get(two)?.withdrawnBy, undefined);

    await write(`${name}.json`, make(one, two));
    await imported(source);
    assert.equal(await found(`example.com/${name}`), one, name);
    assert.deepEqual([(await entries()).get(one)?.withdrawnTime, (await entries()).get(two)?.withdrawnBy], [undefined, one], name);
    assert.equal((await advisoriesOf([one]))[0]?.withdrawnBy, undefined);
    assert.equal((await advisoriesOf([two]))[0]?.withdrawnBy, one);
    const listed = await archive("/osv/Go/all.zip");
    assert.deepEqual(
      listed.filter((each) => each.startsWith(`GO-${name}-`)),
      [`${one}.json`],
    );
  }
});

test("a rename that is held back and reverted leaves no pointer", async () => {
  const make = (suffix: string): JsonObject[] =>
    Array.from({ length: 8 }, (_, index) => record(`GO-2026-17${index}${suffix}`, `example.com/back${index}`, { aliases: [`CVE-2026-17${index}`] }));
  const source = await write("back.json", make("0"));
  await imported(source);
  await write("back.json", make("1"));
  assert.equal((await imported(source)).held.length, 1);
  assert.equal(await found("example.com/back0"), "GO-2026-1700 GO-2026-1701");
  await write("back.json", make("0"));
  await imported(source, { allowWithdrawals: true });
  assert.equal(await found("example.com/back0"), "GO-2026-1700");
  await write("back.json", make("0").slice(1));
  await imported(source);
  const entry = (await entries()).get("GO-2026-1700");
  assert.deepEqual([typeof entry?.withdrawnTime, entry?.withdrawnBy], ["string", undefined]);
});

test("our own record under a new ID in its package's document replaces the old one", async () => {
  const make = (id: string): JsonObject => ({
    "schema-version": "2.0.2",
    package: { name: "lighthouse" },
    advisories: [
      { id, aliases: ["CVE-2026-20"], events: [{ timestamp: "2026-01-01T00:00:00Z", type: "fixed", data: { "fixed-version": "1.0-r0" } }] },
      {
        id: "CGA-6666-6666-6666",
        aliases: ["CVE-2026-21"],
        events: [{ timestamp: "2026-01-01T00:00:00Z", type: "fixed", data: { "fixed-version": "2.0-r0" } }],
      },
    ],
  });
  const source = await write("lighthouse.json", make("CGA-4444-4444-4444"));
  await imported(source);
  await write("lighthouse.json", make("CGA-5555-5555-5555"));
  await imported(source);
  const time = timestamp(world.clock.now);
  const entry = (await entries()).get("CGA-4444-4444-4444");
  assert.deepEqual([entry?.withdrawnTime, entry?.withdrawnBy], [time, "CGA-5555-5555-5555"]);
  const [advisory] = await advisoriesOf(["CGA-4444-4444-4444"]);
  assert.deepEqual([advisory?.withdrawnTime, advisory?.withdrawnBy], [time, "CGA-5555-5555-5555"]);
  assert.equal((await get("/osv/Wolfi/CGA-4444-4444-4444.json")).headers.get("gantry-withdrawn"), time);
  assert.deepEqual(await archive("/osv/Wolfi/all.zip"), ["CGA-5555-5555-5555.json", "CGA-6666-6666-6666.json"]);
});

test("a withdrawn vulnerability record is marked when read by ID, and names its replacement", async () => {
  const source = await write("vulnerabilities.json", record("GO-2026-1300", "example.com/hull"));
  const run = async () => {
    world.clock.now += 60_000;
    await runImport(world, "vulnerabilities", [source], { public: true });
  };
  await run();
  await write("vulnerabilities.json", record("GO-2026-1301", "example.com/hull", { aliases: ["GO-2026-1300"] }));
  await run();
  const list = "advisory.SecurityAdvisoryService/ListVulnerabilityMetadata";
  const { vulnerabilityMetadata } = await world.ok(list, { ids: ["GO-2026-1300", "GO-2026-1301"], orderBy: "id" });
  const shown = (Array.isArray(vulnerabilityMetadata) ? vulnerabilityMetadata.filter(isObject) : []).map((each) => [
    each.id,
    each.withdrawnTime,
    each.withdrawnBy,
  ]);
  assert.deepEqual(shown, [
    ["GO-2026-1300", timestamp(world.clock.now), "GO-2026-1301"],
    ["GO-2026-1301", undefined, undefined],
  ]);
});

test("a pointer to a private record, or from a source that did not publish the old one, is not public (attack 297)", async () => {
  const source = await write("secret.json", [record("GO-2026-1400", "example.com/mast"), record("GO-2026-1401", "example.com/mast")]);
  await imported(source);
  // A new record is not public by default.
  await write("secret.json", [record("GO-2026-1400", "example.com/mast"), record("GO-SECRET-1", "example.com/mast", { aliases: ["GO-2026-1401"] })]);
  await imported(source, { public: undefined });
  assert.equal((await advisoriesOf(["GO-2026-1401"]))[0]?.withdrawnBy, "GO-SECRET-1");
  const all = await (await get("/advisory/v2/osv/all.json")).text();
  assert.match(all, /"GO-2026-1401"/);
  assert.doesNotMatch(all, /SECRET/);
  const withToken = await fetch(`${world.url}/advisory/v2/osv/all.json`, { headers: { authorization: `Bearer ${await world.token()}` } });
  assert.match(await withToken.text(), /"withdrawnBy":"GO-SECRET-1"/);

  // Another organization's source has other content under the same ID.
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "elsewhere" } }), "uid");
  const theirs = await write("theirs.json", [record("GO-2026-1401", "example.com/mast")]);
  await imported(theirs, { group: other, public: undefined });
  await write("theirs.json", [record("GO-2026-1400", "example.com/mast", { aliases: ["GO-2026-1401"] })]);
  await imported(theirs, { group: other, public: undefined });
  assert.equal((await entries()).get("GO-2026-1401")?.withdrawnBy, undefined);
  assert.equal((await asOwner(world.databaseUrl, "select 1 from record_successors where old_id = 'GO-2026-1401'")).length, 2);
});

test("an undo restores a document that an import extended with packages", async () => {
  const [keel, stern] = ["example.com/undo-keel", "example.com/undo-stern"];
  const narrow = record("GO-2026-1600", keel);
  const source = await write("widened.json", [narrow, record("GO-2026-1601", "example.com/undo-other")]);
  await imported(source);
  const { affected: [first] = [] } = { affected: objectList(narrow, "affected") };
  const wide = { ...narrow, modified: "2026-02-01T00:00:00Z", affected: [first ?? {}, ...objectList(record("", stern), "affected")] };
  await write("widened.json", [wide, record("GO-2026-1601", "example.com/undo-other")]);
  await imported(source);
  assert.deepEqual([await found(keel), await found(stern)], ["GO-2026-1600", "GO-2026-1600"]);
  world.clock.now += 60_000;
  await undoImport(world.server.application.services, { source, group: undefined, kind: undefined, documentMs: undefined });
  assert.deepEqual([await found(keel), await found(stern)], ["GO-2026-1600", ""]);
  assert.deepEqual(
    (await advisoriesOf(["GO-2026-1600"])).filter(({ withdrawnTime }) => withdrawnTime === undefined).map(({ artifactName }) => artifactName),
    [keel],
  );
});

test("a document that drops most of its records keeps its earlier content everywhere until the drop is released (attack 296)", async () => {
  const names = Array.from({ length: 8 }, (_, index) => `example.com/deck${index}`);
  const whole = names.map((name, index) => record(`GO-2026-150${index}`, name));
  const source = await write("emptied.json", whole);
  await imported(source);
  const affected = async (): Promise<number> => {
    let count = 0;
    for (const name of names) if ((await found(name)) !== "") count++;
    return count;
  };
  assert.equal(await affected(), 8);
  await write(
    "emptied.json",
    whole.map((each) => ({ ...each, modified: "2026-02-01T00:00:00Z", affected: [] })),
  );
  const held = await imported(source);
  assert.deepEqual([held.withdrawn, held.held.length, await affected()], [0, 1, 8]);
  assert.deepEqual(await (await get("/osv/Go/GO-2026-1500.json")).json(), whole[0]);
  await write("emptied.json", whole);
  assert.deepEqual([(await imported(source)).held, await affected()], [[], 8]);
  await write(
    "emptied.json",
    whole.map((each) => ({ ...each, modified: "2026-02-01T00:00:00Z", affected: [] })),
  );
  const released = await imported(source, { allowWithdrawals: true });
  assert.deepEqual([released.withdrawn, released.held, await affected()], [8, [], 0]);
  assert.deepEqual((await asOwner(world.databaseUrl, "select count(*) from pending_documents"))[0], ["0"]);
});
