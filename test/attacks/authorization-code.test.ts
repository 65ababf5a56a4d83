// Attacks 151 to 158: on the authorization code grant, its page, and what a client claims about itself (docs/decisions/0050).

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import {
  allow,
  answerPage,
  askForTokens,
  authorizeUrl,
  type ClientHost,
  clientRedirect,
  codeForm,
  hiddenFields,
  makeVerifier,
  openClientHost,
  type Parameters,
  refreshOf,
} from "../authorization.ts";
import { asOwner } from "../database.ts";
import { callbackUrl, type FakeProvider, openBrowser, openProvider, registerProvider } from "../provider.ts";
import { beginRequest } from "../slow-body.ts";
import { runImport } from "../story/import.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let provider: FakeProvider;
let host: ClientHost;
let idp: string;
let client: string;
const logged: string[] = [];

before(async () => {
  world = await openWorld(
    { GANTRY_TRUSTED_PROXIES: "127.0.0.1", GANTRY_CLIENTS: `listed=${clientRedirect},listed=https://listed.example/cb` },
    (event) => void logged.push(event),
  );
  [provider, host] = await Promise.all([openProvider(() => world.clock.now), openClientHost()]);
  idp = await registerProvider(world, provider);
  client = host.put("/client.json");
});
after(async () => {
  await world?.close();
  await provider?.close();
  await host?.close();
});

const askedFor = (more: Parameters = {}, challenge = makeVerifier().challenge, id = client): URL =>
  authorizeUrl(world, id, challenge, { idp_id: idp, ...more });

interface Issued {
  readonly code: string;
  readonly verifier: string;
}

const newCode = async (more: Parameters = {}, id = client): Promise<Issued> => {
  const { verifier, challenge } = makeVerifier();
  return { verifier, code: (await allow(world, provider, askedFor(more, challenge, id))).get("code") ?? "" };
};

const tokensFor = async (more: Parameters = {}): Promise<{ token: string; refreshToken: string; code: string; verifier: string }> => {
  const { code, verifier } = await newCode(more);
  const { body } = await askForTokens(world, codeForm(client, code, verifier));
  return { token: text(body, "access_token"), refreshToken: text(body, "refresh_token"), code, verifier };
};

const refresh = (token: string, more: Parameters = {}) =>
  askForTokens(world, { grant_type: "refresh_token", refresh_token: token, client_id: client, ...more });

const mayUse = async (token: string): Promise<boolean> => (await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token })).code === 0;

const countOf = async (table: string): Promise<number> => Number((await asOwner(world.databaseUrl, `select count(*) from ${table}`))[0]?.[0]);

const refusal = ({ status, body }: { readonly status: number; readonly body: JsonObject }): readonly [number, string] => [status, text(body, "error")];

test("a user who consents and signs in gets the client an API token, with a refresh token if requested", async () => {
  const { verifier, challenge } = makeVerifier();
  const told = await allow(world, provider, askedFor({ scope: "offline_access" }, challenge));
  assert.deepEqual([...told.keys()].sort(), ["code", "iss", "state"]);
  assert.deepEqual([told.get("iss"), told.get("state")], [world.url, "the state"]);
  const { status, body } = await askForTokens(world, codeForm(client, told.get("code") ?? "", verifier));
  assert.deepEqual([status, body.token_type, body.scope, typeof body.refresh_token], [200, "Bearer", "offline_access", "string"]);
  assert.equal(claimsOf(text(body, "access_token")).aud, world.url);
  assert.ok(await mayUse(text(body, "access_token")));
});

const misuses: readonly (readonly [string, (issued: Issued) => Parameters | Promise<Parameters>])[] = [
  ["without the verifier", ({ code, verifier }) => codeForm(client, code, verifier, { code_verifier: undefined })],
  ["with another verifier", ({ code }) => codeForm(client, code, makeVerifier().verifier)],
  // Known to an observer of the request; the method "plain" would accept it.
  ["with the challenge as its verifier", ({ code, verifier }) => codeForm(client, code, createHash("sha256").update(verifier).digest("base64url"))],
  ["by another client", ({ code, verifier }) => codeForm(host.put("/other.json"), code, verifier)],
  ["without a client", ({ code, verifier }) => codeForm(client, code, verifier, { client_id: undefined })],
  ["with another address of the same client", ({ code, verifier }) => codeForm(client, code, verifier, { redirect_uri: "http://127.0.0.1:10/answer" })],
  ["without an address", ({ code, verifier }) => codeForm(client, code, verifier, { redirect_uri: undefined })],
  ["for another resource", ({ code, verifier }) => codeForm(client, code, verifier, { resource: `${world.url}/mcp` })],
  [
    "as it is hashed in the database",
    async ({ verifier }) => {
      const [[hashed] = []] = await asOwner(world.databaseUrl, "select code_hash from authorization_codes order by expire_time desc limit 1");
      return codeForm(client, hashed ?? "", verifier);
    },
  ],
];

for (const [how, formOf] of misuses)
  test(`attack 151: a code presented ${how} yields no token`, async () => {
    const issued = await newCode();
    const { status, body } = await askForTokens(world, await formOf(issued));
    assert.equal(status, 400);
    assert.equal(body.access_token, undefined);
    assert.ok(["invalid_grant", "invalid_request", "invalid_target"].includes(text(body, "error")), text(body, "error"));
  });

test("attack 151: a code presented with a wrong verifier, client, address or resource is revoked and logged", async () => {
  for (const wrong of [{ code_verifier: makeVerifier().verifier }, { client_id: host.put("/other.json") }, { redirect_uri: "http://127.0.0.1:10/answer" }]) {
    const { code, verifier } = await newCode();
    assert.deepEqual(refusal(await askForTokens(world, codeForm(client, code, verifier, wrong))), [400, "invalid_grant"]);
    assert.deepEqual(refusal(await askForTokens(world, codeForm(client, code, verifier))), [400, "invalid_grant"]);
  }
  assert.ok(logged.includes("signin.code.misused"));
  for (const resource of [`${world.url}/mcp`, "https://other.example", "nonsense"]) {
    const { code, verifier } = await newCode();
    logged.length = 0;
    assert.deepEqual(refusal(await askForTokens(world, codeForm(client, code, verifier, { resource }))), [400, "invalid_target"]);
    assert.deepEqual(
      logged.filter((event) => event.startsWith("signin.code")),
      ["signin.code.misused"],
    );
    assert.deepEqual(refusal(await askForTokens(world, codeForm(client, code, verifier, { resource: world.url }))), [400, "invalid_grant"]);
    const other = await newCode();
    const wrong = codeForm(client, other.code, makeVerifier().verifier, { resource });
    assert.deepEqual(refusal(await askForTokens(world, wrong)), [400, "invalid_grant"]);
  }
  for (const resource of [`${world.url}/mcp/iam`, ""]) {
    const { code, verifier } = await newCode({ resource: `${world.url}/mcp` });
    assert.equal((await askForTokens(world, codeForm(client, code, verifier, { resource }))).status, 200, resource);
  }
});

test("attack 151: data visible in an access token can end its grant but yields no token", async () => {
  const { token, refreshToken } = await tokensFor({ scope: "offline_access" });
  const id = String(claimsOf(token).gantry_grant);
  const madeUp = Buffer.from(JSON.stringify({ exp: 4_000_000_000, id, secret: "of nobody" })).toString("base64");
  const got = await refresh(madeUp);
  assert.deepEqual(refusal(got), [400, "invalid_grant"]);
  assert.deepEqual([got.body.access_token, got.body.refresh_token], [undefined, undefined]);
  assert.equal(await mayUse(token), false);
  assert.deepEqual(refusal(await refresh(refreshToken)), [400, "invalid_grant"]);
});

test("attack 151: a second use of a code immediately revokes its tokens and everything derived from them", async () => {
  const { token, refreshToken, code, verifier } = await tokensFor({ scope: "offline_access" });
  const renewed = (await refresh(refreshToken)).body;
  const exchanged = await askForTokens(world, {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: token,
    subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
  });
  const registry = (await (await fetch(`${world.url}/v2/token`, { headers: { authorization: `Bearer ${token}` } })).json()) as JsonObject;
  const given = [token, text(renewed, "access_token"), text(exchanged.body, "access_token")];
  const statusAtRegistry = async (): Promise<number> =>
    (await fetch(`${world.url}/v2/`, { headers: { authorization: `Bearer ${text(registry, "token")}` } })).status;
  for (const each of given) assert.ok(await mayUse(each));
  assert.equal(await statusAtRegistry(), 200);
  assert.deepEqual(refusal(await askForTokens(world, codeForm(client, code, verifier))), [400, "invalid_grant"]);
  for (const each of given) assert.equal((await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token: each })).code, 16);
  assert.equal(await statusAtRegistry(), 401);
  assert.deepEqual(refusal(await refresh(text(renewed, "refresh_token"))), [400, "invalid_grant"]);
  assert.ok(logged.includes("signin.code.reused"));
});

test("attack 202: a request with a body that arrives after its grant was revoked has no effect", async () => {
  const { token, code, verifier } = await tokensFor();
  const identityUid = claimsOf(token).sub ?? "";
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: world.organization, roleBinding: { identityUid, roleUid: builtInRoleUid("owner") } });
  const groups = `${world.url}/iam/v2/groups`;
  const [allowed, late] = [
    await beginRequest(`${groups}/${world.organization}`, token, { name: "in time" }),
    await beginRequest(`${groups}/${world.organization}`, token, { name: "late" }),
  ];
  assert.equal(await allowed.end(), 200);
  await askForTokens(world, codeForm(client, code, verifier));
  assert.equal(await late.end(), 401);
});

test("attack 151: of ten concurrent uses of a code one gets tokens, and the others revoke them", async () => {
  const { code, verifier } = await newCode();
  const answers = await Promise.all(Array.from({ length: 10 }, () => askForTokens(world, codeForm(client, code, verifier))));
  const tokens = answers.flatMap(({ body }) => (typeof body.access_token === "string" ? [body.access_token] : []));
  assert.equal(tokens.length, 1);
  assert.equal(await mayUse(tokens[0] ?? ""), false);
});

test("attack 151: a code expires after one minute", async () => {
  const { code, verifier } = await newCode();
  world.clock.now += limits.authorizationCodeLifetimeMs;
  assert.deepEqual(refusal(await askForTokens(world, codeForm(client, code, verifier))), [400, "invalid_grant"]);
});

test("attack 151: a code yields no token once its user or provider is deleted", async () => {
  const gone = await registerProvider(world, provider);
  const { code, verifier } = await newCode({ idp_id: gone });
  await world.ok("iam.IdentityProvidersService/DeleteIdentityProvider", { uid: gone });
  assert.deepEqual(refusal(await askForTokens(world, codeForm(client, code, verifier))), [400, "invalid_grant"]);
});

test("attack 151: a missing, plain, malformed or repeated challenge is refused before the user sees a page", async () => {
  const wrong: Parameters[] = [
    { code_challenge: undefined, code_challenge_method: undefined },
    { code_challenge: undefined },
    { code_challenge_method: undefined },
    { code_challenge_method: "plain" },
    { code_challenge_method: "s256" },
    { code_challenge: "short" },
    { code_challenge: "" },
    { response_type: "token" },
    { response_type: "id_token" },
    { response_type: "code token" },
    { response_type: undefined },
    { response_mode: "fragment" },
    { request: "eyJ" },
    { request_uri: "https://example.com/request" },
  ];
  for (const more of wrong) {
    const { location } = await openBrowser().get(askedFor(more));
    const told = new URL(location).searchParams;
    assert.match(told.get("error") ?? "", /^(?:invalid_request|unsupported_response_type|request(?:_uri)?_not_supported)$/, JSON.stringify(more));
    assert.deepEqual([told.get("state"), told.get("iss"), told.get("code")], ["the state", world.url, null]);
  }
  for (const name of ["code_challenge", "response_type", "state", "scope", "resource"]) {
    const twice = askedFor({ scope: "groups.list", resource: world.url });
    twice.searchParams.append(name, "another");
    assert.ok(new URL((await openBrowser().get(twice)).location).searchParams.has("error"), name);
  }
});

test("attack 152: a redirect URI that differs by one character from the listed ones is refused and receives nothing", async () => {
  const listed = "https://app.example.com/oauth/callback?tenant=1";
  const id = host.put("/web.json", { redirect_uris: [listed, "http://localhost/cb", "com.example.app:/done"] });
  const variants = [
    "https://app.example.com/oauth/callback",
    "https://app.example.com/oauth/callback?tenant=1&more=2",
    "https://app.example.com/oauth/callback?tenant=1#code",
    "https://app.example.com/oauth/callback/?tenant=1",
    "https://app.example.com/oauth/callback/../evil?tenant=1",
    "https://app.example.com/oauth/%2e%2e/callback?tenant=1",
    "https://app.example.com/OAuth/callback?tenant=1",
    "https://APP.example.com/oauth/callback?tenant=1",
    "HTTPS://app.example.com/oauth/callback?tenant=1",
    "http://app.example.com/oauth/callback?tenant=1",
    "https://app.example.com:443/oauth/callback?tenant=1",
    "https://app.example.com:8443/oauth/callback?tenant=1",
    "https://app.example.com.evil.example/oauth/callback?tenant=1",
    "https://app.example.com@evil.example/oauth/callback?tenant=1",
    "https://evil.example\\@app.example.com/oauth/callback?tenant=1",
    "https://user:pass@app.example.com/oauth/callback?tenant=1",
    "https://evil.example/?https://app.example.com/oauth/callback?tenant=1",
    `${listed}\t`,
    ` ${listed}`,
    "//app.example.com/oauth/callback?tenant=1",
    "javascript:alert(1)",
    "data:text/html,x",
    "http://localhost/cb/more",
    "http://localhost/CB",
    "http://127.0.0.1/cb",
    "http://localhost.evil.example/cb",
    "http://localhost:1@evil.example/cb",
    "http://localhost:99999/cb",
    "com.example.app:/done/more",
    "com.example.app2:/done",
    "",
  ];
  for (const redirect_uri of variants) {
    const { status, location, headers, text: page } = await openBrowser().get(askedFor({ redirect_uri }, undefined, id));
    assert.deepEqual([status, location, headers.get("refresh")], [400, "", null], redirect_uri);
    assert.doesNotMatch(page, /href=/);
  }
  for (const redirect_uri of [listed, "http://localhost:5123/cb", "http://localhost/cb", "com.example.app:/done"])
    assert.equal((await openBrowser().get(askedFor({ redirect_uri }, undefined, id))).status, 200, redirect_uri);
});

test("an operator-listed client asks for consent under its name and uses only its listed redirect URIs", async () => {
  const { verifier, challenge } = makeVerifier();
  const { text: page } = await openBrowser().get(askedFor({ redirect_uri: "https://listed.example/cb" }, challenge, "listed"));
  assert.match(page, /<strong>listed<\/strong><br>The operator of this server has registered it/);
  assert.match(page, /goes to listed\.example/);
  const told = await allow(world, provider, askedFor({}, challenge, "listed"));
  assert.equal((await askForTokens(world, codeForm("listed", told.get("code") ?? "", verifier))).status, 200);
  for (const more of [{ redirect_uri: "https://listed.example/cb/more" }, { client_id: "LISTED" }, { client_id: "unlisted" }])
    assert.equal((await openBrowser().get(askedFor(more, challenge, more.client_id ?? "listed"))).status, 400);
});

test("attack 152: a client document cannot list a redirect URI that codes must not be sent to", async () => {
  for (const bad of [
    "http://app.example.com/cb",
    "https://app.example.com/cb#x",
    "https://user@app.example.com/cb",
    "javascript:alert(1)",
    "myapp:/cb",
    "ftp://a.example/",
    "/cb",
    `https://app.example.com/${"x".repeat(limits.redirectLengthMax)}`,
  ]) {
    const id = host.put(`/bad-${createHash("sha256").update(bad).digest("hex").slice(0, 8)}.json`, { redirect_uris: [clientRedirect, bad] });
    assert.equal((await openBrowser().get(askedFor({ redirect_uri: bad }, undefined, id))).status, 400, bad);
    assert.equal((await openBrowser().get(askedFor({}, undefined, id))).status, 200, bad);
  }
});

test("attack 153: an unknown client or redirect URI never redirects, nor does an invalid request of a client with a web page", async () => {
  const web = host.put("/redirector.json", { redirect_uris: ["https://evil.example/phish"] });
  const requests: Parameters[] = [
    { client_id: undefined },
    { client_id: "" },
    { client_id: "unknown" },
    { client_id: `${host.url}/missing.json`, redirect_uri: "https://evil.example/phish" },
    { client_id: `${world.url}/docs`, redirect_uri: "https://evil.example/phish" },
    { client_id: `${world.url}/docs`, redirect_uri: `${world.url}/docs` },
    { client_id: `${world.url}/docs/`, redirect_uri: `${world.url}/docs/signed-in` },
    { client_id: web, redirect_uri: "https://evil.example/phish", response_type: "token" },
    { client_id: web, redirect_uri: "https://evil.example/phish", scope: "nonsense" },
    { client_id: web, redirect_uri: "https://evil.example/phish", resource: "https://other.example" },
  ];
  for (const more of requests) {
    const { status, location, headers } = await openBrowser().get(askedFor(more));
    assert.deepEqual([status, location, headers.get("refresh")], [400, "", null], JSON.stringify(more));
  }
  for (const name of ["client_id", "redirect_uri"]) {
    const twice = askedFor();
    twice.searchParams.append(name, "https://evil.example/phish");
    assert.deepEqual([(await openBrowser().get(twice)).location], [""], name);
  }
});

test("attack 154: each response, including errors, carries issuer and state, and replaces any already in the redirect URI", async () => {
  const redirect = "https://app.example.com/cb?iss=https%3A%2F%2Fevil.example&code=stolen&state=old&keep=1";
  const id = host.put("/mixed.json", { redirect_uris: [redirect] });
  const browser = openBrowser();
  const page = await browser.get(askedFor({ redirect_uri: redirect }, undefined, id));
  const refused = new URL(refreshOf(await answerPage(world, browser, page, "refuse"))).searchParams;
  assert.deepEqual(
    [refused.getAll("iss"), refused.getAll("code"), refused.getAll("state"), refused.get("keep"), refused.get("error")],
    [[world.url], [], ["the state"], "1", "access_denied"],
  );
  const told = await allow(world, provider, askedFor({ redirect_uri: redirect }, undefined, id));
  assert.deepEqual([told.getAll("iss"), told.getAll("state"), told.getAll("code").length, told.getAll("error")], [[world.url], ["the state"], 1, []]);
  for (const path of ["openid-configuration", "oauth-authorization-server"]) {
    const known = (await (await fetch(`${world.url}/.well-known/${path}`)).json()) as JsonObject;
    assert.deepEqual([known.issuer, known.authorization_response_iss_parameter_supported, known.code_challenge_methods_supported], [world.url, true, ["S256"]]);
  }
});

test("attack 154: a failed sign-in at the provider returns an error to the client without a code or internal details", async () => {
  const browser = openBrowser();
  const allowed = await answerPage(world, browser, await browser.get(askedFor()), "confirm");
  const question = new URL(refreshOf(allowed));
  const back = callbackUrl(provider, question, "a code that the provider does not know");
  const told = new URL((await browser.get(back)).location).searchParams;
  assert.deepEqual([told.get("error"), told.get("code"), told.get("iss")], ["access_denied", null, world.url]);
  assert.match(told.get("error_description") ?? "", /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
});

test("attack 155: only the consent page itself grants consent: no other site, browser, request or expired form does", async () => {
  const browser = openBrowser();
  const page = await browser.get(askedFor());
  const { question = "", proof = "" } = hiddenFields(page.text);
  const other = hiddenFields((await browser.get(askedFor())).text);
  const address = `${world.url}/oauth/authorize`;
  const form = { question, proof, answer: "confirm", idp_id: idp };
  const refused = async (sent: typeof form, origin = world.url, from = browser): Promise<number> => (await from.post(address, sent, { origin })).status;
  assert.equal(await refused(form, "https://evil.example"), 403);
  assert.equal(await refused(form, "null"), 403);
  assert.equal(await refused(form, world.url, openBrowser()), 403);
  assert.equal(await refused({ ...form, proof: "" }), 403);
  assert.equal(await refused({ ...form, proof: other.proof ?? "" }), 403);
  assert.equal(await refused({ ...form, question: other.question ?? "" }), 403);
  assert.equal(await refused({ ...form, question: "" }), 403);
  const stranger = openBrowser();
  const theirs = hiddenFields((await stranger.get(askedFor())).text);
  assert.equal(await refused({ ...form, question: theirs.question ?? "", proof: theirs.proof ?? "" }), 403);
  const asked = askedFor({ answer: "confirm", question, proof });
  assert.doesNotMatch(refreshOf(await browser.get(asked)), /./);
  assert.match(refreshOf(await answerPage(world, browser, page, "confirm")), /nonce=/);
  const late = await browser.get(askedFor());
  world.clock.now += limits.deviceCodeLifetimeMs;
  assert.equal((await answerPage(world, browser, late, "confirm")).status, 403);
});

test("attack 155: the consent page cannot be framed, runs and loads nothing, is not cached, and has a host-only cookie", async () => {
  const { headers } = await openBrowser().get(askedFor());
  assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'.*form-action 'self'.*frame-ancestors 'none'/);
  assert.deepEqual([headers.get("x-frame-options"), headers.get("cache-control")], ["DENY", "no-store"]);
  assert.match(headers.getSetCookie().join(), /^gantry-consent=\S+; Path=\/; Max-Age=3600; HttpOnly; SameSite=Lax$/);
});

test("attack 155: a client's name is shown as bounded text next to the ASCII host that vouches for it", async () => {
  const name = `</strong><script>alert(1)</script>"'\u202Egantry\u0000\n${"x".repeat(500)}`;
  const id = host.put("/named.json", { client_name: name, logo_uri: "https://evil.example/logo.png", client_uri: "https://bank.example" });
  const { text: page } = await openBrowser().get(askedFor({ state: "<b>", scope: "groups.list" }, undefined, id));
  assert.doesNotMatch(page, /<script|<img|evil\.example|bank\.example|<b>|\u202E/);
  assert.match(page, new RegExp(`<strong>${new URL(host.url).host}</strong>`));
  assert.match(page, /It calls itself <bdi>&lt;\/strong&gt;/);
  assert.ok(page.length < 12_000, String(page.length));
  // A name of invisible characters counts as missing (attack 231).
  const blank = host.put("/blank.json", { client_name: "\u3164\u115f\u2800\ufe0f" });
  assert.doesNotMatch((await openBrowser().get(askedFor({}, undefined, blank))).text, /It calls itself|\u3164|\u2800/);
  const lookalike = await openBrowser().get(askedFor({ client_id: "https://аpple.example/client.json" }));
  assert.equal(lookalike.status, 400);
  const bound = host.put("/elsewhere.json", { redirect_uris: ["https://xn--pple-43d.example/cb"] });
  const elsewhere = await openBrowser().get(askedFor({ redirect_uri: "https://xn--pple-43d.example/cb" }, undefined, bound));
  assert.match(elsewhere.text, /goes to another host: xn--pple-43d\.example/);
});

test("attack 255: the page shows the full address of a client's document, since one host can serve many people's documents", async () => {
  for (const path of ["/people/mallory/client.json", "/people/trusted/client.json"]) {
    const id = host.put(path, { client_name: "Trusted program" });
    const { text: page } = await openBrowser().get(askedFor({}, undefined, id));
    assert.ok(page.includes(`<strong>${new URL(host.url).host}</strong><br><small>${host.url}${path}</small>`), page);
  }
});

test("attack 155: the page lists every requested permission, and the token has no more", async () => {
  const scope = `groups.list ${world.organization}`;
  const { text: page } = await openBrowser().get(askedFor({ scope, resource: `${world.url}/mcp` }));
  for (const part of ["groups.list", world.organization, `${world.url}/mcp`, "one hour at most", "a program on this computer"])
    assert.ok(page.includes(part), part);
  const { token } = await tokensFor({ scope });
  assert.deepEqual([claimsOf(token).gantry_cap, claimsOf(token).gantry_scopes], [["groups.list"], [world.organization]]);
  assert.ok(await mayUse(token));
  assert.equal((await world.call("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "more" } }, { token })).code, 7);
});

test("attack 156: a document that does not describe its own address is refused with the same error each time", async () => {
  const good = { client_id: "", client_name: "A program", redirect_uris: [clientRedirect] };
  const sent = (path: string, body: string | Buffer, type = "application/json", status = 200): string => {
    host.answers.set(path, (_, response) => void response.writeHead(status, { "content-type": type }).end(body));
    return `${host.url}${path}`;
  };
  const own = (path: string, more: object = {}): string => JSON.stringify({ ...good, client_id: `${host.url}${path}`, ...more });
  const ids = [
    host.put("/of-another.json", { client_id: client }),
    host.put("/case.json", { client_id: `${host.url}/CASE.json` }),
    host.put("/no-id.json", { client_id: undefined }),
    host.put("/list-id.json", { client_id: [`${host.url}/list-id.json`] }),
    sent("/html.json", own("/html.json"), "text/html"),
    sent("/status.json", own("/status.json"), "application/json", 404),
    sent("/array.json", "[]"),
    sent("/none.json", "nothing"),
    sent("/huge.json", own("/huge.json", { padding: "x".repeat(limits.clientDocumentBytesMax) })),
    sent("/latin.json", Buffer.from(own("/latin.json", { client_name: "é" }), "latin1")),
    `${host.url}/`,
    `${host.url}`,
    `${host.url}/client.json?x=1`,
    `${host.url}/client.json#x`,
    `${host.url}/a/../client.json`,
    `${host.url}/%2e/client.json`,
    `${host.url.replace("http:", "HTTP:")}/client.json`,
    `${host.url.replace("//", "//user@")}/client.json`,
    "ftp://example.com/client.json",
    "file:///etc/passwd",
    `https://example.com/${"x".repeat(limits.clientIdLengthMax)}`,
  ];
  const pages = new Set<string>();
  for (const id of ids) {
    const { status, text: page } = await openBrowser().get(askedFor({}, undefined, id));
    assert.equal(status, 400, id);
    pages.add(/<main>.*<\/main>/s.exec(page)?.[0] ?? "");
    world.clock.now += 2_000;
  }
  assert.equal(pages.size, 1, [...pages].join("\n"));
});

test("attack 211: a record of a public feed is never accepted as a client document of this server", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-client-"));
  const path = "/osv/npm/CLIENT-1.json";
  const answers = new Set<string>();
  for (const id of [`${world.url}${path}`, `${world.url.replace("http:", "https:")}${path}`]) {
    const affected = [{ package: { ecosystem: "npm", name: "client" }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }];
    const record = { id: "CLIENT-1", modified: "2025-01-01T00:00:00Z", affected, client_id: id, client_name: "Gantry", redirect_uris: [clientRedirect] };
    await writeFile(join(folder, "record.json"), JSON.stringify(record));
    const { failed, refused } = await runImport(world, "advisories", [join(folder, "record.json")], { public: true });
    assert.deepEqual([failed, refused], [[], []]);
    const served = await fetch(`${world.url}${path}`);
    assert.deepEqual([served.status, served.headers.get("content-type"), await served.json()], [200, "application/json", record]);
    const { status, text: page } = await openBrowser().get(askedFor({}, undefined, id));
    assert.equal(status, 400, page);
    answers.add(/<main>.*<\/main>/s.exec(page)?.[0] ?? "");
  }
  await rm(folder, { recursive: true });
  // Other spellings of this server: a trailing dot, and the other scheme's port.
  const named = await openWorld({
    GANTRY_PUBLIC_URL: "https://gantry.example.test",
    GANTRY_AUDIENCES: "https://inner.example.test,node.example.test:8443,10.1.2.3,not a host",
  });
  for (const origin of [
    "https://gantry.example.test",
    "https://gantry.example.test.",
    "http://gantry.example.test",
    "http://gantry.example.test:443",
    // The server's additional host names, on any port that leads here.
    "https://inner.example.test",
    "http://inner.example.test.:8080",
    "https://node.example.test",
    "https://node.example.test:8443",
    "http://10.1.2.3:8080",
  ]) {
    const { status, text: page } = await openBrowser().get(authorizeUrl(named, `${origin}${path}`, makeVerifier().challenge));
    assert.equal(status, 400, origin);
    answers.add(/<main>.*<\/main>/s.exec(page)?.[0] ?? "");
  }
  await named.close();
  assert.equal(answers.size, 1, [...answers].join("\n"));
  assert.match([...answers].join(), /vouches for its own pages alone/);
});

test("attack 156: a client that does not support this grant or publishes its secret is refused with the reason", async () => {
  const documents: readonly (readonly [object, RegExp])[] = [
    [{ redirect_uris: undefined }, /not a list/],
    [{ redirect_uris: [clientRedirect, 5] }, /not a list/],
    [{ redirect_uris: [] }, /has registered/],
    [{ redirect_uris: Array.from({ length: limits.clientRedirectsMax + 1 }, (_, index) => `https://a.example/${index}`) }, /too long/],
    [{ client_secret: "s" }, /secret/],
    [{ token_endpoint_auth_method: "client_secret_basic" }, /must be none/],
    [{ token_endpoint_auth_method: "private_key_jwt" }, /must be none/],
    [{ grant_types: ["urn:ietf:params:oauth:grant-type:device_code"] }, /the grant/],
    [{ response_types: ["token"] }, /response type/],
  ];
  for (const [index, [document, why]] of documents.entries()) {
    world.clock.now += 60_000 / limits.clientDocumentsPerMinute;
    const { status, text: page } = await openBrowser().get(askedFor({}, undefined, host.put(`/unfit-${index}.json`, { ...document })));
    assert.equal(status, 400, String(why));
    assert.match(page, why);
  }
});

test("attack 156: a redirect of a document is not followed", async () => {
  host.answers.set("/moved.json", (_, response) => void response.writeHead(302, { location: `${host.url}/client.json` }).end());
  const before = host.asked.length;
  assert.equal((await openBrowser().get(askedFor({}, undefined, `${host.url}/moved.json`))).status, 400);
  assert.deepEqual(host.asked.slice(before), ["/moved.json"]);
});

test("attack 156: an endless document is cut off at its time limit", async () => {
  host.answers.set("/slow.json", (_, response) => void response.writeHead(200, { "content-type": "application/json" }).write("{"));
  const [slow, quick] = [openBrowser().get(askedFor({}, undefined, `${host.url}/slow.json`)), openBrowser().get(askedFor())];
  assert.equal((await quick).status, 200);
  assert.equal((await slow).status, 400);
});

test("attack 156: documents are never fetched from the server's own network unless the operator allows it", async () => {
  const asked: string[] = [];
  const inner = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end("{}");
  });
  await new Promise<void>((done) => inner.listen(0, "127.0.0.1", done));
  const { port } = inner.address() as AddressInfo;
  const closed = await openWorld({ GANTRY_EGRESS_ALLOW: "issuer=127.0.0.0/8,sink=127.0.0.0/8,feed=127.0.0.0/8" });
  const pages = new Set<string>();
  for (const place of [
    `http://127.0.0.1:${port}`,
    `https://127.0.0.1:${port}`,
    `http://localhost:${port}`,
    "http://169.254.169.254",
    "https://[::1]",
    "http://[::ffff:127.0.0.1]",
  ]) {
    const { href } = new URL(`${place}/client.json`);
    const { status, text: page } = await openBrowser().get(authorizeUrl(closed, href, makeVerifier().challenge));
    assert.equal(status, 400, href);
    pages.add(page);
  }
  assert.deepEqual(asked, []);
  assert.equal(pages.size, 1);
  await closed.close();
  await new Promise((done) => inner.close(done));
});

test("attack 156: a document that changes before the response invalidates the consent", async () => {
  for (const change of [{ client_name: "Another program" }, { redirect_uris: ["https://evil.example/cb"] }]) {
    const id = host.put("/changing.json");
    world.clock.now += limits.clientDocumentLifetimeMs;
    const browser = openBrowser();
    const page = await browser.get(askedFor({}, undefined, id));
    assert.equal(page.status, 200);
    host.put("/changing.json", change);
    world.clock.now += limits.clientDocumentLifetimeMs;
    const answered = await answerPage(world, browser, page, "confirm");
    assert.deepEqual([answered.status, refreshOf(answered)], [400, ""]);
  }
});

test("attack 157: a token for /mcp is refused by the API, and neither exchange nor refresh widens it", async () => {
  const mcp = `${world.url}/mcp`;
  const { token, refreshToken } = await tokensFor({ resource: mcp, scope: "offline_access" });
  assert.equal(claimsOf(token).aud, mcp);
  assert.equal((await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token })).code, 16);
  assert.equal((await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token, protocol: "grpc" })).code, 16);
  const exchanged = await askForTokens(world, {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: token,
    subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
  });
  assert.deepEqual([exchanged.status, exchanged.body.access_token], [400, undefined]);
  for (const more of [{ resource: world.url }, { audience: world.url }, { resource: "https://other.example" }, { audience: "sts.example.com" }])
    assert.deepEqual(refusal(await refresh(refreshToken, more)), [400, "invalid_target"]);
  // A tool set has a path below, and counts as the same resource.
  const renewed = await refresh(refreshToken, { resource: `${mcp}/iam/write` });
  assert.equal(claimsOf(text(renewed.body, "access_token")).aud, mcp);
});

test("attack 157: an unknown resource, or two at once, is refused", async () => {
  for (const resource of [
    "https://other.example",
    `${world.url}/mcp/../v2`,
    `${world.url}/mcp?x`,
    `${world.url}/mcps`,
    `${world.url}/v2`,
    "nonsense",
    new URL(world.url).host,
  ]) {
    const { location } = await openBrowser().get(askedFor({ resource }));
    assert.equal(new URL(location).searchParams.get("error"), "invalid_target", resource);
  }
  const both = askedFor({ resource: world.url });
  both.searchParams.append("resource", `${world.url}/mcp`);
  assert.equal(new URL((await openBrowser().get(both)).location).searchParams.get("error"), "invalid_target");
});

test("attack 157: a refresh token used by another client or endpoint is revoked together with its access tokens", async () => {
  const uses: readonly ((token: string) => Promise<JsonObject>)[] = [
    async (token) => (await refresh(token, { client_id: host.put("/other.json") })).body,
    async (token) => (await refresh(token, { client_id: undefined })).body,
    async (token) => (await world.call("chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken", {}, { token })).reply,
    async (token) =>
      (await fetch(`${world.url}/v2/token`, {
        method: "POST",
        body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: token }),
      }).then((answer) => answer.json())) as JsonObject,
  ];
  for (const use of uses) {
    const { token, refreshToken } = await tokensFor({ scope: "offline_access" });
    const got = await use(refreshToken);
    assert.deepEqual([got.access_token, got.token, got.refresh_token, got.refreshToken], [undefined, undefined, undefined, undefined]);
    assert.deepEqual(refusal(await refresh(refreshToken)), [400, "invalid_grant"]);
    assert.equal(await mayUse(token), false);
  }
});

test("attack 157: a refresh yields no more than was granted, and less if requested", async () => {
  const { refreshToken } = await tokensFor({ scope: "offline_access groups.list roles.list" });
  const less = await refresh(refreshToken, { scope: "groups.list offline_access" });
  assert.deepEqual(claimsOf(text(less.body, "access_token")).gantry_cap, ["groups.list"]);
  const more = await refresh(text(less.body, "refresh_token"), { scope: "groups.list repo.list" });
  assert.deepEqual(claimsOf(text(more.body, "access_token")).gantry_cap, ["groups.list"]);
});

test("attack 158: requests without consent store nothing and contact no provider", async () => {
  const before = [await countOf("sign_ins"), await countOf("authorization_codes"), provider.requestedPaths.length];
  for (let count = 0; count < 20; count++) assert.equal((await openBrowser().get(askedFor())).status, 200);
  assert.deepEqual([await countOf("sign_ins"), await countOf("authorization_codes"), provider.requestedPaths.length], before);
});

test("attack 158: document fetches are rate-limited per address, and cached documents do not count", async () => {
  world.clock.now += 10 * 60_000;
  const from = { "x-forwarded-for": "203.0.113.9" };
  assert.equal((await fetch(askedFor(), { headers: { "x-forwarded-for": "203.0.113.8" } })).status, 200);
  const before = host.asked.length;
  const statuses: number[] = [];
  for (let count = 0; count < limits.clientDocumentsPerMinute + 5; count++)
    statuses.push((await fetch(askedFor({}, undefined, `${host.url}/made-up-${count}.json`), { headers: from })).status);
  assert.deepEqual([...new Set(statuses)], [400, 429]);
  assert.equal(host.asked.length - before, limits.clientDocumentsPerMinute);
  assert.equal((await fetch(askedFor(), { headers: from })).status, 200);
  assert.equal((await fetch(askedFor({}, undefined, `${host.url}/made-up-99.json`), { headers: { "x-forwarded-for": "203.0.113.10" } })).status, 400);
});

test("attack 158: unredeemed codes are limited per address, and an expired code frees a slot", async () => {
  const { authn } = world.server.application.services;
  const hash = authn.clientLimits.hashOf("127.0.0.1");
  const end = new Date(world.clock.now + limits.authorizationCodeLifetimeMs).toISOString();
  await asOwner(
    world.databaseUrl,
    `insert into authorization_codes (code_hash, address_hash, sealed, expire_time)
     select 'flood' || number, $1, '', $2::timestamptz from generate_series(1, ${limits.authorizationCodesPerAddressMax}) as number`,
    [hash, end],
  );
  const told = await allow(world, provider, askedFor());
  assert.deepEqual([told.get("error"), told.get("code")], ["temporarily_unavailable", null]);
  world.clock.now += limits.authorizationCodeLifetimeMs;
  assert.ok((await allow(world, provider, askedFor())).has("code"));
  world.clock.now += limits.accessTokenLifetimeMs;
  for (let count = 0; count <= limits.authorizationCodesPerAddressMax / limits.sweepRowsMax; count++) await allow(world, provider, askedFor());
  assert.deepEqual(await asOwner(world.databaseUrl, "select count(*) from authorization_codes where code_hash like 'flood%'"), [["0"]]);
});
