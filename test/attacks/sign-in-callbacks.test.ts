// Attacks 242, 243 and 245 without a browser: callbacks and codes, the parameter iss, providers that change during a sign-in, pages that get a
// code, and silent providers.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { askForTokens, authorizeUrl, codeForm, makeVerifier } from "../authorization.ts";
import {
  answerLoopbackPage,
  callbackUrl,
  type FakeBrowser,
  type FakeProvider,
  openBrowser,
  openProvider,
  registerProvider,
  signIn,
  signInUrl,
} from "../provider.ts";
import { openWorld, type World } from "../world.ts";

const pageAddress = "https://console.example.com/signed-in?tenant=1";

let world: World;
let provider: FakeProvider;
let idp: string;

before(async () => {
  world = await openWorld({ GANTRY_REDIRECT_URIS: `${pageAddress},http://127.0.0.1:9/page`, GANTRY_CORS_ORIGINS: "https://cors.example.com" });
  provider = await openProvider(() => world.clock.now, { sendsIss: false });
  idp = await registerProvider(world, provider);
});
after(async () => {
  await world?.close();
  await provider?.close();
});

const begin = async (uid: string, browser = openBrowser()): Promise<{ readonly browser: FakeBrowser; readonly question: URL }> => ({
  browser,
  question: new URL((await browser.get(signInUrl(world, { idp_id: uid }))).location),
});

/** Ends a sign-in at this address; returns the client's status, or "signed in". */
const endAt = async (browser: FakeBrowser, back: URL): Promise<string> => {
  const shown = await answerLoopbackPage(world, browser, await browser.get(back));
  const told = URL.parse(shown.location)?.searchParams;
  return told?.has("token") ? "signed in" : (told?.get("status_code") ?? `${shown.status}`);
};

test("each identity provider shows its read-only callback address in every operation", async () => {
  const callbackUrl = `${world.url}/oauth/callback/${idp}`;
  const got = await world.ok("iam.IdentityProvidersService/GetIdentityProvider", { uid: idp });
  const { identityProviders } = await world.ok("iam.IdentityProvidersService/ListIdentityProviders", {});
  const updated = await world.ok("iam.IdentityProvidersService/UpdateIdentityProvider", {
    identityProvider: { uid: idp, description: "people", callbackUrl: "https://evil.example.com/" },
    updateMask: "description",
  });
  assert.deepEqual(
    [got.callbackUrl, (identityProviders as JsonObject[]).map((each) => each.callbackUrl), updated.callbackUrl],
    [callbackUrl, [callbackUrl], callbackUrl],
  );
  const { question } = await begin(idp);
  assert.equal(question.searchParams.get("redirect_uri"), callbackUrl);
});

test("attack 242: a code counts only at its own provider's callback, and a wrong callback ends no sign-in", async () => {
  const other = await openProvider(() => world.clock.now);
  const second = await registerProvider(world, other);
  const { browser, question } = await begin(idp);
  const theirs = await begin(second, browser);
  const right = callbackUrl(provider, question, provider.vouch(question, { sub: "ada" }));
  right.searchParams.delete("iss");
  for (const path of [
    "/oauth/callback",
    `/oauth/callback/${second}`,
    `/oauth/callback/${second}/`,
    `/oauth/callback/${idp}x`,
    `/oauth/callback/${world.organization}`,
  ]) {
    const wrong = new URL(right);
    wrong.pathname = path;
    assert.ok([400, 404].includes((await browser.get(wrong)).status), path);
  }
  const swapped = new URL(right);
  swapped.searchParams.set("state", theirs.question.searchParams.get("state") ?? "");
  assert.equal((await browser.get(swapped)).status, 400);
  assert.deepEqual([provider.requestedPaths.includes("/token"), other.requestedPaths.includes("/token")], [false, false]);
  assert.equal(await endAt(browser, right), "signed in");
  const shared = await openBrowser().get(`${world.url}/oauth/callback?code=x&state=y`);
  assert.match(shared.text, /callbackUrl/);
  await other.close();
});

test("attack 242: a sent iss must be the provider's, and may be absent only if metadata does not announce it", async () => {
  const cases: readonly (readonly [announced: boolean, iss: string | undefined, end: string])[] = [
    [true, undefined, "401"],
    [true, "https://other.example.com", "401"],
    [true, "own", "signed in"],
    [false, undefined, "signed in"],
    [false, "https://other.example.com", "401"],
    [false, "own", "signed in"],
  ];
  const announcing = await openProvider(() => world.clock.now);
  const announcingIdp = await registerProvider(world, announcing);
  for (const [announced, iss, end] of cases) {
    const [at, uid] = announced ? [announcing, announcingIdp] : [provider, idp];
    const { browser, question } = await begin(uid);
    const back = callbackUrl(at, question, at.vouch(question, { sub: "ada" }));
    back.searchParams.delete("iss");
    if (iss !== undefined) back.searchParams.set("iss", iss === "own" ? at.url : iss);
    assert.equal(await endAt(browser, back), end, `${announced} ${iss}`);
  }
  await announcing.close();
});

test("attack 242: a provider with a token endpoint that moved during the sign-in does not get the code", async () => {
  const moving = await openProvider(() => world.clock.now);
  const uid = await registerProvider(world, moving);
  await begin(uid);
  world.clock.now += limits.issuerKeysLifetimeMs - 1000;
  const { browser, question } = await begin(uid);
  world.clock.now += 2000;
  moving.instead = (request, response) => {
    if (request.url !== "/.well-known/openid-configuration") return false;
    const metadata = {
      issuer: moving.url,
      authorization_endpoint: `${moving.url}/authorize`,
      token_endpoint: `${moving.url}/elsewhere`,
      jwks_uri: `${moving.url}/keys`,
    };
    return Boolean(response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(metadata)));
  };
  const back = callbackUrl(moving, question, moving.vouch(question, { sub: "ada" }));
  assert.equal(await endAt(browser, back), "400");
  assert.ok(!moving.requestedPaths.includes("/token") && !moving.requestedPaths.includes("/elsewhere"));
  await moving.close();
});

test("attack 243: an operator's page gets a code with PKCE at its exact address, and no other page gets anything", async () => {
  const { verifier, challenge } = makeVerifier();
  const asked = (client: string, redirect: string): URL => authorizeUrl(world, client, challenge, { redirect_uri: redirect, idp_id: idp });
  for (const wrong of [
    "https://console.example.com/signed-in",
    `${pageAddress}&more=2`,
    "https://console.example.com/signed-in/?tenant=1",
    "https://CONSOLE.example.com/signed-in?tenant=1",
    "https://console.example.com:443/signed-in?tenant=1",
    "http://127.0.0.1:10/page",
    "https://cors.example.com/signed-in",
    `${world.url}/signed-in`,
  ]) {
    const refused = await openBrowser().get(asked(pageAddress, wrong));
    assert.deepEqual([refused.status, refused.location], [400, ""], wrong);
    // As its own client, too.
    const unknown = await openBrowser().get(asked(wrong, wrong));
    assert.deepEqual([unknown.status, unknown.location], [400, ""], wrong);
  }
  for (const address of [pageAddress, "http://127.0.0.1:9/page"]) {
    const withoutChallenge = asked(address, address);
    withoutChallenge.searchParams.delete("code_challenge");
    assert.match((await openBrowser().get(withoutChallenge)).location, /error=invalid_request.*#_$/);
    const browser = openBrowser();
    const question = new URL((await browser.get(asked(address, address))).location);
    assert.equal(question.origin, provider.url);
    const back = callbackUrl(provider, question, provider.vouch(question, { sub: "ada" }));
    const { location } = await browser.get(back);
    const answer = new URL(location);
    assert.deepEqual([answer.hash, answer.searchParams.has("token"), location.startsWith(address)], ["#_", false, true]);
    const tokens = await askForTokens(world, codeForm(address, answer.searchParams.get("code") ?? "", verifier, { redirect_uri: address }));
    assert.equal(tokens.status, 200, JSON.stringify(tokens.body));
  }
});

test("attack 245: five providers of one tenant with silent token endpoints and 80 callbacks delay no other tenant's sign-in", async (t) => {
  const tenant = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "silent tenant" } }), "uid");
  const silent = await Promise.all(Array.from({ length: 5 }, () => openProvider(() => world.clock.now)));
  t.after(() => Promise.all(silent.map((each) => each.close())));
  let hanging = 0;
  let reached = (): void => {};
  const isFull = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const backs: (() => Promise<unknown>)[] = [];
  for (const each of silent) {
    const uid = await registerProvider(world, each, { parent: tenant });
    for (let count = 0; count < 16; count++) {
      const { browser, question } = await begin(uid);
      const back = callbackUrl(each, question, each.vouch(question, { sub: `${count}` }));
      backs.push(() => browser.get(back));
    }
    each.instead = (request) => {
      if (request.url !== "/token") return false;
      if (++hanging === limits.issuerFetchesEachMax) reached();
      return true;
    };
  }
  await signIn(world, provider, idp, { sub: "ada" });
  const callbacks = backs.map((back) => back().catch(() => undefined));
  await isFull;
  const startedMs = performance.now();
  for (let count = 0; count < 5; count++) {
    const back = async (): Promise<string> => {
      const { browser, question } = await begin(idp);
      const url = callbackUrl(provider, question, provider.vouch(question, { sub: "ada" }));
      url.searchParams.delete("iss");
      return endAt(browser, url);
    };
    assert.equal(await back(), "signed in");
  }
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < limits.outboundTimeoutMs, `five sign-ins took ${tookMs} ms`);
  assert.equal(hanging, limits.issuerFetchesEachMax, "the tenant has more under way than its share");
  await Promise.all(silent.map((each) => each.close()));
  await Promise.all(callbacks);
});
