// SCIM 2.0 users (decision 0053): created, found, changed and deleted as RFC 7643 and RFC 7644 define.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { deleteScimUser, isDismissedAt, lockScimUser, writeScimRemoval } from "#iam/store";
import { enableScim, makeOwners, openScimProvider, type ScimProvider } from "../scim.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let idp: ScimProvider;

before(async () => {
  world = await openWorld();
  await makeOwners(world);
  idp = await openScimProvider(world);
});
after(() => world.close());

const core = "urn:ietf:params:scim:schemas:core:2.0:User";
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const issuer = "https://login.example.com";
const personOf = (externalId: string): string => world.server.application.services.authn.personUid(issuer, externalId);

const bindingsOf = async (identity: string): Promise<string[]> =>
  objectList(await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity }), "roleBindings").map((each) => text(each, "uid"));

let made = 0;
const make = async (more: JsonObject = {}, provider = idp): Promise<JsonObject> => {
  const name = `person-${++made}`;
  const { status, body } = await provider.ask("POST", "/Users", { schemas: [core], userName: `${name}@example.com`, externalId: name, active: true, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
};

test("a user is created, read, replaced, patched and deleted, with an ETag that changes with it", async () => {
  const sent = {
    schemas: [core, enterprise],
    userName: "Ada@Example.com",
    externalId: "ada",
    name: { givenName: "Ada", familyName: "Lovelace" },
    emails: [{ value: "Ada@Example.com", type: "work", primary: true }],
    [enterprise]: { employeeNumber: "701", shoeSize: 38 },
    nickname: "A",
    favouriteEngine: { name: "Analytical", parts: [1, 2] },
    password: "secret",
    id: "mine",
    meta: { resourceType: "Group" },
    groups: [{ value: "admins" }],
  };
  const created = await idp.ask("POST", "/Users", sent);
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const id = text(created.body, "id");
  assert.match(id, /^[0-9a-f]{16}$/);
  assert.equal(created.headers.get("location"), `${idp.base}/Users/${id}`);
  assert.equal(created.headers.get("content-type"), "application/scim+json");
  assert.equal(created.headers.get("etag"), 'W/"1"');
  const { password: _password, id: _id, meta: _meta, groups: _groups, nickname, ...kept } = sent;
  const { meta, id: shownId, ...shown } = created.body;
  assert.deepEqual(shown, { ...kept, nickName: nickname, active: true }, "everything is kept as it was sent, but what the server says itself");
  assert.equal(shownId, id);
  assert.deepEqual(Object.keys(meta as JsonObject).sort(), ["created", "lastModified", "location", "resourceType", "version"]);
  assert.doesNotMatch(JSON.stringify(created.body), /secret/);

  const got = await idp.ask("GET", `/Users/${id}`);
  assert.deepEqual([got.status, got.body], [200, created.body]);
  assert.equal((await idp.ask("GET", `/Users/${id}`, undefined, { "if-none-match": 'W/"1"' })).status, 304);

  // RFC 7643 §3.1: meta.location equals Content-Location.
  for (const { headers, body } of [created, got]) assert.equal(headers.get("content-location"), text(part(body, "meta"), "location"));
  assert.equal((await idp.ask("GET", "/Users")).headers.get("content-location"), null);

  world.clock.now += 1000;
  const renamed = await idp.ask("PATCH", `/Users/${id}`, { Operations: [{ op: "replace", path: "displayName", value: "Ada L." }] }, { "if-match": 'W/"1"' });
  assert.deepEqual([renamed.status, renamed.body.displayName, renamed.headers.get("etag")], [200, "Ada L.", 'W/"2"']);
  assert.notEqual(part(renamed.body, "meta").lastModified, part(created.body, "meta").lastModified);
  const late = await idp.ask("PATCH", `/Users/${id}`, { Operations: [{ op: "replace", path: "displayName", value: "X" }] }, { "if-match": 'W/"1"' });
  assert.equal(late.status, 412);
  assert.deepEqual(late.body.schemas, ["urn:ietf:params:scim:api:messages:2.0:Error"]);

  const replaced = await idp.ask("PUT", `/Users/${id}`, { schemas: [core], userName: "ada@example.com" });
  assert.equal(replaced.status, 200);
  assert.deepEqual(
    [replaced.body.displayName, replaced.body[enterprise], replaced.body.externalId, replaced.body.active],
    [undefined, undefined, "ada", true],
    "what a PUT does not say of active and externalId stays",
  );
  const removed = await idp.ask("DELETE", `/Users/${id}`);
  assert.deepEqual([removed.status, removed.body], [204, {}]);
  for (const verb of ["GET", "DELETE"]) {
    const { status, body } = await idp.ask(verb, `/Users/${id}`);
    assert.equal(status, 404);
    assert.deepEqual([body.schemas, body.status], [["urn:ietf:params:scim:api:messages:2.0:Error"], "404"]);
  }
});

test("an active user has the default role without a sign-in, and an inactive or deleted user does not", async () => {
  const user = await make({ externalId: "grace" });
  const person = personOf("grace");
  assert.equal((await bindingsOf(person)).length, 1);
  await idp.ask("PATCH", `/Users/${text(user, "id")}`, { Operations: [{ op: "Replace", path: "active", value: "False" }] });
  assert.deepEqual(await bindingsOf(person), []);
  const back = await idp.ask("PATCH", `/Users/${text(user, "id")}`, { Operations: [{ op: "replace", value: { active: true } }] });
  assert.equal(back.body.active, true);
  assert.equal((await bindingsOf(person)).length, 1, "the same person has it again");
  await idp.ask("DELETE", `/Users/${text(user, "id")}`);
  assert.deepEqual(await bindingsOf(person), []);
  const again = await make({ externalId: "grace" });
  assert.notEqual(again.id, user.id);
  assert.equal((await bindingsOf(person)).length, 1);
});

test("each change emits one event of the provider without personal data, and no change emits none", async () => {
  const events = async () => (await world.events()).filter(({ type }) => type.startsWith("dev.gantry.scim."));
  const before = (await events()).length;
  const user = await make({ externalId: "told", name: { familyName: "Hidden" } });
  const id = text(user, "id");
  for (const displayName of ["One", "One"]) await idp.ask("PATCH", `/Users/${id}`, { Operations: [{ op: "add", path: "displayName", value: displayName }] });
  const { id: _id, meta: _meta, ...same } = (await idp.ask("GET", `/Users/${id}`)).body;
  const put = await idp.ask("PUT", `/Users/${id}`, Object.fromEntries(Object.entries(same).reverse()) as JsonObject);
  assert.equal(put.headers.get("etag"), 'W/"2"', "the same in another order is no change");
  await idp.ask("DELETE", `/Users/${id}`);
  const told = (await events()).slice(before);
  const body = {
    uid: `${idp.uid}/${id}`,
    identityProviderUid: idp.uid,
    externalId: "told",
    userName: user.userName,
    active: true,
    identityUid: personOf("told"),
  };
  assert.deepEqual(
    told.map(({ type, subject, group, actor, body: about }) => [type, subject, group, actor, about]),
    ["created", "updated", "deleted"].map((verb) => [`dev.gantry.scim.user.${verb}.v1`, body.uid, world.organization, idp.uid, body]),
  );
});

test("a second user with the same userName in any case, or the same externalId, is 409 uniqueness", async () => {
  await make({ userName: "Unique@example.com", externalId: "unique" });
  for (const more of [
    { userName: "uNIQUE@EXAMPLE.com", externalId: "other" },
    { userName: "other@example.com", externalId: "unique" },
  ]) {
    const { status, body } = await idp.ask("POST", "/Users", { schemas: [core], ...more });
    assert.deepEqual([status, body.status, body.scimType], [409, "409", "uniqueness"]);
  }
  const other = await make();
  const { status, body } = await idp.ask("PATCH", `/Users/${text(other, "id")}`, {
    Operations: [{ op: "replace", path: "userName", value: "UNIQUE@example.com" }],
  });
  assert.deepEqual([status, body.scimType], [409, "uniqueness"]);
  const elsewhere = await openScimProvider(world, "https://other.example.com");
  await make({ userName: "Unique@example.com", externalId: "unique" }, elsewhere);
});

test("a user created again during the deletion exists and can sign in", async () => {
  const uid = `${idp.uid}/${text(await make({ externalId: "both" }), "id")}`;
  const { store } = world.server.application.services;
  const [removed, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const removal = store.write(async (rows) => {
    await lockScimUser(rows, uid);
    await deleteScimUser(rows, uid);
    await writeScimRemoval(rows, { identityProviderUid: idp.uid, externalId: "both", identityUid: personOf("both"), nowMs: world.clock.now });
    removed.resolve();
    await gate.promise;
  });
  await removed.promise;
  const announcing = idp.ask("POST", "/Users", { schemas: [core], userName: "both", externalId: "both" });
  const waits = async (): Promise<string> => {
    for (;;) {
      const [waiting] = await store.read.query("select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
      if (Number(waiting?.[0]) > 0) return "waits";
    }
  };
  assert.equal(await Promise.race([announcing, waits()]), "waits");
  gate.resolve();
  await removal;
  assert.equal((await announcing).status, 201);
  assert.equal(await store.write((rows) => isDismissedAt(rows, personOf("both"), world.organization)), false);
});

const found = async (filter: string, more = "", provider = idp): Promise<string[]> => {
  const { status, body } = await provider.ask("GET", `/Users?filter=${encodeURIComponent(filter)}${more}`);
  assert.equal(status, 200, `${filter}: ${JSON.stringify(body)}`);
  assert.equal(body.totalResults, objectList(body, "Resources").length);
  return objectList(body, "Resources").map((each) => text(each, "externalId"));
};

test("lists filter, sort and page by indexed attributes, and anything else is 400 invalidFilter", async () => {
  const own = await openScimProvider(world, "https://lists.example.com");
  const people: Readonly<Record<string, JsonObject>> = {
    a: { userName: "Alan@x.example", displayName: "Alan T", emails: [{ value: "alan@work.example" }, { value: "Alan@home.example", type: "home" }] },
    b: { userName: "barbara@x.example", displayName: "Barbara_L", active: false },
    c: { userName: "carol@y.example", emails: [{ value: "carol@work.example", type: "work", primary: true }], note: "\u0001\\u0000" },
  };
  const ids: Record<string, string> = {};
  for (const [externalId, more] of Object.entries(people)) {
    world.clock.now += 60_000;
    ids[externalId] = text(await make({ externalId, ...more }, own), "id");
  }
  const cases: readonly (readonly [filter: string, wanted: string])[] = [
    ['userName eq "ALAN@X.EXAMPLE"', "a"],
    ['UserName Eq "alan@x.example"', "a"],
    [`${core}:userName eq "alan@x.example"`, "a"],
    ['externalId eq "a"', "a"],
    ["externalId eq a", "a"],
    ['externalId eq "A"', ""],
    ['userName sw "b" or userName sw "C"', "bc"],
    ['userName co "x.example" and active eq true', "a"],
    ['userName ew "y.example"', "c"],
    ['not (userName ew "x.example")', "c"],
    ['(userName sw "a" or userName sw "b") and not (active eq "False")', "a"],
    ['userName sw "a" or userName sw "b" and active eq true', "a"],
    ["displayName pr", "ab"],
    ['displayName lt "b"', "a"],
    ['displayName co ""', "ab"],
    ['displayName eq ""', ""],
    ['displayName ne "barbara_l"', "ac"],
    ["not (displayName pr)", "c"],
    ['displayName co "_"', "b"],
    ["active eq false", "b"],
    ['externalId eq "b" and active eq false and userName eq "BARBARA@x.example"', "b"],
    ['externalId eq "b" and userName eq "carol@y.example"', ""],
    ["active ne true", "b"],
    ['emails.value eq "alan@HOME.example"', "a"],
    ['emails[value eq "alan@home.example"]', "a"],
    // Entra ID's filter syntax and that of RFC 7644 §3.4.2.2 find the same address.
    ['emails[type eq "home"].value eq "ALAN@home.example"', "a"],
    ['emails[type eq "home" and value eq "alan@home.example"]', "a"],
    ['emails[type eq "work"].value eq "alan@home.example"', ""],
    ['emails[type eq "home" and value co "@work"]', ""],
    ['emails[type eq "Home"].value ew "home.example" and userName sw "b"', ""],
    ['not (emails[type eq "home"].value eq "alan@home.example")', "bc"],
    ['emails[type eq "work" and primary eq "True"].value sw "carol"', "c"],
    ['emails[type eq "work" and primary eq false].value pr', ""],
    ['emails[type pr].value ne "alan@home.example"', "c"],
    ['emails co "@work"', "ac"],
    ["emails pr", "ac"],
    ["not (emails pr)", "b"],
    [`id eq "${ids.b}"`, "b"],
    ['userName gt "b"', "bc"],
    ['externalId ne "a"', "bc"],
    ["externalId eq null", ""],
    [`meta.lastModified ge "${new Date(world.clock.now).toISOString()}"`, "c"],
  ];
  for (const [filter, wanted] of cases) assert.equal((await found(filter, "&sortBy=externalId", own)).join(""), wanted, filter);
  assert.deepEqual(await found("externalId pr", "&sortBy=meta.created&sortOrder=descending", own), ["c", "b", "a"]);
  const pages = [];
  for (const startIndex of [1, 2, 3, 4]) {
    const { body } = await own.ask("GET", `/Users?sortBy=userName&count=1&startIndex=${startIndex}`);
    assert.deepEqual([body.totalResults, body.startIndex], [3, startIndex]);
    pages.push(...objectList(body, "Resources").map((each) => each.externalId));
  }
  assert.deepEqual(pages, ["a", "b", "c"]);
  const beyond = await own.ask("GET", "/Users?startIndex=99999999999999999999&count=99999999999999999999");
  assert.deepEqual([beyond.status, beyond.body.totalResults, beyond.body.itemsPerPage, beyond.body.Resources], [200, 3, 0, []]);
  const none = await own.ask("GET", "/Users?count=0");
  assert.deepEqual([none.body.totalResults, none.body.itemsPerPage, none.body.Resources], [3, 0, []]);
  const searched = await own.ask("POST", "/Users/.search", {
    schemas: [],
    filter: 'userName eq "carol@y.example"',
    attributes: ["userName"],
    startIndex: 1,
    count: 10,
  });
  assert.equal(searched.status, 200);
  assert.deepEqual(
    objectList(searched.body, "Resources").map((each) => [each.userName, each.externalId]),
    [["carol@y.example", undefined]],
  );
  // Names in any case; null is absent (RFC 7643 §2.1, §2.5).
  const inAnyCase = await own.ask("POST", "/Users/.search/", { FILTER: 'userName eq "carol@y.example"', Count: 1, startIndex: null, sortBy: null });
  assert.deepEqual([inAnyCase.status, inAnyCase.body.totalResults], [200, 1]);
  assert.equal((await own.ask("GET", "/Users?startindex=3&COUNT=5")).body.itemsPerPage, 1);
  const wrong = [
    'title eq "x"',
    'emails[type eq "work" or value co "x"]',
    'emails[value eq "x" and value co "x"]',
    'emails[type eq "work"].value',
    'emails[type eq "work"]',
    'emails[type eq "work"].title eq "x"',
    'emails[primary co "t"].value eq "x"',
    'userName[type eq "work"].value eq "x"',
    'userName like "x"',
    "userName eq",
    '(userName eq "x"',
    'userName eq "x',
    `${"(".repeat(50)}userName pr${")".repeat(50)}`,
    Array.from({ length: 60 }, () => "userName pr").join(" and "),
    `userName eq "${"\n".repeat(60)}`,
    'active co "t"',
    'meta.created eq "yesterday"',
    'userName eq "a" userName',
    "__proto__ pr",
    'userName eq "\\u0000"',
  ];
  for (const filter of wrong) {
    const { status, body } = await own.ask("GET", `/Users?filter=${encodeURIComponent(filter)}`);
    assert.deepEqual([status, body.scimType], [400, "invalidFilter"], filter);
  }
  for (const [query, scimType] of [
    ["sortBy=title", "invalidValue"],
    ["count=many", "invalidValue"],
    ["sortOrder=up", "invalidValue"],
  ]) {
    const { status, body } = await own.ask("GET", `/Users?${query}`);
    assert.deepEqual([status, body.scimType], [400, scimType], query);
  }
  // Text that PostgreSQL cannot read as JSON is stored and breaks no list.
  await make({ externalId: "d", emails: [{ value: "dora@home.example", type: "home" }], note: "\0\ud800" }, own);
  assert.deepEqual(await found('emails[type eq "home"].value co "home"', "", own), ["a"]);
  assert.deepEqual(await found('emails.value eq "dora@home.example"', "", own), ["d"]);
  // An unquoted value is text, not a number.
  await make({ externalId: "00123" }, own);
  assert.deepEqual(await found("externalId eq 00123", "", own), ["00123"]);
  assert.deepEqual(await found("externalId eq 123", "", own), []);
});

test("attributes and excludedAttributes select the returned attributes, for a single user too", async () => {
  const user = await make({
    name: { givenName: "G", familyName: "F" },
    emails: [{ value: "a@b.example", type: "work" }, { value: "c@d.example" }],
    [enterprise]: { department: "D", division: "E", manager: { value: "m", displayName: "M" } },
  });
  const shown = async (query: string): Promise<JsonObject> => {
    const { meta: _meta, id: _id, schemas: _schemas, ...rest } = (await idp.ask("GET", `/Users/${text(user, "id")}?${query}`)).body;
    return rest;
  };
  assert.deepEqual(await shown("attributes=userName,name.familyName"), { userName: user.userName, name: { familyName: "F" } });
  assert.deepEqual(await shown(`attributes=${core}:USERNAME,emails.value`), {
    userName: user.userName,
    emails: [{ value: "a@b.example" }, { value: "c@d.example" }],
  });
  assert.deepEqual(await shown(`attributes=${enterprise}:department`), { [enterprise]: { department: "D" } });
  assert.deepEqual(Object.keys(await shown(`excludedAttributes=emails,name,${enterprise},active`)).sort(), ["externalId", "userName"]);
  assert.deepEqual((await shown("excludedAttributes=name.givenName")).name, { familyName: "F" });
  assert.deepEqual(await shown(`attributes=${enterprise}:manager.displayName`), { [enterprise]: { manager: { displayName: "M" } } });
  assert.deepEqual((await shown(`excludedAttributes=${enterprise}:manager.displayName,${enterprise}:division`))[enterprise], {
    department: "D",
    manager: { value: "m" },
  });
  assert.deepEqual(await shown("attributes=emails.type"), { emails: [{ type: "work" }] }, "what has nothing that is asked for is not shown");
  assert.deepEqual(await shown("attributes=name.title,nothing"), {});
  assert.deepEqual(Object.keys(await shown('attributes=emails[type eq "work"],userName')).sort(), ["emails", "userName"], "as Entra ID's reference asks");

  // RFC 7643 §3.1: meta can be excluded like others; headers have version and address.
  const path = `/Users/${text(user, "id")}`;
  for (const [query, wanted] of [
    ["attributes=userName", undefined],
    ["excludedAttributes=meta", undefined],
    ["attributes=meta.version", { version: 'W/"1"' }],
    ["excludedAttributes=meta.created,meta.lastModified,meta.location", { resourceType: "User", version: 'W/"1"' }],
  ] as const) {
    const { body, headers } = await idp.ask("GET", `${path}?${query}`);
    assert.deepEqual([body.meta, headers.get("etag"), body.id], [wanted, 'W/"1"', text(user, "id")], query);
  }
  const created = await idp.ask("POST", "/Users?attributes=userName", { userName: "headers@example.com" });
  assert.equal(created.headers.get("location"), `${idp.base}/Users/${text(created.body, "id")}`);
  assert.deepEqual(Object.keys(created.body).sort(), ["id", "schemas", "userName"]);
  assert.equal((await idp.ask("GET", `${path}?attributes=userName`, undefined, { "if-none-match": 'W/"1"' })).status, 304);
});

const patches: readonly (readonly [what: string, operations: readonly JsonObject[], wanted: JsonObject])[] = [
  [
    "a value with dotted names",
    [{ op: "replace", value: { "name.givenName": "K", displayName: "D" } }],
    { name: { givenName: "K", familyName: "F" }, displayName: "D" },
  ],
  [
    "an address by its type",
    [{ op: "Replace", path: 'emails[type eq "work"].value', value: "n@x" }],
    { emails: [{ value: "n@x", type: "work", primary: true }] },
  ],
  [
    "an address that is not there yet",
    [{ op: "Add", path: 'emails[type eq "home"].value', value: "h@x" }],
    {
      emails: [
        { value: "w@x", type: "work", primary: true },
        { type: "home", value: "h@x" },
      ],
    },
  ],
  [
    "a new primary address",
    [{ op: "add", path: "emails", value: [{ value: "p@x", primary: true }] }],
    {
      emails: [
        { value: "w@x", type: "work", primary: false },
        { value: "p@x", primary: true },
      ],
    },
  ],
  ["an address that is there already", [{ op: "add", path: "emails", value: [{ value: "w@x", type: "work", primary: true }] }], {}],
  ["removed addresses", [{ op: "remove", path: 'emails[value eq "w@x"]' }], { emails: null }],
  ["an extension's attribute", [{ op: "add", path: `${enterprise}:employeeNumber`, value: "7" }], { [enterprise]: { employeeNumber: "7", department: "D" } }],
  ["an extension in a value", [{ op: "add", value: { [enterprise]: { employeeNumber: "7" } } }], { [enterprise]: { employeeNumber: "7", department: "D" } }],
  ["an extension's attribute in a value", [{ op: "replace", value: { [`${enterprise}:department`]: "N" } }], { [enterprise]: { department: "N" } }],
  ["an extension that is gone", [{ op: "remove", path: `${enterprise}:department` }], { [enterprise]: null }],
  ["an attribute that nobody knows", [{ op: "add", path: "address.streetAddress", value: "1 Main St" }], { address: { streetAddress: "1 Main St" } }],
  ["an id in a value", [{ op: "replace", value: { id: "other", displayName: "D" } }], { displayName: "D" }],
  ["names in any case", [{ op: "REPLACE", path: "NAME.GIVENNAME", value: "K" }], { name: { givenName: "K", familyName: "F" } }],
  ["null", [{ op: "replace", path: "name", value: null }], { name: null }],
  ["a removed part", [{ op: "remove", path: "name.givenName" }], { name: { familyName: "F" } }],
  [
    "an address by its type, in a list",
    [{ op: "replace", path: 'emails[type eq "work"]', value: [{ value: "n@x" }] }],
    { emails: [{ value: "n@x", type: "work", primary: true }] },
  ],
  ["`active` that is not said any more", [{ op: "remove", path: "active" }], { active: null }],
  ["an external id that is empty", [{ op: "replace", path: "externalId", value: "" }], { externalId: null }],
  ["all addresses", [{ op: "replace", path: "emails.value", value: "z@x" }], { emails: [{ value: "z@x", type: "work", primary: true }] }],
  // RFC 7644 §3.5.2: however it became primary.
  [
    "another address that becomes primary, said as Entra ID says true",
    [
      { op: "add", path: "emails", value: [{ value: "h@x", type: "home" }] },
      { op: "replace", path: 'emails[type eq "home"].primary', value: "True" },
    ],
    {
      emails: [
        { value: "w@x", type: "work", primary: false },
        { value: "h@x", type: "home", primary: true },
      ],
    },
  ],
  [
    "two primary addresses",
    [
      {
        op: "replace",
        path: "emails",
        value: [
          { value: "a@x", primary: "True" },
          { value: "b@x", primary: true },
        ],
      },
    ],
    {
      emails: [
        { value: "a@x", primary: true },
        { value: "b@x", primary: false },
      ],
    },
  ],
  ["an address that is there already, in another spelling", [{ op: "add", path: "emails", value: { VALUE: "w@x", Primary: "true", type: "work" } }], {}],
  ["another address that is to be removed", [{ op: "remove", path: "emails", value: { value: "other@x" } }], {}],
  ["addresses removed with null", [{ op: "remove", path: "emails", value: null }], { emails: null }],
  ["single values in lists", [{ op: "Replace", path: "displayName", value: [{ $ref: null, value: "D" }] }], { displayName: "D" }],
  [
    "the value of an address in a list",
    [{ op: "Replace", path: 'emails[type eq "work"].value', value: [{ value: "n@x" }] }],
    { emails: [{ value: "n@x", type: "work", primary: true }] },
  ],
  [
    "a manager without what is around it",
    [{ op: "Add", path: `${enterprise}:manager`, value: "m" }],
    { [enterprise]: { department: "D", manager: { value: "m" } } },
  ],
  [
    "a manager in a list",
    [{ op: "Add", path: `${enterprise}:manager`, value: [{ value: "m" }] }],
    { [enterprise]: { department: "D", manager: { value: "m" } } },
  ],
  [
    "a manager in the extension, and none with an empty text",
    [
      { op: "add", value: { [enterprise]: { Manager: "m", employeeNumber: 7 } } },
      { op: "replace", path: `${enterprise}:manager`, value: "" },
    ],
    { [enterprise]: { department: "D", employeeNumber: 7 } },
  ],
  ["an extension in any case", [{ op: "add", value: { [enterprise.toLowerCase()]: { DEPARTMENT: "N" } } }], { [enterprise]: { department: "N" } }],
  ["what stands under the core schema", [{ op: "replace", value: { [core]: { displayName: "D" } } }], { displayName: "D" }],
  [
    "the core schema as a path",
    [{ op: "replace", path: core, value: { displayName: "D", "name.givenName": "K" } }],
    { displayName: "D", name: { givenName: "K", familyName: "F" } },
  ],
  ["an extension that nobody knows", [{ op: "add", value: { "urn:example:1.0:User": { badge: "7" } } }], { "urn:example:1.0:User": { badge: "7" } }],
  [
    "a value of an extension that nobody knows",
    [{ op: "add", path: 'urn:example:1.0:User:keys[type eq "a:b"].value', value: "7" }],
    { "urn:example:1.0:User": { keys: [{ type: "a:b", value: "7" }] } },
  ],
];

for (const [what, Operations, wanted] of patches) {
  test(`a patch as clients send it: ${what}`, async () => {
    const base = { name: { givenName: "G", familyName: "F" }, emails: [{ value: "w@x", type: "work", primary: true }], [enterprise]: { department: "D" } };
    const user = await make(base);
    const { status, body } = await idp.ask("PATCH", `/Users/${text(user, "id")}`, { Operations: [...Operations] });
    assert.equal(status, 200, JSON.stringify(body));
    const { meta: _meta, schemas: _schemas, ...shown } = body;
    const { meta: _, schemas: __, ...before } = user;
    const expected = Object.fromEntries(Object.entries({ ...before, ...wanted }).filter(([, value]) => value !== null));
    assert.deepEqual(shown, expected);
  });
}

test("an inactive user stays inactive and keeps the external ID if a change omits them", async () => {
  const id = text(await make({ active: false, externalId: "left-out" }), "id");
  const leave = async (verb: string, body: JsonObject, shownActive: boolean | undefined): Promise<void> => {
    assert.equal((await idp.ask(verb, `/Users/${id}`, body)).status, 200);
    const { active, externalId } = (await idp.ask("GET", `/Users/${id}`)).body;
    const still = await found("active eq false and externalId eq left-out");
    assert.deepEqual([active, externalId, still], [shownActive, "left-out", ["left-out"]], JSON.stringify(body));
    assert.deepEqual(await bindingsOf(personOf("left-out")), []);
  };
  await leave("PUT", { userName: "left-out@example.com", active: null }, false);
  await leave("PUT", { userName: "left-out@example.com", externalId: "" }, false);
  // RFC 7644 §3.5.2.2: a removed attribute is unassigned and asserts nothing.
  await leave("PATCH", { Operations: [{ op: "remove", path: "active" }] }, undefined);
  await leave("PATCH", { Operations: [{ op: "replace", value: { active: null } }] }, undefined);
});

test("an invalid request is a 400 in RFC 7644's format and changes nothing", async () => {
  const user = await make({ emails: [{ value: "w@x", type: "work" }] });
  const id = text(user, "id");
  const cases: readonly (readonly [verb: string, path: string, body: Json, scimType: string, status?: number])[] = [
    ["POST", "/Users", {}, "invalidValue"],
    ["POST", "/Users", { userName: "" }, "invalidValue"],
    ["POST", "/Users", { userName: 7 }, "invalidValue"],
    ["POST", "/Users", { userName: "x", active: "perhaps" }, "invalidValue"],
    ["POST", "/Users", { userName: "x", emails: [7] }, "invalidValue"],
    ["POST", "/Users", { userName: "x", username: "y" }, "invalidValue"],
    ["POST", "/Users", { userName: "x\u0000" }, "invalidValue"],
    ["POST", "/Users", { userName: "x".repeat(513) }, "invalidValue"],
    ["POST", "/Users", { userName: "x", externalId: "y".repeat(256) }, "invalidValue"],
    ["POST", "/Users", '{"userName": "x"', "invalidSyntax"],
    ["POST", "/Users", "[]", "invalidSyntax"],
    ["PATCH", `/Users/${id}`, { Operations: [] }, "invalidValue"],
    ["PATCH", `/Users/${id}`, { Operations: [{ op: "move", path: "name", value: 1 }] }, "invalidValue"],
    ["PATCH", `/Users/${id}`, { Operations: [{ op: "remove" }] }, "noTarget"],
    ["PATCH", `/Users/${id}`, { Operations: [{ op: "replace", path: "id", value: "x" }] }, "mutability"],
    ["PATCH", `/Users/${id}`, { Operations: [{ op: "replace", path: "a b", value: "x" }] }, "invalidPath"],
    ["PATCH", `/Users/${id}`, { Operations: [{ op: "replace", path: "__proto__.x", value: "x" }] }, "invalidPath"],
    ["PATCH", `/Users/${id}`, { Operations: [{ op: "replace", path: 'emails[type ne "work"].value', value: "x" }] }, "noTarget"],
    ["PATCH", `/Users/${id}`, { Operations: [{ op: "replace", path: "emails[", value: "x" }] }, "invalidPath"],
    ["PATCH", `/Users/${id}`, { Operations: [{ op: "remove", path: "userName" }] }, "invalidValue"],
    ["PATCH", `/Users/${id}`, { Operations: [{ op: ["add"], path: "title", value: "x" }] }, "invalidValue"],
    ["PATCH", `/Users/${id}`, { Operations: [{ op: "add", path: 'displayName[value eq "x"]', value: "y" }] }, "invalidPath"],
    ["PATCH", `/Users/${id}`, { Operations: [{ op: "add", path: 'roles[type eq "x"]', value: 7 }] }, "invalidValue"],
    ["POST", "/Users", { userName: "x", [core]: { userName: "y" } }, "invalidValue"],
    ["POST", "/Users", { userName: "x", [core]: "y" }, "invalidValue"],
    ["POST", "/Users", { userName: "x", [enterprise]: { department: "y", Department: "z" } }, "invalidValue"],
    ["PATCH", `/Users/${id}`, { Operations: [{ op: "replace", value: "x" }] }, "invalidValue"],
  ];
  for (const [verb, path, body, scimType] of cases) {
    const answer = await idp.ask(verb, path, body);
    assert.deepEqual(
      [answer.status, answer.body.status, answer.body.scimType],
      [400, "400", scimType],
      `${verb} ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`,
    );
  }
  assert.deepEqual((await idp.ask("GET", `/Users/${id}`)).body, user);
  const large = await idp.ask("POST", "/Users", { userName: "large", note: "x".repeat(256 * 1024) });
  assert.deepEqual([large.status, large.body.status], [413, "413"]);
  for (const [verb, path, status] of [
    ["POST", "/Bulk", 501],
    ["GET", "/Me", 501],
    ["GET", "/Things", 404],
    ["POST", `/Users/${id}`, 405],
    ["PUT", "/Users", 405],
  ] as const) {
    const answer = await idp.ask(verb, path, verb === "GET" ? undefined : {});
    assert.deepEqual([answer.status, answer.body.status, answer.headers.get("content-type")], [status, String(status), "application/scim+json"], path);
  }
  const form = await idp.ask("POST", "/Users", "userName=x", { "content-type": "application/x-www-form-urlencoded" });
  assert.equal(form.status, 415);
});

test("discovery lists the supported features, and each resource is at its address", async () => {
  const config = await idp.ask("GET", "/ServiceProviderConfig");
  assert.deepEqual([part(config.body, "patch").supported, part(config.body, "bulk").supported, part(config.body, "etag").supported], [true, false, true]);
  for (const path of ["/Schemas", "/ResourceTypes"]) {
    const { body } = await idp.ask("GET", path);
    for (const each of objectList(body, "Resources")) {
      const location = text(part(each, "meta"), "location");
      const { status, body: one } = await idp.ask("GET", location.slice(idp.base.length));
      assert.deepEqual([status, one], [200, each]);
    }
    assert.equal((await idp.ask("GET", `${path}?filter=id%20pr`)).status, 403);
    assert.equal((await idp.ask("GET", `${path}/none`)).status, 404);
  }
  const types = objectList((await idp.ask("GET", "/ResourceTypes")).body, "Resources");
  for (const type of types) assert.ok(isObject((await idp.ask("GET", text(type, "endpoint"))).body), text(type, "endpoint"));
});

test("a restored provider has its users unchanged, SCIM disabled and no token", async () => {
  const provider = await openScimProvider(world, "https://returned.example.com");
  const staying = text(await make({ externalId: "staying" }, provider), "id");
  const leaving = text(await make({ externalId: "leaving" }, provider), "id");
  assert.equal((await provider.ask("PATCH", `/Users/${leaving}`, { Operations: [{ op: "replace", path: "active", value: false }] })).status, 200);
  await world.ok("iam.IdentityProvidersService/DeleteIdentityProvider", { uid: provider.uid });
  assert.equal((await provider.ask("GET", "/Users")).status, 401);

  const deletions = "gantry.deletions.v1.DeletionsService";
  const [deletion] = objectList(await world.ok(`${deletions}/ListDeletions`, { resourceUids: [provider.uid] }), "deletions");
  await world.ok(`${deletions}/UndeleteDeletion`, { uid: text(deletion ?? {}, "uid") });
  assert.equal((await provider.ask("GET", "/Users")).status, 401, "the token from before");

  const again = await enableScim(world, provider.uid);
  const shown = async (id: string): Promise<unknown> => (await again.ask("GET", `/Users/${id}`)).body.active;
  assert.deepEqual([await shown(staying), await shown(leaving)], [true, false]);
});
