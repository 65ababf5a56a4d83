// Retention rules, reports of images in use and used storage, as an attack on other groups and on the server (attacks 343 to 346).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { builtInRoleUid } from "#authz";
import { openOwners, type Owners } from "../owner.ts";
import { openWorld, type World } from "../world.ts";

const service = "gantry.registry.v1";

let world: World;
let owners: Owners;
/** Organizations, and the groups and repos of the victim. */
let [attacker, victim, group, repo, siblingRepo] = ["", "", "", "", ""];

before(async () => {
  world = await openWorld();
  owners = openOwners(world);
  const owner = owners.world();
  [attacker, victim] = [world.organization, text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "victim" } }), "uid")];
  group = text(await owner.ok("iam.GroupsService/CreateGroup", { parent: victim, group: { name: "team" } }), "uid");
  const sibling = text(await owner.ok("iam.GroupsService/CreateGroup", { parent: victim, group: { name: "sibling" } }), "uid");
  repo = text(await owner.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: "app" } }), "uid");
  siblingRepo = text(await owner.ok("registry.ReposService/CreateRepo", { parent: sibling, repo: { name: "app" } }), "uid");
});
after(() => world.close());

/** Returns a token of an identity with this role in the group. */
const memberOf = async (place: string, role: string): Promise<string> => {
  const claimMatch = { issuer: "https://issuer.example.com", subject: `${role} of ${place}` };
  const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: place, identity: { name: "member", claimMatch } }), "uid");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: place, roleBinding: { identityUid, roleUid: builtInRoleUid(role) } });
  return world.token(identityUid);
};

test("attack 343: images of another organization or a sibling group are unknown in a report, and are not in use", async () => {
  const images = ["victim/team/app:1", `${repo}:1`, "victim/team/absent:1"];
  const report = async (parent: string, token: string, of: readonly string[]): Promise<JsonObject> => {
    const { code, reply, message } = await world.call(`${service}.InUseService/ReportInUse`, { parent, source: "evil", images: [...of] }, { token });
    assert.equal(code, 0, message);
    return reply;
  };
  assert.deepEqual((await report(attacker, await owners.token(attacker), images)).unknownImages, images);
  const member = await memberOf(group, "owner");
  assert.deepEqual((await report(group, member, ["victim/sibling/app:1", `${siblingRepo}:1`])).unknownImages, ["victim/sibling/app:1", `${siblingRepo}:1`]);
  const found = await owners.world().ok(`${service}.InUseService/FindInUse`, { uid: victim });
  assert.deepEqual(objectList(found, "images"), []);
  const refused = await world.call(`${service}.InUseService/ReportInUse`, { parent: victim, source: "evil", images }, { token: member });
  assert.equal(refused.code, codes.PERMISSION_DENIED);
});

test("attack 344: a retention rule cannot name a repo of another group, whether it exists or not", async () => {
  const member = await memberOf(group, "owner");
  const create = (parent: string, repoUid: string, token: string) =>
    world.call(`${service}.RetentionRulesService/CreateRetentionRule`, { parent, retentionRule: { name: "evil", repoUid, keepLast: 1 } }, { token });
  const answers = [
    await create(group, siblingRepo, member),
    await create(group, `${siblingRepo.slice(0, -16)}0123456789abcdef`, member),
    await create(attacker, repo, await owners.token(attacker)),
  ];
  for (const { code, message } of answers) {
    assert.equal(code, codes.INVALID_ARGUMENT);
    assert.match(message, /must be the uid of a repo below the group/);
  }
  assert.equal((await create(victim, repo, member)).code, codes.PERMISSION_DENIED);
});

test("attack 345: a member of one group does not see the storage or the quota of the organization", async () => {
  const { code, reply } = await world.call(`${service}.StorageService/GetStorage`, { uid: repo }, { token: await memberOf(group, "viewer") });
  assert.deepEqual([code, reply.organizationBytes, reply.quotaBytes], [0, undefined, undefined]);
});

test("attack 346: a rule with an expensive pattern is refused", async () => {
  const token = await owners.token(attacker);
  for (const tagPattern of ["[ab]{1,600}", "(a{1,30}){1,20}", "(a{1,100}){1,100}"]) {
    const retentionRule = { name: "expensive", tagPattern, keepLast: 1 };
    const { code, message } = await world.call(`${service}.RetentionRulesService/CreateRetentionRule`, { parent: attacker, retentionRule }, { token });
    assert.equal(code, codes.INVALID_ARGUMENT);
    assert.match(message, /RE2 pattern/);
  }
});
