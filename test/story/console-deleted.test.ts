// Deleted resources in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { openConsoleWorld, requireAccessible, requireOperations, settled, showsText, type ConsoleWorld, views } from "../console.ts";
import { openOwners } from "../owner.ts";
import type { World } from "../world.ts";

let opened: ConsoleWorld;
let world: World;
let owned: World;
let repo = "";

const deletedPath = "/console/first-organization/payments/-/deleted";

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
  for (const { size, colorScheme } of views) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await settled(page);
    await requireAccessible(page, `${size.width} px, ${colorScheme}`);
  }
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
