// Memberships: a user belongs to an organization once the user accepts or the operator decides (decision 0067). Covers each way to join, what the
// organization sees, and the end.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";

import { type JsonObject, part, text } from "#base/json.ts";
import { registerPerson } from "../../server/application/person.ts";
import { entriesOf } from "../audit.ts";
import type { Protocol } from "../client.ts";
import { runGantry } from "../command-line.ts";
import { type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { openWorld, type World } from "../world.ts";
import { bind, createIdentity } from "./installation.ts";

const accept = "gantry.memberships.v1.MembershipsService/AcceptMembership";
const list = "gantry.memberships.v1.MembershipsService/ListMemberships";
const done = 0;
const protocols: readonly Protocol[] = ["rest", "grpc"];

let world: World;
let provider: FakeProvider;
let idp: string;
/** An owner of the organization, without operator permissions. */
let owner: string;

before(async () => {
  world = await openWorld({ GANTRY_OPEN_ORGANIZATIONS: "true" });
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
  const identity = await createIdentity(world, world.organization, "owner", { issuer: "https://issuer.example.com", subject: "owner" });
  await bind(world, world.organization, identity, "owner");
  owner = await world.token(identity);
});
after(async () => {
  await world?.close();
  await provider?.close();
});

let people = 0;
const newPerson = async (): Promise<{ readonly uid: string; readonly email: string; readonly token: string }> => {
  const email = `p${++people}@example.com`;
  const uid = await registerPerson(world.server.application.kernel, { issuer: "https://people.example.com", subject: `person ${people}`, email, name: "" });
  return { uid, email, token: await world.token(uid) };
};

const bindByOwner = (identityUid: string, parent = world.organization): Promise<JsonObject> =>
  world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid("viewer") } }, { token: owner });

const membershipsOf = async (token: string, protocol: Protocol = "rest"): Promise<JsonObject[]> =>
  ((await world.ok(list, {}, { token, protocol })).memberships ?? []) as JsonObject[];

const isSeen = async (uid: string): Promise<boolean> => {
  const { code } = await world.call("iam.IdentitiesService/GetIdentity", { uid }, { token: owner });
  const { roleBindings = [] } = await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: uid }, { token: owner });
  const named = (roleBindings as JsonObject[]).map((binding) => text(part(binding, "identity"), "name") !== "");
  assert.ok(named.length > 0 && named.every((each) => each === (code === done)), "the binding and the list of identities agree");
  return code === done;
};

for (const protocol of protocols)
  test(`a user bound by UID can accept once over ${protocol}, and is visible from then on`, async () => {
    const { uid, token } = await newPerson();
    const folder = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "folder" } }), "uid");
    await bindByOwner(uid, folder);
    assert.equal(await isSeen(uid), false);
    const asked = (await membershipsOf(token, protocol)).map(({ organizationUid, accepted = false, acceptTime }) => [organizationUid, accepted, acceptTime]);
    assert.deepEqual(asked, [[world.organization, false, undefined]]);
    const before = (await world.events()).length;
    const now = new Date(world.clock.now).toISOString();
    const agreed = await world.ok(accept, { group: folder }, { token, protocol });
    assert.deepEqual([agreed.organizationUid, agreed.identityUid, agreed.accepted, agreed.acceptTime], [world.organization, uid, true, now]);
    world.clock.now += 1_000;
    assert.deepEqual(await world.ok(accept, { group: world.organization }, { token, protocol }), agreed, "again it changes nothing");
    const told = (await world.events()).slice(before);
    assert.deepEqual(
      told.map(({ type, subject, group, actor }) => [type, subject, group, actor]),
      [["dev.gantry.memberships.membership.accepted.v1", uid, world.organization, uid]],
    );
    assert.deepEqual(await membershipsOf(token, protocol), [agreed]);
    assert.equal(await isSeen(uid), true);
    const entries = (await entriesOf(world, { callerUids: [uid] }, owner)).map(({ type, operation, subject }) => [type, operation, subject]);
    assert.deepEqual(entries, [["dev.gantry.memberships.membership.accepted.v1", accept, uid]], "the organization's log tells it");
  });

test("a dry run of an acceptance accepts nothing", async () => {
  const { uid, token } = await newPerson();
  await bindByOwner(uid);
  assert.equal((await world.call(accept, { group: world.organization }, { token, validateOnly: true })).code, done);
  assert.equal(await isSeen(uid), false);
});

test("accepting an invite is an acceptance, and its events show the user", async () => {
  const { uid, token, email } = await newPerson();
  const { code } = await world.ok(
    "iam.GroupInvitesService/CreateGroupInvite",
    { parent: world.organization, groupInvite: { roleUid: builtInRoleUid("viewer"), ttl: "86400s" } },
    { token: owner },
  );
  const before = (await world.events()).length;
  await world.ok("chainguard.platform.auth.Auth/Register", { code: String(code) }, { token });
  const made = (await world.events()).slice(before).find(({ type }) => type === "dev.chainguard.api.iam.rolebindings.created.v1");
  assert.equal(text(part(made?.body ?? {}, "identity"), "email"), email);
  assert.equal(await isSeen(uid), true);
});

test("an invite also accepts for a user bound by UID before, and emits the event of a registration", async () => {
  const { uid, token } = await newPerson();
  await bindByOwner(uid);
  const groupInvite = { roleUid: builtInRoleUid("viewer"), ttl: "86400s" };
  const { code } = await world.ok("iam.GroupInvitesService/CreateGroupInvite", { parent: world.organization, groupInvite }, { token: owner });
  const before = (await world.events()).length;
  await world.ok("chainguard.platform.auth.Auth/Register", { code: String(code) }, { token });
  assert.deepEqual(
    (await world.events()).slice(before).map(({ type, group }) => [type, group]),
    [["dev.chainguard.api.auth.registered.v1", world.organization]],
  );
  assert.equal(await isSeen(uid), true);
});

test("a sign-in through the organization's identity provider is an acceptance each time", async () => {
  const uid = world.server.application.services.authn.personUid(provider.url, "ada");
  await bindByOwner(uid);
  assert.equal(await isSeen(uid), false);
  await signIn(world, provider, idp, { sub: "ada" });
  assert.equal(await isSeen(uid), true);
  await world.server.application.services.store.write((rows) => rows.query("delete from memberships where identity_uid = $1", [uid]));
  assert.equal(await isSeen(uid), false);
  await signIn(world, provider, idp, { sub: "ada" });
  assert.equal(await isSeen(uid), true);
});

test("a role mapping counts for users who signed in through its provider, and not before", async () => {
  const uid = world.server.application.services.authn.personUid(provider.url, "charles");
  await world.ok("iam.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping", {
    parent: idp,
    externalGroupRoleMapping: { externalGroupId: "engines", roleUid: builtInRoleUid("viewer"), scope: world.organization },
  });
  await bindByOwner(uid);
  assert.equal(await isSeen(uid), false);
});

test("a user belongs to an organization that they create, or to which the operator binds them, singly or in a batch", async () => {
  const founder = await newPerson();
  const { uid: founded } = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "founded" } }, { token: founder.token });
  assert.deepEqual(
    (await membershipsOf(founder.token)).map(({ organizationUid, organizationName, accepted }) => [organizationUid, organizationName, accepted]),
    [[founded, "founded", true]],
  );
  const [one, other] = [await newPerson(), await newPerson()];
  await bind(world, world.organization, one.uid, "viewer");
  await world.ok("iam.RoleBindingsService/BatchCreateRoleBindings", {
    parent: world.organization,
    roleUid: builtInRoleUid("viewer"),
    requests: [{ roleBinding: { identityUid: other.uid } }],
  });
  assert.deepEqual([await isSeen(one.uid), await isSeen(other.uid)], [true, true]);
});

test("a batch or binding by any other caller creates no membership", async () => {
  const { uid } = await newPerson();
  await world.ok(
    "iam.RoleBindingsService/BatchCreateRoleBindings",
    { parent: world.organization, roleUid: builtInRoleUid("viewer"), requests: [{ roleBinding: { identityUid: uid } }] },
    { token: owner },
  );
  assert.equal(await isSeen(uid), false);
});

test("a membership ends with the user's identity or with the organization, without remains", async () => {
  const { uid, token } = await newPerson();
  const { uid: founded } = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "short-lived" } }, { token });
  await bind(world, world.organization, uid, "viewer");
  assert.equal((await membershipsOf(token)).length, 2);
  await world.ok("iam.GroupsService/DeleteGroup", { uid: String(founded) });
  const { read } = world.server.application.services.store;
  assert.deepEqual(await read.query("select 1 from memberships where organization_uid = $1", [String(founded)]), []);
  assert.deepEqual(
    (await membershipsOf(token)).map(({ organizationUid }) => organizationUid),
    [world.organization],
  );
  await world.ok("chainguard.platform.auth.Auth/Delete", { id: uid }, { token });
  assert.deepEqual(await read.query("select 1 from memberships where identity_uid = $1", [uid]), []);
});

test("the list of a user's organizations is paginated, in order, in both directions, and filtered by group", async () => {
  const { uid, token } = await newPerson();
  const made: string[] = [];
  for (let number = 0; number < 5; number++) {
    made.push(text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: `one of five ${number}` } }), "uid"));
    await bind(world, made.at(-1) ?? "", uid, "viewer");
  }
  await bindByOwner(uid);
  const every = [...made, world.organization].sort();
  for (const [orderBy, wanted] of [
    ["", every],
    ["organization_uid desc", every.toReversed()],
  ] as const) {
    const seen: string[] = [];
    for (let pageToken = ""; ; ) {
      const page = await world.ok(list, { pageSize: 2, pageToken, orderBy }, { token });
      assert.equal(page.totalCount, "6");
      seen.push(...(page.memberships as JsonObject[]).map(({ organizationUid }) => String(organizationUid)));
      pageToken = text(page, "nextPageToken");
      if (pageToken === "") break;
    }
    assert.deepEqual(seen, wanted);
  }
  const narrowed = async (uidp: JsonObject): Promise<unknown[]> =>
    ((await world.ok(list, { uidp }, { token })).memberships as JsonObject[]).map(({ organizationUid }) => organizationUid);
  const [first = "", second = ""] = every;
  assert.deepEqual(await narrowed({ ids: [first, second] }), [first, second]);
  assert.deepEqual(await narrowed({ descendantsOf: first }), []);
  assert.deepEqual(await narrowed({ ancestorsOf: `${second}/0123456789abcdef` }), [second]);
  assert.deepEqual(await narrowed({ ancestorsOf: second }), []);
  assert.deepEqual(await narrowed({ inRoot: true }), every);
});

test("the command line accepts and declines a pending organization by name, and finds no other by it", async () => {
  const { uid, token } = await newPerson();
  const folder = await mkdtemp(join(tmpdir(), "gantry-memberships-"));
  const run = (...args: string[]) =>
    runGantry(["iam", "memberships", ...args], { environment: { GANTRY_SERVER: world.url, GANTRY_TOKEN: token, XDG_CONFIG_HOME: folder } });
  try {
    const stranger = await run("accept", "first-organization");
    assert.deepEqual([stranger.status, stranger.err.includes("no organization")], [6, true], "an organization that has not asked is found by nobody");
    await bindByOwner(uid);
    const declined = await run("decline", "first-organization");
    assert.equal(declined.status, 0, declined.err);
    assert.equal((await membershipsOf(token))[0]?.state, "MEMBERSHIP_STATE_DECLINED");
    const accepted = await run("accept", "first-organization");
    assert.equal(accepted.status, 0, accepted.err);
    assert.deepEqual(
      (await membershipsOf(token)).map(({ organizationUid, state }) => [organizationUid, state]),
      [[world.organization, "MEMBERSHIP_STATE_ACCEPTED"]],
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
