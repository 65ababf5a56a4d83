// Images in the console: what was read of them, findings with layers, comparison (docs/decisions/0045).

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { pageRequests, requireOperations, requireViews, showsText, showsTexts, visit } from "../console.ts";
import { hostile, imagePath, type ImagesWorld, openImagesWorld, organizationPath, repoPath } from "../console-images.ts";
import { finishPullCounts } from "../../server/registry/resources/distribution/pull-records.ts";
import type { Page } from "./browser.ts";

let opened: ImagesWorld;

before(async () => {
  opened = await openImagesWorld();
});
after(() => opened?.close());

/** Waits for the text in the page. */
const shows = (page: Page, text: RegExp): Promise<void> => page.locator("main").filter({ hasText: text }).waitFor();

const viewOf = (tag: keyof ImagesWorld["digests"], view: string): string => `${imagePath(opened.digests[tag])}?view=${view}`;

test("the page of an image shows its platforms side by side and its pull command, and its first view sends at most four requests", async () => {
  const { page, problems, requests } = await opened.openAs("viewer", `${organizationPath}/payments`);
  const before = requests.length;
  await visit(page, imagePath(opened.digests["1.0"]));
  await page.locator("dd", { hasText: "linux/amd64" }).waitFor();
  const sent = pageRequests(requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  await shows(page, /Debian GNU\/Linux 12 \(bookworm\)/);
  await shows(page, new RegExp(`docker pull ${new URL(opened.world.url).host}/first-organization/payments/web@${opened.digests["1.0"]}`));
  await page.locator("button", { hasText: "Show sizes" }).click();
  const rows = page.locator("tbody tr");
  await rows.nth(1).locator("td", { hasText: / B$/ }).waitFor();
  await rows.nth(1).locator("td", { hasText: "Layers read" }).waitFor();
  await showsTexts(rows.locator("th"), ["amd64", "arm64"]);
  await showsText(rows.nth(1), /Layers read5\d+ B/);
  await rows.nth(1).locator("a").click();
  await page.locator("dd", { hasText: "linux/arm64" }).waitFor();
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("an image that was not read, or only in part, says so in every view and is never shown as one without packages or findings", async () => {
  const { page } = await opened.openAs("viewer", imagePath(opened.digests.broken));
  const expected = [
    ["broken", /Read in part\. A part of the layers was not read.*LAYER_UNREADABLE/],
    ["chart", /No layers to read\..*Nothing is known about its packages/],
    ["waiting", /Not read yet\. The layers wait to be read/],
  ] as const;
  for (const [tag, notice] of expected)
    for (const view of ["overview", "findings", "packages", "tags"]) {
      await visit(page, viewOf(tag, view));
      await page.locator(".reading").waitFor();
      await page.waitForLoadState("networkidle");
      await showsText(page.locator(".reading"), notice, `${tag}, ${view}`);
    }
  await visit(page, imagePath(opened.digests.chart));
  await page.locator(".reading").waitFor();
  await shows(page, /PackagesUnknown/);
  await visit(page, viewOf("waiting", "findings"));
  await page.locator(".notice", { hasText: "The image is not judged yet" }).waitFor();
  await page.close();
});

test("each finding has the layer to blame, which leads to the packages of that layer", async () => {
  const { page, problems } = await opened.openAs("viewer", viewOf("1.0", "findings"));
  const first = page.locator("tbody tr").first();
  await first.locator("a", { hasText: "Layer 2" }).waitFor();
  await showsText(first, /^CVE-2026-1001.*Critical.*npm\/lantern 1\.0\.0Layer 22\.0\.0/);
  await page.locator(".notice", { hasText: "No source covers" }).waitFor();
  await first.locator("a", { hasText: "Layer 2" }).focus();
  await page.keyboard.press("Enter");
  await page.locator(".count", { hasText: "2 packages" }).waitFor();
  await showsTexts(page.locator("tbody th"), ["cable", "lantern"]);
  await page.locator(".filters input").first().fill("lantern");
  await page.keyboard.press("Enter");
  await page.locator(".count", { hasText: "1 package" }).waitFor();
  await page.locator(".filters a", { hasText: "Clear" }).click();
  await page.locator(".count", { hasText: "5 packages" }).waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});

test("layers have size and command once the user reads them from the registry, and the text of a command stays text", async () => {
  const { page, problems, requests } = await opened.openAs("viewer", viewOf("1.0", "layers"));
  assert.ok(!requests.some(({ url }) => url.pathname.startsWith("/v2/")), "reading counts as a pull, so the user decides");
  await page.locator("button", { hasText: "Read layers" }).click();
  const rows = page.locator("tbody tr");
  await rows.nth(1).waitFor();
  await rows
    .nth(0)
    .filter({ hasText: /^Layer 1\d+ BADD file:4f1b0c27 in \// })
    .waitFor();
  assert.ok(((await rows.nth(1).textContent()) ?? "").includes(`RUN npm ci --omit=dev ${hostile}`));
  assert.equal(await page.locator("main img, [onerror]").count(), 0);
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("signatures and attestations are listed, whether they are referrers or tags, and the history of a tag is shown", async () => {
  const { page, requests } = await opened.openAs("viewer", viewOf("1.0", "signatures"));
  await page.locator("tbody tr").nth(1).waitFor();
  await showsText(page.locator("tbody tr").nth(0), /^Attestationsha256-[0-9a-f]{64}\.att/);
  await showsText(page.locator("tbody tr").nth(1), /^Signatureapplication\/vnd\.dev\.sigstore\.bundle/);
  await shows(page, /does not verify them/);
  await page.locator(".tabs a", { hasText: "Tags" }).click();
  await page.locator("a[aria-label='History of 1.0']").click();
  await page.locator("section", { hasText: "History of 1.0" }).locator(".badge", { hasText: "This image" }).waitFor();
  requireOperations(requests);
  await page.close();
});

test("pulls of an image are counted by day with the last pull, and an image that was never pulled says so", async () => {
  const headers = { authorization: `Bearer ${await opened.tokenOf("viewer")}`, accept: "*/*" };
  const manifest = `${opened.world.url}/v2/first-organization/payments/web/manifests/`;
  for (const reference of ["1.1", opened.digests["1.1"]]) assert.equal((await fetch(manifest + reference, { headers })).status, 200);
  await finishPullCounts(opened.world.server.application.services);
  const { page, problems, requests } = await opened.openAs("viewer", viewOf("1.1", "pulls"));
  const section = page.locator("section.card", { has: page.locator("h2", { hasText: /^Pulls$/ }) });
  await showsText(section.locator(".count"), /^2 pulls$/);
  const day = new Date(opened.world.clock.now).toISOString().slice(0, 10);
  await showsTexts(section.locator("tbody tr"), [`${day}2`]);
  await section.locator("dd time").first().waitFor();
  await showsText(section.locator("svg title", { hasText: day }), /^2 on /);
  await page.locator(".tabs a[aria-current]", { hasText: "Pulls" }).waitFor();
  requireOperations(requests);
  await visit(page, viewOf("chart", "pulls"));
  await section.locator(".empty", { hasText: "Never pulled" }).waitFor();
  await visit(page, organizationPath);
  const before = requests.length;
  await visit(page, viewOf("1.1", "pulls"));
  await section.locator("tbody tr").waitFor();
  assert.ok(pageRequests(requests.slice(before)).length <= 4);
  assert.deepEqual(problems, []);
  await page.close();
});

test("the SBOM is downloaded in the chosen format, and only when the user asks", async () => {
  const { page, requests } = await opened.openAs("viewer", imagePath(opened.digests["1.0"]));
  await page.locator(".sbom select").selectOption("CycloneDX 1.6");
  assert.ok(!requests.some(({ url }) => url.pathname.endsWith(":export")));
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("button", { hasText: "Download" }).click()]);
  assert.match(download.suggestedFilename(), /^web-[0-9a-f]{12}\.cdx\.json$/);
  const document: unknown = JSON.parse(await readFile(await download.path(), "utf8"));
  assert.ok(typeof document === "object" && document !== null && "bomFormat" in document && document.bomFormat === "CycloneDX");
  await page.close();
});

test("a comparison with another tag shows new and gone findings and changed packages, and a tag leads to its image", async () => {
  const { page, problems } = await opened.openAs("viewer", `${repoPath}/tags/1.1`);
  await page.waitForURL((url) => url.pathname.endsWith(`/images/${opened.digests["1.1"]}`));
  await page.locator(".tabs a", { hasText: "Compare" }).click();
  await page.locator("select").selectOption("1.0");
  const section = (title: string) => page.locator("section", { has: page.locator("h2", { hasText: title }) });
  await section("New findings").locator("tr", { hasText: "CVE-2026-1003" }).waitFor();
  await showsTexts(section("New findings").locator("tbody th"), ["CVE-2026-1003"]);
  await showsText(section("Findings that are gone").locator("tbody"), /^CVE-2026-1001/);
  await showsTexts(section("Changed packages").locator("tbody tr"), [
    "candleAddedNone0.9.0npm",
    "lanternChanged1.0.02.0.0npm",
    "libssl3Changed3.0.9-13.0.15-1deb",
  ]);
  assert.deepEqual(problems, []);
  await page.close();
});

test("an open tag sends at most four requests and leads to the page of its image", async () => {
  const { page, requests } = await opened.openAs("viewer", organizationPath);
  const before = requests.length;
  await visit(page, `${repoPath}?tag=1.0`);
  await page.locator(".details dd", { hasText: "amd64, arm64" }).waitFor();
  const sent = pageRequests(requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  await page.locator(".details a", { hasText: "Open the image" }).click();
  await page.waitForURL((url) => url.pathname.endsWith(opened.digests["1.0"]));
  await page.close();
});

test("every view passes axe and does not scroll sideways, for each size and theme, and shows nothing to a caller without permissions", async () => {
  const { page, problems } = await opened.openAs("owner", imagePath(opened.digests["1.0"]));
  const paths = ["overview", "findings", "packages", "layers", "signatures", "tags&tag=1.0", "pulls"].map((view) => viewOf("1.0", view));
  for (const path of [...paths, `${viewOf("1.1", "compare")}&with=1.0`, imagePath(opened.digests.broken)]) {
    await visit(page, path);
    await requireViews(page, path);
  }
  assert.deepEqual(problems, []);
  await page.close();
  const nobody = await opened.openAs("nobody", imagePath(opened.digests["1.0"]));
  await nobody.page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  await nobody.page.close();
});
