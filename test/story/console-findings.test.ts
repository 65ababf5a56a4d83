// Findings in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { objectList, text } from "#base/json.ts";
import { openConsoleWorld, requireAccessible, requireOperations, requireViews, showsText, showsTexts, type ConsoleWorld, visit } from "../console.ts";
import { npm, pushImage } from "../image-layers.ts";
import { openOwners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import type { World } from "../world.ts";
import { runImport } from "./import.ts";

let opened: ConsoleWorld;
let world: World;
let folder: string;

const organizationPath = "/console/first-organization";
const findingsPath = `${organizationPath}/-/findings`;
const decisionsPath = `${organizationPath}/-/decisions`;
const [critical, low] = ["CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N"];
/** A name that a tenant chooses. */
const hostile = "<img src=x onerror=alert(1)>";

const publish = async (id: string, aliases: readonly string[], name: string, score: string, fixed?: string): Promise<void> => {
  const path = join(folder, `${id}.json`);
  const affected = [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, ...(fixed ? [{ fixed }] : [])] }] }];
  const record = { schema_version: "1.7.0", id, aliases, modified: "2026-01-01T00:00:00Z", severity: [{ type: "CVSS_V3", score }], affected };
  writeFileSync(path, JSON.stringify(record));
  for (const kind of ["vulnerabilities", "advisories"] as const) assert.deepEqual((await runImport(world, kind, [path])).refused, []);
};

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-console-findings-"));
  opened = await openConsoleWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  ({ world } = opened);
  const owners = openOwners(world);
  const registry = openPusher(world, "first-organization/payments/web", () => owners.token());
  const image = await registry.image("amd64", "1.0");
  const components = ["pkg:npm/lantern@1.0.0", "pkg:npm/cable@1.0.0", `pkg:npm/${encodeURIComponent(hostile)}@1.0.0`, "pkg:gem/unknown-source@1.0.0"];
  const sbom = { bomFormat: "CycloneDX", specVersion: "1.6", components: components.map((purl) => ({ type: "library", name: purl, purl })) };
  await registry.artifact([await registry.blob(JSON.stringify(sbom), "application/vnd.cyclonedx+json")], { subject: image });
  const vex = {
    "@context": "https://openvex.dev/ns/v0.2.0",
    "@id": "https://supplier.example/vex/1",
    author: hostile,
    timestamp: "2026-01-15T00:00:00Z",
    version: 1,
    statements: [
      {
        vulnerability: { name: "CVE-2026-1001" },
        products: [{ "@id": "pkg:npm/lantern@1.0.0" }],
        status: "not_affected",
        justification: "vulnerable_code_not_present",
        impact_statement: `The parser is not built. ${hostile}`,
      },
    ],
  };
  await registry.artifact([await registry.blob(JSON.stringify(vex), "application/openvex+json")], { subject: image });
  await world.server.sboms.turn();
  await publish("GHSA-aaaa-0001", ["CVE-2026-1001"], "lantern", critical, "2.0.0");
  await publish("GHSA-aaaa-0002", ["CVE-2026-1002"], "cable", low);
});
after(async () => {
  await opened?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("findings are listed worst first with their fix, counted by severity, and never without what no source covers", async () => {
  const { page, problems, requests } = await opened.openAs("viewer", organizationPath);
  const before = requests.length;
  await visit(page, findingsPath);
  const rows = page.locator("tbody tr");
  await rows.first().waitFor();
  const isTree = ({ searchParams }: URL): boolean => searchParams.get("pageSize") === "200";
  const sent = requests.slice(before).filter(({ url }) => !url.pathname.startsWith("/console/assets/") && !isTree(url));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  await showsText(rows.nth(0), /^CVE-2026-1001.*Critical.*lantern 1\.0\.0.*2\.0\.0.*web:1\.0/);
  await showsText(rows.nth(1), /^CVE-2026-1002.*Low.*cable 1\.0\.0.*No fix/);
  await showsTexts(page.locator(".counts li"), ["Critical 1", "Low 1"]);
  await showsText(page.locator(".notice"), /1 of 1 image has packages that no source covers.*RubyGems/);
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a filter is set by keyboard alone and is in the address, and an empty answer says what it leaves out", async () => {
  const { page, problems } = await opened.openAs("viewer", findingsPath);
  await page.locator(".counts a", { hasText: "Critical" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("severity") === "critical");
  await page.locator(".card .count", { hasText: "1 finding" }).waitFor();
  const form = page.locator(".filters");
  await form.locator("input").first().fill("CVE-2026-1002");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("vulnerability") === "CVE-2026-1002");
  await page.locator(".empty", { hasText: "No findings match" }).waitFor();
  await showsText(page.locator(".notice"), /no source covers/);
  await form.locator("a", { hasText: "Clear" }).click();
  await page.locator(".card .count", { hasText: "2 findings" }).waitFor();
  await form.locator("label", { hasText: "With a fix" }).click();
  await form.locator("button[type=submit]").click();
  await page.waitForURL((url) => url.searchParams.has("fixable"));
  await page.locator("tbody tr", { hasText: "CVE-2026-1001" }).waitFor();
  await page.locator("summary", { hasText: "The same request" }).click();
  await showsText(page.locator(".same-request"), /gantry findings list .*--fixable/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("findings are grouped by package, and a package leads to its findings", async () => {
  const { page, problems, requests } = await opened.openAs("viewer", findingsPath);
  const form = page.locator(".filters");
  await form.locator("select").nth(2).selectOption({ label: "Package" });
  await form.locator("button[type=submit]").click();
  await page.waitForURL((url) => url.searchParams.get("by") === "package");
  const rows = page.locator(".card", { hasText: "Findings by package" }).locator("tbody tr");
  await rows.first().waitFor();
  await showsText(rows.nth(0), /^pkg:npm\/lanternCritical1110(?:now|\d+ \w+ ago)$/);
  await showsText(rows.nth(1), /^pkg:npm\/cableLow1100(?:now|\d+ \w+ ago)$/);
  assert.equal(await rows.count(), 2);
  await showsText(page.locator(".notice"), /no source covers/);
  await requireViews(page, "findings");
  await rows.first().locator("a").click();
  await page.locator(".card .count", { hasText: "1 finding" }).waitFor();
  await page.locator("tbody tr", { hasText: "CVE-2026-1001" }).waitFor();
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("VEX statements attached to the image are shown next to their finding and in the form that decides, as claims", async () => {
  const { page, problems, requests } = await opened.openAs("owner", findingsPath);
  const row = page.locator("tbody tr", { hasText: "CVE-2026-1001" });
  await row.locator(".badge", { hasText: "VEX: not affected" }).waitFor();
  assert.equal(await page.locator("tbody tr", { hasText: "CVE-2026-1002" }).locator(".badge").count(), 0);
  await row.locator("button").focus();
  await page.keyboard.press("Enter");
  const statements = page.locator("dialog section.statements");
  await showsText(statements, /Not affected, the vulnerable code is not in the component claimed by <img src=x onerror=alert\(1\)>/);
  await showsText(statements, /The parser is not built\. <img src=x/);
  assert.equal(await page.locator("main img, dialog img, [onerror]").count(), 0);
  await requireAccessible(page, "VEX statements");
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a finding is decided after its effect is shown, leaves the list, and is open again when the decision is withdrawn", async () => {
  const { page, problems, requests } = await opened.openAs("owner", findingsPath);
  const row = page.locator("tbody tr", { hasText: "CVE-2026-1002" });
  await row.locator("button").focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("select:focus").waitFor();
  await dialog.locator("[role=status]", { hasText: "This concerns 1 finding in images" }).waitFor();
  await requireViews(page, "form");
  await page.keyboard.press("a");
  await dialog.locator("label", { hasText: "Accepted until" }).waitFor();
  const submit = dialog.locator("button[type=submit]");
  await submit.click();
  await dialog.locator(".problem").first().waitFor();
  assert.equal(await dialog.locator(".problem").count(), 1, "the reason is required");
  await dialog.locator("textarea").fill("Nobody reaches this code.");
  await submit.click();
  await dialog.locator(".problem", { hasText: "required for ACCEPTED" }).waitFor();
  await dialog.locator("select").first().selectOption({ label: "Not affected" });
  await dialog.locator("summary", { hasText: "The same request" }).click();
  await showsText(
    dialog.locator(".command code").nth(1),
    /^gantry findings decisions create --parent [0-9a-f]{40} --vulnerability CVE-2026-1002 .*--state FINDING_DECISION_STATE_NOT_AFFECTED /,
  );
  await dialog.locator("textarea").press("Tab");
  await submit.focus();
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await world.server.sboms.turn();
  await row.waitFor({ state: "detached" });
  await visit(page, decisionsPath);
  const decision = page.locator("tbody tr", { hasText: "CVE-2026-1002" });
  await decision.waitFor();
  await showsText(decision, /npm\/cable.*Not affected.*Nobody reaches this code\..*The vulnerable code is not in the component/);
  await requireViews(page, "decisions");
  await decision.locator("button").click();
  await dialog.locator("button.danger").click();
  await dialog.waitFor({ state: "detached" });
  await page.locator(".empty", { hasText: "No decisions" }).waitFor();
  await world.server.sboms.turn();
  await visit(page, findingsPath);
  await row.waitFor();
  requireOperations(requests);
  assert.deepEqual(
    problems.filter((problem) => !/status of 400/.test(problem)),
    [],
  );
  await page.close();
});

test("the form says that another person must approve, and a decision of another person is approved on the page of decisions", async () => {
  const owners = openOwners(world);
  const [token, parent] = [await owners.token(), world.organization];
  const policies = "gantry.decisions.v1.DecisionApprovalPoliciesService";
  const { uid } = await world.ok(`${policies}/CreateDecisionApprovalPolicy`, { parent, decisionApprovalPolicy: {} }, { token });
  const findingDecision = { vulnerability: "CVE-2026-1001", state: "FINDING_DECISION_STATE_FALSE_POSITIVE", reason: "Another lantern." };
  await world.ok("gantry.decisions.v1.DecisionsService/CreateFindingDecision", { parent, findingDecision }, { token });
  const { page, problems, requests } = await opened.openAs("owner", findingsPath);
  const dialog = page.locator("dialog");
  await page.locator("tbody tr", { hasText: "CVE-2026-1002" }).locator("button").click();
  await dialog.locator(".notice", { hasText: "Another person must approve" }).waitFor();
  await dialog.locator("textarea").fill("Nobody reaches this code.");
  await dialog.locator("button[type=submit]").click();
  await dialog.waitFor({ state: "detached" });
  await visit(page, decisionsPath);
  const [own, other] = ["CVE-2026-1002", "CVE-2026-1001"].map((id) => page.locator("tbody tr", { hasText: id }));
  assert.ok(own && other);
  await showsText(own, /Not affected.*Waits for an approval/);
  await showsText(other, /False positive.*Waits for an approval/);
  await requireViews(page, "pending decisions");
  const approve = async (row: typeof other): Promise<void> => {
    await row.getByRole("button", { name: "Approve" }).click();
    await dialog.locator(".form-actions .primary").click();
  };
  await approve(own);
  await dialog.locator("[role=alert]", { hasText: "the author cannot approve" }).waitFor();
  await page.keyboard.press("Escape");
  await approve(other);
  await dialog.waitFor({ state: "detached" });
  await showsText(other, /False positive.*Approved/);
  assert.equal(await other.getByRole("button", { name: "Approve" }).count(), 0);
  await world.server.sboms.turn();
  await visit(page, findingsPath);
  await page.locator("tbody tr", { hasText: "CVE-2026-1002" }).waitFor();
  await page.locator("tbody tr", { hasText: "CVE-2026-1001" }).waitFor({ state: "detached" });
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
  await world.ok(`${policies}/DeleteDecisionApprovalPolicy`, { uid: String(uid) }, { token });
  const left = await world.ok("gantry.decisions.v1.DecisionsService/ListFindingDecisions", {}, { token });
  for (const each of objectList(left, "findingDecisions"))
    await world.ok("gantry.decisions.v1.DecisionsService/DeleteFindingDecision", { uid: text(each, "uid") }, { token });
  await world.server.sboms.turn();
});

test("a caller who may not decide gets no button, and the page of decisions names the permission", async () => {
  const { page, problems } = await opened.openAs("viewer", findingsPath);
  await page.locator("tbody tr").first().waitFor();
  assert.equal(await page.locator("tbody button", { hasText: "Decide" }).count(), 0);
  await visit(page, decisionsPath);
  await page.locator("main", { hasText: "gantry.findings.decide" }).waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});

test("the page passes axe and does not scroll sideways, for each size and theme, and shows nothing to a caller without permissions", async () => {
  const { page, problems } = await opened.openAs("owner", findingsPath);
  await page.locator("tbody tr").first().waitFor();
  await requireViews(page, "findings");
  assert.equal(await page.locator("main img, [onerror]").count(), 0);
  assert.deepEqual(problems, []);
  await page.close();
  const nobody = await opened.openAs("nobody", findingsPath);
  await nobody.page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  await nobody.page.close();
});

test("findings by day are drawn once two days were counted", async () => {
  assert.equal(await opened.openAs("viewer", findingsPath).then(({ page }) => page.locator(".trend").count()), 0);
  world.clock.now += 86_400_000;
  await world.server.sboms.turn();
  const { page, problems, requests } = await opened.openAs("viewer", findingsPath);
  await page.locator(".card", { hasText: "Findings by day" }).locator(".trend .bar.critical").waitFor();
  await showsText(page.locator(".card", { hasText: "Findings by day" }).locator(".count"), /^0 on [-0-9]{10}, 2 on [-0-9]{10}$/);
  await requireViews(page, "findings");
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("findings say whether the base image has their package, are filtered by both, and are grouped by base image, which leads to its page", async () => {
  const owners = openOwners(world);
  const registry = (repo: string) => openPusher(world, `first-organization/based/${repo}`, () => owners.token());
  const base = await pushImage(registry("base"), "12", [npm("lantern", "1.0.0")]);
  await pushImage(registry("app"), "1.0", [npm("lantern", "1.0.0")], [npm("cable", "1.0.0")]);
  await world.server.contents.turn();
  await world.server.sboms.turn();
  const { page, problems, requests } = await opened.openAs("viewer", `${organizationPath}/based/-/findings`);
  const rows = page.locator("tbody tr");
  await rows.first().waitFor();
  await showsText(rows.filter({ hasText: "app:1.0" }).filter({ hasText: "lantern" }), /2\.0\.0app:1\.0from the base image base:12/);
  await showsText(rows.filter({ hasText: "app:1.0" }).filter({ hasText: "cable" }), /No fixapp:1\.0from its own layersNone/);
  await showsText(rows.filter({ hasText: "base:12" }).filter({ hasNotText: "app:1.0" }), /2\.0\.0base:12None/);
  await page.getByText("Layers and base image").click();
  await page.getByLabel("Base image", { exact: true }).fill("first-organization/based/base:12");
  await page.getByLabel("Layers", { exact: true }).selectOption("Own layers");
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await showsText(rows, /cable.*app:1\.0/);
  await page.getByLabel("Layers", { exact: true }).selectOption("Base image");
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await showsText(rows, /lantern.*app:1\.0/);
  await visit(page, `${organizationPath}/based/-/findings?by=base`);
  const groups = page.locator(".card", { hasText: "Findings by base image" }).locator("tbody tr");
  await groups.first().waitFor();
  assert.equal(await groups.count(), 2);
  await showsText(groups.filter({ hasText: "base:12" }), /^base:12Critical21/);
  await showsText(groups.filter({ hasText: "Unknown" }), /^UnknownCritical11/);
  await requireViews(page, "findings");
  await groups.filter({ hasText: "base:12" }).locator("a").click();
  await page.waitForURL((url) => url.pathname.endsWith(base.digest));
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});
