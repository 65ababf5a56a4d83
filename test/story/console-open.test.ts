// `gantry open`: the console with the access token of the command line, after the user has agreed (docs/decisions/0050).

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { asOwner } from "../database.ts";
import { runGantry } from "../command-line.ts";
import { openConsoleWorld, requireViews, showsText, type ConsoleWorld, visit } from "../console.ts";
import type { World } from "../world.ts";

let opened: ConsoleWorld;
let world: World;

const organizationName = "first-organization";

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
});
after(() => opened?.close());
beforeEach(() => opened.browser.context.clearCookies());

const open = async (token: string): Promise<string> => {
  const { status, out, err } = await runGantry(["open", "--no-browser"], { environment: { GANTRY_SERVER: world.url, GANTRY_TOKEN: token } });
  assert.deepEqual([status, err], [0, ""]);
  return out.trim();
};

const codeIn = (address: string): string => /^http:\/\/[\d.:]+\/console#open=([\w-]{43})$/.exec(address)?.[1] ?? assert.fail(address);

const pathOf = (address: string): string => address.slice(world.url.length);

interface Answered {
  readonly status: number;
  readonly body: JsonObject;
  readonly cookie: string | null;
}

const post = async (form: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = { origin: world.url }): Promise<Answered> => {
  const response = await fetch(`${world.url}/console/session`, { method: "POST", body: new URLSearchParams(form), headers });
  return { status: response.status, body: (await response.json()) as JsonObject, cookie: response.headers.get("set-cookie") };
};

test("gantry open opens the console as the account of the command line once the user agrees, by keyboard alone", async () => {
  const address = await open(await opened.tokenOf("owner"));
  const { page, problems, requests } = await opened.open(pathOf(address));
  await page.locator("h1", { hasText: "Continue as" }).waitFor();
  assert.equal(new URL(page.url()).hash, "", "the code is not left in the address");
  await showsText(page.locator("main"), /owner of tests.*Anyone can send a link like this one/);
  await page.locator("button:has-text('Continue')").focus();
  await page.keyboard.press("Enter");
  await page.locator(".shell").waitFor();
  await visit(page, `/console/${organizationName}`);
  await page.locator("h1", { hasText: organizationName }).waitFor();
  assert.deepEqual(problems, []);
  const held = await opened.browser.context.cookies();
  assert.deepEqual(held, [], "the page gets no session of its own");
  assert.ok(requests.every(({ url }) => !url.href.includes(codeIn(address))));
  await page.reload();
  await page.locator("h1", { hasText: "Sign in" }).waitFor();
  await page.close();
});

test("the operator's link names the operator and its permissions", async () => {
  const { page } = await opened.open(pathOf(await open(await world.token())));
  await page.locator("h1", { hasText: "Continue as" }).waitFor();
  await showsText(page.locator("main"), /The operator has all permissions on this server/);
  await requireViews(page, "offer");
  await page.close();
});

test("attack 334: the link of another account changes nothing until the user agrees, and a cancel keeps the user's own session", async () => {
  const { page } = await opened.open("/console");
  await opened.signIn(page);
  const who = page.locator(".who", { hasText: "Ada Lovelace" });
  await who.waitFor({ state: "attached" });
  const stranger = await open(await opened.tokenOf("owner"));
  await page.goto(stranger);
  await page.reload();
  const another = await open(await opened.tokenOf("owner"));
  await page.evaluate(`location.hash = ${JSON.stringify(new URL(another).hash)}`);
  await page.locator("h1", { hasText: "Continue as" }).waitFor();
  await showsText(page.locator("main"), /owner of tests/);
  await page.locator("button:has-text('Cancel')").click();
  await page.locator(".shell").waitFor();
  await who.waitFor({ state: "attached" });
  await page.close();
});

test("attack 335: a code works once among concurrent requests, for a minute, and in no other place", async () => {
  const token = await opened.tokenOf("viewer");
  const offered = async (): Promise<string> => codeIn(await open(token));
  const code = await offered();
  assert.equal(text((await post({ do: "account", code })).body.account as JsonObject, "name"), "viewer of tests");
  const answers = await Promise.all(Array.from({ length: 8 }, () => post({ do: "redeem", code })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400, 400, 400, 400, 400]);
  assert.equal(answers.find(({ status }) => status === 200)?.body.token, token);
  assert.ok(answers.every(({ cookie }) => cookie === null));
  assert.equal((await post({ do: "account", code })).status, 400);
  const late = await offered();
  world.clock.now += limits.authorizationCodeLifetimeMs + 1;
  for (const wanted of ["account", "redeem"]) assert.equal((await post({ do: wanted, code: late })).status, 400);
  const elsewhere = await offered();
  assert.equal((await post({ do: "begin", code: elsewhere, verifier: "v".repeat(43) })).status, 400);
  const form = { grant_type: "authorization_code", code: elsewhere, client_id: `${world.url}/console`, redirect_uri: `${world.url}/console` };
  const granted = await fetch(`${world.url}/oauth/token`, { method: "POST", body: new URLSearchParams({ ...form, code_verifier: "v".repeat(43) }) });
  assert.equal(granted.status, 400);
  assert.equal((await post({ do: "redeem", code: elsewhere })).status, 200, "a refusal elsewhere does not end the code");
  const rows = await asOwner(world.databaseUrl, "select sealed from authorization_codes");
  assert.ok(rows.every(([sealed]) => !sealed?.includes(token)));
});

test("attack 336: only the console's own page redeems a code, and only a valid token gets one", async () => {
  const code = codeIn(await open(await opened.tokenOf("viewer")));
  for (const headers of [{}, { origin: "https://evil.example.com" }, { origin: world.url, "sec-fetch-site": "cross-site" }])
    for (const wanted of ["account", "redeem"]) {
      const { status, body } = await post({ do: wanted, code }, headers);
      assert.deepEqual([status, "token" in body, "account" in body], [403, false, false], JSON.stringify(headers));
    }
  for (const authorization of ["", "Bearer x.y.z", `Bearer ${(await opened.tokenOf("viewer")).slice(0, -4)}AAAA`])
    assert.equal((await post({ do: "offer" }, { authorization })).status, 401, authorization);
  const { status, out, err } = await runGantry(["open", "--no-browser"], { environment: { GANTRY_SERVER: world.url, GANTRY_TOKEN: "x.y.z" } });
  assert.deepEqual([status, out], [0, `${world.url}/console\n`]);
  assert.match(err, /^The page asks you to sign in: /);
});
