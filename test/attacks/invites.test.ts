// Attack 24 (invite replay, email swap, code in logs), and invites of creators who lost permissions.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { registerPerson } from "../../server/application/person.ts";
import { everyRow } from "../database.ts";
import { databaseContents, findRole, openInstallation, type Installation } from "../story/installation.ts";
import { type Issuer, startIssuer } from "../story/processes.ts";

const protocols = ["rest", "grpc"] as const;
const register = "chainguard.platform.auth.Auth/Register";
const claimMatch = { issuer: "https://ci.example.com", subject: "s" };

let installation: Installation;
let issuer: Issuer;
let organization: string;
let viewer: string;
let owner: string;

before(async () => {
  issuer = await startIssuer();
  installation = await openInstallation({ GANTRY_MAIL_ISSUERS: `${issuer.url}=example.com` });
  organization = installation.world.organization;
  [viewer, owner] = await Promise.all([findRole(installation.world, "viewer"), findRole(installation.world, "owner")]);
  await registerPerson(installation.world.server.application.kernel, { issuer: issuer.url, subject: "first", email: "", name: "" });
});
after(() => Promise.all([installation?.close(), issuer?.close()]));

const person = (subject: string, claims: JsonObject = {}, from = issuer): Promise<string> =>
  from.token({ sub: subject, aud: installation.world.url, email: `${subject}@example.com`, email_verified: true, ...claims });

const invite = (body: JsonObject = {}, options: { readonly token?: string; readonly parent?: string } = {}) =>
  installation.world.call(
    "iam.GroupInvitesService/CreateGroupInvite",
    { parent: options.parent ?? organization, groupInvite: { roleUid: viewer, ttl: "3600s", ...body } },
    options.token ? { token: options.token } : {},
  );

const codeOf = async (body: JsonObject = {}, options = {}): Promise<string> => {
  const { code, reply, message } = await invite(body, options);
  assert.equal(code, 0, message);
  return text(reply, "code");
};

const join = (code: string, token: string, protocol: "rest" | "grpc" = "rest") => installation.world.call(register, { code }, { token, protocol });

const count = async (statement: string): Promise<number> => Number((await installation.world.server.application.services.store.read.query(statement))[0]?.[0]);

test("attack 24: of fifty users who redeem a single-use code concurrently, exactly one joins", async () => {
  const code = await codeOf({ singleUse: true });
  const tokens = await Promise.all(Array.from({ length: 50 }, (_, index) => person(`racer-${index}`)));
  const bindings = await count("select count(*) from role_bindings");
  const people = await count("select count(*) from identities");
  const events = await count("select count(*) from outbox");
  const answers = await Promise.all(tokens.map((token, index) => join(code, token, protocols[index % 2])));
  assert.deepEqual(
    answers.map((answer) => answer.code).sort((one, other) => one - other),
    [0, ...Array.from({ length: 49 }, () => codes.NOT_FOUND)],
  );
  assert.equal(await count("select count(*) from role_bindings"), bindings + 1);
  assert.equal(await count("select count(*) from identities"), people + 1);
  // The binding, the used invite, and the registration.
  assert.equal(await count("select count(*) from outbox"), events + 3);
});

test("a user who redeems a code fifty times concurrently joins once", async () => {
  const code = await codeOf();
  const token = await person("eager");
  const bindings = await count("select count(*) from role_bindings");
  const events = await count("select count(*) from outbox");
  const answers = await Promise.all(Array.from({ length: 50 }, () => join(code, token)));
  assert.deepEqual(new Set(answers.map((answer) => answer.code)), new Set([0]));
  assert.equal(await count("select count(*) from role_bindings"), bindings + 1);
  assert.equal(await count("select count(*) from outbox"), events + 2);
});

test("neither a code nor its secret part is in any row, event, list, error or repeated response", async () => {
  const { world } = installation;
  const headers = { "idempotency-key": "an invite" };
  const request = { parent: organization, groupInvite: { roleUid: viewer, ttl: "3600s", email: "eve@example.com", singleUse: true } };
  const first = await world.call("iam.GroupInvitesService/CreateGroupInvite", request, { headers });
  const code = text(first.reply, "code");
  const secret = text(JSON.parse(Buffer.from(code, "base64url").toString()) as JsonObject, "sec");
  assert.ok(code.length > 40 && secret.length >= 43);
  const seen = [
    await world.call("iam.GroupInvitesService/CreateGroupInvite", request, { headers }),
    await world.call("iam.GroupInvitesService/CreateGroupInvite", request, { validateOnly: true }),
    await world.call("iam.GroupInvitesService/ListGroupInvites", {}),
    await world.call("iam.GroupInvitesService/GetGroupInvite", { uid: text(first.reply, "uid") }),
    await join(code, await person("mallory")),
    await join(code, "garbage"),
    await join(code, await person("eve")),
    await join(code, await person("mallory")),
  ];
  assert.equal(seen[0]?.headers["gantry-left-out"], "code");
  assert.deepEqual(
    seen.map((answer) => answer.code),
    [0, 0, 0, 0, codes.PERMISSION_DENIED, codes.UNAUTHENTICATED, 0, codes.NOT_FOUND],
  );
  const rows = [...(await everyRow(world.databaseUrl)).values()];
  for (const hidden of [code, secret]) {
    assert.ok(!JSON.stringify(seen).includes(hidden));
    assert.ok(!JSON.stringify(rows).includes(hidden));
  }
});

test("an invite requires the permissions of its role and both capabilities", async () => {
  const { world } = installation;
  const inviter = async (capabilities: readonly string[]): Promise<string> => {
    const identity = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: organization, identity: { name: "inviter", claimMatch } }), "uid");
    const role = text(
      await world.ok("iam.RolesService/CreateRole", { parent: organization, role: { name: "inviter", capabilities: [...capabilities] } }),
      "uid",
    );
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: organization, roleBinding: { identityUid: identity, roleUid: role } });
    return world.token(identity);
  };
  const both = ["CAP_IAM_GROUP_INVITES_CREATE", "CAP_IAM_ROLE_BINDINGS_CREATE"];
  const list = text(await world.ok("iam.RolesService/CreateRole", { parent: organization, role: { name: "lister", capabilities: ["CAP_REPO_LIST"] } }), "uid");
  const before = await databaseContents(world, ["group_invites"]);
  const token = await inviter([...both, "CAP_REPO_LIST"]);
  assert.equal((await invite({ roleUid: owner }, { token })).code, codes.PERMISSION_DENIED);
  for (const only of both) assert.equal((await invite({ roleUid: list }, { token: await inviter([only, "CAP_REPO_LIST"]) })).code, codes.PERMISSION_DENIED);
  assert.deepEqual(await databaseContents(world, ["group_invites"]), before);
  assert.equal((await invite({ roleUid: list }, { token })).code, 0);
});

test("attack 24: an invite grants only what its creator can grant at redemption, and nothing if the creator left or the role grew", async () => {
  const { world } = installation;
  const maker = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: organization, identity: { name: "maker", claimMatch } }), "uid");
  const capabilities = ["CAP_IAM_GROUP_INVITES_CREATE", "CAP_IAM_ROLE_BINDINGS_CREATE", "CAP_REPO_LIST"];
  const makers = text(await world.ok("iam.RolesService/CreateRole", { parent: organization, role: { name: "makers", capabilities } }), "uid");
  const promised = text(
    await world.ok("iam.RolesService/CreateRole", { parent: organization, role: { name: "small", capabilities: ["CAP_REPO_LIST"] } }),
    "uid",
  );
  const bind = (): Promise<JsonObject> =>
    world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: organization, roleBinding: { identityUid: maker, roleUid: makers } });
  let binding = await bind();
  const code = await codeOf({ roleUid: promised }, { token: await world.token(maker) });
  const assertVoid = async (): Promise<void> => {
    const before = await databaseContents(world);
    const { code: status, details } = await join(code, await person("hopeful"));
    assert.equal(status, codes.FAILED_PRECONDITION);
    assert.match(JSON.stringify(details), /INVITE_NOT_COVERED/);
    assert.deepEqual(await databaseContents(world), before);
  };
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: text(binding, "uid") });
  await assertVoid();
  binding = await bind();
  await world.ok("iam.RolesService/UpdateRole", { role: { uid: promised, capabilities: ["CAP_REPO_LIST", "CAP_REPO_DELETE"] } });
  await assertVoid();
  await world.ok("iam.RolesService/UpdateRole", { role: { uid: promised, capabilities: ["CAP_REPO_LIST"] } });
  assert.equal((await join(code, await person("hopeful"))).code, 0);
  await world.ok("iam.IdentitiesService/DeleteIdentity", { uid: maker });
  assert.equal((await join(code, await person("too-late"))).code, codes.FAILED_PRECONDITION);
});

test("a code never makes the server contact an unknown issuer, and a token for another service is refused", async () => {
  const stranger = await startIssuer();
  try {
    const code = await codeOf();
    for (const protocol of protocols) {
      assert.equal((await join(code, await person("anyone", {}, stranger), protocol)).code, codes.UNAUTHENTICATED);
      assert.equal((await join(code, await person("anyone", { aud: "https://elsewhere.example.com" }), protocol)).code, codes.UNAUTHENTICATED);
    }
    assert.deepEqual(await stranger.asked(), []);
  } finally {
    await stranger.close();
  }
});

test("another organization's issuer cannot vouch for the email address that an invite is locked to", async () => {
  const { world } = installation;
  const foreign = await startIssuer();
  try {
    const theirs = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "another organization" } }), "uid");
    const provider = { name: "theirs", defaultRole: viewer, oidc: { issuer: foreign.url, clientId: "their client", clientSecret: "secret" } };
    const made = await world.call("iam.IdentityProvidersService/CreateIdentityProvider", { parent: theirs, identityProvider: provider });
    assert.equal(made.code, 0, made.message);
    // This issuer's users are known here, so it can vouch for users.
    const own = await codeOf({}, { parent: theirs });
    assert.equal(
      (await join(own, await person("theirs", { aud: "their client" }, foreign))).code,
      0,
      "for its own organization its provider's audience will do",
    );
    const locked = await codeOf({ email: "ada@example.com" });
    assert.equal((await join(locked, await person("eve", { email: "ada@example.com" }, foreign))).code, codes.PERMISSION_DENIED);
    const open = await codeOf();
    assert.equal((await join(open, await person("guest", { aud: "their client" }, foreign))).code, codes.UNAUTHENTICATED, "but for no other");
    assert.equal((await join(locked, await person("ada"))).code, 0);
  } finally {
    await foreign.close();
  }
});

test("a narrowed token, an assumable identity and the operator cannot redeem an invite", async () => {
  const { world } = installation;
  const identity = await registerPerson(world.server.application.kernel, { issuer: issuer.url, subject: "narrow", email: "", name: "" });
  const robot = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: organization, identity: { name: "robot", claimMatch } }), "uid");
  const code = await codeOf();
  for (const token of [
    await world.token(identity, { capabilities: ["repo.list"] }),
    await world.token(identity, { scopes: [organization] }),
    await world.token(robot),
    await world.token(),
  ]) {
    for (const protocol of protocols) assert.equal((await join(code, token, protocol)).code, codes.PERMISSION_DENIED);
  }
  assert.equal((await join(code, await world.token(identity))).code, 0);
});

test("a malformed code, or one with an extra letter, is unknown and never an internal error", async () => {
  const code = await codeOf();
  const token = await person("shapes");
  for (const wrong of [
    `${code}A`,
    `${code}=`,
    code.slice(0, -1),
    code.toUpperCase(),
    "null",
    "{}",
    "\u0000",
    "'; drop table group_invites",
    "ä".repeat(2000),
  ]) {
    for (const protocol of protocols) {
      const { code: status } = await join(wrong, token, protocol);
      assert.ok(
        [codes.NOT_FOUND, codes.INVALID_ARGUMENT].some((each) => each === status),
        `${JSON.stringify(wrong.slice(0, 20))}: ${status}`,
      );
    }
  }
  assert.equal((await join(code, token)).code, 0);
});

test("attack 63: trust in an address neither grows when its issuer's provider is deleted nor shrinks when a stranger names the issuer", async () => {
  const { world } = installation;
  const mail = "ceo@victim.example";
  const [evil, good] = await Promise.all([startIssuer(), startIssuer()]);
  try {
    const make = async (group: JsonObject): Promise<string> => text(await world.ok("iam.GroupsService/CreateGroup", { group }), "uid");
    const victim = await make({ name: "victim.example", verified: true, kind: "ORG_KIND_CUSTOMER" });
    const stranger = await make({ name: "strangers" });
    const name = async (parent: string, url: string): Promise<string> => {
      const identityProvider = { name: "people", defaultRole: viewer, oidc: { issuer: url, clientId: "client", clientSecret: "secret" } };
      return text(await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", { parent, identityProvider }), "uid");
    };
    const remove = (uid: string): Promise<JsonObject> => world.ok("iam.IdentityProvidersService/DeleteIdentityProvider", { uid });
    for (const { url } of [evil, good]) await registerPerson(world.server.application.kernel, { issuer: url, subject: "ceo", email: mail, name: "" });
    const code = await codeOf({ email: mail }, { parent: victim });
    /** Returns the codes for this issuer's users: by the invite, as registered users, and by their domain. */
    const answers = async (from: Issuer): Promise<number[]> => {
      const token = await person("ceo", { email: mail }, from);
      const ours = text(await world.ok("chainguard.platform.oidc.SecurityTokenService/Exchange", { aud: [world.url] }, { token }), "token");
      const request = { groupUid: victim };
      return [
        (await join(code, token)).code,
        (await join(code, ours)).code,
        (await world.call("iam.GroupsService/LookupGroup", {}, { token: ours })).code,
        (await world.call("iam.GroupsService/RequestGroupAccess", request, { token: ours, validateOnly: true })).code,
      ];
    };
    const refused = [codes.PERMISSION_DENIED, codes.PERMISSION_DENIED, codes.NOT_FOUND, codes.NOT_FOUND];
    const taken = [0, 0, 0, 0];
    assert.deepEqual(await answers(evil), refused, "nobody names it");
    const theirs = await name(stranger, evil.url);
    assert.deepEqual(await answers(evil), refused, "a stranger names it");
    await remove(theirs);
    assert.deepEqual(await answers(evil), refused, "its provider is gone");
    const own = await name(victim, good.url);
    assert.deepEqual(await answers(good), taken, "the victim's own");
    const meddling = await name(stranger, good.url);
    assert.deepEqual(await answers(good), taken, "which a stranger names, too");
    await remove(own);
    assert.deepEqual(await answers(good), refused, "and alone");
    await remove(meddling);
    assert.deepEqual(await answers(good), refused, "and nobody");
    const { message } = await join(code, await person("ceo", { email: mail }, evil));
    assert.ok(message.includes(evil.url) && message.includes("identity provider") && message.includes("GANTRY_MAIL_ISSUERS"), message);
    // Trying does not reveal the invite's address.
    assert.equal((await join(code, await person("eve", {}, evil))).message, message);
  } finally {
    await Promise.all([evil.close(), good.close()]);
  }
});

test("attack 63: an issuer that the operator lists is trusted for its listed domains only", async () => {
  const cases = [
    ["ada@example.com", 0],
    ["Ada@EXAMPLE.com", 0],
    ["ada@sub.example.com", codes.PERMISSION_DENIED],
    ["ada@example.org", codes.PERMISSION_DENIED],
    ["ada@example.com.evil.example", codes.PERMISSION_DENIED],
    ["ada@evil.example@example.com", codes.PERMISSION_DENIED],
  ] as const;
  for (const [email, expected] of cases) {
    const made = await invite({ email });
    if (made.code !== 0) continue;
    assert.equal((await join(text(made.reply, "code"), await person(`listed-${email}`, { email }))).code, expected, email);
  }
});

const createWithGroup = "chainguard.platform.iam.GroupInvites/CreateWithGroup";

for (const protocol of protocols) {
  test(`the operator creates an organization for a user, who owns it by the invite, over ${protocol}`, async () => {
    const { world } = installation;
    const name = `invited-${protocol}`;
    const made = await world.ok(createWithGroup, { group: name, ttl: "3600s", singleUse: true }, { protocol });
    const [uid = ""] = text(made, "id").split("/");
    assert.deepEqual([(await world.ok("iam.GroupsService/GetGroup", { uid })).name, part(made, "role").name], [name, "owner"]);
    assert.equal(await count(`select count(*) from role_bindings where uid like '${uid}/%'`), 0, "nobody owns it yet");
    const types = (await world.events()).filter(({ subject }) => subject.startsWith(uid)).map(({ type }) => type);
    assert.deepEqual(types, ["dev.chainguard.api.iam.group.created.v1", "dev.chainguard.api.iam.group_invite.created.v1"]);
    const token = await person(`founder-${protocol}`);
    assert.equal((await join(text(made, "code"), token, protocol)).code, 0);
    assert.equal((await join(text(made, "code"), await person(`late-${protocol}`), protocol)).code, codes.NOT_FOUND, "it is used up");
    assert.equal(await count(`select count(*) from role_bindings where uid like '${uid}/%' and role_uid = '${owner}'`), 1);
  });

  test(`attack 331: only the operator creates an organization for others, and only with an owner, over ${protocol}`, async () => {
    const { world } = installation;
    const identity = text(
      await world.ok("iam.IdentitiesService/CreateIdentity", { parent: organization, identity: { name: `own-${protocol}`, claimMatch } }),
      "uid",
    );
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: organization, roleBinding: { identityUid: identity, roleUid: owner } });
    const before = await count("select count(*) from groups");
    const wanted = { group: `planted-${protocol}`, ttl: "3600s" };
    const asked = (request: JsonObject, options = {}) => world.call(createWithGroup, { ...wanted, ...request }, { protocol, ...options });
    assert.equal((await asked({}, { token: await world.token(identity) })).code, codes.PERMISSION_DENIED);
    for (const [request, field] of [
      [{ role: viewer }, "role"],
      [{ group: "" }, "group"],
      [{ group: "a/b" }, "group"],
      [{ ttl: "9999999s" }, "ttl"],
      [{ email: "nobody" }, "email"],
    ] as const) {
      const answer = await asked(request);
      assert.deepEqual([answer.code, answer.message.includes(`${field}:`)], [codes.INVALID_ARGUMENT, true], answer.message);
    }
    assert.equal((await asked({ group: "first-organization" })).code, codes.ALREADY_EXISTS);
    assert.equal(await count("select count(*) from groups"), before);
  });
}
