// The page that asks about an invite after a sign-in: its content, the effect of each choice, and how the sign-in ends.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { answerInvite, arriveWithInvite, signInWithInvite } from "../invite-page.ts";
import { callbackUrl, clientAddress, type FakeProvider, openBrowser, openProvider, registerProvider, signIn } from "../provider.ts";
import { hiddenFields, refreshTarget, submitForm } from "../terminal.ts";
import { openWorld, type World } from "../world.ts";
import { bind, createIdentity } from "./installation.ts";

const minute = 60_000;
const done = 0;

let world: World;
let provider: FakeProvider;
let idp: string;
let invitingOrganization: string;
let owner: string;

before(async () => {
  world = await openWorld();
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
  invitingOrganization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "inviting organization" } }), "uid");
  const uid = await createIdentity(world, invitingOrganization, "owner", { issuer: "https://issuer.example.com", subject: "owner" });
  await bind(world, invitingOrganization, uid, "owner");
  owner = await world.token(uid);
});
after(async () => {
  await world?.close();
  await provider?.close();
});

const createInvite = async (body: JsonObject = {}, parent = invitingOrganization): Promise<{ readonly code: string; readonly uid: string }> => {
  const groupInvite = { roleUid: builtInRoleUid("viewer"), ttl: "3600s", ...body };
  const reply = await world.ok("iam.GroupInvitesService/CreateGroupInvite", { parent, groupInvite }, { token: owner });
  return { code: text(reply, "code"), uid: text(reply, "uid") };
};

const uidOf = (subject: string): string => world.server.application.services.authn.personUid(provider.url, subject);
const claimsOfPerson = (sub: string): JsonObject => ({ sub, name: `${sub} of elsewhere`, email: `${sub}@example.com`, email_verified: true });

/** Returns a user's roles in the inviting organization, as its owner sees them. */
const rolesOf = async (subject: string, group = invitingOrganization): Promise<unknown[]> => {
  const { roleBindings = [] } = await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: uidOf(subject), group }, { token: owner });
  return (roleBindings as JsonObject[]).map(({ roleUid }) => roleUid);
};

const isVisible = async (subject: string): Promise<boolean> =>
  (await world.call("iam.IdentitiesService/GetIdentity", { uid: uidOf(subject) }, { token: owner })).code === done;

test("the page names the user, the organization, the role and what the organization will see", async () => {
  const { code } = await createInvite();
  const page = await arriveWithInvite(world, provider, idp, claimsOfPerson("ada"), code);
  assert.equal(page.status, 200);
  for (const part of [
    "<strong><bdi>ada of elsewhere</bdi></strong><br><bdi>ada@example.com</bdi>",
    "<strong><bdi>inviting organization</bdi></strong> invites you to join with the role <strong><bdi>viewer</bdi></strong>.",
    invitingOrganization,
    "<li>Your name, and your email address (ada@example.com)</li>",
    `<li>Your account ID at ${new URL(provider.url).host}</li>`,
    "<li>Your sign-ins from now on, with time, network address and program</li>",
  ])
    assert.ok(page.text.includes(part), part);
  assert.doesNotMatch(page.text, /role ends|applies in its group|already belong/);
  assert.ok(!page.text.includes(code), "the page does not repeat the code");
});

test("the page names the subgroup and when the role expires", async () => {
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: invitingOrganization, group: { name: "images" } }, { token: owner }), "uid");
  const endMs = Math.ceil(world.clock.now / minute) * minute + 60 * minute;
  const { code } = await createInvite({ expireTime: new Date(endMs).toISOString() }, group);
  const page = await arriveWithInvite(world, provider, idp, claimsOfPerson("ada"), code);
  assert.ok(page.text.includes("<strong><bdi>inviting organization</bdi></strong> invites you"));
  assert.ok(page.text.includes(`The role applies in its group <strong><bdi>images</bdi></strong>.<br><small>${group}</small>`));
  assert.ok(page.text.includes(`The role ends on ${new Date(endMs).toISOString().slice(0, 10)} at ${new Date(endMs).toISOString().slice(11, 16)} UTC.`));
});

test("the user's name is escaped on the page", async () => {
  const { code } = await createInvite();
  const page = await arriveWithInvite(world, provider, idp, { sub: "marked", name: "<script>alert(1)</script>\u202e" }, code);
  assert.ok(page.text.includes("&lt;script&gt;") && !page.text.includes("<script") && !page.text.includes("\u202e"));
});

test("nothing changes before the choice: no identity, membership, role binding, event or use of the invite", async () => {
  const { code, uid } = await createInvite({ singleUse: true });
  const before = (await world.events()).length;
  await arriveWithInvite(world, provider, idp, claimsOfPerson("silent"), code);
  assert.equal((await world.events()).length, before);
  assert.equal((await world.call("iam.IdentitiesService/GetIdentity", { uid: uidOf("silent") })).code, codes.NOT_FOUND);
  assert.deepEqual(await rolesOf("silent"), []);
  await world.ok("iam.GroupInvitesService/GetGroupInvite", { uid }, { token: owner });
});

test("Accept binds the role, makes the user visible to the organization and signs in", async () => {
  const { code, uid } = await createInvite({ singleUse: true });
  const { token } = await signInWithInvite(world, provider, idp, claimsOfPerson("grace"), code);
  assert.equal(claimsOf(token).sub, uidOf("grace"));
  assert.deepEqual(await rolesOf("grace"), [builtInRoleUid("viewer")]);
  assert.equal(await isVisible("grace"), true);
  assert.equal((await world.call("iam.GroupInvitesService/GetGroupInvite", { uid }, { token: owner })).code, codes.NOT_FOUND, "single use");
});

test("Decline signs in without using the invite, and registers a new user as their own provider does", async () => {
  const { code, uid } = await createInvite({ singleUse: true });
  const { token, error } = await signInWithInvite(world, provider, idp, claimsOfPerson("edsger"), code, { answer: "decline" });
  assert.equal(error, "");
  assert.equal(claimsOf(token).sub, uidOf("edsger"));
  assert.deepEqual(await rolesOf("edsger"), []);
  assert.equal(await isVisible("edsger"), false);
  await world.ok("iam.GroupInvitesService/GetGroupInvite", { uid }, { token: owner });
  const { roleBindings } = await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: uidOf("edsger"), group: world.organization });
  assert.deepEqual(
    (roleBindings as JsonObject[]).map(({ roleUid }) => roleUid),
    [builtInRoleUid("viewer")],
    "the default role",
  );
});

test("Decline by an unregistered user respects skip_registration; Accept registers the user", async () => {
  const { code } = await createInvite();
  const parameters = { skip_registration: "true" };
  const declined = await signInWithInvite(world, provider, idp, claimsOfPerson("barbara"), code, { answer: "decline", parameters });
  assert.deepEqual([declined.status, declined.token], ["404", ""]);
  const accepted = await signInWithInvite(world, provider, idp, claimsOfPerson("barbara"), code, { parameters });
  assert.equal(claimsOf(accepted.token).sub, uidOf("barbara"));
});

test("a new user who accepts gets the invited role first, and the own provider's default role on the next sign-in", async () => {
  const { code } = await createInvite();
  await signInWithInvite(world, provider, idp, claimsOfPerson("newcomer"), code);
  const own = async (): Promise<unknown> =>
    (await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: uidOf("newcomer"), group: world.organization })).roleBindings ?? [];
  assert.deepEqual(await own(), []);
  await signIn(world, provider, idp, claimsOfPerson("newcomer"));
  assert.equal(((await own()) as JsonObject[]).length, 1);
  assert.deepEqual(await rolesOf("newcomer"), [builtInRoleUid("viewer")]);
});

test("the page shows an existing membership, and Accept adds the role", async () => {
  const { code } = await createInvite();
  await signInWithInvite(world, provider, idp, claimsOfPerson("donald"), code);
  const more = await createInvite({ roleUid: builtInRoleUid("editor") });
  const browser = openBrowser();
  const page = await arriveWithInvite(world, provider, idp, claimsOfPerson("donald"), more.code, {}, browser);
  assert.match(page.text, /You already belong to <strong><bdi>inviting organization<\/bdi><\/strong>, or sign in with its identity provider/);
  assert.doesNotMatch(page.text, /learns nothing/);
  await answerInvite(world, browser, page, "accept");
  assert.deepEqual((await rolesOf("donald")).toSorted(), [builtInRoleUid("editor"), builtInRoleUid("viewer")].toSorted());
});

for (const answer of ["accept", "decline"] as const)
  test(`after ${answer} the sign-in ends at its destination: a page or a headless client`, async () => {
    const subject = `ends after ${answer}`;
    const { code } = await createInvite();
    const arrive = async (parameters: Readonly<Record<string, string>>) => {
      const browser = openBrowser();
      return { browser, page: await arriveWithInvite(world, provider, idp, claimsOfPerson(subject), code, parameters, browser) };
    };
    const onPage = await arrive({ redirect: "" });
    assert.match((await answerInvite(world, onPage.browser, onPage.page, answer)).text, /You can close this page/);
    const atTerminal = await headlessPage(code, subject);
    assert.match(atTerminal.confirmation, /The link contains an invite\. After you sign in, a page asks whether you accept it\./);
    assert.match((await answerInvite(world, atTerminal.browser, atTerminal.page, answer)).text, /Your terminal is signed in/);
    assert.equal((await world.call("chainguard.platform.auth.Auth/GetHeadlessSession", { code: atTerminal.key }, { token: undefined })).code, done);
    assert.deepEqual(await rolesOf(subject), answer === "accept" ? [builtInRoleUid("viewer")] : []);
  });

/** Runs a headless sign-in with an invite up to the invite's page. */
const headlessPage = async (code: string, sub: string) => {
  const browser = openBrowser();
  const key = generateKeyPairSync("x25519").publicKey.export({ format: "jwk" }).x ?? "";
  const shown = await browser.get(`${world.url}/oauth?${new URLSearchParams({ headless_code: key, idp_id: idp, invite: code })}`);
  const confirmed = await submitForm(world, browser, "/oauth/headless", { ...hiddenFields(shown.text), answer: "confirm" });
  const question = refreshTarget(confirmed) ?? assert.fail(confirmed.text);
  const page = await browser.get(callbackUrl(provider, question, provider.vouch(question, claimsOfPerson(sub))));
  return { browser, key, page, confirmation: shown.text };
};

test("the page promises no privacy from the organization that owns the user's identity provider", async () => {
  const groupInvite = { roleUid: builtInRoleUid("viewer"), ttl: "3600s" };
  const { code } = await world.ok("iam.GroupInvitesService/CreateGroupInvite", { parent: world.organization, groupInvite });
  const page = await arriveWithInvite(world, provider, idp, claimsOfPerson("colleague"), String(code));
  assert.match(page.text, /or sign in with its identity provider/);
  assert.doesNotMatch(page.text, /learns nothing/);
});

test("an invalid invite ends the sign-in where it began, without a page", async () => {
  const expired = await createInvite({ ttl: "60s" });
  const other = await createInvite({ email: "other@example.com" });
  world.clock.now += minute;
  for (const [code, status] of [
    ["unknown", "404"],
    [expired.code, "400"],
    [other.code, "403"],
  ] as const) {
    const page = await arriveWithInvite(world, provider, idp, claimsOfPerson("refused"), code);
    assert.equal(page.status, 303);
    assert.equal(new URL(page.location).origin, new URL(clientAddress).origin);
    assert.equal(new URL(page.location).searchParams.get("status_code"), status);
  }
});

test("a sign-in as an assumed identity shows no page and accepts nothing", async () => {
  const match = { issuer: provider.url, subject: "robot keeper", audience: "gantry-client" };
  const { uid } = await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity: { name: "deployer", claimMatch: match } });
  const { code } = await createInvite();
  const { token } = await signIn(world, provider, idp, { sub: "robot keeper" }, { identity: String(uid), invite: code });
  assert.equal(claimsOf(token).sub, uid);
  assert.deepEqual(await rolesOf("robot keeper"), []);
});

test("after the invite's page follows the page about organizations that have bound the user", async () => {
  const binding = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "binding organization" } }), "uid");
  const uid = await createIdentity(world, binding, "owner", { issuer: "https://issuer.example.com", subject: "owner of another" });
  await bind(world, binding, uid, "owner");
  const roleBinding = { identityUid: uidOf("asked twice"), roleUid: builtInRoleUid("viewer") };
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: binding, roleBinding }, { token: await world.token(uid) });
  const { code } = await createInvite();
  const browser = openBrowser();
  const page = await arriveWithInvite(world, provider, idp, claimsOfPerson("asked twice"), code, { redirect: "" }, browser);
  assert.ok(!page.text.includes("binding organization"));
  const next = await answerInvite(world, browser, page, "accept");
  assert.ok(next.text.includes("binding organization") && !next.text.includes("inviting organization"));
});

test("Auth/Register with an invite code accepts the invite", async () => {
  await signIn(world, provider, idp, { sub: "by api" });
  const { code } = await createInvite();
  await world.ok("chainguard.platform.auth.Auth/Register", { code }, { token: await world.token(uidOf("by api")) });
  assert.deepEqual(await rolesOf("by api"), [builtInRoleUid("viewer")]);
});
