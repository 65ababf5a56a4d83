// Requests for libraries and the catalog in the console.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { objectList, part, text } from "#base/json.ts";
import type { LibraryArtifactRecord } from "#advisories/store";
import {
  openConsoleWorld,
  pageRequests,
  requireAccessible,
  requireOperations,
  requireViews,
  showsText,
  showsTexts,
  type ConsoleWorld,
  visit,
} from "../console.ts";
import { openOwners } from "../owner.ts";
import type { World } from "../world.ts";
import { writeTestRecords } from "./records.ts";

const requestGroups = "chainguard.platform.libraries.v2beta1.RequestGroupsService";
const librariesPath = "/console/first-organization/payments/-/libraries";

const library = (name: string, versions: readonly string[], more: Partial<LibraryArtifactRecord> = {}): LibraryArtifactRecord => ({
  kind: "library",
  ecosystem: "ECOSYSTEM_PYTHON",
  name,
  versions: versions.map((version) => ({ version, sizeBytes: 2_500_000 })),
  ...more,
});

let opened: ConsoleWorld;
let world: World;
let owned: World;
let team: string;

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
  owned = openOwners(world).world();
  team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "payments" } }), "uid");
  await writeTestRecords(world, [
    library("requests", ["2.31.0", "2.32.3", "2.32.4"], { description: "HTTP for humans", remediated: true }),
    library("flask", ["3.0.0"]),
    ...Array.from({ length: 53 }, (_, n) => library(`package-${String(n).padStart(2, "0")}`, ["1.0"])),
    library("org.slf4j:slf4j-api", ["2.0.13"], { ecosystem: "ECOSYSTEM_JAVA" }),
  ]);
});
after(() => opened?.close());

test("a request is created from a file, cleaned of invalid lines, renamed, submitted and seen in the demand, by keyboard alone", async () => {
  const { page, problems, requests } = await opened.openAs("owner", librariesPath);
  await page.locator(".empty", { hasText: "No requests" }).waitFor();
  await page.locator("button", { hasText: "New request" }).press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("input:focus").waitFor();
  await page.keyboard.press("Enter");
  await dialog.locator(".problem", { hasText: "One library on a line" }).waitFor();
  await dialog.getByLabel("Name (optional)").fill("backend");
  const content = "requests==2.32.3\nflask>=2\nurllib3==2.2.1\n-r other.txt\n";
  await dialog.getByLabel("File").setInputFiles({ name: "big.txt", mimeType: "text/plain", buffer: Buffer.alloc(1_048_577, "a") });
  await dialog.locator(".problem", { hasText: "larger than 1 MiB" }).waitFor();
  await dialog.getByLabel("File").setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from(content) });
  await dialog.locator("button[type=submit]").press("Enter");
  await dialog.locator(".problem", { hasText: "the filename does not show it" }).waitFor();
  await dialog.getByLabel("File").setInputFiles({ name: "requirements.txt", mimeType: "text/plain", buffer: Buffer.from(content) });
  await dialog.getByLabel("Ask for fixes").press("Space");
  await dialog.locator("summary", { hasText: "The same request" }).press("Enter");
  const flags = "--name backend --content @requirements.txt --filename requirements.txt --for-cve-remediation";
  await showsText(dialog.locator(".command code").nth(1), new RegExp(`^gantry libraries request-groups create --parent ${team} ${flags}$`));
  await requireAccessible(page, "creating a request");
  await dialog.locator("button[type=submit]").press("Enter");
  await page.waitForURL((url) => url.searchParams.has("request"));
  const uid = new URL(page.url()).searchParams.get("request") ?? "";
  const [details, items] = [page.locator("section.card").nth(0), page.locator("section.card").nth(1)];
  const rows = items.locator("tbody tr");
  await showsText(details, /backend.*Draft.*1 of 4.*requirements\.txt · Python/);
  await showsText(rows.nth(0), /^requests==2\.32\.3.*In the catalog.*latest 2\.32\.4/);
  await showsText(rows.nth(1), /^flask>=2.*Invalid/);
  await showsText(rows.nth(2), /^urllib3==2\.2\.1.*Missing/);
  assert.equal(await details.locator("button", { hasText: "Submit" }).count(), 0);
  assert.equal(await details.locator("button", { hasText: "Refresh" }).count(), 0);
  await requireAccessible(page, "a draft");

  await page.locator(".banner", { hasText: "2 lines name no exact version" }).locator("button").press("Enter");
  await dialog.locator(".sentence", { hasText: "2 items" }).waitFor();
  await dialog.locator("button.primary").press("Enter");
  await dialog.waitFor({ state: "detached" });
  assert.equal(await page.locator(".banner").count(), 0);
  await showsText(details, /1 of 2/);
  await showsText(rows.nth(1), /^flask>=2.*Removed/);
  await items.getByLabel("Remove urllib3==2.2.1").press("Enter");
  await dialog.locator("button.primary").press("Enter");
  await dialog.waitFor({ state: "detached" });
  await showsText(details, /1 of 1/);
  await items.getByLabel("Restore urllib3==2.2.1").press("Enter");
  await dialog.locator("summary", { hasText: "The same request" }).press("Enter");
  await showsText(dialog.locator(".command code").nth(1), new RegExp(`^gantry libraries request-groups restore-items ${uid} --item-uids ${uid}/\\S+$`));
  await dialog.locator("button.primary").press("Enter");
  await dialog.waitFor({ state: "detached" });
  await showsText(details, /1 of 2/);
  await page.locator(".states a", { hasText: "Missing" }).press("Enter");
  await items.locator(".count", { hasText: "1 item" }).waitFor();

  await details.locator("button", { hasText: "Rename" }).press("Enter");
  await dialog.getByLabel("Name (optional)").fill("mine");
  await owned.ok(`${requestGroups}/UpdateRequestGroup`, { requestGroup: { uid, name: "theirs" }, updateMask: "name" });
  await page.keyboard.press("Enter");
  await showsTexts(dialog.locator(".conflict tbody tr > *"), ["Name (optional)", "mine", "theirs"]);
  await dialog.locator("button", { hasText: "Keep mine" }).press("Enter");
  await dialog.locator("button[type=submit]").press("Enter");
  await dialog.waitFor({ state: "detached" });
  await details.locator("h2", { hasText: "mine" }).waitFor();

  await details.locator("button", { hasText: "Submit" }).press("Enter");
  await dialog.locator("p", { hasText: "only the operator can delete" }).waitFor();
  await dialog.locator("button.primary").press("Enter");
  await showsText(details, /Submitted.*1 of 2/);
  await showsText(details, /Fixes are asked for/);
  assert.equal(await details.locator("button", { hasText: "Delete" }).count(), 0);
  assert.equal(await items.locator("tbody button").count(), 0);
  const stored = await owned.ok(`${requestGroups}/GetRequestGroup`, { uid });
  assert.equal(text(stored, "status"), "REQUEST_GROUP_STATUS_PROCESSING");
  assert.equal(Number(part(stored, "availabilitySummary").removed), 2);

  await visit(page, librariesPath);
  await showsText(page.locator("tbody tr"), /^mine.*Submitted.*1 of 2/);
  await page.locator(".states a", { hasText: "Requested libraries" }).press("Enter");
  await showsTexts(page.locator("tbody th"), ["requests", "urllib3"]);
  await page.locator("tbody a", { hasText: "urllib3" }).press("Enter");
  await showsText(page.locator("tbody tr"), /^2\.2\.1.*Missing.*mine/);
  await requireAccessible(page, "demand");
  await page.locator("tbody a", { hasText: "mine" }).press("Enter");
  await showsText(details, /mine.*Submitted/);
  requireOperations(requests);
  // The browser reports the refused file, and the change of an outdated version.
  assert.deepEqual(
    problems.filter((each) => !/status of (?:400|412)/.test(each)),
    [],
  );
  await page.close();
});

test("a draft from pasted text is deleted with the mouse and brought back; the operator refreshes and deletes what was submitted", async () => {
  const { page, problems } = await opened.openAs("owner", librariesPath);
  await page.locator("button", { hasText: "New request" }).click();
  const dialog = page.locator("dialog");
  await dialog.getByLabel("Requirements").fill("org.slf4j:slf4j-api:2.0.13");
  await dialog.getByLabel("Format").selectOption("Maven artifacts or pom.xml");
  await dialog.locator("button[type=submit]").click();
  const details = page.locator("section.card").nth(0);
  await showsText(details, /Draft.*1 of 1.*Maven artifacts or pom\.xml · Java/);
  const uid = new URL(page.url()).searchParams.get("request") ?? "";
  await details.locator("button", { hasText: "Delete" }).click();
  await dialog.locator("button.danger").click();
  await page.locator("button", { hasText: "New request" }).waitFor();
  await page.locator(".banner button", { hasText: "Undo" }).click();
  const link = page.locator(`tbody a[href$="${encodeURIComponent(uid)}"]`);
  await link.click();
  await showsText(details, /Draft.*1 of 1/);
  assert.deepEqual(problems, []);
  await page.close();

  await owned.ok(`${requestGroups}/SubmitRequestGroup`, { uid });
  const identity = { name: "operator of tests", claimMatch: { issuer: "https://issuer.example.com", subject: "operator" } };
  const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity }), "uid");
  const roleBinding = { identityUid, roleUid: builtInRoleUid("operator") };
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: world.organization, roleBinding });
  const operator = await opened.open("/console");
  await opened.pasteToken(operator.page, await world.token(identityUid));
  await visit(operator.page, `${librariesPath}?request=${encodeURIComponent(uid)}`);
  const [card, asks] = [operator.page.locator("section.card").nth(0), operator.page.locator("dialog")];
  await card.locator("button", { hasText: "Refresh" }).click();
  await asks.locator("button.primary").click();
  await asks.waitFor({ state: "detached" });
  await showsText(card, /Complete/);
  await card.locator("button", { hasText: "Delete" }).click();
  await asks.locator("button.danger").click();
  await operator.page.locator("button", { hasText: "New request" }).waitFor();
  const left = objectList(await owned.ok(`${requestGroups}/ListRequestGroups`, { parent: team }), "requestGroups");
  assert.ok(!left.some((each) => each.uid === uid));
  await operator.page.close();
});

test("the catalog is searched by ecosystem and name with its exact total, and shows the versions of one library", async () => {
  const { page, problems, requests } = await opened.openAs("owner", "/console/first-organization/payments");
  const start = requests.length;
  await visit(page, `${librariesPath}?view=catalog`);
  const section = page.locator("section.card");
  await section.locator(".count", { hasText: "56 libraries" }).waitFor();
  await showsTexts(page.getByLabel("Ecosystem").locator("a"), ["All (56)", "Python (55)", "Java (1)", "With remediated versions"]);
  assert.ok(pageRequests(requests.slice(start)).length <= 4);
  await page.locator(".pager a", { hasText: "Next" }).press("Enter");
  await showsText(page.locator(".pager"), /51.56 of 56/);
  await page.getByLabel("Name contains").fill("REQ");
  await page.keyboard.press("Enter");
  await showsTexts(section.locator("tbody th a"), ["requests"]);
  await section.locator(".count", { hasText: "1 library" }).waitFor();
  await page.getByLabel("Ecosystem").locator("a", { hasText: "Java" }).press("Enter");
  await page.locator(".empty", { hasText: "No library matches" }).waitFor();
  await page.getByLabel("Ecosystem").locator("a", { hasText: "All" }).press("Enter");
  await section.locator("tbody a", { hasText: "requests" }).press("Enter");
  await section.locator("h2", { hasText: "Versions of requests" }).waitFor();
  await showsTexts(section.locator("tbody th"), ["2.32.4", "2.32.3", "2.31.0"]);
  await showsText(section.locator("tbody tr").first(), /2\.5 MB/);
  await section.locator(".count", { hasText: "3 versions" }).waitFor();
  await page.locator("summary", { hasText: "The same request" }).press("Enter");
  await showsText(page.locator(".command code").nth(1), /^gantry libraries artifacts list-versions \S+ --limit 50$/);
  await requireViews(page, "versions of a library");
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("each view passes axe in each size and theme with four requests at most, and names the permissions that a viewer lacks", async () => {
  const uid = text(
    await owned.ok(`${requestGroups}/CreateRequestGroup`, {
      parent: team,
      name: "checkout",
      content: "requests==2.32.3\nflask>=2\nurllib3==2.2.1",
      filename: "requirements.txt",
    }),
    "uid",
  );
  const { page, problems, requests } = await opened.openAs("viewer", "/console/first-organization");
  const views = ["", `?request=${encodeURIComponent(uid)}`, "?view=demand", "?view=catalog"];
  for (const view of views) {
    await visit(page, "/console/first-organization/payments");
    await page.waitForLoadState("networkidle");
    const start = requests.length;
    await visit(page, librariesPath + view);
    await page.waitForLoadState("networkidle");
    const sent = pageRequests(requests.slice(start));
    assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
    await requireViews(page, view);
  }
  await visit(page, librariesPath);
  await page.locator(".section-about", { hasText: "you need libraries.request_groups.create" }).waitFor();
  assert.equal(await page.locator("button", { hasText: "New request" }).count(), 0);
  await page.locator("tbody a", { hasText: "checkout" }).click();
  const lacking = ["update", "delete", "submit", "items.update"].map((name) => `libraries.request_groups.${name}`);
  await page.locator(".section-about", { hasText: `you need ${new Intl.ListFormat("en").format(lacking)}` }).waitFor();
  assert.equal(await page.locator("tbody button, .banner button").count(), 0);
  assert.deepEqual(problems, []);
  await page.close();
  const nobody = await opened.openAs("nobody", librariesPath);
  await nobody.page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  await nobody.page.close();
});
