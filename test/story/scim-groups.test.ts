// SCIM 2.0 groups (decision 0053): provider mappings grant permissions in members' sessions on the next request on every server, and a change touches
// only what changes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { deleteScimMemberships, deleteScimUser, lockScimUser } from "#iam/store";
import { asOwner } from "../database.ts";
import { type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { until } from "../replicated-postgres.ts";
import { enableScim, makeOwners, type ScimProvider } from "../scim.ts";
import { openInstallation, type Installation } from "./installation.ts";
import { openWorld, type World } from "../world.ts";

let installation: Installation;
let world: World;
let other: World;
let provider: FakeProvider;
let idp: ScimProvider;

before(async () => {
  installation = await openInstallation();
  ({ world } = installation);
  const { DATABASE_URL = "", GANTRY_SECRET_KEY_FILE = "" } = installation.environment;
  other = await openWorld({ DATABASE_URL, GANTRY_SECRET_KEY_FILE, GANTRY_PUBLIC_URL: world.url }, undefined, world.clock.now);
  provider = await openProvider(() => world.clock.now);
  await makeOwners(world);
  const role = await world.ok("iam.RolesService/CreateRole", { parent: world.organization, role: { name: "nothing", capabilities: ["CAP_REPO_LIST"] } });
  idp = await enableScim(world, await registerProvider(world, provider, { role: text(role, "uid") }));
});
after(async () => {
  await other?.close();
  await installation?.close();
  await provider?.close();
});

const core = "urn:ietf:params:scim:schemas:core:2.0:Group";

const announce = async (externalId: string): Promise<string> =>
  text((await idp.ask("POST", "/Users", { userName: `${externalId}@example.com`, externalId, displayName: externalId.toUpperCase() })).body, "id");

const makeGroup = async (document: JsonObject): Promise<string> => {
  const { status, body } = await idp.ask("POST", "/Groups", { schemas: [core], ...document });
  assert.equal(status, 201, JSON.stringify(body));
  return text(body, "id");
};

const patch = async (id: string, Operations: Json[], query = ""): Promise<JsonObject> => {
  const { status, body } = await idp.ask("PATCH", `/Groups/${id}${query}`, { Operations });
  assert.equal(status, query === "" ? 204 : 200, JSON.stringify(body));
  return body;
};

const membersOf = async (id: string): Promise<string[]> =>
  objectList((await idp.ask("GET", `/Groups/${id}`)).body, "members").map((each) => text(each, "value"));

const map = async (externalGroupId: string): Promise<string> =>
  text(
    await world.ok("iam.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping", {
      parent: idp.uid,
      externalGroupRoleMapping: { externalGroupId, roleUid: builtInRoleUid("viewer"), scope: world.organization },
    }),
    "uid",
  );

const seen = async (token: string): Promise<readonly number[]> => {
  const asked = [world, other].map((each) => each.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token }));
  return (await Promise.all(asked)).map(({ code }) => code);
};
const allowed = [0, 0];
const forbidden = [codes.PERMISSION_DENIED, codes.PERMISSION_DENIED];
const unauthenticated = [codes.UNAUTHENTICATED, codes.UNAUTHENTICATED];

test("a group is created, read, replaced, patched and deleted, with its members and an ETag", async () => {
  const [ada, grace] = [await announce("g-ada"), await announce("g-grace")];
  const created = await idp.ask("POST", "/Groups", { schemas: [core], displayName: "Engineers", externalId: "eng", members: [{ value: ada }], colour: "blue" });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const id = text(created.body, "id");
  const { meta: _meta, ...shown } = created.body;
  assert.deepEqual(shown, {
    schemas: [core],
    id,
    displayName: "Engineers",
    externalId: "eng",
    colour: "blue",
    members: [{ value: ada, $ref: `${idp.base}/Users/${ada}` }],
  });
  assert.equal(created.headers.get("etag"), 'W/"1"');
  assert.deepEqual((await idp.ask("GET", `/Users/${ada}`)).body.groups, [{ value: id, $ref: `${idp.base}/Groups/${id}`, display: "Engineers" }]);
  await patch(id, [{ op: "add", path: "members", value: [{ value: grace }, { value: ada }] }]);
  assert.deepEqual(await membersOf(id), [ada, grace].sort());
  const renamed = await patch(id, [{ op: "replace", value: { id: "x", displayName: "Builders" } }], "?attributes=displayName");
  assert.equal(renamed.displayName, "Builders");
  assert.equal((await idp.ask("PATCH", `/Groups/${id}`, { Operations: [{ op: "remove", path: "members" }] }, { "if-match": 'W/"1"' })).status, 412);
  const replaced = await idp.ask("PUT", `/Groups/${id}`, { displayName: "Builders", members: [{ value: grace }] });
  assert.deepEqual([replaced.status, replaced.body.externalId, replaced.body.colour], [200, "eng", undefined]);
  assert.deepEqual(await membersOf(id), [grace]);
  assert.equal((await idp.ask("GET", `/Groups/${id}?excludedAttributes=members`)).body.members, undefined);
  await idp.ask("DELETE", `/Users/${grace}`);
  assert.deepEqual(await membersOf(id), [], "who is removed is in no group");
  assert.equal((await idp.ask("DELETE", `/Groups/${id}`)).status, 204);
  assert.equal((await idp.ask("GET", `/Groups/${id}`)).status, 404);
});

test("Entra ID's and Okta's requests add and remove members with one event per change that names them, and none without a change", async () => {
  const [one, two, three] = [await announce("m-one"), await announce("m-two"), await announce("m-three")];
  const id = await makeGroup({ displayName: "Movers" });
  const steps: readonly (readonly [operations: Json[], wanted: string[], told: readonly [string[], string[]] | undefined])[] = [
    [[{ op: "Add", path: "members", value: [{ $ref: null, value: one }, { value: two }] }], [one, two], [[one, two], []]],
    [[{ op: "add", path: "members", value: [{ value: one }] }], [one, two], undefined],
    [[{ op: "Remove", path: "members", value: [{ value: one }] }], [two], [[], [one]]],
    [[{ op: "remove", path: `members[value eq "${two}"]` }], [], [[], [two]]],
    [[{ op: "remove", path: `members[value eq "${two}"]` }], [], undefined],
    [[{ op: "replace", path: "members", value: [{ value: two }, { value: three }] }], [two, three], [[two, three], []]],
    [[{ op: "replace", value: { members: [{ value: one }, { value: three }] } }], [one, three], [[one], [two]]],
    [
      [
        { op: "remove", path: "members" },
        { op: "add", path: "members", value: [{ value: one }, { value: three }] },
      ],
      [one, three],
      undefined,
    ],
    [[{ op: "remove", path: "members" }], [], [[], [one, three]]],
    [[{ op: "add", value: { [`${core}:members`]: [{ value: one }], DisplayName: "Movers" } }], [one], [[one], []]],
    [[{ op: "add", value: { [`members[value eq "${two}"]`]: { value: two } } }], [one, two], [[two], []]],
    [[{ op: "replace", path: `${core}:members`, value: [{ value: three }] }], [three], [[three], [one, two]]],
  ];
  for (const [operations, wanted, told] of steps) {
    const before = (await world.events()).length;
    await patch(id, operations);
    assert.deepEqual(await membersOf(id), wanted.sort(), JSON.stringify(operations));
    const events = (await world.events()).slice(before);
    assert.deepEqual(
      events.map(({ type, actor, body }) => [
        type,
        actor,
        [...((body.addedUsers ?? []) as string[])].sort(),
        [...((body.removedUsers ?? []) as string[])].sort(),
      ]),
      told ? [["dev.gantry.scim.group.updated.v1", idp.uid, told[0].sort(), told[1].sort()]] : [],
      JSON.stringify(operations),
    );
  }
  for (const [value, scimType] of [
    [[{ value: "0123456789abcdef" }], "invalidValue"],
    [[{ value: id }], "invalidValue"],
    [[{ value: 7 }], "invalidValue"],
  ] as const) {
    const { status, body } = await idp.ask("PATCH", `/Groups/${id}`, { Operations: [{ op: "add", path: "members", value: [...value] }] });
    assert.deepEqual([status, body.scimType], [400, scimType]);
  }
  for (const path of [`members[value eq "${three}"]`, `members[value eq "${three}"].value`]) {
    const value = path.endsWith("]") ? { value: one } : one;
    const { status, body } = await idp.ask("PATCH", `/Groups/${id}`, { Operations: [{ op: "replace", path, value }] });
    assert.deepEqual([status, body.scimType, await membersOf(id)], [400, "invalidValue", [three]], "a member is not made another one in silence");
  }
  const other = await idp.ask("PATCH", `/Groups/${id}`, { Operations: [{ op: "remove", path: 'members[display eq "x"]' }] });
  assert.deepEqual([other.status, other.body.scimType], [400, "invalidFilter"]);
});

test("an ETag changes if a group's members or a user's groups change", async () => {
  const [stays, goes] = [await announce("e-stays"), await announce("e-goes")];
  const id = await makeGroup({ displayName: "Versions", members: [{ value: stays }, { value: goes }] });
  const seenAs = async (path: string): Promise<string> => (await idp.ask("GET", path)).headers.get("etag") ?? "";
  const unchanged = async (path: string, etag: string): Promise<boolean> => (await idp.ask("GET", path, undefined, { "if-none-match": etag })).status === 304;
  const [group, user] = [await seenAs(`/Groups/${id}`), await seenAs(`/Users/${stays}`)];
  assert.deepEqual([await unchanged(`/Groups/${id}`, group), await unchanged(`/Users/${stays}`, user)], [true, true]);
  const before = (await idp.ask("GET", `/Groups/${id}`)).body;
  await idp.ask("DELETE", `/Users/${goes}`);
  assert.equal(await unchanged(`/Groups/${id}`, group), false, "a member was removed along with the user");
  const now = (await idp.ask("GET", `/Groups/${id}`)).body;
  assert.ok(text(part(now, "meta"), "lastModified") > text(part(before, "meta"), "lastModified"));
  assert.equal(await unchanged(`/Users/${stays}`, user), true);
  await patch(id, [{ op: "replace", path: "displayName", value: "Versions two" }]);
  assert.equal(await unchanged(`/Users/${stays}`, user), false, "the user is shown with the group's name");
  const renamed = await idp.ask("GET", `/Users/${stays}`);
  assert.equal(text(part(renamed.body, "meta"), "version"), renamed.headers.get("etag"));
  // A group's change does not conflict with a pending write of the user.
  const written = await idp.ask("PATCH", `/Users/${stays}`, { Operations: [{ op: "add", path: "title", value: "T" }] }, { "if-match": user });
  assert.deepEqual([written.status, written.headers.get("etag")?.startsWith('W/"2-')], [200, true]);
  const late = await idp.ask("PATCH", `/Users/${stays}`, { Operations: [{ op: "add", path: "title", value: "U" }] }, { "if-match": user });
  assert.equal(late.status, 412);
  const patched = await idp.ask("PATCH", `/Groups/${id}`, { Operations: [{ op: "remove", path: "members" }] });
  assert.deepEqual([patched.status, patched.headers.get("etag")], [204, await seenAs(`/Groups/${id}`)]);
});

test("a user who is being deleted cannot become a member concurrently", async () => {
  const user = await announce("vanishing");
  const id = await makeGroup({ displayName: "Without ghosts" });
  const { store } = world.server.application.services;
  const [removed, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const removal = store.write(async (rows) => {
    await lockScimUser(rows, `${idp.uid}/${user}`);
    await deleteScimMemberships(rows, `${idp.uid}/${user}`, world.clock.now);
    await deleteScimUser(rows, `${idp.uid}/${user}`);
    removed.resolve();
    await gate.promise;
  });
  await removed.promise;
  const adding = idp.ask("PATCH", `/Groups/${id}`, { Operations: [{ op: "add", path: "members", value: [{ value: user }] }] });
  const waits = async (): Promise<string> => {
    for (;;) {
      const [waiting] = await store.read.query("select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
      if (Number(waiting?.[0]) > 0) return "waits";
    }
  };
  assert.equal(await Promise.race([adding, waits()]), "waits");
  gate.resolve();
  await removal;
  assert.equal((await adding).status, 400);
  assert.deepEqual(await membersOf(id), []);
});

test("groups are found by name, external ID and member", async () => {
  const user = await announce("found");
  await makeGroup({ displayName: "Found One", externalId: "f-1", members: [{ value: user }] });
  await makeGroup({ displayName: "found two", externalId: "f-2" });
  for (const [filter, wanted] of [
    ['displayName eq "FOUND ONE"', ["f-1"]],
    ['displayName eq "FOUND ONE" and externalId eq "f-1"', ["f-1"]],
    ['displayName eq "FOUND ONE" and externalId eq "f-2"', []],
    ['externalId eq "f-2"', ["f-2"]],
    [`members.value eq "${user}"`, ["f-1"]],
    [`members[value eq "${user}"] and displayName sw "found"`, ["f-1"]],
    ['externalId sw "f-" and not (members pr)', ["f-2"]],
  ] as const) {
    const { status, body } = await idp.ask("GET", `/Groups?excludedAttributes=members&sortBy=externalId&filter=${encodeURIComponent(filter)}`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(
      objectList(body, "Resources").map((each) => each.externalId),
      wanted,
      filter,
    );
  }
  const wrong = await idp.ask("GET", `/Groups?filter=${encodeURIComponent('userName eq "x"')}`);
  assert.deepEqual([wrong.status, wrong.body.scimType], [400, "invalidFilter"]);
  const twice = await idp.ask("POST", "/Groups", { displayName: "other", externalId: "f-1" });
  assert.deepEqual([twice.status, twice.body.scimType], [409, "uniqueness"]);
});

for (const [what, document, mappedAs] of [
  ["its externalId", { displayName: "Administrators", externalId: "admins-id" }, "admins-id"],
  ["its name, where it has none", { displayName: "Operators" }, "Operators"],
] as const) {
  test(`a mapping that names a group by ${what} grants its role to the members' sessions on the next request on every server`, async () => {
    const name = mappedAs.toLowerCase();
    const user = await announce(name);
    const mapping = await map(mappedAs);
    const { token } = await signIn(world, provider, idp.uid, { sub: name });
    assert.deepEqual(await seen(token), forbidden);
    const id = await makeGroup({ ...document, members: [{ value: user }] });
    assert.deepEqual(await seen(token), allowed, "who came before the group was there");
    await patch(id, [{ op: "remove", path: "members", value: [{ value: user }] }]);
    assert.deepEqual(await seen(token), forbidden);
    await patch(id, [{ op: "add", path: "members", value: [{ value: user }] }]);
    assert.deepEqual(await seen(token), allowed);
    await patch(id, [{ op: "replace", path: document.displayName === mappedAs ? "displayName" : "externalId", value: "another" }]);
    assert.deepEqual(await seen(token), forbidden, "another name is another group");
    await patch(id, [{ op: "replace", path: document.displayName === mappedAs ? "displayName" : "externalId", value: mappedAs }]);
    assert.deepEqual(await seen(token), allowed);
    const fresh = await signIn(world, provider, idp.uid, { sub: name }, { create_refresh_token: "true" });
    assert.deepEqual(await seen(fresh.token), allowed);
    assert.equal(fresh.refreshToken, "", "what groups give is renewed by a sign-in alone");
    await world.ok("iam.ExternalGroupRoleMappingsService/DeleteExternalGroupRoleMapping", { uid: mapping });
    assert.deepEqual(await seen(token), forbidden);
    const again = await map(mappedAs);
    assert.deepEqual(await seen(token), allowed);
    assert.equal((await idp.ask("DELETE", `/Groups/${id}`)).status, 204);
    assert.deepEqual(await seen(token), forbidden);
    await world.ok("iam.ExternalGroupRoleMappingsService/DeleteExternalGroupRoleMapping", { uid: again });
  });
}

test("attack 175: groups grant nothing in a sign-in through another provider, while SCIM is off, or after a deactivation", async () => {
  const user = await announce("bound");
  const mapping = await map("bounded");
  const id = await makeGroup({ displayName: "bounded", members: [{ value: user }] });
  const second = await registerProvider(world, provider, {
    role: text(await world.ok("iam.RolesService/CreateRole", { parent: world.organization, role: { name: "none", capabilities: ["CAP_REPO_LIST"] } }), "uid"),
  });
  const { token: elsewhere } = await signIn(world, provider, second, { sub: "bound" });
  assert.deepEqual(await seen(elsewhere), forbidden);
  const { token } = await signIn(world, provider, idp.uid, { sub: "bound" });
  assert.deepEqual(await seen(token), allowed);
  assert.deepEqual(await seen(elsewhere), forbidden, "sessions do not mix");
  const set = async (enabled: boolean): Promise<void> => {
    const { scim } = await world.ok("iam.IdentityProvidersService/GetIdentityProvider", { uid: idp.uid });
    await world.ok("iam.IdentityProvidersService/SetScimEnabled", { identityProviderUid: idp.uid, enabled, etag: text(scim as JsonObject, "etag") });
  };
  await set(false);
  assert.deepEqual(await seen(token), forbidden);
  await set(true);
  assert.deepEqual(await seen(token), allowed);
  await idp.ask("PATCH", `/Users/${user}`, { Operations: [{ op: "replace", path: "active", value: false }] });
  assert.deepEqual(await seen(token), unauthenticated, "a dismissal revokes the session");
  await idp.ask("PATCH", `/Users/${user}`, { Operations: [{ op: "replace", path: "active", value: true }] });
  assert.deepEqual(await seen(token), unauthenticated, "the session is over");
  assert.deepEqual(await membersOf(id), [user], "what the directory said of the group stays");
  const { token: back } = await signIn(world, provider, idp.uid, { sub: "bound" });
  assert.deepEqual(await seen(back), allowed);
  await world.ok("iam.ExternalGroupRoleMappingsService/DeleteExternalGroupRoleMapping", { uid: mapping });
});

test("a page ends before a group or user with too many members to show, and the next page continues with it", async () => {
  const places = 4_500;
  await asOwner(
    world.databaseUrl,
    `insert into scim_users (uid, identity_provider_uid, active, user_name, document, create_time, update_time)
     select $1 || '/' || lpad(to_hex(n + 16777216), 16, '0'), $1, true, 'paged-' || lpad(n::text, 4, '0'), '{}', now(), now()
     from generate_series(1, $2::integer) as n`,
    [idp.uid, places],
  );
  // Names in another order than IDs, so that pages do not end between IDs; the last group is empty.
  const names = ["paged e", "paged b", "paged d", "paged a", "paged c"];
  const counts = new Map<unknown, number>();
  for (const displayName of names) {
    const id = await makeGroup({ displayName });
    const count = displayName === "paged e" ? 0 : places;
    counts.set(id, count);
    await asOwner(world.databaseUrl, "insert into scim_members (group_uid, user_uid) select $1, uid from scim_users where user_name like 'paged-%' limit $2", [
      `${idp.uid}/${id}`,
      count,
    ]);
  }
  const filter = encodeURIComponent('displayName sw "paged "');
  const seen: unknown[] = [];
  const pages: number[] = [];
  for (let startIndex = 1; startIndex <= names.length; ) {
    const { body } = await idp.ask("GET", `/Groups?filter=${filter}&sortBy=displayName&startIndex=${startIndex}`);
    const found = objectList(body, "Resources");
    assert.deepEqual([body.totalResults, body.itemsPerPage, body.startIndex], [names.length, found.length, startIndex]);
    for (const each of found) assert.equal(objectList(each, "members").length, counts.get(each.id), text(each, "displayName"));
    seen.push(...found.map((each) => each.displayName));
    pages.push(found.length);
    startIndex += found.length;
  }
  assert.deepEqual([seen, pages], [names.toSorted(), [2, 3]]);
  const bare = await idp.ask("GET", `/Groups?filter=${filter}&excludedAttributes=members`);
  assert.equal(bare.body.itemsPerPage, names.length);

  // Users likewise: the first 500 are in these four groups and in 30 others.
  await asOwner(
    world.databaseUrl,
    `with made as (
       insert into scim_groups (uid, identity_provider_uid, mapped_as, display_name, document, create_time, update_time)
       select $1 || '/' || lpad(to_hex(n + 33554432), 16, '0'), $1, 'many-' || n, 'many-' || n, '{}', now(), now() from generate_series(1, 30) as n
       returning uid)
     insert into scim_members (group_uid, user_uid)
     select made.uid, people.uid from made, (select uid from scim_users where user_name between 'paged-0001' and 'paged-0500') as people`,
    [idp.uid],
  );
  const users = encodeURIComponent('userName sw "paged-0"');
  const { body } = await idp.ask("GET", `/Users?filter=${users}&sortBy=userName&count=500`);
  const found = objectList(body, "Resources");
  assert.equal(found.length, Math.floor(10_000 / 34));
  for (const each of found) assert.equal(objectList(each, "groups").length, 34);
});

test("adding or removing one member of a group of 100,000 touches only a few rows", async () => {
  const id = await makeGroup({ displayName: "Everybody" });
  const groupUid = `${idp.uid}/${id}`;
  await asOwner(
    world.databaseUrl,
    `insert into scim_users (uid, identity_provider_uid, active, user_name, document, create_time, update_time)
     select $1 || '/' || lpad(to_hex(n), 16, '0'), $1, true, 'bulk-' || n, '{}', now(), now() from generate_series(1, 100000) as n`,
    [idp.uid],
  );
  await asOwner(world.databaseUrl, "insert into scim_members (group_uid, user_uid) select $1, uid from scim_users where user_name like 'bulk-%'", [groupUid]);
  await asOwner(world.databaseUrl, "analyze scim_users, scim_members", []);
  const user = await announce("one-more");
  /** Rows read in all tables of SCIM, and members added or removed, as far as PostgreSQL has counted them. */
  const counted = async (): Promise<{ readonly read: number; readonly changed: number }> => {
    const [row] = await asOwner(
      world.databaseUrl,
      `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), sum(n_tup_ins + n_tup_del) filter (where relname = 'scim_members')
       from pg_stat_user_tables where relname like 'scim_%'`,
      [],
    );
    return { read: Number(row?.[0]), changed: Number(row?.[1]) };
  };
  const change = (op: "add" | "remove"): Promise<unknown> => patch(id, [{ op, path: "members", value: [{ value: user }] }]);
  // The first requests plan their statements.
  await change("add");
  await change("remove");
  const before = await counted();
  const microseconds: number[] = [];
  const changes = 101;
  for (let index = 0; index < changes; index++) {
    const used = process.cpuUsage();
    await change(index % 2 === 0 ? "add" : "remove");
    const { user: userTime, system } = process.cpuUsage(used);
    microseconds.push(userTime + system);
  }
  // PostgreSQL counts late: reads of these changes are counted with their rows, those of earlier requests may come in between.
  const after = await until(async () => {
    const now = await counted();
    return now.changed >= before.changed + changes ? now : undefined;
  });
  // The least: garbage of other work may be collected meanwhile.
  assert.ok(Math.min(...microseconds) < 100_000, `${microseconds.join(", ")} us of processor time`);
  const read = after.read - before.read;
  assert.ok(read < changes * 5_000, `the members are not read: ${read} rows in ${changes} changes`);
  const { body } = await idp.ask("GET", `/Groups/${id}?excludedAttributes=members`);
  assert.equal(body.displayName, "Everybody");
  assert.equal((await membersOf(id)).length, 10_000, "as many members are shown as one answer has");
});
