// Device authorization (RFC 8628): a terminal signs in with a code that the user confirms in a browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { escapeHtml, sentenceOf } from "../../server/iam/signin/pages.ts";
import { type FakeProvider, openBrowser, openProvider, registerProvider, callbackUrl } from "../provider.ts";
import { requestDeviceCodes, confirmAs, hiddenFields, refreshTarget, poll, postForm, showConfirmation, submitForm, type Reply } from "../terminal.ts";
import { openWorld, type World } from "../world.ts";

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

const errorOf = ({ status, body }: Reply): [status: number, error: string] => [status, text(body, "error")];
const pending = [400, "authorization_pending"];

test("a code confirmed in a browser signs the terminal in once", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp });
  assert.deepEqual(errorOf(await poll(world, codes)), pending);
  const last = await confirmAs(world, provider, codes.page, { sub: "ada", email: "ada@example.test", email_verified: true });
  assert.equal(last.status, 200);
  assert.match(last.text, /Your terminal is signed in.*Signed in as.*ada@example\.test.*through 127\.0\.0\.1:/);
  const { status, body } = await poll(world, codes);
  assert.deepEqual([status, body.token_type, body.refresh_token, body.id_token], [200, "Bearer", undefined, undefined]);
  assert.ok(Number(body.expires_in) > 3590 && Number(body.expires_in) <= 3600);
  assert.equal((await world.call("chainguard.platform.auth.Auth/Validate", {}, { token: text(body, "access_token") })).reply.email, "ada@example.test");
  assert.deepEqual(errorOf(await poll(world, codes)), [400, "invalid_grant"]);
});

test("the response to a terminal follows RFC 8628, and discovery names the endpoint", async () => {
  const known = (await (await fetch(`${world.url}/.well-known/openid-configuration`)).json()) as Record<string, unknown>;
  assert.equal(known.device_authorization_endpoint, `${world.url}/oauth/device_authorization`);
  assert.ok(Array.isArray(known.grant_types_supported) && known.grant_types_supported.includes("urn:ietf:params:oauth:grant-type:device_code"));
  const { status, body } = await postForm(text(known as never, "device_authorization_endpoint"), {});
  assert.equal(status, 200);
  assert.match(text(body, "user_code"), /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  assert.deepEqual([body.expires_in, body.interval, body.verification_uri], [900, 5, `${world.url}/oauth/device`]);
  assert.equal(body.verification_uri_complete, `${world.url}/oauth/device?user_code=${text(body, "user_code")}`);
});

test("with offline_access the terminal gets refresh tokens that the token endpoint accepts once", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp, scope: "offline_access" });
  await confirmAs(world, provider, codes.page, { sub: "grace" });
  const first = await poll(world, codes);
  const renew = (token: string): Promise<Reply> => postForm(`${world.url}/oauth/token`, { grant_type: "refresh_token", refresh_token: token });
  const second = await renew(text(first.body, "refresh_token"));
  assert.equal(second.status, 200);
  assert.equal(claimsOf(text(second.body, "access_token")).sub, claimsOf(text(first.body, "access_token")).sub);
  assert.deepEqual(errorOf(await renew(text(first.body, "refresh_token"))), [400, "invalid_grant"]);
});

test("the tokens have the audience and scope that the terminal requested and the page shows", async () => {
  const group = world.organization;
  const codes = await requestDeviceCodes(world, { idp_id: idp, audience: "registry.example.test", scope: group, cap: "repo.list", client_id: "a <b>tool</b>" });
  const shown = await showConfirmation(world, openBrowser(), codes.page);
  for (const part of ["a &lt;b&gt;tool&lt;/b&gt;", "registry.example.test", group, "repo.list", codes.userCode]) assert.ok(shown.text.includes(part), part);
  await confirmAs(world, provider, codes.page, { sub: "ada" });
  const { body } = await poll(world, codes, { client_id: "a <b>tool</b>" });
  const claims = claimsOf(text(body, "access_token"));
  assert.deepEqual([claims.aud, claims.gantry_cap, claims.gantry_scopes], ["registry.example.test", ["repo.list"], [group]]);
});

test("an OpenID Connect client gets an ID token issued to it", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp, scope: "openid email" });
  await confirmAs(world, provider, codes.page, { sub: "ada" });
  const { body } = await poll(world, codes);
  const claims = claimsOf(text(body, "id_token"));
  assert.deepEqual([claims.iss, claims.aud], [world.url, [world.url, "terminal"]]);
});

test("a user without a preset provider enters its name, and can correct a typo", async () => {
  const codes = await requestDeviceCodes(world);
  const mistyped = await confirmAs(world, provider, codes.page, { sub: "ada" }, { idp_id: "nobody <here>" });
  assert.equal(mistyped.status, 400);
  assert.match(mistyped.text, /No organization or identity provider found with this name/);
  assert.doesNotMatch(mistyped.text, /<here>/);
  assert.deepEqual(errorOf(await poll(world, codes)), pending);
  world.clock.now += 6_000;
  assert.match((await confirmAs(world, provider, codes.page, { sub: "ada" }, { idp_id: ` ${idp} ` })).text, /Your terminal is signed in/);
  assert.equal((await poll(world, codes)).status, 200);
});

test("a refusal in the browser ends the code, and the terminal gets an error", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp });
  const browser = openBrowser();
  const shown = await showConfirmation(world, browser, codes.page);
  const refused = await submitForm(world, browser, "/oauth/device", { ...hiddenFields(shown.text), answer: "refuse" });
  assert.deepEqual([refused.status, /<h1>Refused<\/h1>/.test(refused.text)], [200, true]);
  const { status, body } = await poll(world, codes);
  assert.deepEqual([status, body.error, body.error_description], [400, "access_denied", "refused in the browser"]);
  assert.equal((await showConfirmation(world, openBrowser(), codes.page)).status, 404);
});

test("an error of the provider reaches the terminal with the text of the page", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp });
  provider.lies = { nonce: "another" };
  const last = await confirmAs(world, provider, codes.page, { sub: "ada" });
  provider.lies = {};
  assert.match(last.text, /<h1>Not signed in<\/h1>/);
  const { status, body } = await poll(world, codes);
  assert.deepEqual([status, body.error], [400, "access_denied"]);
  assert.ok(last.text.includes(escapeHtml(sentenceOf(text(body, "error_description")))));
});

test("a code expires after 15 minutes for terminal and browser, and is deleted later", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp });
  world.clock.now += limits.deviceCodeLifetimeMs;
  assert.deepEqual(errorOf(await poll(world, codes)), [400, "expired_token"]);
  assert.equal((await showConfirmation(world, openBrowser(), codes.page)).status, 404);
  world.clock.now += limits.deviceCodeKeptMs + 1;
  await requestDeviceCodes(world);
  assert.deepEqual(errorOf(await poll(world, codes)), [400, "invalid_grant"]);
});

test("a code that expires while the user is at the provider grants no sign-in", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp });
  world.clock.now += limits.deviceCodeLifetimeMs - 1000;
  const browser = openBrowser();
  const shown = await showConfirmation(world, browser, codes.page);
  const confirmed = await submitForm(world, browser, "/oauth/device", { ...hiddenFields(shown.text), answer: "confirm" });
  const question = refreshTarget(confirmed);
  assert.ok(question);
  world.clock.now += 1000;
  const last = await browser.get(callbackUrl(provider, question, provider.vouch(question, { sub: "ada" })));
  assert.deepEqual([last.status, /<h1>Too late<\/h1>/.test(last.text)], [410, true]);
});

test("polling too soon returns slow_down, and the interval grows by five seconds each time", async () => {
  const codes = await requestDeviceCodes(world);
  const ask = async (afterMs: number): Promise<string> => {
    world.clock.now += afterMs;
    return text((await poll(world, codes)).body, "error");
  };
  assert.deepEqual(
    [await ask(0), await ask(5_000), await ask(2_000), await ask(5_000), await ask(15_000), await ask(14_500), await ask(0)],
    ["authorization_pending", "authorization_pending", "slow_down", "slow_down", "authorization_pending", "authorization_pending", "slow_down"],
  );
});

test("an invalid device request gets an OAuth error and stores nothing", async () => {
  const count = async (): Promise<string> => JSON.stringify(await world.server.application.services.store.read.query("select count(*) from device_codes"));
  const before = await count();
  const wrong: readonly [form: string, description: RegExp][] = [
    ["client_id=a&client_id=b", /client_id: must be given once/],
    [`client_id=${"x".repeat(65)}`, /client_id: must have at most 64 characters/],
    ["client_id=evil%E2%80%AEname", /client_id: must be a name in visible characters/],
    ["client_id=%E3%85%A4%E2%A0%80", /client_id: must be a name in visible characters/],
    ["scope=everything", /scopes: "everything" is not the uid of a group/],
    ["cap=fly", /cap: "fly" is not a capability/],
    ["audience=a%00b", /aud: .*control characters/],
    ["idp_id=nobody", /idp_id: names no identity provider/],
    [`audience=${"x".repeat(20_000)}`, /aud: more than one token can carry/],
  ];
  for (const [form, description] of wrong) {
    const { status, body } = await postForm(`${world.url}/oauth/device_authorization`, new URLSearchParams(form));
    assert.deepEqual([status, body.error], [400, "invalid_request"], form);
    assert.match(text(body, "error_description"), description);
  }
  assert.equal(await count(), before);
  const codes = await requestDeviceCodes(world);
  assert.deepEqual(errorOf(await poll(world, codes, { client_id: "a\0b" })), [400, "invalid_grant"]);
  for (const form of ["", "device_code=", "device_code=a&device_code=b"]) {
    const { status, body } = await postForm(`${world.url}/oauth/token`, new URLSearchParams(`grant_type=urn:ietf:params:oauth:grant-type:device_code&${form}`));
    assert.deepEqual([status, body.error], [400, "invalid_request"], form);
  }
});

test("the token endpoint refuses unsupported grants with an OAuth error, and discovery lists the supported ones", async () => {
  const known = (await (await fetch(`${world.url}/.well-known/openid-configuration`)).json()) as { grant_types_supported: string[] };
  const { status, body } = await postForm(`${world.url}/oauth/token`, { grant_type: "password", username: "ada" });
  assert.deepEqual(
    [status, body.error, body.error_description],
    [400, "unsupported_grant_type", `grant_type must be one of ${known.grant_types_supported.join(", ")}`],
  );
  assert.equal((await postForm(`${world.url}/oauth/token`, {})).body.error, "invalid_request");
});

test("a code is accepted in any case and spacing", async () => {
  const { userCode } = await requestDeviceCodes(world);
  const [one, two] = [userCode.slice(0, 4), userCode.slice(5)];
  for (const typed of [userCode, one + two, `${one} ${two}`.toLowerCase(), ` ${one}-${two} `]) {
    const shown = await showConfirmation(world, openBrowser(), `${world.url}/oauth/device?${new URLSearchParams({ user_code: typed })}`);
    assert.deepEqual([shown.status, shown.text.includes(userCode)], [200, true], typed);
  }
  assert.equal((await openBrowser().get(`${world.url}/oauth/device`)).status, 200);
  for (const [typed, status] of [
    ["short", 400],
    ["x".repeat(5000), 400],
    ["AEIOUAEI", 400],
    ["BBBB-BBBB", 404],
  ] as const)
    assert.equal((await showConfirmation(world, openBrowser(), `${world.url}/oauth/device?user_code=${typed}`)).status, status, typed);
});
