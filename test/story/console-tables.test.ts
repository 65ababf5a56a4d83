// Tables and forms of the console (docs/decisions/0045): news, page size, density, lost responses, forced colors.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { objectList, text } from "#base/json.ts";
import { type ConsoleWorld, openConsoleWorld, pageRequests, requireAccessible, requireOperations, requireViews, showsTexts, visit } from "../console.ts";
import { openOwners } from "../owner.ts";
import type { World } from "../world.ts";
import type { Locator, Page } from "./browser.ts";

let opened: ConsoleWorld;
let owned: World;
let team = "";

const organizationPath = "/console/first-organization";
const teamPath = `${organizationPath}/payments`;
const halfMinuteMs = 31_000;

before(async () => {
  opened = await openConsoleWorld();
  owned = openOwners(opened.world).world();
  team = await addGroup(opened.world.organization, "payments");
  // The pages count their seconds by this clock, which runs as usual between its jumps.
  await opened.browser.context.clock.install();
});
after(() => opened?.close());

const addGroup = async (parent: string, name: string): Promise<string> =>
  text(await owned.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }), "uid");

const addRepos = async (parent: string, names: readonly string[]): Promise<void> => {
  for (const name of names) await owned.ok("registry.ReposService/CreateRepo", { parent, repo: { name } });
};

/** Jumps half a minute ahead, and waits until the page has received what it asks for then. */
const waitHalfMinute = async (page: Page): Promise<void> => {
  await page.clock.fastForward(halfMinuteMs);
  await page.waitForLoadState("networkidle");
};

const show = (page: Page, visibility: "visible" | "hidden"): Promise<unknown> =>
  page.evaluate(`(() => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "${visibility}" });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  })()`);

const repoTable = (page: Page): Locator => page.locator("section.card", { hasText: "Repos" }).first();

const topOf = async (table: Locator): Promise<number | undefined> => (await table.locator("table").boundingBox())?.y;

test("a table that changes keeps its rows and its place, and shows the number of new rows with a button that loads them", async () => {
  await addRepos(team, ["m-1", "m-2"]);
  const { page, problems, requests } = await opened.openAs("owner", teamPath);
  const table = repoTable(page);
  const names = table.locator("tbody th");
  await showsTexts(names, ["m-1", "m-2"]);
  const top = await topOf(table);
  await addRepos(team, ["a-1", "a-2", "z-1"]);
  const before = requests.length;
  await waitHalfMinute(page);
  const news = table.locator("button.news");
  await news.filter({ hasText: "3 new" }).waitFor();
  assert.deepEqual(
    pageRequests(requests.slice(before)).map(({ url }) => url.searchParams.get("pageSize")),
    ["1", "1"],
    "one row of each table",
  );
  await page.locator("#announcements", { hasText: "Repos: 3 new" }).waitFor({ state: "attached" });
  await show(page, "visible");
  await page.waitForLoadState("networkidle");
  assert.deepEqual(await names.allTextContents(), ["m-1", "m-2"]);
  assert.equal(await topOf(table), top);
  await requireViews(page, "a table with news");
  await page.setViewportSize({ width: 1280, height: 800 });
  await news.focus();
  await page.keyboard.press("Enter");
  await showsTexts(names, ["a-1", "a-2", "m-1", "m-2", "z-1"]);
  await news.waitFor({ state: "detached" });
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Repos");
  const [deleted] = objectList(await owned.ok("registry.ReposService/ListRepos", { uidp: { childrenOf: team }, name: "z-1" }), "repos");
  await owned.ok("registry.ReposService/DeleteRepo", { uid: text(deleted ?? {}, "uid") });
  await waitHalfMinute(page);
  await news.filter({ hasText: "Changed" }).waitFor();
  assert.equal(await names.count(), 5);
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a hidden tab asks for nothing, and looks once for each table when it is visible again", async () => {
  const { page, requests } = await opened.openAs("owner", teamPath);
  await repoTable(page).locator("tbody tr").first().waitFor();
  await page.waitForLoadState("networkidle");
  await show(page, "hidden");
  const before = requests.length;
  for (let half = 0; half < 6; half++) await waitHalfMinute(page);
  assert.deepEqual(requests.slice(before), []);
  const looks = ["repos", "groups"].map((list) => page.waitForResponse((response) => new RegExp(`/${list}[?].*pageSize=1(?:&|$)`).test(response.url())));
  await show(page, "visible");
  await Promise.all(looks);
  assert.equal(requests.slice(before).filter(({ url }) => url.searchParams.get("pageSize") === "1").length, 2);
  assert.equal(requests.slice(before).filter(({ url }) => url.searchParams.get("pageSize") === "50").length, 0);
  await page.close();
});

test("a table has the number of rows that its address says, and the user chooses it by keyboard", async () => {
  const many = await addGroup(opened.world.organization, "many");
  const names = Array.from({ length: 120 }, (_, index) => `repo-${String(index).padStart(3, "0")}`);
  await addRepos(many, names);
  const { page, problems, requests } = await opened.openAs("viewer", `${organizationPath}/many?repos=10`);
  const table = repoTable(page);
  await showsTexts(table.locator("tbody th"), names.slice(10, 60));
  await table.getByLabel("Rows per page").focus();
  await page.keyboard.type("100");
  await showsTexts(table.locator("tbody th"), names.slice(10, 110));
  assert.equal(new URL(page.url()).searchParams.get("rows"), "100");
  await requireViews(page, "100 rows");
  await table.locator("a", { hasText: "Next" }).click();
  await showsTexts(table.locator("tbody th"), names.slice(110));
  await visit(page, `${organizationPath}/many?rows=200`);
  await showsTexts(table.locator("tbody th"), names);
  for (const rows of ["0", "51", "5000", "x"]) {
    await visit(page, `${organizationPath}/many?rows=${rows}`);
    await showsTexts(table.locator("tbody th"), names.slice(0, 50));
  }
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("the density that a user chooses makes rows lower, and the browser remembers it", async () => {
  const { page, problems } = await opened.openAs("owner", teamPath);
  const heightOn = async (each: Page): Promise<number> => (await repoTable(each).locator("tbody tr").first().boundingBox())?.height ?? 0;
  await repoTable(page).locator("tbody tr").first().waitFor();
  const comfortable = await heightOn(page);
  await page.locator("summary[aria-label=Account]").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("radio", { name: "Comfortable" }).focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.getByRole("radio", { name: "Compact" }).isChecked(), true);
  await requireViews(page, "the choice of the density");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.keyboard.press("Escape");
  const compact = await heightOn(page);
  assert.ok(compact < comfortable * 0.8 && compact >= 24, `${compact} of ${comfortable} pixels`);
  const other = await opened.openAs("owner", teamPath);
  await repoTable(other.page).locator("tbody tr").first().waitFor();
  assert.equal(await heightOn(other.page), compact);
  await requireViews(other.page, "compact rows");
  await page.evaluate("localStorage.clear()");
  assert.deepEqual(problems, []);
  await Promise.all([page.close(), other.page.close()]);
});

/** Drops the responses to the creation of a resource: the server makes the change and the page does not learn it. */
const dropAnswers = async (page: Page, path: RegExp): Promise<{ readonly keys: Set<string>; readonly stop: () => Promise<void> }> => {
  const keys = new Set<string>();
  await page.route(path, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    keys.add(route.request().headers()["idempotency-key"] ?? "");
    await route.fetch();
    return route.abort("connectionreset");
  });
  return { keys, stop: () => page.unroute(path) };
};

const rules = async (): Promise<readonly string[]> =>
  objectList(await owned.ok("gantry.registry.v1.ImmutableTagRulesService/ListImmutableTagRules", { uidp: { childrenOf: team } }), "immutableTagRules").map(
    (rule) => text(rule, "pattern"),
  );

test("a form that is sent again after a lost response makes its change once, and a changed form makes another", async () => {
  const { page } = await opened.openAs("owner", `${teamPath}/-/rules`);
  const dropped = await dropAnswers(page, /\/immutable/i);
  await page.locator("button", { hasText: "Add immutable tags" }).first().click();
  const dialog = page.locator("dialog");
  const submit = dialog.locator("button[type=submit]");
  const pattern = dialog.locator("input").first();
  await pattern.fill("v1");
  await submit.click();
  await dialog.locator("[role=alert]", { hasText: "The server did not respond." }).waitFor();
  await pattern.fill("v2");
  await submit.click();
  await dialog.locator("[role=alert]", { hasText: "The server did not respond." }).waitFor();
  assert.equal(dropped.keys.size, 2, "one key for each state of the form");
  assert.deepEqual([...(await rules())].sort(), ["v1", "v2"]);
  await dropped.stop();
  await pattern.fill("v1");
  await submit.click();
  await dialog.waitFor({ state: "detached" });
  await page.locator("tbody tr", { hasText: "v2" }).waitFor();
  assert.deepEqual([...(await rules())].sort(), ["v1", "v2"]);
  await page.close();
});

test("a form whose lost response had a secret says that the change was made, and makes no second one", async () => {
  const { page } = await opened.openAs("owner", `${teamPath}/-/invites?add=`);
  const dropped = await dropAnswers(page, /invites/i);
  const dialog = page.locator("dialog");
  await dialog.locator("input:focus").fill("viewer");
  await dialog.locator("[role=option]", { hasText: "viewer" }).first().click();
  await dialog.locator("button[type=submit]").click();
  await dialog.locator("[role=alert]", { hasText: "The server did not respond." }).waitFor();
  await dropped.stop();
  await dialog.locator("button[type=submit]").click();
  await dialog.locator("[role=alert]", { hasText: "shown only once. Undo the change" }).waitFor();
  await requireAccessible(page, "a lost secret");
  const invites = objectList(await owned.ok("iam.GroupInvitesService/ListGroupInvites", { uidp: { childrenOf: team } }), "groupInvites");
  assert.deepEqual(
    invites.map(({ roleUid }) => roleUid),
    [builtInRoleUid("viewer")],
  );
  await page.close();
});

/** Moves through the page by Tab, and returns elements that show no ring of the system's colors while they have the focus. */
const unseenFocus = async (page: Page): Promise<unknown[]> => {
  const unseen: unknown[] = [];
  for (let step = 0; step < 60; step++) {
    await page.keyboard.press("Tab");
    const shown = await page.evaluate(`(() => {
      const active = document.activeElement;
      if (active === null || active === document.body) return "end";
      const near = [active, ...active.querySelectorAll(".tree-row"), active.closest(".palette-input")];
      const styles = near.filter((each) => each !== null).map((each) => getComputedStyle(each));
      const ring = styles.find(({ outlineStyle, outlineWidth }) => outlineStyle !== "none" && parseFloat(outlineWidth) >= 2);
      return ring === undefined || ring.outlineColor === getComputedStyle(document.body).backgroundColor ? active.outerHTML.slice(0, 150) : "";
    })()`);
    if (shown === "end") return unseen;
    if (shown !== "") unseen.push(shown);
  }
  return unseen;
};

/** Returns the widths of the lines of the elements, "" for those without a line that is visible on the page's background. */
const linesOf = async (page: Page, selector: string): Promise<readonly string[]> => {
  const lines: unknown = await page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((each) => {
    const ground = getComputedStyle(document.body).backgroundColor;
    const style = getComputedStyle(each);
    const line = (width, kind, color) => (kind === "none" || color === ground ? "" : width);
    return [
      line(style.outlineWidth, style.outlineStyle, style.outlineColor),
      line(style.borderBlockEndWidth, style.borderBlockEndStyle, style.borderBlockEndColor),
    ].join(" ").trim();
  })`);
  assert.ok(Array.isArray(lines) && lines.length > 0, selector);
  return lines.map(String);
};

test("in forced colors, each focused control has a ring, and current, selected and found parts are visible", async () => {
  const { page, problems } = await opened.openAs("owner", teamPath);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, forcedColors: "active" });
    for (const path of ["", "/-/findings", "/-/audit"]) {
      const where = `${teamPath}${path}, ${colorScheme}`;
      await visit(page, teamPath + path);
      await page.waitForLoadState("networkidle");
      await page.locator("h1").focus();
      assert.deepEqual(await unseenFocus(page), [], where);
      await page.locator("h1").focus();
      for (const lines of await linesOf(page, "main nav.tabs [aria-current], .tree-row[data-current]")) assert.notEqual(lines, "", where);
      for (const lines of await linesOf(page, "main nav.tabs:not(.second) a:not([aria-current])")) assert.equal(lines, "", where);
    }
    await page.keyboard.press("Control+K");
    await page.keyboard.type("acc");
    await page.locator(".palette-entry[aria-selected=true] mark").first().waitFor();
    assert.notDeepEqual(await linesOf(page, ".palette-entry[aria-selected=true]"), [""]);
    for (const lines of await linesOf(page, ".palette-entry[aria-selected=false]")) assert.equal(lines, "");
    assert.equal(
      await page.evaluate("getComputedStyle(document.querySelector('mark')).color === getComputedStyle(document.body).backgroundColor"),
      false,
      "the part of a name that a search has found",
    );
    await page.keyboard.press("Escape");
  }
  assert.deepEqual(problems, []);
  await page.close();
});
