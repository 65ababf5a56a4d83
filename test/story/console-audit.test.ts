// The audit log in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { objectList, text } from "#base/json.ts";
import { sealAudit, tamper } from "../audit.ts";
import { openConsoleWorld, requireAccessible, requireOperations, requireViews, showsText, type ConsoleWorld, visit } from "../console.ts";
import { openOwners } from "../owner.ts";
import type { World } from "../world.ts";

let opened: ConsoleWorld;
let world: World;
let team = "";
let robot = "";

const auditPath = "/console/first-organization/payments/-/audit";

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
  const owned = openOwners(world).world();
  team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "payments" } }), "uid");
  const claimMatch = { issuer: "https://issuer.example.com", subject: "robot" };
  robot = text(await owned.ok("iam.IdentitiesService/CreateIdentity", { parent: team, identity: { name: "release-robot", claimMatch } }), "uid");
  await owned.ok("registry.ReposService/CreateRepo", { parent: team, repo: { name: "app" } });
  const token = await world.token(robot);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", "user-agent": "<img src=x onerror=alert(1)>" };
  const refused = await fetch(`${world.url}/registry/v2/repos/${team}`, { method: "POST", headers, body: JSON.stringify({ name: "not-allowed" }) });
  assert.equal(refused.status, 403);
  await sealAudit(world);
});
after(() => opened?.close());

test("the page shows who did what, newest first, in sentences, with refusals marked and at most four requests", async () => {
  const { page, problems, requests } = await opened.openAs("owner", "/console");
  await visit(page, auditPath.replace("/-/audit", ""));
  const before = requests.length;
  await visit(page, auditPath);
  const rows = page.locator("tbody tr");
  await rows.filter({ hasText: "PERMISSION_DENIED" }).waitFor();
  const isTree = ({ searchParams }: URL): boolean => searchParams.get("pageSize") === "200";
  const sent = requests.slice(before).filter(({ url }) => !url.pathname.startsWith("/console/assets/") && !isTree(url));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  await showsText(rows.nth(0), /^Create repoPERMISSION_DENIEDrelease-robot/);
  await showsText(rows.nth(1), /^Create repo/);
  await showsText(rows.nth(2), /^Create identity/);
  await showsText(rows.nth(1), /first-organization\/payments\/app/);
  await showsText(rows.nth(2), /first-organization\/payments\/release-robot/);
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a filter by identity and by refusals is set by keyboard alone and is in the address, like the open entry", async () => {
  const { page, problems } = await opened.openAs("owner", auditPath);
  const form = page.locator(".filters");
  await form.locator("input").first().focus();
  await page.keyboard.type("release-ro");
  await form.locator("[role=option]", { hasText: "release-robot" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await form.locator("input[type=checkbox]").focus();
  await page.keyboard.press("Space");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("caller") === robot && url.searchParams.has("refused"));
  await page.locator(".count", { hasText: "1 entry" }).last().waitFor();
  await page.locator("tbody a").first().focus();
  await page.keyboard.press("Enter");
  const details = page.locator(".details");
  await details.waitFor();
  await showsText(details, new RegExp(`PERMISSION_DENIED.*ReposService/CreateRepo.*${robot}.*<img src=x onerror=alert\\(1\\)>`));
  assert.equal(await page.locator("main img, [onerror]").count(), 0);
  const address = new URL(page.url());
  await visit(page, address.pathname + address.search);
  await details.waitFor();
  await form.locator("#subject").fill("not a uid");
  await form.locator("button[type=submit]").click();
  await form.locator(".problem", { hasText: "40 hexadecimal digits" }).waitFor();
  await form.locator("button", { hasText: "Clear" }).click();
  await page.waitForURL((url) => url.search === "");
  assert.deepEqual(problems, []);
  await page.close();
});

test("an entry is explained in a sentence and is shown as the JSON of the API", async () => {
  const { page, problems } = await opened.openAs("owner", `${auditPath}?refused`);
  await page.locator("tbody a").first().click();
  const details = page.locator(".details");
  await showsText(
    details.locator(".sentence"),
    /^release-robot tried to create a repo: .*payments\. This happened on .* from the address \S+\. The server refused it with PERMISSION_DENIED\.\s*$/,
  );
  await details.locator("summary", { hasText: "JSON" }).focus();
  await page.keyboard.press("Enter");
  const json = details.locator(".json pre");
  await json.waitFor();
  const entry: unknown = JSON.parse((await json.textContent()) ?? "");
  const listed = await opened.world.ok("gantry.audit.v1.AuditService/ListAuditEntries", { uidp: { descendantsOf: team }, callerUids: [robot] });
  // The client adds the defaults of absent fields.
  assert.deepEqual(entry, { act: {}, bindingUids: [], resourceUids: [], ...objectList(listed, "auditEntries")[0] });
  await requireViews(page, "an entry as JSON");
  await visit(page, auditPath);
  await page.locator("tbody tr", { hasText: "Create identity" }).locator("a").first().click();
  await showsText(
    details.locator(".sentence"),
    /^owner.* created an identity: first-organization\/payments\/release-robot\. This happened on .* It succeeded\.\s*$/,
  );
  assert.deepEqual(problems, []);
  await page.close();
});

test("a caller who may not read the audit log sees the missing permission, and a position beyond the end leads back", async () => {
  const viewer = await opened.openAs("nobody", auditPath);
  await viewer.page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  const { page } = await opened.openAs("owner", `${auditPath}?skip=5000&caller=no&subject=%00`);
  await page.locator(".pager", { hasText: "after the last" }).waitFor();
  await Promise.all([viewer.page.close(), page.close()]);
});

test("the page and an open entry pass axe and do not scroll sideways, for each size and theme", async () => {
  const { page, problems } = await opened.openAs("owner", auditPath);
  await page.locator("tbody a").first().click();
  await page.locator(".details").waitFor();
  await requireViews(page, "entries");
  assert.deepEqual(problems, []);
  await page.close();
});

test("the log of the organization is verified with progress, continues after an interruption, and names the place of a mismatch", async () => {
  const { page, problems, requests } = await opened.openAs("owner", auditPath);
  const section = page.locator("section.card", { hasText: "Verify the log" });
  const button = (name: string) => section.locator("button", { hasText: name });
  await page.locator("tbody a").first().waitFor();
  assert.equal(await section.count(), 0, "the log is that of the whole organization");
  await visit(page, "/console/first-organization/-/audit");
  // Smaller steps than the console's, so that there are several; the second one waits.
  const held = Promise.withResolvers<void>();
  let steps = 0;
  await page.route(/auditEntries\/[0-9a-f]+:verify/, async (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set("maxEntries", "3");
    if (++steps === 2) await held.promise;
    await route.continue({ url: url.href }).catch(() => {});
  });
  await button("Verify").focus();
  await page.keyboard.press("Enter");
  await showsText(section, /3 entries verified/);
  await requireAccessible(page, "a verification under way");
  await button("Stop").click();
  await showsText(section, /Interrupted after 3 entries/);
  held.resolve();
  // Another page does not lose what was verified.
  await visit(page, auditPath);
  await visit(page, "/console/first-organization/-/audit");
  await showsText(section, /Interrupted after 3 entries/);
  await requireAccessible(page, "an interrupted verification");
  await button("Continue").click();
  const { auditEntries = [] } = await world.ok("gantry.audit.v1.AuditService/ListAuditEntries", {
    uidp: { descendantsOf: world.organization },
    orderBy: "sequence desc",
  });
  const [last = {}, changed = {}] = objectList({ auditEntries }, "auditEntries");
  await showsText(section, new RegExp(`No entry .* removed\\. Intact.*: from entry 1 of .* to entry ${text(last, "sequence")} of .*${text(last, "hash")}`));
  await requireAccessible(page, "an intact log");
  await tamper(world, "update audit_entries set user_agent = 'changed' where uid = $1", [text(changed, "uid")]);
  await button("Verify again").click();
  const mismatch = section.locator("li", { hasText: `Entry ${text(changed, "sequence")} (` });
  await showsText(mismatch, /or the entry before it has been changed\./);
  await requireViews(page, "a log that is not intact");
  await visit(page, "/console/first-organization/-/audit?refused");
  await mismatch.locator("a").focus();
  await page.keyboard.press("Enter");
  await page.locator(`.details[aria-label="Entry ${text(changed, "sequence")}"]`).waitFor();
  await page.locator(".same-request summary").click();
  await showsText(page.locator(".same-request"), new RegExp(`gantry audit entries verify ${world.organization}`));
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("entries by day are bars above the table, and a range of days is typed, chosen in a table by keyboard, or dragged", async () => {
  const { page, problems, requests } = await opened.openAs("owner", auditPath);
  const chart = page.locator("section.card", { hasText: "By day" });
  const today = new Date(world.clock.now).toISOString().slice(0, 10);
  await chart.locator("svg.histogram").waitFor();
  await showsText(chart.locator(".count"), /^\d+ entries$/);
  assert.equal(await chart.locator("svg g").count(), 90);
  await showsText(chart.locator("svg g").last().locator("title"), new RegExp(`^[1-9]\\d* on ${today}$`));
  await chart.locator("button", { hasText: "As a table" }).focus();
  await page.keyboard.press("Enter");
  await chart.locator("tbody a", { hasText: today }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("from") === today && url.searchParams.get("to") === today);
  await page.locator("section.card", { hasText: "Entries" }).last().locator("tbody tr", { hasText: "PERMISSION_DENIED" }).waitFor();
  await requireAccessible(page, "a chosen day");
  const [from, to] = [chart.locator("input[type=date]").first(), chart.locator("input[type=date]").last()];
  await to.fill("2020-01-01");
  await page.keyboard.press("Enter");
  await chart.locator(".problem", { hasText: "must not be after" }).waitFor();
  await from.fill("2020-01-01");
  await to.fill("2020-01-02");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("to") === "2020-01-02");
  await page.locator(".empty", { hasText: "No entries" }).waitFor();
  await chart.locator("button", { hasText: "All days" }).click();
  await page.waitForURL((url) => url.search === "");
  const box = await chart.locator("svg.histogram").boundingBox();
  assert.ok(box);
  const middle = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width - 2, middle);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, middle, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL((url) => url.searchParams.get("to") === today && (url.searchParams.get("from") ?? "") < today && url.searchParams.has("from"));
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});
