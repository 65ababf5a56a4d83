// Identity providers in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { objectList, part, text } from "#base/json.ts";
import { type ConsoleWorld, openConsoleWorld, pageRequests, requireAccessible, requireOperations, requireViews, showsText, visit } from "../console.ts";
import { openOwners } from "../owner.ts";
import type { World } from "../world.ts";
import { gantry } from "./processes.ts";

let opened: ConsoleWorld;
let world: World;
let owned: World;
let team = "";

const organizationPath = "/console/first-organization";
const providersPath = `${organizationPath}/payments/-/providers`;
const providersService = "iam.IdentityProvidersService";
/** A text that a tenant chooses. */
const hostile = "<img src=x onerror=alert(1)>";

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
  owned = openOwners(world).world();
  team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "payments" } }), "uid");
});
after(() => opened?.close());

const providersOf = async (group: string) =>
  objectList(await owned.ok(`${providersService}/ListIdentityProviders`, { uidp: { childrenOf: group } }), "identityProviders");

const createProvider = async (name: string): Promise<string> => {
  const oidc = { issuer: "https://login.example.com", clientId: name, clientSecret: "known to two", groupsClaim: "groups" };
  const identityProvider = { name, description: hostile, defaultRole: builtInRoleUid("viewer"), oidc };
  return text(await owned.ok(`${providersService}/CreateIdentityProvider`, { parent: team, identityProvider }), "uid");
};

test("an identity provider is added by keyboard alone, its secret is shown nowhere, and its callback URL is shown to copy", async () => {
  const { page, problems, requests } = await opened.openAs("owner", providersPath);
  await page.locator("button", { hasText: "Add identity provider" }).press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("input:focus").waitFor();
  await page.keyboard.type("corporate");
  await dialog.getByLabel("Issuer").focus();
  await page.keyboard.type("ftp://login.example.com");
  const submit = dialog.locator("button[type=submit]");
  await submit.press("Enter");
  await dialog.locator(".field .problem", { hasText: "The ID of the client" }).waitFor();
  await dialog.getByLabel("Client ID").focus();
  await page.keyboard.type("gantry");
  const secret = "only-the-provider-and-gantry-know-this";
  const secretField = dialog.getByLabel("Client secret");
  assert.deepEqual([await secretField.getAttribute("type"), await secretField.getAttribute("autocomplete")], ["password", "new-password"]);
  await secretField.focus();
  await page.keyboard.type(secret);
  const role = dialog.getByRole("combobox");
  await role.focus();
  await page.keyboard.type("viewer");
  await dialog.locator("[role=option]", { hasText: "viewer" }).first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await submit.press("Enter");
  await showsText(dialog.locator(".field .problem"), /https/);
  await dialog.getByLabel("Issuer").press("ControlOrMeta+A");
  await page.keyboard.type("https://login.example.com");
  await dialog.locator("summary", { hasText: "The same request" }).click();
  const commands = dialog.locator(".command code");
  const command =
    `gantry iam identity-providers create --parent ${team} --name corporate --default-role ${builtInRoleUid("viewer")} ` +
    "--oidc-issuer https://login.example.com --oidc-client-id gantry --oidc-client-secret @secret.txt " +
    "--oidc-additional-scopes email,profile --oidc-pkce-enabled";
  await commands.getByText(command, { exact: true }).waitFor();
  const shown = (await commands.allTextContents()).join("\n");
  assert.match(shown, /"clientSecret":"CLIENT_SECRET"/);
  assert.equal(shown.includes(secret), false, "the same request has a placeholder");
  await requireAccessible(page, "adding an identity provider");
  await submit.press("Enter");
  await dialog.waitFor({ state: "detached" });

  const [stored, ...others] = await providersOf(team);
  const uid = text(stored ?? {}, "uid");
  assert.deepEqual([stored?.name, stored?.defaultRole, others.length], ["corporate", builtInRoleUid("viewer"), 0]);
  const expected = { issuer: "https://login.example.com", clientId: "gantry", additionalScopes: ["email", "profile"], pkceEnabled: true };
  assert.deepEqual(part(stored ?? {}, "oidc"), expected);
  const details = page.locator("section.details");
  await details.locator("h2:focus", { hasText: "corporate" }).waitFor();
  await details.locator(".command code").getByText(`${world.url}/oauth/callback/${uid}`, { exact: true }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get("provider"), uid);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: world.url });
  await page.locator("tbody tr", { hasText: "corporate" }).getByLabel("Copy: callback URL of corporate").press("Enter");
  await page.locator(".copy.done").waitFor();
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), `${world.url}/oauth/callback/${uid}`);
  assert.equal((await page.content()).includes(secret), false, "the secret is not shown again");
  assert.equal(
    requests.some(({ url }) => url.href.includes(secret)),
    false,
  );
  requireOperations(requests);
  // The browser reports the refused issuer.
  assert.deepEqual(
    problems.filter((each) => !each.includes("status of 400")),
    [],
  );
  await page.close();
  await owned.ok(`${providersService}/DeleteIdentityProvider`, { uid });
});

test("an open identity provider has its settings and the state of SCIM in four requests, and its address leads to it", async () => {
  const uid = await createProvider("staff");
  const { page, problems, requests } = await opened.openAs("owner", `${organizationPath}/payments`);
  const before = requests.length;
  await visit(page, `${providersPath}?provider=${uid}`);
  const details = page.locator("section.details");
  await details.locator("h2", { hasText: "staff" }).waitFor();
  await details.locator("dd .role", { hasText: "viewer" }).waitFor();
  for (const setting of ["https://login.example.com", "groups", `${world.url}/scim/v2/${uid}`])
    await details.locator("dd").getByText(setting).first().waitFor();
  await showsText(details, /StateOffSCIM tokenNone/);
  // Providers of the groups above apply, too.
  const above = page.locator("tbody tr", { hasText: "our people" });
  await above.locator("a", { hasText: "first-organization" }).waitFor();
  assert.equal(await above.getByLabel(/^Delete/).count(), 0, "the permission applies to the group and below");
  await page.locator("tbody tr", { hasText: hostile }).waitFor();
  assert.equal(await page.locator("main img, [onerror]").count(), 0);
  await page.waitForLoadState("networkidle");
  const sent = pageRequests(requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname + url.search).join("\n"));
  await requireViews(page, "an open identity provider");

  await page.locator("main > .same-request summary").click();
  const env = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await opened.tokenOf("owner") };
  const commands = page.locator("main > .same-request .command code");
  for (const [kind, printed] of [
    ["list", ["our people", "staff"]],
    ["get", ["staff"]],
  ] as const) {
    const words = ((await commands.filter({ hasText: new RegExp(`^gantry iam identity-providers ${kind} `) }).textContent()) ?? "").split(" ").slice(1);
    assert.deepEqual((await gantry([...words, "-o", "name"], { env })).stdout.trim().split("\n"), printed);
  }
  await details.getByLabel("Close").press("Enter");
  await details.waitFor({ state: "detached" });
  await visit(page, `${providersPath}?provider=${team}/0123456789abcdef`);
  await details.locator(".empty", { hasText: "Nothing at this address" }).waitFor();
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
  await owned.ok(`${providersService}/DeleteIdentityProvider`, { uid });
});

test("the deletion of an identity provider names its effect, and is undone by one key", async () => {
  const uid = await createProvider("leaving");
  const { page, problems } = await opened.openAs("owner", `${organizationPath}/-/providers?view=below&provider=${uid}`);
  const row = page.locator("tbody tr", { hasText: "leaving" });
  await row.locator("a", { hasText: /^first-organization\/payments$/ }).waitFor();
  await row.getByLabel("Delete the identity provider leaving").press("Enter");
  const dialog = page.locator("dialog");
  await showsText(dialog, /can no longer sign in, and their refresh tokens are revoked.*Identities and role bindings stay.*users sign in again/);
  await dialog.locator("summary", { hasText: "The same request" }).click();
  await dialog.locator(".command code").getByText(`gantry iam identity-providers delete ${uid}`, { exact: true }).waitFor();
  await requireAccessible(page, "deletion of an identity provider");
  await dialog.locator("button.danger").press("Enter");
  await row.waitFor({ state: "detached" });
  await page.locator("section.details").waitFor({ state: "detached" });
  assert.deepEqual(await providersOf(team), []);
  await page.locator(".banner button:focus", { hasText: "Undo" }).press("Enter");
  await row.waitFor();
  assert.deepEqual(
    (await providersOf(team)).map((each) => each.uid),
    [uid],
  );
  assert.deepEqual(problems, []);
  await page.close();
  await owned.ok(`${providersService}/DeleteIdentityProvider`, { uid });
});

test("a viewer sees identity providers without a button to add or delete, with the missing permissions; the others find no such page", async () => {
  const { page, problems } = await opened.openAs("viewer", `${organizationPath}/-/providers?add`);
  await page.locator("tbody tr", { hasText: "our people" }).waitFor();
  await page.locator(".section-about", { hasText: "identity_providers.create, role_bindings.create, and identity_providers.delete" }).waitFor();
  assert.equal(await page.locator("dialog, main td.action").count(), 0);
  assert.equal(await page.locator("button", { hasText: "Add identity provider" }).count(), 0);
  await visit(page, `${providersPath}?view=below`);
  await page.locator(".empty", { hasText: "No identity provider" }).waitFor();
  await visit(page, `${providersPath}?skip=5000`);
  await page.locator(".pager", { hasText: "after the last" }).waitFor();
  assert.deepEqual(problems, []);
  const nobody = await opened.openAs("nobody", providersPath);
  await nobody.page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  await Promise.all([page.close(), nobody.page.close()]);
});
