// Attacks 271-278: a name that leads another organization's users to the attacker. Names of organizations and sibling groups are unique,
// reserved after a rename, and resolve to the same repo for every caller (docs/decisions/0002).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { registerPerson } from "../../server/application/person.ts";
import { asOwner } from "../database.ts";
import { errorsIn, indexType, openRegistry, type RegistryClient } from "../registry.ts";
import { openWorld, type World } from "../world.ts";

const groups = "iam.GroupsService";
const empty = { schemaVersion: 2, mediaType: indexType, manifests: [] };

let world: World;
before(async () => {
  world = await openWorld({ GANTRY_ANONYMOUS_PULL: "true", GANTRY_OPEN_ORGANIZATIONS: "true" });
});
after(() => world?.close());

interface Tenant {
  readonly uid: string;
  readonly token: string;
  readonly registry: RegistryClient;
}

let identities = 0;
const bind = async (parent: string, identityUid: string, role: string): Promise<void> =>
  void (await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid(role) } }));
const makeIdentity = async (parent: string): Promise<string> => {
  const identity = { name: `robot ${++identities}`, claimMatch: { issuer: "https://issuer.example.com", subject: `robot-${identities}` } };
  return text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent, identity }), "uid");
};
const create = (name: string, more: JsonObject = {}) => world.call(`${groups}/CreateGroup`, { group: { name, ...more } });
const makeTenant = async (name: string, more: JsonObject = {}): Promise<Tenant> => {
  const made = await create(name, more);
  assert.equal(made.code, 0, made.message);
  const uid = text(made.reply, "uid");
  const owner = await makeIdentity(uid);
  await bind(uid, owner, "owner");
  const token = await world.token(owner);
  return { uid, token, registry: openRegistry(world.url, `Bearer ${token}`) };
};
const rename = (uid: string, name: string, token?: string) =>
  world.call(`${groups}/UpdateGroup`, { group: { uid, name }, updateMask: "name" }, token === undefined ? {} : { token });
const verify = (uid: string, name: string) =>
  world.call(`${groups}/UpdateGroup`, { group: { uid, name, verified: true, kind: "ORG_KIND_CUSTOMER" }, updateMask: "name,verified,kind" });
const nameOf = async (uid: string): Promise<string> => text(await world.ok(`${groups}/GetGroup`, { uid }), "name");
const deleteTenant = async ({ uid }: Tenant): Promise<void> => {
  for (const [service, noun] of [
    ["registry.Repos", "Repo"],
    ["iam.Identities", "Identity"],
    ["iam.Groups", "Group"],
  ] as const) {
    const listed = await world.ok(`${service}Service/List${service.replace(/^.*\./, "")}`, { uidp: { descendantsOf: uid } });
    const [rows = []] = Object.values(listed).filter((each) => Array.isArray(each)) as JsonObject[][];
    for (const row of rows) await world.ok(`${service}Service/Delete${noun}`, { uid: text(row, "uid") });
  }
  await world.ok(`${groups}/DeleteGroup`, { uid });
};
const tagsOf = async (client: RegistryClient, repo: string): Promise<unknown> => {
  const answer = await client.send("GET", `${repo}/tags/list`);
  return answer.status === 200 ? ((await answer.json()) as JsonObject).tags : answer.status;
};
const anonymous = (): RegistryClient => openRegistry(world.url, "");
const pull = async (client: RegistryClient, repo: string, tag = "latest"): Promise<number> => (await client.send("GET", `${repo}/manifests/${tag}`)).status;
const push = (client: RegistryClient, repo: string, tag = "latest") =>
  client.send("PUT", `${repo}/manifests/${tag}`, { body: JSON.stringify(empty), headers: { "content-type": indexType } });
/** Renames in the database, as in a version without unique names. */
const renameInDatabase = async (uid: string, name: string): Promise<void> => {
  await asOwner(world.databaseUrl, "alter table groups disable trigger groups_renamed");
  assert.equal((await rename(uid, name)).code, 0);
  await asOwner(world.databaseUrl, "alter table groups enable trigger groups_renamed");
};

test("attack 271: neither a rename nor a create can take another organization's name, in any disguise", async () => {
  await makeTenant("premium10.example");
  const attacker = await makeTenant("attacker");
  for (const name of ["premium10.example", "prerniurn10.example", "premiuml0.example", "premiumlo.example", " premium10.example", "premium10.example  "]) {
    assert.equal((await rename(attacker.uid, name, attacker.token)).code, codes.ALREADY_EXISTS, name);
    assert.equal((await create(name)).code, codes.ALREADY_EXISTS, name);
    const tried = await world.call(
      `${groups}/UpdateGroup`,
      { group: { uid: attacker.uid, name }, updateMask: "name" },
      { token: attacker.token, validateOnly: true },
    );
    assert.equal(tried.code, codes.ALREADY_EXISTS, `${name}, tried`);
  }
  // Case, compatibility forms, Cyrillic, zero-width characters, mixed scripts: the contract allows none of them.
  for (const name of [
    "Premium10.example",
    "ｐremium10.example",
    "рremium10.example",
    "premium10\u200b.example",
    "premium10.ехample",
    "ⓟremium10.example",
    "premium１0.example",
  ]) {
    for (const protocol of ["rest", "grpc"] as const) {
      const refused = await world.call(
        `${groups}/UpdateGroup`,
        { group: { uid: attacker.uid, name }, updateMask: "name" },
        { token: attacker.token, protocol },
      );
      assert.equal(refused.code, codes.INVALID_ARGUMENT, JSON.stringify(name));
    }
    assert.equal((await create(name)).code, codes.INVALID_ARGUMENT, JSON.stringify(name));
  }
  assert.equal(await nameOf(attacker.uid), "attacker");
});

test("attack 271: of concurrent creates of organizations with one name, one succeeds", async () => {
  const made = await Promise.all(Array.from({ length: 8 }, () => create("same-moment")));
  assert.deepEqual(made.map(({ code }) => code).toSorted(), [0, ...Array.from({ length: 7 }, () => codes.ALREADY_EXISTS)].toSorted());
});

test("attack 272: a former name of an organization resolves to nothing and stays reserved until the operator releases it", async () => {
  const victim = await makeTenant("renamed.example");
  const attacker = await makeTenant("snatcher");
  assert.equal((await push(victim.registry, "renamed.example/app", "theirs")).status, 201);
  assert.equal((await push(attacker.registry, "snatcher/app", "evil")).status, 201);
  assert.equal((await rename(victim.uid, "newname.example", victim.token)).code, 0);
  assert.equal((await rename(attacker.uid, "renamed.example", attacker.token)).code, codes.ALREADY_EXISTS);
  assert.equal((await create("renamed.example")).code, codes.ALREADY_EXISTS);
  assert.equal(await pull(anonymous(), "renamed.example/app", "theirs"), 401);
  assert.equal(await pull(victim.registry, "renamed.example/app", "theirs"), 404);
  assert.equal(await pull(anonymous(), "newname.example/app", "theirs"), 200);
  assert.equal((await rename(victim.uid, "renamed.example", victim.token)).code, 0, "it is reserved for the organization that had it");
  assert.equal(await pull(anonymous(), "renamed.example/app", "theirs"), 200);
  assert.equal((await rename(attacker.uid, "newname.example", attacker.token)).code, codes.ALREADY_EXISTS, "images were served under this name, too");
});

test("attack 272: the name of a deleted organization stays reserved, and an undelete restores it", async () => {
  const victim = await makeTenant("deleted.example");
  const attacker = await makeTenant("vulture");
  assert.equal((await push(victim.registry, "deleted.example/app")).status, 201);
  const unused = text((await create("unused.example")).reply, "uid");
  await deleteTenant(victim);
  await world.ok(`${groups}/DeleteGroup`, { uid: unused });
  for (const name of ["deleted.example", "unused.example"]) assert.equal((await rename(attacker.uid, name, attacker.token)).code, codes.ALREADY_EXISTS, name);
  const deletions = "gantry.deletions.v1.DeletionsService";
  const deletionOf = async (uid: string): Promise<string> =>
    text(objectList(await world.ok(`${deletions}/ListDeletions`, { resourceUids: [uid] }), "deletions")[0] ?? {}, "uid");
  assert.equal((await world.call(`${deletions}/UndeleteDeletion`, { uid: await deletionOf(victim.uid) })).code, 0);
  assert.equal(await nameOf(victim.uid), "deleted.example");
  // A name without a possible undelete and without images is free.
  await world.ok(`${deletions}/ExpungeDeletion`, { uid: await deletionOf(unused) });
  assert.equal((await rename(attacker.uid, "unused.example", attacker.token)).code, 0);
});

test("attack 272: an undelete does not reclaim a name that the operator has released to another organization", async () => {
  const victim = await makeTenant("released.example");
  assert.equal((await push(victim.registry, "released.example/app")).status, 201);
  await deleteTenant(victim);
  await asOwner(world.databaseUrl, "delete from group_names where name = 'released.example' and not held");
  assert.equal((await create("released.example")).code, 0);
  const deletions = "gantry.deletions.v1.DeletionsService";
  const [kept = {}] = objectList(await world.ok(`${deletions}/ListDeletions`, { resourceUids: [victim.uid] }), "deletions");
  const refused = await world.call(`${deletions}/UndeleteDeletion`, { uid: text(kept, "uid") });
  assert.equal(refused.code, codes.FAILED_PRECONDITION);
  assert.match(refused.message, /released\.example is taken by another group/);
});

test("attack 273: an organization cannot reserve every name by renaming itself", async () => {
  const attacker = await makeTenant("squatter-0");
  assert.equal((await push(attacker.registry, "squatter-0/app")).status, 201);
  const renamed: number[] = [];
  for (let index = 1; index <= 12; index++) renamed.push((await rename(attacker.uid, `squatter-${index}x`, attacker.token)).code);
  assert.deepEqual(renamed, [...Array.from({ length: 10 }, () => 0), codes.FAILED_PRECONDITION, codes.FAILED_PRECONDITION]);
  const idle = await makeTenant("idle-0");
  for (let index = 1; index <= 12; index++) assert.equal((await rename(idle.uid, `idle-${index}x`, idle.token)).code, 0);
  assert.equal((await create("idle-5x")).code, 0, "a name that no image was known by is free at once");
});

test("attack 274: an organization named after a domain loses the name, with an event, once the operator verifies the domain's owner", async () => {
  const attacker = await makeTenant("domain.example");
  assert.equal((await push(attacker.registry, "domain.example/app", "evil")).status, 201);
  assert.equal(await pull(anonymous(), "domain.example/app", "evil"), 200);
  const owner = await makeTenant("later");
  assert.equal((await verify(owner.uid, "domain.example")).code, 0);
  assert.match(await nameOf(attacker.uid), /^domain\.example-[0-9a-f]{16}$/);
  const told = (await world.events()).filter(({ type, subject }) => type.endsWith("iam.group.updated.v1") && subject === attacker.uid);
  assert.equal(told.length, 1);
  for (const client of [anonymous(), attacker.registry, owner.registry]) assert.notEqual(await pull(client, "domain.example/app", "evil"), 200);
  assert.equal((await push(owner.registry, "domain.example/app", "ours")).status, 201);
  assert.equal(await pull(anonymous(), "domain.example/app", "ours"), 200);
  assert.equal((await rename(attacker.uid, "domain.example", attacker.token)).code, codes.ALREADY_EXISTS);
});

test("attack 275: an anonymous pull of a verified name reaches only the verified organization, even if another had the path first", async () => {
  const owner = await makeTenant("image.example", { verified: true, kind: "ORG_KIND_CUSTOMER" });
  const attacker = await makeTenant("imposter");
  assert.equal((await push(attacker.registry, "imposter/app", "evil")).status, 201);
  await rename(attacker.uid, "image.example", attacker.token);
  assert.notEqual(await pull(anonymous(), "image.example/app", "evil"), 200);
  // As before names were unique.
  await renameInDatabase(attacker.uid, "image.example");
  assert.notEqual(await pull(anonymous(), "image.example/app", "evil"), 200);
  assert.equal((await push(owner.registry, "image.example/app", "ours")).status, 201);
  for (const client of [anonymous(), attacker.registry, owner.registry]) {
    assert.equal(await pull(client, "image.example/app", "ours"), 200);
    assert.notEqual(await pull(client, "image.example/app", "evil"), 200);
  }
});

test("attack 276: a push by a member of two organizations reaches the one with that name; bindings never choose it", async () => {
  const person = { issuer: "https://people.example.com", subject: "victim", email: "", name: "" };
  const victim = await registerPerson(world.server.application.kernel, person);
  const token = await world.token(victim);
  const client = openRegistry(world.url, `Bearer ${token}`);
  const ours = await world.ok(`${groups}/CreateGroup`, { group: { name: "bound.example" } }, { token });
  const attacker = await makeTenant("lurker");
  assert.equal((await push(attacker.registry, "lurker/tools")).status, 201);
  await rename(attacker.uid, "bound.example", attacker.token);
  await world.ok(
    "iam.RoleBindingsService/CreateRoleBinding",
    { parent: attacker.uid, roleBinding: { identityUid: victim, roleUid: builtInRoleUid("owner") } },
    { token: attacker.token },
  );
  const pushed = await push(client, "bound.example/app", "mine");
  assert.equal(pushed.status, 201, await pushed.text());
  const reposOf = async (uid: string): Promise<string[]> =>
    objectList(await world.ok("registry.ReposService/ListRepos", { uidp: { descendantsOf: uid } }), "repos").map((each) => text(each, "name"));
  assert.deepEqual(await reposOf(text(ours, "uid")), ["app"]);
  assert.deepEqual(await reposOf(attacker.uid), ["tools"]);
  assert.notEqual(await pull(client, "bound.example/tools"), 200);
});

test("attack 276: a legacy name that two organizations share resolves to nothing until the operator decides", async () => {
  const [ours, attacker] = [await makeTenant("disputed.example"), await makeTenant("disputer")];
  assert.equal((await push(ours.registry, "disputed.example/app", "ours")).status, 201);
  assert.equal((await push(attacker.registry, "disputer/tools", "evil")).status, 201);
  await renameInDatabase(attacker.uid, "disputed.example");
  for (const [client, status] of [
    [ours.registry, 404],
    [attacker.registry, 404],
    [anonymous(), 401],
  ] as const)
    for (const path of ["disputed.example/app", "disputed.example/tools"])
      for (const tag of ["ours", "evil"]) assert.equal(await pull(client, path, tag), status, `${path}:${tag}`);
  for (const client of [ours.registry, attacker.registry]) assert.deepEqual(await errorsIn(await push(client, "disputed.example/new")), ["NAME_UNKNOWN"]);
  const refused = await rename(ours.uid, "elsewhere.example", ours.token);
  assert.equal(refused.code, codes.FAILED_PRECONDITION, "else the name would lead to the other one from then on");
  assert.equal((await rename(attacker.uid, "disputer", undefined)).code, 0);
  assert.equal(await pull(anonymous(), "disputed.example/app", "ours"), 200);
  assert.equal(await pull(attacker.registry, "disputed.example/app", "ours"), 200, "anonymous pulls are allowed here");
});

test("attack 277: a path resolves to the same repo for every caller; permissions decide only access to it", async () => {
  const ours = await makeTenant("one.example");
  const stranger = await makeTenant("stranger.example");
  assert.equal((await push(ours.registry, "one.example/team/app")).status, 201);
  const reader = await makeIdentity(ours.uid);
  await bind(ours.uid, reader, "viewer");
  const seeing = openRegistry(world.url, `Bearer ${await world.token(reader)}`);
  assert.deepEqual(await errorsIn(await push(stranger.registry, "one.example/team/app")), ["NAME_UNKNOWN"]);
  assert.deepEqual(await errorsIn(await push(stranger.registry, "one.example/team/new")), ["NAME_UNKNOWN"]);
  assert.deepEqual(await errorsIn(await push(stranger.registry, "absent.example/app")), ["NAME_UNKNOWN"]);
  assert.deepEqual(await errorsIn(await push(seeing, "one.example/team/app")), ["DENIED"]);
  assert.equal((await push(anonymous(), "one.example/team/app")).status, 401);
  assert.equal((await push(anonymous(), "absent.example/app")).status, 401);
  assert.deepEqual(await tagsOf(stranger.registry, "one.example/team/app"), 404);
});

test("attack 278: a group cannot take a sibling's name, and a name that siblings share resolves to nothing", async () => {
  const ours = await makeTenant("siblings.example");
  const make = (name: string) => world.call(`${groups}/CreateGroup`, { parent: ours.uid, group: { name } }, { token: ours.token });
  assert.equal((await make("modern")).code, 0);
  for (const name of ["modern", "modem", "rnodern", "modern "]) assert.equal((await make(name)).code, codes.ALREADY_EXISTS, name);
  const other = text((await make("other")).reply, "uid");
  assert.equal((await rename(other, "modem", ours.token)).code, codes.ALREADY_EXISTS);
  assert.equal((await world.call(`${groups}/CreateGroup`, { parent: other, group: { name: "modern" } })).code, 0, "below another group it is free");
  assert.equal((await push(ours.registry, "siblings.example/modern/app")).status, 201);
  assert.notEqual((await push(ours.registry, "siblings.example/modem/app")).status, 201);
  await renameInDatabase(other, "modern");
  assert.equal(await pull(ours.registry, "siblings.example/modern/app"), 404);
  assert.deepEqual(await errorsIn(await push(ours.registry, "siblings.example/modern/app")), ["NAME_UNKNOWN"]);
  assert.deepEqual(await errorsIn(await push(ours.registry, "siblings.example/modern/new")), ["NAME_UNKNOWN"]);
  assert.equal((await rename(other, "other", ours.token)).code, 0, "in its own organization a tenant decides");
  assert.equal(await pull(ours.registry, "siblings.example/modern/app"), 200);
  assert.equal((await make("passing")).code, 0);
  const [passing = {}] = objectList(await world.ok(`${groups}/ListGroups`, { name: "passing", uidp: { childrenOf: ours.uid } }), "groups");
  await world.ok(`${groups}/DeleteGroup`, { uid: text(passing, "uid") }, { token: ours.token });
  assert.equal((await make("passing")).code, 0);
});
