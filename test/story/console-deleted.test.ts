// Groups and repos that are created, changed, deleted and restored in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { objectList, text } from "#base/json.ts";
import { type ConsoleWorld, openConsoleWorld, requireAccessible, requireOperations, requireViews, showsText, showsValue, visit } from "../console.ts";
import { openOwners } from "../owner.ts";
import type { World } from "../world.ts";

let opened: ConsoleWorld;
let world: World;
let owned: World;
let repo = "";

const organizationPath = "/console/first-organization";
const deletedPath = `${organizationPath}/payments/-/deleted`;

/** The browser reports refused requests, which these tests provoke. */
const unexpected = (problems: readonly string[]): string[] => problems.filter((each) => !/status of 4(?:00|12)/.test(each));

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
  owned = openOwners(world).world();
  const team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "payments" } }), "uid");
  repo = text(await owned.ok("registry.ReposService/CreateRepo", { parent: team, repo: { name: "app" } }), "uid");
  await owned.ok("registry.ReposService/DeleteRepo", { uid: repo });
});
after(() => opened?.close());

test("a viewer sees no way to bring a resource back, and the page passes axe for each size and theme", async () => {
  const { page, problems } = await opened.openAs("owner", deletedPath);
  await page.locator("tbody tr", { hasText: "app" }).waitFor();
  await requireViews(page, "deletions");
  assert.deepEqual(problems, []);
  await page.close();
  const viewer = await opened.openAs("viewer", deletedPath);
  await viewer.page.locator("main", { hasText: /gantry\.deletions\.(?:list|undelete)/ }).waitFor();
  assert.equal(await viewer.page.locator(".action").count(), 0);
  await viewer.page.close();
});

test("a deleted repo is brought back by keyboard alone, after a confirmation", async () => {
  const { page, problems, requests } = await opened.openAs("owner", deletedPath);
  await page.locator("button[aria-label='Bring app back']").focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("summary", { hasText: "The same request" }).click();
  await showsText(dialog.locator(".command code").nth(1), /^gantry deletions undelete [0-9a-f/]+$/);
  await requireAccessible(page, "confirmation");
  await dialog.locator("button.primary").focus();
  await page.keyboard.press("Enter");
  await page.locator(".empty", { hasText: "Nothing to bring back" }).waitFor();
  assert.equal((await owned.ok("registry.ReposService/GetRepo", { uid: repo })).name, "app");
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a group is created by keyboard alone, and its name and description are changed without overwriting another change", async () => {
  const { page, problems, requests } = await opened.openAs("owner", organizationPath);
  await page.locator("button", { hasText: "New group" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("input:focus").waitFor();
  await page.keyboard.type("Shop!");
  await page.keyboard.press("Enter");
  await dialog.locator(".problem").waitFor();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type("shop");
  await requireAccessible(page, "a new group");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${world.url}${organizationPath}/shop`);
  await page.locator("h1", { hasText: "shop" }).waitFor();
  await page.locator(".empty", { hasText: "“New group” creates one" }).waitFor();
  await page.locator(".tree [role=row]", { hasText: "shop" }).waitFor();

  await page.keyboard.press("Control+K");
  await page.keyboard.type("edit the group");
  await page.locator(".palette [role=option]", { hasText: "Edit the group" }).waitFor();
  await page.keyboard.press("Enter");
  const [name, description] = [dialog.getByLabel("Name"), dialog.getByLabel("Description (optional)")];
  await showsValue(name, "shop");
  await name.fill("store");
  await dialog.locator(".about", { hasText: "Pulls by the earlier name fail" }).waitFor();
  await description.fill("ours");
  await dialog.locator("summary", { hasText: "The same request" }).click();
  const groups = await owned.ok("iam.GroupsService/ListGroups", { name: "shop" });
  const uid = text(objectList(groups, "groups")[0] ?? {}, "uid");
  await dialog.locator(".command code").getByText(`gantry iam groups update ${uid} --name store --description ours`, { exact: true }).waitFor();
  // Meanwhile, somebody else describes the group.
  await owned.ok("iam.GroupsService/UpdateGroup", { group: { uid, description: "theirs" }, updateMask: "description" });
  await description.press("Enter");
  const conflict = dialog.locator(".conflict");
  await conflict.locator("tr", { hasText: "Description" }).filter({ hasText: "ours" }).filter({ hasText: "theirs" }).waitFor();
  await requireAccessible(page, "a group that has changed meanwhile");
  const stored = async (): Promise<unknown[]> => {
    const group = await owned.ok("iam.GroupsService/GetGroup", { uid });
    return [group.name, group.description];
  };
  assert.deepEqual(await stored(), ["shop", "theirs"]);
  await conflict.getByText("Keep mine").press("Enter");
  await conflict.waitFor({ state: "detached" });
  await dialog.locator("button[type=submit]").press("Enter");
  await page.waitForURL(`${world.url}${organizationPath}/store`);
  await page.locator("h1", { hasText: "store" }).waitFor();
  await page.locator(".lead", { hasText: "ours" }).waitFor();
  assert.deepEqual(await stored(), ["store", "ours"]);
  await requireViews(page, "an empty group");

  await page.locator(".heading button", { hasText: "Delete" }).press("Enter");
  await dialog.locator("p", { hasText: "role bindings, invites and webhook subscriptions are deleted along" }).waitFor();
  await requireAccessible(page, "deleting a group");
  await dialog.locator("button.danger").press("Enter");
  await page.waitForURL(world.url + organizationPath);
  const row = page.locator("main tbody tr", { hasText: "store" });
  await page.locator(".banner button:focus", { hasText: "Undo" }).waitFor();
  assert.equal(await row.count(), 0);
  await page.keyboard.press("Enter");
  await row.waitFor();
  assert.deepEqual(await stored(), ["store", "ours"]);

  // A group with content names it, and stays.
  await visit(page, `${organizationPath}/payments?do=delete`);
  await dialog.locator("p", { hasText: "It still has 1 repo. Delete them first." }).waitFor();
  await dialog.locator("button.danger").click();
  await dialog.locator("[role=alert]").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("main a", { hasText: "app" }).waitFor();
  requireOperations(requests);
  assert.deepEqual(unexpected(problems), []);
  await page.close();
});

test("a repo is created, described and deleted, and its readme is text that is never run", async () => {
  const { page, problems, requests } = await opened.openAs("owner", `${organizationPath}/payments?do=new-repo`);
  const dialog = page.locator("dialog");
  await dialog.getByLabel("Name").fill("web");
  await dialog.locator("button[type=submit]").click();
  await page.waitForURL(`${world.url}${organizationPath}/payments/-/repos/web`);
  await page.locator(".empty", { hasText: "No tags yet" }).waitFor();
  const uid = text(objectList(await owned.ok("registry.ReposService/ListRepos", { name: "web" }), "repos")[0] ?? {}, "uid");

  await page.locator(".heading button", { hasText: "Edit" }).click();
  await dialog.getByLabel("Name").fill("site");
  await dialog.getByLabel("Description (optional)").fill("<b>the shop</b>");
  await dialog.getByLabel("Allow pulls without a token").check();
  await dialog.locator("summary", { hasText: "Catalog" }).click();
  await dialog.getByLabel("Tier").selectOption("Base image");
  await dialog.getByLabel("Aliases").fill("docker.io/library/web:1 ,ghcr.io/web:2");
  await requireAccessible(page, "editing a repo");
  await dialog.locator("button[type=submit]").click();
  await page.waitForURL(`${world.url}${organizationPath}/payments/-/repos/site`);
  await page.locator(".lead", { hasText: "<b>the shop</b>" }).waitFor();
  await page.locator(".badge", { hasText: "Anonymous pull" }).waitFor();
  const stored = await owned.ok("registry.ReposService/GetRepo", { uid });
  assert.deepEqual(
    [stored.name, stored.description, stored.anonymousPull, stored.catalogTier, stored.aliases],
    ["site", "<b>the shop</b>", true, "CATALOG_TIER_BASE", ["docker.io/library/web:1", "ghcr.io/web:2"]],
  );

  await page.locator(".heading button", { hasText: "Readme" }).click();
  const readme = dialog.getByLabel("Readme");
  await readme.fill("<script>alert(1)</script>");
  await dialog.locator("button[type=submit]").click();
  await dialog.locator(".problem, [role=alert]").first().waitFor();
  await readme.fill("# Shop\n\nThe *front* end.");
  await requireAccessible(page, "editing a readme");
  await dialog.locator("button[type=submit]").click();
  await dialog.waitFor({ state: "detached" });
  await page.locator(".heading button", { hasText: "Readme" }).click();
  await showsValue(readme, "# Shop\n\nThe *front* end.");
  await page.keyboard.press("Escape");
  assert.equal((await owned.ok("registry.ReposService/GetRepoReadme", { uid })).content, "# Shop\n\nThe *front* end.");
  await requireViews(page, "a repo");

  await page.locator(".heading button", { hasText: "Delete" }).click();
  await dialog.locator("p", { hasText: "Its 0 tags, images and their history are deleted along" }).waitFor();
  await dialog.locator("button.danger").click();
  await page.waitForURL(`${world.url}${organizationPath}/payments`);
  await page.locator(".banner button:focus", { hasText: "Undo" }).press("Enter");
  await page.locator("main tbody tr", { hasText: "site" }).waitFor();
  assert.equal((await owned.ok("registry.ReposService/GetRepo", { uid })).name, "site");
  requireOperations(requests);
  assert.deepEqual(unexpected(problems), []);
  await page.close();
});

test("a viewer sees the missing permissions, and neither the page, its address nor the search opens a form", async () => {
  const { page, problems } = await opened.openAs("viewer", `${organizationPath}/payments?do=new-group`);
  await page.locator("main p", { hasText: "you need groups.create, groups.update, groups.delete, and repo.create" }).waitFor();
  await page.locator("main tbody tr", { hasText: "app" }).waitFor();
  assert.equal(await page.locator("main button", { hasText: /New|Edit|Delete/ }).count(), 0);
  await page.keyboard.press("Control+K");
  await page.keyboard.type("the group");
  await page.locator(".palette-status", { hasText: "No name" }).waitFor();
  assert.equal(await page.locator(".palette [role=option]").count(), 0);
  await page.keyboard.press("Escape");
  await visit(page, `${organizationPath}/payments/-/repos/app?do=delete`);
  await page.locator("main p", { hasText: "you need repo.update, repo.delete, tag.update, and tag.delete" }).waitFor();
  assert.equal(await page.locator("dialog, .heading-actions button", { hasNotText: "Readme" }).count(), 0);
  await visit(page, `${organizationPath}/payments/-/repos/site`);
  await page.locator(".heading button", { hasText: "Readme" }).click();
  await page.locator("dialog .readme", { hasText: "The *front* end." }).waitFor();
  await requireAccessible(page, "reading a readme");
  assert.equal(await page.locator("dialog textarea, dialog button[type=submit]").count(), 0);
  assert.deepEqual(problems, []);
  await page.close();
});
