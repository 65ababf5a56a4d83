// Attacks 58 to 60: one stranger who tries to exhaust public operations. All requests come through one trusted proxy, which reports the
// client's address.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { limits } from "#base/limits.ts";
import { methods } from "#contract/catalog.ts";
import type { ClientPurpose } from "#authn";
import type { Answer, Protocol } from "../client.ts";
import { asOwner, freshDatabase, type TestDatabase } from "../database.ts";
import { type FakeProvider, callbackUrl, openBrowser, openProvider, registerProvider, signInUrl } from "../provider.ts";
import { type Codes, hiddenFields, type Page, poll, postForm, refreshTarget, type Reply, submitForm } from "../terminal.ts";
import { openWorld, type World } from "../world.ts";

let database: TestDatabase;
let folder: string;
let world: World;
let other: World;
let provider: FakeProvider;
let idp: string;

before(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), "gantry-strangers-"));
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  const environment = { DATABASE_URL: database.url, GANTRY_SECRET_KEY_FILE: key, GANTRY_TRUSTED_PROXIES: "127.0.0.1" };
  world = await openWorld(environment);
  other = await openWorld(environment);
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
});
after(async () => {
  await world?.close();
  await other?.close();
  await provider?.close();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

const from = (address: string): Record<string, string> => ({ "x-forwarded-for": address });

const pass = (milliseconds: number): void => {
  world.clock.now += milliseconds;
  other.clock.now = world.clock.now;
};

let strangers = 0;
const newAddress = (): string => `198.51.${100 + Math.floor(++strangers / 250)}.${strangers % 250}`;

/** Uses up an address's limit per minute without sending that many requests. */
const useUp = (purpose: ClientPurpose, address: string): void => {
  const { clientLimits } = world.server.application.services.authn;
  assert.throws(() => {
    for (let times = 0; times <= limits.openReadsPerMinute; times++) clientLimits.take(purpose, address);
  }, /[Tt]ry again in (?:a second|\d+ seconds)/);
};

const begin = (address: string, form: Readonly<Record<string, string>> = {}, at = world): Promise<Reply> =>
  postForm(`${at.url}/oauth/device_authorization`, { client_id: "terminal", ...form }, from(address));

const codesOf = ({ status, body }: Reply): Codes => {
  assert.equal(status, 200);
  return { deviceCode: String(body.device_code), userCode: String(body.user_code), page: String(body.verification_uri_complete) };
};

const get = (path: string, address: string): Promise<Response> => fetch(`${world.url}${path}`, { headers: from(address), redirect: "manual" });

const assertThrottled = ({ status, body, headers }: Reply, limit: string): void => {
  assert.deepEqual([status, body.error], [429, "temporarily_unavailable"]);
  assert.match(headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  assert.match(headers.get("ratelimit") ?? "", new RegExp(`^"${limit}";r=0;t=\\d+$`));
};

test("attack 58: device code requests are limited per address and /64, and others still get codes", async () => {
  const [stranger, sameNetwork, neighbour] = ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"];
  for (let times = 0; times < limits.deviceAuthorizationsPerMinute; times++) assert.equal((await begin(stranger)).status, 200);
  for (const address of [stranger, sameNetwork]) assertThrottled(await begin(address), "device-authorizations");
  assert.equal((await begin(neighbour)).status, 200);
  assert.equal((await begin("192.0.2.7")).status, 200);
  pass(1000);
  assert.equal((await begin(sameNetwork)).status, 200);
  assertThrottled(await begin(stranger), "device-authorizations");
});

test("open codes are limited per address over all servers until one expires, and others can continue", async () => {
  const [stranger, neighbour] = [newAddress(), newAddress()];
  for (let times = 0; times < limits.deviceCodesPerAddressMax; times++) {
    pass(60_000 / limits.deviceAuthorizationsPerMinute);
    assert.equal((await begin(stranger, {}, times % 2 ? world : other)).status, 200);
  }
  for (const server of [world, other]) {
    const refused = await begin(stranger, {}, server);
    assertThrottled(refused, "open-device-authorizations");
    assert.match(String(refused.body.error_description), /your network has reached the limit of 300 open sign-ins.*try again in 11 minutes/);
    assert.equal((await begin(neighbour, {}, server)).status, 200);
  }
  pass(limits.deviceCodeLifetimeMs - 300_000 + 1000);
  assert.equal((await begin(stranger)).status, 200);
  // The table stores only a hash of the address.
  const rows = await asOwner(database.url, "select distinct address_hash from device_codes");
  for (const [hash] of rows) assert.match(hash ?? "", /^[0-9a-f]{32}$/);
  assert.ok(!JSON.stringify(await asOwner(database.url, "select device_codes::text from device_codes")).includes(stranger));
});

test("all addresses together cannot fill the table of codes either", async () => {
  const [now, then] = [new Date(world.clock.now).toISOString(), new Date(world.clock.now + limits.deviceCodeLifetimeMs).toISOString()];
  await asOwner(
    database.url,
    `insert into device_codes (device_hash, user_code, address_hash, client, wanted, interval_ms, create_time, expire_time)
     select 'flood ' || n, 'flood ' || n, n, '', '{}', 5000, $1::timestamptz, $2::timestamptz from generate_series(1, ${limits.deviceCodesMax}) as n`,
    [now, then],
  );
  pass(limits.openRowsCountMs);
  assertThrottled(await begin(newAddress()), "all-open-device-authorizations");
  pass(limits.deviceCodeLifetimeMs);
  assert.equal((await begin(newAddress())).status, 200);
  pass(limits.deviceCodeKeptMs);
  await begin(newAddress());
  assert.deepEqual(await asOwner(database.url, "select count(*) from device_codes where user_code like 'flood%'"), [["0"]]);
});

const exchanges = "chainguard.platform.oidc.SecurityTokenService/Exchange";
const refreshes = "chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken";
const registers = "chainguard.platform.auth.Auth/Register";

const callFrom = (address: string, protocol: Protocol, name: string, token: string): Promise<Answer> =>
  world.call(name, name === exchanges ? { aud: [world.url], identity: idp } : {}, { protocol, token, headers: from(address) });

const refreshToken = (id = randomBytes(16).toString("hex")): string => Buffer.from(JSON.stringify({ exp: 1, id, secret: "made up" })).toString("base64");

for (const protocol of ["rest", "grpc"] as const)
  test(`over ${protocol}, exchanges, refreshes and registrations are limited per address, and other addresses are served`, async () => {
    const [stranger, neighbour] = [newAddress(), newAddress()];
    useUp("exchanges", stranger);
    for (const [name, token] of [
      [exchanges, "made up"],
      [refreshes, refreshToken()],
      [registers, "made up"],
    ] as const) {
      const refused = await callFrom(stranger, protocol, name, token);
      assert.equal(refused.code, 8, name);
      assert.match(refused.message, /too many exchanges of tokens from your network \(at most 6000 a minute\)\. Try again in a second/);
      assert.ok(JSON.stringify(refused.details).includes("RetryInfo"), name);
      assert.equal(refused.headers["retry-after"], "1", name);
      assert.equal((await callFrom(neighbour, protocol, name, token)).code, 16, name);
    }
    pass(10);
    assert.equal((await callFrom(stranger, protocol, exchanges, "made up")).code, 16);
  });

test("the token endpoint applies the same limit to every grant, and makes a polling terminal slow down", async () => {
  const [stranger, neighbour] = [newAddress(), newAddress()];
  const ask = (address: string, form: Readonly<Record<string, string>>): Promise<Reply> => postForm(`${world.url}/oauth/token`, form, from(address));
  const exchange = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: "made up",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
  };
  const refresh = { grant_type: "refresh_token", refresh_token: refreshToken() };
  const codes = codesOf(await begin(neighbour));
  useUp("exchanges", stranger);
  assertThrottled(await ask(stranger, exchange), "exchanges");
  assertThrottled(await ask(stranger, refresh), "exchanges");
  const waiting = await ask(stranger, { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: codes.deviceCode, client_id: "terminal" });
  assert.deepEqual([waiting.status, waiting.body.error, waiting.headers.get("retry-after")], [429, "slow_down", "1"]);
  assert.equal((await ask(neighbour, exchange)).status, 400);
  assert.equal((await ask(neighbour, refresh)).body.error, "invalid_grant");
  assert.equal((await poll(world, codes)).body.error, "authorization_pending");
});

test("a thousand jobs of one company that exchange in the same second all succeed", async () => {
  const company = newAddress();
  const answers = await Promise.all(Array.from({ length: 1000 }, () => callFrom(company, "rest", exchanges, "made up")));
  assert.deepEqual([...new Set(answers.map(({ code }) => code))], [16]);
});

test("invalid refresh tokens cost no more than the address's share of transactions, over any protocol", async () => {
  const [stranger, neighbour] = [newAddress(), newAddress()];
  for (let tried = 0; tried < limits.refusedRefreshTokensPerMinute; tried += 50) {
    const tries = Array.from({ length: 50 }, () => callFrom(stranger, "rest", refreshes, refreshToken()));
    assert.deepEqual([...new Set((await Promise.all(tries)).map(({ code }) => code))], [16]);
  }
  for (const protocol of ["rest", "grpc"] as const) assert.equal((await callFrom(stranger, protocol, refreshes, refreshToken())).code, 8);
  assertThrottled(
    await postForm(`${world.url}/oauth/token`, { grant_type: "refresh_token", refresh_token: refreshToken() }, from(stranger)),
    "refused-refresh-tokens",
  );
  assert.equal((await callFrom(neighbour, "rest", refreshes, refreshToken())).code, 16);
  pass(200);
  assert.equal((await callFrom(stranger, "rest", refreshes, refreshToken())).code, 16);
});

test("AWS requests that contact other servers count as exchanges, on any operation", async () => {
  const stranger = newAddress();
  const request = Buffer.from("POST / HTTP/1.1\r\nhost: sts.amazonaws.com\r\n\r\n").toString("base64url");
  const ask = (): Promise<Answer> => world.call("iam.GroupsService/ListGroups", {}, { token: request, headers: { ...from(stranger), "gantry-identity": idp } });
  assert.equal((await ask()).code, 16);
  useUp("exchanges", stranger);
  assert.equal((await ask()).code, 8);
});

const signInFrom = (address: string): Promise<Response> => get(signInUrl(world, { idp_id: idp }).slice(world.url.length), address);

/** Asserts a page that says how long to wait. */
const assertThrottledPage = async (response: Response, text: RegExp): Promise<void> => {
  assert.equal(response.status, 429);
  assert.match(response.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  assert.match(await response.text(), text);
};

test("started and unanswered browser sign-ins are limited per address, and others can sign in", async () => {
  const [stranger, neighbour] = [newAddress(), newAddress()];
  useUp("sign-ins", stranger);
  await assertThrottledPage(await signInFrom(stranger), /<p>Too many sign-ins from your network \(at most 600 a minute\)\. Try again in a second\.<\/p>/);
  assert.equal((await signInFrom(neighbour)).status, 303);
  useUp("sign-in-answers", stranger);
  await assertThrottledPage(await get("/oauth/callback?state=made-up&code=x", stranger), /Too many sign-in responses/);
  assert.equal((await get("/oauth/callback?state=made-up&code=x", neighbour)).status, 400);
});

test("open sign-ins and headless sessions are limited per address, and others can continue", async () => {
  const [stranger, neighbour] = [newAddress(), newAddress()];
  const hash = world.server.application.services.authn.clientLimits.hashOf(stranger);
  const then = new Date(world.clock.now + 60_000).toISOString();
  await asOwner(
    database.url,
    `insert into sign_ins (state_hash, browser_hash, identity_provider_uid, address_hash, sealed, expire_time)
     select n, n, $1, $2, '', $3::timestamptz from generate_series(1, ${limits.signInsPerAddressMax}) as n`,
    [idp, hash, then],
  );
  await assertThrottledPage(await signInFrom(stranger), /Your network has reached the limit of 3000 open sign-ins\. Finish one, or try again in a minute/);
  assert.equal((await signInFrom(neighbour)).status, 303);

  await asOwner(
    database.url,
    `insert into headless_sessions (code_hash, address_hash, ecdh_public_key, encrypted_token, expire_time)
     select n, $1, '', '', $2::timestamptz from generate_series(1, ${limits.headlessSessionsPerAddressMax}) as n`,
    [hash, then],
  );
  pass(60_000 - 1);
  const finishHeadless = async (address: string): Promise<number> => {
    const browser = openBrowser();
    const key = randomBytes(32).toString("base64url");
    const shown = await browser.get(`${world.url}/oauth?headless_code=${key}&idp_id=${idp}`);
    const form = { ...hiddenFields(shown.text), answer: "confirm" };
    const question = refreshTarget(await submitForm(world, browser, "/oauth/headless", form, from(newAddress())));
    assert.ok(question);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const back = callbackUrl(provider, question, provider.vouch(question, { sub: "ada" }));
    return (await fetch(back, { headers: { ...from(address), cookie } })).status;
  };
  assert.deepEqual([await finishHeadless(stranger), await finishHeadless(neighbour)], [429, 200]);
});

test("polling, organization lookups and public feed reads are limited per address, and others are served", async () => {
  const [stranger, neighbour] = [newAddress(), newAddress()];
  useUp("open-reads", stranger);
  for (const path of [
    "/orgcheck?name=nobody.example",
    "/oauth/providers?name=nobody.example",
    "/advisory/v2/csaf/all.json",
    "/advisory/v2/osv/all.json",
    `/sts/headless_sessions?code=${randomBytes(32).toString("base64url")}`,
  ]) {
    const refused = await get(path, stranger);
    assert.deepEqual([refused.status, (await get(path, neighbour)).status === 429], [429, false], path);
    assert.match(refused.headers.get("ratelimit") ?? "", /^"open-reads";r=0;t=1$/, path);
  }
  const list = "chainguard.platform.advisory.v2.SecurityAdvisoryService/ListDocuments";
  for (const protocol of ["rest", "grpc"] as const) {
    assert.equal((await world.call(list, {}, { protocol, token: undefined, headers: from(stranger) })).code, 8);
    assert.notEqual((await world.call(list, {}, { protocol, token: undefined, headers: from(neighbour) })).code, 8);
  }
});

test("every public operation counts for its client's address, except the one without cost", () => {
  const { answers } = world.server.application.kernel;
  const free = methods.filter(({ open, name }) => open && answers.get(name)?.countsAs === undefined).map(({ name }) => name);
  assert.deepEqual(free, ["chainguard.platform.ping.v2.PingService/Ping"]);
});

const typeCode = async (address: string, typed: string, browser = openBrowser()): Promise<Page> => {
  if (browser.cookies.size === 0) await browser.get(`${world.url}/oauth/device`);
  return submitForm(world, browser, "/oauth/device", { user_code: typed }, from(address));
};

const wrongCode = "BBBB-BBBB";

/** Returns the wrong-code count, which is saved with the next code. */
const wrongCodesOfNow = async (): Promise<number> => {
  codesOf(await begin(newAddress()));
  const [row] = await asOwner(database.url, "select coalesce(sum(wrong), 0) from user_code_guesses where window_time > $1::timestamptz", [
    new Date(world.clock.now - limits.userCodeGuessesWindowMs).toISOString(),
  ]);
  return Number(row?.[0]);
};

test("attack 60: a code without the server's cookie is not checked: the page is shown again with a new, working cookie", async () => {
  const codes = codesOf(await begin(newAddress(), { client_id: "a tool with a name" }));
  const address = newAddress();
  const shown = openBrowser();
  await shown.get(`${world.url}/oauth/device`);
  const [[name = "", ours = ""] = []] = [...shown.cookies];
  assert.equal(name, "gantry-confirm");
  const before = await wrongCodesOfNow();
  for (const [what, cookies, headers] of [
    ["no cookie", [], {}],
    ["one that we have not made", [[name, randomBytes(60).toString("base64url")]], {}],
    ["one of ours, changed", [[name, `${ours.slice(0, -1)}${ours.endsWith("A") ? "B" : "A"}`]], {}],
    [
      "two of them",
      [
        [name, ours],
        [` ${name}`, ours],
      ],
      {},
    ],
    ["another site's page", [[name, ours]], { origin: "https://evil.example" }],
    ["a page that hides its origin", [[name, ours]], { origin: "null" }],
  ] as const)
    for (const typed of [codes.userCode, wrongCode]) {
      const browser = { ...openBrowser(), cookies: new Map<string, string>(cookies) };
      const page = await submitForm(world, browser, "/oauth/device", { user_code: typed }, { ...from(address), ...headers });
      assert.deepEqual([page.status, page.text.includes("a tool with a name"), page.text.includes(`value="${typed}"`)], [403, false, true], what);
      assert.match(page.text, /the browser blocks its cookies\. Allow cookies, then try again/);
      assert.match(page.headers.get("set-cookie") ?? "", /^gantry-confirm=\S+; Path=\/; Max-Age=3600; HttpOnly; SameSite=Strict$/);
      browser.cookies.delete(` ${name}`);
      const again = await submitForm(world, browser, "/oauth/device", { user_code: typed }, from(newAddress()));
      assert.equal(again.status, typed === wrongCode ? 404 : 200, what);
    }
  // One for each of the six wrong codes that were checked, none for the refused ones.
  assert.equal((await wrongCodesOfNow()) - before, 6);
  pass(limits.confirmCookieLifetimeMs);
  assert.equal((await submitForm(world, shown, "/oauth/device", { user_code: wrongCode }, from(address))).status, 403);
});

test("attack 60: a link with a code looks nothing up, and works in a browser without a cookie", async () => {
  const codes = codesOf(await begin(newAddress(), { idp_id: idp, client_id: "a tool with a name" }));
  const browser = openBrowser();
  for (const link of [codes.page, codes.page.replace(codes.userCode, wrongCode)]) {
    const shown = await browser.get(link);
    assert.deepEqual([shown.status, shown.text.includes("a tool with a name"), browser.cookies.has("gantry-confirm")], [200, false, true]);
  }
  const asked = await typeCode(newAddress(), codes.userCode, browser);
  assert.deepEqual([asked.status, asked.text.includes("a tool with a name")], [200, true]);
  const confirmed = await submitForm(world, browser, "/oauth/device", { ...hiddenFields(asked.text), answer: "confirm" }, from(newAddress()));
  const question = refreshTarget(confirmed);
  assert.ok(question);
  const last = await browser.get(callbackUrl(provider, question, provider.vouch(question, { sub: "ada" })));
  assert.match(last.text, /Your terminal is signed in/);
});

test("attack 59: after ten wrong codes in a minute an address must wait, even with a right one, and others can continue", async () => {
  const codes = codesOf(await begin(newAddress()));
  const [stranger, neighbour] = [newAddress(), newAddress()];
  for (let times = 0; times < limits.wrongUserCodesPerMinute; times++) assert.equal((await typeCode(stranger, wrongCode)).status, 404);
  for (const typed of [wrongCode, codes.userCode]) {
    const page = await typeCode(stranger, typed);
    assert.deepEqual([page.status, page.headers.get("retry-after")], [429, "6"]);
    assert.match(page.text, /Too many wrong codes from your network \(at most 10 a minute\)\. Try again in 6 seconds\./);
    assert.ok(page.text.includes(`value="${typed}"`));
  }
  assert.equal((await typeCode(neighbour, codes.userCode)).status, 200);
  pass(6_000);
  assert.equal((await typeCode(stranger, codes.userCode)).status, 200);
});

test("attack 59: guessing from many addresses locks no user out: new codes get longer on every server until an hour passes without it", async () => {
  pass(limits.userCodesLongerMs + limits.userCodeGuessesWindowMs);
  const victim = codesOf(await begin(newAddress(), { idp_id: idp }));
  assert.equal(victim.userCode.length, 9);
  const guessing = openBrowser();
  await guessing.get(`${world.url}/oauth/device`);
  const guesses = Array.from({ length: limits.userCodeGuessesMax + 1 }, (_, n) => `203.0.113.${Math.floor(n / limits.wrongUserCodesPerMinute)}`);
  const pages = await Promise.all(guesses.map((address) => typeCode(address, wrongCode, guessing)));
  assert.deepEqual([...new Set(pages.map(({ status }) => status))], [404]);

  assert.equal((await typeCode(newAddress(), victim.userCode)).status, 200);
  const longer = codesOf(await begin(newAddress(), { idp_id: idp }));
  assert.match(longer.userCode, /^[B-Z]{5}-[B-Z]{5}$/);
  assert.match(codesOf(await begin(newAddress(), {}, other)).userCode, /^[B-Z]{5}-[B-Z]{5}$/);
  // Typed in any form, and confirmed to the end.
  for (const typed of [longer.userCode, longer.userCode.replace("-", "").toLowerCase(), longer.userCode.replace("-", " ")]) {
    const page = await typeCode(newAddress(), typed);
    assert.deepEqual([page.status, page.text.includes(longer.userCode)], [200, true]);
  }

  await asOwner(database.url, "update user_code_guesses set wrong = 240001 where wrong > 600");
  const longest = codesOf(await begin(newAddress()));
  assert.match(longest.userCode, /^[B-Z]{4}-[B-Z]{4}-[B-Z]{4}$/);
  assert.equal((await typeCode(newAddress(), longest.userCode)).status, 200);
  pass(limits.userCodesLongerMs);
  assert.equal(codesOf(await begin(newAddress())).userCode.length, 14);
  pass(limits.userCodeGuessesWindowMs);
  assert.equal(codesOf(await begin(newAddress())).userCode.length, 9);
});

test("guessing costs the database one row per second, from any number of addresses", async () => {
  pass(limits.userCodeGuessesWindowMs);
  const guessing = openBrowser();
  await guessing.get(`${world.url}/oauth/device`);
  assert.equal((await typeCode(newAddress(), wrongCode, guessing)).status, 404);
  await Promise.all(Array.from({ length: 200 }, (_, n) => typeCode(`203.0.114.${n}`, wrongCode, guessing)));
  const [row] = await asOwner(database.url, "select wrong from user_code_guesses order by window_time desc limit 1");
  assert.deepEqual(row, ["1"]);
  assert.equal(await wrongCodesOfNow(), 201);
});
