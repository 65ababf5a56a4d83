// Attacks 176-181: undelete as a way to gain permissions, through others' deletions, expired permissions, reassigned names and reused uids.
// Attacks 212 and 213: users deprovisioned meanwhile, and concurrency.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { capabilityByName } from "#contract/capabilities.ts";
import { builtInRoles as builtIn } from "../../server/authz/roles.ts";
import { defaultPeriods } from "#base/retention-periods.ts";
import { retentions } from "../../server/application/retentions.ts";
import pg from "pg";
import { asOwner } from "../database.ts";
import { newConfig, openRegistryClient } from "../registry/images.ts";
import { until } from "../replicated-postgres.ts";
import { makeOwners, openScimProvider } from "../scim.ts";
import { createIdentity } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

const deletions = "gantry.deletions.v1.DeletionsService";
const minute = 60_000;
const claimMatch = { issuer: "https://issuer.example.com", subject: "somebody" };

let world: World;
let other: string;
before(async () => {
  world = await openWorld();
  other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "another organization" } }), "uid");
});
after(() => world?.close());

const symbols = (names: readonly string[]): string[] => names.map((name) => capabilityByName(name)?.symbol ?? assert.fail(name));
const role = async (names: readonly string[], parent = world.organization): Promise<string> =>
  text(await world.ok("iam.RolesService/CreateRole", { parent, role: { name: "some", capabilities: symbols(names) } }), "uid");
const bind = async (parent: string, identityUid: string, roleUid: string, endMs?: number): Promise<string> =>
  text(
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
      parent,
      roleBinding: { identityUid, roleUid, ...(endMs === undefined ? {} : { expireTime: new Date(endMs).toISOString() }) },
    }),
    "uid",
  );
const someone = (group = world.organization): Promise<string> => createIdentity(world, group, "somebody", claimMatch);
/** Returns a token of a new identity with exactly these capabilities. */
const holder = async (
  names: readonly string[],
  place = world.organization,
): Promise<{ readonly uid: string; readonly token: string; readonly binding: string }> => {
  const uid = await someone(place);
  const binding = await bind(place, uid, await role(names, place));
  return { uid, binding, token: await world.token(uid) };
};
const folder = async (parent = world.organization): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name: "team" } }), "uid");
const remove = async (method: string, uid: string, token?: string): Promise<string> => {
  await world.ok(method, { uid }, token === undefined ? {} : { token });
  const [found] = objectList(await world.ok(`${deletions}/ListDeletions`, { resourceUids: [uid] }), "deletions");
  return text(found ?? assert.fail("nothing is kept"), "uid");
};
const undelete = (uid: string, token?: string) => world.call(`${deletions}/UndeleteDeletion`, { uid }, token === undefined ? {} : { token });
const listed = async (request: JsonObject, token: string): Promise<string[]> =>
  objectList(await world.ok(`${deletions}/ListDeletions`, request, { token }), "deletions").map((each) => text(each, "uid"));
const isThere = async (method: string, uid: string): Promise<boolean> => (await world.call(method, { uid })).code === 0;

const all = ["gantry.deletions.list", "gantry.deletions.undelete", "gantry.deletions.expunge"];

test("attack 176: an owner cannot see, restore or expunge another organization's deletions, nor a deleted organization", async () => {
  const mine = await holder([...all, "repo.create", "repo.list", "groups.list", "groups.create"]);
  const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: other, repo: { name: "theirs" } }), "uid");
  const theirs = await remove("registry.ReposService/DeleteRepo", repo);
  const gone = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "a third organization" } }), "uid");
  const owned = await holder([...all, "groups.create", "groups.delete"], gone);
  const third = await remove("iam.GroupsService/DeleteGroup", await folder(gone));
  await world.ok("iam.IdentitiesService/DeleteIdentity", { uid: owned.uid });
  for (const uid of [theirs, third]) {
    const absent = `${uid.slice(0, -16)}${"0".repeat(16)}`;
    for (const verb of ["GetDeletion", "UndeleteDeletion", "ExpungeDeletion"]) {
      const answer = await world.call(`${deletions}/${verb}`, { uid }, { token: mine.token });
      assert.equal(answer.code, codes.PERMISSION_DENIED);
      // The error does not reveal if the deletion exists.
      assert.equal((await world.call(`${deletions}/${verb}`, { uid: absent }, { token: mine.token })).message, answer.message);
    }
    for (const request of [{}, { resourceUids: [repo] }, { uidp: { descendantsOf: uid.slice(0, 40) } }, { uidp: { ids: [uid] } }])
      assert.ok(!(await listed(request, mine.token)).includes(uid));
  }
  assert.equal(await isThere("registry.ReposService/GetRepo", repo), false);
  assert.deepEqual((await undelete(theirs)).code, 0, "the operator may");
});

test("attack 176: only the operator sees and restores a deleted organization", async () => {
  const root = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "a fourth organization" } }), "uid");
  const person = "ab".repeat(20);
  await bind(root, person, builtInRoleUid("owner"));
  const uid = await remove("iam.GroupsService/DeleteGroup", root);
  const owner = await holder([...all, "groups.create"]);
  assert.ok(uid.startsWith(`${root}/`), uid);
  assert.equal((await undelete(uid, owner.token)).code, codes.PERMISSION_DENIED);
  assert.ok(!(await listed({}, owner.token)).includes(uid));
  assert.equal((await undelete(uid)).code, 0);
  assert.ok(await isThere("iam.GroupsService/GetGroup", root));
});

test("attack 177: an undelete requires the permissions it restores and the permission to create the resource", async () => {
  const team = await folder();
  const strong = await bind(team, await someone(), builtInRoleUid("owner"));
  const deletion = await remove("iam.RoleBindingsService/DeleteRoleBinding", strong);
  const weak = await holder([...all, "role_bindings.create", "repo.list"]);
  const answer = await undelete(deletion, weak.token);
  assert.equal(answer.code, codes.PERMISSION_DENIED, answer.message);
  // The same within a group that is deleted with it, since its content is granted too.
  const within = await bind(team, await someone(), builtInRoleUid("owner"));
  const group = await remove("iam.GroupsService/DeleteGroup", team);
  const builder = await holder([...all, "groups.create", "groups.list", "role_bindings.create"]);
  assert.equal((await undelete(group, builder.token)).code, codes.PERMISSION_DENIED);
  assert.equal(await isThere("iam.GroupsService/GetGroup", team), false);
  // All permissions, but not the one to bind.
  const owned = capabilityNames("owner").filter((name) => name !== "role_bindings.create");
  assert.equal((await undelete(group, (await holder(owned)).token)).code, codes.PERMISSION_DENIED);
  assert.equal((await undelete(group)).code, 0);
  assert.ok(await isThere("iam.RoleBindingsService/GetRoleBinding", within));
  // Roles: creating one requires its capabilities.
  const wide = await role(["repo.list", "groups.delete"]);
  const kept = await remove("iam.RolesService/DeleteRole", wide);
  assert.equal((await undelete(kept, (await holder([...all, "roles.create", "repo.list"])).token)).code, codes.PERMISSION_DENIED);
  assert.equal((await undelete(kept, (await holder([...all, "roles.create", "repo.list", "groups.delete"])).token)).code, 0);
});

const capabilityNames = (name: string): string[] => [...(builtIn[name] ?? assert.fail(name))];

test("attack 177: an identity is restored with its bindings and keys, and requires the permissions of both", async () => {
  const team = await folder();
  const robot = await someone();
  await bind(team, robot, builtInRoleUid("owner"));
  const deletion = await remove("iam.IdentitiesService/DeleteIdentity", robot);
  const clerk = await holder([...all, "identity.create", "role_bindings.create", "identity.list"]);
  const refused = await undelete(deletion, clerk.token);
  assert.equal(refused.code, codes.PERMISSION_DENIED, refused.message);
  assert.equal(await isThere("iam.IdentitiesService/GetIdentity", robot), false);
  assert.equal((await undelete(deletion)).code, 0);
});

test("attack 177: restoring images requires the permission to push them", async () => {
  const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "pushed" } }), "uid");
  const client = openRegistryClient(world.url, () => world.token());
  await client.pushManifest("first-organization/pushed", "", [
    { digest: await client.pushBlob("first-organization/pushed", newConfig()), size: newConfig().length },
  ]);
  const deletion = await remove("registry.ReposService/DeleteRepo", repo);
  const answer = await undelete(deletion, (await holder([...all, "repo.create", "tag.create", "groups.list"])).token);
  assert.equal(answer.code, codes.PERMISSION_DENIED);
  assert.match(answer.message, /manifest\.create is required/);
  assert.equal((await undelete(deletion, (await holder([...all, "repo.create", "tag.create", "manifest.create"])).token)).code, 0);
});

test("attack 178: a caller without the permission to grant cannot regrant a binding by undelete, nor beyond their own expiry", async () => {
  const given = ["repo.list", "tag.list"];
  const giver = await holder([...all, "role_bindings.create", "role_bindings.delete", "groups.list"]);
  const rights = await bind(world.organization, giver.uid, await role(given));
  const receiver = await someone();
  const binding = text(
    await world.ok(
      "iam.RoleBindingsService/CreateRoleBinding",
      { parent: world.organization, roleBinding: { identityUid: receiver, roleUid: await role(given) } },
      { token: giver.token },
    ),
    "uid",
  );
  const deletion = await remove("iam.RoleBindingsService/DeleteRoleBinding", binding, giver.token);
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: rights });
  assert.equal((await undelete(deletion, giver.token)).code, codes.PERMISSION_DENIED);
  // For ten minutes: a binding without an expiry would outlive that.
  await bind(world.organization, giver.uid, await role(given), world.clock.now + 10 * minute);
  const short = await undelete(deletion, giver.token);
  assert.equal(short.code, codes.PERMISSION_DENIED);
  assert.match(short.message, /from a role binding without expiry can grant it permanently$/);
  assert.equal(await isThere("iam.RoleBindingsService/GetRoleBinding", binding), false);
});

test("attack 179: an expired binding or deletion stays deleted, alone and within a restored resource", async () => {
  const team = await folder();
  const [brief, lasting] = [
    await bind(team, await someone(), builtInRoleUid("viewer"), world.clock.now + 10 * minute),
    await bind(team, await someone(), builtInRoleUid("viewer")),
  ];
  const alone = await bind(world.organization, await someone(), builtInRoleUid("viewer"), world.clock.now + 10 * minute);
  const deletion = await remove("iam.RoleBindingsService/DeleteRoleBinding", alone);
  const group = await remove("iam.GroupsService/DeleteGroup", team);
  world.clock.now += 20 * minute;
  const ended = await undelete(deletion);
  assert.equal(ended.code, codes.FAILED_PRECONDITION);
  assert.match(ended.message, /cannot undelete role binding: it has expired/);
  const { code, reply } = await undelete(group);
  assert.equal(code, 0);
  assert.deepEqual(
    objectList(reply, "leftOut").map(({ resourceUid, reason }) => [resourceUid, reason]),
    [[brief, "it has expired (expireTime)"]],
  );
  assert.deepEqual(
    [await isThere("iam.RoleBindingsService/GetRoleBinding", brief), await isThere("iam.RoleBindingsService/GetRoleBinding", lasting)],
    [false, true],
  );
  world.clock.now += 31 * 24 * 60 * minute;
  for (const verb of ["UndeleteDeletion"]) assert.equal((await world.call(`${deletions}/${verb}`, { uid: deletion })).code, codes.NOT_FOUND);
});

test("attack 180: a list filter is limited to the caller's view, and a page token works for its caller only", async () => {
  const team = await folder();
  for (let count = 0; count < 3; count++) {
    const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: team, repo: { name: `repo-${count}` } }), "uid");
    await remove("registry.ReposService/DeleteRepo", repo);
  }
  const [above, below] = [await holder(all), await holder(all, team)];
  const inTeam = await listed({}, below.token);
  assert.equal(inTeam.length, 3);
  assert.ok(inTeam.every((uid) => uid.startsWith(`${team}/`)));
  for (const request of [{ uidp: { descendantsOf: world.organization } }, { uidp: { childrenOf: world.organization } }, { uidp: { inRoot: true } }])
    assert.ok((await listed(request, below.token)).every((uid) => uid.startsWith(`${team}/`)));
  const page = await world.ok(`${deletions}/ListDeletions`, { pageSize: 1 }, { token: above.token });
  const foreign = await world.call(`${deletions}/ListDeletions`, { pageSize: 1, pageToken: text(page, "nextPageToken") }, { token: below.token });
  assert.equal(foreign.code, codes.INVALID_ARGUMENT);
  const another = await world.call(
    `${deletions}/ListDeletions`,
    { pageSize: 1, pageToken: text(page, "nextPageToken"), resourceUids: [team] },
    { token: above.token },
  );
  assert.equal(another.code, codes.INVALID_ARGUMENT);
});

test("attack 181: an undelete takes back neither a reassigned name nor the uid of an active identity", async () => {
  const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "squat" } }), "uid");
  const deletion = await remove("registry.ReposService/DeleteRepo", repo);
  const next = await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "squat" } });
  const taken = await undelete(deletion);
  assert.equal(taken.code, codes.ALREADY_EXISTS);
  assert.equal(taken.message, 'Repo "squat" already exists');
  assert.notEqual(text(next, "uid"), repo);
  await world.ok("registry.ReposService/DeleteRepo", { uid: text(next, "uid") });
  assert.equal((await undelete(deletion)).code, 0);
  assert.equal(await isThere("registry.ReposService/GetRepo", repo), true);
  assert.equal((await undelete(deletion)).code, codes.NOT_FOUND);
  // A group loses its association and gets another one under the same uid.
  const team = await folder();
  const association = { parent: team, accountAssociation: { name: "one", amazon: { account: "123456789012" } } };
  await world.ok("iam.AccountAssociationsService/CreateAccountAssociation", association);
  const first = await remove("iam.AccountAssociationsService/DeleteAccountAssociation", team);
  await world.ok("iam.AccountAssociationsService/CreateAccountAssociation", association);
  assert.equal((await undelete(first)).code, codes.ALREADY_EXISTS);
});

test("attack 181: a deleted identity's keys do not work while it is kept", async () => {
  const { publicKey, privateKey } = await generateKeyPair("RS256");
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: "own", alg: "RS256", use: "sig" }] };
  const subject = "machine";
  const issuer = "https://static.example.com";
  const uid = text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: world.organization,
      identity: { name: "machine", staticKeys: { issuer, subject, issuerKeys: JSON.stringify(keys) } },
    }),
    "uid",
  );
  const signed = (): Promise<string> =>
    new SignJWT({})
      .setProtectedHeader({ alg: "RS256", kid: "own" })
      .setIssuer(issuer)
      .setSubject(subject)
      .setAudience(world.url)
      .setIssuedAt(Math.floor(world.clock.now / 1000))
      .setExpirationTime(Math.floor(world.clock.now / 1000) + 600)
      .sign(privateKey);
  const tries = async (): Promise<number> => {
    const response = await fetch(`${world.url}/sts/exchange?identity=${encodeURIComponent(uid)}&aud=${encodeURIComponent(world.url)}`, {
      headers: { authorization: `Bearer ${await signed()}` },
    });
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await tries(), 200);
  const own = await world.token(uid);
  const deletion = await remove("iam.IdentitiesService/DeleteIdentity", uid);
  assert.notEqual(await tries(), 200);
  assert.equal((await world.call("iam.GroupsService/ListGroups", {}, { token: own })).code, codes.UNAUTHENTICATED);
  assert.equal((await undelete(deletion)).code, 0);
  assert.equal(await tries(), 200);
});

test("attack 212: a user deprovisioned by SCIM regains nothing from earlier deletions, with a group or alone", async () => {
  await makeOwners(world);
  const provider = await openScimProvider(world);
  const { authn } = world.server.application.services;
  const user = async (name: string): Promise<{ readonly id: string; readonly person: string }> => {
    const { status, body } = await provider.ask("POST", "/Users", { userName: `${name}@example.com`, externalId: name, active: true });
    assert.equal(status, 201, JSON.stringify(body));
    return { id: text(body, "id"), person: authn.personUid("https://login.example.com", name) };
  };
  const [staying, deactivated, removed] = [await user("staying"), await user("deactivated"), await user("removed")];
  const team = await folder();
  const [kept, first, second] = [
    await bind(team, staying.person, builtInRoleUid("owner")),
    await bind(team, deactivated.person, builtInRoleUid("owner")),
    await bind(team, removed.person, builtInRoleUid("owner")),
  ];
  const beside = await folder();
  const alone = await remove("iam.RoleBindingsService/DeleteRoleBinding", await bind(beside, deactivated.person, builtInRoleUid("owner")));
  const elsewhere = await remove("iam.RoleBindingsService/DeleteRoleBinding", await bind(other, deactivated.person, builtInRoleUid("owner")));
  const group = await remove("iam.GroupsService/DeleteGroup", team);
  assert.equal((await provider.ask("PATCH", `/Users/${deactivated.id}`, { Operations: [{ op: "replace", value: { active: false } }] })).status, 200);
  assert.equal((await provider.ask("DELETE", `/Users/${removed.id}`)).status, 204);

  const back = await undelete(group);
  assert.equal(back.code, 0, back.message);
  const why = "was deactivated or removed by an identity provider (SCIM)";
  assert.deepEqual(
    objectList(back.reply, "leftOut")
      .map(({ resourceUid, reason }) => [resourceUid, reason])
      .sort(),
    [
      [first, `identityUid ${deactivated.person} ${why}`],
      [second, `identityUid ${removed.person} ${why}`],
    ].sort(),
  );
  for (const [uid, isBack] of [
    [kept, true],
    [first, false],
    [second, false],
  ] as const)
    assert.equal(await isThere("iam.RoleBindingsService/GetRoleBinding", uid), isBack);
  const refused = await undelete(alone);
  assert.equal(refused.code, codes.FAILED_PRECONDITION);
  assert.match(refused.message, /was deactivated or removed by an identity provider/);
  assert.equal((await undelete(elsewhere)).code, 0);
  assert.equal((await provider.ask("PATCH", `/Users/${deactivated.id}`, { Operations: [{ op: "replace", value: { active: true } }] })).status, 200);
  assert.equal((await undelete(alone)).code, 0);
});

const deletionsRetention = retentions.find(({ table }) => table === "deletions") ?? assert.fail();
const store = () => world.server.application.services.store;
const countKept = async (deletion: string): Promise<number> =>
  Number((await store().read.query("select count(*) from deleted_rows where deletion_uid = $1", [deletion]))[0]?.[0]);

const removedTeam = async (count = 5): Promise<{ readonly team: string; readonly deletion: string }> => {
  const team = await folder();
  for (let number = 0; number < count; number++) await bind(team, await someone(), builtInRoleUid("viewer"));
  return { team, deletion: await remove("iam.GroupsService/DeleteGroup", team) };
};
const countBindings = async (team: string): Promise<number> =>
  objectList(await world.ok("iam.RoleBindingsService/ListRoleBindings", { uidp: { descendantsOf: team } }), "roleBindings").length;

test("attack 213: retention skips a deletion during an undelete, and one it is removing is never partly restored", async () => {
  const { team, deletion } = await removedTeam();
  const kept = await countKept(deletion);
  const [place] = await store().read.query("select left(resource_uid, -17) from deletions where uid = $1", [deletion]);
  const holder = new pg.Client({ connectionString: world.databaseUrl });
  await holder.connect();
  try {
    // The undelete holds the deletion's lock and waits for its parent.
    await holder.query("begin");
    await holder.query("select 1 from groups where uid = $1 for update", [place?.[0]]);
    const coming = undelete(deletion);
    await until(async () => ((await holder.query("select from pg_locks where not granted")).rows.length > 0 ? true : undefined));
    // By the clock of another server, a month later.
    const later = world.clock.now + 40 * 24 * 60 * minute;
    while ((await deletionsRetention.deleteExpired(store(), later, defaultPeriods)).more);
    assert.equal(await countKept(deletion), kept);
    await holder.query("rollback");
    assert.equal((await coming).code, 0);
    assert.equal(await countBindings(team), 5);
  } finally {
    await holder.end();
  }
  const begun = await removedTeam();
  await asOwner(
    world.databaseUrl,
    `delete from deleted_rows where deletion_uid = $1
       and number = (select max(number) from deleted_rows where deletion_uid = $1 and table_name = 'role_bindings')`,
    [begun.deletion],
  );
  assert.equal((await undelete(begun.deletion)).code, codes.NOT_FOUND);
  assert.equal(await isThere("iam.GroupsService/GetGroup", begun.team), false);
  assert.equal((await world.call(`${deletions}/ExpungeDeletion`, { uid: begun.deletion })).code, 0);
});

test("attack 213: of two concurrent undeletes, or an undelete and an expunge, exactly one succeeds completely", async () => {
  for (const second of ["UndeleteDeletion", "ExpungeDeletion"]) {
    const { team, deletion } = await removedTeam();
    const told = (await world.events()).length;
    const answers = await Promise.all([undelete(deletion), world.call(`${deletions}/${second}`, { uid: deletion })]);
    assert.deepEqual(
      answers.map(({ code }) => code).sort((one, another) => one - another),
      [0, codes.NOT_FOUND],
    );
    const isBack = second === "UndeleteDeletion" || answers[0]?.code === 0;
    assert.equal(await isThere("iam.GroupsService/GetGroup", team), isBack);
    assert.equal(await countBindings(team), isBack ? 5 : 0);
    assert.equal((await world.events()).length - told, isBack ? 7 : 1);
    assert.equal(await countKept(deletion), 0);
  }
});
