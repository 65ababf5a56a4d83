// Vulnerabilities over all groups, the home page and the administration page in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pageRequests, requireOperations, requireViews, showsText, visit } from "../console.ts";
import { hostile, type ImagesWorld, openImagesWorld, organizationPath } from "../console-images.ts";
import type { Page } from "./browser.ts";

let opened: ImagesWorld;

const advisoryPath = "/console/-/advisories/CVE-2026-1001";

before(async () => {
  opened = await openImagesWorld();
});
after(() => opened?.close());

const section = (page: Page, title: string) => page.locator("section", { has: page.locator("h2", { hasText: title }) });

test("the page of a vulnerability shows affected images with their fix, severity, exploitation and sources, in at most four requests", async () => {
  const { page, problems, requests } = await opened.openAs("viewer", organizationPath);
  const before = requests.length;
  await visit(page, advisoryPath);
  await page.locator("dd", { hasText: "Exploited, fix due by 2026-02-15" }).waitFor();
  await section(page, "Advisories").locator("tbody tr").waitFor();
  const sent = pageRequests(requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  await section(page, "Affected images")
    .locator("tbody", { hasText: /^web:1\.0npm\/lantern 1\.0\.0Critical2\.0\.0/ })
    .waitFor();
  const about = section(page, "About the vulnerability").filter({ hasText: /CVSS 9\.8.*Used in ransomware.*EPSS42\.0 %/ });
  assert.ok(((await about.textContent()) ?? "").includes(hostile));
  assert.equal(await page.locator("main img, [onerror], main a[href^='javascript']").count(), 0);
  await section(page, "Advisories")
    .locator("tbody", { hasText: /^GHSA-aaaa-bbbb-0001.*lantern/ })
    .waitFor();
  await page.locator(".notice", { hasText: "no source covers" }).waitFor();
  await section(page, "Affected images").locator("tbody a").click();
  await page.waitForURL((url) => url.pathname.endsWith(`/images/${opened.digests["1.0"]}`));
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("an ID typed into search leads to its vulnerability, and the page's own search finds an ID, an alias or a package", async () => {
  const { page } = await opened.openAs("viewer", organizationPath);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("cve-2026-1001");
  await page.locator("dialog [role=option]", { hasText: "CVE-2026-1001" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname === advisoryPath);
  await visit(page, "/console/-/advisories");
  const input = page.locator(".search-form input");
  await input.fill("GHSA-AAAA-BBBB-0003");
  await page.keyboard.press("Enter");
  await page.locator("h1", { hasText: "GHSA-aaaa-bbbb-0003" }).waitFor();
  await section(page, "Affected images").locator("tbody tr", { hasText: "web:1.1" }).waitFor();
  await input.fill("cable");
  await page.keyboard.press("Enter");
  await section(page, "Findings in cable").locator("tbody tr").nth(1).waitFor();
  const rows = section(page, "Findings in cable").locator("tbody tr");
  for (const row of [rows.nth(0), rows.nth(1)]) await showsText(row, /^CVE-2026-1002/);
  assert.equal(await rows.count(), 2);
  await visit(page, "/console/-/advisories/CVE-1999-9999");
  await page.locator(".empty", { hasText: "None of your images is known to be affected" }).waitFor();
  await page.locator(".notice", { hasText: "no source covers" }).waitFor();
  await page.close();
});

test("the home page shows what needs attention and the latest pushes, in at most four requests", async () => {
  const { page, problems, requests } = await opened.openAs("owner", organizationPath);
  const before = requests.length;
  await visit(page, "/console");
  await page.locator(".signal", { hasText: "No failed webhook deliveries" }).waitFor();
  await section(page, "Latest pushes").locator("tbody a", { hasText: "web:waiting" }).waitFor();
  const sent = pageRequests(requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  for (const [index, signal] of [/^1 critical finding$/, /^1 finding is known to be exploited$/, /images have packages that no source covers/].entries())
    await page.locator(".signal").nth(index).filter({ hasText: signal }).waitFor();
  await page.locator(".signal a", { hasText: "1 critical finding" }).click();
  await page.locator(".card .count", { hasText: "1 finding" }).waitFor();
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("the administration page shows feeds, coverage and storage to an owner, and nothing of others to a caller without permissions", async () => {
  const { page, problems, requests } = await opened.openAs("owner", organizationPath);
  const before = requests.length;
  await visit(page, "/console/-/admin");
  await section(page, "Feeds").locator("tr", { hasText: "known_exploited_vulnerabilities.json" }).waitFor();
  assert.ok(pageRequests(requests.slice(before)).length <= 4);
  await section(page, "Coverage")
    .locator("tbody", { hasText: /Debian 12No source.*npmCovered/ })
    .waitFor();
  await page.locator("a[aria-label='Storage of first-organization']").click();
  await section(page, "Storage of first-organization").locator("dd", { hasText: / of / }).waitFor();
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
  const nobody = await opened.openAs("nobody", "/console/-/admin");
  await nobody.page.waitForLoadState("networkidle");
  assert.doesNotMatch((await nobody.page.locator("main").textContent()) ?? "", /json|first-organization/);
  await visit(nobody.page, advisoryPath);
  await nobody.page.waitForLoadState("networkidle");
  assert.doesNotMatch((await nobody.page.locator("main").textContent()) ?? "", /web:1\.0|lantern/);
  await nobody.page.close();
});

test("the pages pass axe and do not scroll sideways, for each size and theme", async () => {
  const { page, problems } = await opened.openAs("viewer", "/console");
  for (const path of ["/console", "/console/-/advisories", advisoryPath, `/console/-/admin?storage=${opened.world.organization}`]) {
    await visit(page, path);
    await requireViews(page, path);
  }
  assert.deepEqual(problems, []);
  await page.close();
});
