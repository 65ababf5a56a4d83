// Scanners with a token read what the caller's groups allow: the same addresses as without a token, and the rules of the API's lists.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { openWorld, type World } from "../world.ts";
import { runImport } from "./import.ts";
import { bind, createIdentity } from "./installation.ts";

let world: World;
let scratch: string;
/** Tokens by caller; "" has none. */
const tokens = new Map<string, string>();
let [ourIdentity, ourBinding] = ["", ""];

const range = (ecosystem: string, name: string, ...events: JsonObject[]): JsonObject => ({
  package: { ecosystem, name },
  ranges: [{ type: ecosystem === "npm" ? "SEMVER" : "ECOSYSTEM", events }],
});
const record = (id: string, affected: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  schema_version: "1.7.0",
  id,
  modified: "2025-01-01T00:00:00.123456Z",
  affected: [...affected],
  ...more,
});
const lantern = (id: string, more: JsonObject = {}): JsonObject => record(id, [range("npm", "lantern", { introduced: "0" }, { fixed: "2.0.0" })], more);
const wolfi = (number: string): JsonObject => ({
  "schema-version": "2.0.2",
  package: { name: "harbour" },
  advisories: [{ id: number, aliases: ["CVE-2025-0001"], events: [{ timestamp: "2026-01-01T00:00:00Z", type: "fixed", data: { "fixed-version": "2-r0" } }] }],
});
const commit = "a".repeat(40);
const gitRecord = (id: string): JsonObject =>
  record(id, [{ ranges: [{ type: "GIT", repo: "https://example.com/lantern.git", events: [{ introduced: commit }] }], versions: ["v1"] }]);
/** A record too large to be returned together with the others. */
const long = (id: string): JsonObject =>
  record(id, [{ package: { ecosystem: "npm", name: "lantern" }, versions: Array.from({ length: 300 }, (_, index) => `1.${index}.0`) }]);

const numbers = {
  public: ["PUB-1", "PUB-LONG", "CGA-pppp-pppp-pppp"],
  shared: ["BOTH-1"],
  ours: ["OURS-1", "OURS-2", "OURS-LONG", "CGA-oooo-oooo-oooo"],
  below: ["BELOW-1"],
  theirs: ["THEIRS-1", "THEIRS-LONG", "CGA-tttt-tttt-tttt"],
};
const allNumbers = Object.values(numbers).flat();

const imported = async (group: string, name: string, records: readonly JsonObject[], isPublic?: boolean): Promise<void> => {
  const path = join(scratch, `${name}.jsonl`);
  await writeFile(path, records.map((each) => JSON.stringify(each)).join("\n"));
  const done = await runImport(world, "advisories", [path], { group, public: isPublic, author: "Wolfi" });
  assert.deepEqual([done.failed, done.refused], [[], []]);
};

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-private-feeds-"));
  world = await openWorld();
  const theirs = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "rival" } })).uid);
  const below = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "team" } })).uid);
  const places: readonly (readonly [string, string])[] = [
    ["ours", world.organization],
    ["below", below],
    ["theirs", theirs],
  ];
  tokens.set("", "");
  for (const [name, place] of places) {
    const identity = await createIdentity(world, place, name, { issuer: "https://issuer.example.com", subject: name });
    const binding = await bind(world, place, identity, "viewer");
    if (name === "ours") [ourIdentity, ourBinding] = [identity, binding];
    tokens.set(name, await world.token(identity));
  }
  const without = await createIdentity(world, world.organization, "without", { issuer: "https://issuer.example.com", subject: "without" });
  await bind(world, world.organization, without, "registry.pull");
  tokens.set("a puller", await world.token(without));
  tokens.set("the operator", await world.token());

  await imported(
    theirs,
    "public",
    [lantern("PUB-1"), long("PUB-LONG"), lantern("BOTH-1", { details: "as everybody reads it" }), wolfi("CGA-pppp-pppp-pppp")],
    true,
  );
  await imported(world.organization, "ours", [
    lantern("OURS-1"),
    record("OURS-2", [range("PyPI", "Some_Lantern", { introduced: "0" }, { fixed: "1.2" })]),
    long("OURS-LONG"),
    lantern("BOTH-1", { modified: "2025-06-01T00:00:00Z", details: "as we read it" }),
    gitRecord("OURS-GIT"),
    wolfi("CGA-oooo-oooo-oooo"),
  ]);
  await imported(below, "below", [lantern("BELOW-1")]);
  await imported(theirs, "theirs", [lantern("THEIRS-1"), long("THEIRS-LONG"), wolfi("CGA-tttt-tttt-tttt")]);
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

const headersOf = (who: string): Record<string, string> => {
  const token = tokens.get(who) ?? "";
  return token === "" ? {} : { authorization: `Bearer ${token}` };
};
const get = (who: string, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${world.url}${path}`, { headers: { ...headersOf(who), ...headers } });
const post = (who: string, path: string, body: JsonObject): Promise<Response> =>
  fetch(`${world.url}/osv/v1/${path}`, { method: "POST", headers: { ...headersOf(who), "content-type": "application/json" }, body: JSON.stringify(body) });
const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const idsOf = (answer: JsonObject): string[] => objects(answer.vulns).map((each) => text(each, "id"));
const ask = async (who: string, body: JsonObject): Promise<string[]> => {
  const response = await post(who, "query", body);
  assert.equal(response.status, 200, response.status === 200 ? "" : await response.clone().text());
  return idsOf((await response.json()) as JsonObject).sort();
};

/** Returns the records that the API lists for this caller, and the public ones. */
const expectedOf = async (who: string): Promise<Set<string>> => {
  const listed = tokens.get(who) === "" ? [] : await listedBy(who);
  return new Set([...numbers.public, ...numbers.shared, ...listed]);
};
const listedBy = async (who: string): Promise<string[]> => {
  const response = await get(who, "/vulnerabilities/v2/advisories?pageSize=200");
  assert.equal(response.status, 200);
  const { advisories } = (await response.json()) as JsonObject;
  return objects(advisories).map((each) => text(each, "advisoryId"));
};

const npm = { package: { ecosystem: "npm", name: "lantern" } };
const harbour = { package: { ecosystem: "Wolfi", name: "harbour" } };

test("each caller reads by ID what the API lists for its token and public records, and nothing else", async () => {
  const seen = new Map<string, number>();
  for (const who of tokens.keys()) {
    const expected = await expectedOf(who);
    for (const id of [...allNumbers, "NONE-1"]) {
      const status = expected.has(id) ? 200 : 404;
      for (const path of [`/osv/v1/vulns/${id}`, `/advisory/v2/osv/${id}.json`]) {
        const response = await get(who, path);
        assert.equal(response.status, status, `${who} ${path}`);
        if (status === 200) assert.equal(((await response.json()) as JsonObject).id, id);
      }
    }
    seen.set(who, expected.size);
  }
  // Callers differ, so the comparison is meaningful.
  assert.deepEqual(
    [...seen].map(([who, count]) => `${who} ${count}`),
    [" 4", "ours 9", "below 5", "theirs 7", "a puller 4", "the operator 12"],
  );
});

test("queries and batches find for each caller what it reads by ID, with or without a version, and among large records", async () => {
  const about = { npm: /^(?:PUB|BOTH|OURS-1|OURS-LONG|BELOW|THEIRS)/, wolfi: /^CGA-/ };
  for (const who of tokens.keys()) {
    const expected = [...(await expectedOf(who))].sort();
    const [inNpm, inWolfi] = [expected.filter((id) => about.npm.test(id)), expected.filter((id) => about.wolfi.test(id))];
    assert.deepEqual(await ask(who, npm), inNpm, who);
    assert.deepEqual(await ask(who, { ...npm, version: "1.7.0" }), inNpm, who);
    assert.deepEqual(
      await ask(who, { ...npm, version: "1.500.0" }),
      inNpm.filter((id) => !id.endsWith("LONG")),
      who,
    );
    assert.deepEqual(await ask(who, { ...npm, version: "2.0.0" }), [], who);
    assert.deepEqual(await ask(who, { ...harbour, version: "1-r0" }), inWolfi, who);
    assert.deepEqual(await ask(who, { package: { name: "lantern" }, version: "1.7.0" }), inNpm, who);
    const response = await post(who, "querybatch", { queries: [npm, { ...npm, version: "2.0.0" }, harbour] });
    const { results } = (await response.json()) as JsonObject;
    assert.deepEqual(
      objects(results).map((each) => idsOf(each).sort()),
      [inNpm, [], inWolfi],
      who,
    );
  }
  // A PyPI name in any spelling, and a commit.
  for (const [who, found] of [
    ["ours", true],
    ["theirs", false],
    ["", false],
  ] as const) {
    assert.deepEqual(await ask(who, { package: { ecosystem: "PyPI", name: "some.lantern" }, version: "1.0" }), found ? ["OURS-2"] : []);
    assert.deepEqual(await ask(who, { package: { purl: "pkg:pypi/some-lantern@1.0" } }), found ? ["OURS-2"] : []);
    assert.deepEqual(await ask(who, { commit }), found ? ["OURS-GIT"] : []);
  }
});

test("of a public and a private record with one ID, the owner reads the later one, and others the public one", async () => {
  for (const who of tokens.keys()) {
    const { details } = (await (await get(who, "/osv/v1/vulns/BOTH-1")).json()) as JsonObject;
    const [record_] = objects(((await (await post(who, "query", npm)).json()) as JsonObject).vulns).filter(({ id }) => id === "BOTH-1");
    const expected = who === "ours" || who === "the operator" ? "as we read it" : "as everybody reads it";
    assert.deepEqual([details, record_?.details], [expected, expected], who);
  }
});

test("only the later record with that ID is matched, in whichever package it is", async () => {
  const place = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "moved" } })).uid);
  const identity = await createIdentity(world, place, "moved", { issuer: "https://issuer.example.com", subject: "moved" });
  await bind(world, place, identity, "viewer");
  tokens.set("moved", await world.token(identity));
  const inPackage = (name: string, modified: string): JsonObject => record("MOVED-1", [range("npm", name, { introduced: "0" })], { modified });
  await imported(world.organization, "moved-public", [inPackage("moved-from", "2025-01-01T00:00:00Z")], true);
  await imported(place, "moved", [inPackage("moved-to", "2025-06-01T00:00:00Z")]);
  const of = (who: string, name: string): Promise<string[]> => ask(who, { package: { ecosystem: "npm", name } });
  assert.deepEqual([await of("", "moved-from"), await of("", "moved-to")], [["MOVED-1"], []]);
  assert.deepEqual([await of("theirs", "moved-from"), await of("theirs", "moved-to")], [["MOVED-1"], []]);
  assert.deepEqual([await of("moved", "moved-from"), await of("moved", "moved-to")], [[], ["MOVED-1"]]);
  tokens.delete("moved");
});

test("REST and gRPC return equal results and errors for every caller with a token", async () => {
  const asked: readonly (readonly [string, JsonObject])[] = [
    ...allNumbers.map((id) => ["ReadOsvRecord", { id }] as const),
    ...allNumbers.map((id) => ["ReadOsvFile", { file: `${id}.json` }] as const),
    ["QueryOsv", npm],
    ["QueryOsv", { ...harbour, version: "1-r0" }],
    ["QueryOsv", {}],
    ["QueryOsv", { ...npm, pageToken: "forged" }],
    ["QueryOsvBatch", { queries: [npm, harbour, { commit }] }],
    ["QueryOsvBatch", { queries: [npm, { package: { ecosystem: "nowhere", name: "x" } }] }],
  ];
  for (const [who, token] of tokens)
    for (const [operation, request] of who === "" ? [] : asked) {
      const [rest, grpc] = [
        await world.call(`gantry.feeds.v1.OsvService/${operation}`, request, { token, protocol: "rest" }),
        await world.call(`gantry.feeds.v1.OsvService/${operation}`, request, { token, protocol: "grpc" }),
      ];
      assert.deepEqual([grpc.code, grpc.message, grpc.reply], [rest.code, rest.message, rest.reply], `${who} ${operation} ${JSON.stringify(request)}`);
    }
});

test("a record is returned as imported, over REST and gRPC", async () => {
  const whole = await get("ours", "/osv/v1/vulns/OURS-1");
  assert.deepEqual(await whole.json(), lantern("OURS-1"));
  // As curl sends it, with the guide's command.
  const sent = await fetch(`${world.url}/osv/v1/querybatch`, {
    method: "POST",
    headers: { ...headersOf("ours"), "content-type": "application/x-www-form-urlencoded" },
    body: '{"queries": [{"package": {"purl": "pkg:pypi/some-lantern@1.0"}}]}',
  });
  assert.deepEqual(await sent.json(), { results: [{ vulns: [{ id: "OURS-2", modified: "2025-01-01T00:00:00.123456Z" }] }] });
  const token = tokens.get("ours");
  assert.deepEqual(await world.ok("gantry.feeds.v1.OsvService/ReadOsvRecord", { id: "OURS-1" }, { token, protocol: "grpc" }), lantern("OURS-1"));
  const refused = await world.call("gantry.feeds.v1.OsvService/ReadOsvRecord", { id: "THEIRS-1" }, { token, protocol: "grpc" });
  assert.equal(refused.code, 5);
});

test("pages of private and public records continue without gaps or duplicates", async () => {
  const group = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "pages" } })).uid);
  const identity = await createIdentity(world, group, "pages", { issuer: "https://issuer.example.com", subject: "pages" });
  await bind(world, group, identity, "viewer");
  tokens.set("pages", await world.token(identity));
  const lamp = (id: string): JsonObject => record(id, [range("npm", "lamp", { introduced: "0" })]);
  const idOf = (kind: string, index: number): string => `${String(index).padStart(4, "0")}-${kind}`;
  const count = 700;
  await imported(
    group,
    "pages-public",
    Array.from({ length: count }, (_, index) => lamp(idOf("PUB", index))),
    true,
  );
  await imported(
    group,
    "pages-private",
    Array.from({ length: count }, (_, index) => lamp(idOf("OWN", index))),
  );
  for (const path of ["query", "querybatch"]) {
    const found: string[] = [];
    let pages = 0;
    for (let token = ""; ; pages++) {
      const question: JsonObject = { package: { ecosystem: "npm", name: "lamp" }, ...(token === "" ? {} : { page_token: token }) };
      const answer = (await (await post("pages", path, path === "query" ? question : { queries: [question] })).json()) as JsonObject;
      const page = path === "query" ? answer : (objects(answer.results)[0] ?? {});
      found.push(...idsOf(page));
      token = text(page, "next_page_token");
      if (token === "") break;
    }
    assert.deepEqual(found, Array.from({ length: count }, (_, index) => [idOf("OWN", index), idOf("PUB", index)]).flat(), path);
    assert(pages > 0);
  }
  tokens.delete("pages");
});

test("revoked access takes effect on the next request, and an invalid token is refused", async () => {
  assert.deepEqual(await ask("ours", { commit }), ["OURS-GIT"]);
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: ourBinding });
  assert.equal((await get("ours", "/osv/v1/vulns/OURS-1")).status, 404);
  assert.equal((await get("ours", "/osv/v1/vulns/PUB-1")).status, 200);
  assert.deepEqual(await ask("ours", { commit }), []);
  await bind(world, world.organization, ourIdentity, "viewer");
  assert.deepEqual(await ask("ours", { commit }), ["OURS-GIT"], "bound anew");
  await world.ok("iam.IdentitiesService/DeleteIdentity", { uid: ourIdentity });
  assert.equal((await get("ours", "/osv/v1/vulns/PUB-1")).status, 401);
  tokens.set("a forger", "x.y.z");
  for (const path of ["/osv/v1/vulns/PUB-1", "/osv/v1/vulns/OURS-1", "/advisory/v2/osv/PUB-1.json"])
    assert.equal((await get("a forger", path)).status, 401, path);
  assert.equal((await post("a forger", "query", npm)).status, 401);
  assert.equal((await post("a forger", "querybatch", { queries: [npm] })).status, 401);
  tokens.delete("a forger");
});
