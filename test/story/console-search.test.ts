// Search, keys and addresses of names in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { text } from "#base/json.ts";
import { callerKinds, type ConsoleWorld, openConsoleWorld, requireAccessible, requireOperations, settled, views, visit } from "../console.ts";
import { openOwners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import type { World } from "../world.ts";
import type { Page } from "./browser.ts";

let opened: ConsoleWorld;
let owned: World;
let team = "";
let digest = "";

const organizationName = "first-organization";
const teamPath = `/console/${organizationName}/payments`;

before(async () => {
  opened = await openConsoleWorld();
  const owners = openOwners(opened.world);
  owned = owners.world();
  const parent = opened.world.organization;
  team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent, group: { name: "payments" } }), "uid");
  for (const name of ["checkout", "checkout-worker"])
    await owned.ok("registry.ReposService/CreateRepo", { parent: team, repo: { name, description: `\u202e<b>${name}</b>` } });
  ({ digest } = await openPusher(opened.world, `${organizationName}/payments/ledger`, await owners.token()).image("amd64", "release-7"));
});
after(() => opened?.close());
beforeEach(() => opened.browser.context.clearCookies());

const options = (page: Page): Promise<string[]> => page.locator(".palette [role=option]").allTextContents();

const status = (page: Page) => page.locator(".palette-status [role=status]");

test("search opens by keyboard, finds a repo by a part of its name, and Enter goes to its page", async () => {
  const { page, problems, requests } = await opened.openAs("viewer");
  await page.locator(".search-open").focus();
  await page.keyboard.press("Control+k");
  await page.locator(".palette input:focus").waitFor();
  await page.keyboard.type("heckou");
  await status(page).filter({ hasText: "2 matches" }).waitFor();
  assert.deepEqual((await options(page)).slice(0, 2), [
    `checkout${organizationName}/payments/checkoutRepo`,
    `checkout-worker${organizationName}/payments/checkout-workerRepo`,
  ]);
  const input = page.locator(".palette input");
  const first = await input.getAttribute("aria-activedescendant");
  await page.keyboard.press("ArrowDown");
  const second = await input.getAttribute("aria-activedescendant");
  assert.notEqual(first, second);
  assert.equal(await page.locator(`[id="${second}"]`).getAttribute("aria-selected"), "true");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${opened.world.url}${teamPath}/-/repos/checkout`);
  await page.locator("h1:focus", { hasText: "checkout" }).waitFor();
  assert.equal(await page.locator("dialog").count(), 0);
  assert.deepEqual(problems, []);
  requireOperations(requests);
  await page.close();
});

test("a tag is found by the start of its digest and opens in its repo, and a group by its uid", async () => {
  const { page } = await opened.openAs("viewer");
  for (const [typed, address] of [
    [digest.slice(0, 20), `${teamPath}/-/repos/ledger?tag=release-7`],
    [team, teamPath],
  ] as const) {
    await page.keyboard.press("/");
    await page.keyboard.type(typed);
    await status(page).filter({ hasText: "1 match" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(opened.world.url + address);
    await settled(page);
  }
  await page.close();
});

test("search sends nothing for fewer than three characters, and one request for a word typed at once", async () => {
  const { page, requests } = await opened.openAs("viewer");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("ch");
  await status(page).filter({ hasText: "from 3 characters on" }).waitFor();
  await page.keyboard.type("eckout", { delay: 0 });
  await status(page).filter({ hasText: "2 matches" }).waitFor();
  const queries = requests.filter(({ url }) => url.pathname === "/gantry/v1/names:search").map(({ url }) => url.searchParams.get("query"));
  assert.deepEqual(queries, ["checkout"]);
  await page.close();
});

test("Escape closes search and gives the focus back, and the pages of the place are entries", async () => {
  const { page } = await opened.openAs("owner", teamPath);
  const button = page.locator(".search-open");
  await button.click();
  await page.locator(".palette input:focus").waitFor();
  await page.keyboard.type("bindings");
  assert.ok((await options(page)).some((each) => each.startsWith("Role bindings")));
  await page.keyboard.press("Escape");
  await page.locator(".search-open:focus").waitFor();
  await button.click();
  await page.keyboard.type("role bi");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${opened.world.url}${teamPath}/-/bindings`);
  await page.close();
});

test("a caller without permissions finds no name, and a failed search says why and can be repeated", async () => {
  const { page } = await opened.openAs("nobody");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("checkout");
  await status(page).filter({ hasText: "No name that you can see contains “checkout”." }).waitFor();
  await page.route("**/gantry/v1/names:search**", (route) => route.abort());
  await page.keyboard.type("-worker");
  const problem = page.locator(".palette-problem");
  await problem.waitFor();
  await page.unroute("**/gantry/v1/names:search**");
  await problem.locator("button").click();
  await problem.waitFor({ state: "detached" });
  await page.close();
});

test("the question mark lists the keys, and keys without a modifier can be switched off", async () => {
  const { page } = await opened.openAs("viewer");
  await page.keyboard.press("?");
  await page.locator("dialog h2", { hasText: "Keyboard shortcuts" }).waitFor();
  await page.locator("dialog input[type=checkbox]").uncheck();
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("?");
  await page.keyboard.press("/");
  assert.equal(await page.locator("dialog").count(), 0);
  await page.keyboard.press("Control+k");
  await page.locator(".palette").waitFor();
  await page.evaluate("localStorage.clear()");
  await page.close();
});

test("search and the list of keys pass axe and do not scroll sideways, for each kind of caller, size and theme", async () => {
  for (const kind of callerKinds) {
    const { page, problems } = await opened.openAs(kind, kind === "nobody" ? "/console" : teamPath);
    for (const { size, colorScheme } of views) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const where = `${kind}, ${size.width} px, ${colorScheme}`;
      await page.keyboard.press("Control+k");
      await page.locator(".palette").waitFor();
      await requireAccessible(page, `search, ${where}`);
      await page.keyboard.type("checkout");
      await status(page)
        .filter({ hasText: kind === "nobody" ? "No name" : "2 matches" })
        .waitFor();
      await requireAccessible(page, `results, ${where}`);
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await page.locator(".keys").waitFor();
      await requireAccessible(page, `keys, ${where}`);
      await page.keyboard.press("Escape");
      await page.locator("dialog").waitFor({ state: "detached" });
    }
    assert.deepEqual(problems, [], kind);
    await page.close();
  }
});

test("an address of names opens a group or a repo with at most four requests besides the tree", async () => {
  const path = `${teamPath}/-/repos/checkout`;
  const { page, requests } = await opened.openAs("owner");
  await settled(page);
  for (const [address, title] of [
    [teamPath, "payments"],
    [path, "checkout"],
  ] as const) {
    const before = requests.length;
    await visit(page, address);
    await page.locator("h1", { hasText: title }).waitFor();
    await settled(page);
    const isTree = ({ searchParams }: URL): boolean => searchParams.get("pageSize") === "200";
    const sent = requests.slice(before).filter(({ url }) => !url.pathname.startsWith("/console/assets/") && !isTree(url));
    assert.ok(sent.some(({ url }) => url.pathname === "/gantry/v1/names:resolve") || address === path, "resolves the names");
    assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  }
  await page.close();
});

test("an unknown or malformed path says so, and offers a search for its last name", async () => {
  const { page } = await opened.openAs("viewer", `/console/${organizationName}/checkout`);
  await page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  await page.click("button:has-text('Search for “checkout”')");
  await status(page).filter({ hasText: "2 matches" }).waitFor();
  await page.keyboard.press("Escape");
  for (const path of [
    "0123456789abcdef",
    "UPPER/0123456789abcdef",
    `${organizationName}%2Fpayments`,
    "%00",
    "a/".repeat(100),
    `${organizationName}/payments/-/repos/UPPER`,
  ]) {
    await visit(page, `/console/${path}`);
    await page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  }
  await page.close();
});

test("a caller who sees a part of the tree opens a group by its name, and chooses if two have it", async () => {
  const parent = opened.world.organization;
  const uids: string[] = [];
  for (const name of ["north", "south"]) {
    const region = text(await owned.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }), "uid");
    uids.push(text(await owned.ok("iam.GroupsService/CreateGroup", { parent: region, group: { name: "shared" } }), "uid"));
  }
  const { page } = await opened.openAs("viewer", "/console/shared?groups=50");
  await page.locator("h1", { hasText: "Several groups have this path" }).waitFor();
  await requireAccessible(page, "choice");
  await page
    .locator("tr", { hasText: uids[1] ?? "" })
    .locator("a")
    .click();
  await page.waitForURL(`${opened.world.url}/console/${uids[1]}?groups=50`);
  await page.locator("h1", { hasText: "shared" }).waitFor();
  await visit(page, "/console/payments");
  await page.locator("h1", { hasText: "payments" }).waitFor();
  await page.close();
});
