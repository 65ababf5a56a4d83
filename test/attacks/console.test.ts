// Attacks on the console's session (docs/attacks.md, 364 to 367): other sites, links, frames, stolen cookies and repeated renewals.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { builtInRoleUid } from "#authz";
import { type ConsoleWorld, openConsoleWorld } from "../console.ts";
import { openOwners } from "../owner.ts";
import type { Page } from "../story/browser.ts";
import { openWorld, type World } from "../world.ts";

let opened: ConsoleWorld;
let world: World;

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
});
after(() => opened?.close());

interface Renewed {
  readonly status: number;
  readonly body: JsonObject;
  readonly cookie: string;
}

/** Sends a request to the session endpoint as a page of this server would, unless headers say otherwise. */
const post = async (form: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}): Promise<Renewed> => {
  const response = await fetch(`${world.url}/console/session`, {
    method: "POST",
    body: new URLSearchParams(form),
    headers: { origin: world.url, ...headers },
  });
  const body = (await response.json()) as Json;
  return { status: response.status, body: isObject(body) ? body : {}, cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "" };
};

const renew = (cookie: string, headers: Readonly<Record<string, string>> = {}): Promise<Renewed> => post({ do: "renew" }, { cookie, ...headers });

const openPage = async (path = "/console"): Promise<Page> => {
  await opened.browser.context.clearCookies();
  const page = await opened.browser.context.newPage();
  await page.goto(world.url + path);
  return page;
};

/** Signs Ada in and returns her cookie. */
const signIn = async (): Promise<string> => {
  const page = await openPage();
  await opened.signIn(page);
  const cookies = await opened.browser.context.cookies(`${world.url}/console/session`);
  await page.close();
  await opened.browser.context.clearCookies();
  const cookie = cookies.find(({ name }) => name.startsWith("gantry-console-")) ?? assert.fail("no cookie");
  return `${cookie.name}=${cookie.value}`;
};

const isAccepted = async (token: string): Promise<boolean> => (await world.call("chainguard.platform.auth.Auth/Validate", {}, { token })).code === 0;

test("attack 364: only the console's own page can use its session, whatever another site or port sends", async () => {
  const cookie = await signIn();
  const others: Readonly<Record<string, string>>[] = [
    { origin: "https://evil.example.com" },
    { origin: "null" },
    { origin: world.url.replace(/\d+$/, (port) => String(Number(port) + 1)) },
    { origin: world.url.replace("127.0.0.1", "localhost") },
    { origin: world.url, "sec-fetch-site": "same-site" },
    { origin: world.url, "sec-fetch-site": "cross-site" },
    { origin: world.url, "sec-fetch-site": "none" },
  ];
  for (const headers of others)
    for (const form of [{ do: "renew" }, { do: "end" }, { do: "begin", code: "x", verifier: "y" }]) {
      const { status, body } = await post(form, { cookie, ...headers });
      assert.deepEqual([status, "token" in body], [403, false], JSON.stringify([headers, form]));
    }
  const bare = await fetch(`${world.url}/console/session`, { method: "POST", body: new URLSearchParams({ do: "renew" }), headers: { cookie } });
  assert.equal(bare.status, 403);
  assert.equal((await fetch(`${world.url}/console/session`, { headers: { cookie, origin: world.url } })).status, 405);
  assert.equal((await renew(cookie, { "sec-fetch-site": "same-origin" })).body.signedIn, true);
});

test("attack 364: the cookie is for this server's address and endpoint only, and no other value of it counts", async () => {
  const cookie = await signIn();
  const [name = "", value = ""] = cookie.split("=");
  assert.equal(name, `gantry-console-${createHash("sha256").update(world.url).digest("hex").slice(0, 12)}`);
  const wrong = [
    `${name}=`,
    `${name}=${value.slice(0, -4)}AAAA`,
    `${name}=${value}; ${name}=${value}`,
    `gantry-console-000000000000=${value}`,
    `${name}=${randomBytes(90).toString("base64url")}`,
    `${name}=${"x".repeat(20_000)}`.slice(0, 12_000),
  ];
  for (const each of wrong) assert.deepEqual((await renew(each)).body.signedIn, false, each.slice(0, 60));
  // As a cookie of another address: the session's name is another one.
  const groups = await fetch(`${world.url}/iam/v2/groups`, { headers: { cookie } });
  assert.equal(groups.status, 401);
  assert.equal((await renew(cookie)).body.signedIn, true);
  const secure = await openWorld({ GANTRY_PUBLIC_URL: "https://gantry.example.com" });
  try {
    const ended = await fetch(`${secure.url}/console/session`, {
      method: "POST",
      body: new URLSearchParams({ do: "end" }),
      headers: { origin: "https://gantry.example.com" },
    });
    assert.match(ended.headers.get("set-cookie") ?? "", /^__Host-gantry-console-[0-9a-f]{12}=; Path=\/; Max-Age=0; HttpOnly; SameSite=Strict; Secure$/);
  } finally {
    await secure.close();
  }
});

test("attack 365: a renewal repeated within 30 seconds has the same result, and a later one ends the session", async () => {
  const first = await signIn();
  const second = await renew(first);
  const token = text(second.body, "token");
  assert.ok(await isAccepted(token));
  world.clock.now += 29_000;
  const repeated = await renew(first);
  assert.equal(repeated.body.signedIn, true);
  // Both results are the session's latest token.
  const third = await renew(repeated.cookie);
  assert.equal(third.body.signedIn, true);
  assert.equal((await renew(second.cookie)).body.signedIn, true);
  const all = await Promise.all(Array.from({ length: 8 }, () => renew(third.cookie)));
  assert.deepEqual([...new Set(all.map(({ body }) => body.signedIn))], [true]);
  world.clock.now += 31_000;
  assert.equal((await renew(first)).body.signedIn, false);
  assert.equal((await renew(all[0]?.cookie ?? "")).body.signedIn, false);
  assert.equal(await isAccepted(text(all[0]?.body ?? {}, "token")), false);
});

test("attack 365: a refresh cookie that was replaced more than 30 seconds ago ends the session", async () => {
  const first = await signIn();
  const second = await renew(first);
  assert.equal(second.body.signedIn, true);
  world.clock.now += 32_000;
  assert.equal((await renew(first)).body.signedIn, false);
  assert.equal((await renew(second.cookie)).body.signedIn, false);
  assert.equal(await isAccepted(text(second.body, "token")), false);
});

test("attack 366: a link into the console begins no session: codes and states of others are dropped unread", async () => {
  const sent: string[] = [];
  for (const query of [
    "?code=abc&state=def",
    `?code=abc&state=&iss=${encodeURIComponent(world.url)}`,
    `?code=abc&state=undefined&iss=${encodeURIComponent(world.url)}`,
    "?state=a&error=access_denied&error_description=Call+0123",
  ]) {
    const page = await openPage();
    page.on("request", (request) => void (request.method() === "POST" && sent.push(request.postData() ?? "")));
    await page.goto(`${world.url}/console${query}`);
    await page.locator("h1", { hasText: "Sign in" }).waitFor();
    assert.equal(page.url(), `${world.url}/console`);
    assert.doesNotMatch((await page.locator("body").textContent()) ?? "", /0123/);
    await page.close();
  }
  assert.deepEqual([...new Set(sent)], ["do=renew"]);
});

test("attack 366: the console's client gets tokens at its own endpoint only, and returns to its own page only", async () => {
  const client = `${world.url}/console`;
  for (const form of [
    { grant_type: "authorization_code", code: "x", client_id: client, redirect_uri: client, code_verifier: "v".repeat(43) },
    { grant_type: "refresh_token", refresh_token: "x", client_id: client },
  ]) {
    const response = await fetch(`${world.url}/oauth/token`, { method: "POST", body: new URLSearchParams(form) });
    const answer = (await response.json()) as Json;
    assert.equal(isObject(answer) ? answer.error : "", "unauthorized_client");
  }
  for (const redirect of [`${client}/acme`, `${client}?x=1`, `${world.url}/docs`, "https://evil.example.com/console", `${world.url}/console/`]) {
    const parameters = {
      response_type: "code",
      client_id: client,
      redirect_uri: redirect,
      state: "s",
      code_challenge: "c".repeat(43),
      code_challenge_method: "S256",
    };
    const response = await fetch(`${world.url}/oauth/authorize?${new URLSearchParams(parameters)}`, { redirect: "manual" });
    assert.ok(response.status === 400, `${redirect}: ${response.status}`);
  }
});

test("attack 366: the access token lasts ten minutes, and signing out ends it and the cookie at once", async () => {
  const { body, cookie } = await renew(await signIn());
  // The token ends at a whole second.
  assert.ok(body.expiresIn === 600 || body.expiresIn === 599, String(body.expiresIn));
  const token = text(body, "token");
  assert.ok(await isAccepted(token));
  const ended = await post({ do: "end" }, { cookie });
  assert.deepEqual([ended.body.signedIn, ended.cookie.endsWith("=")], [false, true]);
  assert.equal(await isAccepted(token), false);
  assert.equal((await renew(cookie)).body.signedIn, false);
});

test("attack 367: the console cannot be framed, runs only its own files, and the paths of its files lead nowhere else", async () => {
  for (const path of ["/console", "/console/acme/-/identities"]) {
    const { headers } = await fetch(world.url + path);
    assert.equal(
      headers.get("content-security-policy"),
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; " +
        "frame-ancestors 'none'; require-trusted-types-for 'script'",
    );
    const names = ["cross-origin-opener-policy", "x-frame-options", "x-content-type-options", "referrer-policy", "cross-origin-resource-policy"];
    assert.deepEqual(
      names.map((name) => headers.get(name)),
      ["same-origin", "DENY", "nosniff", "no-referrer", "same-origin"],
    );
  }
  for (const name of ["nothing.js", "index.html", "..%2findex.ts", "%2e%2e%2findex.ts", "__proto__", "app.js.br", ""])
    assert.equal((await fetch(`${world.url}/console/assets/${name}`)).status, 404, name);
  const page = await openPage();
  const refused = await page.evaluate("(() => { try { document.body.innerHTML = '<b>x</b>'; return 'made'; } catch { return 'refused'; } })()");
  assert.equal(refused, "refused");
  await page.setContent(`<iframe src="${world.url}/console"></iframe>`).catch(() => undefined);
  const [, frame] = page.frames();
  assert.equal(frame === undefined ? 0 : await frame.locator("h1").count(), 0);
  await page.close();
});

test("attack 367: texts of tenants are shown as text and change no address, label or command", async () => {
  const owned = openOwners(world).world();
  const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>'; rm -rf ~ # \u202egpj.exe`;
  const parent = world.organization;
  const group = await owned.ok("iam.GroupsService/CreateGroup", { parent, group: { name: "-", description: hostile } });
  await owned.ok("registry.ReposService/CreateRepo", { parent: text(group, "uid"), repo: { name: "app", description: hostile } });
  const identity = { name: "hostile", description: hostile, claimMatch: { issuer: "https://issuer.example.com", subject: "hostile" } };
  const identityUid = text(await owned.ok("iam.IdentitiesService/CreateIdentity", { parent, identity }), "uid");
  await owned.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid("viewer") } });
  const oidc = { issuer: "https://login.example.com", clientId: hostile, pkceEnabled: true };
  const identityProvider = { name: "hostile", description: hostile, defaultRole: builtInRoleUid("viewer"), oidc };
  const providerUid = text(await owned.ok("iam.IdentityProvidersService/CreateIdentityProvider", { parent: text(group, "uid"), identityProvider }), "uid");
  const externalGroupRoleMapping = { externalGroupId: hostile, roleUid: builtInRoleUid("viewer"), scope: parent };
  await owned.ok("iam.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping", { parent: providerUid, externalGroupRoleMapping });
  const github = { appInstallations: { "42": { installations: [{ installationId: "7", name: hostile }] } } };
  const accountAssociation = { name: "hostile", description: hostile, github };
  await owned.ok("iam.AccountAssociationsService/CreateAccountAssociation", { parent: text(group, "uid"), accountAssociation });
  const page = await openPage();
  const problems: string[] = [];
  page.on("dialog", (dialog) => {
    problems.push(dialog.message());
    void dialog.dismiss();
  });
  page.on("console", (message) => void (message.type() === "error" && problems.push(message.text())));
  await opened.pasteToken(page, await opened.tokenOf("owner"));
  const groupPath = `/console/first-organization/${text(group, "uid").split("/")[1]}`;
  const providerPath = `${groupPath}/-/providers?provider=${providerUid}`;
  for (const path of [groupPath, `${groupPath}/-/repos/app`, providerPath, `${groupPath}/-/associations`]) {
    await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`);
    await page.locator("main bdi", { hasText: "<script>" }).first().waitFor();
    assert.equal(await page.locator("main img, main script, main style, [onerror], [href^=javascript]").count(), 0, path);
  }
  // The command of the form passes them on as they are.
  await page.locator("main button", { hasText: "Change" }).press("Enter");
  await page.locator("dialog .same-request summary").click();
  const command = (await page.locator("dialog .command code", { hasText: /^printf / }).textContent()) ?? "";
  const { stdout } = await promisify(execFile)("sh", ["-c", `gantry() { cat; }; ${command}`], { cwd: tmpdir() });
  const { description, github: passed }: JsonObject = JSON.parse(stdout);
  assert.deepEqual([description, passed], [hostile, github]);
  assert.deepEqual(problems, []);
  await page.close();
});
