// The lifecycle of an organization's own identity provider (resources: IdentityProviders).

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { clientSecretBinding, findProvider } from "#iam/store";
import type { Answer, Protocol } from "../client.ts";
import { openWorld } from "../world.ts";

const world = await openWorld({ GANTRY_EGRESS_ALLOW: "" });
after(() => world.close());

const protocols: readonly Protocol[] = ["rest", "grpc"];
const { organization } = world;
const service = "iam.IdentityProvidersService";
const oidc = { issuer: "https://login.example.com", clientId: "gantry", clientSecret: "the first secret" };
const valid = { name: "corporate", defaultRole: builtInRoleUid("viewer"), oidc };

const create = (body: JsonObject = {}, protocol: Protocol = "rest"): Promise<Answer> =>
  world.call(`${service}/CreateIdentityProvider`, { parent: organization, identityProvider: { ...valid, ...body } }, { protocol });

const made = async (body: JsonObject = {}): Promise<string> => {
  const { code, reply, message } = await create(body);
  assert.equal(code, 0, message);
  return text(reply, "uid");
};

const update = (uid: string, body: JsonObject, updateMask?: string, protocol: Protocol = "rest"): Promise<Answer> =>
  world.call(`${service}/UpdateIdentityProvider`, { identityProvider: { ...body, uid }, ...(updateMask === undefined ? {} : { updateMask }) }, { protocol });

const read = (uid: string): Promise<JsonObject> => world.ok(`${service}/GetIdentityProvider`, { uid });

const storedSecret = async (uid: string): Promise<string | undefined> => {
  const { store, seal } = world.server.application.services;
  const found = await findProvider(store.read, uid);
  return found?.clientSecretSealed && seal.open("client secret", found.clientSecretSealed, clientSecretBinding(uid, found.oidc));
};

const fieldsOf = ({ details }: Answer): unknown[] =>
  details.flatMap(({ fieldViolations }) => (Array.isArray(fieldViolations) ? fieldViolations.map((each) => (each as JsonObject).field ?? "") : []));

const refused = (answer: Answer, field: string, what: string): void => {
  assert.equal(answer.code, codes.INVALID_ARGUMENT, `${what}: ${answer.message}`);
  assert.deepEqual(fieldsOf(answer), [field], what);
};

for (const protocol of protocols) {
  test(`over ${protocol} version 1 creates a provider without a default role; a replacement keeps that, and version 2 requires a role`, async () => {
    const one = "chainguard.platform.iam.IdentityProviders";
    const identityProvider = { name: `without role ${protocol}`, oidc };
    const created = await world.call(`${one}/Create`, { parentId: organization, identityProvider }, { protocol });
    assert.equal(created.code, 0, created.message);
    const id = text(created.reply, "id");
    assert.deepEqual([created.reply.defaultRole ?? "", (await read(id)).defaultRole ?? ""], ["", ""]);
    refused(await create({ defaultRole: "" }, protocol), "defaultRole", "version 2 requires it");
    assert.equal((await update(id, { name: `renamed ${protocol}` }, "name", protocol)).code, 0);
    refused(await update(id, { ...valid, defaultRole: "" }, "*", protocol), "defaultRole", "a replacement of version 2 requires it");
    const editor = builtInRoleUid("editor");
    assert.equal((await update(id, { defaultRole: editor }, "default_role", protocol)).reply.defaultRole, editor);
    const put = await world.call(`${one}/Update`, { id, name: `put ${protocol}`, oidc }, { protocol });
    assert.deepEqual([put.code, put.reply.defaultRole, put.reply.name], [0, editor, `put ${protocol}`], put.message);
  });

  test(`over ${protocol} a provider is created, read, listed, updated and deleted, and returns its configuration without the secret`, async () => {
    const { code, reply, message } = await create(
      { description: "for everybody", oidc: { ...oidc, additionalScopes: ["email", "groups"], groupsClaim: "groups", pkceEnabled: true } },
      protocol,
    );
    assert.equal(code, 0, message);
    const uid = text(reply, "uid");
    assert.match(uid, new RegExp(`^${organization}/[0-9a-f]{16}$`));
    const shown = { issuer: oidc.issuer, clientId: oidc.clientId, additionalScopes: ["email", "groups"], groupsClaim: "groups", pkceEnabled: true };
    assert.deepEqual(reply.oidc, shown);
    const got = await world.ok(`${service}/GetIdentityProvider`, { uid }, { protocol });
    assert.deepEqual(got, reply);
    assert.equal(text(part(got, "scim"), "credentialState"), "CREDENTIAL_STATE_NOT_ISSUED");
    assert.equal(text(part(got, "scim"), "endpointUrl"), `${world.url}/scim/v2/${uid}`);
    const { identityProviders } = await world.ok(`${service}/ListIdentityProviders`, { name: "corporate", uidp: { childrenOf: organization } }, { protocol });
    const { scim: _scim, ...listed } = reply;
    assert.deepEqual(identityProviders, [listed]);
    world.clock.now += 1000;
    const changed = await update(uid, { description: "", name: "people" }, "name,description", protocol);
    assert.equal(changed.code, 0, changed.message);
    assert.deepEqual([changed.reply.name, changed.reply.description, changed.reply.oidc], ["people", undefined, shown]);
    assert.deepEqual(await world.ok(`${service}/GetIdentityProvider`, { uid }, { protocol }), changed.reply);
    assert.equal((await world.call(`${service}/DeleteIdentityProvider`, { uid }, { protocol })).code, 0);
    assert.equal((await world.call(`${service}/GetIdentityProvider`, { uid }, { protocol })).code, codes.NOT_FOUND);
  });

  test(`over ${protocol} a provider without credentials, with an invalid issuer or with a foreign role is refused by field`, async () => {
    const elsewhere = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "elsewhere" } });
    const foreign = await world.ok("iam.RolesService/CreateRole", { parent: text(elsewhere, "uid"), role: { name: "r", capabilities: ["CAP_REPO_LIST"] } });
    const wrong: readonly [string, JsonObject][] = [
      ["oidc", { oidc: {} }],
      ["oidc.clientSecret", { oidc: { issuer: oidc.issuer, clientId: "c" } }],
      ["oidc.clientId", { oidc: { issuer: oidc.issuer, clientSecret: "s" } }],
      ["oidc.issuer", { oidc: { clientId: "c", clientSecret: "s" } }],
      ...["http://login.example.com", "login.example.com", "https://a@login.example.com", "https://login.example.com/?a=b", "https://login.example.com/#a"].map(
        (issuer): [string, JsonObject] => ["oidc.issuer", { oidc: { ...oidc, issuer } }],
      ),
      ["oidc.additionalScopes[1]", { oidc: { ...oidc, additionalScopes: ["email", "two words"] } }],
      ["defaultRole", { defaultRole: text(foreign, "uid") }],
      ["defaultRole", { defaultRole: `${organization}/0123456789abcdef` }],
    ];
    const before = (await world.events()).length;
    for (const [field, body] of wrong) {
      // In gRPC an empty configuration lacks issuer and client.
      const answer = await create(body, protocol);
      if (field === "oidc") assert.equal(answer.code, codes.INVALID_ARGUMENT);
      else refused(answer, field, JSON.stringify(body));
    }
    assert.equal((await world.events()).length, before);
  });
}

test("a client secret is stored encrypted, and an update keeps it unless it contains a new one or masks that field", async () => {
  const pkce = { ...oidc, pkceEnabled: true };
  const plain = { issuer: oidc.issuer, clientId: oidc.clientId, pkceEnabled: true };
  const ways: readonly [what: string, body: JsonObject, mask: string | undefined, protocol: Protocol, wanted: string | undefined][] = [
    ["a mask of the configuration without a secret", { oidc: plain }, "oidc", "rest", oidc.clientSecret],
    ["an empty secret under a mask of the configuration", { oidc: { ...plain, clientSecret: "" } }, "oidc", "rest", oidc.clientSecret],
    ["a full replacement without a secret", { ...valid, oidc: plain }, "*", "grpc", oidc.clientSecret],
    ["the body's keys without a secret", { oidc: { groupsClaim: "groups" } }, undefined, "rest", oidc.clientSecret],
    ["gRPC without a mask", { oidc: plain }, undefined, "grpc", oidc.clientSecret],
    ["a secret outside of the mask", { oidc: { ...plain, clientSecret: "unasked" } }, "oidc.client_id", "rest", oidc.clientSecret],
    ["a new secret under a mask of the configuration", { oidc: { ...plain, clientSecret: "second" } }, "oidc", "grpc", "second"],
    ["a new secret under its own mask", { oidc: { clientSecret: "third" } }, "oidc.client_secret", "rest", "third"],
    ["a new secret as the body's only key", { oidc: { clientSecret: "fourth" } }, undefined, "rest", "fourth"],
    ["an empty secret under its own mask", {}, "oidc.client_secret", "grpc", undefined],
    ["an empty secret as the body's key", { oidc: { clientSecret: "" } }, undefined, "rest", undefined],
  ];
  for (const [what, body, mask, protocol, wanted] of ways) {
    const uid = await made({ oidc: pkce });
    assert.equal(await storedSecret(uid), oidc.clientSecret);
    const { code, message, reply } = await update(uid, body, mask, protocol);
    assert.equal(code, 0, `${what}: ${message}`);
    assert.equal(await storedSecret(uid), wanted, what);
    assert.equal(part(reply, "oidc").clientSecret, undefined);
  }
  const without = await made();
  for (const [body, mask] of [
    [{}, "oidc.client_secret"],
    [{ oidc: { clientSecret: "" } }, undefined],
  ] as const)
    refused(await update(without, body, mask), "oidc.clientSecret", "the last proof");
  assert.equal(await storedSecret(without), oidc.clientSecret);
});

test("a new secret alone changes the update time and emits an event; the same secret does not", async () => {
  const uid = await made();
  const before = await read(uid);
  const events = async (): Promise<number> => (await world.events()).length;
  const told = await events();
  const same = await update(uid, { oidc: { clientSecret: oidc.clientSecret } });
  assert.deepEqual(same.reply, before);
  assert.equal(await events(), told);
  const changed = await update(uid, { oidc: { clientSecret: "another" } });
  assert.ok(text(changed.reply, "updateTime") > text(before, "updateTime"));
  assert.deepEqual(changed.reply, await read(uid));
  assert.equal(await events(), told + 1);
});

test("a new issuer or client ID requires the client secret again, for any mask", async () => {
  const { clientSecret: _, ...plain } = oidc;
  for (const change of [
    { issuer: "https://elsewhere.example.com" },
    { clientId: "another" },
    { issuer: "https://elsewhere.example.com", clientId: "another" },
  ]) {
    const paths = Object.keys(change).map((name) => `oidc.${name}`);
    const masks = [[...paths, "oidc.groupsClaim"].join(), "oidc", "*", "name,oidc", undefined];
    for (const protocol of protocols) {
      for (const mask of masks) {
        const uid = await made({ oidc: { ...oidc, pkceEnabled: true } });
        const before = await read(uid);
        const moved = { name: "p", defaultRole: before.defaultRole ?? "", oidc: { ...plain, ...change, pkceEnabled: true } };
        for (const secret of [undefined, ""]) {
          const what = `${JSON.stringify(change)} ${protocol} ${mask} ${secret}`;
          // REST without a mask derives it from the body, so an empty secret removes the stored one.
          if (secret === "" && mask === undefined && protocol === "rest") continue;
          refused(
            await update(uid, secret === undefined ? moved : { ...moved, oidc: { ...moved.oidc, clientSecret: secret } }, mask, protocol),
            "oidc.clientSecret",
            what,
          );
        }
        assert.deepEqual(await read(uid), before);
        assert.equal(await storedSecret(uid), oidc.clientSecret);
        const given = mask?.startsWith("oidc.") ? `${mask},oidc.clientSecret` : mask;
        const { code, message } = await update(uid, { ...moved, oidc: { ...moved.oidc, clientSecret: oidc.clientSecret } }, given, protocol);
        assert.equal(code, 0, message);
        assert.equal(await storedSecret(uid), oidc.clientSecret, "sealed for the new recipient");
      }
    }
  }
});

test("a provider without a client secret, or one that removes it, can change issuer and client ID", async () => {
  const { clientSecret: _, ...plain } = oidc;
  const without = await made({ oidc: { ...plain, pkceEnabled: true } });
  const moved = await update(without, { oidc: { issuer: "https://elsewhere.example.com", clientId: "another" } }, "oidc.issuer,oidc.client_id");
  assert.equal(moved.code, 0, moved.message);
  const uid = await made({ oidc: { ...oidc, pkceEnabled: true } });
  const body = { oidc: { issuer: "https://elsewhere.example.com", clientSecret: "" } };
  const given = await update(uid, body, "oidc.issuer,oidc.client_secret");
  assert.equal(given.code, 0, given.message);
  assert.equal(await storedSecret(uid), undefined);
  const last = await made();
  refused(await update(last, body, "oidc.issuer,oidc.client_secret"), "oidc.clientSecret", "the last proof");
});

test("the correlation rule is set once: an equal, absent or unspecified value keeps it, and another one is refused", async () => {
  const [rule, other] = ["CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID", "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID"];
  const uid = await made({ oidc: { ...oidc, correlationRule: rule } });
  for (const protocol of protocols) {
    for (const correlationRule of [rule, "CORRELATION_RULE_UNSPECIFIED", undefined]) {
      for (const mask of ["oidc", "oidc.correlation_rule", "*"]) {
        const { code, reply, message } = await update(
          uid,
          { ...valid, oidc: { ...oidc, ...(correlationRule === undefined ? {} : { correlationRule }) } },
          mask,
          protocol,
        );
        assert.equal(code, 0, message);
        assert.equal(part(reply, "oidc").correlationRule, rule);
      }
    }
    refused(await update(uid, { oidc: { ...oidc, correlationRule: other } }, "oidc", protocol), "oidc.correlationRule", "another rule");
  }
  const open = await made();
  assert.equal(part((await update(open, { oidc: { correlationRule: other } })).reply, "oidc").correlationRule, other);
});

test("a group with a provider and a role used by one cannot be deleted; deleting a provider deletes its mappings", async () => {
  const team = text(await world.ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "team" } }), "uid");
  const role = text(await world.ok("iam.RolesService/CreateRole", { parent: organization, role: { name: "r", capabilities: ["CAP_REPO_LIST"] } }), "uid");
  const { uid } = await world.ok(`${service}/CreateIdentityProvider`, { parent: team, identityProvider: { ...valid, defaultRole: role } });
  const mapping = await world.ok("iam.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping", {
    parent: String(uid),
    externalGroupRoleMapping: { externalGroupId: "admins", roleUid: role, scope: organization },
  });
  for (const protocol of protocols) {
    const group = await world.call("iam.GroupsService/DeleteGroup", { uid: team }, { protocol });
    assert.equal(group.code, codes.FAILED_PRECONDITION);
    assert.match(group.message, /identity providers/);
    const held = await world.call("iam.RolesService/DeleteRole", { uid: role }, { protocol });
    assert.equal(held.code, codes.FAILED_PRECONDITION);
    // Each use is a separate violation; the message has the first.
    for (const use of [/default of an identity provider/, /mapped to groups of an identity provider/]) assert.match(JSON.stringify(held.details), use);
  }
  await world.ok(`${service}/DeleteIdentityProvider`, { uid: String(uid) });
  const gone = await world.call("iam.ExternalGroupRoleMappingsService/GetExternalGroupRoleMapping", { uid: text(mapping, "uid") });
  assert.equal(gone.code, codes.NOT_FOUND);
  for (const [name, target] of [
    ["iam.GroupsService/DeleteGroup", team],
    ["iam.RolesService/DeleteRole", role],
  ] as const)
    await world.ok(name, { uid: target });
});

test("events of a provider contain its public part: no secret, times or SCIM state", async () => {
  const uid = await made({ oidc: { ...oidc, clientSecret: "told-to-nobody" } });
  await update(uid, { name: "renamed" });
  await world.ok(`${service}/DeleteIdentityProvider`, { uid });
  const told = (await world.events()).filter(({ subject }) => subject === uid);
  assert.deepEqual(
    told.map(({ type, group }) => [type.replace("dev.chainguard.api.iam.identity_providers.", ""), group]),
    [
      ["created.v1", organization],
      ["updated.v1", organization],
      ["deleted.v1", organization],
    ],
  );
  assert.deepEqual(
    told.map(({ body }) => Object.keys(body).sort().join()),
    ["defaultRole,name,oidc,uid", "defaultRole,name,oidc,uid", "uid"],
  );
  assert.ok(!JSON.stringify(told).includes("told-to-nobody"));
});
