// The console in a real browser: its lists, its tree, sign-in and its files (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { openConsoleWorld, settled, showsText, showsTexts, type ConsoleWorld, type Watched, visit } from "../console.ts";
import { openOwners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";
import type { Page } from "./browser.ts";

let opened: ConsoleWorld;
let world: World;
let owned: World;
let team = "";

const organizationName = "first-organization";
const repoCount = 61;
const oddName = "back end 1.0";

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
  const owners = openOwners(world);
  owned = owners.world();
  const group = await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "team", description: "Payments" } });
  team = text(group, "uid");
  await owned.ok("iam.GroupsService/CreateGroup", { parent: team, group: { name: "backend" } });
  for (let number = 1; number < repoCount; number++)
    await owned.ok("registry.ReposService/CreateRepo", { parent: team, repo: { name: `app-${String(number).padStart(2, "0")}` } });
  await openPusher(world, `${organizationName}/team/app-00`, await owners.token()).image("amd64", "1.0");
});
after(() => opened?.close());
beforeEach(() => opened.browser.context.clearCookies());

const openPage = (path: string): Promise<Watched> => opened.open(path);

const heading = async (page: Page): Promise<string> => (await page.locator("h1").first().textContent()) ?? "";

test("a caller without permissions sees the ID that an administrator needs, and no name of the organization", async () => {
  const { page } = await openPage("/console");
  await opened.pasteToken(page, await opened.tokenOf("nobody"));
  await settled(page);
  await showsText(page.locator("body"), /No access to a group yet/);
  await showsText(page.locator("body"), /[0-9a-f]{40}\/[0-9a-f]{16}/);
  assert.ok(!(await page.locator("body").textContent())?.includes(organizationName));
  await page.close();
});

test("the position of a list is in the address, the total is exact, and the page's commands name the same request", async () => {
  const { page, requests } = await openPage("/console");
  await opened.pasteToken(page, await opened.tokenOf("viewer"));
  await visit(page, `/console/${organizationName}/team`);
  const repos = page.locator("section", { has: page.locator("h2", { hasText: "Repos" }) });
  await showsTexts(repos.locator(".count"), [`${repoCount} repos`]);
  assert.equal(await repos.locator("tbody tr").count(), 50);
  await repos.locator("a:has-text('Next')").click();
  await page.waitForURL(/\?repos=50$/);
  await repos.locator("text=app-60").waitFor();
  assert.equal(await repos.locator("tbody tr").count(), repoCount - 50);
  await page.goBack();
  await repos.locator("text=app-00").waitFor();
  await visit(page, `/console/${organizationName}/team?repos=1000`);
  await showsText(repos, /after the last of 61/);
  await page.click("summary:has-text('The same request')");
  const command = (await page.locator(".request .command").first().textContent()) ?? "";
  const [, shown = ""] = /'(http[^']+)'/.exec(command) ?? [];
  assert.ok(
    requests.some(({ url }) => url.href === shown),
    command,
  );
  await page.close();
});

test("a page sends at most four requests, however many rows it has", async () => {
  const { page, requests } = await openPage("/console");
  await opened.pasteToken(page, await opened.tokenOf("owner"));
  await visit(page, `/console/${organizationName}/team`);
  await settled(page);
  const before = requests.length;
  await visit(page, `/console/${organizationName}/team?repos=50`);
  const added = requests.slice(before).filter(({ url }) => !url.pathname.startsWith("/console/assets/"));
  assert.ok(added.length <= 4, added.map(({ url }) => url.pathname).join("\n"));
  await page.close();
});

test("the tree works by keyboard: arrow keys open a group, Enter goes to it, and the focus moves to the heading", async () => {
  const { page } = await openPage("/console");
  await opened.pasteToken(page, await opened.tokenOf("viewer"));
  await settled(page);
  await page.locator(".tree [role=row]").first().focus();
  await page.keyboard.press("ArrowRight");
  const row = page.locator(".tree [role=row]", { hasText: "team" });
  await row.waitFor();
  await page.keyboard.press("ArrowDown");
  await page.locator(".tree [role=row]:focus", { hasText: "team" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`${world.url}/console/${organizationName}/team`);
  await settled(page);
  await page.locator("h1:focus").waitFor();
  assert.equal(await heading(page), "team");
  await page.close();
});

test("a name that an address cannot contain is replaced by its uid", async () => {
  const { page } = await openPage("/console");
  await opened.pasteToken(page, await opened.tokenOf("viewer"));
  const uid = team.slice(team.indexOf("/") + 1);
  for (const path of [`/console/${organizationName}/${uid}`, `/console/${world.organization}/team`, `/console/${world.organization}/${uid}`]) {
    await visit(page, path);
    await page.locator("h1", { hasText: "team" }).waitFor();
  }
  const group = await owned.ok("iam.GroupsService/CreateGroup", { parent: team, group: { name: oddName } });
  await visit(page, `/console/${organizationName}/team`);
  await page.click(`main a:has-text('${text(group, "name")}')`);
  await page.locator("h1", { hasText: oddName }).waitFor();
  await page.close();
});

test("a repo's page shows the digest, the platforms and the pull command of a pushed tag", async () => {
  const { page } = await openPage("/console");
  await opened.pasteToken(page, await opened.tokenOf("viewer"));
  await visit(page, `/console/${organizationName}/team/-/repos/app-00`);
  await page.click("main a:has-text('1.0')");
  const details = page.locator(".details");
  await details.locator("dd", { hasText: "amd64" }).waitFor();
  const tags = await owned.ok("registry.TagsService/ListTags", { name: "1.0" });
  const [tag]: JsonObject[] = objectList(tags, "tags");
  const shown = (await details.textContent()) ?? "";
  assert.ok(shown.includes(`docker pull ${new URL(world.url).host}/${organizationName}/team/app-00@${text(tag ?? {}, "digest")}`), shown);
  await page.close();
});

test("a user signs in through the identity provider, returns to the same page, and stays signed in after a reload", async () => {
  const path = `/console/${organizationName}/team?repos=50`;
  const { page, problems } = await openPage(path);
  await opened.signIn(page);
  // The provider's pages load fonts.
  problems.length = 0;
  assert.equal(page.url(), world.url + path);
  await page.locator("h1", { hasText: "team" }).waitFor();
  const kept = await page.evaluate("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}, document.documentElement.outerHTML])");
  assert.doesNotMatch(String(kept), /eyJ/);
  const [cookie] = (await opened.browser.context.cookies(`${world.url}/console/session`)).filter(({ name }) => name.startsWith("gantry-console-"));
  assert.deepEqual([cookie?.httpOnly, cookie?.sameSite, cookie?.path], [true, "Strict", "/console/session"]);
  await page.reload();
  await page.locator("h1", { hasText: "team" }).waitFor();
  const second = await openPage("/console");
  await second.page.locator(".shell").waitFor();
  await second.page.click("summary[aria-label=Account]");
  await second.page.locator("text=Ada Lovelace").waitFor();
  await second.page.click("button:has-text('Sign out')");
  await Promise.all([second.page, page].map((each) => each.locator("text=You are signed out.").waitFor()));
  await page.reload();
  await page.locator("h1", { hasText: "Sign in" }).waitFor();
  assert.deepEqual(problems, []);
  await Promise.all([page.close(), second.page.close()]);
});

test("a session that ends while a page is open asks to sign in, and returns to that page", async () => {
  const path = `/console/${organizationName}/team`;
  const { page } = await openPage(path);
  await opened.signIn(page);
  await opened.browser.context.clearCookies({ path: "/console/session" });
  world.clock.now += 11 * 60 * 1000;
  await visit(page, `/console/${organizationName}`);
  await page.locator("text=Your session has ended").waitFor();
  await page.close();
});

test("an old page at a newer server offers to reload", async () => {
  const page = await opened.browser.context.newPage();
  await page.route("**/console", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace(/(<meta name="build" content=")\w+/, "$1old") });
  });
  await page.goto(`${world.url}/console`);
  await opened.pasteToken(page, await opened.tokenOf("viewer"));
  await page.locator("text=The server has a newer console.").waitFor();
  await page.close();
});

test("files are compressed and cached for good, the page is revalidated, and an unknown file is 404", async () => {
  const page = await fetch(`${world.url}/console/any/place`, { headers: { "accept-encoding": "identity" } });
  const html = await page.text();
  const tag = page.headers.get("etag") ?? "";
  assert.deepEqual([page.status, page.headers.get("cache-control"), page.headers.get("content-encoding")], [200, "no-cache", null]);
  assert.equal((await fetch(`${world.url}/console`, { headers: { "if-none-match": tag } })).status, 304);
  const [script = ""] = /\/console\/assets\/app-\w+\.js/.exec(html) ?? [];
  const bodies = new Set<string>();
  for (const [accepted, encoding] of [
    ["gzip, deflate, br", "br"],
    ["gzip", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["identity", null],
  ] as const) {
    const file = await fetch(world.url + script, { headers: { "accept-encoding": accepted } });
    assert.deepEqual([file.status, file.headers.get("content-encoding"), file.headers.get("vary")], [200, encoding, "accept-encoding"], accepted);
    assert.deepEqual(
      [file.headers.get("content-type"), file.headers.get("cache-control")],
      ["text/javascript; charset=utf-8", "public, max-age=31536000, immutable"],
    );
    bodies.add(await file.text());
  }
  assert.equal(bodies.size, 1);
  assert.equal((await fetch(`${world.url}/console/assets/app-OLD.js`)).status, 404);
});

test("GANTRY_CONSOLE=false removes the page, its session, its client and the links of the docs to it", async () => {
  const without = await openWorld({ GANTRY_CONSOLE: "false" });
  try {
    assert.equal((await fetch(`${without.url}/console`)).status, 404);
    for (const [url, links] of [
      [world.url, 2],
      [without.url, 0],
    ] as const)
      assert.equal((await (await fetch(`${url}/docs`)).text()).split('href="/console"').length - 1, links);
    const session = await fetch(`${without.url}/console/session`, {
      method: "POST",
      headers: { origin: without.url },
      body: new URLSearchParams({ do: "renew" }),
    });
    assert.equal(session.status, 404);
    const client = `${without.url}/console`;
    const parameters = {
      response_type: "code",
      client_id: client,
      redirect_uri: client,
      state: "s",
      code_challenge: "c".repeat(43),
      code_challenge_method: "S256",
    };
    assert.equal((await fetch(`${without.url}/oauth/authorize?${new URLSearchParams(parameters)}`, { redirect: "manual" })).status, 400);
  } finally {
    await without.close();
  }
});
