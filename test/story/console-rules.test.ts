// Retention rules, immutable tags and changes of tags in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { type ConsoleWorld, openConsoleWorld, pageRequests, requireAccessible, requireOperations, requireViews, showsValue, visit } from "../console.ts";
import { openOwners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import type { World } from "../world.ts";
import { gantry } from "./processes.ts";

let opened: ConsoleWorld;
let world: World;
let owned: World;
let team = "";
let repo = "";
const folder = mkdtempSync(join(tmpdir(), "gantry-console-rules-"));

const organizationPath = "/console/first-organization";
const rulesPath = `${organizationPath}/payments/-/rules`;
const service = "gantry.registry.v1";

before(async () => {
  opened = await openConsoleWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  ({ world } = opened);
  const owners = openOwners(world);
  owned = owners.world();
  team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "payments" } }), "uid");
  const registry = openPusher(world, "first-organization/payments/web", () => owners.token());
  for (const tag of ["build-1", "build-2", "v1.0"]) {
    await registry.image("amd64", tag);
    world.clock.now += 1000;
  }
  repo = text(objectList(await owned.ok("registry.ReposService/ListRepos", { name: "web" }), "repos")[0] ?? {}, "uid");
  const immutableTagRule = { pattern: "v[0-9]+[.].*", description: "<img src=x onerror=alert(1)>" };
  await owned.ok(`${service}.ImmutableTagRulesService/CreateImmutableTagRule`, { parent: world.organization, immutableTagRule });
  world.clock.now += 60 * 86_400_000;
});
after(async () => {
  await opened?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("immutable tags are added by keyboard alone, take effect on the next push, and name the place where they are set", async () => {
  const { page, problems, requests } = await opened.openAs("owner", `${organizationPath}/payments`);
  const before = requests.length;
  await visit(page, rulesPath);
  const immutable = page.locator("section.card").nth(0);
  await immutable.locator("tbody tr", { hasText: "v[0-9]+[.].*" }).filter({ hasText: "first-organization" }).waitFor();
  await page.locator(".empty", { hasText: "No tag is deleted by rules" }).waitFor();
  const sent = pageRequests(requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  assert.equal(await page.locator("main img, [onerror]").count(), 0);
  await immutable.locator("button", { hasText: "Add immutable tags" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("input:focus").waitFor();
  await page.keyboard.type("(");
  await page.keyboard.press("Enter");
  await dialog.locator(".problem").waitFor();
  await page.keyboard.press("Backspace");
  await page.keyboard.type("build-1");
  await dialog.locator("summary", { hasText: "The same request" }).click();
  const command = `gantry registry immutable-tag-rules create --parent ${team} --pattern build-1`;
  await dialog.locator(".command code").getByText(command, { exact: true }).waitFor();
  await requireAccessible(page, "adding immutable tags");
  await dialog.locator("input").first().press("Enter");
  await dialog.waitFor({ state: "detached" });
  const row = immutable.locator("tbody tr", { hasText: "build-1" });
  await row.filter({ hasText: "Here" }).waitFor();
  const tags = objectList(await owned.ok("registry.TagsService/ListTags", { uidp: { childrenOf: repo }, name: "build-1" }), "tags");
  const refused = await owned.call("registry.TagsService/DeleteTag", { uid: text(tags[0] ?? {}, "uid") });
  assert.equal(refused.code, 9);
  await row.getByLabel("Delete the rule build-1").focus();
  await page.keyboard.press("Enter");
  await dialog.locator("p", { hasText: "can be moved and deleted again" }).waitFor();
  await dialog.locator("button.danger").click();
  await row.waitFor({ state: "detached" });
  requireOperations(requests);
  // The browser reports the refused pattern.
  assert.deepEqual(
    problems.filter((each) => !each.includes("status of 400")),
    [],
  );
  await page.close();
});

test("a retention rule of a repo is added for preview only, and the repo's page lists the tags that it deletes with the reason", async () => {
  await owned.ok(`${service}.ImmutableTagRulesService/CreateImmutableTagRule`, { parent: repo, immutableTagRule: { pattern: "stable-.*" } });
  const { page, problems, requests } = await opened.openAs("owner", `${organizationPath}/payments/-/repos/web`);
  const before = requests.length;
  await page.locator(".reference a", { hasText: "Tag rules" }).click();
  await page.locator(".empty", { hasText: "No tag is deleted by rules" }).waitFor();
  await page.locator("tbody tr", { hasText: "stable-.*" }).filter({ hasText: "Here" }).waitFor();
  const sent = pageRequests(requests.slice(before));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  await page.locator("button", { hasText: "Show the tags" }).click();
  await page.locator(".empty", { hasText: "Every tag is kept" }).waitFor();
  await page.locator("button", { hasText: "Add a retention rule" }).click();
  const dialog = page.locator("dialog");
  await dialog.getByLabel("Rule", { exact: true }).fill("old builds");
  await dialog.getByLabel("Pattern of the tags (optional)").fill("build-.*");
  await dialog.getByLabel("Keep the last (optional)").fill("0");
  await dialog.locator(".problem", { hasText: "1 or more" }).waitFor();
  await dialog.getByLabel("Keep the last (optional)").fill("1");
  await dialog.locator("summary", { hasText: "The same request" }).click();
  const flags = `--parent ${team} --name 'old builds' --repo-uid ${repo} --tag-pattern 'build-.*' --keep-last 1 --preview-only`;
  await dialog.locator(".command code").getByText(`gantry registry retention-rules create ${flags}`, { exact: true }).waitFor();
  await requireAccessible(page, "adding a retention rule");
  await dialog.locator("button[type=submit]").click();
  await dialog.waitFor({ state: "detached" });
  await page.locator("tbody tr", { hasText: "old builds" }).filter({ hasText: "Preview only" }).filter({ hasText: "the last 1" }).waitFor();
  const verdicts = page.locator("section.card", { hasText: "Tags that the rules delete" });
  await verdicts.locator("tbody tr", { hasText: "build-1" }).waitFor();
  assert.equal(await verdicts.locator("tbody tr", { hasText: /build-2|v1\.0/ }).count(), 0);
  await requireViews(page, "rules of a repo");
  await page.locator("main > .same-request summary").click();
  const shown = page.locator("main > .same-request .command code", { hasText: /^gantry registry retention-rules list/ });
  const env = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await opened.tokenOf("owner") };
  const listed = await gantry([...((await shown.textContent()) ?? "").split(" ").slice(1), "-o", "name"], { env });
  assert.equal(listed.stdout.trim(), "old builds");
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a rule is changed by keyboard alone, and a form that another change has overtaken shows both versions and overwrites neither", async () => {
  const rule = { name: "old builds", tagPattern: "build-.*", keepLast: 1, previewOnly: true };
  const other = await owned.ok(`${service}.RetentionRulesService/CreateRetentionRule`, { parent: team, retentionRule: { ...rule, name: "changed twice" } });
  const { page, problems, requests } = await opened.openAs("owner", rulesPath);
  const row = page.locator("tbody tr", { hasText: "changed twice" });
  await row.getByLabel("Change the rule changed twice").focus();
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog");
  const last = dialog.getByLabel("Keep the last (optional)");
  await showsValue(last, "1");
  await last.focus();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type("7");
  await dialog.locator("summary", { hasText: "The same request" }).click();
  await dialog
    .locator(".command code")
    .getByText(/^gantry registry retention-rules update .*--keep-last 7/)
    .waitFor();
  await requireAccessible(page, "changing a retention rule");
  // Meanwhile, somebody else changes the same rule.
  const changed = { uid: text(other, "uid"), tagPattern: "nightly-.*" };
  await owned.ok(`${service}.RetentionRulesService/UpdateRetentionRule`, { retentionRule: changed, updateMask: "tag_pattern" });
  await last.press("Enter");
  const conflict = dialog.locator(".conflict");
  await conflict.locator("tr", { hasText: "Pattern of the tags" }).filter({ hasText: "build-.*" }).filter({ hasText: "nightly-.*" }).waitFor();
  await conflict.locator("tr", { hasText: "Keep the last" }).waitFor();
  await requireAccessible(page, "a rule that has changed meanwhile");
  const stored = async (): Promise<JsonObject> => owned.ok(`${service}.RetentionRulesService/GetRetentionRule`, { uid: text(other, "uid") });
  assert.deepEqual([(await stored()).keepLast, (await stored()).tagPattern], [1, "nightly-.*"]);
  await conflict.getByText("Use the stored values").focus();
  await page.keyboard.press("Enter");
  await conflict.waitFor({ state: "detached" });
  await showsValue(dialog.getByLabel("Pattern of the tags (optional)"), "nightly-.*");
  await last.fill("7");
  await last.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await row.filter({ hasText: "nightly-.*" }).filter({ hasText: "the last 7" }).waitFor();
  assert.deepEqual([(await stored()).keepLast, (await stored()).tagPattern, (await stored()).previewOnly], [7, "nightly-.*", true]);

  // The address of the form can be sent to a colleague; a pattern of immutable tags is changed likewise.
  const immutable = await owned.ok(`${service}.ImmutableTagRulesService/CreateImmutableTagRule`, { parent: team, immutableTagRule: { pattern: "rc-.*" } });
  await visit(page, `${rulesPath}?edit=immutable:${text(immutable, "uid")}`);
  const pattern = dialog.getByLabel("Pattern of the tags");
  await showsValue(pattern, "rc-.*");
  await pattern.fill("(");
  await pattern.press("Enter");
  await dialog.locator(".problem", { hasText: "RE2" }).waitFor();
  await pattern.fill("rc[0-9]+");
  await pattern.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.locator("tbody tr", { hasText: "rc[0-9]+" }).waitFor();
  requireOperations(requests);
  // The browser reports the refused requests.
  assert.deepEqual(
    problems.filter((each) => !/status of 4(00|12)/.test(each)),
    [],
  );
  await page.close();
});

test("rules of groups below are listed on request, and a viewer sees the missing permissions", async () => {
  const below = `${organizationPath}/-/rules?view=below`;
  const { page, problems } = await opened.openAs("viewer", below);
  const row = page.locator("tbody tr", { hasText: "old builds" });
  await row.locator("a", { hasText: /^first-organization\/payments$/ }).waitFor();
  await row.locator("a", { hasText: "first-organization/payments/web" }).waitFor();
  await page.locator("tbody tr", { hasText: "stable-.*" }).locator("a", { hasText: "first-organization/payments/web" }).press("Enter");
  await page.locator(".scope", { hasText: "Rules of the repo" }).waitFor();
  await visit(page, below);
  await page.locator(".section-about", { hasText: "you need repo.update and tag.delete" }).waitFor();
  await page.locator(".section-about", { hasText: "you need gantry.immutable_tag_rules.create" }).waitFor();
  assert.equal(await page.locator("main td.action, section.card header button").count(), 0);
  await page.locator(".states a", { hasText: "Apply here" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => !url.searchParams.has("view"));
  await page.locator(".empty", { hasText: "No tag is deleted by rules" }).waitFor();
  await requireViews(page, "rules of a group");
  await visit(page, `${rulesPath}?repo=web&retention=5000`);
  await page.locator(".pager", { hasText: "after the last" }).waitFor();
  await visit(page, `${rulesPath}?repo=no-such-repo`);
  await page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  assert.deepEqual(problems, []);
  const nobody = await opened.openAs("nobody", rulesPath);
  await nobody.page.locator("h1", { hasText: "Nothing at this address" }).waitFor();
  await Promise.all([page.close(), nobody.page.close()]);
});

test("an immutable tag is refused at its form, and a tag that has moved meanwhile is moved only on a second decision", async () => {
  const listed = async (): Promise<Map<string, JsonObject>> => {
    const { tags } = await owned.ok("registry.TagsService/ListTags", { uidp: { childrenOf: repo } });
    return new Map(objectList({ tags: tags ?? [] }, "tags").map((tag) => [text(tag, "name"), tag]));
  };
  const tags = await listed();
  const digestOf = (name: string): string => text(tags.get(name) ?? {}, "digest");
  const web = `${organizationPath}/payments/-/repos/web`;
  const { page, problems, requests } = await opened.openAs("owner", `${web}?tag=v1.0`);
  const dialog = page.locator("dialog");
  const move = async (image: string): Promise<void> => {
    await dialog.getByRole("combobox", { name: "New image" }).fill(image);
    await dialog.locator("[role=option]", { hasText: image }).first().click();
    await dialog.locator("button[type=submit]").click();
  };
  await page.locator(".heading button", { hasText: "Show actions" }).click();
  await page.locator(".details button", { hasText: "Move" }).click();
  await dialog.getByRole("combobox", { name: "New image" }).fill("not a digest");
  await dialog.locator("button[type=submit]").click();
  await dialog.locator(".problem", { hasText: "64 hexadecimal digits" }).waitFor();
  await move("build-2");
  await dialog.locator("[role=alert]", { hasText: 'the tag "v1.0" is immutable by the rule "v[0-9]+[.].*"' }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".details button", { hasText: "Delete" }).click();
  await dialog.locator("button.danger").click();
  await dialog.locator("[role=alert]", { hasText: "cannot delete the tag" }).waitFor();
  await requireAccessible(page, "a refused deletion");
  await page.keyboard.press("Escape");

  await visit(page, `${web}?tag=build-1&do=move-tag`);
  await dialog.locator(".sentence", { hasText: "build-1" }).waitFor();
  const uid = text(tags.get("build-1") ?? {}, "uid");
  await owned.ok(`${service}.TagChangesService/UpdateTag`, { tag: { uid, digest: digestOf("v1.0") }, updateMask: "digest" });
  await move("build-2");
  const conflict = dialog.locator(".conflict tr", { hasText: digestOf("build-2") }).filter({ hasText: digestOf("v1.0") });
  await conflict.waitFor();
  await requireAccessible(page, "a tag that has moved meanwhile");
  assert.equal(text((await listed()).get("build-1") ?? {}, "digest"), digestOf("v1.0"));
  await dialog.getByText("Keep mine").click();
  await dialog.locator("button[type=submit]").click();
  await dialog.waitFor({ state: "detached" });
  await page.locator(`.details code[title="${digestOf("build-2")}"]`).waitFor();
  assert.equal(text((await listed()).get("build-1") ?? {}, "digest"), digestOf("build-2"));

  await page.locator(".details button", { hasText: "Delete" }).click();
  await dialog.locator("button.danger").click();
  const row = page.locator("main tbody tr", { hasText: "build-1" });
  await page.locator(".banner button:focus", { hasText: "Undo" }).waitFor();
  assert.equal((await row.count()) + (await page.locator(".details").count()), 0);
  assert.equal((await listed()).has("build-1"), false);
  await page.keyboard.press("Enter");
  await row.waitFor();
  assert.equal(text((await listed()).get("build-1") ?? {}, "digest"), digestOf("build-2"));
  requireOperations(requests);
  assert.deepEqual(
    problems.filter((each) => !/status of 4(00|12)/.test(each)),
    [],
  );
  await page.close();
});

test("an image is promoted to a path that the promotion creates, and a tag there moves only from the digest that the form has shown", async () => {
  const web = `${organizationPath}/payments/-/repos/web`;
  const { page, problems, requests } = await opened.openAs("owner", `${web}?tag=v1.0`);
  const dialog = page.locator("dialog");
  await page.locator(".heading button", { hasText: "Show actions" }).press("Enter");
  await page.locator(".details button", { hasText: "Promote" }).click();
  await dialog.getByRole("combobox", { name: "To the repo" }).fill("first-organization/payments/prod");
  await dialog.getByLabel("Tag there").fill("stable");
  await requireAccessible(page, "promoting an image");
  await dialog.locator("button[type=submit]").click();
  await dialog.locator("h2", { hasText: "Image promoted" }).waitFor();
  await dialog.locator("p", { hasText: "1 manifest copied" }).waitFor();
  await requireAccessible(page, "a promoted image");
  await dialog.locator("a", { hasText: "Open the tag" }).press("Enter");
  await page.locator(".details h2", { hasText: "stable" }).waitFor();
  await page.locator("h1", { hasText: "prod" }).waitFor();
  const prod = text(objectList(await owned.ok("registry.ReposService/ListRepos", { name: "prod" }), "repos")[0] ?? {}, "uid");
  const stable = async (): Promise<JsonObject> => objectList(await owned.ok("registry.TagsService/ListTags", { uidp: { childrenOf: prod } }), "tags")[0] ?? {};
  const first = text(await stable(), "digest");

  await visit(page, `${web}?tag=build-2&do=promote`);
  await dialog.getByRole("combobox", { name: "To the repo" }).fill("prod");
  await dialog.locator("[role=option]", { hasText: "payments/prod" }).click();
  await dialog.getByLabel("Tag there").fill("stable");
  await dialog.locator(".about", { hasText: "The tag exists and moves from sha256:" }).waitFor();
  // Meanwhile, somebody else pushes another image to the tag.
  const { digest } = await openPusher(world, "first-organization/payments/prod", () => openOwners(world).token()).image("arm64", "stable");
  await dialog.locator("button[type=submit]").click();
  await dialog.locator("[role=alert]", { hasText: "Somebody has moved the tag" }).waitFor();
  assert.equal(text(await stable(), "digest"), digest);
  await dialog.locator(".about", { hasText: digest.slice(0, 15) }).waitFor();
  await dialog.locator("button[type=submit]").click();
  await dialog.locator("p", { hasText: "pointed to another image before" }).waitFor();
  assert.notEqual(text(await stable(), "digest"), digest);
  assert.notEqual(text(await stable(), "digest"), first);
  requireOperations(requests);
  assert.deepEqual(
    problems.filter((each) => !/status of 4(00|12)/.test(each)),
    [],
  );
  await page.close();
});
