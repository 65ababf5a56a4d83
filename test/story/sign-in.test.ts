// Browser sign-in with a real browser and provider, for a command line that listens on a port of the same machine (authentication.md: 7).

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, part, text } from "#base/json.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { openWorld, type World } from "../world.ts";
import { type Browser, openChromium, type Page } from "./browser.ts";
import { type Program, start, stopAll } from "./processes.ts";

const secret = "a client secret that only the two know";

let world: World;
let program: Program;
let issuer: string;
let idp: string;
let browser: Browser;

before(async () => {
  world = await openWorld();
  program = start(join(import.meta.dirname, "provider.ts"), [`${world.url}/oauth/callback`, secret]);
  [[issuer], browser] = await Promise.all([program.says(/^http:\S+/m), openChromium()]);
  const people = {
    ada: { name: "Ada Lovelace", email: "ada@example.com", email_verified: true, groups: ["engines"] },
    grace: { name: "Grace Hopper", email: "grace@example.com", email_verified: false },
  };
  await fetch(`${issuer}/people`, { method: "PUT", body: JSON.stringify(people) });
  const oidc = { issuer, clientId: "gantry", clientSecret: secret, additionalScopes: ["email", "profile", "groups"], groupsClaim: "groups", pkceEnabled: true };
  const made = await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
    parent: world.organization,
    identityProvider: { name: "our people", defaultRole: builtInRoleUid("viewer"), oidc },
  });
  idp = text(made, "uid");
});
after(async () => {
  await browser?.close();
  await world?.close();
  program?.child.stdin?.end();
  await stopAll();
});

/** Starts the command line's loopback server, which resolves with the first query. */
const waitForTokens = async (): Promise<{ readonly address: string; readonly told: Promise<URLSearchParams> }> => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const told = new Promise<URLSearchParams>((resolve) => {
    server.on("request", (request, response) => {
      response.end("done");
      const { pathname, searchParams } = new URL(request.url ?? "/", address);
      if (pathname !== "/callback") return;
      resolve(searchParams);
      server.close();
      server.closeIdleConnections();
    });
  });
  return { address: `${address}callback?token=true&error=true`, told };
};

const begin = (redirect: string, more: Readonly<Record<string, string>> = {}): string =>
  `${world.url}/oauth?${new URLSearchParams({ exit: "redirect", idp_id: idp, ...(redirect ? { redirect } : {}), ...more })}`;

const signInAs = async (name: string, address: string): Promise<Page> => {
  const page = await browser.context.newPage();
  await page.goto(address, { waitUntil: "commit" });
  await page.fill("input[name=login]", name);
  await page.fill("input[name=password]", "any");
  await page.click("button[type=submit]");
  await page.click("button:has-text('Continue')");
  await continueAtLoopback(page);
  return page;
};

/** Presses Continue on the server's last page, if the sign-in gets that far. */
const continueAtLoopback = async (page: Page): Promise<void> => {
  const button = page.locator("form[action='/oauth/loopback'] button:has-text('Continue')");
  await button
    .or(page.getByText("done", { exact: true }))
    .first()
    .waitFor();
  if (await button.isVisible()) await button.click();
};

const signInAgain = async (address: string): Promise<void> => {
  const page = await browser.context.newPage();
  await page.goto(address, { waitUntil: "commit" });
  await continueAtLoopback(page);
};

const bindingsOf = async (identityUid: string): Promise<JsonObject[]> => {
  const { roleBindings } = await world.ok("iam.RoleBindingsService/ListRoleBindings", {});
  return (roleBindings as JsonObject[]).filter((binding) => text(part(binding, "identity"), "uid") === identityUid);
};

const arrivals = async () => (await world.events()).filter(({ type }) => type === "dev.chainguard.api.auth.registered.v1");

let ada: string;

test("an unknown user signs in with a browser, gets the provider's default role, and can use the API", async () => {
  const { address, told } = await waitForTokens();
  await signInAs("ada", begin(address, { create_refresh_token: "true" }));
  const query = await told;
  assert.deepEqual([...query.keys()].sort(), ["refresh_token", "token"]);
  const token = query.get("token") ?? "";
  const claims = claimsOf(token);
  ada = String(claims.sub);
  assert.equal(ada, text(await world.ok("iam.IdentitiesService/LookupIdentity", { issuer, subject: "ada" }), "uid"));
  assert.deepEqual(
    [claims.email, part(claims, "act"), claims.aud],
    ["ada@example.com", { iss: issuer, sub: "ada", aud: "gantry", email: "ada@example.com" }, world.url],
  );
  const identity = await world.ok("iam.IdentitiesService/GetIdentity", { uid: ada }, { token });
  assert.equal(identity.email, "ada@example.com");
  const bindings = await bindingsOf(ada);
  assert.deepEqual(
    bindings.map(({ uid, role }) => [String(uid).slice(0, -17), text(part({ role: role ?? {} }, "role"), "uid")]),
    [[world.organization, builtInRoleUid("viewer")]],
  );
  for (const protocol of ["rest", "grpc"] as const)
    assert.equal((await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token, protocol })).code, 0);
  const [arrival, ...more] = await arrivals();
  assert.deepEqual([arrival?.subject, arrival?.group, arrival?.actor, more.length], [ada, world.organization, ada, 0]);
});

test("a second sign-in creates nothing, and the provider recognizes the browser", async () => {
  const { address, told } = await waitForTokens();
  await signInAgain(begin(address));
  const token = (await told).get("token") ?? "";
  assert.equal(claimsOf(token).sub, ada);
  assert.equal((await bindingsOf(ada)).length, 1);
  assert.equal((await arrivals()).length, 1);
});

test("a default role that an owner removed does not return with the next sign-in", async () => {
  const [binding] = await bindingsOf(ada);
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: text(binding ?? {}, "uid") });
  const { address, told } = await waitForTokens();
  await signInAgain(begin(address));
  await told;
  assert.deepEqual(await bindingsOf(ada), []);
});

test("the provider's groups grant their mapped role for this sign-in, without a refresh token", async () => {
  const mapping = await world.ok("iam.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping", {
    parent: idp,
    externalGroupRoleMapping: { externalGroupId: "engines", roleUid: builtInRoleUid("viewer"), scope: world.organization },
  });
  const { address, told } = await waitForTokens();
  await signInAgain(begin(address, { create_refresh_token: "true" }));
  const query = await told;
  const token = query.get("token") ?? "";
  assert.equal(query.get("refresh_token"), null);
  assert.equal((await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token })).code, 0);
  await world.ok("iam.ExternalGroupRoleMappingsService/DeleteExternalGroupRoleMapping", { uid: text(mapping, "uid") });
  assert.equal((await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token })).code, 7);
});

test("without a redirect a page shows the user's identity and loads nothing from other hosts", async () => {
  const page = await browser.context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  await page.goto(begin(""));
  assert.equal(await page.textContent("h1"), "Signed in");
  const shown = (await page.textContent("main")) ?? "";
  assert.match(shown, /Signed in as ?Ada Lovelace ?ada@example\.com ?through 127\.0\.0\.1:/);
  assert.ok(!shown.includes(ada), "a uid is for programs");
  assert.equal(await page.evaluate("getComputedStyle(document.querySelector('h1')).fontSize"), "22.4px", "the page's style is not applied");
  assert.deepEqual(complaints, []);
});

test("an unverified address is ignored", async () => {
  await browser.context.clearCookies();
  const { address, told } = await waitForTokens();
  await signInAs("grace", begin(address));
  const claims = claimsOf((await told).get("token") ?? "");
  assert.equal(claims.email, undefined);
  assert.equal(part(claims, "act").email, undefined);
});

test("an unknown user with registration disabled gets 404, account not found", async () => {
  await browser.context.clearCookies();
  await fetch(`${issuer}/people`, { method: "PUT", body: JSON.stringify({ stranger: {} }) });
  const { address, told } = await waitForTokens();
  await signInAs("stranger", begin(address, { skip_registration: "true" }));
  const query = await told;
  assert.deepEqual([query.get("status_code"), query.get("error"), query.get("token")], ["404", "account not found, registration required", null]);
});

test("a user who cancels on the provider's page gets the error where the sign-in began", async () => {
  await browser.context.clearCookies();
  const { address, told } = await waitForTokens();
  const page = await browser.context.newPage();
  await page.goto(begin(address), { waitUntil: "commit" });
  await page.click("a:has-text('Cancel')");
  const query = await told;
  assert.deepEqual([query.get("status_code"), query.get("error")], ["403", "the identity provider did not sign you in: access_denied"]);
});

test("a callback of a sign-in from another browser shows a page with instructions", async () => {
  const page = await browser.context.newPage();
  const response = await page.goto(`${world.url}/oauth/callback/${idp}?code=x&state=y`);
  assert.equal(response?.status(), 400);
  assert.match((await page.textContent("main")) ?? "", /Start it again/);
});
