// The sign-in page that asks about pending memberships, in a real browser (docs/decisions/0067). Hostile tenants fill it, choose deceptive
// names, and post its form from another site.

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { registerPerson } from "../../server/application/person.ts";
import { asOwner, freshDatabase, type TestDatabase } from "../database.ts";
import { callbackUrl, type FakeProvider, openProvider, registerProvider, signInUrl } from "../provider.ts";
import { type Browser, openChromium, type Page } from "../story/browser.ts";
import { openWorld, type World } from "../world.ts";

const memberships = "gantry.memberships.v1.MembershipsService";

/** For names that an earlier version allowed. */
let database: TestDatabase;
let world: World;
let provider: FakeProvider;
let idp: string;
let browser: Browser;
let hostile: Server;
let hostileUrl: string;
let hostilePage = "";

before(async () => {
  database = await freshDatabase({ planted: true });
  world = await openWorld({ GANTRY_OPEN_ORGANIZATIONS: "true", DATABASE_URL: database.url });
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
  browser = await openChromium();
  hostile = createServer((_, response) => void response.setHeader("content-type", "text/html").end(hostilePage));
  await new Promise<void>((done) => hostile.listen(0, "127.0.0.1", done));
  // Another host name, so that the browser sees another site.
  hostileUrl = `http://localhost:${(hostile.address() as AddressInfo).port}`;
});
after(async () => {
  await browser?.close();
  hostile?.close();
  await world?.close();
  await provider?.close();
  await database?.drop();
});

const uidOf = (subject: string): string => world.server.application.services.authn.personUid(provider.url, subject);

let tenants = 0;
const bindFrom = async (name: string, victim: string): Promise<string> => {
  const subject = `owner ${++tenants}`;
  const uid = await registerPerson(world.server.application.kernel, { issuer: "https://people.example.com", subject, email: "", name: "" });
  const token = await world.token(uid);
  const organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: `tenant ${tenants}` } }, { token }), "uid");
  await asOwner(world.databaseUrl, "update groups set name = $2 where uid = $1", [organization, name]);
  const roleBinding = { identityUid: uidOf(victim), roleUid: builtInRoleUid("viewer") };
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: organization, roleBinding }, { token });
  return organization;
};

/** Signs in up to the page; returns its framing policy. */
const arrive = async (page: Page, sub: string): Promise<string> => {
  const begun = await page.request.get(signInUrl(world, { idp_id: idp, redirect: "" }), { maxRedirects: 0 });
  const question = URL.parse(begun.headers().location ?? "") ?? assert.fail(await begun.text());
  const shown = await page.goto(callbackUrl(provider, question, provider.vouch(question, { sub, email: `${sub}@example.com`, email_verified: true })).href);
  return shown?.headers()["content-security-policy"] ?? "";
};

const stateOf = async (sub: string, organization: string): Promise<unknown> => {
  const { reply } = await world.call(`${memberships}/ListMemberships`, { uidp: { ids: [organization] } }, { token: await world.token(uidOf(sub)) });
  const [found]: JsonObject[] = objectList(reply, "memberships");
  return found?.state;
};

test("attack 264: the page shows the newest twenty questions, so that spam hides no honest organization, and a decline is kept", async () => {
  const made: string[] = [];
  for (let number = 1; number <= limits.organizationsAskedMax + 5; number++) {
    world.clock.now += 1_000;
    made.push(await bindFrom(`noise ${number}`, "ada"));
  }
  world.clock.now += 1_000;
  const honest = await bindFrom("honest", "ada");
  const page = await browser.context.newPage();
  await arrive(page, "ada");
  const shown = await page.locator("strong bdi").allTextContents();
  assert.deepEqual(
    shown.slice(-limits.organizationsAskedMax),
    ["honest", ...made.map((_, index) => `noise ${index + 1}`).toReversed()].slice(0, limits.organizationsAskedMax),
  );
  assert.equal(limits.organizationsAskedMax, 20);
  await page.locator(`button[name=decline][value="${made.at(-1)}"]`).click();
  await page.waitForLoadState();
  assert.doesNotMatch((await page.locator("strong bdi").allTextContents()).join("|"), /noise 25$|noise 25\|/);
  assert.equal(await stateOf("ada", made.at(-1) ?? ""), "MEMBERSHIP_STATE_DECLINED");
  await page.locator(`button[name=accept][value="${honest}"]`).click();
  await page.waitForLoadState();
  assert.equal(await stateOf("ada", honest), "MEMBERSHIP_STATE_ACCEPTED");
  await page.close();
});

test("attack 270: a name with markup, reversed direction or invisible characters is shown as text", async () => {
  const names = ['<img src=x onerror="document.title=1"></strong><a href="https://evil.example">Accept all</a>', "a‮moc.elpmaxe‬", "​⁠"];
  for (const name of names) await bindFrom(name, "grace");
  const page = await browser.context.newPage();
  await arrive(page, "grace");
  const html = await page.content();
  assert.equal(await page.locator("main img, body img, a[href*=evil]").count(), 0);
  assert.doesNotMatch(html, /[‪-‮⁠​]/u);
  assert.match((await page.locator("body").textContent()) ?? "", /<img src=x onerror=/);
  assert.notEqual(await page.title(), "1");
  await page.close();
});

test("attack 267: no other site can respond: the page cannot be framed, and another site's form is refused", async () => {
  const organization = await bindFrom("framing", "alan");
  const page = await browser.context.newPage();
  assert.match(await arrive(page, "alan"), /frame-ancestors 'none'/);
  const fields = await page
    .locator("form input[type=hidden]")
    .evaluateAll((inputs) => inputs.map((input) => [input.getAttribute("name"), input.getAttribute("value")]));
  const inputs = [...fields, ["accept", organization]].map(([name, value]) => `<input name="${name}" value="${value}">`).join("");
  // Even with the form's own fields, which another site cannot read.
  hostilePage = `<form method="post" action="${world.url}/oauth/memberships">${inputs}</form><script>document.forms[0].submit()</script>`;
  const other = await browser.context.newPage();
  const [answer] = await Promise.all([
    other.waitForResponse((response) => response.url().endsWith("/oauth/memberships")),
    other.goto(hostileUrl).catch(() => {}),
  ]);
  assert.equal(answer.status(), 403);
  assert.equal(await stateOf("alan", organization), "MEMBERSHIP_STATE_PENDING");
  await other.close();
  await page.close();
});
