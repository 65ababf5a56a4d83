// Recorded events in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { type ConsoleWorld, openConsoleWorld, pageRequests, requireOperations, requireViews, visit } from "../console.ts";
import { openOwners } from "../owner.ts";
import type { World } from "../world.ts";

let opened: ConsoleWorld;
let world: World;
let team = "";
let robot = "";

const organizationPath = "/console/first-organization";
const eventsPath = `${organizationPath}/payments/-/events`;

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
  const owned = openOwners(world).world();
  team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "payments" } }), "uid");
  const claimMatch = { issuer: "https://issuer.example.com", subject: "robot" };
  const description = "<img src=x onerror=alert(1)>";
  robot = text(await owned.ok("iam.IdentitiesService/CreateIdentity", { parent: team, identity: { name: "release-robot", description, claimMatch } }), "uid");
  const repo = await owned.ok("registry.ReposService/CreateRepo", { parent: team, repo: { name: "app" } });
  await owned.ok("registry.ReposService/DeleteRepo", { uid: text(repo, "uid") });
  await world.server.delivery.finish();
});
after(() => opened?.close());

test("events are sentences, newest first, with the caller's name, in at most four requests", async () => {
  const { page, problems, requests } = await opened.openAs("owner", `${organizationPath}/payments`);
  const before = requests.length;
  await visit(page, eventsPath);
  const rows = page.locator("tbody tr");
  await rows
    .nth(0)
    .filter({ hasText: /^Repo.*deleted.*owner/ })
    .waitFor();
  await rows
    .nth(1)
    .filter({ hasText: /^Repo app created/ })
    .waitFor();
  await rows
    .nth(2)
    .filter({ hasText: /^Identity release-robot created/ })
    .waitFor();
  const sent = pageRequests(requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  await page.locator("section.card header a", { hasText: "Subscriptions and deliveries" }).click();
  await page.waitForURL((url) => url.pathname.endsWith("/payments/-/webhooks"));
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a type is chosen by keyboard alone and is in the address, like the open event with its JSON", async () => {
  const { page, problems } = await opened.openAs("owner", eventsPath);
  await page.locator("tbody tr", { hasText: "release-robot" }).waitFor();
  const field = page.locator(".search-form input");
  await field.focus();
  await page.keyboard.type("nothing");
  await page.keyboard.press("Enter");
  await page.locator(".problem", { hasText: "Choose a type" }).waitFor();
  await field.fill("");
  await page.keyboard.type("identity.cre");
  await page.locator("[role=option]", { hasText: "iam.identity.created" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("type") === "dev.chainguard.api.iam.identity.created.v1");
  await page.locator(".count", { hasText: "1 event" }).last().waitFor();
  await page.locator("tbody a").first().focus();
  await page.keyboard.press("Enter");
  const details = page.locator("section.details");
  await details.locator("pre", { hasText: `"description": "<img src=x onerror=alert(1)>"` }).waitFor();
  assert.equal(await page.locator("main img, [onerror]").count(), 0);
  const address = new URL(page.url());
  await visit(page, address.pathname + address.search);
  await details.waitFor();
  await requireViews(page, "an open event");
  await details.locator("a", { hasText: "Show in the audit log" }).click();
  await page.waitForURL((url) => url.searchParams.get("subject") === robot);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a viewer sees the missing permission, a caller without permissions nothing, and a position beyond the end leads back", async () => {
  const viewer = await opened.openAs("viewer", eventsPath);
  await viewer.page.locator(".empty", { hasText: "you need subscriptions.create" }).waitFor();
  await requireViews(viewer.page, "events of a viewer");
  const nobody = await opened.openAs("nobody", eventsPath);
  await nobody.page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  const { page } = await opened.openAs("owner", `${eventsPath}?skip=5000&type=%00`);
  await page.locator(".pager", { hasText: "after the last" }).waitFor();
  await Promise.all([viewer.page.close(), nobody.page.close(), page.close()]);
});
