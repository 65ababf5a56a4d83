// Explanations of permissions over both protocols (decision 0003): why a caller is allowed or denied, and which identities have a permission.

import { plant } from "../told.ts";
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { operatorUid } from "#base/operator.ts";
import { type JsonObject, text } from "#base/json.ts";
import { codes } from "#base/fault.ts";
import { newRoot } from "#base/uid.ts";
import { setSuspended } from "../../server/application/organization.ts";
import { holdersText } from "../../cli/access-report.ts";
import { registerPerson } from "../../server/application/person.ts";
import type { World } from "../world.ts";
import { callBoth, column, items } from "./protocols.ts";
import { bind, createIdentity, openInstallation, type Installation } from "./installation.ts";
import { gantryAnywhere } from "../anywhere.ts";
import { stopAll } from "./processes.ts";
import { fc, runs } from "../property.ts";

let home: Installation;
let world: World;
let operator: string;
/** organization > team > project; other is a sibling of team. */
let team: string;
let project: string;
let other: string;
let bot: string;

const claimMatch = { issuer: "https://issuer.example.com", subject: "bot" };

const group = async (parent: string, name: string): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }), "uid");
const role = async (parent: string, name: string, capabilities: readonly string[]): Promise<string> =>
  text(await world.ok("iam.RolesService/CreateRole", { parent, role: { name, capabilities: [...capabilities] } }), "uid");
const bindTo = async (parent: string, identityUid: string, roleUid: string, more: JsonObject = {}): Promise<string> =>
  text(await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid, ...more } }), "uid");

before(async () => {
  home = await openInstallation();
  world = home.world;
  operator = await world.token();
  team = await group(world.organization, "team");
  project = await group(team, "project");
  other = await group(world.organization, "other");
  bot = await createIdentity(world, world.organization, "bot", claimMatch);
});
after(async () => {
  await stopAll();
  await home?.close();
});

const explain = async (place: string, action: string, identityUid: string | undefined, token = operator) => {
  const query = new URLSearchParams({ place, action, ...(identityUid === undefined ? {} : { identity_uid: identityUid }) }).toString();
  return callBoth(
    world,
    token,
    ["GET", `/gantry/v1/access:explain?${query}`],
    ["gantry.access.v1.AccessService/Explain", { place, action, ...(identityUid === undefined ? {} : { identityUid }) }],
  );
};
const whoCan = async (place: string, capability: string, more: Readonly<Record<string, string | number>> = {}, token = operator) => {
  const query = new URLSearchParams({ place, capability, ...Object.fromEntries(Object.entries(more).map(([key, value]) => [key, String(value)])) }).toString();
  return callBoth(world, token, ["GET", `/gantry/v1/access:whoCan?${query}`], ["gantry.access.v1.AccessService/WhoCan", { place, capability, ...more }]);
};

test("an allowed explanation names the binding: UID, role, group, and whether it is inherited", async () => {
  const binding = await bind(world, team, bot, "viewer");
  const viewer = builtInRoleUid("viewer");
  const grant = {
    effect: "EFFECT_GIVES",
    inherited: true,
    hidden: false,
    bindingUid: binding,
    roleUid: viewer,
    roleName: "viewer",
    groupUid: team,
    groupName: "team",
  };
  assert.deepEqual((await explain(project, "repo.list", bot)).body, {
    allowed: true,
    identityUid: bot,
    capabilities: [{ capability: "repo.list", held: true, grants: [grant] }],
  });
  const direct = (await explain(team, "repo.list", bot)).body;
  assert.deepEqual(items(direct, "capabilities")[0]?.grants, [{ ...grant, inherited: false }]);
});

test("a denied explanation names near misses and why they are not sufficient", async () => {
  const reasons = async (place: string, action: string, who: string): Promise<string[]> => {
    const { body } = await explain(place, action, who);
    assert.equal(body.allowed, false);
    return column(items(body, "capabilities")[0] ?? {}, "grants", "effect");
  };
  const late = await createIdentity(world, world.organization, "late", claimMatch);
  await bindTo(team, late, builtInRoleUid("viewer"), { expireTime: new Date(world.clock.now + 60_000).toISOString() });
  assert.equal((await explain(project, "repo.list", late)).body.allowed, true);
  world.clock.now += 60_000;
  assert.deepEqual(await reasons(project, "repo.list", late), ["EFFECT_EXPIRED"]);
  assert.deepEqual(await reasons(team, "repo.create", bot), ["EFFECT_ROLE_LACKS_CAPABILITY"]);
  assert.deepEqual(await reasons(other, "repo.list", bot), ["EFFECT_ELSEWHERE"]);
  assert.deepEqual(await reasons(world.organization, "repo.list", bot), ["EFFECT_ELSEWHERE"], "a right below gives nothing above");
  const yetToCome = newRoot();
  await bindTo(team, yetToCome, builtInRoleUid("viewer"));
  assert.deepEqual(await reasons(project, "repo.list", yetToCome), ["EFFECT_NO_IDENTITY"]);
  assert.deepEqual(await reasons(project, "repo.list", newRoot()), []);
});

test("an operation is explained by each capability that it requires, with its own reason", async () => {
  const creator = await role(world.organization, "inviter", ["CAP_IAM_GROUP_INVITES_CREATE"]);
  const who = await createIdentity(world, world.organization, "inviter", claimMatch);
  await bindTo(team, who, creator);
  const { body } = await explain(team, "chainguard.platform.iam.v2.GroupInvitesService/CreateGroupInvite", who);
  assert.equal(body.allowed, false);
  assert.deepEqual(column(body, "capabilities", "capability"), ["group_invites.create", "role_bindings.create"]);
  assert.deepEqual(
    items(body, "capabilities").map(({ held }) => held),
    [true, false],
  );
});

test("without an identity the caller is explained", async () => {
  const { body } = await explain(team, "repo.delete", undefined);
  assert.equal(body.allowed, true);
  assert.equal(body.identityUid, operatorUid);
  assert.deepEqual(column(items(body, "capabilities")[0] ?? {}, "grants", "roleName"), ["operator"], "the operator needs no binding");
});

test("an unknown action, or one without requirements, is refused by name on both protocols", async () => {
  for (const action of [
    "repo.frobnicate",
    "chainguard.platform.iam.v2.GroupsService/Frobnicate",
    "chainguard.platform.ping.v2.PingService/Ping",
    "Repo List",
    "",
  ]) {
    const { status, body } = await explain(team, action, bot);
    assert.equal(status, 400, action);
    assert.deepEqual(column(items(body, "details")[1] ?? {}, "fieldViolations", "field"), ["action"]);
  }
  const { status, body } = await whoCan(team, "repo.frobnicate");
  assert.equal(status, 400);
  assert.deepEqual(column(items(body, "details")[1] ?? {}, "fieldViolations", "field"), ["capability"]);
});

test("a missing resource, or one that is not a group, is NOT_FOUND to permitted callers", async () => {
  const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: team, repo: { name: "no place" } }), "uid");
  for (const place of [`${team}/0123456789abcdef`, repo])
    for (const { status } of [await explain(place, "repo.list", bot), await whoCan(place, "repo.list")]) assert.equal(status, 404);
});

test("explaining requires permission to read identities, roles and role bindings of the group", async () => {
  const [seesNothing, seesTeam] = await Promise.all(["blind", "lead"].map((name) => createIdentity(world, world.organization, name, claimMatch)));
  await bindTo(team, seesTeam ?? "", builtInRoleUid("viewer"));
  for (const [who, place, allowed] of [
    [seesNothing, team, false],
    [seesTeam, team, true],
    [seesTeam, project, true],
    [seesTeam, other, false],
    [seesTeam, world.organization, false],
  ] as const) {
    const token = await world.token(who);
    for (const { status } of [await explain(place, "repo.list", bot, token), await whoCan(place, "repo.list", {}, token)])
      assert.equal(status, allowed ? 200 : 403);
  }
});

test("an inherited permission is reported, but its group, role and name are hidden if the caller cannot read them", async () => {
  const above = await createIdentity(world, world.organization, "head of everything", claimMatch);
  const secretRole = await role(world.organization, "the board", ["CAP_REPO_LIST", "CAP_REPO_DELETE"]);
  const hidden = await bindTo(world.organization, above, secretRole);
  const lead = await createIdentity(world, team, "team lead", claimMatch);
  await bindTo(team, lead, builtInRoleUid("owner"));
  const token = await world.token(lead);
  const seen = await explain(project, "repo.delete", above, token);
  assert.deepEqual(seen.body, {
    allowed: true,
    identityUid: above,
    capabilities: [{ capability: "repo.delete", held: true, grants: [{ effect: "EFFECT_GIVES", inherited: true, hidden: true }] }],
  });
  const holders = await whoCan(project, "repo.delete", {}, token);
  assert.deepEqual(column(holders.body, "holders", "identityUid"), [lead, above, operatorUid].sort());
  for (const { text: said } of [seen, holders])
    for (const secret of [hidden, secretRole, "the board", "head of everything", "first-organization"]) assert.ok(!said.includes(secret), secret);
  assert.deepEqual((await explain(project, "repo.create", above, token)).body.capabilities, [{ capability: "repo.create", held: false, grants: [] }]);
  assert.deepEqual(column(items((await explain(project, "repo.create", above)).body, "capabilities")[0] ?? {}, "grants", "roleName"), ["the board"]);
  await world.ok("iam.IdentitiesService/DeleteIdentity", { uid: above });
});

test("existing and unknown identities get the same explanation if the caller can read neither", async () => {
  const lead = await createIdentity(world, team, "second lead", claimMatch);
  await bindTo(team, lead, builtInRoleUid("owner"));
  const token = await world.token(lead);
  const there = await createIdentity(world, other, "there", claimMatch);
  await bindTo(other, there, builtInRoleUid("owner"));
  const answers = await Promise.all(
    [there, `${other}/0123456789abcdef`].map(async (uid) => (await explain(project, "repo.list", uid, token)).text.replaceAll(uid, "UID")),
  );
  assert.equal(answers[0], answers[1]);
});

test("who-can lists users, identities and the operator once each, with every granting binding", async () => {
  const place = await group(world.organization, "crowd");
  const inner = await group(place, "inner");
  const ada = await registerPerson(world.server.application.kernel, {
    issuer: "https://people.example.com",
    subject: "ada",
    email: "ada@example.com",
    name: "Ada",
  });
  const [first, second] = [await bindTo(place, ada, builtInRoleUid("owner")), await bindTo(inner, ada, builtInRoleUid("editor"))];
  const local = await createIdentity(world, place, "local", claimMatch);
  await bindTo(place, local, builtInRoleUid("viewer"));
  const below = await createIdentity(world, place, "below", claimMatch);
  await bindTo(await group(inner, "cellar"), below, builtInRoleUid("owner"));
  const { body } = await whoCan(inner, "repo.update");
  const expected = new Map([
    [ada, [first, second].sort()],
    [operatorUid, [""]],
  ]);
  assert.deepEqual(column(body, "holders", "identityUid"), [...expected.keys()].sort());
  assert.equal(body.totalCount, "2");
  for (const holder of items(body, "holders"))
    assert.deepEqual(
      items(holder, "grants").map((grant) => text(grant, "bindingUid")),
      expected.get(text(holder, "identityUid")),
    );
  assert.equal(items(body, "holders").find(({ identityUid }) => identityUid === ada)?.email, "ada@example.com");
  assert.deepEqual(column((await whoCan(place, "repo.list")).body, "holders", "identityUid"), [ada, local, operatorUid].sort());
});

test("who-can is paginated like any list: order, cursor, skip, exact total, and tokens bound to their query", async () => {
  const place = await group(world.organization, "pages");
  const members: string[] = [operatorUid];
  for (let index = 0; index < 7; index++) {
    members.push(await createIdentity(world, place, `member ${index}`, claimMatch));
    await bindTo(place, members.at(-1) ?? "", builtInRoleUid("viewer"));
    if (index % 2 === 0) await bindTo(place, members.at(-1) ?? "", builtInRoleUid("owner"));
  }
  for (const descending of [false, true]) {
    const sorted = descending ? [...members].sort().reverse() : [...members].sort();
    const order = descending ? "identity_uid desc" : "identity";
    const seen: string[] = [];
    let pageToken = "";
    do {
      const { body } = await whoCan(place, "repo.list", { page_size: 3, order_by: order, ...(pageToken ? { page_token: pageToken } : {}) });
      assert.equal(body.totalCount, String(members.length));
      seen.push(...column(body, "holders", "identityUid"));
      pageToken = text(body, "nextPageToken");
      if (pageToken !== "" && seen.length === 3) {
        // A new identity does not shift the pages.
        const late = await createIdentity(world, place, "late", claimMatch);
        const binding = await bindTo(place, late, builtInRoleUid("viewer"));
        await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: binding });
        assert.equal((await whoCan(other, "repo.list", { page_token: pageToken, order_by: order })).status, 400);
        assert.equal((await whoCan(place, "repo.create", { page_token: pageToken, order_by: order })).status, 400);
        const skipped = await whoCan(place, "repo.list", { page_size: 3, order_by: order, skip: 2, page_token: pageToken });
        assert.deepEqual(column(skipped.body, "holders", "identityUid"), sorted.slice(5, 8));
        assert.equal(skipped.body.skipped, 2);
      }
    } while (pageToken !== "");
    assert.deepEqual(seen, sorted);
  }
  for (const [field, value] of [
    ["page_size", -1],
    ["skip", -1],
    ["order_by", "name"],
  ] as const)
    assert.equal((await whoCan(place, "repo.list", { [field]: value })).status, 400);
});

test("a binding above the identity's own group, which no operation can create, grants nothing and is explained as such", async () => {
  const insider = await createIdentity(world, team, "insider", claimMatch);
  const uid = await bindTo(team, insider, builtInRoleUid("owner"));
  await world.server.application.services.store.write(async (rows) =>
    (await plant(rows)).query("update role_bindings set uid = $2 where uid = $1", [uid, `${world.organization}/00000000000000aa`]),
  );
  const { body } = await explain(project, "repo.delete", insider);
  assert.equal(body.allowed, false);
  assert.deepEqual(column(items(body, "capabilities")[0] ?? {}, "grants", "effect"), ["EFFECT_OUTSIDE_IDENTITY_GROUP"]);
  assert.ok(!column((await whoCan(project, "repo.delete")).body, "holders", "identityUid").includes(insider));
});

test("in a suspended organization only the operator has permissions, and explanations say so", async () => {
  const closing = await group("", "closing");
  const member = await createIdentity(world, closing, "member", claimMatch);
  await bindTo(closing, member, builtInRoleUid("owner"));
  await setSuspended(world.server.application, closing, true);
  const { body } = await explain(closing, "repo.list", member);
  assert.equal(body.allowed, false);
  assert.deepEqual(column(items(body, "capabilities")[0] ?? {}, "grants", "effect"), ["EFFECT_SUSPENDED"]);
  assert.deepEqual(column((await whoCan(closing, "repo.list")).body, "holders", "identityUid"), [operatorUid]);
});

test("gantry explain and gantry who-can print explanations as text and as JSON", async () => {
  const place = await group(world.organization, "terminal");
  const who = await createIdentity(world, place, "terminal bot", claimMatch);
  const binding = await bindTo(place, who, builtInRoleUid("viewer"));
  const command = (...args: string[]) => gantryAnywhere(args, { env: home.environment });
  const [told, lines] = await Promise.all([command("explain", who, "repo.list", place), command("who-can", "repo.list", place, "--json")]);
  assert.deepEqual([told.code, lines.code], [0, 0], told.stderr + lines.stderr);
  assert.match(told.stdout, new RegExp(`^allowed\\nrepo\\.list: granted\\n.*BINDING.*\\n +grants it +viewer +terminal ${place} +never +${binding}\\n$`));
  const holders = lines.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
  assert.deepEqual(holders, items((await whoCan(place, "repo.list")).body, "holders"));
  assert.match(holdersText(holders), new RegExp(`^IDENTITY .*\\n(?:.*\\n)*${who} +terminal bot +viewer +terminal ${place} +never +${binding}\\n`));
});

test("a group, also of an import, can be named by its path of names, and an unknown one is refused as typed", async () => {
  const place = await group(world.organization, "by name");
  const who = await createIdentity(world, place, "named bot", claimMatch);
  await bindTo(place, who, builtInRoleUid("viewer"));
  const organization = text((await world.ok("iam.GroupsService/GetGroup", { uid: world.organization })) ?? {}, "name");
  const command = (...args: string[]) => gantryAnywhere(args, { env: home.environment });
  const [told, lines, missing] = await Promise.all([
    command("explain", who, "repo.list", `${organization}/by name`),
    command("who-can", "repo.list", `${organization}/by name`),
    command("who-can", "repo.list", `${organization}/nowhere`),
  ]);
  assert.match(told.stdout, /^allowed\n/);
  assert.match(lines.stdout, new RegExp(`^${who} +named bot`, "m"));
  assert.deepEqual([missing.code, missing.stderr], [1, `gantry: GROUP: group "${organization}/nowhere" not found\n`]);
  await world.ok("iam.GroupsService/CreateGroup", { group: { name: "twins" } });
  const folder = join(import.meta.dirname, "../fixtures/registry");
  const [unnamed, named] = [await command("import", "registry", folder), await command("import", "registry", folder, "--group", organization)];
  assert.equal(unnamed.code, 1);
  assert.match(unnamed.stderr, /^gantry: several organizations exist. Name the group with --group: .*[0-9a-f]{40} \(twins\)/);
  assert.match(named.stdout, /^13 repos \(13 new\)/);
});

// ---- explanations against real requests -------------------------------------------------------------------------

const symbols = { "repo.list": "CAP_REPO_LIST", "groups.list": "CAP_IAM_GROUPS_LIST", "repo.create": "CAP_REPO_CREATE" } as const;
type Capability = keyof typeof symbols;
const capabilities = Object.keys(symbols) as Capability[];

/** Returns whether a real request that requires this capability on this group is allowed. */
const really = async (token: string, capability: Capability, place: string): Promise<boolean> => {
  const { code } = await {
    "repo.list": () => world.call("registry.ReposService/GetRepo", { uid: `${place}/${"0".repeat(16)}` }, { token }),
    "groups.list": () => world.call("iam.GroupsService/GetGroup", { uid: place }, { token }),
    "repo.create": () => world.call("registry.ReposService/CreateRepo", { parent: place, repo: { name: "rehearsed" } }, { token, validateOnly: true }),
  }[capability]();
  assert.ok([0, codes.NOT_FOUND, codes.PERMISSION_DENIED].includes(code), String(code));
  return code !== codes.PERMISSION_DENIED;
};

test("explain matches real requests, and who-can lists exactly the identities that it allows, for random trees, roles, bindings and expiries", async () => {
  const index = (max: number) => fc.nat({ max });
  const plan = fc.record({
    parents: fc.tuple(index(0), index(1), index(2)),
    homes: fc.tuple(index(3), index(3)),
    roles: fc.tuple(...[0, 1].map(() => fc.record({ at: index(1), holds: fc.uniqueArray(fc.constantFrom(...capabilities), { minLength: 1 }) }))),
    bindings: fc.array(fc.record({ who: index(3), at: index(3), role: index(3), minutes: fc.constantFrom(undefined, 5, 20) }), { minLength: 3, maxLength: 8 }),
  });
  let number = 0;
  let [allowedCount, deniedCount] = [0, 0];
  await fc.assert(
    fc.asyncProperty(plan, async ({ parents, homes, roles, bindings }) => {
      const groups = [await group(world.organization, `tree ${number++}`)];
      for (const parent of parents) groups.push(await group(groups[parent] ?? "", "branch"));
      const people = ["one", "two"].map((subject) =>
        registerPerson(world.server.application.kernel, { issuer: "https://people.example.com", subject: `${subject} ${number}`, email: "", name: subject }),
      );
      const identities = [
        ...(await Promise.all(homes.map((home) => createIdentity(world, groups[home] ?? "", "someone", claimMatch)))),
        ...(await Promise.all(people)),
      ];
      const made = await Promise.all(
        roles.map(({ at, holds }, each) =>
          role(
            groups[at] ?? "",
            `role ${each}`,
            holds.map((name) => symbols[name]),
          ),
        ),
      );
      const roleUids = [...made, builtInRoleUid("viewer"), builtInRoleUid("registry.push")];
      for (const { who, at, role: which, minutes } of bindings) {
        const roleBinding = {
          identityUid: identities[who] ?? "",
          roleUid: roleUids[which] ?? "",
          ...(minutes === undefined ? {} : { expireTime: new Date(world.clock.now + minutes * 60_000).toISOString() }),
        };
        // Skips a binding that the rules refuse: sideways, duplicate, or a role of another branch.
        await world.call("iam.RoleBindingsService/CreateRoleBinding", { parent: groups[at] ?? "", roleBinding });
      }
      for (const passMs of [0, 10 * 60_000]) {
        world.clock.now += passMs;
        operator = await world.token();
        for (const place of groups)
          for (const capability of capabilities) {
            const verdicts = await Promise.all(
              identities.map(async (identityUid) => {
                const reply = await world.ok("gantry.access.v1.AccessService/Explain", { place, identityUid, action: capability });
                assert.equal(reply.allowed, await really(await world.token(identityUid), capability, place), `${capability} at ${place} for ${identityUid}`);
                assert.equal(
                  items(items(reply, "capabilities")[0] ?? {}, "grants").some(({ effect }) => effect === "EFFECT_GIVES"),
                  reply.allowed,
                );
                return reply.allowed === true;
              }),
            );
            const reply = await world.ok("gantry.access.v1.AccessService/WhoCan", { place, capability, pageSize: 200 });
            const held = column(reply, "holders", "identityUid").filter((uid) => identities.includes(uid));
            assert.deepEqual(held, identities.filter((_, each) => verdicts[each]).sort());
            allowedCount += held.length;
            deniedCount += identities.length - held.length;
          }
      }
    }),
    // Without shrinking, which would take minutes; a counterexample is already small.
    { numRuns: runs(6), endOnFailure: true },
  );
  assert.ok(allowedCount > 50 && deniedCount > 50, `${allowedCount} allowed, ${deniedCount} denied: too one-sided to tell`);
});
