// Identity providers and account associations in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { builtInRoleUid } from "#authz";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import {
  type ConsoleWorld,
  openConsoleWorld,
  pageRequests,
  requireAccessible,
  requireOperations,
  requireViews,
  showsText,
  showsValue,
  visit,
} from "../console.ts";
import { openOwners } from "../owner.ts";
import type { World } from "../world.ts";
import type { Locator } from "./browser.ts";
import { environmentOfProgram, gantry, gantryFile } from "./processes.ts";

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
  const role = dialog.getByRole("combobox", { name: "Default role" });
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

test("an open identity provider has its settings, group mappings and the state of SCIM in five requests, and its address leads to it", async () => {
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
  assert.ok(sent.length <= 5, sent.map(({ url }) => url.pathname + url.search).join("\n"));
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

const providerOf = (uid: string) => owned.ok(`${providersService}/GetIdentityProvider`, { uid });

/** Returns the lines of "The same request" in the dialog. */
const requestLines = async (dialog: Locator): Promise<string> => {
  const details = dialog.locator(".same-request");
  if ((await details.getAttribute("open")) === null) await details.locator("summary").click();
  return (await details.locator(".command code").allTextContents()).join("\n");
};

test("a change of an identity provider keeps the client secret unless one is entered, and shows a change by another user first", async () => {
  const uid = await createProvider("partners");
  const { page, problems, requests } = await opened.openAs("owner", `${providersPath}?provider=${uid}`);
  const details = page.locator("section.details");
  await details.locator("button", { hasText: "Change" }).press("Enter");
  const dialog = page.locator("dialog");
  await showsValue(dialog.getByLabel("Name"), "partners");
  await showsValue(dialog.getByLabel("Description (optional)"), hostile);
  await showsValue(dialog.getByLabel("Claim for groups (optional)"), "groups");
  await showsValue(dialog.getByLabel("Client secret"), "");
  await showsText(dialog, /the stored secret stays/);
  await dialog.getByLabel("Description (optional)").fill("Until spring");
  await dialog.getByLabel("SCIM external ID").selectOption({ label: "Claim oid (Entra ID)" });

  // Meanwhile, another user renames it.
  world.clock.now += 1000;
  await owned.ok(`${providersService}/UpdateIdentityProvider`, { identityProvider: { uid, name: "our partners" }, updateMask: "name" });
  const submit = dialog.locator("button[type=submit]");
  await submit.press("Enter");
  const conflict = dialog.locator(".conflict");
  await conflict.locator("tr", { hasText: "Name" }).filter({ hasText: "our partners" }).waitFor();
  await conflict.locator("tr", { hasText: "Until spring" }).waitFor();
  await requireAccessible(page, "an identity provider that has changed meanwhile");
  await conflict.getByText("Use the stored values").press("Enter");
  await conflict.waitFor({ state: "detached" });
  await showsValue(dialog.getByLabel("Name"), "our partners");

  // The stored secret belongs to its client.
  await dialog.getByLabel("Client ID").fill("another-client");
  await submit.press("Enter");
  await dialog.locator(".field .problem", { hasText: "clientSecret is required" }).waitFor();
  const secret = "typed-for-the-other-client";
  await dialog.getByLabel("Client secret").fill(secret);
  await dialog.getByLabel("Claim for groups (optional)").fill("");
  await dialog.getByLabel("SCIM external ID").selectOption({ label: "Claim oid (Entra ID)" });
  const shown = await requestLines(dialog);
  assert.equal(shown.includes(secret), false);
  assert.match(shown, /"clientSecret":"CLIENT_SECRET"/);
  const command = new RegExp(
    `^gantry iam identity-providers update ${uid} --name 'our partners' .*--oidc-client-secret @secret\\.txt.*--no-oidc-pkce-enabled$`,
    "m",
  );
  assert.match(shown, command);
  await submit.press("Enter");
  await dialog.waitFor({ state: "detached" });
  const stored = await providerOf(uid);
  assert.deepEqual([stored.name, stored.description, text(part(stored, "oidc"), "clientId")], ["our partners", hostile, "another-client"]);
  assert.deepEqual([part(stored, "oidc").groupsClaim, part(stored, "oidc").correlationRule], [undefined, "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID"]);
  await details.locator("dd", { hasText: "Claim oid" }).waitFor();
  assert.equal((await page.content()).includes(secret), false, "the secret is not shown again");

  // What was set once has no field, and an unchanged secret is kept.
  await details.locator("button", { hasText: "Change" }).press("Enter");
  await showsValue(dialog.getByLabel("Client secret"), "");
  assert.equal(await dialog.getByLabel("SCIM external ID").count(), 0);
  await dialog.getByLabel("Name").fill("partners");
  await dialog.getByLabel("Name").press("Enter");
  await dialog.waitFor({ state: "detached" });
  await details.locator("h2", { hasText: /^partners$/ }).waitFor();
  assert.equal(
    requests.some(({ url }) => url.href.includes(secret)),
    false,
  );
  requireOperations(requests);
  // The browser reports the refused changes.
  assert.deepEqual(
    problems.filter((each) => !/status of 4(00|12)/.test(each)),
    [],
  );
  await page.close();
  await owned.ok(`${providersService}/DeleteIdentityProvider`, { uid });
});

test("SCIM is switched on with a token that is shown once; the token is replaced with an overlap, and revoked", async () => {
  const uid = await createProvider("directory");
  const { page, problems, requests } = await opened.openAs("owner", `${providersPath}?provider=${uid}`);
  const details = page.locator("section.details");
  const dialog = page.locator("dialog");
  const submit = dialog.locator("button[type=submit]");
  const scimAnswer = async (token: string): Promise<number> =>
    (await fetch(`${world.url}/scim/v2/${uid}/Users?count=1`, { headers: { authorization: `Bearer ${token}` } })).status;
  /** Returns the token of the open dialog, and closes it. */
  const takeToken = async (): Promise<string> => {
    await dialog.locator(".notice", { hasText: "not shown again" }).waitFor();
    const [token = "", endpoint] = await dialog.locator(".command code").allTextContents();
    assert.match(token, /^cgscim_[0-9a-f]{64}$/);
    assert.equal(endpoint, `${world.url}/scim/v2/${uid}`);
    await requireAccessible(page, "a new SCIM token");
    await dialog.locator("button.primary", { hasText: "Done" }).press("Enter");
    await dialog.waitFor({ state: "detached" });
    assert.equal((await page.content()).includes(token), false, "a closed token is not in the page");
    assert.equal(
      (await page.evaluate<string>("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href])")).includes(token),
      false,
    );
    return token;
  };
  await details.locator("button", { hasText: "Generate token" }).press("Enter");
  await dialog.getByLabel("Expires (optional)").fill("2020-01-01");
  await submit.press("Enter");
  await dialog.locator(".field .problem", { hasText: "must be in the future" }).waitFor();
  await dialog.getByLabel("The token never expires").press("Space");
  assert.match(await requestLines(dialog), new RegExp(`^gantry iam identity-providers generate-scim-token ${uid} --never-expires$`, "m"));
  await submit.press("Enter");
  const first = await takeToken();
  await showsText(details, /SCIM tokenValidExpiresNever/);
  assert.equal(await scimAnswer(first), 401, "SCIM is off");

  // The settings have changed since the page was read: nothing happens, and the next attempt has their state.
  await details.locator("button", { hasText: "Switch SCIM on" }).press("Enter");
  await owned.ok(`${providersService}/RevokeScimToken`, { identityProviderUid: uid });
  await dialog.locator("button.primary").press("Enter");
  await dialog.locator(".notice", { hasText: "have changed since" }).waitFor();
  await dialog.getByLabel("Close").press("Enter");
  await showsText(details, /StateOffSCIM tokenRevoked/);
  await details.locator("button", { hasText: "Replace token" }).press("Enter");
  assert.equal(await dialog.getByLabel("The current token works for").count(), 0, "none works");
  await submit.press("Enter");
  const second = await takeToken();
  await details.locator("button", { hasText: "Switch SCIM on" }).press("Enter");
  await dialog.locator("button.primary").press("Enter");
  await dialog.waitFor({ state: "detached" });
  await showsText(details, /StateOnSCIM tokenValid/);
  assert.deepEqual([await scimAnswer(first), await scimAnswer(second)], [401, 200]);

  await details.locator("button", { hasText: "Replace token" }).press("Enter");
  await showsText(dialog, /The current token stops working after this time/);
  await dialog.getByLabel("The current token works for").selectOption({ label: "24 hours" });
  assert.match(await requestLines(dialog), new RegExp(`^gantry iam identity-providers regenerate-scim-token ${uid} --overlap 86400s --etag \\d+$`, "m"));
  await requireAccessible(page, "replacing a SCIM token");
  await submit.press("Enter");
  const third = await takeToken();
  await showsText(details, /Valid, and the one before it too.*Previous token expires/);
  assert.deepEqual([await scimAnswer(second), await scimAnswer(third)], [200, 200]);

  await details.locator("button", { hasText: "Revoke token" }).press("Enter");
  await showsText(dialog, /All SCIM tokens of the provider stop working at once/);
  await dialog.locator("button.danger").press("Enter");
  await showsText(details, /SCIM tokenRevoked/);
  assert.deepEqual([await scimAnswer(second), await scimAnswer(third)], [401, 401]);
  await details.locator("button", { hasText: "Switch SCIM off" }).press("Enter");
  await showsText(dialog, /Deactivated users can sign in again/);
  assert.match(await requestLines(dialog), /--no-enabled --etag/);
  await dialog.locator("button.danger").press("Enter");
  await showsText(details, /StateOffSCIM tokenRevoked/);
  assert.equal(
    requests.some(({ url }) => [first, second, third].some((token) => url.href.includes(token))),
    false,
  );
  requireOperations(requests);
  // The browser reports the refused requests.
  assert.deepEqual(
    problems.filter((each) => !/status of 4(00|09)/.test(each)),
    [],
  );
  await page.close();
  await owned.ok(`${providersService}/DeleteIdentityProvider`, { uid });
});

test("group mappings are added and deleted, one or several at once, and a deletion of one is undone", async () => {
  const uid = await createProvider("groups");
  const mappingsService = "iam.ExternalGroupRoleMappingsService";
  const stored = async (): Promise<readonly unknown[]> =>
    objectList(await owned.ok(`${mappingsService}/ListExternalGroupRoleMappings`, { identityProviderUid: uid }), "externalGroupRoleMappings")
      .map((each) => text(each, "externalGroupId"))
      .sort();
  const { page, problems, requests } = await opened.openAs("owner", `${providersPath}?provider=${uid}`);
  const section = page.getByRole("region", { name: "Group mappings" });
  const dialog = page.locator("dialog");
  const add = async (group: string): Promise<void> => {
    await page.locator("button", { hasText: "Add mapping" }).press("Enter");
    await dialog.locator("input:focus").waitFor();
    await page.keyboard.type(group);
    await dialog.getByRole("combobox").focus();
    await page.keyboard.type("viewer");
    await dialog.locator("[role=option]", { hasText: "viewer" }).first().waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await dialog.locator("button[type=submit]").press("Enter");
  };
  await section.locator(".empty", { hasText: "No group is mapped" }).waitFor();
  await add(hostile);
  await dialog.waitFor({ state: "detached" });
  await section.locator("tbody tr", { hasText: hostile }).filter({ hasText: "viewer" }).waitFor();
  assert.equal(await page.locator("main img, [onerror]").count(), 0);
  await add(hostile);
  await dialog.locator(".notice", { hasText: "already" }).waitFor();
  assert.match(await requestLines(dialog), new RegExp(`create --parent ${uid} --external-group-id '.*' --role-uid \\w+ --scope ${world.organization}$`, "m"));
  await requireAccessible(page, "adding a group mapping");
  await dialog.getByLabel("Close").press("Enter");
  for (const group of ["platform", "security"]) {
    await add(group);
    await dialog.waitFor({ state: "detached" });
    await section.locator("tbody tr", { hasText: group }).waitFor();
  }
  await requireViews(page, "group mappings");

  await page.getByLabel("Delete the mapping of platform").press("Enter");
  await showsText(dialog, /lose the role with their next request/);
  await dialog.locator("button.danger").press("Enter");
  await section.locator("tbody tr", { hasText: "platform" }).waitFor({ state: "detached" });
  assert.deepEqual(await stored(), [hostile, "security"]);
  await page.locator(".banner button:focus", { hasText: "Undo" }).press("Enter");
  await section.locator("tbody tr", { hasText: "platform" }).waitFor();
  for (const group of ["platform", "security"]) await page.getByRole("checkbox", { name: group }).press("Space");
  await section.locator("button.danger", { hasText: "Delete 2 mappings" }).press("Enter");
  assert.match(await requestLines(dialog), new RegExp(`batch-delete --parent ${uid} --names \\S+,\\S+$`, "m"));
  await dialog.locator("button.danger").press("Enter");
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(await stored(), [hostile]);
  await showsText(section, /1 mapping/);
  requireOperations(requests);
  // The browser reports the refused mapping.
  assert.deepEqual(
    problems.filter((each) => !each.includes("status of 409")),
    [],
  );
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

const associationsPath = `${organizationPath}/payments/-/associations`;
const associationsService = "iam.AccountAssociationsService";
const associationOf = (uid: string): Promise<JsonObject> => owned.ok(`${associationsService}/GetAccountAssociation`, { uid });

test("an account association is added by keyboard, checked, changed beside another user, deleted, and restored by one key", async () => {
  const { page, problems, requests } = await opened.openAs("owner", associationsPath);
  await page.locator(".empty", { hasText: "No accounts yet" }).waitFor();
  await page.locator("button", { hasText: "Add account association" }).press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("input:focus").waitFor();
  await page.keyboard.type("production");
  await dialog.getByLabel("Description (optional)").fill(hostile);
  const [account, clientIds] = [dialog.getByLabel("AWS account"), dialog.getByLabel("Azure client IDs")];
  await account.fill("12345");
  await clientIds.fill("scanner");
  const submit = dialog.locator("button[type=submit]");
  await submit.press("Enter");
  await dialog.locator(".field .problem", { hasText: "A line for each component" }).waitFor();
  await clientIds.fill("scanner=5e1f\nbuilder = 77=a");
  await dialog.getByLabel("Azure tenant ID").fill("00000000-0000-0000-0000-000000000000");
  await dialog.getByLabel("GitHub app installations").fill("42 9007199254740993 acme inc\n42 7");
  await dialog.getByLabel("Service identities").fill("INGESTER=someone");
  await submit.press("Enter");
  await showsText(dialog.locator(".field .problem"), /12|digits/);
  await account.fill("123456789012");
  await requireAccessible(page, "adding an account association");
  await submit.press("Enter");
  await dialog.waitFor({ state: "detached" });
  const stored = {
    uid: team,
    name: "production",
    description: hostile,
    amazon: { account: "123456789012" },
    azure: { tenantId: "00000000-0000-0000-0000-000000000000", clientIds: { scanner: "5e1f", builder: "77=a" } },
    github: { appInstallations: { "42": { installations: [{ installationId: "9007199254740993", name: "acme inc" }, { installationId: "7" }] } } },
    chainguard: { serviceBindings: { INGESTER: "someone" } },
  };
  const { createTime: _created, updateTime: _updated, ...first } = await associationOf(team);
  assert.deepEqual(first, stored);
  const section = page.getByRole("region", { name: "Accounts of this group" });
  await section.locator("dd", { hasText: "production" }).waitFor();
  assert.equal(await page.locator("main img, [onerror]").count(), 0);
  assert.equal(await page.locator("button", { hasText: "Add account association" }).count(), 0, "a group has at most one");
  await page.getByLabel("Check AWS").press("Enter");
  await showsText(section, /Not ready.*no credentials that amazon would accept/);
  await requireViews(page, "an account association");

  // The same command makes the change, and clears what the form leaves empty.
  await section.locator("button", { hasText: "Change" }).press("Enter");
  await showsValue(clientIds, "builder=77=a\nscanner=5e1f");
  await showsValue(dialog.getByLabel("GitHub app installations"), "42 9007199254740993 acme inc\n42 7");
  await account.fill("");
  await dialog.getByLabel("Service identities").fill("");
  const command = (await requestLines(dialog)).split("\n").find((line) => line.startsWith("printf ")) ?? "";
  const script = `gantry() { "${process.execPath}" "${gantryFile}" "$@"; }; ${command} --dry-run -o json`;
  const env = environmentOfProgram({ GANTRY_SERVER: world.url, GANTRY_TOKEN: await opened.tokenOf("owner") });
  const { stdout } = await promisify(execFile)("sh", ["-c", script], { env });
  assert.match(stdout, /"5e1f"/);
  assert.equal(/amazon"?: *\{|serviceBindings/.test(stdout), false, stdout);
  world.clock.now += 1000;
  await owned.ok(`${associationsService}/UpdateAccountAssociation`, { accountAssociation: { uid: team, name: "staging" }, updateMask: "name" });
  await submit.press("Enter");
  const conflict = dialog.locator(".conflict");
  await conflict.locator("tr", { hasText: "AWS account" }).filter({ hasText: "123456789012" }).waitFor();
  await conflict.getByText("Keep mine").press("Enter");
  await submit.press("Enter");
  await dialog.waitFor({ state: "detached" });
  const changed = await associationOf(team);
  assert.deepEqual([changed.name, changed.amazon, changed.chainguard, changed.azure], ["production", undefined, undefined, stored.azure]);

  await section.locator("button.danger", { hasText: "Delete" }).press("Enter");
  await showsText(dialog, /Nothing changes at the providers/);
  await dialog.locator("button.danger").press("Enter");
  await section.locator(".empty").waitFor();
  await page.locator(".banner button:focus", { hasText: "Undo" }).press("Enter");
  await section.locator("dd", { hasText: "production" }).waitFor();
  assert.equal((await associationOf(team)).name, "production");

  // The organization's page leads to the page of the group.
  await visit(page, `${organizationPath}/-/associations`);
  await section.locator(".empty").waitFor();
  await page.locator("tbody tr", { hasText: hostile }).getByRole("link", { name: "production" }).press("Enter");
  await section.locator("dd", { hasText: "production" }).waitFor();
  requireOperations(requests);
  // The browser reports the refused requests.
  assert.deepEqual(
    problems.filter((each) => !/status of 4(00|12)/.test(each)),
    [],
  );
  await page.close();
});

test("a viewer sees identity providers and account associations without a button that changes them; the others find no such page", async () => {
  const { page, problems } = await opened.openAs("viewer", `${organizationPath}/-/providers?add`);
  await page.locator("tbody tr", { hasText: "our people" }).waitFor();
  await page.locator(".section-about", { hasText: /identity_providers\.create, role_bindings\.create, .*and identity_providers\.scim\.manage/ }).waitFor();
  assert.equal(await page.locator("dialog, main td.action").count(), 0);
  assert.equal(await page.locator("button", { hasText: "Add identity provider" }).count(), 0);
  await visit(page, `${providersPath}?view=below`);
  await page.locator(".empty", { hasText: "No identity provider" }).waitFor();
  await visit(page, `${providersPath}?skip=5000`);
  await page.locator(".pager", { hasText: "after the last" }).waitFor();
  const uid = await createProvider("seen");
  await visit(page, `${providersPath}?provider=${uid}&edit`);
  await page.locator("section.details h2", { hasText: "seen" }).waitFor();
  await page.locator(".empty", { hasText: "No group is mapped" }).waitFor();
  assert.equal(await page.locator("main button", { hasText: /Change|SCIM|token|Add/ }).count(), 0);
  await visit(page, `${associationsPath}?edit`);
  await page.locator(".section-about", { hasText: "account_associations.create, account_associations.update, and account_associations.delete" }).waitFor();
  await page.locator("dd", { hasText: "production" }).waitFor();
  assert.equal(await page.locator("dialog").count(), 0);
  assert.equal(await page.locator("main button", { hasText: /Change|Add|Delete/ }).count(), 0);
  assert.deepEqual(problems, []);
  const nobody = await opened.openAs("nobody", providersPath);
  for (const path of [providersPath, associationsPath]) {
    await visit(nobody.page, path);
    await nobody.page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  }
  await Promise.all([page.close(), nobody.page.close()]);
});
