// Names of repositories: the path of names from the organization, or the UID. A name resolves to the same repository for all callers
// (test/attacks/names.test.ts), and a first push creates missing groups and the repo.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { digestOf } from "../distribution.ts";
import { errorsIn, indexType, openRegistry, type RegistryClient } from "../registry.ts";
import { items } from "./protocols.ts";
import { openWorld } from "../world.ts";

const world = await openWorld();
after(() => world.close());
const operator = openRegistry(world.url, `Bearer ${await world.token()}`);
const empty = { schemaVersion: 2, mediaType: indexType, manifests: [] };
const body = JSON.stringify(empty);

const group = async (name: string, parent = ""): Promise<string> => text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }), "uid");
const reposOf = async (organization: string): Promise<JsonObject[]> =>
  items(await world.ok("registry.ReposService/ListRepos", { uidp: { descendantsOf: organization }, pageSize: 200 }), "repos");

let identities = 0;
const bound = async (place: string, role: string, home = place): Promise<RegistryClient & { readonly uid: string }> => {
  const identity = { name: `robot ${++identities}`, claimMatch: { issuer: "https://issuer.example.com", subject: `robot-${identities}` } };
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: home, identity }), "uid");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: place, roleBinding: { identityUid: uid, roleUid: builtInRoleUid(role) } });
  return { uid, ...openRegistry(world.url, `Bearer ${await world.token(uid)}`) };
};
const manifestAt = (client: RegistryClient, repo: string) => client.send("GET", `${repo}/manifests/latest`);
const push = (client: RegistryClient, repo: string) => client.send("PUT", `${repo}/manifests/latest`, { body, headers: { "content-type": indexType } });

test("a first push creates the repo and missing groups once, with an event each, and the next push finds them", async () => {
  const organization = await group("maker");
  const pusher = await bound(organization, "registry.push");
  const before = (await world.events()).length;
  assert.equal((await push(pusher, "maker/team/deep/app")).status, 201);
  const told = (await world.events()).slice(before).map(({ type, actor }) => [type.replace(/^dev\.chainguard\.(?:api\.)?/, ""), actor]);
  assert.deepEqual(told, [
    ["iam.group.created.v1", pusher.uid],
    ["iam.group.created.v1", pusher.uid],
    ["platform.registry.repo.created.v1", pusher.uid],
    ["platform.registry.tag.created.v1", pusher.uid],
    ["registry.push.v1", pusher.uid],
  ]);
  assert.equal((await push(pusher, "maker/team/deep/other")).status, 201);
  const groups = items(await world.ok("iam.GroupsService/ListGroups", { uidp: { descendantsOf: organization } }), "groups");
  assert.deepEqual(groups.map((each) => text(each, "name")).sort(), ["deep", "team"]);
  assert.deepEqual((await reposOf(organization)).map((each) => text(each, "name")).sort(), ["app", "other"]);
});

test("concurrent pushes create each group and the repo once", async () => {
  const organization = await group("crowd");
  const pusher = await bound(organization, "registry.push");
  const pushed = await Promise.all(Array.from({ length: 12 }, (_, index) => push(pusher, `crowd/a/b/app${index % 3}`)));
  assert.deepEqual(
    pushed.map(({ status }) => status),
    pushed.map(() => 201),
  );
  const groups = items(await world.ok("iam.GroupsService/ListGroups", { uidp: { descendantsOf: organization } }), "groups");
  assert.deepEqual(groups.map((each) => text(each, "name")).sort(), ["a", "b"]);
  assert.equal((await reposOf(organization)).length, 3);
});

test("a push creates no organization, nothing below a UID, and no group without the permission", async () => {
  const organization = await group("narrow");
  const role = await world.ok("iam.RolesService/CreateRole", {
    parent: organization,
    role: { name: "repos only", capabilities: ["CAP_MANIFEST_CREATE", "CAP_TAG_CREATE", "CAP_REPO_CREATE", "CAP_MANIFEST_LIST"] },
  });
  const pusher = await bound(organization, "registry.pull");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: organization, roleBinding: { identityUid: pusher.uid, roleUid: text(role, "uid") } });
  assert.equal((await push(pusher, "narrow/app")).status, 201);
  assert.deepEqual(await errorsIn(await push(pusher, "narrow/team/app")), ["DENIED"]);
  for (const client of [pusher, operator]) {
    assert.deepEqual(await errorsIn(await push(client, "nowhere/app")), ["NAME_UNKNOWN"]);
    assert.deepEqual(await errorsIn(await push(client, `${organization}/app`)), ["NAME_UNKNOWN"]);
    assert.deepEqual(await errorsIn(await push(client, "narrow")), ["NAME_UNKNOWN"]);
  }
  assert.equal(items(await world.ok("iam.GroupsService/ListGroups", { uidp: { inRoot: true }, name: "nowhere" }), "groups").length, 0);
});

test("a repo is addressable by its UID, even if its name is invalid in the protocol", async () => {
  const organization = await group("odd names");
  const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: organization, repo: { name: "an app" } }), "uid");
  assert.equal((await push(operator, repo)).status, 201);
  assert.equal((await manifestAt(operator, repo)).status, 200);
  for (const name of ["odd%20names/an%20app", "odd names/an app", "Upper/case", "a//b", "-a/b", "a/b-", "a/b..c", "a%2Fb", "a/___b"])
    assert.deepEqual(await errorsIn(await operator.send("GET", `${name}/manifests/latest`)), ["NAME_INVALID"], name);
  for (const name of ["a.b/c__d-e---f", "0/1"])
    assert.deepEqual(await errorsIn(await operator.send("GET", `${name}/manifests/latest`)), ["NAME_UNKNOWN"], name);
  assert.deepEqual(await errorsIn(await operator.send("GET", `first-organization/${"a".repeat(255)}/manifests/latest`)), ["NAME_INVALID"]);
});

test("names may contain words of the protocol: the last such word is the operation", async () => {
  const organization = await group("words");
  for (const name of ["words/blobs/uploads", "words/manifests/x", "words/tags/list", "words/v2"]) {
    assert.equal((await push(operator, name)).status, 201, name);
    assert.equal((await manifestAt(operator, name)).status, 200, name);
    const digest = await operator.pushBlob(name, "content");
    assert.equal((await operator.send("GET", `${name}/blobs/${digest}`)).status, 200, name);
    assert.deepEqual(await (await operator.send("GET", `${name}/tags/list`)).json(), { name, tags: ["latest"] });
  }
  assert.equal((await reposOf(organization)).length, 4);
});

test("a hidden repository gets the response of a missing one, by name and by UID", async () => {
  const organization = await group("hidden");
  await operator.pushImage("hidden/team/secret", "latest");
  const [{ uid = "" } = {}] = (await reposOf(organization)) as { uid: string }[];
  const stranger = await bound(await group("elsewhere"), "registry.push");
  const digest = digestOf("a layer for amd64");
  const seen = async (client: RegistryClient, name: string): Promise<string[]> => {
    const answers: string[] = [];
    for (const [verb, path] of [
      ["GET", "manifests/latest"],
      ["HEAD", "manifests/latest"],
      ["GET", `blobs/${digest}`],
      ["GET", "tags/list"],
      ["GET", `referrers/${digest}`],
      ["POST", "blobs/uploads/"],
      ["PATCH", `blobs/uploads/${"0".repeat(32)}`],
      ["DELETE", "manifests/latest"],
    ] as const) {
      const answer = await client.send(verb, `${name}/${path}`);
      const headers = Object.fromEntries([...answer.headers].filter(([key]) => !["date", "x-request-id"].includes(key)));
      answers.push(JSON.stringify([verb, path, answer.status, headers, await answer.text()]).replaceAll(name, "NAME"));
    }
    return answers;
  };
  const absent = await seen(stranger, "hidden/team/absent");
  assert.deepEqual(await seen(stranger, "hidden/team/secret"), absent);
  assert.deepEqual(await seen(stranger, uid), await seen(stranger, `${organization}/${"f".repeat(16)}`));
  assert.ok(
    absent.every((each) => each.includes(",404,") || each.includes("referrers")),
    absent.join("\n"),
  );
});
