// The access page of a group in the console (docs/decisions/0045).

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { objectList, text, texts } from "#base/json.ts";
import {
  openConsoleWorld,
  pageRequests,
  requireAccessible,
  requireOperations,
  requireViews,
  settled,
  showsText,
  showsTexts,
  showsValue,
  type ConsoleWorld,
  views,
  visit,
} from "../console.ts";
import { openOwners } from "../owner.ts";
import type { World } from "../world.ts";
import type { Page } from "./browser.ts";
import { gantry } from "./processes.ts";

let opened: ConsoleWorld;
let world: World;
let owned: World;
let team = "";
let backend = "";
let robot = "";
let admin = "";

const organizationName = "first-organization";
const teamPath = `/console/${organizationName}/payments`;
const accessPath = `${teamPath}/-/access`;

const bind = async (parent: string, identityUid: string, role: string): Promise<string> =>
  text(await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid(role) } }), "uid");

const identity = async (parent: string, name: string): Promise<string> =>
  text(
    await owned.ok("iam.IdentitiesService/CreateIdentity", { parent, identity: { name, claimMatch: { issuer: "https://issuer.example.com", subject: name } } }),
    "uid",
  );

before(async () => {
  opened = await openConsoleWorld();
  ({ world } = opened);
  owned = openOwners(world).world();
  const parent = world.organization;
  team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent, group: { name: "payments" } }), "uid");
  backend = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: team, group: { name: "backend" } }), "uid");
  robot = await identity(parent, "release-robot");
  admin = await identity(team, "team-admin");
  await bind(parent, robot, "viewer");
  await bind(team, robot, "editor");
  await bind(team, admin, "owner");
});
after(() => opened?.close());
beforeEach(() => opened.browser.context.clearCookies());

const bindingsAt = async (group: string): Promise<string[]> =>
  objectList(await owned.ok("iam.RoleBindingsService/ListRoleBindings", { group }), "roleBindings").map((each) => `${each.identityUid} ${each.roleUid}`);

const rowsHere = (page: Page) => page.locator(".here tbody tr");

test("the page shows what the caller may do, and the role bindings of the group and of the groups above with their group", async () => {
  const { page, problems, requests } = await opened.openAs("owner", accessPath);
  await showsText(page.locator(".abilities"), /Allowed: Grant access/);
  await page.locator(".all-capabilities summary").click();
  await showsText(page.locator(".all-capabilities dl"), /role_bindings.*create/);
  const stations = page.locator(".path").first().locator(".station");
  await showsTexts(stations.locator(".station-title"), [`${organizationName}Organization`, "paymentsThis group"]);
  await showsText(stations.nth(0), /release-robot.*viewer/);
  await showsText(stations.nth(1), /release-robot.*editor/);
  assert.equal(await stations.nth(0).locator(".action").count(), 0, "a role binding is removed in its own group");
  assert.equal(await stations.nth(1).locator("button[aria-label='Remove editor of release-robot']").count(), 1);
  assert.deepEqual(problems, []);
  requireOperations(requests);
  await page.close();
});

test("the page sends at most four requests, and shows the role bindings between the organization and the group on request", async () => {
  const { page, requests } = await opened.openAs("owner", "/console");
  await visit(page, teamPath);
  const before = requests.length;
  await visit(page, `${teamPath}/backend/-/access`);
  await page.locator(".here").waitFor();
  await settled(page);
  const isTree = ({ searchParams }: URL): boolean => searchParams.get("pageSize") === "200";
  const sent = requests.slice(before).filter(({ url }) => !url.pathname.startsWith("/console/assets/") && !isTree(url));
  assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname).join("\n"));
  const between = page.locator(".station", { has: page.locator(".station-title", { hasText: "payments" }) });
  assert.equal(await between.locator("tr").count(), 0);
  await between.locator("button", { hasText: "Show role bindings" }).click();
  await between.locator("td", { hasText: "editor" }).waitFor();
  await page.close();
});

test("a caller with a part of the permissions sees no forms for the others, and the capabilities that they need", async () => {
  const { page } = await opened.openAs("viewer", accessPath);
  const shown = (await page.locator("main").textContent()) ?? "";
  assert.match(shown, /Not allowed: Grant accessNeeds role_bindings\.create/);
  assert.match(shown, /you need role_bindings\.create and role_bindings\.delete/);
  assert.equal(await page.locator("button:has-text('Add role binding'), .action").count(), 0);
  await visit(page, `${accessPath}?add=`);
  assert.equal(await page.locator("dialog").count(), 0);
  const limited = await identity(team, "limited");
  const role = { name: "groups only", capabilities: ["CAP_IAM_GROUPS_LIST"] };
  const roleUid = text(await owned.ok("iam.RolesService/CreateRole", { parent: team, role }), "uid");
  await owned.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: team, roleBinding: { identityUid: limited, roleUid } });
  const other = await opened.open("/console");
  await opened.pasteToken(other.page, await world.token(limited));
  // The organization is hidden, so the path starts at the group.
  await visit(other.page, "/console/payments/-/access");
  await other.page.locator("text=You cannot check the access of others here").waitFor();
  await showsText(other.page.locator("main"), /Needs identity\.list, role_bindings\.list, and roles\.list/);
  await requireAccessible(other.page, "limited caller");
  await Promise.all([page.close(), other.page.close()]);
});

test("a role binding is added by keyboard alone, and a violation is shown at its field", async () => {
  const { page, problems } = await opened.openAs("owner", `${teamPath}/backend/-/access`);
  await page.locator("button:has-text('Add role binding')").focus();
  await page.keyboard.press("Enter");
  await page.locator("dialog input:focus").waitFor();
  await page.keyboard.type("team-ad");
  await page.locator("dialog [role=option]", { hasText: "team-admin" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.type("registry.pu");
  await page.locator("dialog [role=option]", { hasText: "registry.push" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("dialog").count(), 1, "Escape closes the list of roles first");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const date = page.locator("dialog input[type=date]");
  await date.fill("2020-01-01");
  await page.locator("dialog button[type=submit]").click();
  await page.locator("dialog .problem", { hasText: "must be in the future" }).waitFor();
  assert.equal(await date.getAttribute("aria-invalid"), "true");
  await date.fill("");
  await page.locator("dialog summary", { hasText: "The same request" }).click();
  const commands = await page.locator("dialog .command code").allTextContents();
  assert.match(commands[0] ?? "", new RegExp(`^curl -X POST .*"identityUid":"${admin}".* '${world.url}/iam/v2/roleBindings/${backend}'$`));
  assert.equal(commands[1], `gantry iam role-bindings create --parent ${backend} --identity-uid ${admin} --role-uid ${builtInRoleUid("registry.pull")}`);
  await page.locator("dialog button[type=submit]").click();
  await page.locator("dialog").waitFor({ state: "detached" });
  await rowsHere(page).filter({ hasText: "registry.pull" }).waitFor();
  assert.deepEqual(await bindingsAt(backend), [`${admin} ${builtInRoleUid("registry.pull")}`]);
  // The refused date is the only error that the browser reports.
  assert.deepEqual(
    problems.filter((problem) => !/status of 400/.test(problem)),
    [],
  );
  await page.close();
});

test("a removal shows what the identity loses, asks first, and can be undone", async () => {
  const { page } = await opened.openAs("owner", accessPath);
  const before = await bindingsAt(team);
  const open = page.locator("button[aria-label='Remove editor of release-robot']");
  await open.click();
  const dialog = page.locator("dialog");
  await dialog.locator("strong", { hasText: "capabilities are lost here and below" }).waitFor();
  const lost = await dialog.locator(".lost code").allTextContents();
  assert.ok(lost.includes("repo.create") && !lost.includes("repo.list"), "the viewer role in the organization keeps repo.list");
  await requireAccessible(page, "removal");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(await bindingsAt(team), before);
  await open.click();
  await dialog.locator("button.danger[aria-disabled=false]").click();
  await page.locator(".banner button:focus", { hasText: "Undo" }).waitFor();
  assert.deepEqual(
    await bindingsAt(team),
    before.filter((each) => !each.startsWith(robot)),
  );
  await page.keyboard.press("Enter");
  await rowsHere(page).filter({ hasText: "release-robot" }).waitFor();
  assert.deepEqual((await bindingsAt(team)).sort(), before.sort());
  await page.close();
});

test("a removal of a role binding that has changed says what changed, and removes it only after a second confirmation", async () => {
  const auditor = await identity(team, "auditor");
  const uid = await bind(team, auditor, "viewer");
  const { page } = await opened.openAs("owner", accessPath);
  await page.locator("button[aria-label='Remove viewer of auditor']").click();
  const dialog = page.locator("dialog");
  const remove = dialog.locator("button.danger[aria-disabled=false]");
  await remove.waitFor();
  await owned.ok("iam.RoleBindingsService/UpdateRoleBinding", { roleBinding: { uid, roleUid: builtInRoleUid("editor") }, updateMask: "roleUid" });
  await remove.click();
  await dialog.locator("[role=alert]", { hasText: "Role: viewer → editor" }).waitFor();
  await requireAccessible(page, "changed role binding");
  assert.ok((await bindingsAt(team)).includes(`${auditor} ${builtInRoleUid("editor")}`), "nothing is removed");
  await remove.click();
  await dialog.waitFor({ state: "detached" });
  assert.ok(!(await bindingsAt(team)).some((each) => each.startsWith(auditor)));
  await page.close();
});

test("a refused change is explained in its dialog, and nothing is lost", async () => {
  const { page } = await opened.openAs("owner", accessPath);
  await page.locator("button:has-text('Add role binding')").click();
  await page.locator("dialog input").nth(0).fill(robot);
  await page.locator("dialog input").nth(1).fill("editor");
  await page.locator("dialog input").nth(1).press("ArrowDown");
  await page.locator("dialog input").nth(1).press("Enter");
  await page.locator("dialog button[type=submit]").click();
  await page.locator("dialog [role=alert]", { hasText: "already" }).waitFor();
  assert.equal(await page.locator("dialog input").nth(1).inputValue(), "editor");
  await page.locator("dialog input").nth(0).fill("no such identity");
  await page.locator("dialog button[type=submit]").click();
  await page.locator("dialog .problem", { hasText: "Choose an identity" }).waitFor();
  await page.close();
});

test("the address of a question shows who has a capability, and through which role binding", async () => {
  const { page, requests } = await opened.openAs("viewer", `${accessPath}?capability=repo.create`);
  const answer = page.locator(".answer");
  await answer.locator("tr", { hasText: "release-robot" }).waitFor();
  await showsText(answer.locator("tr", { hasText: "release-robot" }), /editor at payments/);
  await showsText(answer.locator("tr", { hasText: "owner of tests" }), new RegExp(`owner at ${organizationName}`));
  assert.equal(await answer.locator("tr", { hasText: "viewer of tests" }).count(), 0);
  requireOperations(requests);
  await answer.locator("a", { hasText: "release-robot" }).click();
  await answer.locator(".verdict.yes").waitFor();
  await page.locator(".ask .primary:focus").waitFor();
  await visit(page, `${accessPath}?capability=no.such`);
  await page.locator("main", { hasText: "unknown capability" }).waitFor();
  const before = requests.length;
  await visit(page, `${accessPath}?capability=NO%00&identity=no`);
  await showsTexts(page.locator(".ask .problem"), ["Choose a capability, such as repo.delete.", "Choose an identity from the list, or paste its uid."]);
  assert.ok(requests.slice(before).every(({ url }) => !url.pathname.startsWith("/gantry/v1/access:explain")));
  await page.close();
});

test("an explanation shows each role binding at its group, and a denial offers the change that cures it", async () => {
  const { page } = await opened.openAs("owner", accessPath);
  const form = page.locator(".ask");
  await form.locator("input").nth(0).fill("repo.create");
  await form.locator("input").nth(1).fill("release-ro");
  await form.locator("[role=option]", { hasText: "release-robot" }).click();
  await form.locator("button[type=submit]").click();
  await page.waitForURL((url) => url.searchParams.get("capability") === "repo.create" && url.searchParams.get("identity") === robot);
  const answer = page.locator(".answer");
  await answer.locator(".verdict.yes", { hasText: "release-robot has repo.create in payments" }).waitFor();
  await showsTexts(answer.locator(".station"), [`${organizationName}OrganizationNo role binding here grants it.`, "paymentsThis groupeditor grants it"]);
  await visit(page, `${accessPath}?capability=groups.delete&identity=${encodeURIComponent(robot)}`);
  await answer.locator(".verdict.no").waitFor();
  await showsText(answer.locator(".station").nth(1), /editor does not include it/);
  await answer.locator("button:has-text('Add role binding')").click();
  assert.equal(await page.locator("dialog input").nth(0).inputValue(), "release-robot");
  await page.close();
});

test("a change that grants a missing capability is offered only after the server has rehearsed it, and works", async () => {
  const builder = await identity(team, "builder");
  await bind(backend, builder, "editor");
  const { page, problems, requests } = await opened.openAs("owner", `${accessPath}?capability=repo.create&identity=${encodeURIComponent(builder)}`);
  const answer = page.locator(".answer");
  await answer.locator(".verdict.no").waitFor();
  const before = await bindingsAt(team);
  const isRehearsal = ({ url }: (typeof requests)[number]): boolean => url.searchParams.get("validateOnly") === "true";
  assert.ok(!requests.some(isRehearsal), "the page rehearses only when the user asks");
  await answer.locator("button", { hasText: "Find a change" }).focus();
  await page.keyboard.press("Enter");
  const cure = answer.locator(".cures li", { hasText: "Grant editor to builder at payments" });
  await cure.locator(".badge", { hasText: /^Would work$/ }).waitFor();
  assert.ok(requests.some(isRehearsal));
  assert.deepEqual(await bindingsAt(team), before, "a rehearsal changes nothing");
  await requireViews(page, "rehearsed changes");
  await cure.locator("button", { hasText: "Make this change" }).focus();
  await page.keyboard.press("Enter");
  await answer.locator(".verdict.yes").waitFor();
  assert.deepEqual((await bindingsAt(team)).sort(), [...before, `${builder} ${builtInRoleUid("editor")}`].sort());
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a change that the server would refuse is shown with the reason and without a button", async () => {
  const outsider = await identity(backend, "outsider");
  const { page } = await opened.openAs("owner", `${accessPath}?capability=repo.delete&identity=${encodeURIComponent(outsider)}`);
  const cures = page.locator(".answer .cures");
  await page.locator(".answer button", { hasText: "Find a change" }).click();
  await cures.locator(".badge", { hasText: "Would not work" }).waitFor();
  await cures.locator(".problem", { hasText: /group/ }).waitFor();
  assert.equal(await cures.locator("button").count(), 0);
  await page.close();
});

test("the page, its answers and its forms pass axe and do not scroll sideways, for each kind of caller, size and theme", async () => {
  for (const kind of ["owner", "viewer"] as const) {
    const { page, problems } = await opened.openAs(kind, accessPath);
    for (const { size, colorScheme } of views) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const where = `${kind}, ${size.width} px, ${colorScheme}`;
      for (const query of ["", "?capability=repo.create", `?capability=groups.delete&identity=${encodeURIComponent(robot)}`, "?add="]) {
        await visit(page, accessPath + query);
        await page
          .locator(query.includes("capability") ? ".answer" : ".here tbody")
          .first()
          .waitFor();
        await settled(page);
        await requireAccessible(page, `${query}, ${where}`);
      }
      await visit(page, accessPath);
    }
    assert.deepEqual(problems, [], kind);
    await page.close();
  }
});

test("names and descriptions of tenants change no label, address or command of the page", async () => {
  const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>'; rm -rf ~ # \u202egpj.exe`;
  const name = "-- -x 2.0";
  const claimMatch = { issuer: "https://issuer.example.com", subject: "hostile" };
  const odd = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: team, group: { name: "-", description: hostile } }), "uid");
  const identityUid = text(
    await owned.ok("iam.IdentitiesService/CreateIdentity", { parent: odd, identity: { name, description: hostile, claimMatch } }),
    "uid",
  );
  const role = { name: "..", description: hostile, capabilities: ["CAP_REPO_LIST"] };
  const roleUid = text(await owned.ok("iam.RolesService/CreateRole", { parent: odd, role }), "uid");
  await owned.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: odd, roleBinding: { identityUid, roleUid } });
  const { page, problems } = await opened.openAs("owner", `${teamPath}/${odd.split("/").at(-1)}/-/access?add=`);
  const pick = page.locator("dialog input").nth(1);
  await pick.press("ArrowDown");
  await page.locator("dialog [role=option]", { hasText: "<script>" }).waitFor();
  await page.locator("dialog [role=option]", { hasText: ".." }).first().click();
  await page.locator("dialog summary").click();
  const commands = (await page.locator("dialog .command code").allTextContents()).join("\n");
  assert.ok(commands.includes(roleUid) && !commands.includes("rm -rf"), commands);
  await page.keyboard.press("Escape");
  await page.locator(`button[aria-label='Remove .. of ${name}']`).waitFor();
  assert.equal(await page.locator("main img, main script, main style, [onerror], [href^=javascript]").count(), 0);
  assert.deepEqual(problems, []);
  await page.close();
});

test("an expired role binding is offered for extension, and grants the capability again", async () => {
  const contractor = await identity(team, "contractor");
  const expireTime = new Date(world.clock.now + 60_000).toISOString();
  const roleBinding = { identityUid: contractor, roleUid: builtInRoleUid("editor"), expireTime };
  await owned.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: team, roleBinding });
  world.clock.now += 120_000;
  const { page, problems, requests } = await opened.openAs("owner", `${accessPath}?capability=repo.create&identity=${encodeURIComponent(contractor)}`);
  const answer = page.locator(".answer");
  await answer.locator(".station", { hasText: "editor has expired" }).waitFor();
  await answer.locator("button", { hasText: "Find a change" }).click();
  const cure = answer.locator(".cures li", { hasText: /^Extend editor at payments until .*Would work/ });
  await cure.locator("button", { hasText: "Make this change" }).click();
  await answer.locator(".verdict.yes").waitFor();
  await answer.locator(".grant.gives", { hasText: "editor grants it" }).waitFor();
  assert.equal((await bindingsAt(team)).filter((each) => each.startsWith(contractor)).length, 1, "the role binding is changed, and none is added");
  requireOperations(requests);
  assert.deepEqual(problems, []);
  await page.close();
});

const rolesPath = `/console/${organizationName}/tools/-/roles`;

test("a custom role is created by keyboard alone with capabilities that the caller has, is edited, and its deletion is undone", async () => {
  const tools = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "tools" } }), "uid");
  const { page, problems, requests } = await opened.openAs("owner", teamPath);
  const before = requests.length;
  await visit(page, rolesPath);
  await page.locator(".empty", { hasText: "No custom roles here" }).waitFor();
  assert.ok(pageRequests(requests.slice(before)).length <= 4);
  await page.locator("button", { hasText: "New role" }).press("Enter");
  const dialog = page.locator("dialog");
  await dialog.locator("input:focus").waitFor();
  await page.keyboard.type("image reader");
  await page.keyboard.press("Enter");
  await dialog.locator(".problem", { hasText: "at least one capability" }).waitFor();
  const filter = dialog.getByLabel("Capabilities: filter");
  await filter.fill("no such name");
  await filter.press("Enter");
  await dialog.locator(".check-list", { hasText: "No name contains “no such name”." }).waitFor();
  await filter.fill("tag.");
  await dialog.getByLabel("Choose all of tag").press("Enter");
  await dialog.getByLabel("tag.delete").press("Space");
  await filter.fill("internal");
  assert.equal(await dialog.getByRole("checkbox", { name: "internal", exact: true }).isDisabled(), true, "the owner lacks it");
  await filter.fill("repo.l");
  await dialog.getByLabel("repo.list").press("Space");
  await showsText(dialog.locator("legend"), /4 chosen/);
  await dialog.locator("summary", { hasText: "The same request" }).press("Enter");
  const command = `gantry iam roles create --parent ${tools} --name 'image reader' --capabilities CAP_REPO_LIST,CAP_TAG_CREATE,CAP_TAG_UPDATE,CAP_TAG_LIST`;
  await dialog.locator(".command code").getByText(command, { exact: true }).waitFor();
  await requireAccessible(page, "creating a role");
  await dialog.locator("button[type=submit]").press("Enter");
  const details = page.locator("section.details");
  await details.locator(".capabilities div", { hasText: "tag" }).filter({ hasText: "createupdatelist" }).waitFor();
  const uid = new URL(page.url()).searchParams.get("role") ?? "";
  const stored = () => owned.ok("iam.RolesService/GetRole", { uid });
  assert.deepEqual(texts(await stored(), "capabilities"), ["CAP_REPO_LIST", "CAP_TAG_CREATE", "CAP_TAG_UPDATE", "CAP_TAG_LIST"]);

  // Somebody else changes the role while its form is open.
  await details.locator("button", { hasText: "Edit" }).press("Enter");
  const name = dialog.getByLabel("Name", { exact: true });
  await showsValue(name, "image reader");
  await name.fill("image tagger");
  await dialog.getByLabel("repo.list").press("Space");
  await owned.ok("iam.RolesService/UpdateRole", { role: { uid, description: "of a colleague" }, updateMask: "description" });
  await name.press("Enter");
  const conflict = dialog.locator(".conflict");
  await conflict.locator("tr", { hasText: "Capabilities" }).filter({ hasText: "repo.list, tag.create" }).waitFor();
  await conflict.locator("tr", { hasText: "of a colleague" }).waitFor();
  await requireAccessible(page, "a role that has changed meanwhile");
  assert.equal(text(await stored(), "name"), "image reader");
  await conflict.getByText("Keep mine").press("Enter");
  await conflict.waitFor({ state: "detached" });
  await dialog.locator("summary", { hasText: "The same request" }).press("Enter");
  const shown = dialog.locator(".command code", { hasText: /^gantry iam roles update/ });
  await showsText(shown, /--name 'image tagger'/);
  const env = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await opened.tokenOf("owner") };
  // The command's words are quoted like those of a shell.
  const words = [...((await shown.textContent()) ?? "").matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
  const rehearsed = await gantry([...words.slice(1), "--dry-run", "-o", "json"], { env });
  assert.equal(rehearsed.code, 0, rehearsed.stderr);
  await name.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await details.locator("h2", { hasText: "image tagger" }).waitFor();
  assert.deepEqual(texts(await stored(), "capabilities"), ["CAP_TAG_CREATE", "CAP_TAG_UPDATE", "CAP_TAG_LIST"]);

  // A role in use is refused, an unused one comes back.
  const binding = text(
    await owned.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: tools, roleBinding: { identityUid: robot, roleUid: uid } }),
    "uid",
  );
  await page.getByLabel("Delete the role image tagger").press("Enter");
  await dialog.locator("p", { hasText: "1 role binding uses it" }).waitFor();
  await dialog.locator("button.danger").press("Enter");
  await dialog.locator("[role=alert]").waitFor();
  await page.keyboard.press("Escape");
  await owned.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: binding });
  await details.locator("button", { hasText: "Delete" }).press("Enter");
  await dialog.locator("p", { hasText: "No role binding that you can see uses it" }).waitFor();
  await requireAccessible(page, "deleting a role");
  await dialog.locator("button.danger").press("Enter");
  await page.locator(".empty", { hasText: "No custom roles here" }).waitFor();
  await page.locator(".banner button", { hasText: "Undo" }).press("Enter");
  await page.locator("tbody tr", { hasText: "image tagger" }).waitFor();
  assert.equal(text(await stored(), "name"), "image tagger");
  requireOperations(requests);
  // The browser reports the refused requests.
  assert.deepEqual(
    problems.filter((each) => !/status of 4(00|12)/.test(each)),
    [],
  );
  await page.close();
});

test("built-in roles show their capabilities and cannot be changed, and a viewer sees the missing permissions", async () => {
  const { page, problems } = await opened.openAs("viewer", rolesPath);
  await page.locator(".section-about", { hasText: "you need roles.create, roles.update, and roles.delete" }).waitFor();
  assert.equal(await page.locator("section.card header button, td.action").count(), 0);
  const owner = await opened.openAs("owner", `${rolesPath}?view=built-in`);
  await owner.page.locator("tbody a", { hasText: /^registry\.pull$/ }).press("Enter");
  const details = owner.page.locator("section.details");
  await details.locator(".capabilities dt", { hasText: /^repo\.blobs$/ }).waitFor();
  assert.equal(await owner.page.locator("td.action, section.card header .button").count(), 0);
  await requireViews(owner.page, "a built-in role");
  await visit(owner.page, `${rolesPath}?role=${"0".repeat(40)}`);
  await details.locator(".empty", { hasText: "does not exist any more" }).waitFor();
  assert.deepEqual([...problems, ...owner.problems], []);
  await Promise.all([page.close(), owner.page.close()]);
});
