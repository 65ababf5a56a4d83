// Account associations: at most one for each group, under the group's UID, deleted with the group.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { openWorld, type World } from "../world.ts";

const protocols = ["rest", "grpc"] as const;
const service = "iam.AccountAssociationsService";

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world?.close());

const newGroup = async (parent = world.organization): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name: "accounts" } }), "uid");

const whole: JsonObject = {
  name: "production",
  description: "all of it",
  amazon: { account: "123456789012" },
  google: { projectId: "project", projectNumber: "987654321" },
  azure: { tenantId: "00000000-0000-0000-0000-000000000000", clientIds: { scanner: "client" } },
  chainguard: { serviceBindings: { INGESTER: `${"a".repeat(40)}/${"b".repeat(16)}` } },
  github: { appInstallations: { "42": { installations: [{ installationId: "9007199254740993", name: "example" }] } } },
};

for (const protocol of protocols) {
  test(`over ${protocol} a group has at most one association, under its UID, with independent provider fields`, async () => {
    const group = await newGroup();
    const made = await world.ok(`${service}/CreateAccountAssociation`, { parent: group, accountAssociation: whole }, { protocol });
    const { createTime, updateTime, ...rest } = made;
    assert.equal(createTime, updateTime);
    assert.deepEqual(rest, { uid: group, ...whole });
    assert.equal(
      (await world.call(`${service}/CreateAccountAssociation`, { parent: group, accountAssociation: { name: "again" } }, { protocol })).code,
      codes.ALREADY_EXISTS,
    );
    assert.deepEqual(await world.ok(`${service}/GetAccountAssociation`, { uid: group }, { protocol }), made);
    world.clock.now += 1000;
    const changed = await world.ok(`${service}/UpdateAccountAssociation`, { accountAssociation: { uid: group }, updateMask: "google" }, { protocol });
    assert.equal(changed.google, undefined);
    assert.deepEqual(changed.amazon, whole.amazon);
    await world.ok(`${service}/DeleteAccountAssociation`, { uid: group }, { protocol });
    assert.equal((await world.call(`${service}/GetAccountAssociation`, { uid: group }, { protocol })).code, codes.NOT_FOUND);
    await world.ok(`${service}/CreateAccountAssociation`, { parent: group, accountAssociation: { name: "anew" } }, { protocol });
  });

  test(`over ${protocol} a check distinguishes a missing configuration from one that this server cannot verify`, async () => {
    const group = await newGroup();
    const check = (providerType: string) => world.call(`${service}/CheckAccountAssociation`, { uid: group, providerType }, { protocol });
    assert.equal((await check("ACCOUNT_PROVIDER_TYPE_AMAZON")).code, codes.NOT_FOUND);
    await world.ok(`${service}/CreateAccountAssociation`, { parent: group, accountAssociation: { name: "amazon only", amazon: { account: "123456789012" } } });
    const tried = await check("ACCOUNT_PROVIDER_TYPE_AMAZON");
    assert.deepEqual([tried.reply.status, tried.reply.reason], ["CHECK_STATUS_NOT_READY", "error exchanging credentials"]);
    for (const type of ["ACCOUNT_PROVIDER_TYPE_GOOGLE", "ACCOUNT_PROVIDER_TYPE_AZURE"]) {
      const { reply } = await check(type);
      assert.deepEqual([reply.status, reply.reason], ["CHECK_STATUS_NOT_READY", "not configured"]);
    }
    assert.equal((await check("ACCOUNT_PROVIDER_TYPE_UNSPECIFIED")).code, codes.INVALID_ARGUMENT);
  });
}

test("an AWS account ID has twelve digits", async () => {
  const group = await newGroup();
  for (const account of ["12345678901", "1234567890123", "12345678901a", ""]) {
    const { code, details } = await world.call(`${service}/CreateAccountAssociation`, {
      parent: group,
      accountAssociation: { name: "wrong", amazon: { account } },
    });
    assert.equal(code, codes.INVALID_ARGUMENT);
    assert.match(JSON.stringify(details), /"amazon.account"/);
  }
});

test("deleting a group deletes its association, and events name the group as subject and group", async () => {
  const group = await newGroup();
  const before = (await world.events()).length;
  await world.ok(`${service}/CreateAccountAssociation`, { parent: group, accountAssociation: whole });
  await world.ok(`${service}/DeleteAccountAssociation`, { uid: group });
  const told = (await world.events()).slice(before);
  assert.deepEqual(
    told.map(({ type, subject, group: place }) => [type, subject, place]),
    [
      ["dev.chainguard.api.iam.account_associations.created.v1", group, group],
      ["dev.chainguard.api.iam.account_associations.deleted.v1", group, group],
    ],
  );
  await world.ok(`${service}/CreateAccountAssociation`, { parent: group, accountAssociation: whole });
  await world.ok("iam.GroupsService/DeleteGroup", { uid: group });
  assert.equal((await world.call(`${service}/GetAccountAssociation`, { uid: group })).code, codes.NOT_FOUND);
});

test("a list returns the associations of the groups that the caller can read, with its own group", async () => {
  const [mine, inner, other] = await Promise.all([newGroup(), newGroup(), newGroup()]);
  const below = await newGroup(inner);
  for (const group of [mine, inner, below, other])
    await world.ok(`${service}/CreateAccountAssociation`, { parent: group, accountAssociation: { name: "listed" } });
  const robot = text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: inner,
      identity: { name: "robot", claimMatch: { issuer: "https://ci.example.com", subject: "s" } },
    }),
    "uid",
  );
  const role = text(
    await world.ok("iam.RolesService/CreateRole", {
      parent: world.organization,
      role: { name: "lister", capabilities: ["CAP_IAM_ACCOUNT_ASSOCIATIONS_LIST"] },
    }),
    "uid",
  );
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: inner, roleBinding: { identityUid: robot, roleUid: role } });
  const { accountAssociations } = await world.ok(`${service}/ListAccountAssociations`, {}, { token: await world.token(robot) });
  assert.deepEqual(
    (accountAssociations as JsonObject[]).map(({ uid }) => uid),
    [inner, below],
  );
});
