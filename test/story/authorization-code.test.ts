// Sign-in from an unregistered client: a real client library, a real provider's pages, and a real browser for consent (decision 0050).

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  type Configuration,
  discovery,
  None,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
} from "openid-client";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { entriesOf } from "../audit.ts";
import { type ClientHost, openClientHost } from "../authorization.ts";
import { openWorld, type World } from "../world.ts";
import { type Browser, openChromium, type Page } from "./browser.ts";
import { type Program, start, stopAll } from "./processes.ts";

const secret = "a client secret that only the two know";

let world: World;
let program: Program;
let browser: Browser;
let host: ClientHost;

before(async () => {
  world = await openWorld();
  program = start(join(import.meta.dirname, "provider.ts"), [`${world.url}/oauth/callback`, secret]);
  let issuer = "";
  [[issuer], browser, host] = await Promise.all([program.says(/^http:\S+/m), openChromium(), openClientHost()]);
  const people = { ada: { name: "Ada Lovelace", email: "ada@example.com", email_verified: true } };
  await fetch(`${issuer}/people`, { method: "PUT", body: JSON.stringify(people) });
  const oidc = { issuer, clientId: "gantry", clientSecret: secret, additionalScopes: ["email", "profile"], pkceEnabled: true };
  await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
    parent: world.organization,
    identityProvider: { name: "our people", defaultRole: builtInRoleUid("viewer"), oidc },
  });
});
after(async () => {
  await browser?.close();
  await world?.close();
  await host?.close();
  program?.child.stdin?.end();
  await stopAll();
});

/** Opens a loopback redirect endpoint on a free port; the promise resolves with the callback URL. */
const openProgram = async (): Promise<{ readonly address: string; readonly told: Promise<URL> }> => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  const told = new Promise<URL>((resolve) => {
    server.on("request", (request, response) => {
      response.end("done");
      const url = new URL(request.url ?? "/", address);
      if (url.pathname !== "/callback") return;
      resolve(url);
      server.close();
      server.closeIdleConnections();
    });
  });
  return { address, told };
};

const findIssuer = (client: string, algorithm: "oidc" | "oauth2" = "oauth2"): Promise<Configuration> =>
  discovery(new URL(world.url), client, undefined, None(), { algorithm, execute: [allowInsecureRequests] });

const signIn = async (page: Page): Promise<void> => {
  await page.fill("input[name=login]", "ada");
  await page.fill("input[name=password]", "any");
  await page.click("button[type=submit]");
  await page.click("button:has-text('Continue')");
};

const screenshots = process.env.SCREENSHOTS ?? "";

const keepPicture = async (page: Page, name: string): Promise<void> => {
  if (screenshots !== "") await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
};

test("an unregistered client discovers the server, gets the user's consent and tokens for one resource, and refreshes them", async () => {
  const client = host.put("/agent/client.json", {
    client_name: "Code Agent",
    redirect_uris: ["http://127.0.0.1/callback"],
    token_endpoint_auth_method: "none",
  });
  const config = await findIssuer(client);
  const server = config.serverMetadata();
  assert.deepEqual(
    [server.code_challenge_methods_supported, server.response_types_supported, server.client_id_metadata_document_supported, server.registration_endpoint],
    [["S256"], ["code"], true, undefined],
  );
  const { address, told } = await openProgram();
  const [verifier, state] = [randomPKCECodeVerifier(), randomState()];
  const url = buildAuthorizationUrl(config, {
    redirect_uri: address,
    scope: "offline_access groups.list",
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    resource: `${world.url}/mcp`,
  });
  const page = await browser.context.newPage();
  for (const [name, width, scheme] of [
    ["wide", 1280, "light"],
    ["narrow", 360, "light"],
    ["dark", 1280, "dark"],
  ] as const) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(url.href);
    await keepPicture(page, `consent-${name}`);
    assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), `the page is wider than a window of ${width}`);
  }
  const main = (await page.locator("main").textContent()) ?? "";
  for (const part of [new URL(host.url).host, "Code Agent", "groups.list", "/mcp", "a program on this computer", "Sign in with"])
    assert.ok(main.includes(part), part);
  await page.click("button:has-text('Allow')");
  await signIn(page);
  const tokens = await authorizationCodeGrant(config, await told, { pkceCodeVerifier: verifier, expectedState: state }, { resource: `${world.url}/mcp` });
  const claims = claimsOf(tokens.access_token);
  assert.deepEqual([claims.aud, claims.gantry_cap, tokens.scope], [`${world.url}/mcp`, ["groups.list"], "groups.list offline_access"]);
  const renewed = await refreshTokenGrant(config, tokens.refresh_token ?? "", { resource: `${world.url}/mcp` });
  assert.equal(claimsOf(renewed.access_token).sub, claims.sub);
  assert.notEqual(renewed.refresh_token, tokens.refresh_token);
  const entries = (await entriesOf(world, { subjects: [String(claims.sub)] })).filter(({ type }) => type === "dev.gantry.auth.signed_in.v1");
  assert.deepEqual(
    entries.map(({ act, operation }) => [operation, text(act as JsonObject, "client_id")]),
    [
      ["/oauth/callback", client],
      ["/oauth/token", client],
    ],
  );
  await page.close();
});

test("a refusal by the user returns to the client as an error", async () => {
  const client = host.put("/refused/client.json", { redirect_uris: ["http://127.0.0.1/callback"] });
  const config = await findIssuer(client, "oidc");
  const { address, told } = await openProgram();
  const [verifier, state] = [randomPKCECodeVerifier(), randomState()];
  const code_challenge = await calculatePKCECodeChallenge(verifier);
  const page = await browser.context.newPage();
  await page.goto(buildAuthorizationUrl(config, { redirect_uri: address, state, code_challenge, code_challenge_method: "S256" }).href);
  await page.click("button:has-text('Refuse')");
  await page.waitForURL((url) => url.href.startsWith(address));
  await assert.rejects(authorizationCodeGrant(config, await told, { pkceCodeVerifier: verifier, expectedState: state }), { error: "access_denied" });
  await page.close();
});

test("the server's own docs page needs no consent, and its token is for the API", async () => {
  const config = await findIssuer(`${world.url}/docs`);
  const [verifier, state] = [randomPKCECodeVerifier(), randomState()];
  const redirect_uri = `${world.url}/docs/signed-in`;
  const code_challenge = await calculatePKCECodeChallenge(verifier);
  const page = await browser.context.newPage();
  await page.goto(buildAuthorizationUrl(config, { redirect_uri, state, code_challenge, code_challenge_method: "S256" }).href);
  await keepPicture(page, "own");
  const [request] = await Promise.all([page.waitForRequest((each) => each.url().startsWith(redirect_uri)), page.click("a:has-text('our people')")]);
  const tokens = await authorizationCodeGrant(config, new URL(request.url()), { pkceCodeVerifier: verifier, expectedState: state });
  assert.deepEqual([claimsOf(tokens.access_token).aud, tokens.refresh_token, tokens.scope], [world.url, undefined, undefined]);
  const reply = await world.ok("iam.GroupsService/GetGroup", { uid: world.organization }, { token: tokens.access_token });
  assert.equal(text(reply, "uid"), world.organization);
  await page.close();
});
