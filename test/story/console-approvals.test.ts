// Approvals of decisions and trusted sources of VEX in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { objectList, text } from "#base/json.ts";
import {
  type ConsoleWorld,
  openConsoleWorld,
  pageRequests,
  requireAccessible,
  requireOperations,
  requireViews,
  showsText,
  visit,
  type Watched,
} from "../console.ts";
import { openOwners } from "../owner.ts";
import { ed25519Key, sourcesService } from "../signed-vex.ts";
import type { World } from "../world.ts";
import { gantry } from "./processes.ts";

let opened: ConsoleWorld;
let world: World;
let owned: World;
let team = "";
let repo = "";

const organizationPath = "/console/first-organization";
const approvalsPath = `${organizationPath}/payments/-/approvals`;
const vexPath = `${organizationPath}/payments/-/vex`;
const policies = "gantry.decisions.v1.DecisionApprovalPoliciesService";
const decisions = "gantry.decisions.v1.DecisionsService";
/** A text that a tenant chooses. */
const hostile = "<img src=x onerror=alert(1)>";

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
  owned = openOwners(world).world();
  team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "payments" } }), "uid");
  repo = text(await owned.ok("registry.ReposService/CreateRepo", { parent: team, repo: { name: "ledger" } }), "uid");
});
after(() => opened?.close());

/** Opens a page after another of the same group, and requires that it sends at most four requests. */
const openFrugally = async (path: string, shown: string): Promise<Watched> => {
  const watched = await opened.openAs("owner", `${organizationPath}/payments`);
  const before = watched.requests.length;
  await visit(watched.page, path);
  await watched.page.locator("main").getByText(shown).first().waitFor();
  await watched.page.waitForLoadState("networkidle");
  const sent = pageRequests(watched.requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname + url.search).join("\n"));
  return watched;
};

const policyNames = async (): Promise<string[]> =>
  objectList(await owned.ok(`${policies}/ListDecisionApprovalPolicies`, { uidp: { childrenOf: team } }), "decisionApprovalPolicies").map((each) =>
    text(each, "description"),
  );

test("approvals are required by keyboard alone, a decision then waits on the page, and a deleted policy is restored by one key", async () => {
  await owned.ok(`${policies}/CreateDecisionApprovalPolicy`, { parent: world.organization, decisionApprovalPolicy: { description: hostile } });
  const { page, problems, requests } = await openFrugally(approvalsPath, hostile);
  assert.equal(await page.locator("main img, [onerror]").count(), 0);
  const row = (reason: string) => page.locator("tbody tr", { hasText: reason });
  await row(hostile).locator("a", { hasText: "first-organization" }).waitFor();
  await page.locator("button", { hasText: "Require approvals" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("input:focus").waitFor();
  await page.keyboard.type("Two people for each exception");
  await dialog.locator("summary", { hasText: "The same request" }).click();
  const command = `gantry findings decision-approval-policies create --parent ${team} --description 'Two people for each exception'`;
  await dialog.locator(".command code").getByText(command, { exact: true }).waitFor();
  await requireAccessible(page, "requiring approvals");
  await dialog.locator("input").press("Enter");
  await dialog.waitFor({ state: "detached" });
  await row("Two people").filter({ hasText: "Here" }).waitFor();
  assert.deepEqual(await policyNames(), ["Two people for each exception"]);

  const findingDecision = { vulnerability: "CVE-2026-1001", state: "FINDING_DECISION_STATE_FALSE_POSITIVE", reason: "Another lantern." };
  await world.ok(`${decisions}/CreateFindingDecision`, { parent: team, findingDecision }, { token: await openOwners(world).token() });
  await visit(page, `${organizationPath}/payments`);
  await visit(page, `${approvalsPath}?view=below`);
  const pending = row("CVE-2026-1001");
  await showsText(pending, /False positive.*Waits for an approval/);
  await requireViews(page, "approvals");
  await pending.getByRole("button", { name: "Approve the decision about CVE-2026-1001" }).focus();
  await page.keyboard.press("Enter");
  await dialog.locator("summary", { hasText: "The same request" }).click();
  await dialog
    .locator(".command code")
    .getByText(/^gantry findings decisions approve [0-9a-f/]+$/)
    .waitFor();
  await dialog.locator(".form-actions .primary").press("Enter");
  await pending.waitFor({ state: "detached" });
  await page.locator(".empty", { hasText: "No decision waits for an approval" }).waitFor();

  await page.getByLabel("Delete the policy of payments").focus();
  await page.keyboard.press("Enter");
  await dialog.locator("button.danger").press("Enter");
  await row("Two people").waitFor({ state: "detached" });
  assert.deepEqual(await policyNames(), []);
  const undo = page.locator(".banner button:focus", { hasText: "Undo" });
  await undo.waitFor();
  await requireAccessible(page, "an offer to undo");
  await page.keyboard.press("Enter");
  await row("Two people").waitFor();
  await undo.waitFor({ state: "detached" });
  assert.deepEqual(await policyNames(), ["Two people for each exception"]);
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a source of VEX is trusted by keyboard alone for a repo below, a bad key is refused at its field, and a deleted source is restored", async () => {
  const { page, problems, requests } = await openFrugally(vexPath, "No source is trusted");
  await page.locator("button", { hasText: "Trust a source" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("input:focus").waitFor();
  await page.keyboard.type("supplier");
  await dialog.getByLabel("Public key").focus();
  await page.keyboard.insertText("no key");
  await dialog.locator("button[type=submit]").press("Enter");
  await dialog.locator(".field .problem").waitFor();
  const { publicKey } = ed25519Key();
  await dialog.getByLabel("Public key").press("ControlOrMeta+A");
  await page.keyboard.insertText(publicKey);
  const picker = dialog.getByRole("combobox");
  await picker.focus();
  await page.keyboard.type("ledger");
  await dialog.locator("[role=option]", { hasText: "first-organization/payments/ledger" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await dialog.locator("summary", { hasText: "The same request" }).click();
  const shown = dialog.locator(".command code", { hasText: /^gantry findings vex-sources create/ });
  await showsText(shown, new RegExp(`--parent ${team} --name supplier --public-key '-----BEGIN PUBLIC KEY-----[^']+' --repo-uid ${repo}$`));
  await requireAccessible(page, "trusting a source");
  await dialog.locator("button[type=submit]").press("Enter");
  await dialog.waitFor({ state: "detached" });
  const row = page.locator("tbody tr", { hasText: "supplier" });
  await row.locator("a", { hasText: "first-organization/payments/ledger" }).waitFor();
  const stored = async () => objectList(await owned.ok(`${sourcesService}/ListVexSources`, { uidp: { childrenOf: team } }), "vexSources");
  assert.deepEqual(
    (await stored()).map((each) => [each.name, each.repoUid, each.publicKey]),
    [["supplier", repo, publicKey]],
  );
  await requireViews(page, "trusted VEX");
  await page.locator("main > .same-request summary").click();
  const list = page.locator("main > .same-request .command code", { hasText: /^gantry findings vex-sources list/ });
  const env = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await opened.tokenOf("owner") };
  const listed = await gantry([...((await list.textContent()) ?? "").split(" ").slice(1), "-o", "name"], { env });
  assert.equal(listed.stdout.trim(), "supplier");

  await visit(page, `${organizationPath}/-/vex`);
  await page.locator(".empty", { hasText: "No source is trusted" }).waitFor();
  await page.locator(".states a", { hasText: "Here and below" }).press("Enter");
  await row.locator("a", { hasText: /^first-organization\/payments$/ }).waitFor();
  await row.getByLabel("Delete the source supplier").press("Enter");
  await dialog.locator("button.danger").press("Enter");
  await row.waitFor({ state: "detached" });
  assert.deepEqual(await stored(), []);
  await page.locator(".banner button:focus", { hasText: "Undo" }).press("Enter");
  await row.waitFor();
  assert.equal((await stored()).length, 1);
  // The offer belongs to the page of the deletion.
  await row.getByLabel("Delete the source supplier").press("Enter");
  await dialog.locator("button.danger").press("Enter");
  await page.locator(".banner button:focus").waitFor();
  await visit(page, vexPath);
  await page.locator(".banner").waitFor({ state: "detached" });
  requireOperations(requests);
  // The browser reports the refused key.
  assert.deepEqual(
    problems.filter((each) => !each.includes("status of 400")),
    [],
  );
  await page.close();
});

test("a viewer sees policies and sources without buttons and with the missing permission, and the others find no such page", async () => {
  const { page, problems } = await opened.openAs("viewer", approvalsPath);
  await page.locator(".section-about", { hasText: "you need gantry.findings.require_approval" }).waitFor();
  await page.locator(".section-about", { hasText: "you need gantry.findings.decide" }).waitFor();
  assert.equal(await page.locator("main td.action, section.card header button").count(), 0);
  await visit(page, `${vexPath}?add`);
  await page.locator(".section-about", { hasText: "you need gantry.findings.decide" }).waitFor();
  assert.equal(await page.locator("dialog, main td.action, section.card header button").count(), 0);
  await visit(page, `${vexPath}?skip=5000`);
  await page.locator(".pager", { hasText: "after the last" }).waitFor();
  assert.deepEqual(problems, []);
  const nobody = await opened.openAs("nobody", vexPath);
  await nobody.page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  await Promise.all([page.close(), nobody.page.close()]);
});
