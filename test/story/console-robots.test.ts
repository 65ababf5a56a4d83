// Robot accounts in the console: identities that machines assume (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { objectList, part, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import {
  type ConsoleWorld,
  openConsoleWorld,
  pageRequests,
  requireAccessible,
  requireOperations,
  settled,
  showsTexts,
  showsValue,
  views,
  visit,
} from "../console.ts";
import { openOwners } from "../owner.ts";
import type { World } from "../world.ts";
import { gantry, startIssuer } from "./processes.ts";

let opened: ConsoleWorld;
let world: World;
let owned: World;
let team = "";

const organizationPath = "/console/first-organization";
const robotsPath = `${organizationPath}/payments/-/robots`;

const addIdentity = async (parent: string, identity: Parameters<World["ok"]>[1] & object): Promise<string> =>
  text(await owned.ok("iam.IdentitiesService/CreateIdentity", { parent, identity }), "uid");

const bind = (parent: string, identityUid: string, role: string) =>
  owned.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid(role) } });

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
  owned = openOwners(world).world();
  team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "payments" } }), "uid");
  const issuer = await startIssuer();
  const sub = "repo:acme/shop:ref:refs/heads/main";
  const used = await addIdentity(team, { name: "release", claimMatch: { issuer: issuer.url, subject: sub } });
  await bind(team, used, "registry.push");
  await bind(team, used, "viewer");
  world.clock.now += 60_000;
  const exchanged = await fetch(`${world.url}/sts/exchange`, {
    method: "POST",
    headers: { authorization: `Bearer ${await issuer.token({ aud: world.url, sub })}` },
    body: new URLSearchParams({ identity: used }),
  });
  assert.equal(exchanged.status, 200);
  await addIdentity(team, { name: "idle", description: "<img src=x onerror=alert(1)>", claimMatch: { issuer: "https://issuer.example.com", subject: "idle" } });
  const awsIdentity = { awsAccount: "123456789012", arnPattern: "^arn:aws:sts::123456789012:assumed-role/deployer/.+$", userIdPattern: "^AROAX:.+$" };
  await addIdentity(team, { name: "deployer", awsIdentity });
  const env = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await opened.tokenOf("owner") };
  const made = await gantry(["iam", "pull-tokens", "create", "--group", team, "--name", "old-cluster", "--ttl", "30d"], { env });
  assert.equal(made.code, 0, made.stderr);
});
after(() => opened?.close());

test("one page lists identities of CI systems, pull tokens and AWS roles with use and expiry, in at most four requests", async () => {
  const { page, problems, requests } = await opened.openAs("owner", `${organizationPath}/payments`);
  const before = requests.length;
  await visit(page, robotsPath);
  const section = (title: string) => page.locator("section.card", { hasText: title });
  await section("CI and workloads").locator("tbody tr", { hasText: "release" }).filter({ hasText: "GitHub Actions" }).waitFor();
  await section("CI and workloads").locator("tbody tr", { hasText: "release" }).locator("time").first().waitFor();
  await section("CI and workloads").locator("tbody tr", { hasText: "idle" }).filter({ hasText: "Not used yet" }).waitFor();
  await section("Pull tokens and keys").locator("tbody tr", { hasText: "old-cluster" }).filter({ hasText: "Pull token" }).waitFor();
  assert.equal(await page.locator("main img, [onerror]").count(), 0);
  const sent = pageRequests(requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname + url.search).join("\n"));
  await visit(page, `${organizationPath}/-/robots`);
  await page.waitForLoadState("networkidle");
  const more = requests.length;
  await visit(page, `${organizationPath}/-/robots?view=aws`);
  const above = page.locator("tbody tr", { hasText: "deployer" });
  await above.locator("a", { hasText: /^first-organization\/payments$/ }).waitFor();
  await visit(page, `${organizationPath}/-/robots`);
  const named = page.locator("tbody tr", { hasText: "release" }).locator("a", { hasText: /^first-organization\/payments$/ });
  await named.waitFor();
  await page.waitForLoadState("networkidle");
  // Two pages.
  assert.ok(
    pageRequests(requests.slice(more)).length <= 8,
    requests
      .slice(more)
      .map(({ url }) => url.pathname + url.search)
      .join("\n"),
  );
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("an identity is added from a preset by keyboard alone, with its role and the lines that set up the job", async () => {
  const { page, problems, requests } = await opened.openAs("owner", robotsPath);
  await page.locator("button", { hasText: "Add a CI identity" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("select:focus").waitFor();
  await dialog.locator("button[type=submit]").focus();
  await page.keyboard.press("Enter");
  await dialog.locator(".problem", { hasText: "Required" }).waitFor();
  await dialog.getByLabel("Repository").focus();
  await page.keyboard.type("acme@4000001/shop");
  await dialog.locator(".problem", { hasText: "must have both IDs or none" }).waitFor();
  await page.keyboard.type("@700000001");
  await dialog.locator(".claims div", { hasText: "repository_id" }).filter({ hasText: "700000001" }).waitFor();
  await dialog.getByRole("combobox", { name: "Role" }).focus();
  await page.keyboard.type("registry.push");
  await dialog.locator("[role=option]", { hasText: "registry.push" }).first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await dialog.locator("summary", { hasText: "The same request" }).focus();
  await page.keyboard.press("Enter");
  const command = `gantry iam identities create --parent ${team} --github acme@4000001/shop@700000001 --ref main --role ${builtInRoleUid("registry.push")}`;
  await dialog.locator(".command code").getByText(command, { exact: true }).waitFor();
  await requireAccessible(page, "adding a CI identity");
  await dialog.locator("button[type=submit]").focus();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.has("robot"));
  const details = page.locator("section.details");
  await details.locator(".role", { hasText: "registry.push" }).waitFor();
  const uid = new URL(page.url()).searchParams.get("robot") ?? "";
  await details.locator(".command code", { hasText: `--username ${uid} --password-stdin` }).waitFor();
  const stored = await owned.ok("iam.IdentitiesService/GetIdentity", { uid });
  assert.equal(text(stored, "name"), "github acme-shop main");
  assert.deepEqual(part(part(stored, "claimMatch"), "claims"), { repository_id: "700000001", repository_owner_id: "4000001", event_name: "push" });
  const { code, stdout } = await gantry([...command.split(" ").slice(1), "--dry-run", "-o", "json"], {
    env: { GANTRY_SERVER: world.url, GANTRY_TOKEN: await opened.tokenOf("owner") },
  });
  assert.equal(code, 0);
  assert.deepEqual(part(JSON.parse(stdout), "claimMatch"), part(stored, "claimMatch"));
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("an identity whose role binding is refused stays, and only the binding is sent again", async () => {
  const roleUid = text(
    await owned.ok("iam.RolesService/CreateRole", { parent: world.organization, role: { name: "short-lived", capabilities: ["CAP_REPO_LIST"] } }),
    "uid",
  );
  const { page } = await opened.openAs("owner", robotsPath);
  await page.locator("button", { hasText: "Add a CI identity" }).click();
  const dialog = page.locator("dialog");
  await dialog.getByLabel("CI system").selectOption("kubernetes");
  await dialog.getByLabel("Namespace and service account").fill("shop/deployer");
  await dialog.getByLabel("Issuer", { exact: true }).fill("https://issuer.example.com");
  await dialog.getByRole("combobox", { name: "Role" }).fill("short-lived");
  await dialog.locator("[role=option]", { hasText: "short-lived" }).click();
  await owned.ok("iam.RolesService/DeleteRole", { uid: roleUid });
  await dialog.locator("button[type=submit]").click();
  await dialog.locator("[role=alert]", { hasText: "role binding was refused" }).waitFor();
  await dialog.getByRole("combobox", { name: "Role" }).fill("registry.pull");
  await dialog.locator("[role=option]", { hasText: "registry.pull" }).first().click();
  await dialog.locator("button[type=submit]").click();
  await page.locator("section.details .role", { hasText: "registry.pull" }).waitFor();
  const { identities } = await owned.ok("iam.IdentitiesService/ListIdentities", { name: "kubernetes shop-deployer" });
  assert.equal(objectList({ identities: identities ?? [] }, "identities").length, 1);
  await page.close();
});

test("removing an account says what it loses, and its token is refused afterwards", async () => {
  const uid = await addIdentity(team, {
    name: "leaving",
    claimMatch: { issuer: "https://issuer.example.com", subject: "leaving" },
    expireTime: timestamp(world.clock.now + 86_400_000),
  });
  await bind(team, uid, "registry.push");
  await bind(team, uid, "viewer");
  const token = await world.token(uid);
  const { page, problems, requests } = await opened.openAs("owner", `${organizationPath}/payments`);
  const before = requests.length;
  await visit(page, `${robotsPath}?robot=${uid}`);
  const details = page.locator("section.details");
  await details.locator(".role", { hasText: "viewer" }).waitFor();
  const sent = pageRequests(requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  await details.locator("button.danger").focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("p", { hasText: "It loses 2 role bindings" }).waitFor();
  await requireAccessible(page, "removing an account");
  await dialog.locator("button.danger").focus();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => !url.searchParams.has("robot"));
  await page.locator("tbody tr", { hasText: "release" }).waitFor();
  const answer = await fetch(`${world.url}/iam/v2/groups`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 401);
  await visit(page, `${organizationPath}/payments/-/deleted`);
  await page.locator("tbody tr", { hasText: "leaving" }).waitFor();
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("an identity is edited with its claims, a change meanwhile shows both versions, and its deletion from the list is undone", async () => {
  const claimMatch = { issuer: "https://issuer.example.com", subject: "builds", claims: { team: "ledger" } };
  const uid = await addIdentity(team, { name: "builder", description: "Builds", claimMatch });
  await bind(team, uid, "viewer");
  const stored = () => owned.ok("iam.IdentitiesService/GetIdentity", { uid });
  const { page, problems, requests } = await opened.openAs("owner", `${robotsPath}?robot=${uid}`);
  await page.locator("section.details button", { hasText: "Edit" }).press("Enter");
  const dialog = page.locator("dialog");
  const name = dialog.getByLabel("Name", { exact: true });
  await showsValue(name, "builder");
  await name.fill("release builder");
  await dialog.getByLabel("Value of sub").fill("");
  await name.press("Enter");
  await dialog.locator(".problem", { hasText: "Required" }).waitFor();
  await dialog.getByLabel("Value of sub").fill("builds(");
  await dialog.getByLabel("Pattern: sub").press("Space");
  await name.press("Enter");
  await dialog.locator(".claim-row", { hasText: "sub" }).locator(".problem").waitFor();
  await dialog.getByLabel("Value of sub").fill("builds:.+");
  await dialog.getByLabel("Remove team").press("Enter");
  await dialog.locator("button", { hasText: "Add a claim" }).press("Enter");
  await dialog.getByLabel("Name of claim 4").fill("ref");
  await dialog.getByLabel("Value of ref").fill("refs/heads/main");
  await requireAccessible(page, "editing an identity");
  await owned.ok("iam.IdentitiesService/UpdateIdentity", { identity: { uid, description: "Builds nightly" }, updateMask: "description" });
  await name.press("Enter");
  const conflict = dialog.locator(".conflict");
  await conflict.locator("tr", { hasText: "Builds nightly" }).waitFor();
  await conflict.locator("tr", { hasText: "What a token must match" }).filter({ hasText: "sub matches: builds:.+" }).waitFor();
  assert.equal(text(await stored(), "name"), "builder");
  await conflict.getByText("Keep mine").press("Enter");
  await dialog.getByLabel("Description (optional)").fill("Builds nightly");
  await dialog.locator("summary", { hasText: "The same request" }).press("Enter");
  const command = `gantry iam identities update ${uid} --name 'release builder' --description 'Builds nightly'`;
  const match = "--claim-match-issuer https://issuer.example.com --claim-match-subject-pattern builds:.+ --claim-match-claims ref=refs/heads/main";
  await showsTexts(dialog.locator(".command code", { hasText: /^gantry/ }), [`${command} ${match}`]);
  await name.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.locator("section.details h2", { hasText: "release builder" }).waitFor();
  const changed = await stored();
  assert.deepEqual(part(changed, "claimMatch"), {
    issuer: "https://issuer.example.com",
    subjectPattern: "builds:.+",
    claims: { ref: "refs/heads/main" },
    claimPatterns: {},
  });
  assert.equal(text(changed, "description"), "Builds nightly");

  await visit(page, `${organizationPath}/payments/-/identities`);
  const row = page.locator("tbody tr", { hasText: "release builder" });
  await row.getByLabel("Edit release builder").press("Enter");
  await name.fill("last builder");
  await name.press("Enter");
  await dialog.waitFor({ state: "detached" });
  const renamed = page.locator("tbody tr", { hasText: "last builder" });
  await renamed.getByLabel("Delete last builder").press("Enter");
  await dialog.locator("p", { hasText: "It loses 1 role binding." }).waitFor();
  await dialog.locator("button.danger").press("Enter");
  await renamed.waitFor({ state: "detached" });
  await page.locator(".banner button", { hasText: "Undo" }).press("Enter");
  await renamed.waitFor();
  requireOperations(requests);
  // The browser reports the refused requests.
  assert.deepEqual(
    problems.filter((each) => !/status of 4(00|12)/.test(each)),
    [],
  );
  await page.close();
});

test("a viewer sees the accounts and the missing permissions, a caller without permissions sees nothing", async () => {
  const viewer = await opened.openAs("viewer", robotsPath);
  await viewer.page.locator(".scope", { hasText: "you need identity.create" }).waitFor();
  await viewer.page.locator("tbody a", { hasText: "old-cluster" }).click();
  await viewer.page.locator(".command code", { hasText: "gantry iam pull-tokens create" }).waitFor();
  assert.equal(await viewer.page.locator("section.details button:not(.copy)").count(), 0);
  await visit(viewer.page, `${organizationPath}/payments/-/identities`);
  await viewer.page.locator(".section-about", { hasText: "you need identity.update and identity.delete" }).waitFor();
  assert.equal(await viewer.page.locator("td.action").count(), 0);
  await visit(viewer.page, `${robotsPath}?robot=${"0".repeat(40)}`);
  await viewer.page.locator(".empty", { hasText: "does not exist any more" }).waitFor();
  const nobody = await opened.openAs("nobody", robotsPath);
  await nobody.page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  await Promise.all([viewer.page.close(), nobody.page.close()]);
});

test("the list and an account pass axe and do not scroll sideways, for each size and theme", async () => {
  const { page, problems } = await opened.openAs("owner", robotsPath);
  for (const { size, colorScheme } of views) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await visit(page, robotsPath);
    await page.locator("tbody tr", { hasText: "old-cluster" }).waitFor();
    await requireAccessible(page, `${size.width} px, ${colorScheme}`);
    await page.locator("tbody a", { hasText: "release" }).click();
    await page.locator("section.details .role").first().waitFor();
    await settled(page);
    await requireAccessible(page, `an account at ${size.width} px, ${colorScheme}`);
  }
  assert.deepEqual(problems, []);
  await page.close();
});
