// Sign-ins that name no identity provider or an unknown one: users get a choice, programs an error that says what to send.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { newChild } from "#base/uid.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import {
  answerLoopbackPage,
  callbackUrl,
  clientAddress,
  type FakeBrowser,
  type FakeProvider,
  openBrowser,
  openProvider,
  registerProvider,
  signInUrl,
} from "../provider.ts";
import { confirmAs, hiddenFields, poll, postForm, refreshTarget, requestDeviceCodes, showConfirmation, submitForm } from "../terminal.ts";
import { openWorld, type World } from "../world.ts";
import { type Browser, openChromium } from "./browser.ts";

let world: World;
let provider: FakeProvider;
let idp: string;
let chromium: Browser;

before(async () => {
  [world, chromium] = await Promise.all([openWorld(), openChromium()]);
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
});
after(async () => {
  await chromium?.close();
  await world?.close();
  await provider?.close();
});

/** Returns the addresses of a page's links, as a browser resolves them. */
const linksOf = (html: string): URL[] =>
  [...html.matchAll(/<a class="button[^"]*" href="([^"]+)"/g)].map(([, href = ""]) => new URL(href.replaceAll("&amp;", "&"), world.url));

/** Signs the user in with the provider of a redirect; returns the parameters that the client receives. */
const finish = async (browser: FakeBrowser, location: string, claims: Readonly<Record<string, unknown>>): Promise<URLSearchParams> => {
  const question = new URL(location);
  const asked = await browser.get(callbackUrl(provider, question, provider.vouch(question, claims)));
  const { location: last } = await answerLoopbackPage(world, browser, asked);
  return new URL(last).searchParams;
};

const parameters = {
  redirect: `${clientAddress}&state=of-the-client`,
  audience: "registry.example.test",
  cap: "repo.list",
  create_refresh_token: "true",
  unknown_parameter: "a&b=<c>",
};

const verifiedOrganization = async (name: string, count: number): Promise<string[]> => {
  const { uid } = await world.ok("iam.GroupsService/CreateGroup", { group: { name, verified: true, kind: "ORG_KIND_CUSTOMER" } });
  const made: string[] = [];
  for (let n = 1; n <= count; n++) {
    const oidc = { issuer: provider.url, clientId: "gantry-client", clientSecret: provider.clientSecret };
    const one = await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
      parent: String(uid),
      identityProvider: { name: `${name} ${n}`, defaultRole: builtInRoleUid("viewer"), oidc },
    });
    made.push(text(one, "uid"));
  }
  return made;
};

test("providers of a single organization are offered by name and host, and the request's other parameters are kept", async () => {
  for (const more of [{}, { idp_id: "" }, { client_id: "auth0", connection: "google" }, { idp_id: "nobody", chosen: "true" }]) {
    const browser = openBrowser();
    const shown = await browser.get(`${world.url}/oauth?${new URLSearchParams({ ...parameters, ...more })}`);
    assert.equal(shown.status, "chosen" in more ? 400 : 200);
    assert.doesNotMatch(shown.text, /Invalid argument|<c>/);
    assert.match(shown.text, new RegExp(`<bdi>people</bdi> <small>at ${new URL(provider.url).host}</small>`));
    const [choice, cancel, ...others] = linksOf(shown.text);
    assert.deepEqual(Object.fromEntries(choice?.searchParams ?? []), { ...parameters, idp_id: idp });
    assert.equal(others.length, 0);
    assert.deepEqual([cancel?.searchParams.get("status_code"), cancel?.searchParams.get("state")], ["400", "of-the-client"]);
    const begun = await browser.get(choice ?? "");
    assert.equal(begun.status, 303);
    const told = await finish(browser, begun.location, { sub: "ada" });
    const claims = claimsOf(told.get("token") ?? "");
    assert.deepEqual([claims.aud, claims.gantry_cap, told.get("state")], ["registry.example.test", ["repo.list"], "of-the-client"]);
    assert.notEqual(told.get("refresh_token"), null);
  }
});

test("a program that names an unknown provider gets error and status at its loopback address, and nowhere else", async () => {
  for (const idpId of ["nobody", "nobody.example", newChild(world.organization), "\0"]) {
    const { status, location } = await openBrowser().get(signInUrl(world, { ...parameters, idp_id: idpId }));
    const address = new URL(location);
    assert.deepEqual([status, address.origin + address.pathname], [303, "http://127.0.0.1:9/done"], idpId);
    // The public SDK reports 404 as "account not found", and any other status with the text of `error`.
    assert.deepEqual(Object.fromEntries(address.searchParams), {
      error: "Invalid argument: idp_id: names no identity provider and no verified organization with one",
      status_code: "400",
      state: "of-the-client",
    });
  }
  for (const redirect of ["https://evil.example/callback", "http://127.0.0.1.evil.example:9/", "http://evil@127.0.0.1:9/", `${world.url}/`, ""]) {
    const { status, location } = await openBrowser().get(signInUrl(world, { idp_id: "nobody", redirect }));
    assert.deepEqual([status, location], [400, ""], redirect);
  }
});

test("the pages that confirm a terminal offer them too", async () => {
  const { publicKey } = generateKeyPairSync("x25519");
  const codes = await requestDeviceCodes(world);
  for (const page of [codes.page, `${world.url}/oauth?headless_code=${publicKey.export({ format: "jwk" }).x}`]) {
    const shown = await showConfirmation(world, openBrowser(), page);
    assert.ok(shown.text.includes(`<input type="radio" name="idp_id" value="${idp}" checked>`), page);
    assert.match(shown.text, /<li>It can do everything that you can do\.<\/li><li>Access lasts one hour at most\.<\/li>/);
    assert.match((await confirmAs(world, provider, page, { sub: "ada", name: "Ada Lovelace" }, { idp_id: idp })).text, /Signed in as.*Ada Lovelace.*through /);
  }
  assert.equal((await poll(world, codes)).status, 200);
});

test("a program gets a JSON error that says what to send, on every path that shows users a page", async () => {
  const ask = async (path: string, init: RequestInit = {}): Promise<readonly [number, JsonObject]> => {
    const response = await fetch(`${world.url}${path}`, { redirect: "manual", ...init, headers: { accept: "application/json", ...init.headers } });
    assert.match(response.headers.get("content-type") ?? "", /^application\/json/, path);
    return [response.status, (await response.json()) as JsonObject];
  };
  const [status, body] = await ask("/oauth");
  assert.deepEqual(
    [status, body.code, body.message],
    [400, 3, "Invalid argument: idp_id: is required: the uid of an identity provider, or the name of a verified organization"],
  );
  assert.match(JSON.stringify(body.details), /google\.rpc\.ErrorInfo.*"field":"idp_id"/);
  const form = (fields: Readonly<Record<string, string>>): RequestInit => ({ method: "POST", body: new URLSearchParams(fields) });
  const others: readonly (readonly [path: string, init: RequestInit, status: number, message: RegExp])[] = [
    ["/oauth?idp_id=nobody", {}, 400, /idp_id: names no identity provider/],
    ["/oauth?redirect=http://evil.example", {}, 400, /redirect: must be a port of your own computer/],
    [`/oauth?idp_id=${idp}&cap=fly`, {}, 400, /cap: "fly" is not a capability/],
    ["/oauth/callback?state=x", {}, 400, /this callback address is no longer used/],
    [`/oauth/callback/${idp}?state=x`, {}, 400, /started in another browser/],
    ["/oauth/device", form({ user_code: "BBBB-BBBB" }), 403, /blocks its cookies/],
    ["/oauth/device", form({ user_code: "BBBB-BBBB", answer: "confirm" }), 403, /did not come from the page/],
    ["/oauth/device?user_code=x", {}, 400, /8, 10 or 12 letters/],
    ["/oauth/headless", form({ answer: "confirm" }), 403, /did not come from the page/],
  ];
  for (const [path, init, expected, message] of others) {
    const [found, { message: said }] = await ask(path, init);
    assert.equal(found, expected, path);
    assert.match(String(said), message);
  }
  const browsers = { headers: { accept: "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8" } };
  assert.match((await fetch(`${world.url}/oauth`, browsers)).headers.get("content-type") ?? "", /^text\/html/);
  const page = await (await fetch(`${world.url}/oauth?redirect=http://evil.example`, browsers)).text();
  assert.match(page, /<p>The parameter redirect must be a port of your own computer/, "a page has no words for programs");
});

test("with several organizations none is listed: the user types the organization's name, in any browser, by keyboard alone", async () => {
  const [first = "", second = ""] = await verifiedOrganization("several.example", 2);
  const [single] = await verifiedOrganization("single.example", 1);
  const page = await chromium.context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  await page.goto(signInUrl(world, parameters));
  assert.doesNotMatch((await page.textContent("main")) ?? "", /people|example [12]/);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate("document.activeElement.labels[0].textContent"), "Your organization");
  assert.equal(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid", "the focus is not to be seen");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").waitFor();
  assert.match((await page.getByRole("alert").textContent()) ?? "", /Enter your organization's name/);
  await page.getByLabel("Your organization").fill("nobody.example");
  await page.keyboard.press("Enter");
  await page.getByText("No organization or identity provider found with this name").waitFor();
  assert.equal(await page.getByLabel("Your organization").getAttribute("aria-invalid"), "true");
  await page.getByLabel("Your organization").fill("several.example");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "several.example 2" }).waitFor();
  assert.deepEqual(
    linksOf(await page.content()).map(({ searchParams }) => searchParams.get("idp_id")),
    [first, second, null],
  );
  await page.goBack();
  await page.getByLabel("Your organization").fill("single.example");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${provider.url}/authorize?**`, { waitUntil: "commit" });
  assert.deepEqual(
    complaints.filter((line) => /security policy/i.test(line)),
    [],
  );
  const begun = await openBrowser().get(signInUrl(world, { idp_id: "single.example" }));
  assert.equal(begun.status, 303);
  assert.ok(single);
});

test("a terminal may name an organization with several providers, and its user chooses among these only", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: "several.example" });
  const browser = openBrowser();
  const shown = await showConfirmation(world, browser, codes.page);
  const [, offered = ""] = [...shown.text.matchAll(/<input type="radio" name="idp_id" value="([^"]+)">/g)].map(([, uid]) => uid);
  assert.ok(!shown.text.includes(idp) && offered !== "");
  const confirm = (idpId: string) => submitForm(world, browser, "/oauth/device", { ...hiddenFields(shown.text), idp_id: idpId, answer: "confirm" });
  for (const other of [idp, "", "single.example"]) {
    const refused = await confirm(other);
    assert.deepEqual([refused.status, /Choose one of these/.test(refused.text)], [400, true], other);
  }
  assert.ok(refreshTarget(await confirm(offered)));
  assert.equal((await postForm(`${world.url}/oauth/device_authorization`, { idp_id: "nobody.example" })).status, 400);
});

test("a token for another audience is refused with both audiences, over REST and gRPC", async () => {
  const browser = openBrowser();
  const begun = await browser.get(signInUrl(world, { idp_id: idp, audience: "registry.example.test" }));
  const token = (await finish(browser, begun.location, { sub: "ada" })).get("token") ?? "";
  for (const protocol of ["rest", "grpc"] as const) {
    const answer = await world.call("iam.GroupsService/ListGroups", {}, { token, protocol });
    assert.equal(answer.code, 16);
    const { host, hostname } = new URL(world.url);
    assert.equal(
      answer.message,
      `the token has the wrong audience ("registry.example.test"); expected one of "${world.url}", "${world.url}/", "${host}", "${hostname}"`,
    );
  }
});
