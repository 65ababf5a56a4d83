// Attacks on SCIM: its token, its address, what a directory can do to users and organizations, and its cost.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type Json, type JsonObject, objectList, text } from "#base/json.ts";
import { limits, requestRates } from "#base/limits.ts";
import { methods } from "#contract/catalog.ts";
import { setSuspended } from "../../server/application/organization.ts";
import { type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { asOwner } from "../database.ts";
import { askScim, enableScim, makeOwners, openScimProvider, type ScimProvider } from "../scim.ts";
import { beginRequest } from "../slow-body.ts";
import { databaseContents } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let provider: FakeProvider;
let idp: ScimProvider;
let foreign: ScimProvider;
let foreignOrganization: string;

before(async () => {
  world = await openWorld();
  provider = await openProvider(() => world.clock.now);
  await makeOwners(world);
  idp = await enableScim(world, await registerProvider(world, provider));
  foreignOrganization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "foreign" } }), "uid");
  await makeOwners(world, foreignOrganization);
  foreign = await enableScim(world, await registerProvider(world, provider, { parent: foreignOrganization }));
});
after(async () => {
  await world?.close();
  await provider?.close();
});

const service = "iam.IdentityProvidersService";
const core = "urn:ietf:params:scim:schemas:core:2.0:User";
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const paths = ["/Users", "/Users/0123456789abcdef", "/ServiceProviderConfig", "/Schemas", "/ResourceTypes"];
const touched = ["identity_providers", "outbox", "role_bindings", "scim_arrivals", "scim_groups", "scim_removals", "scim_users"];
const personOf = (subject: string): string => world.server.application.services.authn.personUid(provider.url, subject);
const etagOf = async (uid: string): Promise<string> => text((await world.ok(`${service}/GetIdentityProvider`, { uid })).scim as JsonObject, "etag");

/** Returns the status, body and identifying headers of a response. */
const shownAt = async (url: string, token: string | undefined, verb = "GET", body?: JsonObject): Promise<string> => {
  const answer = await askScim(url, token, verb, body);
  const { date: _date, "x-request-id": _id, "content-length": _length, ...headers } = Object.fromEntries(answer.headers);
  return JSON.stringify([answer.status, answer.body, headers]);
};

test("attack 164: disabled SCIM, a provider that is unknown or another's, and a revoked, expired or invalid token look the same", async () => {
  const off = await openScimProvider(world, "https://off.example.com");
  await world.ok(`${service}/SetScimEnabled`, { identityProviderUid: off.uid, enabled: false, etag: await etagOf(off.uid) });
  const revoked = await openScimProvider(world, "https://revoked.example.com");
  await world.ok(`${service}/RevokeScimToken`, { identityProviderUid: revoked.uid });
  const ended = await openScimProvider(world, "https://ended.example.com");
  const soon = new Date(world.clock.now + 1000).toISOString();
  const { token } = await world.ok(`${service}/RegenerateScimToken`, {
    identityProviderUid: ended.uid,
    etag: await etagOf(ended.uid),
    overlap: "0s",
    expireTime: soon,
  });
  assert.equal((await askScim(`${ended.base}/Users`, String(token), "GET")).status, 200);
  world.clock.now += 1001;
  const before = await databaseContents(world, touched);
  for (const path of paths) {
    const answers = await Promise.all([
      shownAt(`${idp.base}${path}`, undefined),
      shownAt(`${idp.base}${path}`, "cgscim_"),
      shownAt(`${idp.base}${path}`, `cgscim_${"0".repeat(64)}`),
      shownAt(`${idp.base}${path}`, foreign.token),
      shownAt(`${off.base}${path}`, off.token),
      shownAt(`${revoked.base}${path}`, revoked.token),
      shownAt(`${ended.base}${path}`, String(token)),
      shownAt(`${ended.base}${path}`, ended.token),
      shownAt(`${world.url}/scim/v2/${world.organization}/0123456789abcdef${path}`, idp.token),
      shownAt(`${world.url}/scim/v2/${world.organization}${path}`, idp.token),
      shownAt(`${world.url}/scim/v2/nothing${path}`, idp.token),
      shownAt(`${idp.base}${path}`, await world.token()),
    ]);
    const [first = ""] = answers;
    assert.match(first, /^\[401,\{"schemas":\["urn:ietf:params:scim:api:messages:2\.0:Error"\],"status":"401"/);
    assert.deepEqual([...new Set(answers)], [first], path);
  }
  for (const [base, wrong] of [
    [off.base, off.token],
    [revoked.base, revoked.token],
    [idp.base, foreign.token],
  ] as const) {
    assert.equal((await askScim(`${base}/Users`, wrong, "POST", { userName: "intruder" })).status, 401);
    assert.equal((await askScim(`${base}/Users/0123456789abcdef`, wrong, "DELETE")).status, 401);
  }
  assert.deepEqual(await databaseContents(world, touched), before);
});

test("attack 164: a replaced token keeps working for the overlap only", async () => {
  const rotating = await openScimProvider(world, "https://rotating.example.com");
  const { token } = await world.ok(`${service}/RegenerateScimToken`, { identityProviderUid: rotating.uid, etag: await etagOf(rotating.uid), overlap: "60s" });
  const both = async (): Promise<number[]> =>
    Promise.all([rotating.token, String(token)].map(async (each) => (await askScim(`${rotating.base}/Users`, each, "GET")).status));
  assert.deepEqual(await both(), [200, 200]);
  world.clock.now += 60_001;
  assert.deepEqual(await both(), [401, 200]);
});

test("attack 202: a request with a body that arrives after its SCIM token was revoked has no effect", async () => {
  const held = await openScimProvider(world, "https://held.example.com");
  const made = async (path: string, document: JsonObject): Promise<string> => text((await held.ask("POST", path, document)).body, "id");
  const [user, group] = [await made("/Users", { userName: "there" }), await made("/Groups", { displayName: "there" })];
  const operations = { Operations: [{ op: "replace", path: "displayName", value: "late" }] };
  const requests: Readonly<Record<string, readonly [verb: string, path: string, document: JsonObject]>> = {
    ListScimUsers: ["POST", "/Users/.search", {}],
    CreateScimUser: ["POST", "/Users", { userName: "late", externalId: "late" }],
    ReplaceScimUser: ["PUT", `/Users/${user}`, { userName: "late" }],
    PatchScimUser: ["PATCH", `/Users/${user}`, operations],
    ListScimGroups: ["POST", "/Groups/.search", {}],
    CreateScimGroup: ["POST", "/Groups", { displayName: "late" }],
    ReplaceScimGroup: ["PUT", `/Groups/${group}`, { displayName: "late" }],
    PatchScimGroup: ["PATCH", `/Groups/${group}`, operations],
  };
  const takeBodies = methods.filter(({ scim, input }) => scim && (input.byName.has("document") || input.byName.has("start_index")));
  assert.deepEqual(Object.keys(requests).sort(), takeBodies.map(({ rpc }) => rpc).sort());
  const begun = await Promise.all(Object.values(requests).map(([verb, path, document]) => beginRequest(`${held.base}${path}`, held.token, document, verb)));
  await world.ok(`${service}/RevokeScimToken`, { identityProviderUid: held.uid });
  const before = await databaseContents(world, touched);
  for (const request of begun) assert.equal(await request.end(), 401);
  assert.deepEqual(await databaseContents(world, touched), before);
});

test("attack 165: a SCIM token works only for its provider's SCIM, and no other token works there", async () => {
  for (const protocol of ["rest", "grpc"] as const)
    for (const [name, request] of [
      ["iam.IdentitiesService/ListIdentities", {}],
      [`${service}/GetIdentityProvider`, { uid: idp.uid }],
      [`${service}/RegenerateScimToken`, { identityProviderUid: idp.uid, etag: "1" }],
      [
        "iam.RoleBindingsService/CreateRoleBinding",
        { parent: world.organization, roleBinding: { identityUid: personOf("x"), roleUid: builtInRoleUid("owner") } },
      ],
    ] as const)
      assert.equal((await world.call(name, request, { token: idp.token, protocol })).code, codes.UNAUTHENTICATED, name);
  const exchanged = await fetch(`${world.url}/sts/exchange`, { method: "POST", headers: { authorization: `Bearer ${idp.token}` } });
  assert.equal(exchanged.ok, false);
  for (const method of methods.filter(({ scim }) => scim)) {
    for (const token of [idp.token, await world.token()])
      assert.notEqual((await world.call(method.name, { identityProviderUid: idp.uid }, { token, protocol: "grpc" })).code, 0, `${method.name} over gRPC`);
  }
});

test("attack 166: a user of another provider and a malformed ID are not found, and nothing is revealed", async () => {
  const { body } = await foreign.ask("POST", "/Users", { userName: "theirs", externalId: "theirs" });
  const id = text(body, "id");
  const strange = [id, "0123456789abcdef", `..%2F..%2F${id}`, "%00", "x".repeat(300), `${id}%2F${id}`];
  for (const each of strange)
    for (const verb of ["GET", "PUT", "PATCH", "DELETE"]) {
      const document = verb === "PUT" ? { userName: "x" } : verb === "PATCH" ? { Operations: [{ op: "add", path: "title", value: "x" }] } : undefined;
      const answer = await idp.ask(verb, `/Users/${each}`, document);
      assert.ok([400, 404].includes(answer.status), `${verb} ${each}: ${answer.status}`);
      assert.doesNotMatch(JSON.stringify(answer.body), /theirs/);
    }
  for (const filter of [`id eq "${id}"`, 'userName eq "theirs"', "userName pr or id pr", `id eq "../${foreign.uid}/${id}"`]) {
    const { body: found } = await idp.ask("GET", `/Users?filter=${encodeURIComponent(filter)}`);
    assert.doesNotMatch(JSON.stringify(found), /theirs/, filter);
  }
  assert.equal((await foreign.ask("GET", `/Users/${id}`)).body.userName, "theirs");
  const { status, body: refusal } = await idp.ask("POST", "/Groups", { displayName: "theirs in ours", members: [{ value: id }] });
  assert.deepEqual([status, refusal.scimType], [400, "invalidValue"]);
});

test("attack 167: a provider that names another's issuer neither affects nor learns about that issuer's users elsewhere", async () => {
  const { token, refreshToken } = await signIn(
    world,
    provider,
    idp.uid,
    { sub: "victim", name: "Victoria Victim", email: "v@x.example", email_verified: true },
    { create_refresh_token: "true" },
  );
  const before = (await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token })).code;
  assert.equal(before, 0);
  const { body } = await foreign.ask("POST", "/Users", { userName: "guess", externalId: "victim" });
  const id = text(body, "id");
  const bindings = objectList(
    await world.ok("iam.RoleBindingsService/ListRoleBindings", { group: foreignOrganization, identity: personOf("victim") }),
    "roleBindings",
  );
  assert.deepEqual(
    bindings.map(({ identity }) => identity),
    [{ uid: personOf("victim") }],
    "the organization sees the uid that it made up",
  );
  for (const answer of [body, (await foreign.ask("GET", "/Users")).body]) assert.doesNotMatch(JSON.stringify(answer), /Victoria|v@x/);
  assert.equal((await foreign.ask("PATCH", `/Users/${id}`, { Operations: [{ op: "replace", path: "active", value: false }] })).status, 200);
  assert.equal((await foreign.ask("DELETE", `/Users/${id}`)).status, 204);
  assert.equal((await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token })).code, 0);
  const form = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken });
  assert.equal((await fetch(`${world.url}/oauth/token`, { method: "POST", body: form })).status, 200);
  assert.equal((await signIn(world, provider, foreign.uid, { sub: "victim" })).status, "403");
});

test("attack 168: a directory grants no more than the provider's default role, whatever its documents say", async () => {
  const document = {
    userName: "climber",
    externalId: "climber",
    roles: [{ value: "owner", primary: true }],
    entitlements: [{ value: "operator" }],
    groups: [{ value: "owners" }],
    id: "0123456789abcdef",
    identityUid: personOf("somebody else"),
    identity_provider_uid: foreign.uid,
  };
  const { status, body } = await idp.ask("POST", "/Users", document);
  assert.equal(status, 201);
  assert.notEqual(body.id, document.id);
  const bindings = objectList(await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: personOf("climber") }), "roleBindings");
  assert.deepEqual(
    bindings.map(({ role }) => (role as JsonObject).uid),
    [builtInRoleUid("viewer")],
  );
  assert.deepEqual((await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: personOf("somebody else") })).roleBindings ?? [], []);
});

test("attack 169: slow, deep or large filters, paths and documents are refused or answered quickly", async () => {
  const { body } = await idp.ask("POST", "/Users", { userName: "target", externalId: "target", emails: [{ value: "t@x", type: "work" }] });
  const id = text(body, "id");
  const filters = [
    `userName eq "${"\n".repeat(500)}`,
    `${"not (".repeat(400)}userName pr${")".repeat(400)}`,
    `userName co "${"%_".repeat(500)}"`,
    `${"(".repeat(2000)}`,
    Array.from({ length: 300 }, (_, index) => `userName eq "${index}"`).join(" or "),
    `userName eq "${"\\".repeat(1001)}"`,
  ];
  for (const filter of filters) {
    const started = process.cpuUsage();
    const { status } = await idp.ask("GET", `/Users?filter=${encodeURIComponent(filter)}`);
    assert.ok([200, 400, 414].includes(status), filter.slice(0, 40));
    const { user, system } = process.cpuUsage(started);
    assert.ok(user + system < 1_000_000, filter.slice(0, 40));
  }
  const names = ["[", "a,", "a.b,", "urn:x:", "a[b"].map((each) => each.repeat(100_000 / each.length));
  for (const attributes of names) {
    const started = process.cpuUsage();
    const { status } = await idp.ask("POST", "/Users/.search", { attributes });
    assert.ok([200, 400].includes(status), attributes.slice(0, 40));
    const { user, system } = process.cpuUsage(started);
    assert.ok(user + system < 1_000_000, attributes.slice(0, 40));
  }
  const deep = JSON.parse(`${'{"a":'.repeat(90)}1${"}".repeat(90)}`) as JsonObject;
  const patches = [
    [{ op: "add", path: `emails[${"(".repeat(500)}`, value: "x" }],
    [{ op: "add", path: `emails[type eq "${"\\".repeat(400)}`, value: "x" }],
    [{ op: "add", path: `urn:${"a:".repeat(400)}`, value: 1 }],
    Array.from({ length: limits.scimOperationsMax + 1 }, () => ({ op: "add", path: "title", value: "x" })),
    [{ op: "add", value: { constructor: { prototype: { polluted: true } } } }],
  ];
  for (const Operations of patches.slice(0, -1)) assert.equal((await idp.ask("PATCH", `/Users/${id}`, { Operations })).status, 400);
  const many = await idp.ask("PATCH", `/Users/${id}`, { Operations: patches.at(3) ?? [] });
  assert.match(text(many.body, "detail"), new RegExp(`^Operations must be at most ${limits.scimOperationsMax}`));
  for (const path of ["__proto__.polluted", "name.__proto__", "__proto__"])
    assert.equal((await idp.ask("PATCH", `/Users/${id}`, { Operations: [{ op: "add", path, value: "x" }] })).status, 400, path);
  for (const document of [deep, { emails: Array.from({ length: 100 }, (_, index) => ({ value: `a${index}@x` })) }])
    assert.equal((await idp.ask("POST", "/Users", { userName: "deep", ...document })).status, 400);
  const raw = '{"userName":"poison","__proto__":{"polluted":true},"name":{"__proto__":{"givenName":"x"}}}';
  assert.equal((await idp.ask("POST", "/Users", raw)).status, 400);
  assert.equal((await idp.ask("PATCH", `/Users/${id}`, { Operations: patches.at(-1) ?? [] })).status, 200);
  assert.equal(({} as JsonObject).polluted, undefined);
});

test("attack 199: a document with quadratic cost or unbounded growth is refused and stays unchanged", async () => {
  const { body } = await idp.ask("POST", "/Users", { userName: "wide", name: { givenName: "W" }, phoneNumbers: [{ value: "1" }] });
  const path = `/Users/${text(body, "id")}`;
  const kept = (await idp.ask("GET", path)).body;
  const many = (count: number, make: (index: number) => Json): Json[] => Array.from({ length: count }, (_, index) => make(index));
  const names = (count: number): JsonObject => Object.fromEntries(many(count, (index) => index).map((index) => [`n${String(index)}`, 1]));
  const numbers = (count: number): Json => many(count, (index) => ({ value: `+${String(index)}` }));
  const operations: readonly JsonObject[] = [
    { op: "add", value: names(9_000) },
    { op: "add", value: names(limits.scimNamesMax + 1) },
    { op: "add", path: "phoneNumbers", value: numbers(4_500) },
    { op: "add", path: "phoneNumbers", value: numbers(limits.scimValuesMax + 1) },
    { op: "add", path: "title", value: "x".repeat(limits.scimDocumentBytesMax) },
  ];
  const used = async (ask: Promise<{ readonly status: number; readonly body: JsonObject }>, what: string): Promise<void> => {
    const started = process.cpuUsage();
    const answer = await ask;
    const { user, system } = process.cpuUsage(started);
    assert.deepEqual([answer.status, answer.body.scimType], [400, "tooMany"], what);
    assert.ok(user + system < 2_000_000, `${what}: ${user + system} µs of processor time`);
  };
  for (const [index, each] of operations.entries()) await used(idp.ask("PATCH", path, { Operations: [each] }), `operation ${index}`);
  const inside: JsonObject[] = [
    { op: "add", path: "name", value: names(1_500) },
    { op: "add", path: "name", value: names(1_500) },
  ];
  await used(idp.ask("PATCH", path, { Operations: inside }), "names inside of one");
  await used(idp.ask("PUT", path, { userName: "wide", title: "x".repeat(limits.scimDocumentBytesMax) }), "PUT");
  await used(idp.ask("POST", "/Groups", { displayName: "wide", about: "x".repeat(limits.scimDocumentBytesMax) }), "a group");
  const grown: number[] = [];
  for (let index = 0; index < 4; index++)
    grown.push((await idp.ask("PATCH", path, { Operations: [{ op: "add", path: `part${index}`, value: "x".repeat(10_000) }] })).status);
  assert.deepEqual(grown, [200, 200, 200, 400]);
  for (let index = 0; index < 3; index++) await idp.ask("PATCH", path, { Operations: [{ op: "remove", path: `part${index}` }] });
  const { meta: _before, ...before } = kept;
  const { meta: _after, ...after } = (await idp.ask("GET", path)).body;
  assert.deepEqual(after, before);
});

test("attack 170: endless writes are rate-limited with a retry time per directory; reads and other providers are not delayed", async () => {
  const organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "eager" } }), "uid");
  await makeOwners(world, organization);
  const eager = await enableScim(world, await registerProvider(world, provider, { parent: organization }));
  await asOwner(world.databaseUrl, "insert into quotas (organization, name, value) values ($1, $2, $3)", [organization, "scim-writes", 2]);
  world.clock.now += limits.ratesReadMs;
  await eager.ask("GET", "/Users");
  const { body } = await eager.ask("POST", "/Users", { userName: "one" });
  const write = () => eager.ask("PATCH", `/Users/${text(body, "id")}`, { Operations: [{ op: "replace", path: "title", value: "T" }] });
  let refused: Awaited<ReturnType<typeof write>> | undefined;
  for (let sent = 1; sent <= requestRates["scim-writes"] * limits.requestBurstSeconds && refused?.status !== 429; sent++) refused = await write();
  assert.ok(refused);
  assert.deepEqual([refused.headers.get("retry-after"), refused.body.status, refused.headers.get("content-type")], ["1", "429", "application/scim+json"]);
  assert.equal((await eager.ask("GET", "/Users")).status, 200);
  assert.equal((await idp.ask("POST", "/Users", { userName: "meanwhile" })).status, 201);
  world.clock.now += 1000;
  assert.equal((await write()).status, 200);
});

test("attack 171: a suspended organization and a deleted provider have no SCIM", async () => {
  const { services } = world.server.application;
  const gone = await openScimProvider(world, "https://gone.example.com");
  await gone.ask("POST", "/Users", { userName: "kept", externalId: "kept" });
  const { body } = await gone.ask("POST", "/Users", { userName: "left", externalId: "left" });
  await gone.ask("DELETE", `/Users/${text(body, "id")}`);
  await world.ok(`${service}/DeleteIdentityProvider`, { uid: gone.uid });
  assert.equal((await gone.ask("GET", "/Users")).status, 401);
  for (const table of ["scim_users", "scim_removals", "scim_arrivals"]) {
    const rows = await services.store.read.query(`select 1 from ${table} where ${table === "scim_users" ? "uid" : "identity_provider_uid"} like $1`, [
      `${gone.uid}%`,
    ]);
    assert.equal(rows.length, 0, table);
  }
  await setSuspended(world.server.application, foreignOrganization, true);
  const { status, body: refused } = await foreign.ask("GET", "/Users");
  assert.deepEqual([status, refused.status, refused.detail], [403, "403", "Permission denied: the organization is suspended"]);
});

test("attack 172: no password or SCIM token is stored, returned or logged", async () => {
  const password = `pass-${"w0rd".repeat(5)}`;
  const places: readonly JsonObject[] = [
    { [core]: { password } },
    { [`${core}:password`]: password },
    { [enterprise]: { Password: password } },
    { [`${enterprise}:password`]: password },
    { credentials: [{ password }] },
  ];
  const { body } = await idp.ask("POST", "/Users", { userName: "secretive", externalId: "secretive", PASSWORD: password });
  await idp.ask("PATCH", `/Users/${text(body, "id")}`, {
    Operations: [
      { op: "replace", path: "password", value: password },
      { op: "add", value: { password } },
      ...places.map((value) => ({ op: "add", value })),
      { op: "add", path: core, value: { password } },
      { op: "add", path: `${enterprise}:password`, value: password },
    ],
  });
  for (const [index, place] of places.entries())
    assert.equal((await idp.ask("POST", "/Users", { userName: `secretive-${index}`, ...place })).status, 201, JSON.stringify(Object.keys(place)));
  const answer = JSON.stringify((await idp.ask("GET", `/Users/${text(body, "id")}`)).body);
  const { read } = world.server.application.services.store;
  const tables = ["outbox", "scim_users", "identity_providers"];
  const rows = await Promise.all(tables.map((table) => read.query(`select row_to_json(each)::text from ${table} as each`)));
  const contents = JSON.stringify(rows);
  assert.ok(contents.includes("secretive"));
  for (const secret of [password, idp.token]) {
    assert.doesNotMatch(answer, new RegExp(secret));
    assert.ok(!contents.includes(secret));
  }
});

test("attack 220: every protocol form of deactivation removes all permissions or returns an error", async () => {
  const no = [{ $ref: null, value: "False" }];
  const patch = (operation: JsonObject): JsonObject => ({ Operations: [operation] });
  const ways: readonly (readonly [verb: string, body: JsonObject])[] = [
    ["PUT", { [core]: { active: false } }],
    ["PUT", { [`${core}:active`]: false }],
    ["PUT", { active: ["False"] }],
    ["PATCH", patch({ op: "replace", value: { [core]: { active: false } } })],
    ["PATCH", patch({ op: "Replace", path: core.toUpperCase(), value: { ACTIVE: "false" } })],
    ["PATCH", patch({ op: "replace", value: { [`${core}:active`]: false } })],
    ["PATCH", patch({ op: "Replace", path: "active", value: no })],
    ["PATCH", patch({ op: "Replace", path: ` ${core}:active`, value: "False" })],
  ];
  for (const [index, [verb, body]] of ways.entries()) {
    const names = { userName: `leaver-${index}`, externalId: `leaver-${index}` };
    const made = await idp.ask("POST", "/Users", names);
    const bindings = async (): Promise<unknown[]> =>
      objectList(await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: personOf(names.externalId) }), "roleBindings");
    assert.equal((await bindings()).length, 1);
    const { status, body: shown } = await idp.ask(verb, `/Users/${text(made.body, "id")}`, verb === "PUT" ? { ...names, ...body } : body);
    assert.deepEqual([status, shown.active, (await bindings()).length], [200, false, 0], JSON.stringify(body));
  }
  const announced = await idp.ask("POST", "/Users", { externalId: "leaver", [core]: { userName: "leaver", active: false } });
  assert.deepEqual([announced.status, announced.body.active, announced.body[core]], [201, false, undefined]);
});

test("attack 221: every protocol form of removing a group member works, and a write with a stale version is refused", async () => {
  const { body: user } = await idp.ask("POST", "/Users", { userName: "member" });
  const members = [{ value: text(user, "id") }];
  const urn = "urn:ietf:params:scim:schemas:core:2.0:Group";
  const ways: readonly JsonObject[] = [
    { op: "remove", path: "members", value: null },
    { op: "remove", path: "members", value: members[0] ?? null },
    { op: "replace", value: { [urn]: { members: [] } } },
    { op: "replace", path: urn, value: { members: null } },
  ];
  for (const operation of ways) {
    const { body: group } = await idp.ask("POST", "/Groups", { [urn]: { displayName: "group", members } });
    const path = `/Groups/${text(group, "id")}`;
    assert.equal(objectList(group, "members").length, 1);
    const stale = await idp.ask("PATCH", path, { Operations: [operation] }, { "if-match": "" });
    assert.equal(stale.status, 412, "a list of no version");
    assert.equal((await idp.ask("PATCH", path, { Operations: [operation] })).status, 204);
    assert.deepEqual(objectList((await idp.ask("GET", path)).body, "members"), [], JSON.stringify(operation));
  }
  const { body: named } = await idp.ask("POST", "/Users", { userName: "named", title: "Captain", name: { givenName: "N", familyName: "M" } });
  const at = `/Users/${text(named, "id")}`;
  for (const operation of [
    { op: "replace", path: "title", value: null },
    { op: "add", path: "name.familyName", value: null },
  ])
    assert.ok([200, 204].includes((await idp.ask("PATCH", at, { Operations: [operation] })).status), operation.path);
  const { body: without } = await idp.ask("GET", at);
  assert.deepEqual([Object.hasOwn(without, "title"), without.name], [false, { givenName: "N" }]);
});

test("attack 206: a list of maximum-size documents is cut to what fits, and the next page continues after it", async () => {
  const count = 40;
  await asOwner(
    world.databaseUrl,
    `insert into scim_users (uid, identity_provider_uid, active, user_name, document, create_time, update_time)
     select $1 || '/' || lpad(to_hex(n), 16, '0'), $1, true, 'large-' || n,
       json_build_object('userName', 'large-' || n, 'note', repeat('x', 250000)), now(), now()
     from generate_series(1, $2::integer) as n`,
    [idp.uid, count],
  );
  const query = `filter=${encodeURIComponent('userName sw "large-"')}&count=500`;
  const seen = new Set<unknown>();
  for (let startIndex = 1; startIndex <= count; ) {
    const { body } = await idp.ask("GET", `/Users?${query}&startIndex=${startIndex}`);
    const found = objectList(body, "Resources");
    assert.deepEqual([body.totalResults, body.itemsPerPage], [count, found.length]);
    assert.ok(found.length > 0 && JSON.stringify(found).length < limits.scimListBytesMax + 2 * limits.scimBodyBytesMax);
    for (const each of found) seen.add(each.id);
    startIndex += found.length;
  }
  assert.equal(seen.size, count);
  const { body } = await idp.ask("GET", `/Users?${query}&attributes=userName`);
  assert.ok(Number(body.itemsPerPage) < count, "what is read counts, and not what is shown");
});
