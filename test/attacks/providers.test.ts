// Attacks on sign-in configuration: a provider's default role, settings and mappings grant like bindings, so they need the same permissions;
// its secrets are never readable.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { jsonLog } from "#base/log.ts";
import type { Answer, Protocol } from "../client.ts";
import { everyRow } from "../database.ts";
import { databaseContents } from "../story/installation.ts";
import { openWorld } from "../world.ts";

const logged: string[] = [];
const world = await openWorld(
  {},
  jsonLog((line) => logged.push(line)),
);
after(() => world.close());

const protocols: readonly Protocol[] = ["rest", "grpc"];
const { organization } = world;
const providers = "iam.IdentityProvidersService";
const mappings = "iam.ExternalGroupRoleMappingsService";
const viewer = builtInRoleUid("viewer");
const owner = builtInRoleUid("owner");
const oidc = { issuer: "https://login.example.com", clientId: "gantry", pkceEnabled: true };

const provider = async (body: JsonObject = {}, parent = organization): Promise<string> =>
  text(await world.ok(`${providers}/CreateIdentityProvider`, { parent, identityProvider: { name: "corporate", defaultRole: viewer, oidc, ...body } }), "uid");

const map = async (parent: string, roleUid: string, externalGroupId = "admins"): Promise<string> =>
  text(
    await world.ok(`${mappings}/CreateExternalGroupRoleMapping`, { parent, externalGroupRoleMapping: { externalGroupId, roleUid, scope: organization } }),
    "uid",
  );

/** Returns a token of an identity with the viewer's capabilities and these at `group`. */
const holder = async (group: string, ...symbols: string[]): Promise<string> => {
  const { capabilities } = await world.ok("iam.RolesService/GetRole", { uid: viewer });
  const role = await world.ok("iam.RolesService/CreateRole", {
    parent: group,
    role: { name: "held", capabilities: [...(capabilities as string[]), ...symbols] },
  });
  const identity = await world.ok("iam.IdentitiesService/CreateIdentity", {
    parent: group,
    identity: { name: "holder", claimMatch: { issuer: "https://ci.example.com", subject: "s" } },
  });
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: group,
    roleBinding: { identityUid: text(identity, "uid"), roleUid: text(role, "uid") },
  });
  return world.token(text(identity, "uid"));
};

const manage = ["CREATE", "UPDATE", "DELETE"].map((verb) => `CAP_IAM_IDENTITY_PROVIDERS_${verb}`);
const all = [...manage, "CAP_IAM_ROLE_BINDINGS_CREATE", "CAP_IAM_SCIM_MANAGE"];

const assertRefused = async (
  token: string,
  calls: readonly [what: string, name: string, request: JsonObject][],
  code: number = codes.PERMISSION_DENIED,
): Promise<void> => {
  const before = await databaseContents(world);
  for (const [what, name, request] of calls) {
    for (const protocol of protocols) {
      const answer = await world.call(name, request, { token, protocol });
      assert.equal(answer.code, code, `${what} over ${protocol}: ${answer.code} ${answer.message}`);
    }
  }
  assert.deepEqual(await databaseContents(world), before);
};

const create = (identityProvider: JsonObject): [string, JsonObject] => [
  `${providers}/CreateIdentityProvider`,
  { parent: organization, identityProvider: { name: "mine", defaultRole: viewer, oidc, ...identityProvider } },
];
const update = (uid: string, body: JsonObject, updateMask: string): [string, JsonObject] => [
  `${providers}/UpdateIdentityProvider`,
  { identityProvider: { ...body, uid }, updateMask },
];

test("a provider's default role is a grant: creating or setting it requires the role's permissions", async () => {
  const token = await holder(organization, ...all);
  const mine = text((await world.call(...create({}), { token })).reply, "uid");
  assert.notEqual(mine, "", "what one holds one may promise");
  await assertRefused(token, [
    ["an owner's provider", ...create({ defaultRole: owner })],
    ["a change to owner", ...update(mine, { defaultRole: owner }, "default_role")],
    ["a full replacement", ...update(mine, { name: "mine", defaultRole: owner, oidc }, "*")],
  ]);
});

test("changing a provider's issuer requires all permissions of its default role and mappings", async () => {
  const token = await holder(organization, ...all);
  const byDefault = await provider({ defaultRole: owner });
  const byMapping = await provider();
  await map(byMapping, viewer, "everybody");
  const given = await map(byMapping, owner);
  const changes = (uid: string): [string, string, JsonObject][] => [
    ["another issuer", ...update(uid, { oidc: { ...oidc, issuer: "https://mine.example.com" } }, "oidc.issuer")],
    ["another client", ...update(uid, { oidc: { clientId: "mine" } }, "oidc.client_id")],
    ["another claim for groups", ...update(uid, { oidc: { groupsClaim: "nickname" } }, "oidc.groups_claim")],
    ["a correlation rule", ...update(uid, { oidc: { correlationRule: "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID" } }, "oidc.correlation_rule")],
    [
      "all of it at once",
      ...update(uid, { name: "n", defaultRole: viewer, oidc: { ...oidc, issuer: "https://mine.example.com" } }, uid === byMapping ? "*" : "oidc"),
    ],
  ];
  await assertRefused(token, [...changes(byDefault), ...changes(byMapping)]);
  for (const uid of [byDefault, byMapping])
    assert.equal((await world.call(...update(uid, { name: "renamed" }, "name"), { token })).code, 0, "a name gives nobody anything");
  await world.ok(`${mappings}/DeleteExternalGroupRoleMapping`, { uid: given });
  for (const [what, name, request] of changes(byMapping))
    assert.equal((await world.call(name, request, { token })).code, 0, `${what}, now that it gives no more than one holds`);
});

test("a mapping is a grant: its creator holds the role at its scope, and a team owner maps no user into the organization", async () => {
  const token = await holder(organization, ...all);
  const idp = await provider();
  const mapping = (roleUid: string, parent = idp): [string, JsonObject] => [
    `${mappings}/CreateExternalGroupRoleMapping`,
    { parent, externalGroupRoleMapping: { externalGroupId: "me", roleUid, scope: organization } },
  ];
  await assertRefused(token, [["an owner's mapping", ...mapping(owner)]]);
  assert.equal((await world.call(...mapping(viewer), { token })).code, 0);
  const team = text(await world.ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "team" } }), "uid");
  const ofTeam = await holder(team, ...all);
  const inTeam = await provider({}, team);
  await assertRefused(ofTeam, [
    ["the organization's provider", ...mapping(viewer)],
    ["their own provider", ...mapping(viewer, inTeam)],
  ]);
});

test("attack 4: a batch with a foreign name in last position deletes nothing", async () => {
  const [idp, other] = [await provider(), await provider()];
  const mine = [await map(idp, viewer, "a"), await map(idp, viewer, "b")];
  const elsewhere = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "elsewhere" } }), "uid");
  const foreign = [await map(other, viewer), `${elsewhere}/0123456789abcdef/0123456789abcdef`, organization, idp, `${mine[0]}/0123456789abcdef`];
  const token = await holder(organization, ...all);
  await assertRefused(
    token,
    foreign.map((name) => [name, `${mappings}/BatchDeleteExternalGroupRoleMappings`, { parent: idp, names: [...mine, name] }]),
    codes.INVALID_ARGUMENT,
  );
  await assertRefused(token, [
    [
      "another organization's provider",
      `${mappings}/BatchDeleteExternalGroupRoleMappings`,
      { parent: `${elsewhere}/0123456789abcdef`, names: [`${elsewhere}/0123456789abcdef/0123456789abcdef`] },
    ],
  ]);
});

test("a caller without SCIM token permissions is refused all four operations and cannot detect a provider", async () => {
  const idp = await provider();
  const token = await holder(organization, ...manage, "CAP_IAM_ROLE_BINDINGS_CREATE");
  for (const [rpc, request] of [
    ["GenerateScimToken", {}],
    ["RegenerateScimToken", { etag: "1" }],
    ["RevokeScimToken", {}],
    ["SetScimEnabled", { enabled: false, etag: "1" }],
  ] as const) {
    const call = `${providers}/${rpc}`;
    const absent = `${organization}/0123456789abcdef`;
    await assertRefused(token, [[rpc, call, { identityProviderUid: idp, ...request }]]);
    const [there, gone] = [
      await world.call(call, { identityProviderUid: idp, ...request }, { token }),
      await world.call(call, { identityProviderUid: absent, ...request }, { token }),
    ];
    assert.equal(there.message.replaceAll(idp, "x"), gone.message.replaceAll(absent, "x"));
  }
});

test("client secrets and SCIM tokens appear only in the response that shows them, in no error, event, log, list or row", async () => {
  const planted = ["planted-secret-1", "planted-secret-2", "planted-secret-3"];
  const [first = "", second = "", third = ""] = planted;
  const seen: string[] = [];
  const call = async (
    name: string,
    request: JsonObject,
    options: { readonly protocol?: Protocol; readonly validateOnly?: boolean; readonly headers?: Record<string, string> } = {},
  ): Promise<Answer> => {
    const answer = await world.call(name, request, options);
    seen.push(JSON.stringify(answer));
    return answer;
  };
  const configured = (clientSecret: string): JsonObject => ({ name: "planted", defaultRole: viewer, oidc: { ...oidc, clientSecret } });
  for (const protocol of protocols) {
    const made = await call(
      `${providers}/CreateIdentityProvider`,
      { parent: organization, identityProvider: configured(first) },
      { protocol, headers: { "idempotency-key": `secret-${protocol}` } },
    );
    await call(
      `${providers}/CreateIdentityProvider`,
      { parent: organization, identityProvider: configured(first) },
      { protocol, headers: { "idempotency-key": `secret-${protocol}` } },
    );
    const uid = text(made.reply, "uid");
    await call(...update(uid, { oidc: { clientSecret: second } }, "oidc.client_secret"), { protocol });
    await call(...update(uid, configured(third), "*"), { protocol, validateOnly: true });
    // Refused: a wrong name, a wrong issuer, an unexpected secret, an unknown parent.
    await call(`${providers}/CreateIdentityProvider`, { parent: organization, identityProvider: { ...configured(first), name: "WRONG" } }, { protocol });
    await call(
      `${providers}/CreateIdentityProvider`,
      { parent: organization, identityProvider: { ...configured(first), oidc: { ...part(configured(first), "oidc"), issuer: "http://login.example.com:0/" } } },
      { protocol },
    );
    await call(`${providers}/CreateIdentityProvider`, { parent: `${organization}/0123456789abcdef`, identityProvider: configured(first) }, { protocol });
    await call(...update(uid, { oidc: { ...oidc, clientSecret: second.repeat(400) } }, "oidc"), { protocol });
    await call(`${providers}/ListIdentityProviders`, { pageSize: 200 }, { protocol });

    const key = { headers: { "idempotency-key": `token-${protocol}` } };
    const generated = await world.call(`${providers}/GenerateScimToken`, { identityProviderUid: uid }, { protocol, ...key });
    await call(`${providers}/GenerateScimToken`, { identityProviderUid: uid }, { protocol, ...key });
    await call(`${providers}/RegenerateScimToken`, { identityProviderUid: uid, etag: text(generated.reply, "etag") }, { protocol, validateOnly: true });
    const regenerated = await world.call(`${providers}/RegenerateScimToken`, { identityProviderUid: uid, etag: text(generated.reply, "etag") }, { protocol });
    planted.push(text(generated.reply, "token"), text(regenerated.reply, "token"));
    await call(`${providers}/GetIdentityProvider`, { uid }, { protocol });
    await call(`${providers}/RevokeScimToken`, { identityProviderUid: uid }, { protocol });
    await call(`${providers}/DeleteIdentityProvider`, { uid: await provider(configured(third)) }, { protocol });
  }
  assert.ok(planted.every((secret) => secret.length >= 16));
  for (const rows of (await everyRow(world.databaseUrl)).values()) seen.push(JSON.stringify(rows));
  seen.push(JSON.stringify(await world.events()), ...logged);
  assert.ok(logged.length > 0);
  const leaked = planted.filter((secret) => seen.some((each) => each.includes(secret)));
  assert.deepEqual(leaked, []);
  // The dry run's token is secret too: the planted lookalikes did not appear.
  assert.ok(!seen.some((each) => /cgscim_[0-9a-f]/.test(each)));
});
