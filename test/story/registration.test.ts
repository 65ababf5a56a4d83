// How users register, what a token says about its subject, and how users delete themselves.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { operatorUid } from "#base/operator.ts";
import { codes } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { ownOrigin } from "#base/origin.ts";
import { changeContext } from "#kernel";
import { makePerson, registerThroughProvider, type Upstream } from "#iam/signin";
import type { Write } from "#db";
import { registerPerson } from "../../server/application/person.ts";
import { databaseContents, findRole, openInstallation, type Installation } from "./installation.ts";
import { type Issuer, startIssuer } from "./processes.ts";

const protocols = ["rest", "grpc"] as const;
const register = "chainguard.platform.auth.Auth/Register";
const validate = "chainguard.platform.auth.Auth/Validate";
const remove = "chainguard.platform.auth.Auth/Delete";

let installation: Installation;
let issuer: Issuer;
let organization: string;

before(async () => {
  installation = await openInstallation();
  issuer = await startIssuer();
  organization = installation.world.organization;
  await registerPerson(installation.world.server.application.kernel, { issuer: issuer.url, subject: "first", email: "first@example.com", name: "" });
});
after(() => Promise.all([installation?.close(), issuer?.close()]));

const uidOf = (subject: string): string => installation.world.server.application.services.authn.personUid(issuer.url, subject);
const tokenOf = (subject: string, claims: JsonObject = {}): Promise<string> => issuer.token({ sub: subject, aud: installation.world.url, ...claims });
const bind = (identity: string, role: string, group = organization): Promise<JsonObject> =>
  installation.world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: group, roleBinding: { identityUid: identity, roleUid: role } });

for (const protocol of protocols) {
  test(`over ${protocol} a user of a known issuer registers without an invite or membership, with one event`, async () => {
    const { world } = installation;
    const subject = `alone-${protocol}`;
    const token = await tokenOf(subject);
    assert.equal((await world.call(validate, {}, { token, protocol })).code, codes.UNAUTHENTICATED);
    const before = (await world.events()).length;
    for (let times = 0; times < 2; times++) assert.deepEqual(await world.ok(register, {}, { token, protocol }), { identity: uidOf(subject) });
    const told = (await world.events()).slice(before);
    assert.deepEqual(
      told.map(({ type, subject: about, group, actor }) => [type, about, group, actor]),
      [["dev.chainguard.api.auth.registered.v1", uidOf(subject), "", uidOf(subject)]],
    );
    const who = await world.ok(validate, {}, { token, protocol });
    assert.equal(who.subject, uidOf(subject));
    assert.deepEqual(who.capabilities ?? [], []);
  });

  test(`over ${protocol} token validation returns issuer, subject, audience, times, and the role or capabilities per group`, async () => {
    const { world } = installation;
    const subject = `validated-${protocol}`;
    const uid = await registerPerson(world.server.application.kernel, { issuer: issuer.url, subject, email: "v@example.com", name: "V" });
    const folder = { name: `below ${protocol}`, description: "a folder" };
    const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: organization, group: folder }), "uid");
    const [viewer, editor] = await Promise.all([findRole(world, "viewer"), findRole(world, "registry.pull")]);
    const lists = text(
      await world.ok("iam.RolesService/CreateRole", { parent: organization, role: { name: "lister", capabilities: ["CAP_REPO_LIST"] } }),
      "uid",
    );
    await bind(uid, viewer);
    await bind(uid, editor, group);
    await bind(uid, lists, group);
    const token = await world.token(uid);
    const who = await world.ok(validate, {}, { token, protocol });
    const nowSeconds = Math.floor(world.clock.now / 1000) * 1000;
    assert.equal(who.issuer, world.url);
    assert.equal(who.subject, uid);
    assert.deepEqual(who.audience, [world.url]);
    assert.equal(Date.parse(text(who, "issuedAt")), nowSeconds);
    assert.equal(Date.parse(text(who, "expiry")), nowSeconds + 3_600_000);
    assert.equal(who.email, "v@example.com");
    const [here, below] = who.capabilities as JsonObject[];
    assert.equal(text(part(here ?? {}, "group"), "id"), organization);
    assert.equal(text(part(here ?? {}, "role"), "name"), "viewer");
    assert.ok((part(here ?? {}, "role").capabilities as string[]).includes("repo.list"));
    // Version 1's Group; gRPC does not send false and "".
    const unset = protocol === "rest" ? { verified: false } : {};
    assert.deepEqual(below?.group, { id: group, name: `below ${protocol}`, description: "a folder", status: "ORG_STATUS_READY", ...unset });
    // registry.pull already includes repo.list, so the set equals that role.
    assert.equal(text(part(below ?? {}, "role"), "id"), editor);

    const narrowed = await world.ok(validate, {}, { token: await world.token(uid, { capabilities: ["repo.list", "tag.list"], scopes: [group] }), protocol });
    const [only, ...others] = narrowed.capabilities as JsonObject[];
    assert.deepEqual(others, []);
    assert.equal(text(part(only ?? {}, "group"), "id"), group);
    assert.deepEqual(only?.capabilities, ["repo.list", "tag.list"]);
    const less = await world.ok(validate, {}, { token: await world.token(uid, { capabilities: ["repo.list"], scopes: [group] }), protocol });
    assert.equal(text(part((less.capabilities as JsonObject[])[0] ?? {}, "role"), "id"), lists);
  });

  test(`over ${protocol} a user who deletes themselves loses bindings and profile, and cannot delete another`, async () => {
    const { world } = installation;
    const subject = `leaver-${protocol}`;
    const token = await tokenOf(subject, { name: "Leaver" });
    await world.ok(register, {}, { token });
    const uid = uidOf(subject);
    await bind(uid, builtInRoleUid("viewer"));
    const robot = text(
      await world.ok("iam.IdentitiesService/CreateIdentity", {
        parent: organization,
        identity: { name: "robot", claimMatch: { issuer: "https://ci.example.com", subject: "s" } },
      }),
      "uid",
    );
    const before = await databaseContents(world);
    const refused: readonly (readonly [string, string])[] = [
      ...(protocol === "grpc" ? [[robot, await world.token(robot)] as const] : []),
      [uidOf("first"), token],
      [operatorUid, await world.token()],
      [uid, await world.token()],
      [uid, await world.token(uid, { capabilities: ["repo.list"] })],
      ["0".repeat(40), token],
    ];
    for (const [id, by] of refused) assert.equal((await world.call(remove, { id }, { token: by, protocol })).code, codes.PERMISSION_DENIED);
    assert.deepEqual(await databaseContents(world), before);
    await world.ok(remove, { id: uid }, { token, protocol });
    assert.equal((await world.call("iam.IdentitiesService/GetIdentity", { uid })).code, codes.NOT_FOUND);
    const { roleBindings = [] } = await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: uid });
    assert.deepEqual(roleBindings, []);
    assert.equal((await world.server.application.services.store.read.query("select 1 from profiles where identity_uid = $1", [uid])).length, 0);
    assert.equal((await world.call(remove, { id: uid }, { token, protocol })).code, codes.UNAUTHENTICATED);
    const told = (await world.events()).at(-1);
    assert.deepEqual([told?.type, told?.subject, told?.actor], ["dev.chainguard.api.auth.deleted.v1", uid, uid]);
  });
}

test("the operator's token has all capabilities, in no group", async () => {
  const { capabilities } = await installation.world.ok(validate, {});
  const [only, ...others] = capabilities as JsonObject[];
  assert.deepEqual(others, []);
  assert.equal(only?.group, undefined);
  assert.equal(text(part(only ?? {}, "role"), "name"), "operator");
});

test("an assumable identity's token is described too, and a deleted binding is absent from the response", async () => {
  const { world } = installation;
  const robot = text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: organization,
      identity: { name: "robot", claimMatch: { issuer: "https://ci.example.com", subject: "s" } },
    }),
    "uid",
  );
  const binding = text(await bind(robot, builtInRoleUid("viewer")), "uid");
  const token = await world.token(robot);
  assert.equal(((await world.ok(validate, {}, { token })).capabilities as JsonObject[]).length, 1);
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: binding });
  const who = await world.ok(validate, {}, { token });
  assert.deepEqual(who.capabilities, []);
  assert.equal(who.profile, undefined);
});

test("an issuer's claims about a user are stored only if valid: no unverified or unprintable values", async () => {
  const { world } = installation;
  const cases: readonly (readonly [name: string, claims: JsonObject, shown: string, email: string])[] = [
    ["ADA Lovelace", { email: null }, "ada lovelace", ""],
    ["  ", { email: "Grace@Example.com", email_verified: true }, "grace-example.com", "Grace@Example.com"],
    ["李雷", { email: "li@example.com", email_verified: false }, "named-2", ""],
    ["a\u0000b\nc", { email: "x@example.com" }, "named-3", ""],
  ];
  for (const [index, [name, claims, shown, email]] of cases.entries()) {
    const subject = `named-${index}`;
    await world.ok(register, {}, { token: await tokenOf(subject, { name, ...claims }) });
    const known = await world.ok("iam.IdentitiesService/GetIdentity", { uid: uidOf(subject) });
    assert.equal(known.name, shown);
    assert.equal(text(known, "email"), email);
    assert.equal(known.emailUnverified, undefined);
  }
  const long = await world.call(register, {}, { token: await tokenOf("s".repeat(256)) });
  assert.equal(long.code, codes.UNAUTHENTICATED);
});

const contextOf = (rows: Write) =>
  changeContext(installation.world.server.application.kernel, rows, {
    operation: "/oauth",
    actor: undefined,
    bindings: () => [],
    origin: () => ownOrigin,
    requestId: "r",
  });

test("an identity provider's default role is granted on the first sign-in only, even after the user deletes themselves", async () => {
  const { world } = installation;
  const { store } = world.server.application.services;
  const upstream: Upstream = { issuer: issuer.url, subject: "by provider", email: "p@example.com", name: "By Provider" };
  const viewer = builtInRoleUid("viewer");
  const provider = { uid: `${organization}/${"a".repeat(16)}`, parent: organization, defaultRole: viewer };
  const signIn = (by = provider) => store.write((rows) => registerThroughProvider(contextOf(rows), upstream, by));
  const roles = async (): Promise<number> =>
    ((await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: uidOf("by provider") })).roleBindings as JsonObject[] | undefined)?.length ?? 0;
  const before = (await world.events()).length;
  assert.deepEqual(await signIn(), { identity: uidOf("by provider"), group: organization });
  assert.equal(await roles(), 1);
  assert.deepEqual(
    (await world.events()).slice(before).map(({ type, group }) => [type, group]),
    [
      ["dev.chainguard.api.iam.rolebindings.created.v1", organization],
      ["dev.chainguard.api.auth.registered.v1", organization],
    ],
  );
  const [binding] = (await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: uidOf("by provider") })).roleBindings as JsonObject[];
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: text(binding ?? {}, "uid") });
  await Promise.all(Array.from({ length: 5 }, () => signIn()));
  assert.equal(await roles(), 0);
  await world.ok(remove, { id: uidOf("by provider") }, { token: await world.token(uidOf("by provider")) });
  await signIn();
  assert.equal(await roles(), 0);
  assert.equal((await world.events()).slice(before).filter(({ type }) => type.endsWith("registered.v1")).length, 1);
  // Another provider grants its own default role, even to a registered user.
  await signIn({ ...provider, uid: `${organization}/${"b".repeat(16)}` });
  assert.equal(await roles(), 1);
});

test("five concurrent first sign-ins create one user and one binding, with one event each", async () => {
  const { world } = installation;
  const { store } = world.server.application.services;
  const upstream: Upstream = { issuer: issuer.url, subject: "in a hurry" };
  const provider = { uid: `${organization}/${"c".repeat(16)}`, parent: organization, defaultRole: builtInRoleUid("viewer") };
  const before = (await world.events()).length;
  await Promise.all(Array.from({ length: 5 }, () => store.write((rows) => registerThroughProvider(contextOf(rows), upstream, provider))));
  assert.deepEqual(
    (await world.events()).slice(before).map(({ type }) => type),
    ["dev.chainguard.api.iam.rolebindings.created.v1", "dev.chainguard.api.auth.registered.v1"],
  );
  assert.equal(((await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: uidOf("in a hurry") })).roleBindings as JsonObject[]).length, 1);
  assert.equal(await store.write((rows) => makePerson(contextOf(rows), upstream, "cause")), false);
});
