// Used storage and the organization's quota in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { type ConsoleWorld, openConsoleWorld, pageRequests, requireOperations, requireViews, showsText, visit } from "../console.ts";
import { openOwners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import type { World } from "../world.ts";

let opened: ConsoleWorld;
let world: World;
let owned: World;
let team = "";
const folder = mkdtempSync(join(tmpdir(), "gantry-console-storage-"));

const organizationPath = "/console/first-organization";
const storagePath = `${organizationPath}/payments/-/storage`;

before(async () => {
  opened = await openConsoleWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  ({ world } = opened);
  const owners = openOwners(world);
  owned = owners.world();
  team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "payments" } }), "uid");
  // The same layers in two repos.
  for (const name of ["web", "worker"]) await openPusher(world, `first-organization/payments/${name}`, () => owners.token(), "shared").image("amd64", "1.0");
});
after(async () => {
  await opened?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("the page shows what a group and its repos store, with and without sharing, and the quota, in at most four requests", async () => {
  const { page, problems, requests } = await opened.openAs("owner", `${organizationPath}/payments`);
  const before = requests.length;
  await visit(page, storagePath);
  const storage = await owned.ok("gantry.registry.v1.StorageService/GetStorage", { uid: team });
  assert.ok(Number(storage.grossBytes) > Number(storage.bytes), "the repos share layers");
  const used = page.locator("section.card", { hasText: "Stored in payments" });
  await used
    .locator("dd")
    .getByText(`${Number(storage.bytes)} B`, { exact: true })
    .first()
    .waitFor();
  await used
    .locator("dd")
    .getByText(`${Number(storage.grossBytes)} B`, { exact: true })
    .first()
    .waitFor();
  await page.locator("meter").waitFor();
  await page.locator(".command code", { hasText: `npx gantry admin quota list --organization ${world.organization}` }).waitFor();
  const quotas = page.locator("section.card", { hasText: "All quotas" }).locator("tbody tr");
  await showsText(quotas.filter({ hasText: /^repos/ }), /^repos21,000,0000 %$/);
  await showsText(quotas.filter({ hasText: /^organization-requests/ }), /^organization-requestsNot counted5,000 a second$/);
  const row = page.locator("tbody tr", { hasText: "worker" });
  await row.waitFor();
  const sent = pageRequests(requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  await row.locator("button", { hasText: "Measure" }).focus();
  await page.keyboard.press("Enter");
  await row.locator("td").nth(1).filter({ hasText: " B" }).waitFor();
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await requireViews(page, "storage");
  await page.close();
});

test("a viewer of one group sees its storage without the quota, and a group without repos says so", async () => {
  const claimMatch = { issuer: "https://issuer.example.com", subject: "member" };
  const identity = await owned.ok("iam.IdentitiesService/CreateIdentity", { parent: team, identity: { name: "member", claimMatch } });
  const roles = (await owned.ok("iam.RolesService/ListRoles", { name: "viewer" })).roles;
  const roleUid = Array.isArray(roles) ? text(roles[0] as Record<string, string>, "uid") : "";
  await owned.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: team, roleBinding: { identityUid: text(identity, "uid"), roleUid } });
  const watched = await opened.open("/console");
  await opened.pasteToken(watched.page, await world.token(text(identity, "uid")));
  await visit(watched.page, "/console/payments/-/storage");
  await watched.page.locator("p", { hasText: "Only callers who may list all repos" }).waitFor();
  await showsText(watched.page.locator("tbody tr").filter({ hasText: /^identities/ }), /^identitiesHidden: .*1,000,000$/);
  await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "empty" } });
  const { page, problems } = await opened.openAs("viewer", `${organizationPath}/empty/-/storage`);
  await page.locator(".empty", { hasText: "No repos here and below" }).waitFor();
  assert.deepEqual(problems, []);
  const nobody = await opened.openAs("nobody", storagePath);
  await nobody.page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  await Promise.all([watched.page.close(), page.close(), nobody.page.close()]);
});
