// Attacks on device sign-ins: tokens redeemed twice, guessed codes, and confirmations without the user.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { type FakeBrowser, type FakeProvider, openBrowser, openProvider, registerProvider, callbackUrl } from "../provider.ts";
import { requestDeviceCodes, confirmAs, hiddenFields, refreshTarget, poll, showConfirmation, submitForm } from "../terminal.ts";
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

const stateOf = async (userCode: string): Promise<string> => {
  const [row] = await world.server.application.services.store.read.query("select state from device_codes where user_code = $1", [userCode.replace("-", "")]);
  return row?.[0] ?? "gone";
};

const formOf = async (browser: FakeBrowser, page: string): Promise<Record<string, string>> => hiddenFields((await showConfirmation(world, browser, page)).text);

test("of fifty concurrent requests for the tokens of one code, one succeeds", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp, scope: "offline_access" });
  await confirmAs(world, provider, codes.page, { sub: "ada" });
  const replies = await Promise.all(Array.from({ length: 50 }, () => poll(world, codes)));
  const won = replies.filter(({ status }) => status === 200);
  assert.equal(won.length, 1);
  for (const { status, body } of replies) if (status !== 200) assert.deepEqual([status, body.error], [400, "invalid_grant"]);
  const families = await world.server.application.services.store.read.query("select count(*) from refresh_tokens");
  assert.deepEqual(families, [["1"]]);
});

test("of twenty concurrent sign-ins with one code, one determines the terminal's identity", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp });
  const pages = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      confirmAs(world, provider, codes.page, { sub: `person-${n}`, email: `person-${n}@example.test`, email_verified: true }),
    ),
  );
  const won = pages.filter(({ status }) => status === 200);
  assert.equal(won.length, 1);
  const { body } = await poll(world, codes);
  const { reply } = await world.call("chainguard.platform.auth.Auth/Validate", {}, { token: text(body, "access_token") });
  assert.ok(won[0]?.text.includes(String(reply.email)));
});

test("a form that this server did not issue neither confirms nor refuses a code", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp });
  const victim = openBrowser();
  const form = await formOf(victim, codes.page);
  const mallory = openBrowser();
  const hers = await formOf(mallory, codes.page);
  const attempts: readonly [what: string, browser: FakeBrowser, form: Record<string, string>, headers?: Record<string, string>][] = [
    ["no cookie", openBrowser(), form],
    ["no proof", victim, { user_code: codes.userCode }],
    ["an empty proof", victim, { ...form, proof: "" }],
    ["the proof of her own browser", victim, hers],
    ["her cookie beside the victim's", { ...victim, cookies: new Map([...victim.cookies, [" gantry-confirm", [...mallory.cookies.values()][0] ?? ""]]) }, hers],
    ["another site's page", victim, form, { origin: "https://evil.example" }],
    ["a page that hides its origin", victim, form, { origin: "null" }],
  ];
  for (const [what, browser, sent, headers = {}] of attempts)
    for (const answer of ["confirm", "refuse"])
      assert.equal((await submitForm(world, browser, "/oauth/device", { ...sent, answer }, headers)).status, 403, `${what}: ${answer}`);
  assert.equal(await stateOf(codes.userCode), "open");
  assert.ok(refreshTarget(await submitForm(world, victim, "/oauth/device", { ...form, answer: "confirm" })));
});

test("a confirmation applies to one terminal only, and a code opens no other terminal's tokens", async () => {
  const [ours, theirs] = [await requestDeviceCodes(world, { idp_id: idp }), await requestDeviceCodes(world, { idp_id: idp })];
  const browser = openBrowser();
  const form = await formOf(browser, ours.page);
  assert.equal((await submitForm(world, browser, "/oauth/device", { ...form, user_code: theirs.userCode, answer: "confirm" })).status, 403);
  await confirmAs(world, provider, ours.page, { sub: "ada" });
  assert.equal((await poll(world, theirs)).body.error, "authorization_pending");
  assert.equal((await poll(world, { deviceCode: ours.userCode })).body.error, "invalid_grant");
  assert.equal((await poll(world, ours, { client_id: "another" })).body.error, "invalid_grant");
  assert.equal((await poll(world, ours)).status, 200);
});

test("opening an address with a code or key starts no sign-in", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp });
  const key = Buffer.alloc(32, 9).toString("base64url");
  for (const address of [codes.page, `${world.url}/oauth?headless_code=${key}&idp_id=${idp}`]) {
    const browser = openBrowser();
    const { status, location, headers, text: html } = await browser.get(address);
    assert.deepEqual([status, location, headers.get("refresh")], [200, "", null], address);
    const asked = await showConfirmation(world, browser, address);
    assert.match(asked.text, /Continue only if you started this sign-in yourself/);
    assert.deepEqual([asked.status, asked.headers.get("refresh")], [200, null], address);
    assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'.*frame-ancestors 'none'/);
    assert.match(headers.get("cache-control") ?? "", /no-store/);
    assert.doesNotMatch(html, /<script/i);
    assert.match(headers.get("set-cookie") ?? "", /HttpOnly; SameSite=Strict/);
  }
  assert.equal(await stateOf(codes.userCode), "open");
});

test("only the page that showed a headless sign-in's key can confirm it", async () => {
  const [ours, hers] = [Buffer.alloc(32, 7).toString("base64url"), Buffer.alloc(32, 9).toString("base64url")];
  const browser = openBrowser();
  const form = await formOf(browser, `${world.url}/oauth?headless_code=${ours}&idp_id=${idp}`);
  for (const [sent, headers] of [
    [{ ...form, headless_code: hers }, {}],
    [{ ...form, proof: "" }, {}],
    [form, { origin: "https://evil.example" }],
  ] as const)
    assert.equal((await submitForm(world, browser, "/oauth/headless", { ...sent, answer: "confirm" }, headers)).status, 403);
  assert.ok(refreshTarget(await submitForm(world, browser, "/oauth/headless", { ...form, answer: "confirm" })));
});

test("another user's browser cannot complete a confirmation", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp });
  const mallory = openBrowser();
  const question = refreshTarget(await submitForm(world, mallory, "/oauth/device", { ...(await formOf(mallory, codes.page)), answer: "confirm" }));
  assert.ok(question);
  const last = await openBrowser().get(callbackUrl(provider, question, provider.vouch(question, { sub: "victim" })));
  assert.equal(last.status, 400);
  assert.equal(await stateOf(codes.userCode), "open");
});

test("an approval yields no token if its provider or user is deleted before the terminal polls", async () => {
  const spare = await registerProvider(world, provider);
  const [first, second] = [await requestDeviceCodes(world, { idp_id: spare }), await requestDeviceCodes(world, { idp_id: idp })];
  await confirmAs(world, provider, first.page, { sub: "ada" });
  await world.ok("iam.IdentityProvidersService/DeleteIdentityProvider", { uid: spare });
  await confirmAs(world, provider, second.page, { sub: "leaver" });
  await world.ok("iam.IdentitiesService/DeleteIdentity", { uid: world.server.application.services.authn.personUid(provider.url, "leaver") });
  for (const codes of [first, second]) assert.equal((await poll(world, codes)).body.error, "access_denied");
});

test("the store contains no token and no code that a terminal could redeem", async () => {
  const codes = await requestDeviceCodes(world, { idp_id: idp });
  await confirmAs(world, provider, codes.page, { sub: "ada" });
  const rows = JSON.stringify(await world.server.application.services.store.read.query("select device_codes::text from device_codes"));
  assert.ok(rows.includes(createHash("sha256").update(codes.deviceCode).digest("hex")));
  assert.ok(!rows.includes(codes.deviceCode));
  assert.doesNotMatch(rows, /eyJ/);
});
