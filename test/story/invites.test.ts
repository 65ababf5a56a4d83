// Invites: created, shown once, accepted with a token of the user's own provider, and deleted when used up.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { databaseContents, findRole, openInstallation, type Installation } from "./installation.ts";
import { type Issuer, startIssuer } from "./processes.ts";
import { registerPerson } from "../../server/application/person.ts";
import { runMaintenance } from "../../server/application/maintenance.ts";

const protocols = ["rest", "grpc"] as const;
const register = "chainguard.platform.auth.Auth/Register";
const validate = "chainguard.platform.auth.Auth/Validate";

let installation: Installation;
let issuer: Issuer;
let organization: string;
let viewer: string;

before(async () => {
  issuer = await startIssuer();
  installation = await openInstallation({ GANTRY_MAIL_ISSUERS: `${issuer.url}=example.com` });
  organization = installation.world.organization;
  viewer = await findRole(installation.world, "viewer");
  // The operator trusts the issuer by registering one of its users.
  await registerPerson(installation.world.server.application.kernel, { issuer: issuer.url, subject: "first", email: "first@example.com", name: "" });
});
after(() => Promise.all([installation?.close(), issuer?.close()]));

const person = (subject: string, claims: JsonObject = {}): Promise<string> =>
  issuer.token({ sub: subject, aud: installation.world.url, email: `${subject}@example.com`, email_verified: true, ...claims });

const invite = (body: JsonObject = {}, parent = organization): Promise<JsonObject> =>
  installation.world.ok("iam.GroupInvitesService/CreateGroupInvite", { parent, groupInvite: { roleUid: viewer, ttl: "3600s", ...body } });

const join = (code: string, token: string, protocol: "rest" | "grpc" = "rest") => installation.world.call(register, { code }, { token, protocol });

const bindingsOf = async (identity: string, group = organization): Promise<JsonObject[]> => {
  const { roleBindings = [] } = await installation.world.ok("iam.RoleBindingsService/ListRoleBindings", { identity, group });
  return roleBindings as JsonObject[];
};

for (const protocol of protocols) {
  test(`over ${protocol} an invite returns its code once, with role and expiry, and never again`, async () => {
    const { world } = installation;
    const made = await world.ok(
      "iam.GroupInvitesService/CreateGroupInvite",
      { parent: organization, groupInvite: { roleUid: viewer, ttl: "604800s", email: "ada@example.com", singleUse: true } },
      { protocol },
    );
    const code = text(made, "code");
    const inside = JSON.parse(Buffer.from(code, "base64url").toString()) as JsonObject;
    assert.deepEqual(Object.keys(inside), ["grp", "kid", "sec"]);
    assert.equal(inside.grp, organization);
    assert.equal(inside.kid, made.keyId);
    assert.ok(Buffer.from(text(inside, "sec"), "base64url").length >= 32, "256 random bits");
    assert.equal(made.expirationTime, new Date(world.clock.now + 604_800_000).toISOString());
    assert.equal(text(part(made, "role"), "name"), "viewer");
    assert.ok(Array.isArray(part(made, "role").capabilities));
    const { code: _code, ...shown } = made;
    const got = await world.ok("iam.GroupInvitesService/GetGroupInvite", { uid: made.uid ?? "" }, { protocol });
    assert.deepEqual(got, shown);
    const { groupInvites } = await world.ok("iam.GroupInvitesService/ListGroupInvites", { keyId: made.keyId ?? "" }, { protocol });
    assert.deepEqual(groupInvites, [shown]);
  });

  test(`over ${protocol} an unknown user joins with a code: identity, role binding and event in one transaction`, async () => {
    const { world } = installation;
    const { code, uid } = await invite();
    const token = await person(`newcomer-${protocol}`, {
      name: "Zoë O'Hara",
      given_name: "Zoë",
      family_name: "O'Hara",
      picture: "https://example.com/zoe.png",
    });
    const { code: status, reply, message } = await join(String(code), token, protocol);
    assert.equal(status, 0, message);
    const identity = world.server.application.services.authn.personUid(issuer.url, `newcomer-${protocol}`);
    assert.deepEqual(reply, { identity, group: organization });
    assert.deepEqual(
      (await bindingsOf(identity)).map(({ roleUid }) => roleUid),
      [viewer],
    );
    const told = (await world.events()).at(-1);
    assert.equal(told?.type, "dev.chainguard.api.auth.registered.v1");
    assert.equal(told?.subject, identity);
    assert.equal(told?.group, organization);
    assert.equal(told?.actor, identity);
    assert.deepEqual(told?.body, { identity, group: organization });
    const known = await world.ok("iam.IdentitiesService/GetIdentity", { uid: identity });
    assert.equal(known.name, "zoe o-hara");
    assert.equal(known.email, `newcomer-${protocol}@example.com`);
    const who = await world.ok(validate, {}, { token, protocol });
    assert.equal(who.subject, identity);
    assert.deepEqual(who.profile, { name: "Zoë O'Hara", picture: "https://example.com/zoe.png", givenName: "Zoë", familyName: "O'Hara" });
    const before = await databaseContents(world, ["role_bindings", "outbox"]);
    assert.deepEqual((await join(String(code), token, protocol)).reply, reply);
    assert.deepEqual(await databaseContents(world, ["role_bindings", "outbox"]), before);
    await world.ok("iam.GroupInvitesService/GetGroupInvite", { uid: String(uid) });
  });

  test(`over ${protocol} an unknown code is NOT_FOUND, an expired one FAILED_PRECONDITION, and neither registers a user`, async () => {
    const { world } = installation;
    const unknown = await join(Buffer.from('{"grp":"none"}').toString("base64url"), await person("nobody"), protocol);
    assert.equal(unknown.code, codes.NOT_FOUND);
    const { code } = await invite({ ttl: "60s" });
    world.clock.now += 60_000;
    const expired = await join(String(code), await person("nobody"), protocol);
    assert.equal(expired.code, codes.FAILED_PRECONDITION);
    assert.match(JSON.stringify(expired.details), /INVITE_EXPIRED/);
    assert.equal(
      (await world.call("iam.IdentitiesService/GetIdentity", { uid: world.server.application.services.authn.personUid(issuer.url, "nobody") })).code,
      codes.NOT_FOUND,
    );
    world.clock.now -= 60_000;
  });
}

test("a single-use invite is deleted once a new member joins, but not if an existing member uses it", async () => {
  const { world } = installation;
  const { code, uid } = await invite({ singleUse: true });
  const inside = await invite();
  assert.equal((await join(String(inside.code), await person("already"))).code, 0);
  assert.equal((await join(String(code), await person("already"))).code, 0);
  await world.ok("iam.GroupInvitesService/GetGroupInvite", { uid: String(uid) });
  assert.equal((await join(String(code), await person("single"))).code, 0);
  assert.equal((await world.call("iam.GroupInvitesService/GetGroupInvite", { uid: String(uid) })).code, codes.NOT_FOUND);
  assert.equal((await join(String(code), await person("late"))).code, codes.NOT_FOUND);
});

test("an invite for an address is accepted only from a user with that address verified by the issuer, in any case", async () => {
  const { code } = await invite({ email: "Ada.Kelvin@Example.com" });
  const others = [
    { email: "eve@example.com" },
    { email: "ada.kelvin@example.com", email_verified: false },
    { email: null },
    { email: "ada.\u212aelvin@example.com" },
  ];
  for (const claims of others) {
    const refused = await join(String(code), await person("ada", claims));
    assert.equal(refused.code, codes.PERMISSION_DENIED, JSON.stringify(claims));
  }
  assert.equal((await join(String(code), await person("ada", { email: "ADA.kelvin@example.COM" }))).code, 0);
});

test("a registered user also joins with a token of this server, and identity_id must be their own", async () => {
  const { world } = installation;
  const identity = await registerPerson(world.server.application.kernel, {
    issuer: issuer.url,
    subject: "registered",
    email: "registered@example.com",
    name: "",
  });
  const token = await world.token(identity);
  const { code } = await invite({ email: "registered@example.com" });
  assert.equal(
    (await world.call(register, { code: String(code), identityId: world.server.application.services.authn.personUid(issuer.url, "first") }, { token })).code,
    codes.PERMISSION_DENIED,
  );
  assert.deepEqual((await world.call(register, { code: String(code), identityId: identity }, { token })).reply, { identity, group: organization });
  // With a provider's token it must name a registered user.
  const stranger = world.server.application.services.authn.personUid(issuer.url, "stranger");
  assert.equal((await world.call(register, { code: String(code), identityId: stranger }, { token: await person("stranger") })).code, codes.NOT_FOUND);
  assert.equal((await world.call(register, { code: String(code), identityId: identity }, { token: await person("stranger") })).code, codes.PERMISSION_DENIED);
});

test("accepting an invite extends an existing binding that would expire", async () => {
  const { world } = installation;
  const identity = await registerPerson(world.server.application.kernel, { issuer: issuer.url, subject: "guest", email: "", name: "" });
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: organization,
    roleBinding: { identityUid: identity, roleUid: viewer, expireTime: new Date(world.clock.now + 1000).toISOString() },
  });
  const { code } = await invite();
  assert.equal((await join(String(code), await person("guest"))).code, 0);
  const [binding, ...others] = await bindingsOf(identity);
  assert.deepEqual(others, []);
  assert.equal(binding?.expireTime, undefined);
});

test("an invite requires a role that its creator can grant there, a valid time to live and a valid address", async () => {
  const { world } = installation;
  const wrong: readonly (readonly [JsonObject, string])[] = [
    [{ ttl: "0s" }, "ttl"],
    [{ ttl: "-1s" }, "ttl"],
    [{ ttl: `${limits.inviteLifetimeMs / 1000 + 1}s` }, "ttl"],
    [{ roleUid: "0".repeat(40) }, "roleUid"],
    [{ email: "no address" }, "email"],
  ];
  const before = await databaseContents(world, ["group_invites", "outbox"]);
  for (const protocol of protocols) {
    for (const [body, field] of wrong) {
      const { code, details } = await world.call(
        "iam.GroupInvitesService/CreateGroupInvite",
        { parent: organization, groupInvite: { roleUid: viewer, ttl: "60s", ...body } },
        { protocol },
      );
      assert.equal(code, codes.INVALID_ARGUMENT, JSON.stringify(body));
      assert.match(JSON.stringify(details), new RegExp(`"field":"${field}"`));
    }
  }
  assert.deepEqual(await databaseContents(world, ["group_invites", "outbox"]), before);
});

test("an invite's time to live is at most 30 days, which both versions' errors state", async () => {
  const { world } = installation;
  const longest = `${30 * 24 * 60 * 60}s`;
  for (const protocol of protocols) {
    for (const [ttl, code] of [
      [longest, 0],
      ["2592001s", codes.INVALID_ARGUMENT],
    ] as const) {
      const answers = [
        await world.call("iam.GroupInvitesService/CreateGroupInvite", { parent: organization, groupInvite: { roleUid: viewer, ttl } }, { protocol }),
        await world.call("chainguard.platform.iam.GroupInvites/Create", { group: organization, role: viewer, ttl }, { protocol }),
      ];
      for (const answer of answers) {
        assert.equal(answer.code, code, answer.message);
        if (code !== 0) assert.match(answer.message, /ttl must be between 1s and 2592000s/);
      }
    }
  }
});

test("a role of an active invite cannot be deleted; of an expired one it can, and deleting a group deletes its invites", async () => {
  const { world } = installation;
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "with invites" } }), "uid");
  const role = text(
    await world.ok("iam.RolesService/CreateRole", { parent: organization, role: { name: "promised", capabilities: ["CAP_REPO_LIST"] } }),
    "uid",
  );
  const { uid } = await invite({ roleUid: role, ttl: "60s" }, group);
  const refused = await world.call("iam.RolesService/DeleteRole", { uid: role });
  assert.equal(refused.code, codes.FAILED_PRECONDITION);
  world.clock.now += 60_000;
  await world.ok("iam.RolesService/DeleteRole", { uid: role });
  const { code, uid: other } = await invite({}, group);
  await world.ok("iam.GroupsService/DeleteGroup", { uid: group });
  for (const gone of [uid, other]) assert.equal((await world.call("iam.GroupInvitesService/GetGroupInvite", { uid: String(gone) })).code, codes.NOT_FOUND);
  assert.equal((await join(String(code), await person("too-late"))).code, codes.NOT_FOUND);
  world.clock.now -= 60_000;
});

test("an expired invite is kept for the maximum time to live and then deleted", async () => {
  const { world } = installation;
  const { uid } = await invite({ ttl: "60s" });
  const startMs = world.clock.now;
  for (const [laterMs, code] of [
    [limits.inviteLifetimeMs, 0],
    [limits.inviteLifetimeMs + 61_000, codes.NOT_FOUND],
  ] as const) {
    world.clock.now = startMs + laterMs;
    await runMaintenance(world.server.application.kernel);
    assert.equal((await world.call("iam.GroupInvitesService/GetGroupInvite", { uid: String(uid) })).code, code);
  }
  world.clock.now = startMs;
});

test("invites are listed newest first by default", async () => {
  const { world } = installation;
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "ordered" } }), "uid");
  const made: string[] = [];
  for (let count = 0; count < 3; count++) {
    world.clock.now += 1000;
    made.unshift(text(await invite({}, group), "uid"));
  }
  const { groupInvites } = await world.ok("iam.GroupInvitesService/ListGroupInvites", { uidp: { childrenOf: group } });
  assert.deepEqual(
    (groupInvites as JsonObject[]).map(({ uid }) => uid),
    made,
  );
});

test("an invite to a subgroup grants nothing above it", async () => {
  const { world } = installation;
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "below" } }), "uid");
  const { code } = await invite({ roleUid: builtInRoleUid("owner") }, group);
  const token = await person("below");
  assert.equal((await join(String(code), token)).code, 0);
  await world.ok("iam.GroupsService/UpdateGroup", { group: { uid: group, description: "mine" } }, { token });
  assert.equal(
    (await world.call("iam.GroupsService/UpdateGroup", { group: { uid: organization, description: "mine" } }, { token })).code,
    codes.PERMISSION_DENIED,
  );
});
