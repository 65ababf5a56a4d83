// Attacks 208, 216 and 217: a directory that fills the server. An organization's SCIM data is counted and has quotas.

import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { organizationQuotas, rowQuotas } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { changeQuota, listQuotas } from "../../server/application/quotas.ts";
import { asOwner, ownerUrlOf } from "../database.ts";
import { type FakeProvider, openProvider, registerProvider } from "../provider.ts";
import { enableScim, makeOwners, type ScimAnswer, type ScimProvider } from "../scim.ts";
import { databaseContents } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let provider: FakeProvider;
let idp: ScimProvider;

before(async () => {
  world = await openWorld();
  provider = await openProvider(() => world.clock.now);
  await makeOwners(world);
  idp = await enableScim(world, await registerProvider(world, provider));
});
after(async () => {
  await world?.close();
  await provider?.close();
});

const service = "iam.IdentityProvidersService";
const deletions = "gantry.deletions.v1.DeletionsService";
const touched = [
  "identity_providers",
  "outbox",
  "resource_counts",
  "role_bindings",
  "scim_arrivals",
  "scim_groups",
  "scim_members",
  "scim_removals",
  "scim_users",
];

const quotaOptions = (): Parameters<typeof changeQuota>[0] => ({
  settings: { databaseUrl: world.databaseUrl, migrateUrl: ownerUrlOf(world.databaseUrl), dataDirectory: tmpdir(), auditMonths: 13 },
  publicUrl: world.url,
  log: silent,
  progress: () => {},
});

/** Returns the organization's usage as `gantry admin quota list` shows it. */
const usedOf = async (organization: string, name: string): Promise<number | undefined> =>
  (await listQuotas(quotaOptions(), organization)).find((quota) => quota.name === name)?.used;

const openTwo = async (name: string): Promise<{ organization: string; one: ScimProvider; two: ScimProvider }> => {
  const organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  await makeOwners(world, organization);
  const open = async (): Promise<ScimProvider> => enableScim(world, await registerProvider(world, provider, { parent: organization }));
  return { organization, one: await open(), two: await open() };
};

for (const { name, path, documentOf, told } of [
  {
    name: "scim-users",
    path: "/Users",
    // Without an external ID, a deleted user leaves no row (attack 216 covers the others).
    documentOf: (key: string): JsonObject => ({ userName: key }),
    told: (quota: number) => `${quota} SCIM users, including removed ones (quota scim-users): ask`,
  },
  {
    name: "scim-groups",
    path: "/Groups",
    documentOf: (key: string): JsonObject => ({ displayName: key, externalId: key }),
    told: (quota: number) => `${quota} scim groups (quota scim-groups): delete some, or ask`,
  },
] as const) {
  const make = (at: ScimProvider, key: string) => at.ask("POST", path, documentOf(key));

  test(`attack 208: a directory creates ${name} up to the organization's quota over all its providers`, async () => {
    const { organization, one, two } = await openTwo(`filled with ${name}`);
    await changeQuota(quotaOptions(), { name, value: 7, organization });
    const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => make(index % 2 === 0 ? one : two, `all-at-once-${index}`)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(7).fill(201), ...Array(5).fill(429)]);
    assert.equal(await usedOf(organization, name), 7);
    const refused = answers.find(({ status }) => status === 429);
    assert.deepEqual(refused?.body, {
      schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
      status: "429",
      detail: `the organization ${organization} has reached its limit of ${told(7)} the operator of the server to raise it with gantry admin quota`,
    });
    assert.deepEqual([refused.headers.get("content-type"), refused.headers.get("retry-after")], ["application/scim+json", null]);
    assert.equal((await make(idp, `meanwhile-${name}`)).status, 201, "other organizations have their own");
  });

  test(`attack 208: a full directory is refused new ${name} without a trace, can change existing ones, and can replace deleted ones`, async () => {
    const { organization, one } = await openTwo(`full of ${name}`);
    const [kept, gone] = [text((await make(one, "kept")).body, "id"), text((await make(one, "gone")).body, "id")];
    assert.equal((await one.ask("DELETE", `${path}/${gone}`)).status, 204);
    await changeQuota(quotaOptions(), { name, value: 1, organization });
    const before = await databaseContents(world, touched);
    assert.equal((await make(one, "gone")).status, 429);
    assert.deepEqual(await databaseContents(world, touched), before);
    await changeQuota(quotaOptions(), { name, value: 0, organization });
    const operations = { Operations: [{ op: "replace", path: "displayName", value: "Patched" }] };
    assert.ok([200, 204].includes((await one.ask("PATCH", `${path}/${kept}`, operations)).status));
    assert.equal((await one.ask("PUT", `${path}/${kept}`, documentOf("replaced"))).status, 200);
    await changeQuota(quotaOptions(), { name, value: 1, organization });
    assert.equal((await one.ask("DELETE", `${path}/${kept}`)).status, 204);
    assert.deepEqual([(await make(one, "gone")).status, (await make(one, "another")).status], [201, 429]);
    await changeQuota(quotaOptions(), { name, value: undefined, organization });
    assert.equal((await make(one, "another")).status, 201);
  });

  test(`attack 208: a deleted provider frees the quota of ${name}, and is restored with them only if they fit`, async () => {
    const { organization, one, two } = await openTwo(`deleted with ${name}`);
    for (const key of ["a", "b", "c"]) assert.equal((await make(one, key)).status, 201);
    await changeQuota(quotaOptions(), { name, value: 4, organization });
    await world.ok(`${service}/DeleteIdentityProvider`, { uid: one.uid });
    assert.equal(await usedOf(organization, name), 0);
    for (const key of ["a", "b"]) assert.equal((await make(two, key)).status, 201);
    const [deletion] = objectList(await world.ok(`${deletions}/ListDeletions`, { resourceUids: [one.uid] }), "deletions");
    const undelete = () => world.call(`${deletions}/UndeleteDeletion`, { uid: text(deletion ?? {}, "uid") });
    const refused = await undelete();
    assert.equal(refused.code, codes.RESOURCE_EXHAUSTED);
    assert.match(refused.message, new RegExp(`quota ${name}`));
    assert.equal(await usedOf(organization, name), 2);
    await changeQuota(quotaOptions(), { name, value: 5, organization });
    assert.equal((await undelete()).code, 0);
    assert.equal(await usedOf(organization, name), 5);
    assert.equal((await make(two, "c")).status, 429);
  });
}

test("attack 208: a user whose default role exceeds the quota is refused with the quota's name, and not stored", async () => {
  const { organization, one } = await openTwo("full of bindings");
  await changeQuota(quotaOptions(), { name: "role-bindings", value: (await usedOf(organization, "role-bindings")) ?? 0, organization });
  const before = await databaseContents(world, touched);
  const refused = await one.ask("POST", "/Users", { userName: "unbound", externalId: "unbound" });
  assert.equal(refused.status, 429);
  assert.match(text(refused.body, "detail"), /quota role-bindings/);
  assert.deepEqual(await databaseContents(world, touched), before);
  assert.equal((await one.ask("POST", "/Users", { userName: "nobody yet" })).status, 201);
});

test("attack 208: every SCIM quota has a default, and the command names it", async () => {
  const quotas = new Map((await listQuotas(quotaOptions())).map((quota) => [quota.name, quota.byDefault]));
  for (const name of ["scim-users", "scim-groups"] as const) assert.equal(quotas.get(name), organizationQuotas[name]);
  assert.equal(quotas.get("scim-members"), rowQuotas["scim-members"]);
});

const rowsIn = async (organization: string, table: "scim_users" | "scim_removals" | "scim_members"): Promise<number> => {
  const column = { scim_users: "uid", scim_removals: "identity_provider_uid", scim_members: "group_uid" }[table];
  return Number((await asOwner(world.databaseUrl, `select count(*) from ${table} where left(${column}, 40) = $1`, [organization]))[0]?.[0]);
};

const setQuota = (name: string, value: number | undefined, organization: string): Promise<void> => changeQuota(quotaOptions(), { name, value, organization });

const announce = async (at: ScimProvider, key: string): Promise<string> => {
  const { status, body } = await at.ask("POST", "/Users", { userName: key, externalId: key });
  assert.equal(status, 201, JSON.stringify(body));
  return text(body, "id");
};

/** Asserts a 429 in RFC 7644's form that names the quota, and that nothing changed. */
const refusedWhole = async (quota: string, send: () => Promise<ScimAnswer>): Promise<void> => {
  const before = await databaseContents(world, touched);
  const { status, headers, body } = await send();
  assert.equal(status, 429, JSON.stringify(body));
  assert.match(text(body, "detail"), new RegExp(`\\(quota ${quota}\\)`));
  assert.deepEqual(body.schemas, ["urn:ietf:params:scim:api:messages:2.0:Error"]);
  assert.equal(headers.get("retry-after"), null);
  assert.deepEqual(await databaseContents(world, touched), before);
};

/** Deletes the provider; returns a function that restores it. */
const deleteProvider = async ({ uid }: ScimProvider) => {
  await world.ok(`${service}/DeleteIdentityProvider`, { uid });
  const [deletion] = objectList(await world.ok(`${deletions}/ListDeletions`, { resourceUids: [uid] }), "deletions");
  return () => world.call(`${deletions}/UndeleteDeletion`, { uid: text(deletion ?? {}, "uid") });
};

test("attack 216: users added and removed endlessly under new external IDs never exceed the user quota", async () => {
  const { organization, one, two } = await openTwo("churn");
  await setQuota("scim-users", 5, organization);
  for (let key = 0; key < 5; key++) {
    const at = key % 2 === 0 ? one : two;
    assert.equal((await at.ask("DELETE", `/Users/${await announce(at, `left-${key}`)}`)).status, 204);
    if (key === 4) continue;
    const { body } = await at.ask("POST", "/Users", { userName: "nobody" });
    assert.equal((await at.ask("DELETE", `/Users/${text(body, "id")}`)).status, 204);
  }
  assert.deepEqual([await rowsIn(organization, "scim_users"), await rowsIn(organization, "scim_removals")], [0, 5]);
  assert.equal(await usedOf(organization, "scim-users"), 5);
  await refusedWhole("scim-users", () => one.ask("POST", "/Users", { userName: "one more", externalId: "one more" }));
  await refusedWhole("scim-users", () => two.ask("POST", "/Users", { userName: "without an external id" }));
  await refusedWhole("scim-users", () => two.ask("POST", "/Users", { userName: "left-0", externalId: "left-0" }));
});

test("attack 216: a removed user can return, and any user can be removed, however low the quota", async () => {
  const { organization, one } = await openTwo("coming and going");
  const kept = await announce(one, "kept");
  assert.equal((await one.ask("DELETE", `/Users/${await announce(one, "gone")}`)).status, 204);
  for (const quota of [2, 1, 0]) {
    await setQuota("scim-users", quota, organization);
    for (let time = 0; time < 3; time++) assert.equal((await one.ask("DELETE", `/Users/${await announce(one, "gone")}`)).status, 204);
    assert.equal(await usedOf(organization, "scim-users"), 2);
    await refusedWhole("scim-users", () => one.ask("POST", "/Users", { userName: "new", externalId: "new" }));
  }
  assert.equal((await one.ask("DELETE", `/Users/${kept}`)).status, 204);
  assert.deepEqual([await rowsIn(organization, "scim_users"), await rowsIn(organization, "scim_removals")], [0, 2]);
  await refusedWhole("scim-users", () => one.ask("POST", "/Users", { userName: "new", externalId: "new" }));
});

test("attack 216: a user with ever-changing external IDs leaves removals up to the quota, and can still be updated and deleted", async () => {
  const { organization, one } = await openTwo("other external ids");
  await setQuota("scim-users", 4, organization);
  const id = await announce(one, "id-0");
  const put = (key: string) => one.ask("PUT", `/Users/${id}`, { userName: "somebody", externalId: key });
  for (const key of ["id-1", "id-2", "id-3"]) assert.equal((await put(key)).status, 200);
  assert.equal(await usedOf(organization, "scim-users"), 4);
  const patched = (operation: JsonObject) => one.ask("PATCH", `/Users/${id}`, { Operations: [operation] });
  for (const quota of [4, 0]) {
    await setQuota("scim-users", quota, organization);
    await refusedWhole("scim-users", () => put("id-4"));
    await refusedWhole("scim-users", () => patched({ op: "remove", path: "externalId" }));
    for (const key of ["id-1", "id-0", "id-3"]) assert.equal((await put(key)).status, 200, "one whom the provider has known");
    for (const value of [false, true]) assert.equal((await patched({ op: "replace", path: "active", value })).status, 200);
  }
  assert.equal((await one.ask("DELETE", `/Users/${id}`)).status, 204);
  assert.deepEqual([await rowsIn(organization, "scim_users"), await rowsIn(organization, "scim_removals")], [0, 4]);
  assert.equal(await usedOf(organization, "scim-users"), 4);
});

test("attack 216: forty concurrent adds and removals never exceed the quota", async () => {
  const { organization, one, two } = await openTwo("churn at once");
  await setQuota("scim-users", 30, organization);
  const comeAndGo = async (at: ScimProvider, key: string): Promise<number> => {
    const { status, body } = await at.ask("POST", "/Users", { userName: key, externalId: key });
    if (status === 201) assert.equal((await at.ask("DELETE", `/Users/${text(body, "id")}`)).status, 204);
    return status;
  };
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => comeAndGo(index % 2 === 0 ? one : two, `at-once-${index}`)));
  assert.deepEqual([answers.filter((status) => status === 201).length, answers.filter((status) => status === 429).length], [30, 10]);
  assert.deepEqual([await rowsIn(organization, "scim_removals"), await usedOf(organization, "scim-users")], [30, 30]);
});

test("attack 216: a deleted provider takes its removed users along, and is restored with them only if they fit", async () => {
  const { organization, one, two } = await openTwo("removals of a provider");
  await announce(one, "stays");
  for (const key of ["a", "b"]) assert.equal((await one.ask("DELETE", `/Users/${await announce(one, key)}`)).status, 204);
  await setQuota("scim-users", 3, organization);
  const undelete = await deleteProvider(one);
  assert.equal(await usedOf(organization, "scim-users"), 0);
  await announce(two, "a");
  const refused = await undelete();
  assert.equal(refused.code, codes.RESOURCE_EXHAUSTED);
  assert.match(refused.message, /limit of 3 scim users \(quota scim-users\)/);
  await setQuota("scim-users", 4, organization);
  assert.equal((await undelete()).code, 0);
  assert.deepEqual([await rowsIn(organization, "scim_removals"), await usedOf(organization, "scim-users")], [2, 4]);
});

const openPeople = async (name: string, count: number) => {
  const { organization, one, two } = await openTwo(name);
  const users = await Promise.all(Array.from({ length: count }, (_, index) => announce(one, `member-${index}`)));
  const valuesOf = (ids: readonly string[]) => ids.map((value) => ({ value }));
  const makeGroup = (displayName: string, ids: readonly string[], at = one) => at.ask("POST", "/Groups", { displayName, members: valuesOf(ids) });
  const put = (id: string, ids: readonly string[]) => one.ask("PUT", `/Groups/${id}`, { displayName: "replaced", members: valuesOf(ids) });
  const patch = (id: string, ...Operations: JsonObject[]) => one.ask("PATCH", `/Groups/${id}`, { Operations });
  const add = (ids: readonly string[]): JsonObject => ({ op: "add", path: "members", value: valuesOf(ids) });
  const remove = (ids: readonly string[]): JsonObject => ({ op: "remove", path: "members", value: valuesOf(ids) });
  const memberCount = () => rowsIn(organization, "scim_members");
  return { organization, one, two, users, makeGroup, put, patch, add, remove, memberCount };
};

test("attack 217: group memberships never exceed the quota over all providers, whichever request adds them", async () => {
  const { organization, two, users, makeGroup, put, patch, add, memberCount } = await openPeople("members without end", 6);
  await setQuota("scim-members", 10, organization);
  const { body } = await makeGroup("first", users);
  const id = text(body, "id");
  const second = text((await makeGroup("second", users.slice(0, 3))).body, "id");
  const elsewhere = await announce(two, "elsewhere");
  assert.equal((await makeGroup("of the other provider", [elsewhere], two)).status, 201);
  assert.equal(await usedOf(organization, "scim-members"), 10);
  await refusedWhole("scim-members", () => makeGroup("third", users.slice(0, 1)));
  await refusedWhole("scim-members", () => makeGroup("of the other provider, again", [elsewhere], two));
  await refusedWhole("scim-members", () => put(second, users.slice(0, 4)));
  await refusedWhole("scim-members", () => patch(second, add(users.slice(3, 4)), { op: "replace", path: "displayName", value: "unseen" }));
  assert.equal((await patch(id, add(users))).status, 204);
  assert.equal((await put(second, users.slice(0, 3))).status, 200);
  assert.equal((await makeGroup("empty", [])).status, 201);
  assert.deepEqual([await memberCount(), await usedOf(organization, "scim-members")], [10, 10]);
});

test("attack 217: of members added concurrently to many groups, exactly as many as fit are added", async () => {
  const { organization, users, makeGroup, patch, add, memberCount } = await openPeople("members at once", 2);
  const groups = await Promise.all(Array.from({ length: 40 }, async (_, index) => text((await makeGroup(`group ${index}`, [])).body, "id")));
  await setQuota("scim-members", 25, organization);
  const statuses = (await Promise.all(groups.map((id) => patch(id, add(users.slice(0, 1)))))).map(({ status }) => status);
  assert.deepEqual([statuses.filter((status) => status === 204).length, statuses.filter((status) => status === 429).length], [25, 15]);
  assert.deepEqual([await memberCount(), await usedOf(organization, "scim-members")], [25, 25]);
});

test("attack 217: members can be removed, or replaced one for one, however low the quota", async () => {
  const { organization, one, users, makeGroup, put, patch, add, remove, memberCount } = await openPeople("members who leave", 8);
  const id = text((await makeGroup("everybody", users.slice(0, 6))).body, "id");
  const other = text((await makeGroup("others", users.slice(0, 4))).body, "id");
  await setQuota("scim-members", 0, organization);
  assert.equal((await patch(id, remove(users.slice(0, 1)))).status, 204);
  assert.equal((await patch(id, remove(users.slice(1, 2)), add(users.slice(6, 7)))).status, 204);
  assert.equal((await put(id, users.slice(3, 8))).status, 200, "one goes, and one comes");
  await refusedWhole("scim-members", () => put(id, users.slice(2, 8)));
  await refusedWhole("scim-members", () => patch(id, remove(users.slice(7, 8)), add(users.slice(0, 2))));
  await refusedWhole("scim-members", () => patch(id, remove(users.slice(7, 8)), add(users.slice(0, 1)), add(users.slice(1, 2))));
  assert.equal((await put(id, users.slice(3, 6))).status, 200);
  // Quota freed by one request is not available to a request that is over the quota.
  await refusedWhole("scim-members", () => patch(id, add(users.slice(6, 7))));
  assert.equal((await one.ask("DELETE", `/Users/${users[3]}`)).status, 204);
  assert.deepEqual([await memberCount(), await usedOf(organization, "scim-members")], [5, 5]);
  assert.equal((await one.ask("DELETE", `/Groups/${other}`)).status, 204);
  assert.equal((await patch(id, { op: "remove", path: "members" })).status, 204);
  assert.deepEqual([await memberCount(), await usedOf(organization, "scim-members")], [0, 0]);
});

test("attack 217: a deleted provider takes its members along, and is restored with them only if they fit", async () => {
  const { organization, one, two, users, makeGroup } = await openPeople("members of a provider", 3);
  assert.equal((await makeGroup("of one", users)).status, 201);
  await setQuota("scim-members", 3, organization);
  const undelete = await deleteProvider(one);
  assert.equal(await usedOf(organization, "scim-members"), 0);
  assert.equal((await makeGroup("of two", [await announce(two, "somebody")], two)).status, 201);
  const refused = await undelete();
  assert.equal(refused.code, codes.RESOURCE_EXHAUSTED);
  assert.match(refused.message, /limit of 3 scim members \(quota scim-members\)/);
  await setQuota("scim-members", 4, organization);
  assert.equal((await undelete()).code, 0);
  assert.equal(await usedOf(organization, "scim-members"), 4);
});
