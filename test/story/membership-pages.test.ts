// The page after a sign-in about organizations that have bound the user's UID: its content and the effect of each choice; programs do not wait for it.
// Attack 78: only the user can answer.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { setSuspended } from "../../server/application/organization.ts";
import {
  answerLoopbackPage,
  type BrowserAnswer,
  callbackUrl,
  clientAddress,
  type FakeBrowser,
  type FakeProvider,
  openBrowser,
  openProvider,
  registerProvider,
  signInUrl,
} from "../provider.ts";
import { confirmAs, hiddenFields, poll, requestDeviceCodes, submitForm } from "../terminal.ts";
import { openWorld, type World } from "../world.ts";
import { bind, createIdentity } from "./installation.ts";

const path = "/oauth/memberships";

let world: World;
let provider: FakeProvider;
let idp: string;

before(async () => {
  world = await openWorld();
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
});
after(async () => {
  await world?.close();
  await provider?.close();
});

let made = 0;

/** Creates another organization with an owner who has bound these users by UID. */
const organizationBinding = async (name: string, ...subjects: readonly string[]): Promise<string> => {
  const organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  const owner = await createIdentity(world, organization, "owner", { issuer: "https://issuer.example.com", subject: `owner ${++made}` });
  await bind(world, organization, owner, "owner");
  const token = await world.token(owner);
  for (const subject of subjects) {
    const roleBinding = { identityUid: uidOf(subject), roleUid: builtInRoleUid("viewer") };
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: organization, roleBinding }, { token });
  }
  return organization;
};

const uidOf = (subject: string): string => world.server.application.services.authn.personUid(provider.url, subject);

const arrive = async (sub: string, browser: FakeBrowser, redirect: string): Promise<BrowserAnswer> => {
  const begun = await browser.get(signInUrl(world, { idp_id: idp, redirect }));
  const question = URL.parse(begun.location) ?? assert.fail(begun.text);
  return browser.get(callbackUrl(provider, question, provider.vouch(question, { sub, email: `${sub}@example.com`, email_verified: true })));
};

const agreedTo = async (subject: string): Promise<unknown[]> => {
  const reply = await world.ok("gantry.memberships.v1.MembershipsService/ListMemberships", {}, { token: await world.token(uidOf(subject)) });
  return (reply.memberships as JsonObject[]).filter(({ accepted }) => accepted === true).map(({ organizationUid }) => organizationUid);
};

test("a user bound by organizations sees their names, and each choice applies to one of them", async () => {
  const [one, other] = [await organizationBinding("one and only", "ada"), await organizationBinding("the other", "ada")];
  const browser = openBrowser();
  const asked = await arrive("ada", browser, "");
  assert.equal(asked.status, 200);
  for (const name of ["one and only", "the other"]) assert.ok(asked.text.includes(`<strong><bdi>${name}</bdi></strong>`));
  assert.ok(asked.text.includes("If you accept, the organization sees your name, email address, and sign-ins."));
  assert.deepEqual(await agreedTo("ada"), [world.organization]);
  const before = (await world.events()).length;
  const again = await submitForm(world, browser, path, { ...hiddenFields(asked.text), accept: one });
  assert.ok(again.text.includes("the other") && !again.text.includes("one and only"), "what was answered is asked no more");
  assert.deepEqual((await agreedTo("ada")).toSorted(), [world.organization, one].toSorted());
  assert.deepEqual(
    (await world.events()).slice(before).map(({ type, subject, group, actor }) => [type, subject, group, actor]),
    [["dev.gantry.memberships.membership.accepted.v1", uidOf("ada"), one, uidOf("ada")]],
  );
  const done = await submitForm(world, browser, path, { ...hiddenFields(again.text), accept: "" });
  assert.match(done.text, /You can close this page/);
  assert.ok(!(await agreedTo("ada")).includes(other), "not now agrees to nothing");
  assert.ok((await arrive("ada", openBrowser(), "")).text.includes("the other"), "the next sign-in asks again");
});

test("programs do not wait for the choice: a redirect has its tokens at once, and a terminal gets them whatever the page shows", async () => {
  await organizationBinding("a fourth", "edsger");
  const browser = openBrowser();
  const ended = await answerLoopbackPage(world, browser, await arrive("edsger", browser, clientAddress));
  assert.equal(new URL(ended.location).origin, new URL(clientAddress).origin);
  const device = await requestDeviceCodes(world, { idp_id: idp });
  assert.match((await confirmAs(world, provider, device.page, { sub: "edsger" })).text, /a fourth/);
  assert.equal((await poll(world, device)).status, 200);
});

test("a suspended organization and one with an expired binding are not shown", async () => {
  const organization = await organizationBinding("a fifth", "barbara");
  await setSuspended(world.server.application, organization, true);
  assert.doesNotMatch((await arrive("barbara", openBrowser(), "")).text, /a fifth/);
  await setSuspended(world.server.application, organization, false);
  assert.match((await arrive("barbara", openBrowser(), "")).text, /a fifth/);
  const { roleBindings } = await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: uidOf("barbara"), group: organization });
  const [{ uid }] = roleBindings as [JsonObject];
  const expireTime = new Date(world.clock.now + 60_000).toISOString();
  await world.ok("iam.RoleBindingsService/UpdateRoleBinding", { roleBinding: { uid: String(uid), expireTime } });
  world.clock.now += 60_000;
  assert.doesNotMatch((await arrive("barbara", openBrowser(), "")).text, /a fifth/);
});

test("attack 78: a choice is accepted only from the page shown to this browser, within its lifetime", async () => {
  const organization = await organizationBinding("a sixth", "mallory", "alan");
  const [own, stranger] = [openBrowser(), openBrowser()];
  const asked = await arrive("alan", own, "");
  const theirs = await arrive("mallory", stranger, "");
  const fields = hiddenFields(asked.text);
  const { question = "", proof = "" } = hiddenFields(theirs.text);
  const tries: readonly [FakeBrowser, Record<string, string>, Record<string, string>?][] = [
    [openBrowser(), fields],
    [stranger, fields],
    [own, { ...fields, proof: "" }],
    [own, { ...fields, question }],
    [own, { ...fields, question, proof }],
    [own, { ...fields, question: `${fields.question}x` }],
    [own, fields, { origin: "https://elsewhere.example" }],
  ];
  for (const [browser, form, headers] of tries) assert.equal((await submitForm(world, browser, path, { ...form, accept: organization }, headers)).status, 403);
  world.clock.now += limits.signInLifetimeMs;
  assert.equal((await submitForm(world, own, path, { ...fields, accept: organization })).status, 403);
  for (const subject of ["alan", "mallory"]) assert.ok(!(await agreedTo(subject)).includes(organization));
});

test("a choice for an organization without a binding, or an unknown one, changes nothing and the sign-in continues", async () => {
  await organizationBinding("a seventh", "donald");
  const unbound = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "unbound" } }), "uid");
  const browser = openBrowser();
  const asked = await arrive("donald", browser, "");
  for (const accept of [unbound, "0".repeat(40), "not a uid"]) {
    const { status } = await submitForm(world, browser, path, { ...hiddenFields(asked.text), accept });
    assert.equal(status, 200);
  }
  assert.deepEqual(await agreedTo("donald"), [world.organization]);
});
