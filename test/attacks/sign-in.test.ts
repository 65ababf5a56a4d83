// Attacks on signing in: stolen responses, lying providers, misleading addresses, and leaked secrets.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { builtInRoleUid } from "#authz";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import {
  answerLoopbackPage,
  loopbackForm,
  signInUrl,
  type Claims,
  clientAddress,
  type FakeProvider,
  openBrowser,
  openProvider,
  registerProvider,
  signIn,
  callbackUrl,
} from "../provider.ts";
import { answerInvite, signInWithInvite } from "../invite-page.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let provider: FakeProvider;
let idp: string;
const logged: unknown[] = [];

before(async () => {
  world = await openWorld({}, (event, facts) => void logged.push([event, facts]));
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
});
afterEach(() => {
  provider.lies = {};
  provider.sign = undefined;
  provider.instead = undefined;
});
after(async () => {
  await world?.close();
  await provider?.close();
});

const people = async (): Promise<number> => {
  const [row] = await world.server.application.services.store.read.query("select count(*) from identities where issuer = $1", [provider.url]);
  return Number(row?.[0]);
};

const begin = async (browser = openBrowser(), parameters: Readonly<Record<string, string>> = {}) => {
  const { location, headers } = await browser.get(signInUrl(world, { idp_id: idp, ...parameters }));
  return { browser, question: new URL(location), headers };
};

const toldOf = (location: string): { error: string; status: string; token: string } => {
  const { searchParams } = new URL(location);
  return { error: searchParams.get("error") ?? "", status: searchParams.get("status_code") ?? "", token: searchParams.get("token") ?? "" };
};

test("each authorization request has a new state, nonce and S256 challenge, none of them the cookie's secret", async () => {
  const [{ question: one, browser }, { question: other }] = [await begin(), await begin()];
  assert.equal(one.searchParams.get("code_challenge_method"), "S256");
  assert.equal(one.searchParams.get("response_type"), "code");
  assert.equal(one.searchParams.get("prompt"), null);
  const secrets = ["state", "nonce", "code_challenge"].flatMap((name) => [one.searchParams.get(name) ?? "", other.searchParams.get(name) ?? ""]);
  assert.ok(secrets.every((secret) => secret.length >= 43));
  assert.equal(new Set([...secrets, ...browser.cookies.values()]).size, 7);
});

test("the cookie is hidden from scripts and not sent with other sites' requests", async () => {
  const { headers } = await begin();
  assert.match(headers.getSetCookie().join(), /^gantry-sign-in-[0-9a-f]{8}=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
});

test("a response is accepted only from the browser that started, with its own cookie", async () => {
  const { browser, question } = await begin();
  const back = callbackUrl(provider, question, provider.vouch(question, { sub: "victim" }));
  const count = await people();
  const stranger = openBrowser();
  assert.equal((await stranger.get(back)).status, 400);
  // The cookie of another sign-in, and the same name with a forged value (fixation).
  await begin(stranger);
  assert.equal((await stranger.get(back)).status, 400);
  for (const name of browser.cookies.keys()) stranger.cookies.set(name, "x".repeat(43));
  assert.equal((await stranger.get(back)).status, 400);
  assert.equal(await people(), count);
  assert.notEqual(toldOf((await answerLoopbackPage(world, browser, await browser.get(back))).location).token, "");
});

test("a response counts once, even if sent ten times concurrently", async () => {
  const { browser, question } = await begin();
  const back = callbackUrl(provider, question, provider.vouch(question, { sub: "hasty" }));
  const answers = await Promise.all(Array.from({ length: 10 }, () => browser.get(back)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 9 }, () => 400)]);
});

test("a response after ten minutes is refused", async () => {
  const { browser, question } = await begin();
  world.clock.now += limits.signInLifetimeMs;
  assert.equal((await browser.get(callbackUrl(provider, question, provider.vouch(question, { sub: "late" })))).status, 400);
});

test("a forged, missing or repeated state is refused", async () => {
  const { browser, question } = await begin();
  const back = callbackUrl(provider, question, provider.vouch(question, { sub: "nobody" }));
  for (const change of [
    (query: URLSearchParams) => query.set("state", "x"),
    (query: URLSearchParams) => query.delete("state"),
    (query: URLSearchParams) => query.append("state", "y"),
  ]) {
    const wrong = new URL(back);
    change(wrong.searchParams);
    assert.equal((await browser.get(wrong)).status, 400);
  }
});

test("a response with another issuer is refused, and so is one without, if the provider sends it (RFC 9207)", async () => {
  for (const issuer of ["https://other.example.com", ""]) {
    const { browser, question } = await begin();
    const back = callbackUrl(provider, question, provider.vouch(question, { sub: "mixed" }));
    if (issuer) back.searchParams.set("iss", issuer);
    else back.searchParams.delete("iss");
    assert.deepEqual(toldOf((await browser.get(back)).location), {
      error: "the response of the identity provider to this sign-in is invalid",
      status: "401",
      token: "",
    });
  }
});

test("a code from another sign-in is refused by its challenge", async () => {
  const [mine, theirs] = [await begin(), await begin()];
  const code = provider.vouch(theirs.question, { sub: "injected" });
  assert.equal(toldOf((await mine.browser.get(callbackUrl(provider, mine.question, code))).location).status, "401");
});

test("a provider with an issuer changed during the sign-in does not get the response", async () => {
  const second = await openProvider(() => world.clock.now);
  const third = await openProvider(() => world.clock.now);
  const uid = await registerProvider(world, second);
  const browser = openBrowser();
  const question = new URL((await browser.get(signInUrl(world, { idp_id: uid }))).location);
  const identityProvider = { uid, oidc: { issuer: third.url, clientSecret: third.clientSecret } };
  await world.ok("iam.IdentityProvidersService/UpdateIdentityProvider", { identityProvider, updateMask: "oidc.issuer,oidc.client_secret" });
  assert.equal(toldOf((await browser.get(callbackUrl(second, question, second.vouch(question, { sub: "moved" })))).location).status, "400");
  assert.ok(!third.requestedPaths.includes("/token"));
  await Promise.all([second.close(), third.close()]);
});

const lies: readonly (readonly [string, () => Claims])[] = [
  ["another issuer", () => ({ iss: "https://accounts.google.com" })],
  ["its own issuer with a slash more", () => ({ iss: `${provider.url}/` })],
  ["another client", () => ({ aud: "somebody-else" })],
  ["several clients, and another one as the fairnessKey", () => ({ aud: ["gantry-client", "other"], azp: "other" })],
  ["another nonce", () => ({ nonce: "x" })],
  ["no nonce", () => ({ nonce: undefined })],
  ["a time that has passed", () => ({ exp: Math.floor(world.clock.now / 1000) - 3600, iat: Math.floor(world.clock.now / 1000) - 7200 })],
  ["no end", () => ({ exp: undefined })],
  ["no subject", () => ({ sub: undefined })],
  ["a subject that is no text", () => ({ sub: ["a"] })],
  ["a subject with a line break", () => ({ sub: "a\nb" })],
  ["a subject with a NUL", () => ({ sub: "a\0b" })],
  ["a subject that is too long", () => ({ sub: "a".repeat(300) })],
];

for (const [what, lie] of lies) {
  test(`an ID token with ${what} is refused`, async () => {
    provider.lies = lie();
    const count = await people();
    const { error, status, token } = await signIn(world, provider, idp, { sub: "liar" });
    assert.deepEqual([status, token], ["401", ""], error);
    assert.equal(await people(), count);
  });
}

test("an ID token that is unsigned, signed with the client secret, or with an embedded key is refused", async () => {
  const stranger = await generateKeyPair("ES256");
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const forgeries: ((claims: Claims) => Promise<string>)[] = [
    async (claims) => `${part({ alg: "none" })}.${part(claims)}.`,
    (claims) => new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "one" }).sign(new TextEncoder().encode(provider.clientSecret)),
    (claims) => new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "one" }).sign(stranger.privateKey),
    async (claims) => new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "one", jwk: await exportJWK(stranger.publicKey) }).sign(stranger.privateKey),
  ];
  for (const sign of forgeries) {
    provider.sign = sign;
    const { status, token } = await signIn(world, provider, idp, { sub: "forger" });
    assert.deepEqual([status, token], ["401", ""]);
  }
});

test("users of the same name at two providers are two users, each valid for its own issuer only", async () => {
  const second = await openProvider(() => world.clock.now);
  const uid = await registerProvider(world, second);
  const [one, other] = [await signIn(world, provider, idp, { sub: "twin" }), await signIn(world, second, uid, { sub: "twin" })];
  assert.notEqual(claimsOf(one.token).sub, claimsOf(other.token).sub);
  // The second provider claims the first one's issuer.
  second.lies = { iss: provider.url };
  assert.equal((await signIn(world, second, uid, { sub: "twin" })).status, "401");
  await second.close();
});

test("an email address asserted by another organization's provider does not open an invite for it", async () => {
  const { uid: elsewhere } = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "elsewhere" } });
  const { code } = await world.ok("iam.GroupInvitesService/CreateGroupInvite", {
    parent: String(elsewhere),
    groupInvite: { roleUid: builtInRoleUid("owner"), email: "boss@example.com", ttl: "3600s" },
  });
  const claims = { sub: "boss", email: "boss@example.com", email_verified: true };
  assert.equal((await signInWithInvite(world, provider, idp, claims, String(code))).status, "403");
  // The organization's own provider can assert it. The user gets the invite's role, not the default one.
  const second = await openProvider(() => world.clock.now);
  const own = await registerProvider(world, second, { parent: String(elsewhere) });
  assert.equal((await signInWithInvite(world, second, own, { ...claims, email_verified: false }, String(code))).status, "403");
  const { token } = await signInWithInvite(world, second, own, claims, String(code));
  const { roleBindings } = await world.ok("iam.RoleBindingsService/ListRoleBindings", { uidp: { childrenOf: String(elsewhere) } });
  const given = (roleBindings as JsonObject[]).map(({ identity, role }) => [
    text(part({ identity: identity ?? {} }, "identity"), "uid"),
    text(part({ role: role ?? {} }, "role"), "uid"),
  ]);
  assert.deepEqual(given, [[claimsOf(token).sub, builtInRoleUid("owner")]]);
  await second.close();
});

test("a provider that is down, malformed or refuses the client is reported as such, never as an internal error", async () => {
  const answers: readonly (readonly [number, string, string])[] = [
    [500, "{}", "503"],
    [502, "<html>", "503"],
    [200, "{}", "401"],
    [200, "nonsense", "401"],
    [400, '{"error":"invalid_client"}', "400"],
    [401, '{"error":"invalid_client"}', "400"],
    [302, "", "401"],
    [404, "", "401"],
  ];
  for (const [status, body, expected] of answers) {
    provider.instead = (request, response) => {
      if (request.url !== "/token") return false;
      response.writeHead(status, { "content-type": "application/json" }).end(body);
      return true;
    };
    assert.equal((await signIn(world, provider, idp, { sub: "patient" })).status, expected, `${status} ${body}`);
  }
  const down = await openProvider(() => world.clock.now);
  const uid = await registerProvider(world, down);
  await down.close();
  const { status, location } = await openBrowser().get(signInUrl(world, { idp_id: uid }));
  assert.deepEqual([status, toldOf(location).status], [303, "503"]);
  const shown = await openBrowser().get(`${world.url}/oauth?idp_id=${uid}`);
  assert.equal(shown.status, 503);
  assert.match(shown.text, /cannot be reached\. Try again later/);
});

test("a discovery document that is another issuer's, misleading or missing ends in an error without a redirect", async () => {
  const rest = { token_endpoint: `${provider.url}/token`, jwks_uri: `${provider.url}/keys` };
  const documents: readonly unknown[] = [
    { ...rest, issuer: "https://accounts.google.com", authorization_endpoint: `${provider.url}/authorize` },
    { ...rest, authorization_endpoint: `${provider.url}/authorize` },
    ...["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "x", "", 7, null, undefined, ["https://evil.example.com"]].map(
      (authorization_endpoint) => ({ ...rest, authorization_endpoint, issuer: "own" }),
    ),
    [],
    7,
    null,
    "x",
  ];
  for (const document of documents) {
    const odd = await openProvider(() => world.clock.now);
    odd.instead = (_, response) => {
      const own =
        typeof document === "object" && document !== null && "issuer" in document && document.issuer === "own" ? { ...document, issuer: odd.url } : document;
      return Boolean(response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(own)));
    };
    const { status, location } = await openBrowser().get(`${world.url}/oauth?idp_id=${await registerProvider(world, odd)}`);
    assert.deepEqual([status, location], [400, ""], JSON.stringify(document));
    await odd.close();
  }
});

test("a hundred requests to the public path contact the provider once", async () => {
  const second = await openProvider(() => world.clock.now);
  const uid = await registerProvider(world, second);
  await Promise.all(Array.from({ length: 100 }, () => openBrowser().get(signInUrl(world, { idp_id: uid }))));
  assert.equal(second.requestedPaths.filter((path) => path === "/.well-known/openid-configuration").length, 1);
  await second.close();
});

test("a sign-in ends only at a port of the user's own computer, never at an address that a link's author chooses", async () => {
  const wrong = [
    "https://evil.example.com/",
    "http://127.0.0.1.evil.example.com/",
    "http://127.0.0.1@evil.example.com/",
    "//evil.example.com",
    "javascript:alert(1)",
    "http://localhost.evil.example.com",
    "https://127.0.0.1:8443/",
    "http://127.0.0.1/#x",
    "data:text/html,x",
    "/relative",
    "http://user:pass@127.0.0.1/",
    `${world.url}.evil.example.com/`,
    `http://127.0.0.1/${"x".repeat(3000)}`,
    "\\\\evil.example.com",
    "http://[::1",
    "file:///etc/passwd",
    "gantry://x",
    // Attack 243: this server's own origin, by each of its names on this machine.
    `${world.url}/page`,
    `${world.url.replace("127.0.0.1", "localhost")}/oauth?idp_id=${idp}`,
  ];
  for (const redirect of wrong) {
    const { status, location, text: shown } = await openBrowser().get(`${world.url}/oauth?${new URLSearchParams({ idp_id: idp, redirect })}`);
    assert.deepEqual([status, location], [400, ""], redirect);
    assert.match(shown, /This sign-in cannot begin/);
  }
  for (const redirect of ["http://127.0.0.1:1/x", "http://localhost:1/", "http://[::1]:1/", "http://localhost/x?token=true&error=true"]) {
    const { status, location } = await openBrowser().get(`${world.url}/oauth?${new URLSearchParams({ idp_id: idp, redirect })}`);
    assert.deepEqual([status, new URL(location).origin], [303, provider.url], redirect);
  }
});

test("over HTTPS no other host can plant the cookie, and no page is an end, whatever origins can call the API", async () => {
  const secure = await openWorld({ GANTRY_PUBLIC_URL: "https://gantry.example.com/", GANTRY_CORS_ORIGINS: "https://console.example.com" });
  try {
    const uid = await registerProvider(secure, provider);
    const response = await fetch(`${secure.url}/oauth?${new URLSearchParams({ idp_id: uid, redirect: clientAddress })}`, { redirect: "manual" });
    assert.match(response.headers.getSetCookie().join(), /^__Host-gantry-sign-in-[0-9a-f]{8}=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/);
    assert.equal(new URL(response.headers.get("location") ?? "").searchParams.get("redirect_uri"), `https://gantry.example.com/oauth/callback/${uid}`);
    for (const redirect of ["https://console.example.com/done", "https://gantry.example.com/done"]) {
      const wrong = await fetch(`${secure.url}/oauth?${new URLSearchParams({ idp_id: uid, redirect })}`, { redirect: "manual" });
      assert.deepEqual([wrong.status, wrong.headers.get("location")], [400, null], redirect);
    }
  } finally {
    await secure.close();
  }
});

test("invalid parameters are reported at the sign-in's end address, and nothing is started", async () => {
  const wrong: readonly Readonly<Record<string, string>>[] = [
    { idp_id: idp, scope: "x" },
    { idp_id: idp, cap: "x" },
    { idp_id: idp, identity: "x" },
    { idp_id: idp, client_id: "auth0|x" },
    { idp_id: idp, skip_registration: "perhaps" },
    { idp_id: idp, audience: "\u0001" },
  ];
  for (const parameters of wrong) {
    const { location } = await openBrowser().get(signInUrl(world, parameters));
    assert.ok(location.startsWith("http://127.0.0.1:9/done?"), JSON.stringify(parameters));
    assert.deepEqual([toldOf(location).status, toldOf(location).token], ["400", ""], JSON.stringify(parameters));
  }
  const twice = await openBrowser().get(`${signInUrl(world, { idp_id: idp })}&idp_id=${idp}`);
  assert.equal(toldOf(twice.location).status, "400");
});

test("pages show external values as text, cannot be framed, cached or scripted, and send no referrer", async () => {
  const { browser, question } = await begin(openBrowser(), { redirect: "" });
  const back = new URL(question.searchParams.get("redirect_uri") ?? "");
  back.search = new URLSearchParams({ state: question.searchParams.get("state") ?? "", iss: provider.url, error: "<script>alert(1)</script>" }).toString();
  const { status, text: shown, headers } = await browser.get(back);
  assert.equal(status, 403);
  assert.ok(shown.includes("&lt;script&gt;") && !shown.includes("<script"));
  assert.match(
    headers.get("content-security-policy") ?? "",
    /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  );
  assert.deepEqual(
    ["cache-control", "referrer-policy", "x-content-type-options", "x-frame-options"].map((name) => headers.get(name)),
    ["no-store", "no-referrer", "nosniff", "DENY"],
  );
});

test("/orgcheck reveals only if a verified organization of that name has an identity provider", async () => {
  const ask = async (query: string): Promise<readonly [number, string]> => {
    const response = await fetch(`${world.url}/orgcheck${query}`);
    return [response.status, await response.text()];
  };
  const { name } = await world.ok("iam.GroupsService/GetGroup", { uid: world.organization });
  assert.deepEqual(await ask(`?name=${encodeURIComponent(String(name))}`), [200, "false"]);
  const { uid } = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "verified.example", verified: true, kind: "ORG_KIND_CUSTOMER" } });
  assert.deepEqual(await ask("?name=verified.example"), [200, "false"]);
  const second = await openProvider(() => world.clock.now);
  await registerProvider(world, second, { parent: String(uid) });
  assert.deepEqual(await ask("?name=verified.example"), [200, "true"]);
  assert.deepEqual(await ask("?name=verified.example%00"), [200, "false"]);
  assert.deepEqual(await ask(""), [200, "false"]);
  assert.equal((await ask("?name=a&name=b"))[0], 400);
  assert.notEqual((await signIn(world, second, "verified.example", { sub: "named" })).token, "");
  await second.close();
});

test("no secret of a sign-in appears in logs, events, rows, lists or pages", async () => {
  const planted: string[] = [provider.clientSecret];
  const shown: string[] = [];
  const watch = async (claims: Claims, parameters: Readonly<Record<string, string>>): Promise<JsonObject> => {
    const { browser, question, headers } = await begin(openBrowser(), parameters);
    const code = provider.vouch(question, claims);
    planted.push(code, question.searchParams.get("state") ?? "", question.searchParams.get("nonce") ?? "", ...browser.cookies.values());
    shown.push(JSON.stringify([...headers].filter(([name]) => name !== "set-cookie" && name !== "location")));
    const arrived = await browser.get(callbackUrl(provider, question, code));
    planted.push(...Object.values(loopbackForm(arrived) ?? {}));
    const asked = parameters.invite === undefined ? arrived : await answerInvite(world, browser, arrived, "accept");
    const ended = await answerLoopbackPage(world, browser, asked);
    const told = Object.fromEntries(new URL(ended.location || "http://127.0.0.1").searchParams);
    planted.push(...[told.token, told.refresh_token].filter((each) => each !== undefined));
    // The last page leads to the client's address, which contains the tokens.
    shown.push(arrived.text, asked === ended ? asked.text : "", told.error ?? "");
    return told;
  };
  const { code } = await world.ok("iam.GroupInvitesService/CreateGroupInvite", {
    parent: world.organization,
    groupInvite: { roleUid: builtInRoleUid("viewer"), ttl: "3600s" },
  });
  planted.push(String(code));
  const told = await watch({ sub: "keeper", email: "keeper@example.com", email_verified: true }, { create_refresh_token: "true", invite: String(code) });
  const token = text(told, "token");
  assert.ok(token && told.refresh_token);
  const secretOf = (refreshToken: string): string => text(JSON.parse(Buffer.from(refreshToken, "base64").toString("utf8")) as JsonObject, "secret");
  const refreshed = await world.ok(
    "chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken",
    {},
    { token: text(told, "refresh_token"), headers: { "idempotency-key": "once" } },
  );
  const next = text(part(refreshed, "refreshToken"), "token");
  planted.push(secretOf(text(told, "refresh_token")), next, secretOf(next), text(part(refreshed, "token"), "token"));
  // Failing paths too, since their causes are logged.
  provider.lies = { nonce: "wrong" };
  await watch({ sub: "keeper" }, {});
  provider.lies = {};
  provider.instead = (request, response) =>
    request.url === "/token" && Boolean(response.writeHead(400).end(JSON.stringify({ error: "invalid_client", error_description: provider.clientSecret })));
  await watch({ sub: "keeper" }, {});
  const { store } = world.server.application.services;
  const rows: string[] = [];
  for (const table of ["sign_ins", "sessions", "refresh_tokens", "identities", "identity_providers", "group_invites", "outbox", "idempotency_keys"]) {
    rows.push(...(await store.read.query(`select row_to_json(t)::text from ${table} as t`)).map(([row]) => row ?? ""));
  }
  const lists = await Promise.all(
    ["IdentityProviders", "Identities", "GroupInvites", "RoleBindings"].map(async (kind) => (await world.call(`iam.${kind}Service/List${kind}`, {})).raw),
  );
  const everything = JSON.stringify([logged, await world.events(), rows, lists, shown]);
  assert.ok(everything.includes("keeper@example.com") && everything.includes("signin.refused") && everything.includes("auth.signed_in"));
  for (const secret of planted)
    assert.ok(
      secret.length > 10 && !everything.includes(secret) && !everything.includes(encodeURIComponent(secret)),
      `planted secret ${planted.indexOf(secret)} turned up`,
    );
});

test("the client's address in the callback's query is replaced, without leftover placeholders", async () => {
  const { browser, question } = await begin();
  const asked = await browser.get(callbackUrl(provider, question, provider.vouch(question, { sub: "placed" })));
  const { location } = await answerLoopbackPage(world, browser, asked);
  assert.ok(location.startsWith(clientAddress.split("?")[0] ?? ""));
  assert.deepEqual([...new URL(location).searchParams.keys()], ["token"]);
});

test("an assumable identity admits exactly the users that its claim match accepts, and registers none", async () => {
  const match = { issuer: provider.url, subject: "robot keeper", audience: "gantry-client" };
  const { uid } = await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity: { name: "deployer", claimMatch: match } });
  const count = await people();
  const taken = await signIn(world, provider, idp, { sub: "robot keeper" }, { identity: String(uid), create_refresh_token: "true" });
  assert.equal(claimsOf(taken.token).sub, uid);
  assert.equal(taken.refreshToken, "");
  assert.equal((await signIn(world, provider, idp, { sub: "somebody" }, { identity: String(uid) })).status, "403");
  assert.equal((await people()) - count, 0);
});
