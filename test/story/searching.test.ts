// Search by a part of a name, and paths of names, over both protocols and as different callers.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type JsonObject, text } from "#base/json.ts";
import { type Owners, openOwners } from "../owner.ts";
import type { World } from "../world.ts";
import { bind, createIdentity, type Installation, openInstallation } from "./installation.ts";
import { runImport } from "./import.ts";
import { callBoth, items } from "./protocols.ts";

let home: Installation;
let world: World;
let owners: Owners;
let owner: World;
let ownerToken: string;
/** The organization's name. */
let acme: string;
let team: string;
let app: string;
let tag: string;

const digest = `sha256:${"ab".repeat(32)}`;

const group = async (as: World, parent: string, name: string): Promise<string> =>
  text(await as.ok("iam.GroupsService/CreateGroup", { parent, group: { name, description: `about ${name}` } }), "uid");
const repo = async (as: World, parent: string, name: string): Promise<string> =>
  text(await as.ok("registry.ReposService/CreateRepo", { parent, repo: { name } }), "uid");

before(async () => {
  home = await openInstallation();
  world = home.world;
  owners = openOwners(world);
  owner = owners.world();
  ownerToken = await owners.token();
  acme = text(await world.ok("iam.GroupsService/GetGroup", { uid: world.organization }), "name");
  team = await group(owner, world.organization, "payments team");
  app = await repo(owner, team, "checkout-app");
  await repo(owner, team, "app");
  await repo(owner, world.organization, "wrapper");
  tag = text(await owner.ok("registry.TagsService/CreateTag", { parent: app, tag: { name: "1.2", digest } }), "uid");
});
after(() => home?.close());

const ask = (path: string, query: Readonly<Record<string, string | readonly string[]>>, rpc: string, request: JsonObject, token: string) => {
  const parameters = new URLSearchParams(Object.entries(query).flatMap(([key, value]) => [value].flat().map((each): [string, string] => [key, each])));
  return callBoth(world, token, ["GET", `/gantry/v1/names:${path}?${parameters}`], [`gantry.names.v1.NamesService/${rpc}`, request]);
};
const search = (query: string, token = ownerToken, types: readonly string[] = []) =>
  ask("search", { query, types }, "Search", { query, types: [...types] }, token);
const resolve = (path: string, token = ownerToken, types: readonly string[] = []) =>
  ask("resolve", { path, types }, "Resolve", { path, types: [...types] }, token);

const lookup = (uids: readonly string[], token = ownerToken, types: readonly string[] = []) =>
  ask("lookup", { uids, types }, "Lookup", { uids: [...uids], types: [...types] }, token);

const namesOf = (body: JsonObject): string[] => items(body, "results").map((each) => text(each, "name"));
const pathsOf = (body: JsonObject): string[] => items(body, "results").map((each) => text(each, "path"));

/** A token of an identity with the role at the group alone. */
const tokenWith = async (place: string, role: string, name: string): Promise<string> => {
  const uid = await createIdentity(world, world.organization, name, { issuer: "https://issuer.example.com", subject: name });
  await bind(world, place, uid, role);
  return world.token(uid);
};

test("uids are looked up in their order with names and paths, without those that do not exist or that the caller cannot list", async () => {
  const gone = `${team}/${"0".repeat(16)}`;
  const { status, body } = await lookup([tag, gone, app, team, app]);
  assert.equal(status, 200);
  assert.deepEqual(pathsOf(body), [`${acme}/payments team/checkout-app:1.2`, `${acme}/payments team/checkout-app`, `${acme}/payments team`]);
  assert.deepEqual(namesOf((await lookup([tag, app, team], ownerToken, ["Repo"])).body), ["checkout-app"]);
  const elsewhere = await group(owner, world.organization, "elsewhere");
  const reader = await tokenWith(elsewhere, "viewer", "reader of elsewhere");
  assert.deepEqual(namesOf((await lookup([tag, app, team, elsewhere], reader)).body), ["elsewhere"]);
  const { uid: theirs } = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "their organization" } });
  assert.deepEqual(namesOf((await lookup([String(theirs)])).body), []);
  assert.equal((await lookup(["no uid"])).status, 400);
  assert.equal((await lookup(Array.from({ length: 51 }, () => app))).status, 400);
});

test("a part of a name finds repos in any case: exact names first, then beginnings, then the rest", async () => {
  const { status, body } = await search("APP", ownerToken, ["Repo"]);
  assert.equal(status, 200);
  assert.deepEqual(namesOf(body), ["app", "wrapper", "checkout-app"]);
  assert.deepEqual(pathsOf(body), [`${acme}/payments team/app`, `${acme}/wrapper`, `${acme}/payments team/checkout-app`]);
  assert.deepEqual(items((await search("payments")).body, "results"), [
    { type: "Group", uid: team, name: "payments team", path: `${acme}/payments team`, description: "about payments team" },
  ]);
});

test("a uid and the start of a digest find the tag, with its repo in the path", async () => {
  const found = { type: "Tag", uid: tag, name: "1.2", path: `${acme}/payments team/checkout-app:1.2`, description: digest };
  assert.deepEqual(items((await search(tag)).body, "results"), [found]);
  assert.deepEqual(items((await search(digest.slice(0, 20))).body, "results"), [found]);
});

test("each result's path resolves to the result, and to nothing else", async () => {
  for (const query of ["app", "payments", tag, "owner"]) {
    for (const found of items((await search(query)).body, "results")) {
      if (text(found, "path") === "") continue;
      const { body } = await resolve(text(found, "path"), ownerToken, [text(found, "type")]);
      assert.deepEqual(items(body, "results"), [found]);
    }
  }
});

test("a path may start at any group that the caller can list", async () => {
  assert.deepEqual(
    items((await resolve("payments team/app")).body, "results").map((each) => text(each, "path")),
    [`${acme}/payments team/app`],
  );
  const inTeam = await tokenWith(team, "viewer", "in the team");
  assert.deepEqual(pathsOf((await search("checkout", inTeam)).body), ["payments team/checkout-app"]);
  assert.equal((await resolve(`${acme}/payments team/app`, inTeam)).status, 404);
  assert.deepEqual(pathsOf((await resolve("payments team/app", inTeam)).body), ["payments team/app"]);
});

// Attack 370.
test("callers find nothing that their lists do not contain", async () => {
  const { organization, uid } = await home.world
    .ok("iam.GroupsService/CreateGroup", { group: { name: "rival-of-acme" } })
    .then(async (made) => ({ organization: text(made, "uid"), uid: await repo(owners.world(text(made, "uid")), text(made, "uid"), "secret-checkout") }));
  for (const query of ["secret", "checkout", "rival", uid, organization])
    for (const found of items((await search(query)).body, "results")) assert.ok(text(found, "uid").startsWith(world.organization));
  assert.equal((await resolve("rival-of-acme/secret-checkout")).status, 404);
  const nobody = await world.token(await createIdentity(world, world.organization, "nobody", { issuer: "https://issuer.example.com", subject: "nobody" }));
  for (const query of ["checkout", app, digest]) assert.deepEqual(items((await search(query, nobody)).body, "results"), []);
  assert.equal((await resolve(`${acme}/payments team`, nobody)).status, 404);
  assert.deepEqual(namesOf((await search("secret", await owners.token(organization))).body), ["secret-checkout"]);
});

test("ambiguous paths have all results, and unknown types and malformed paths are refused", async () => {
  const both = await group(owner, team, "twin");
  const twin = await repo(owner, team, "twin");
  assert.deepEqual(
    items((await resolve(`${acme}/payments team/twin`)).body, "results")
      .map((each) => text(each, "uid"))
      .sort(),
    [both, twin].sort(),
  );
  assert.deepEqual(namesOf((await resolve(`${acme}/payments team/twin`, ownerToken, ["Repo"])).body), ["twin"]);
  for (const [path, types] of [
    ["a//b", []],
    [Array.from({ length: 70 }, () => "a").join("/"), []],
    ["app", ["Ship"]],
  ] as const)
    assert.equal((await resolve(path, ownerToken, types)).status, 400);
  for (const query of ["ap", " ap ", "a\u0000b", "x".repeat(256)]) assert.equal((await search(query)).status, 400);
  for (const hostile of ["100%", "___", "a'b", "\\\\\\", "%%%"]) assert.deepEqual(items((await search(hostile)).body, "results"), []);
});

test("more matches than the limit are announced", async () => {
  for (let n = 0; n < 3; n++) await repo(owner, team, `many-${n}`);
  const { body } = await callBoth(
    world,
    ownerToken,
    ["GET", "/gantry/v1/names:search?query=many&limit=2"],
    ["gantry.names.v1.NamesService/Search", { query: "many", limit: 2 }],
  );
  assert.deepEqual([namesOf(body), body.more], [["many-0", "many-1"], true]);
  assert.equal((await search("many")).body.more, false);
  const exact = await callBoth(
    world,
    ownerToken,
    ["GET", "/gantry/v1/names:search?query=many&limit=3"],
    ["gantry.names.v1.NamesService/Search", { query: "many", limit: 3 }],
  );
  assert.deepEqual([namesOf(exact.body), exact.body.more], [["many-0", "many-1", "many-2"], false]);
});

test("private vulnerabilities and affected packages are found in any case by those who can list them, public vulnerabilities by everybody", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gantry-searching-"));
  const write = (name: string, value: string): string => {
    writeFileSync(join(folder, name), value);
    return join(folder, name);
  };
  const record = (id: string, aliases: readonly string[] = []) =>
    JSON.stringify({
      schema_version: "1.6.0",
      id,
      modified: "2025-01-01T00:00:00Z",
      aliases,
      summary: `about ${id}`,
      affected: [{ package: { ecosystem: "npm", name: "lantern" }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed: "2.0.0" }] }] }],
    });
  try {
    const line = { repo: "checkout-app", tags: ["1.2"], configs: { amd64: { packages: ["pkg:npm/lantern@1.0.0"] } } };
    await runImport(world, "images", [write("images.jsonl", `${JSON.stringify(line)}\n`)], { group: team });
    const own = write("GHSA-aaaa-bbbb-cccc.json", record("GHSA-aaaa-bbbb-cccc"));
    for (const kind of ["vulnerabilities", "advisories"] as const) await runImport(world, kind, [own], { group: team });
    const open = write("GHSA-pppp-qqqq-rrrr.json", record("GHSA-pppp-qqqq-rrrr"));
    await runImport(world, "vulnerabilities", [open], { group: team, public: true });
    const other = await group(owner, world.organization, "elsewhere");
    const [inTeam, besideTeam] = [await tokenWith(team, "viewer", "reads the team"), await tokenWith(other, "viewer", "reads another group")];
    const found = async (query: string, type: string, token: string) => items((await search(query, token, [type])).body, "results");
    const vulnerability = (id: string) => [{ type: "Vulnerability", name: id, description: `about ${id}` }];
    for (const token of [ownerToken, inTeam]) {
      assert.deepEqual(await found("ghsa-aaaa", "Vulnerability", token), vulnerability("GHSA-aaaa-bbbb-cccc"));
      assert.deepEqual(await found("pkg:npm/lan", "Package", token), [{ type: "Package", name: "pkg:npm/lantern" }]);
    }
    assert.deepEqual(await found("ghsa-aaaa", "Vulnerability", besideTeam), []);
    assert.deepEqual(await found("pkg:npm/lan", "Package", besideTeam), []);
    for (const token of [ownerToken, besideTeam]) assert.deepEqual(await found("ghsa-pppp", "Vulnerability", token), vulnerability("GHSA-pppp-qqqq-rrrr"));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the only visible match is found behind many that are hidden", async () => {
  const hidden = await group(owner, world.organization, "hidden");
  const shown = await group(owner, world.organization, "shown");
  for (let n = 0; n < 60; n++) await repo(owner, hidden, `harbour-${String(n).padStart(2, "0")}`);
  await repo(owner, shown, "harbour-99");
  const token = await tokenWith(shown, "viewer", "sees one of many");
  for (const query of ["harbour", "arbour"]) {
    const { body } = await search(query, token, ["Repo"]);
    assert.deepEqual([namesOf(body), body.more], [["harbour-99"], false]);
  }
});

test("a caller's own capabilities at a place are those that requests there need", async () => {
  const viewer = await tokenWith(team, "viewer", "a viewer of the team");
  const mine = async (place: string) => {
    const request = await callBoth(
      world,
      viewer,
      ["GET", `/gantry/v1/access:mine?${new URLSearchParams({ place })}`],
      ["gantry.access.v1.AccessService/Mine", { place }],
    );
    const { capabilities = [] } = request.body;
    return Array.isArray(capabilities) ? capabilities : [];
  };
  assert.ok((await mine(app)).includes("repo.list"));
  assert.ok(!(await mine(app)).includes("repo.create"));
  assert.deepEqual(await mine(world.organization), []);
});
