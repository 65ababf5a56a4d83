// Invites, sessions and memberships in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { objectList, text } from "#base/json.ts";
import { openConsoleWorld, requireAccessible, requireOperations, settled, showsText, type ConsoleWorld, type Watched, views, visit } from "../console.ts";
import { openOwners } from "../owner.ts";
import type { World } from "../world.ts";

let opened: ConsoleWorld;
let world: World;
let owned: World;
let team = "";

const organizationName = "first-organization";
const organizationPath = `/console/${organizationName}`;
const invitesPath = `${organizationPath}/payments/-/invites`;
const sessionsPath = `${organizationPath}/-/sessions`;
const accountPath = "/console/-/account";

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
  owned = openOwners(world).world();
  team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "payments" } }), "uid");
});
after(() => opened?.close());
beforeEach(() => opened.browser.context.clearCookies());

const openAsAda = async (path: string): Promise<Watched> => {
  const watched = await opened.open("/console");
  await opened.signIn(watched.page);
  await visit(watched.page, path);
  return watched;
};

const invites = async () => objectList(await owned.ok("iam.GroupInvitesService/ListGroupInvites", { uidp: { childrenOf: team } }), "groupInvites");

test("an invite is created by keyboard alone, its code is shown once, and its deletion asks first", async () => {
  const { page, problems, requests } = await opened.openAs("owner", invitesPath);
  await page.locator("button:has-text('Invite')").focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("input:focus").waitFor();
  await page.keyboard.type("viewer");
  await dialog.locator("[role=option]", { hasText: "viewer" }).first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.type("no address");
  await page.keyboard.press("Enter");
  await dialog.locator(".problem").waitFor();
  await page.locator("dialog input[type=email]").fill("grace@example.com");
  await dialog.locator("summary", { hasText: "The same request" }).click();
  const commands = await dialog.locator(".command code").allTextContents();
  assert.equal(
    commands[1],
    `gantry iam group-invites create --parent ${team} --role-uid ${builtInRoleUid("viewer")} --ttl 604800s --email grace@example.com --single-use`,
  );
  await page.locator("dialog input[type=email]").press("Enter");
  await dialog.locator("h2", { hasText: "Invite created" }).waitFor();
  const code = (await dialog.locator(".command code").first().textContent()) ?? "";
  await showsText(dialog.locator(".command code").nth(1), new RegExp(`^gantry login --server ${world.url} --invite-code ${code}$`));
  const [made, ...others] = await invites();
  assert.deepEqual(
    [made?.email, made?.roleUid, made?.singleUse, made?.keyId, others.length],
    ["grace@example.com", builtInRoleUid("viewer"), true, JSON.parse(Buffer.from(code, "base64url").toString()).kid, 0],
  );
  await requireAccessible(page, "created invite");
  await dialog.locator("button", { hasText: "Done" }).click();
  const row = page.locator("tbody tr", { hasText: "grace@example.com" });
  await row.waitFor();
  assert.equal((await page.content()).includes(code), false, "the code is shown once");
  await row.locator("button").click();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal((await invites()).length, 1);
  await row.locator("button").click();
  await requireAccessible(page, "deletion of an invite");
  await dialog.locator("button.danger").click();
  await page.locator(".empty", { hasText: "No open invites" }).waitFor();
  assert.deepEqual(await invites(), []);
  requireOperations(requests);
  assert.deepEqual(
    problems.filter((problem) => !/status of 400/.test(problem)),
    [],
  );
  await page.close();
});

test("a caller without the permission to invite sees invites, no form, and the permission that is missing", async () => {
  const { page } = await opened.openAs("viewer", `${invitesPath}?add=`);
  await page.locator(".section-about", { hasText: "you need group_invites.create and role_bindings.create" }).waitFor();
  assert.equal(await page.locator("dialog, button:has-text('Invite'), .action").count(), 0);
  await visit(page, sessionsPath);
  await showsText(page.locator("main"), /You need a permission for this page.*identity_providers\.update/);
  await page.close();
});

test("an administrator ends the session of a user, whose console then asks to sign in", async () => {
  const admin = await opened.openAs("owner", organizationPath);
  const ada = await openAsAda(organizationPath);
  await visit(admin.page, sessionsPath);
  const row = admin.page.locator("tbody tr", { hasText: "Console" });
  await row.first().waitFor();
  await row.first().locator("button", { hasText: "End session" }).click();
  await admin.page.locator("dialog summary", { hasText: "The same request" }).click();
  await showsText(admin.page.locator("dialog .command code").nth(1), /^gantry sessions group-sessions revoke [0-9a-f/]+$/);
  await admin.page.locator("dialog button.danger").click();
  await admin.page.locator("dialog").waitFor({ state: "detached" });
  requireOperations(admin.requests);
  await visit(ada.page, `${organizationPath}/-/roles`).catch(() => undefined);
  await ada.page.locator(".sign-in .notice", { hasText: "Your session has ended" }).waitFor();
  await Promise.all([ada.page.close(), admin.page.close()]);
});

test("a user sees their own sessions, and ends another one without ending this one", async () => {
  const other = await openAsAda(organizationPath);
  await other.page.close();
  await opened.browser.context.clearCookies();
  const { page, requests } = await openAsAda(accountPath);
  const signInRequests = requests.length;
  const current = page.locator("tr", { hasText: "This session" });
  await current.waitFor();
  assert.equal(await current.count(), 1);
  const ended = page.locator("tbody tr", { hasText: "Console", hasNotText: "This session" });
  const before = await ended.count();
  await ended.first().locator("button", { hasText: "End session" }).click();
  await page.locator("dialog button.danger").click();
  await page.locator("dialog").waitFor({ state: "detached" });
  await settled(page);
  await current.waitFor();
  assert.equal(await ended.count(), before - 1);
  requireOperations(requests.slice(signInRequests));
  await page.close();
});

test("an organization that adds a user has an effect on the user only after the user accepts on the account page", async () => {
  const { page } = await openAsAda(accountPath);
  const ada = (await page.evaluate("document.querySelector('.who')?.textContent")) as string;
  assert.equal(ada, "Ada Lovelace");
  const [session] = objectList(await owned.ok("gantry.sessions.v1.SessionsService/ListGroupSessions", { group: world.organization }), "sessions");
  const identityUid = text(session ?? {}, "identityUid");
  const hostile = "<img src=x onerror=alert(1)>";
  const stranger = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "other-organization", description: hostile } }), "uid");
  // By its owner: the operator's role bindings need no answer (0067).
  await owned.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: stranger, roleBinding: { identityUid, roleUid: builtInRoleUid("viewer") } });
  await visit(page, "/console");
  await page.locator("h1", { hasText: "Home" }).waitFor();
  await settled(page);
  assert.equal(await page.locator("main", { hasText: "other-organization" }).count(), 0);
  await visit(page, accountPath);
  const row = page.locator("tbody tr", { hasText: "other-organization" });
  await showsText(row, /Pending/);
  await row.locator("button", { hasText: "Decline" }).click();
  await page.locator("dialog button.primary").click();
  await row.filter({ hasText: "Declined" }).waitFor();
  await row.locator("button", { hasText: "Accept" }).click();
  await page.locator("dialog button.primary").click();
  await row.filter({ hasText: "Member" }).waitFor();
  await visit(page, "/console");
  await page.locator("main a", { hasText: "other-organization" }).waitFor();
  assert.equal(await page.locator("main img, [onerror]").count(), 0);
  await page.close();
});

test("the pages pass axe and do not scroll sideways, for each size and theme", async () => {
  await owned.ok("iam.GroupInvitesService/CreateGroupInvite", { parent: team, groupInvite: { roleUid: builtInRoleUid("editor"), ttl: "3600s" } });
  const { page, problems } = await opened.openAs("owner", invitesPath);
  const ada = await openAsAda(accountPath);
  for (const { size, colorScheme } of views) {
    for (const each of [page, ada.page]) {
      await each.setViewportSize(size);
      await each.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    }
    const where = `${size.width} px, ${colorScheme}`;
    await requireAccessible(ada.page, `account, ${where}`);
    for (const path of [invitesPath, `${invitesPath}?add=`, sessionsPath]) {
      await visit(page, path);
      await page
        .locator(path.endsWith("=") ? "dialog" : "tbody tr")
        .first()
        .waitFor();
      await requireAccessible(page, `${path}, ${where}`);
    }
  }
  const beyondSignIn = ada.problems.filter((problem) => !/^requested |ERR_FAILED/.test(problem));
  assert.deepEqual([...problems, ...beyondSignIn], []);
  await Promise.all([page.close(), ada.page.close()]);
});
