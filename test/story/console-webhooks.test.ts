// Subscriptions and deliveries in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { objectList, text, texts } from "#base/json.ts";
import { verifyWebhook } from "../../client/package.ts";
import { openConsoleWorld, requireAccessible, requireOperations, requireViews, showsText, type ConsoleWorld, visit } from "../console.ts";
import { openOwners } from "../owner.ts";
import type { World } from "../world.ts";
import { openSink, type Sink } from "./sink.ts";

let opened: ConsoleWorld;
let world: World;
let sink: Sink;
let owned: World;

const organizationPath = "/console/first-organization";
const webhooksPath = `${organizationPath}/payments/-/webhooks`;

before(async () => {
  opened = await openConsoleWorld({ GANTRY_DELIVERY_DELAYS: "0" });
  ({ world } = opened);
  sink = await openSink();
  owned = openOwners(world).world();
  const team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "payments" } }), "uid");
  await owned.ok("events.SubscriptionsService/CreateSubscription", {
    parent: team,
    subscription: { sink: sink.url, minFindingSeverity: "FINDING_SEVERITY_HIGH", exploitedFindings: true },
  });
  await world.server.delivery.finish();
  sink.answer = ({ body }) => ({ status: body.includes("broken") ? 500 : 200 });
  for (const name of ["works", "broken"]) await owned.ok("registry.ReposService/CreateRepo", { parent: team, repo: { name } });
  await world.server.delivery.finish();
});
after(async () => {
  await opened?.close();
  await sink?.close();
});

test("a failed delivery is found by its state, and is sent again by keyboard alone", async () => {
  const { page, problems, requests } = await opened.openAs("owner", webhooksPath);
  const [subscriptions, deliveries] = [page.locator("section.card").nth(0), page.locator("section.card").nth(2)];
  await subscriptions.locator("tbody tr", { hasText: sink.url }).waitFor();
  await showsText(subscriptions.locator("tbody"), /All types · findings: high or higher · or exploited/);
  await page.locator(".states a", { hasText: "Failed" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("state") === "dead");
  await deliveries.locator(".count", { hasText: "1 delivery" }).waitFor();
  const row = deliveries.locator("tbody tr");
  await showsText(row, new RegExp(`^registry\\.repo\\.created.*${sink.url}.*Failed.*5xx`));
  sink.answer = () => ({ status: 200 });
  await row.locator("button").focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("summary", { hasText: "The same request" }).click();
  await showsText(dialog.locator(".command code").nth(1), /^gantry events deliveries redeliver [0-9a-f/]+$/);
  await requireAccessible(page, "sending again");
  await dialog.locator("button.primary").focus();
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await world.server.delivery.finish();
  await visit(page, `${webhooksPath}?state=delivered`);
  await visit(page, `${webhooksPath}?state=dead`);
  await page.locator(".empty", { hasText: "No delivery has this state" }).waitFor();
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a subscription is created by keyboard alone, its secret is shown once and signs a test event, and its deletion is undone", async () => {
  const { page, problems, requests } = await opened.openAs("owner", webhooksPath);
  const subscriptions = page.locator("section.card").nth(0);
  await subscriptions.locator("button", { hasText: "New subscription" }).press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("input:focus").waitFor();
  await page.keyboard.type("nowhere");
  await page.keyboard.press("Enter");
  await dialog.locator(".problem", { hasText: "https" }).waitFor();
  await dialog.getByLabel("Sink").fill(`${sink.url}/second`);
  await dialog.getByLabel("Types", { exact: true }).selectOption("Only some types");
  await dialog.locator("button[type=submit]").press("Enter");
  await dialog.locator(".problem", { hasText: "Choose 1 to 50 types" }).waitFor();
  await dialog.getByLabel("Types of events: filter").fill("registry.repo.");
  await dialog.getByLabel("Choose all of registry").press("Enter");
  await dialog.getByLabel("registry.repo.deleted").press("Space");
  await dialog.getByLabel("Severity of findings").selectOption("High or higher");
  await dialog.getByLabel("Findings that are known to be exploited, too").press("Space");
  await dialog.locator("summary", { hasText: "The same request" }).press("Enter");
  const type = (change: string): string => `dev.chainguard.api.platform.registry.repo.${change}.v1`;
  const flags = `--event-types ${type("created")},${type("updated")} --min-finding-severity FINDING_SEVERITY_HIGH --exploited-findings`;
  await showsText(dialog.locator(".command code").nth(1), new RegExp(`^gantry events subscriptions create --parent \\S+ --sink ${sink.url}/second ${flags}$`));
  await requireAccessible(page, "creating a subscription");
  await dialog.locator("button[type=submit]").press("Enter");
  await dialog.locator("[role=status]", { hasText: "It is not shown again" }).waitFor();
  const secret = (await dialog.locator(".command code").first().textContent()) ?? "";
  assert.equal(await dialog.locator("a", { hasText: "How to verify" }).getAttribute("href"), "/docs/how-to/webhooks#verify-a-delivery");
  sink.got.length = 0;
  await dialog.locator("button", { hasText: "Send a test event" }).press("Enter");
  await dialog.locator("[role=status]", { hasText: "The test event is sent" }).waitFor();
  await requireAccessible(page, "the secret of a subscription");
  await world.server.delivery.finish();
  const [received] = sink.got;
  assert.ok(received);
  // The world's clock sets the time of the signature.
  const verified = await verifyWebhook(received, { secret, clock: () => world.clock.now });
  assert.equal(verified.type, "dev.gantry.events.subscription.test.v1");
  await dialog.locator("button", { hasText: "Done" }).press("Enter");
  assert.ok(!(await page.content()).includes(secret));
  const row = subscriptions.locator("tbody tr", { hasText: `${sink.url}/second` });
  await showsText(row, /2 types · findings: high or higher · or exploited/);
  const listed = objectList(await owned.ok("events.SubscriptionsService/ListSubscriptions", {}), "subscriptions");
  const stored = listed.find((each) => each.sink === `${sink.url}/second`) ?? {};
  assert.deepEqual(texts(stored, "eventTypes"), [type("created"), type("updated")]);

  await row.getByLabel(`Delete the subscription to ${sink.url}/second`).press("Enter");
  await dialog.locator("p", { hasText: "discarded" }).waitFor();
  await requireAccessible(page, "deleting a subscription");
  await dialog.locator("button.danger").press("Enter");
  await row.waitFor({ state: "detached" });
  await page.locator(".banner button", { hasText: "Undo" }).press("Enter");
  await row.waitFor();
  requireOperations(requests);
  // The browser reports the refused address.
  assert.deepEqual(
    problems.filter((each) => !each.includes("status of 400")),
    [],
  );
  await page.close();
});

test("the page sends at most four requests, and a group without subscriptions leads to the guide", async () => {
  const { page, requests } = await opened.openAs("owner", `${organizationPath}/payments`);
  const before = requests.length;
  await visit(page, webhooksPath);
  await page.locator("tbody tr").first().waitFor();
  const isTree = ({ searchParams }: URL): boolean => searchParams.get("pageSize") === "200";
  const sent = requests.slice(before).filter(({ url }) => !url.pathname.startsWith("/console/assets/") && !isTree(url));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  await page.close();
  const nobody = await opened.openAs("nobody", webhooksPath);
  await nobody.page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  await nobody.page.close();
});

test("the page passes axe and does not scroll sideways, for each size and theme", async () => {
  const { page, problems } = await opened.openAs("viewer", webhooksPath);
  await page.locator(".section-about", { hasText: "you need subscriptions.update" }).waitFor();
  await page.locator(".section-about", { hasText: "you need subscriptions.create and subscriptions.delete" }).waitFor();
  assert.equal(await page.locator(".action").count(), 0);
  assert.equal(await page.locator("button", { hasText: "New subscription" }).count(), 0);
  await requireViews(page, "webhooks");
  assert.deepEqual(problems, []);
  await page.close();
});
