// Names of organizations, for the operator: reserved names are listed and released, and shared names are found.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { codes } from "#base/fault.ts";
import { asOwner } from "../database.ts";
import { type Installation, openInstallation } from "./installation.ts";
import { gantry, stopAll } from "./processes.ts";

const groups = "iam.GroupsService";
let installation: Installation;
before(async () => {
  installation = await openInstallation();
});
after(async () => {
  await stopAll();
  await installation.close();
});

const make = async (name: string, parent?: string): Promise<string> =>
  text(await installation.world.ok(`${groups}/CreateGroup`, { ...(parent === undefined ? {} : { parent }), group: { name } }), "uid");
const rename = (uid: string, name: string) => installation.world.call(`${groups}/UpdateGroup`, { group: { uid, name }, updateMask: "name" });
const command = (...args: string[]) => gantry(args, { env: installation.environment });

test("the operator lists and releases a reserved name with an audit entry, and another organization can take it", async () => {
  const { world } = installation;
  const [one, other] = [await make("reserved.example"), await make("other.example")];
  await world.ok("registry.ReposService/CreateRepo", { parent: one, repo: { name: "app" } });
  assert.equal((await rename(one, "renamed.example")).code, 0);
  assert.equal((await rename(other, "reserved.example")).code, codes.ALREADY_EXISTS, "not to the operator, either");
  const listed = await command("admin", "names", "list");
  assert.equal(listed.code, 0, listed.stderr);
  assert.match(listed.stdout, new RegExp(`${one} .* yes +reserved\\.example`));
  const wrong = await command("admin", "names", "release", "nowhere.example");
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /not reserved/);
  assert.equal((await command("admin", "names", "release", "renamed.example")).code, 1, "a name in use is none to release");
  const released = await command("admin", "names", "release", "reserved.example");
  assert.equal(released.code, 0, released.stderr);
  assert.ok((await world.events()).some(({ type, subject }) => type === "dev.gantry.organization.name_released.v1" && subject === one));
  assert.equal((await rename(other, "reserved.example")).code, 0);
});

test("doctor lists names shared or reserved before names were unique, and each resolves again after a rename", async () => {
  const { world } = installation;
  const [one, two, three] = [await make("twins.example"), await make("twin two"), await make("modern.example")];
  const [left, right] = [await make("left", three), await make("right", three)];
  await asOwner(world.databaseUrl, "alter table groups disable trigger groups_renamed");
  for (const [uid, name] of [
    [two, "twins.example"],
    [right, "left"],
    [one, "twins.example"],
  ] as const)
    assert.equal((await rename(uid, name)).code, 0);
  await asOwner(world.databaseUrl, "alter table groups enable trigger groups_renamed");
  const findings = async (): Promise<JsonObject[]> =>
    (await command("doctor", "--json")).stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as JsonObject)
      .filter(({ subject }) => subject === "names");
  const found = await findings();
  assert.deepEqual(
    found.map(({ is }) => is),
    ["bad", "bad"],
  );
  assert.match(text(found[0] ?? {}, "says"), /2 organizations are named twins\.example; paths with it lead to no repository/);
  for (const uid of [one, two]) assert.ok(text(found[0] ?? {}, "says").includes(uid));
  assert.match(text(found[1] ?? {}, "says"), new RegExp(`2 groups in ${three} are named left`));
  for (const uid of [left, right]) assert.ok(text(found[1] ?? {}, "says").includes(uid));
  assert.equal((await rename(one, "twin one")).code, 0);
  assert.equal((await rename(right, "right")).code, 0);
  assert.deepEqual(
    (await findings()).map(({ is }) => is),
    ["good"],
  );
  assert.equal((await rename(one, "twins.example")).code, codes.ALREADY_EXISTS, "the one that was left has the name");
});

test("a name has at most 256 characters everywhere, including a group's claims of look-alikes", async () => {
  const { world } = installation;
  const parent = await make("long names");
  const long = "m".repeat(256);
  const oidc = { issuer: "https://login.example.com", clientId: "c", clientSecret: "s" };
  const kinds: readonly (readonly [name: string, key: string, more: JsonObject])[] = [
    ["iam.GroupsService/CreateGroup", "group", {}],
    ["iam.RolesService/CreateRole", "role", { capabilities: ["CAP_REPO_LIST"] }],
    ["iam.IdentitiesService/CreateIdentity", "identity", { claimMatch: { issuer: "https://ci.example.com", subject: "s" } }],
    ["iam.IdentityProvidersService/CreateIdentityProvider", "identityProvider", { defaultRole: builtInRoleUid("viewer"), oidc }],
    ["registry.ReposService/CreateRepo", "repo", {}],
    ["chainguard.platform.registry.v2beta1.OverlaysService/CreateOverlay", "overlay", { config: { environment: { A: "b" } } }],
  ];
  for (const [name, key, more] of kinds) {
    const create = (text: string) => world.call(name, { parent, [key]: { name: text, ...more } });
    const made = await create(long);
    assert.equal(made.code, 0, `${name}: ${made.message}`);
    const list = name.replace(/Create(\w+)$/, "List$1s").replace("Identitys", "Identities");
    const listed = await world.call(list, { name: long, uidp: { childrenOf: parent } });
    assert.ok(JSON.stringify(listed.reply).includes(text(made.reply, "uid")), `${list}: ${listed.message}`);
    const refused = await create(`${long}m`);
    assert.equal(refused.code, codes.INVALID_ARGUMENT, name);
    assert.match(refused.message, /name must (?:have at most 256 characters|match "\^\[\\\\S \]\{1,256\}\$")/, name);
  }
  const twin = await world.call("iam.GroupsService/CreateGroup", { parent, group: { name: `rn${"m".repeat(254)}` } });
  assert.equal(twin.code, 0, "it looks like 255 characters, and so is another name");
  const alike = await world.call("iam.GroupsService/CreateGroup", { parent, group: { name: `${"m".repeat(253)}rnm` } });
  assert.equal(alike.code, codes.ALREADY_EXISTS);
});
