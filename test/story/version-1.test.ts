// Version 1 is another form of version 2 (requirement: Versioning 3): the same rows, rules and permissions under other names. These tests cover the
// differences, over both protocols.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { registerPerson } from "../../server/application/person.ts";
import { callHttp } from "../client.ts";
import { openWorld } from "../world.ts";

const listMax = 450;
const folder = await mkdtemp(join(tmpdir(), "gantry-version-1-"));
const termsFile = join(folder, "terms.json");
const rules = { id: "rules.v1", label: "Rules", url: "https://example.com/rules" };
await writeFile(
  termsFile,
  JSON.stringify({ documents: [rules], requires: { "chainguard.platform.iam.v2.AccountAssociationsService/CreateAccountAssociation": [rules.id] } }),
);
const world = await openWorld({
  GANTRY_TERMS_FILE: termsFile,
  GANTRY_V1_LIST_MAX: String(listMax),
  GANTRY_MAIL_ISSUERS: "https://people.example.com=*",
});
after(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});
const { organization } = world;

const protocols = ["rest", "grpc"] as const;
const iam = "chainguard.platform.iam";
const operator = await world.token();

const idOf = (reply: JsonObject): string => text(reply, "id");
const items = (reply: JsonObject): JsonObject[] => objectList(reply, "items");

const makeGroup = async (parent: string, name: string): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }), "uid");

const makeIdentity = async (parent: string, subject: string): Promise<string> =>
  text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent,
      identity: { name: "build-bot", claimMatch: { issuer: "https://issuer.example.com", subject } },
    }),
    "uid",
  );

test("a group created over version 1 and updated over version 2 has one event for each, in the version of the request", async () => {
  for (const protocol of protocols) {
    const before = (await world.events()).length;
    const made = await world.ok(`${iam}.Groups/Create`, { parent: organization, group: { name: `team ${protocol}`, description: "first" } }, { protocol });
    const id = idOf(made);
    assert.deepEqual(
      Object.keys(made).filter((key) => key === "uid" || key === "createTime"),
      [],
    );
    const shown = await world.ok("iam.GroupsService/GetGroup", { uid: id });
    assert.deepEqual([shown.uid, shown.name, shown.description], [id, `team ${protocol}`, "first"]);
    await world.ok("iam.GroupsService/UpdateGroup", { group: { uid: id, description: "second" }, updateMask: "description" }, { protocol });
    const [listed] = items(await world.ok(`${iam}.Groups/List`, { id }, { protocol }));
    assert.equal(listed?.description, "second");
    const told = (await world.events()).slice(before);
    assert.deepEqual(
      told.map(({ type, subject }) => [type, subject]),
      [
        ["dev.chainguard.api.iam.group.created.v1", id],
        ["dev.chainguard.api.iam.group.updated.v1", id],
      ],
    );
    assert.deepEqual([told[0]?.body.id, told[0]?.body.uid], [id, undefined]);
    assert.deepEqual([told[1]?.body.id, told[1]?.body.uid], [undefined, id]);
  }
});

test("an empty result is an empty list, and responses have no deprecation headers", async () => {
  const missing = `${organization}/0123456789abcdef`;
  const { raw, status, headers } = await callHttp(world.url, "GET", `/iam/v1/groups?id=${missing}`, { token: operator });
  assert.deepEqual([status, raw], [200, '{"items":[]}']);
  assert.deepEqual(
    Object.keys(headers).filter((name) => /deprecat|sunset/i.test(name)),
    [],
  );
  for (const protocol of protocols) assert.deepEqual(items(await world.ok(`${iam}.Groups/List`, { id: missing }, { protocol })), []);
});

test("a URL that is too long is refused in the error format of its version", async () => {
  for (const version of ["v1", "v2"]) {
    const { status, raw } = await callHttp(world.url, "GET", `/iam/${version}/groups?name=${"a".repeat(limits.urlBytesMax)}`, { token: operator });
    const { code, details } = JSON.parse(raw) as JsonObject;
    assert.deepEqual([status, code, Array.isArray(details) && details.length > 0], [414, 3, version === "v2"], raw);
  }
});

test("queries and bodies accept proto names and camelCase", async () => {
  for (const [key, since] of [
    ["identity_provider", "default_role"],
    ["identityProvider", "defaultRole"],
  ]) {
    const body = JSON.stringify({
      name: String(key).toLowerCase().replace("_", "-"),
      [since ?? ""]: builtInRoleUid("viewer"),
      oidc: { issuer: "https://idp.example.com", client_id: "x", clientSecret: "s" },
    });
    const made = await callHttp(world.url, "POST", `/iam/v1/identityProviders/${organization}`, { token: operator, body });
    assert.equal(made.code, 0, made.message);
    assert.equal(text(part(made.reply, "oidc"), "clientId"), "x");
    assert.equal(part(made.reply, "oidc").clientSecret, undefined);
  }
  for (const name of ["uidp.children_of", "uidp.childrenOf"]) {
    const { reply, code } = await callHttp(world.url, "GET", `/iam/v1/groups?${name}=${organization}`, { token: operator });
    assert.equal(code, 0);
    assert.ok(items(reply).length > 0);
  }
});

test("PUT replaces version 1's fields and keeps others, such as a binding's expiry and a user's company", async () => {
  const identity = await makeIdentity(organization, "put");
  const expireTime = new Date(world.clock.now + 3_600_000).toISOString();
  const binding = await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: organization,
    roleBinding: { identityUid: identity, roleUid: builtInRoleUid("viewer"), expireTime },
  });
  const uid = text(binding, "uid");
  for (const [protocol, role] of [
    ["rest", "editor"],
    ["grpc", "viewer"],
  ] as const) {
    const put = await world.ok(`${iam}.RoleBindings/Update`, { id: uid, identity, role: builtInRoleUid(role) }, { protocol });
    assert.deepEqual(put, { id: uid, identity, group: organization, role: builtInRoleUid(role) });
    const held = await world.ok("iam.RoleBindingsService/GetRoleBinding", { uid });
    assert.deepEqual([held.roleUid ?? part(held, "role").uid, held.expireTime], [builtInRoleUid(role), expireTime]);
  }
  await world.ok("iam.IdentitiesService/UpdateIdentity", {
    identity: { uid: identity, company: "Example", description: "gone" },
    updateMask: "company,description",
  });
  await world.ok(`${iam}.Identities/Update`, {
    id: identity,
    name: "put",
    claimMatch: { issuer: "https://issuer.example.com", subjectPattern: "^put$" },
  });
  const after = await world.ok("iam.IdentitiesService/GetIdentity", { uid: identity });
  assert.deepEqual(
    [after.name, after.description, after.company, after.claimMatch],
    ["put", undefined, "Example", { issuer: "https://issuer.example.com", subjectPattern: "^put$" }],
  );
});

test("a role's capabilities are strings in version 1, and an unknown one is named", async () => {
  for (const protocol of protocols) {
    const role = await world.ok(
      `${iam}.Roles/Create`,
      { parentId: organization, role: { name: `r-${protocol}`, capabilities: ["repo.list", "groups.list"] } },
      { protocol },
    );
    assert.deepEqual([...(role.capabilities as string[])].sort(), ["groups.list", "repo.list"]);
    const second = await world.ok("iam.RolesService/GetRole", { uid: idOf(role) });
    assert.deepEqual([...(second.capabilities as string[])].sort(), ["CAP_IAM_GROUPS_LIST", "CAP_REPO_LIST"]);
    const bad = await world.call(
      `${iam}.Roles/Create`,
      { parentId: organization, role: { name: "bad", capabilities: ["repo.list", "repo.fly"] } },
      { protocol },
    );
    assert.deepEqual([bad.code, bad.message], [3, "Invalid argument: role.capabilities[1]: is not a known capability"]);
  }
});

test('built-in roles have the parent "/"', async () => {
  for (const protocol of protocols) {
    const atRoot = items(await world.ok(`${iam}.Roles/List`, { parent: "/" }, { protocol }));
    assert.ok(atRoot.some(({ name }) => name === "owner") && atRoot.every((role) => idOf(role).length === 40));
    const own = items(await world.ok(`${iam}.Roles/List`, { parent: organization }, { protocol }));
    assert.ok(own.length > 0 && own.every((role) => idOf(role).startsWith(`${organization}/`)));
  }
});

test("role bindings are listed with group and role, and the identity as its ID", async () => {
  const identity = await makeIdentity(organization, "listed");
  const made = await world.ok(`${iam}.RoleBindings/Create`, { parent: organization, roleBinding: { identity, role: builtInRoleUid("viewer") } });
  for (const protocol of protocols) {
    const [found] = items(await world.ok(`${iam}.RoleBindings/List`, { id: idOf(made) }, { protocol }));
    assert.ok(found);
    assert.equal(found.identity, identity);
    assert.equal(part(found, "group").id, organization);
    assert.deepEqual([part(found, "role").id, part(found, "role").name], [builtInRoleUid("viewer"), "viewer"]);
    assert.deepEqual([found.claimMatchIssuer, found.claimMatchSubject], ["https://issuer.example.com", "listed"]);
  }
});

test("events of creates have the request's form in version 1; batches and cascades have version 1's form too", async () => {
  const group = await makeGroup(organization, "told");
  const before = (await world.events()).length;
  const identity = idOf(
    await world.ok(`${iam}.Identities/Create`, {
      parentId: group,
      identity: { name: "told", static: { issuer: "https://issuer.example.com", subject: "told", issuerKeys: "keys" } },
    }),
  );
  const [binding] = objectList(
    await world.ok(`${iam}.RoleBindings/CreateBatch`, { parent: group, roleBindings: [{ identity, role: builtInRoleUid("viewer") }] }),
    "roleBindings",
  );
  await world.ok(`${iam}.Identities/Delete`, { id: identity });
  const told = (await world.events()).slice(before);
  const [created, batch, along, deleted] = told;
  assert.deepEqual(created?.body.parent_id, group);
  assert.deepEqual([part(created?.body ?? {}, "identity").id, part(part(created?.body ?? {}, "identity"), "static").issuer_keys], [identity, "keys"]);
  assert.deepEqual(objectList(batch?.body ?? {}, "role_bindings"), [{ id: idOf(binding ?? {}), identity, group, role: builtInRoleUid("viewer") }]);
  assert.deepEqual([along?.type, along?.body], ["dev.chainguard.api.iam.rolebindings.deleted.v1", { id: idOf(binding ?? {}) }]);
  assert.deepEqual([deleted?.type, deleted?.body], ["dev.chainguard.api.iam.identity.deleted.v1", { id: identity }]);
});

test("an identity is found by issuer and subject if the caller can read it, and an ambiguous lookup is refused", async () => {
  const group = await makeGroup(organization, "lookup");
  const identity = await makeIdentity(group, "looked-up");
  const stranger = await world.token(await makeIdentity(organization, "stranger"));
  const asked = { issuer: "https://issuer.example.com", subject: "looked-up" };
  for (const protocol of protocols) {
    assert.equal(idOf(await world.ok(`${iam}.Identities/Lookup`, asked, { protocol })), identity);
    for (const [request, token] of [
      [asked, stranger],
      [{ ...asked, subject: "nobody" }, operator],
    ] as const) {
      const { code, details } = await world.call(`${iam}.Identities/Lookup`, request, { protocol, token });
      assert.deepEqual([code, details], [5, []]);
    }
  }
  await makeIdentity(organization, "looked-up");
  for (const protocol of protocols) assert.equal((await world.call(`${iam}.Identities/Lookup`, asked, { protocol })).code, 9);
});

test("a list of version 1 is complete and never truncated, over all pages of version 2", async () => {
  const group = await makeGroup(organization, "many");
  for (let made = 0; made < 420; made += 20) await Promise.all(Array.from({ length: 20 }, (_, index) => makeGroup(group, `g-${made + index}`)));
  const uidp = { childrenOf: group };
  const uids: string[] = [];
  for (let pageToken = ""; ; ) {
    const page = await world.ok("iam.GroupsService/ListGroups", { uidp, pageSize: 200, ...(pageToken && { pageToken }) });
    uids.push(...objectList(page, "groups").map((each) => text(each, "uid")));
    pageToken = text(page, "nextPageToken");
    if (pageToken === "") break;
  }
  assert.equal(uids.length, 420);
  for (const protocol of protocols) assert.deepEqual(items(await world.ok(`${iam}.Groups/List`, { uidp }, { protocol })).map(idOf), uids);
  const { raw } = await callHttp(world.url, "GET", `/iam/v1/groups?uidp.childrenOf=${group}`, { token: operator });
  assert.deepEqual(items(JSON.parse(raw) as JsonObject).map(idOf), uids);

  for (let made = 420; made <= listMax; made += 1) await makeGroup(group, `g-${made}`);
  for (const protocol of protocols) {
    const { code, message, details } = await world.call(`${iam}.Groups/List`, { uidp }, { protocol });
    assert.deepEqual([code, details], [9, []]);
    assert.match(message, /the list has 451 entries; version 1 gives at most 450 at once/);
  }
});

test("idempotency keys, dry runs and ETags work across both versions", async () => {
  const headers = { "idempotency-key": "version-1" };
  const first = await world.call(`${iam}.Groups/Create`, { parent: organization, group: { name: "once" } }, { headers });
  const second = await world.call("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "once" } }, { headers });
  assert.equal(second.headers["gantry-replayed"], "true");
  assert.equal(second.reply.uid, first.reply.id);
  const id = idOf(first.reply);
  for (const protocol of protocols) {
    const tried = await world.call(`${iam}.Groups/Update`, { id, name: "tried" }, { protocol, validateOnly: true });
    assert.deepEqual([tried.code, tried.reply.name], [0, "tried"]);
    const stale = await world.call(`${iam}.Groups/Update`, { id, name: "late" }, { protocol, headers: { "if-match": '"stale"' } });
    assert.equal(stale.code, 10);
    assert.equal((await world.ok("iam.GroupsService/GetGroup", { uid: id })).name, "once");
  }
});

test("missing documents are named in version 1's details, can be accepted over it, and then permit the operation", async () => {
  for (const protocol of protocols) {
    const group = idOf(await world.ok(`${iam}.Groups/Create`, { parent: "", group: { name: `terms-${protocol}` } }));
    const association = { group, name: "accounts", amazon: { account: "123456789012" } };
    const refused = await world.call(`${iam}.GroupAccountAssociations/Create`, association, { protocol });
    assert.deepEqual([refused.code, refused.message], [9, "terms not accepted"]);
    assert.deepEqual(refused.details, [{ "@type": `type.googleapis.com/${iam}.TermsNotAcceptedDetail`, missing: [rules] }]);
    await world.ok(`${iam}.Terms/AcceptTerms`, { group, documentIds: [rules.id] }, { protocol });
    const [accepted] = items(await world.ok(`${iam}.Terms/ListAccepted`, { group }, { protocol }));
    assert.deepEqual([accepted?.docId, Number.isNaN(Date.parse(String(accepted?.acceptedAt)))], [rules.id, false]);
    assert.deepEqual(await world.ok(`${iam}.GroupAccountAssociations/Create`, association, { protocol }), association);
    const status = await world.ok(`${iam}.GroupAccountAssociations/Check`, { group, accountType: "AMAZON" }, { protocol });
    assert.equal(status.ready, "NotReady");
    const replaced = { group, name: "accounts", google: { projectId: "p", projectNumber: "1" } };
    assert.deepEqual(await world.ok(`${iam}.GroupAccountAssociations/Update`, replaced, { protocol }), replaced);
    assert.deepEqual(items(await world.ok(`${iam}.GroupAccountAssociations/List`, { group }, { protocol })), [replaced]);
  }
});

test("user metadata is updated by version 1's operation, within its nested form", async () => {
  const person = { issuer: "https://people.example.com", subject: "ada", email: "ada@example.com", name: "" };
  const token = await world.token(await registerPerson(world.server.application.kernel, person));
  const update = "chainguard.platform.events.Identities/UpdateMetadata";
  for (const protocol of protocols) {
    await world.ok(update, { updatesOptIn: true, onboardingQuestions: { companyName: "Example", providers: ["none"] } }, { token, protocol });
    const { onboardingQuestions } = await world.ok(update, { onboardingQuestions: { jobTitle: `engineer over ${protocol}` } }, { token, protocol });
    const said = onboardingQuestions as JsonObject;
    assert.deepEqual([said.companyName, said.jobTitle, said.providers], ["Example", `engineer over ${protocol}`, undefined]);
  }
});

test("SCIM tokens, mappings and invites are created and revoked over version 1", async () => {
  for (const protocol of protocols) {
    const identityProvider = {
      name: `idp-${protocol}`,
      defaultRole: builtInRoleUid("viewer"),
      oidc: { issuer: "https://idp.example.com", clientId: "c", clientSecret: "s" },
    };
    const provider = idOf(await world.ok(`${iam}.IdentityProviders/Create`, { parentId: organization, identityProvider }, { protocol }));
    const scim = await world.ok(`${iam}.IdentityProviders/GenerateScimToken`, { identityProviderId: provider, neverExpires: true }, { protocol });
    assert.deepEqual([scim.identityProviderId, text(scim, "token") !== ""], [provider, true]);
    await world.ok(`${iam}.IdentityProviders/RevokeScimToken`, { identityProviderId: provider }, { protocol });
    const mapping = { externalGroupId: "admins", roleUidp: builtInRoleUid("viewer"), scope: organization };
    const made = await world.ok(`${iam}.ExternalGroupRoleMappings/Create`, { parentId: provider, mapping }, { protocol });
    assert.deepEqual([made.identityProviderUidp, made.roleUidp, typeof made.createdAt], [provider, builtInRoleUid("viewer"), "string"]);
    assert.deepEqual(await world.ok(`${iam}.ExternalGroupRoleMappings/Get`, { uid: idOf(made) }, { protocol }), made);
    const gone = await world.ok(`${iam}.ExternalGroupRoleMappings/BatchDelete`, { parentId: provider, ids: [idOf(made)] }, { protocol });
    assert.deepEqual(items(gone).map(idOf), [idOf(made)]);
    await world.ok(`${iam}.IdentityProviders/Delete`, { id: provider }, { protocol });

    const invite = await world.ok(
      `${iam}.GroupInvites/Create`,
      { group: organization, ttl: "3600s", role: builtInRoleUid("viewer"), singleUse: true },
      { protocol },
    );
    assert.deepEqual([part(invite, "role").name, text(invite, "code") !== ""], ["viewer", true]);
    const [stored] = items(await world.ok(`${iam}.GroupInvites/List`, { group: organization, keyId: text(invite, "keyId") }, { protocol }));
    assert.deepEqual([stored?.id, stored?.singleUse, stored?.code, part(stored ?? {}, "role").name], [invite.id, true, undefined, "viewer"]);
    await world.ok(`${iam}.GroupInvites/Delete`, { id: idOf(invite) }, { protocol });
  }
});

test("a subscription is created, listed and deleted over version 1, as the public Terraform provider does", async () => {
  const events = "chainguard.platform.events.Subscriptions";
  for (const protocol of protocols) {
    const made = await world.ok(`${events}/Create`, { parentId: organization, subscription: { sink: "https://localhost/callback" } }, { protocol });
    assert.deepEqual(Object.keys(made).sort(), ["id", "sink"]);
    assert.deepEqual(items(await world.ok(`${events}/List`, { id: idOf(made) }, { protocol })), [made]);
    await world.ok(`${events}/Delete`, { id: idOf(made) }, { protocol });
    assert.deepEqual(items(await world.ok(`${events}/List`, { id: idOf(made) }, { protocol })), []);
  }
});
