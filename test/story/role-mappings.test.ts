// Mappings from a provider's groups to roles, singly and in batches (resources: ExternalGroupRoleMappings).

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import type { Answer, Protocol } from "../client.ts";
import { openWorld } from "../world.ts";

const world = await openWorld();
after(() => world.close());

const protocols: readonly Protocol[] = ["rest", "grpc"];
const { organization } = world;
const service = "iam.ExternalGroupRoleMappingsService";
const viewer = builtInRoleUid("viewer");

const provider = async (): Promise<string> =>
  text(
    await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
      parent: organization,
      identityProvider: { name: "corporate", defaultRole: viewer, oidc: { issuer: "https://login.example.com", clientId: "gantry", pkceEnabled: true } },
    }),
    "uid",
  );

const create = (parent: string, body: JsonObject = {}, protocol: Protocol = "rest"): Promise<Answer> =>
  world.call(
    `${service}/CreateExternalGroupRoleMapping`,
    { parent, externalGroupRoleMapping: { externalGroupId: "admins", roleUid: viewer, scope: organization, ...body } },
    { protocol },
  );

const made = async (parent: string, externalGroupId: string): Promise<string> => {
  const { code, reply, message } = await create(parent, { externalGroupId });
  assert.equal(code, 0, message);
  return text(reply, "uid");
};

const remaining = async (identityProviderUid: string): Promise<string[]> => {
  const { externalGroupRoleMappings } = await world.ok(`${service}/ListExternalGroupRoleMappings`, { identityProviderUid });
  return (externalGroupRoleMappings as JsonObject[]).map((each) => text(each, "externalGroupId")).sort();
};

const batch = (parent: string, names: readonly string[], protocol: Protocol = "rest"): Promise<Answer> =>
  world.call(`${service}/BatchDeleteExternalGroupRoleMappings`, { parent, names: [...names] }, { protocol });

for (const protocol of protocols) {
  test(`over ${protocol} a mapping is created, read, listed by provider and deleted, and exists at most once`, async () => {
    const [idp, other] = [await provider(), await provider()];
    const { code, reply, message } = await create(idp, {}, protocol);
    assert.equal(code, 0, message);
    const uid = text(reply, "uid");
    assert.match(uid, new RegExp(`^${idp}/[0-9a-f]{16}$`));
    assert.equal(reply.identityProviderUid, idp);
    assert.deepEqual(await world.ok(`${service}/GetExternalGroupRoleMapping`, { uid }, { protocol }), reply);
    assert.equal((await create(idp, {}, protocol)).code, codes.ALREADY_EXISTS);
    assert.equal((await create(idp, { roleUid: builtInRoleUid("editor") }, protocol)).code, 0, "another role");
    assert.equal((await create(idp, { externalGroupId: "Admins" }, protocol)).code, 0, "another group: a provider's names are compared letter by letter");
    assert.equal((await create(other, {}, protocol)).code, 0, "another provider");
    assert.deepEqual(await remaining(idp), ["Admins", "admins", "admins"]);
    assert.equal((await world.call(`${service}/DeleteExternalGroupRoleMapping`, { uid }, { protocol })).code, 0);
    assert.equal((await world.call(`${service}/DeleteExternalGroupRoleMapping`, { uid }, { protocol })).code, codes.NOT_FOUND);
    assert.equal((await create(idp, {}, protocol)).code, 0);
    const told = (await world.events()).filter(({ subject }) => subject === uid);
    assert.deepEqual(
      told.map(({ type, group }) => [type.split("mappings.")[1], group]),
      [
        ["created.v1", organization],
        ["deleted.v1", organization],
      ],
    );
  });

  test(`over ${protocol} a mapping requires group, role and scope, and its scope is the organization of its provider`, async () => {
    const idp = await provider();
    const team = text(await world.ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "team" } }), "uid");
    const elsewhere = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "elsewhere" } }), "uid");
    const inTeam = text(await world.ok("iam.RolesService/CreateRole", { parent: team, role: { name: "r", capabilities: ["CAP_REPO_LIST"] } }), "uid");
    const wrong: readonly [JsonObject, string][] = [
      [{ externalGroupId: "" }, "externalGroupId"],
      [{ roleUid: "" }, "roleUid"],
      [{ scope: "" }, "scope"],
      [{ scope: team }, "scope"],
      [{ scope: elsewhere }, "scope"],
      [{ scope: idp }, "scope"],
      [{ roleUid: inTeam }, "roleUid"],
      [{ roleUid: `${organization}/0123456789abcdef` }, "roleUid"],
    ];
    for (const [body, field] of wrong) {
      const answer = await create(idp, body, protocol);
      assert.equal(answer.code, codes.INVALID_ARGUMENT, JSON.stringify(body));
      assert.match(answer.message, new RegExp(`${field}:`));
    }
    assert.equal((await create(`${organization}/0123456789abcdef`, {}, protocol)).code, codes.NOT_FOUND);
    assert.deepEqual(await remaining(idp), []);
  });

  test(`over ${protocol} a batch deletes existing mappings, ignores missing ones, and emits one event`, async () => {
    const idp = await provider();
    const [one, two, three] = [await made(idp, "one"), await made(idp, "two"), await made(idp, "three")];
    const before = (await world.events()).length;
    const { code, reply, message } = await batch(idp, [two, `${idp}/0123456789abcdef`, one, two], protocol);
    assert.equal(code, 0, message);
    assert.equal(reply.parent, idp);
    assert.deepEqual((reply.externalGroupRoleMappings as JsonObject[]).map((each) => text(each, "externalGroupId")).sort(), ["one", "two"]);
    assert.deepEqual(await remaining(idp), ["three"]);
    const [told, ...more] = (await world.events()).slice(before);
    assert.deepEqual(
      [more.length, told?.subject, told?.group, told?.type],
      [0, idp, organization, "dev.chainguard.api.iam.external_group_role_mappings.deleted.batch.v1"],
    );
    const [last] = await world.server.application.services.store.read.query("select extensions ->> 'identityprovider' from outbox order by id desc limit 1");
    assert.deepEqual(last, [idp]);
    const nothing = await batch(idp, [one], protocol);
    assert.equal(nothing.code, 0, nothing.message);
    assert.deepEqual(nothing.reply.externalGroupRoleMappings ?? [], []);
    assert.equal((await world.events()).length, before + 1, "a batch that finds nothing is no event");
    assert.equal((await batch(idp, [], protocol)).code, codes.INVALID_ARGUMENT);
    assert.equal((await batch(`${organization}/0123456789abcdef`, [`${organization}/0123456789abcdef/0123456789abcdef`], protocol)).code, codes.NOT_FOUND);
    assert.deepEqual(await remaining(idp), ["three"]);
    assert.notEqual(three, "");
  });
}

test("a group's ID may have the contract's maximum length in any script, and a mapping of it is still unique", async () => {
  const idp = await provider();
  const long = (last: string): string => `\\x${"海".repeat(1021)}${last}`;
  for (const last of ["a", "b"]) assert.equal((await create(idp, { externalGroupId: long(last) })).code, 0);
  assert.equal((await create(idp, { externalGroupId: long("a") })).code, codes.ALREADY_EXISTS);
  assert.equal((await create(idp, { externalGroupId: `${long("a")}b` })).code, codes.INVALID_ARGUMENT);
});

test("a mapped role cannot be deleted until the mapping is deleted", async () => {
  const idp = await provider();
  const role = text(await world.ok("iam.RolesService/CreateRole", { parent: organization, role: { name: "r", capabilities: ["CAP_REPO_LIST"] } }), "uid");
  const mapping = text((await create(idp, { roleUid: role })).reply, "uid");
  for (const protocol of protocols)
    assert.equal((await world.call("iam.RolesService/DeleteRole", { uid: role }, { protocol })).code, codes.FAILED_PRECONDITION);
  assert.equal((await batch(idp, [mapping])).code, 0);
  await world.ok("iam.RolesService/DeleteRole", { uid: role });
});

test("of concurrent creates of one mapping exactly one succeeds", async () => {
  const idp = await provider();
  const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => create(idp, {}, protocols[index % 2])));
  assert.deepEqual(
    answers.map(({ code }) => code).sort((one, other) => one - other),
    [0, ...Array.from({ length: 7 }, () => codes.ALREADY_EXISTS)],
  );
});
