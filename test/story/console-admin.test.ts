// Administration in the console for the operator: feeds whose sources fail, shrink or are empty (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { text } from "#base/json.ts";
import { type ConsoleWorld, openConsoleWorld, pageRequests, requireOperations, requireViews, showsText, showsTexts, visit, type Watched } from "../console.ts";
import { openOwners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import type { World } from "../world.ts";
import { type FeedServer, openFeedServer } from "./feed-server.ts";
import { runImport } from "./import.ts";

let opened: ConsoleWorld;
let world: World;
let feeds: FeedServer;

const adminPath = "/console/-/admin";

/** Records of advisories in the format of Wolfi. */
const records = (name: string, count: number): string =>
  [
    `schema-version: 2.0.2\n\npackage:\n  name: ${name}\n\nadvisories:`,
    ...Array.from({ length: count }, (_, index) => {
      const id = `CGA-${String(index).padStart(4, "0")}-aaaa-${name}`;
      const event = `      - timestamp: 2025-01-01T00:00:00Z\n        type: fixed\n        data:\n          fixed-version: 1.0-r0`;
      return `  - id: ${id}\n    aliases:\n      - CVE-2025-${1000 + index}\n    events:\n${event}`;
    }),
    "",
  ].join("\n");

const names = ["good", "empties", "shrinks", "fails", "breaks"] as const;

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
  feeds = await openFeedServer();
  const importAll = async (): Promise<void> => {
    for (const name of names) await runImport(world, "advisories", [`${feeds.url}/${name}?key=secret`]);
  };
  for (const name of names) feeds.answers.set(`/${name}?key=secret`, { body: records(name, 40) });
  await importAll();
  feeds.answers.set("/empties?key=secret", { body: records("empties", 0) });
  feeds.answers.set("/shrinks?key=secret", { body: records("shrinks", 3) });
  feeds.answers.set("/fails?key=secret", { status: 503, body: "<img src=x onerror=alert(1)>" });
  feeds.answers.set("/breaks?key=secret", { body: records("breaks", 40), cutAt: 200 });
  world.clock.now += 60_000;
  await importAll();
});
after(async () => {
  await opened?.close();
  await feeds?.close();
});

const openAsOperator = async (path: string): Promise<Watched> => {
  const watched = await opened.open("/console");
  await opened.pasteToken(watched.page, await world.token());
  await visit(watched.page, path);
  return watched;
};

test("the operator sees failed and held feeds first, with what is held, why and since when, in at most four requests", async () => {
  const { page, problems, requests } = await openAsOperator("/console");
  const before = requests.length;
  await visit(page, adminPath);
  const rows = page.locator("section.card", { has: page.locator("h2", { hasText: /^Feeds$/ }) }).locator("tbody tr");
  await rows.nth(4).waitFor();
  await showsTexts(rows.locator("td:nth-child(2) > .badge"), ["Failed", "Failed", "Held back", "Held back", "Imported"]);
  await rows.filter({ hasText: "/empties" }).filter({ hasText: "40 records are held back" }).filter({ hasText: "empty and had records before" }).waitFor();
  await rows.filter({ hasText: "/shrinks" }).filter({ hasText: "records are held back" }).filter({ hasText: "Too many records are missing" }).waitFor();
  await rows.filter({ hasText: "/fails" }).filter({ hasText: "503" }).waitFor();
  await rows.filter({ hasText: "/breaks" }).filter({ hasText: "Failed" }).waitFor();
  await rows.filter({ hasText: "/shrinks" }).locator(".under-badge time").waitFor();
  const sent = pageRequests(requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  assert.equal(await page.locator("main img, [onerror]").count(), 0);
  assert.equal((await page.content()).includes("secret"), false, "no page shows the query of a source");
  assert.equal(await rows.locator("a", { hasText: "Show records" }).count(), 2, "only feeds that hold records back");
  await rows.filter({ hasText: "/shrinks" }).locator("a", { hasText: "Show records" }).focus();
  await page.keyboard.press("Enter");
  const held = page.locator("section.card", { has: page.locator("h2", { hasText: /^Records that .*\/shrinks held back$/ }) });
  await held.locator(".count", { hasText: /^37 records$/ }).waitFor();
  await held.locator("tbody tr").nth(36).waitFor();
  await held.locator("tbody tr", { hasText: "CGA-0003-aaaa-shrinks" }).filter({ hasText: "Withdrawal" }).waitFor();
  assert.equal(await held.locator("tbody tr", { hasText: "CGA-0002-aaaa-shrinks" }).count(), 0, "the source has it");
  await showsText(held.locator(".command code").first(), /^npx gantry import advisories SOURCE --group [0-9a-f]{40} --allow-withdrawals$/);
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await requireViews(page, "feeds in trouble");
  await held.locator("button[aria-label='Close']").click();
  await held.waitFor({ state: "detached" });
  await page.close();
});

test("the home page says on request which feeds are in trouble and which access expires within 14 days, each with a link to its place", async () => {
  const owners = openOwners(world);
  const owned = owners.world();
  const parent = world.organization;
  await openPusher(world, "first-organization/app", await owners.token()).image("amd64", "1.0");
  const team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent, group: { name: "payments" } }), "uid");
  const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
  const identity = async (name: string, days?: number): Promise<string> => {
    const claimMatch = { issuer: "https://issuer.example.com", subject: name };
    const expires = days === undefined ? {} : { expireTime: inDays(days) };
    return text(await owned.ok("iam.IdentitiesService/CreateIdentity", { parent: team, identity: { name, claimMatch, ...expires } }), "uid");
  };
  const bind = async (identityUid: string, role: string, days: number): Promise<void> => {
    const roleBinding = { identityUid, roleUid: builtInRoleUid(role), expireTime: inDays(days) };
    await owned.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: team, roleBinding });
  };
  const lasting = await identity("lasting");
  await identity("ends-later", 30);
  const ending = await identity("ends-soon", 10);
  await bind(lasting, "viewer", 5);
  await bind(lasting, "editor", 20);
  const { page, problems, requests } = await opened.openAs("owner", "/console/first-organization");
  const before = requests.length;
  await visit(page, "/console");
  const checks = page.locator("section.card", { has: page.locator("h2", { hasText: "Feeds and expiring access" }) });
  await page.locator(".signal", { hasText: "No failed webhook deliveries" }).waitFor();
  assert.ok(pageRequests(requests.slice(before)).length <= 4, "the page waits for the user");
  const asked = requests.length;
  await checks.locator("button", { hasText: "Check now" }).focus();
  await page.keyboard.press("Enter");
  await checks.locator(".signal.bad a[href='/console/-/admin']", { hasText: "4 feeds have failed or are held back" }).waitFor();
  assert.ok(requests.length - asked <= 4);
  await checks.locator(".signal.bad", { hasText: "2 accesses expire within 14 days" }).waitFor();
  await showsTexts(checks.locator("tbody th"), ["viewer of lasting", "ends-soon"]);
  const links = checks.locator("tbody th a");
  assert.equal(await links.nth(0).getAttribute("href"), `/console/${team}/-/access`);
  assert.equal(await links.nth(1).getAttribute("href"), `/console/${team}/-/robots?robot=${encodeURIComponent(ending)}`);
  await requireViews(page, "checks of the home page");
  await links.nth(1).click();
  await page.locator("main", { hasText: "ends-soon" }).waitFor();
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a source that recovers is imported again, and its row says so", async () => {
  feeds.answers.set("/fails?key=secret", { body: records("fails", 41) });
  world.clock.now += 60_000;
  await runImport(world, "advisories", [`${feeds.url}/fails?key=secret`]);
  const { page } = await openAsOperator(adminPath);
  await page.locator("tbody tr", { hasText: "/fails" }).filter({ hasText: "Imported" }).filter({ hasText: "41" }).waitFor();
  await page.close();
});
