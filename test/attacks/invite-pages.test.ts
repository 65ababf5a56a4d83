// Attacks 250 to 253, with two hostile tenants and real and simulated browsers: an organization's invite in a link to a sign-in at another
// organization's identity provider, and attacks on the page that asks about it.

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { answerInvite, arriveWithInvite, invitePath } from "../invite-page.ts";
import {
  answerLoopbackPage,
  type BrowserAnswer,
  callbackUrl,
  clientAddress,
  type FakeBrowser,
  type FakeProvider,
  loopbackForm,
  openBrowser,
  openProvider,
  registerProvider,
} from "../provider.ts";
import { type Browser, openChromium, type Page } from "../story/browser.ts";
import { bind, createIdentity } from "../story/installation.ts";
import { hiddenFields, refreshTarget, submitForm } from "../terminal.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
/** The victim's provider, which signs users with a session in without a prompt. */
let provider: FakeProvider;
let idp: string;
let attackingOrganization: string;
/** A token of the attacker, who owns that organization and is not the operator. */
let attacker: string;
let chromium: Browser;
/** The attacker's web server; each test sets its content. */
let site: Server;
let sitePage = "";
let victim = "";
let victims = 0;

before(async () => {
  world = await openWorld();
  provider = await openProvider(() => world.clock.now);
  // The provider's session: it answers each request for the victim immediately.
  provider.instead = (request, response) => {
    const asked = new URL(request.url ?? "", provider.url);
    if (asked.pathname !== "/authorize") return false;
    const code = provider.vouch(asked, personClaims());
    response.writeHead(302, { location: callbackUrl(provider, asked, code).href }).end();
    return true;
  };
  idp = await registerProvider(world, provider);
  ({ organization: attackingOrganization, token: attacker } = await organizationOfOwner("attacking organization"));
  chromium = await openChromium();
  site = createServer((_, response) => void response.writeHead(200, { "content-type": "text/html" }).end(sitePage)).listen(0);
});
beforeEach(() => {
  victim = `victim ${++victims}`;
});
after(async () => {
  await chromium?.close();
  site?.closeAllConnections();
  site?.close();
  await world?.close();
  await provider?.close();
});

const organizationOfOwner = async (name: string): Promise<{ readonly organization: string; readonly token: string; readonly owner: string }> => {
  const organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  const owner = await createIdentity(world, organization, "owner", { issuer: "https://issuer.example.com", subject: `owner of ${name}` });
  await bind(world, organization, owner, "owner");
  return { organization, owner, token: await world.token(owner) };
};

const personClaims = (sub = victim): JsonObject => ({ sub, name: "Vic Tim", email: "vic@victim.example", email_verified: true });
const uidOf = (sub = victim): string => world.server.application.services.authn.personUid(provider.url, sub);

const createInvite = async (body: JsonObject = {}, { organization = attackingOrganization, token = attacker } = {}) => {
  const groupInvite = { roleUid: builtInRoleUid("viewer"), ttl: "3600s", ...body };
  const reply = await world.ok("iam.GroupInvitesService/CreateGroupInvite", { parent: organization, groupInvite }, { token });
  return { code: text(reply, "code"), uid: text(reply, "uid") };
};

const linkWith = (code: string): string => `${world.url}/oauth?${new URLSearchParams({ idp_id: idp, invite: code })}`;

/** Returns the attacking organization's traces of a user: role bindings, a membership, events, and the name or address in any response. */
const traces = async (sub = victim): Promise<readonly string[]> => {
  const { roleBindings = [] } = await world.ok(
    "iam.RoleBindingsService/ListRoleBindings",
    { identity: uidOf(sub), group: attackingOrganization },
    { token: attacker },
  );
  const { identities = [] } = await world.ok("iam.IdentitiesService/ListIdentities", {}, { token: attacker });
  const members = await world.server.application.services.store.read.query("select 1 from memberships where organization_uid = $1 and identity_uid = $2", [
    attackingOrganization,
    uidOf(sub),
  ]);
  const events = (await world.events()).filter((event) => event.group?.startsWith(attackingOrganization) && JSON.stringify(event).includes(uidOf(sub)));
  return [
    ...(roleBindings as JsonObject[]).map(() => "role binding"),
    ...(identities as JsonObject[]).filter(({ uid }) => uid === uidOf(sub)).map(() => "identity"),
    ...members.map(() => "membership"),
    ...events.map(({ type }) => `event ${type}`),
  ];
};

const openLink = async (code: string): Promise<Page> => {
  const page = await chromium.context.newPage();
  await page.goto(linkWith(code));
  return page;
};

test("attack 250: an attacker's invite in a link to the victim's own provider reveals nothing unless the victim accepts", async () => {
  const { code, uid } = await createInvite({ singleUse: true });
  const page = await openLink(code);
  assert.deepEqual(await traces(), [], "opening the link");
  await page.getByRole("heading", { name: "Accept this invite?" }).waitFor();
  await page.getByText("attacking organization invites you to join with the role viewer").waitFor();
  await page.close();
  assert.deepEqual(await traces(), [], "closing the page");
  const again = await openLink(code);
  await again.getByRole("button", { name: "Decline" }).click();
  await again.getByRole("heading", { name: "Signed in" }).waitFor();
  assert.deepEqual(await traces(), [], "declining");
  await again.close();
  await world.ok("iam.GroupInvitesService/GetGroupInvite", { uid }, { token: attacker });
});

test("attack 250: Accept in a browser joins the organization, once for two clicks", async () => {
  const { code } = await createInvite();
  const page = await openLink(code);
  await page.getByRole("button", { name: "Accept" }).dblclick();
  await page.getByRole("heading", { name: /Signed in|Already answered/ }).waitFor();
  await page.close();
  assert.deepEqual((await traces()).toSorted(), [
    "event dev.chainguard.api.auth.registered.v1",
    "event dev.chainguard.api.iam.rolebindings.created.v1",
    "identity",
    "membership",
    "role binding",
  ]);
});

const siteUrls = (): readonly string[] => ["127.0.0.1", "localhost"].map((host) => `http://${host}:${(site.address() as AddressInfo).port}/`);

test("attack 251: a site of the same or another host cannot frame the sign-in with an invite, and nothing takes effect in a frame", async () => {
  const { code } = await createInvite();
  sitePage = `<iframe src="${linkWith(code).replaceAll("&", "&amp;")}"></iframe>`;
  for (const url of siteUrls()) {
    const page = await chromium.context.newPage();
    await page.goto(url, { waitUntil: "networkidle" });
    const [, frame] = page.frames();
    assert.ok(frame, "there is a frame");
    assert.equal(await frame.getByRole("button").count(), 0, "no button in the frame");
    assert.deepEqual(await traces(), []);
    await page.close();
  }
});

test("attack 251: another site's form cannot submit the page, even with its fields, and gets nothing from the victim", async () => {
  const { code } = await createInvite();
  const shown = await openLink(code);
  const fields = hiddenFields(await shown.content());
  assert.deepEqual(Object.keys(fields), ["question", "proof"]);
  for (const url of siteUrls()) {
    const inputs = Object.entries({ ...fields, answer: "accept" }).map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`);
    sitePage = `<form method="post" action="${world.url}${invitePath}">${inputs.join("")}<button>Win a prize</button></form>`;
    const page = await chromium.context.newPage();
    await page.goto(url);
    await page.getByRole("button").click();
    await page.getByRole("heading", { name: "Not confirmed" }).waitFor();
    assert.deepEqual(await traces(), []);
    await page.close();
  }
  await shown.getByRole("button", { name: "Decline" }).click();
  await shown.getByRole("heading", { name: "Signed in" }).waitFor();
  await shown.close();
});

const arrive = async (
  code: string,
  sub = victim,
): Promise<{ readonly browser: FakeBrowser; readonly page: { readonly text: string; readonly status: number } }> => {
  const browser = openBrowser();
  return { browser, page: await arriveWithInvite(world, provider, idp, personClaims(sub), code, {}, browser) };
};

test("attack 251: a submission counts only from the browser that received the page, for the sign-in that it shows", async () => {
  const { code } = await createInvite();
  const own = await arrive(code);
  const other = await arrive(code, "mallory");
  const fields = hiddenFields(own.page.text);
  const theirs = hiddenFields(other.page.text);
  const tries: readonly [FakeBrowser, Readonly<Record<string, string>>, Readonly<Record<string, string>>?][] = [
    [openBrowser(), fields],
    [other.browser, fields],
    [own.browser, { ...fields, proof: "" }],
    [own.browser, { ...fields, question: theirs.question ?? "" }],
    [own.browser, theirs],
    [own.browser, { ...fields, question: "" }],
    [own.browser, fields, { origin: "https://elsewhere.example" }],
    [own.browser, fields, { origin: "null" }],
  ];
  for (const [browser, form, headers] of tries)
    assert.equal((await submitForm(world, browser, invitePath, { ...form, answer: "accept" }, headers)).status, 403);
  for (const answer of ["", "maybe"]) assert.equal((await submitForm(world, own.browser, invitePath, { ...fields, answer })).status, 403);
  assert.equal((await own.browser.get(`${world.url}${invitePath}?${new URLSearchParams({ ...fields, answer: "accept" })}`)).status, 405, "not by GET");
  assert.deepEqual([await traces(), await traces("mallory")], [[], []]);
  assert.equal((await answerInvite(world, own.browser, own.page, "accept")).status, 200, "none of this took the question away");
});

/** Returns what the client's address receives after the user continues; undefined if the sign-in did not end. */
const receivedAfter = async (browser: FakeBrowser, answered: BrowserAnswer): Promise<URL | undefined> =>
  URL.parse((await answerLoopbackPage(world, browser, answered)).location) ?? undefined;

test("attack 252: of twenty concurrent submissions, one ends the sign-in, and a later one neither accepts nor signs in", async () => {
  const { code } = await createInvite();
  const { browser, page } = await arrive(code);
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => answerInvite(world, browser, page, index % 2 ? "accept" : "decline")));
  const ended = await Promise.all(answers.map((answer) => receivedAfter(browser, answer)));
  assert.equal(ended.filter((target) => target?.searchParams.has("token")).length, 1);
  assert.equal(answers.filter(({ status }) => status === 400).length, 19);
  const before = await traces();
  for (const answer of ["accept", "decline"] as const) {
    const late = await answerInvite(world, browser, page, answer);
    assert.equal(late.status, 400);
    assert.match(late.text, /Already answered/);
    assert.deepEqual([refreshTarget(late), loopbackForm(late)], [undefined, undefined]);
  }
  assert.deepEqual(await traces(), before);
});

test("attack 252: the question and the callback cannot use each other's rows, and the page expires", async () => {
  const { code } = await createInvite();
  const { browser, page } = await arrive(code);
  const { question = "" } = hiddenFields(page.text);
  for (const name of [...browser.cookies.keys()]) if (name.includes("sign-in")) browser.cookies.set(name, question);
  const late = await browser.get(`${world.url}/oauth/callback?${new URLSearchParams({ state: question, code: "any", iss: provider.url })}`);
  assert.equal(late.status, 400);
  assert.deepEqual(await traces(), []);
  world.clock.now += limits.signInLifetimeMs;
  assert.equal((await answerInvite(world, browser, page, "accept")).status, 400);
  assert.deepEqual(await traces(), []);
});

test("attack 252: of two users with a single-use invite's page open, the first to accept joins", async () => {
  const { code } = await createInvite({ singleUse: true });
  const [first, second] = [await arrive(code, "quick"), await arrive(code, "slow")];
  const joined = await receivedAfter(first.browser, await answerInvite(world, first.browser, first.page, "accept"));
  assert.ok(joined?.searchParams.has("token"));
  const target = refreshTarget(await answerInvite(world, second.browser, second.page, "accept"));
  assert.equal(target?.origin, new URL(clientAddress).origin);
  assert.deepEqual([target?.searchParams.get("status_code"), target?.searchParams.get("token")], ["404", null]);
  assert.deepEqual(await traces("slow"), []);
});

test("attack 253: Accept rechecks the invite's expiry, its creator's permissions, its deletion, and the names on the page", async () => {
  let number = 0;
  const changes: readonly [string, (made: Awaited<ReturnType<typeof organizationOfOwner>>, uid: string) => Promise<unknown>, RegExp][] = [
    ["expires", async () => void (world.clock.now += 61_000), /has expired/],
    ["is deleted", async ({ token }, uid) => world.ok("iam.GroupInvitesService/DeleteGroupInvite", { uid }, { token }), /invite not found/],
    ["loses its maker", async ({ owner }) => world.ok("iam.IdentitiesService/DeleteIdentity", { uid: owner }), /no longer has the permissions/],
    [
      "is of an organization that takes another name",
      async ({ token, organization }) =>
        world.ok("iam.GroupsService/UpdateGroup", { group: { uid: organization, name: `renamed organization ${number}` } }, { token }),
      /has changed since/,
    ],
  ];
  for (const [what, change, reason] of changes) {
    const made = await organizationOfOwner(`changing organization ${++number}`);
    const { code, uid } = await createInvite({ ttl: "60s" }, made);
    const { browser, page } = await arrive(code, `victim of ${number}`);
    assert.equal(page.status, 200, page.text);
    await change(made, uid);
    const target = refreshTarget(await answerInvite(world, browser, page, "accept"));
    assert.match(target?.searchParams.get("error") ?? "", reason, what);
    assert.equal(target?.searchParams.get("token"), null);
    const found = await world.call("iam.IdentitiesService/GetIdentity", { uid: uidOf(`victim of ${number}`) });
    assert.equal(found.code, 5, "nothing is left of the refused sign-in");
  }
});

test("attack 253: Accept and Decline fail if the identity provider was deleted or changed while the page was open", async () => {
  for (const change of ["delete", "update"] as const)
    for (const answer of ["accept", "decline"] as const) {
      const { code } = await createInvite();
      const other = await openProvider(() => world.clock.now);
      try {
        const uid = await registerProvider(world, other);
        const browser = openBrowser();
        const page = await arriveWithInvite(world, other, uid, { sub: "patient" }, code, {}, browser);
        if (change === "delete") await world.ok("iam.IdentityProvidersService/DeleteIdentityProvider", { uid });
        else
          await world.ok("iam.IdentityProvidersService/UpdateIdentityProvider", {
            identityProvider: { uid, oidc: { clientId: "another client", clientSecret: "another secret" } },
            updateMask: "oidc.clientId,oidc.clientSecret",
          });
        const answered = await answerInvite(world, browser, page, answer);
        if (change === "delete") assert.match(answered.text, /Already answered/, "the waiting sign-in goes with its provider");
        else assert.match(refreshTarget(answered)?.searchParams.get("error") ?? "", /changed since the sign-in started/);
        assert.equal(refreshTarget(answered)?.searchParams.get("token") ?? "", "", `${change}, ${answer}`);
        const person = world.server.application.services.authn.personUid(other.url, "patient");
        assert.equal((await world.call("iam.IdentitiesService/GetIdentity", { uid: person })).code, 5);
      } finally {
        await other.close();
      }
    }
});
