// Sign-ins of the public SDK's clients (shared/spec: authentication.md, v1-clients.md), from the client's first request to a request that the API
// accepts.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { isObject, type Json, type JsonObject, part, text } from "#base/json.ts";
import { decryptSession } from "../../cli/login/headless.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { answerLoopbackPage, callbackUrl, type FakeProvider, openBrowser, openProvider, registerProvider, signIn } from "../provider.ts";
import { confirmAs, poll, requestDeviceCodes } from "../terminal.ts";
import { openWorld, type World } from "../world.ts";

const organizationName = "people.example";
const ada = { sub: "ada", name: "Ada", email: "ada@people.example", email_verified: true };

let world: World;
let provider: FakeProvider;
/** The two values of `idp_id` that the SDK sends: a provider's UID, and a verified organization's name. */
let waysIn: readonly string[];

before(async () => {
  world = await openWorld();
  provider = await openProvider(() => world.clock.now);
  const group = { name: organizationName, verified: true, kind: "ORG_KIND_CUSTOMER" };
  const parent = text(await world.ok("iam.GroupsService/CreateGroup", { group }), "uid");
  waysIn = [await registerProvider(world, provider, { parent }), organizationName];
});
after(async () => {
  await world?.close();
  await provider?.close();
});

const accepts = async (token: string, protocol: "rest" | "grpc" = "rest"): Promise<boolean> =>
  (await world.call("iam.GroupsService/ListGroups", {}, { token, protocol })).code === 0;

/** Starts the SDK's loopback server; it records the queries of /callback. */
const listen = async (): Promise<{ readonly redirect: string; readonly received: URLSearchParams[]; close(): void }> => {
  const received: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    received.push(new URL(request.url ?? "/", "http://localhost").searchParams);
    response.writeHead(308, { location: "/" }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { redirect: `http://localhost:${port}/callback?token=true&error=true`, received, close: () => server.close() };
};

/** Opens the SDK's address, signs in, and presses a button on the last page; returns the query that the SDK receives. */
const signInByBrowser = async (
  idp: string,
  more: Readonly<Record<string, string>> = {},
  answer: "continue" | "cancel" = "continue",
): Promise<Record<string, string>> => {
  const program = await listen();
  const browser = openBrowser();
  const parameters = { exit: "redirect", redirect: program.redirect, idp_id: idp, audience: world.url, ...more };
  const begun = await browser.get(`${world.url}/oauth?${new URLSearchParams(parameters)}`);
  const question = new URL(begun.location);
  const shown = await browser.get(callbackUrl(provider, question, provider.vouch(question, ada)));
  const { location } = await answerLoopbackPage(world, browser, shown, answer);
  await browser.get(location);
  program.close();
  assert.equal(program.received.length, 1);
  return Object.fromEntries(program.received[0] ?? []);
};

for (const [index, how] of ["an identity provider's uid", "a verified organization's name"].entries())
  test(`a sign-in by ${how} returns tokens to the SDK's port without its placeholders`, async () => {
    const idp = waysIn[index] ?? "";
    const { token = "", ...others } = await signInByBrowser(idp);
    assert.deepEqual([others, claimsOf(token).aud, await accepts(token), await accepts(token, "grpc")], [{}, world.url, true, true]);
    const withRefresh = await signInByBrowser(idp, { create_refresh_token: "true" });
    assert.deepEqual(Object.keys(withRefresh).sort(), ["refresh_token", "token"]);
  });

test("the SDK receives Cancel as an error with status 403, and an unregistered user as 404", async () => {
  const [idp = ""] = waysIn;
  assert.deepEqual(await signInByBrowser(idp, {}, "cancel"), { error: "the user cancelled the sign-in", status_code: "403" });
  const stranger = { ...ada, sub: "stranger" };
  const browser = openBrowser();
  const parameters = { exit: "redirect", redirect: "http://localhost:9/callback?token=true&error=true", idp_id: idp, skip_registration: "true" };
  const question = new URL((await browser.get(`${world.url}/oauth?${new URLSearchParams(parameters)}`)).location);
  const { location } = await browser.get(callbackUrl(provider, question, provider.vouch(question, stranger)));
  assert.deepEqual(Object.fromEntries(new URL(location).searchParams), { error: "account not found, registration required", status_code: "404" });
});

test("a refresh token is exchanged over gRPC and HTTP/1, and the response has no field unknown to the SDK", async () => {
  const [idp = ""] = waysIn;
  const { refresh_token: first = "" } = await signInByBrowser(idp, { create_refresh_token: "true" });
  const overGrpc = await world.call(
    "chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken",
    { aud: [world.url] },
    { token: first, protocol: "grpc" },
  );
  assert.equal(overGrpc.code, 0, overGrpc.message);
  const second = text(part(overGrpc.reply, "refreshToken"), "token");
  assert.ok(await accepts(text(part(overGrpc.reply, "token"), "token"), "grpc"));
  const response = await fetch(`${world.url}/sts/exchange_refresh_token`, {
    method: "POST",
    headers: { authorization: `Bearer ${second}` },
    body: new URLSearchParams({ aud: world.url }),
  });
  const body = (await response.json()) as Json;
  assert.ok(response.status === 200 && isObject(body), JSON.stringify(body));
  assert.deepEqual(Object.keys(body).sort(), ["refreshToken", "token"]);
  const known = new Set(["token", "expiry", "access_token", "accessToken"]);
  for (const name of ["token", "refreshToken"])
    assert.deepEqual(
      Object.keys(part(body, name)).filter((key) => !known.has(key)),
      [],
      name,
    );
  assert.ok(await accepts(text(part(body, "token"), "token")));
});

test("a headless sign-in by a provider's UID or a verified organization's name yields a token that only its key decrypts", async () => {
  for (const idp of waysIn) {
    const { privateKey, publicKey } = generateKeyPairSync("x25519");
    const code = publicKey.export({ format: "jwk" }).x ?? "";
    await confirmAs(world, provider, `${world.url}/oauth?${new URLSearchParams({ headless_code: code, idp_id: idp })}`, ada);
    const response = await fetch(`${world.url}/sts/headless_sessions?${new URLSearchParams({ code })}`);
    assert.equal(response.status, 200);
    assert.ok(await accepts(decryptSession((await response.json()) as JsonObject, privateKey)), idp);
  }
});

test("a device sign-in follows discovery and yields an ID token for the client", async () => {
  const discovery = (await (await fetch(`${world.url}/.well-known/openid-configuration`)).json()) as JsonObject;
  assert.deepEqual(
    [text(discovery, "issuer"), text(discovery, "device_authorization_endpoint"), text(discovery, "token_endpoint")],
    [world.url, `${world.url}/oauth/device_authorization`, `${world.url}/oauth/token`],
  );
  const codes = await requestDeviceCodes(world, { scope: "openid email" });
  await confirmAs(world, provider, codes.page, ada, { idp_id: organizationName });
  const { status, body } = await poll(world, codes);
  const { aud } = claimsOf(text(body, "id_token"));
  assert.ok(status === 200 && Array.isArray(aud) && aud.includes("terminal"), JSON.stringify(body));
  assert.ok(await accepts(text(body, "access_token")));
});

test("a first sign-in through a provider without a default role creates the identity without a role binding", async () => {
  const made = await world.ok("chainguard.platform.iam.IdentityProviders/Create", {
    parentId: world.organization,
    identityProvider: { name: "without a role", oidc: { issuer: provider.url, clientId: "gantry-client", clientSecret: provider.clientSecret } },
  });
  const { token, error } = await signIn(world, provider, text(made, "id"), { sub: "grace" });
  assert.equal(error, "");
  const { sub } = claimsOf(token);
  assert.equal(typeof sub, "string");
  const bindings = await world.ok("iam.RoleBindingsService/ListRoleBindings", { uidp: { descendantsOf: world.organization } });
  assert.ok(!JSON.stringify(bindings).includes(String(sub)));
  const { reply } = await world.call("iam.GroupsService/ListGroups", {}, { token });
  assert.deepEqual(reply.groups ?? [], []);
});
