// Paths of names on the command line: tables print them, and every command accepts them. As an owner of an organization.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { operatorUid } from "#base/operator.ts";
import { type JsonObject, text } from "#base/json.ts";
import { runGantry } from "../command-line.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let folder: string;
let organization: string;
let owner: string;

const digest = `sha256:${"a".repeat(64)}`;

const tokenWithRole = async (parent: string, name: string, role: string): Promise<string> => {
  const identity = { name, claimMatch: { issuer: "https://token.example.com", subject: `${parent} ${name}` } };
  const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent, identity }), "uid");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid(role) } });
  return world.token(identityUid);
};

before(async () => {
  world = await openWorld();
  folder = await mkdtemp(join(tmpdir(), "gantry-paths-"));
  organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "acme" } }), "uid");
  owner = await tokenWithRole(organization, "owner", "owner");
});
after(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const run = async (args: readonly string[], token = owner): Promise<string> => {
  const environment = { GANTRY_SERVER: world.url, GANTRY_TOKEN: token, XDG_CONFIG_HOME: folder };
  const { status, out, err } = await runGantry(args, { environment });
  assert.equal(status, 0, `gantry ${args.join(" ")}: ${err}`);
  return out;
};

const firstColumn = (table: string): string[] =>
  table
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split("  ")[0] ?? "");

const make = async (service: string, request: JsonObject): Promise<string> => text(await world.ok(service, request, { token: owner }), "uid");

test("groups, repos and tags are listed by path in order of names, and read by it", async () => {
  const team = await make("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "team" } });
  const repos = ["web", "api"].map((name) => make("registry.ReposService/CreateRepo", { parent: team, repo: { name } }));
  const [web = "", api = ""] = await Promise.all(repos);
  for (const name of ["2.0", "1.2"]) await make("registry.TagsService/CreateTag", { parent: api, tag: { name, digest } });

  assert.deepEqual(firstColumn(await run(["iam", "groups", "list"])), ["acme", "acme/team"]);
  const repoPaths = firstColumn(await run(["registry", "repos", "list"]));
  assert.deepEqual(repoPaths, ["acme/team/api", "acme/team/web"]);
  const tagPaths = firstColumn(await run(["registry", "tags", "list"]));
  assert.deepEqual(tagPaths, ["acme/team/api:1.2", "acme/team/api:2.0"]);
  for (const [path, uid] of [
    ["acme/team/web", web],
    ["acme/team/api", api],
  ] as const)
    assert.equal((await run(["registry", "repos", "get", path, "-o", "uid"])).trim(), uid);
  for (const path of tagPaths) assert.match(await run(["registry", "tags", "get", path]), new RegExp(`^name +${path.split(":")[1]}$`, "m"));
  assert.doesNotMatch(await run(["registry", "repos", "list"]), /[0-9a-f]{16}/);
  assert.match(await run(["registry", "repos", "list", "-o", "wide"]), new RegExp(`${api}$`, "m"));
});

test("a caller who sees a group but not its parent gets paths that begin at that group", async () => {
  const hidden = await make("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "hidden" } });
  const inner = await make("iam.GroupsService/CreateGroup", { parent: hidden, group: { name: "inner" } });
  await make("registry.ReposService/CreateRepo", { parent: inner, repo: { name: "seen" } });
  const token = await tokenWithRole(inner, "reader", "viewer");
  const table = await run(["registry", "repos", "list"], token);
  assert.deepEqual(firstColumn(table), ["inner/seen"]);
  assert.doesNotMatch(table, /acme|hidden/);
  assert.match(await run(["registry", "repos", "get", "inner/seen"], token), /^name +seen$/m);
});

test("resources of more groups than one request can name are listed with their paths", async () => {
  const many = await make("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "many" } });
  const groups = Array.from({ length: 200 }, (_, index) => `group-${String(index).padStart(3, "0")}`);
  for (const name of groups) {
    const parent = await make("iam.GroupsService/CreateGroup", { parent: many, group: { name } });
    await make("registry.ReposService/CreateRepo", { parent, repo: { name: "app" } });
  }
  const table = await run(["registry", "repos", "list", "--descendants-of", "acme/many"]);
  assert.deepEqual(
    firstColumn(table),
    groups.map((name) => `acme/many/${name}/app`),
  );
});

test("the UID follows a path shared by two resources, and a name outside any organization (attack 143)", async () => {
  for (const subject of ["one", "other"])
    await make("iam.IdentitiesService/CreateIdentity", {
      parent: organization,
      identity: { name: "twin", claimMatch: { issuer: "https://token.example.com", subject } },
    });
  const lines = (await run(["iam", "identities", "list", "--name", "twin"])).trimEnd().split("\n").slice(1);
  assert.equal(lines.length, 2);
  for (const line of lines) assert.match(line, new RegExp(`^acme/twin \\(${organization}/[0-9a-f]{16}\\)`));
  const people = await run(["iam", "identities", "list"], await world.token());
  assert.match(people, new RegExp(`^operator \\(${operatorUid}\\)`, "m"));
});

test("an audit log names callers by path and filters by a caller's name", async () => {
  await world.server.application.services.audit.finish();
  const list = ["audit", "entries", "list", "--descendants-of", organization];
  assert.match(await run(list), /^SEQUENCE +CREATE TIME +CALLER +OPERATION +SUBJECT +UID\n(?:.*\n)*\d+ +\S+(?: ago)? +acme\/owner +/);
  const calls = await run([...list, "--caller-uids", "acme/owner", "-o", "csv", "--columns", "callerUid"]);
  const callers = new Set(calls.trimEnd().split("\r\n").slice(1));
  assert.equal(callers.size, 1);
});

test("an ambiguous name is refused with the UIDs and paths of its matches", async () => {
  const uids: string[] = [];
  for (const name of ["left", "right"]) {
    const parent = await make("iam.GroupsService/CreateGroup", { parent: organization, group: { name } });
    uids.push(await make("registry.ReposService/CreateRepo", { parent, repo: { name: "alike", description: `of ${name}` } }));
  }
  const environment = { GANTRY_SERVER: world.url, GANTRY_TOKEN: owner, XDG_CONFIG_HOME: folder };
  const { status, err } = await runGantry(["registry", "repos", "get", "alike"], { environment });
  const lines = ["left", "right"].map((name, index) => `  ${uids[index]}  acme/${name}/alike  of ${name}\n`);
  assert.deepEqual([status, err], [8, `gantry: repo "alike" is ambiguous: 2 have this name. Use a uid:\n${lines.join("")}`]);
});

test("events, deliveries, deletions and nameless resources name subject, caller and group in a table", async () => {
  const parent = await make("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "told" } });
  await make("events.SubscriptionsService/CreateSubscription", { parent, subscription: { sink: "https://example.com/hook" } });
  const repo = await make("registry.ReposService/CreateRepo", { parent, repo: { name: "subject" } });
  assert.match(await run(["events", "subscriptions", "list"]), /^SINK +CREATE TIME +ENABLED +GROUP +UID\n\S+ +.* true +acme\/told +[0-9a-f/]+\n$/);
  const within = ["--descendants-of", "acme/told"];
  const number = (): Promise<unknown> => world.server.application.services.audit.finish();
  await number();
  const events = ["events", "list", ...within];
  assert.match(await run(events), /^POSITION +CREATE TIME +TYPE +SUBJECT +CALLER +UID\n(?:.*\n)*\d+ .*repo\.created\.v1 +acme\/told\/subject +acme\/owner +/);
  assert.match(await run([...events, "-o", "wide"]), / \d{4}-\d\d-\d\dT\S+Z/);
  await run(["registry", "repos", "delete", "acme/told/subject", "--yes"]);
  assert.match(await run(["deletions", "list", ...within]), /^RESOURCE TYPE +RESOURCE NAME .*\n(?:.*\n)*\S+Repo +acme\/told\/subject +/);
  await number();
  assert.match(await run(events), new RegExp(`repo\\.deleted\\.v1 +${repo} +acme/owner `));
});

test("a deletion by name prints the deleted resource", async () => {
  const uid = await make("registry.ReposService/CreateRepo", { parent: organization, repo: { name: "short-lived" } });
  const environment = { GANTRY_SERVER: world.url, GANTRY_TOKEN: owner, XDG_CONFIG_HOME: folder };
  const { status, err } = await runGantry(["registry", "repos", "delete", "acme/short-lived", "--yes"], { environment });
  assert.deepEqual([status, err], [0, `deleted: acme/short-lived (${uid})\n`]);
});

test("gantry version prints both versions and names an unreachable server", async () => {
  const { client, server, address } = JSON.parse(await run(["version", "-o", "json"])) as JsonObject;
  assert.deepEqual([server, address], [client, world.url]);
  assert.match(await run(["version"]), new RegExp(`^client  (\\S+)\nserver  \\1 at ${world.url}\n$`));
  assert.match(await run(["version", "--server", "http://127.0.0.1:9"]), /\nserver {2}no response from http:\/\/127\.0\.0\.1:9\n$/);
});

test("gantry open prints the page of the console, of a command's words and of a resource, never with a token", async () => {
  const open = (...words: readonly string[]): Promise<string> => run(["open", ...words, "--no-browser"]);
  const console = await open();
  assert.match(console, /\/console#open=[\w-]{43}\n$/);
  assert.equal(console.includes(owner), false);
  const reference = `${world.url}/docs/reference`;
  for (const [words, page] of [
    ["iam", "iam"],
    ["iam groups", "iam#GroupsService"],
    ["iam group create", "iam/GroupsService_CreateGroup"],
    ["events list", "events/EventsService_ListEvents"],
    ["vulnerabilities advisories events list", "vulnerabilities/AuthoredAdvisoryEventsService_ListAuthoredAdvisoryEvents"],
  ] as const)
    assert.equal(await open(...words.split(" ")), `${reference}/${page}\n`);
  const shelf = await make("registry.ReposService/CreateRepo", { parent: organization, repo: { name: "shelf" } });
  const tag = await make("registry.TagsService/CreateTag", { parent: shelf, tag: { name: "1.0", digest } });
  for (const [value, page, uid] of [
    ["acme", "iam/GroupsService_GetGroup", organization],
    ["acme/shelf", "registry/ReposService_GetRepo", shelf],
    [shelf, "registry/ReposService_GetRepo", shelf],
    ["acme/shelf:1.0", "registry/TagsService_GetTag", tag],
  ] as const)
    assert.equal(await open(value), `${reference}/${page}?uid=${encodeURIComponent(uid)}\n`);
  for (const page of ["iam", "iam/GroupsService_GetGroup", "registry/TagsService_GetTag?uid=x"])
    assert.equal((await fetch(`${reference}/${page}`)).status, 200, page);

  const environment = { GANTRY_SERVER: world.url, GANTRY_TOKEN: owner, XDG_CONFIG_HOME: folder };
  const refused = async (...words: readonly string[]): Promise<readonly [status: number, err: string]> => {
    const { status, err } = await runGantry(["open", ...words, "--no-browser"], { environment });
    return [status, err];
  };
  assert.deepEqual(await refused("iam", "frobs"), [64, 'gantry: unknown command "iam frobs". Run gantry --help for a list\n']);
  assert.equal((await refused("acme/absent"))[0], 6);
  const group = await make("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "both" } });
  const repo = await make("registry.ReposService/CreateRepo", { parent: organization, repo: { name: "both" } });
  const [status, err] = await refused("acme/both");
  assert.equal(status, 8);
  assert.ok(err.includes(`\n  ${group}  group\n  ${repo}  repo`), err);
});
