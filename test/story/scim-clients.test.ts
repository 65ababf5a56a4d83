// Replays documented requests of Entra ID and Okta in order (test/fixtures/scim-requests.json, with and without Entra's compliance flag), and syncs a
// whole directory twice.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isObject, type Json, type JsonObject, objectList, text } from "#base/json.ts";
import { shortOrLong } from "../length.ts";
import { makeOwners, openScimProvider, type ScimAnswer, type ScimProvider } from "../scim.ts";
import { openWorld, type World } from "../world.ts";

interface Sent {
  readonly name: string;
  readonly method: string;
  /** With {id} for the flow's last created resource, and {user} for a user. */
  readonly path: string;
  readonly status?: number;
  readonly body?: Json;
}

let world: World;
let flows: Readonly<Record<string, readonly Sent[]>>;

before(async () => {
  flows = JSON.parse(await readFile(join(import.meta.dirname, "../fixtures/scim-requests.json"), "utf8")) as typeof flows;
  world = await openWorld();
  await makeOwners(world);
});
after(() => world.close());

const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/** Replays a client's requests in order; passes each response to `look`. */
const play = async (idp: ScimProvider, sent: readonly Sent[], look: (name: string, answer: ScimAnswer, now: JsonObject) => void): Promise<void> => {
  const user = text((await idp.ask("POST", "/Users", { userName: "member@example.com", externalId: "member" })).body, "id");
  let id = "";
  for (const { name, method, path, status, body } of sent) {
    const missing = name.includes("not found") ? "0123456789abcdef" : id;
    const filled = (value: string): string => value.replaceAll("{id}", missing).replaceAll("{user}", user);
    const [bare = "", query] = filled(path).split("?");
    const target =
      query === undefined ? bare : `${bare}?${query.replace(/filter=(.*?)(?=&|$)/, (_, filter: string) => `filter=${encodeURIComponent(filter)}`)}`;
    const answer = await idp.ask(method, target, body === undefined ? undefined : (JSON.parse(filled(JSON.stringify(body))) as Json));
    const usual = { POST: [201], DELETE: [204], PATCH: [200, 204] }[method] ?? [200];
    assert.ok((status === undefined ? usual : [status]).includes(answer.status), `${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
    if (method === "POST") id = text(answer.body, "id");
    const gone = method === "DELETE" || name.includes("not found");
    const kind = bare.split("/")[1] ?? "";
    look(name, answer, gone || id === "" || !["Users", "Groups"].includes(kind) ? {} : (await idp.ask("GET", `/${kind}/${id}`)).body);
  }
};

const emailOf = (user: JsonObject): string => text(objectList(user, "emails")[0] ?? {}, "value");
const memberCount = (group: JsonObject): number => objectList(group, "members").length;
const nameOf = ({ name }: JsonObject): JsonObject => (isObject(name) ? name : {});

test("Entra ID's documented requests get the documented responses and take effect", async () => {
  const idp = await openScimProvider(world, "https://entra.example.com");
  const seen: string[] = [];
  const checks: Readonly<Record<string, (answer: ScimAnswer, now: JsonObject) => void>> = {
    "get user by query": ({ body }) => assert.equal(body.totalResults, 1),
    "get user by query, externalId unquoted": ({ body }) => assert.equal(text(objectList(body, "Resources")[0] ?? {}, "externalId"), "user-id"),
    "get user by query, zero results": ({ body }) => assert.deepEqual([body.totalResults, body.Resources, body.startIndex], [0, [], 1]),
    "update user, multi-valued properties": (_, now) => assert.deepEqual([emailOf(now), nameOf(now).familyName], ["new@example.com", "updatedFamilyName"]),
    "update user, single-valued properties": (_, now) => assert.equal(now.userName, "renamed@example.com"),
    "disable user": (_, now) => assert.equal(now.active, false),
    "get group by displayName": ({ body }) => assert.deepEqual([body.totalResults, objectList(body, "Resources")[0]?.members], [1, undefined]),
    "update group, non-member attributes": (_, now) => assert.equal(now.displayName, "renamed"),
    "update group, add members": (_, now) => assert.equal(memberCount(now), 1),
    "update group, remove members": (_, now) => assert.equal(memberCount(now), 0),
  };
  await play(idp, flows.entra ?? [], (name, answer, now) => {
    seen.push(name);
    checks[name]?.(answer, now);
  });
  assert.deepEqual(
    Object.keys(checks).filter((name) => !seen.includes(name)),
    [],
  );
});

test("Entra ID's patches have the same effect with and without its compliance flag", async () => {
  const idp = await openScimProvider(world, "https://flags.example.com");
  const user = text((await idp.ask("POST", "/Users", { userName: "flag@example.com", externalId: "flag", active: true })).body, "id");
  const member = text((await idp.ask("POST", "/Users", { userName: "in@example.com" })).body, "id");
  const group = text((await idp.ask("POST", "/Groups", { displayName: "Flagged" })).body, "id");
  for (const { name, path, body } of flows.entraFlags ?? []) {
    await idp.ask("PUT", `/Users/${user}`, { userName: "flag@example.com", active: true });
    await idp.ask("PUT", `/Groups/${group}`, { displayName: "Flagged", members: [{ value: member }] });
    const target = path.replace("{id}", path.includes("Groups") ? group : user);
    const { status, body: told } = await idp.ask("PATCH", target, JSON.parse(JSON.stringify(body).replaceAll("{user}", member)) as Json);
    assert.ok([200, 204].includes(status), `${name}: ${JSON.stringify(told)}`);
    const now = (await idp.ask("GET", target)).body;
    if (name.startsWith("disable user")) assert.equal(now.active, false, name);
    else if (name.startsWith("add a single-value")) assert.equal(now.nickName, "Babs", name);
    else if (name.startsWith("remove a group member")) assert.equal(memberCount(now), 0, name);
    else {
      assert.equal(emailOf(now), "new@example.com", name);
      assert.ok(["Gtfd", "Kkom"].includes(text(nameOf(now), "givenName")), name);
      assert.ok(["Eqpj", "Aklq"].includes(text((now[enterprise] ?? {}) as JsonObject, "employeeNumber")), name);
      assert.ok(["Pvlo", "Bjfe"].includes(text(now, "displayName")), name);
    }
  }
  assert.equal((flows.entraFlags ?? []).length, 8);
});

test("Okta's requests take effect: whole users, patches without path and schemas, groups with their ID in the value", async () => {
  const idp = await openScimProvider(world, "https://okta.example.com");
  const told: string[] = [];
  const sent = flows.okta ?? [];
  // Split into separate flows, because the user is deleted after the group is created.
  const ofUsers = sent.filter(({ path }) => path.startsWith("/Users"));
  for (const part of [ofUsers, sent.filter((each) => !ofUsers.includes(each))]) {
    await play(idp, part, (name, { body }, now) => {
      told.push(name);
      if (name.startsWith("update user")) assert.deepEqual([nameOf(now).familyName, now.externalId], ["Newer", "okta-id"]);
      if (name.startsWith("find user")) assert.equal(body.totalResults, 1);
      if (name.startsWith("disable user")) assert.equal(now.active, false);
      if (name.startsWith("several")) assert.deepEqual([nameOf(now).givenName, nameOf(now).familyName, now.active], ["David", "Jones", false]);
      if (name.startsWith("custom")) assert.deepEqual(now.address, { streetAddress: "123 Main St" });
      if (name.startsWith("rename")) assert.equal(now.displayName, "Everybody");
      if (name.startsWith("add members")) assert.equal(memberCount(now), 1);
      assert.doesNotMatch(JSON.stringify(now), /password/i);
    });
    await idp.ask(
      "DELETE",
      `/Users/${text(objectList((await idp.ask("GET", '/Users?filter=userName%20eq%20"member@example.com"')).body, "Resources")[0] ?? {}, "id")}`,
    );
  }
  assert.equal(told.length, sent.length);
});

test("a second full sync of a directory changes no row and emits no event", async () => {
  const idp = await openScimProvider(world, "https://directory.example.com");
  const count = shortOrLong(150, 10_000);
  const person = (index: number): JsonObject => ({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User", enterprise],
    userName: `person-${index}@example.com`,
    externalId: `person-${index}`,
    name: { givenName: `Given ${index}`, familyName: `Family ${index % 97}` },
    emails: [{ value: `person-${index}@example.com`, type: "work", primary: true }],
    active: index % 50 !== 0,
    [enterprise]: { department: `Department ${index % 13}`, manager: { value: `person-${index % 7}` } },
  });
  const all = Array.from({ length: count }, (_, index) => index);
  const inTurns = async (work: (index: number) => Promise<void>): Promise<void> => {
    const left = [...all];
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let index = left.shift(); index !== undefined; index = left.shift()) {
          // Rate limits depend on the clock, so it advances here.
          world.clock.now += 20;
          await work(index);
        }
      }),
    );
  };
  const find = async (index: number): Promise<JsonObject | undefined> => {
    const { body } = await idp.ask("GET", `/Users?filter=${encodeURIComponent(`externalId eq "person-${index}"`)}`);
    return objectList(body, "Resources")[0];
  };
  await inTurns(async (index) => {
    assert.equal(await find(index), undefined);
    const { status, body } = await idp.ask("POST", "/Users", person(index));
    assert.equal(status, 201, JSON.stringify(body));
  });
  const { store } = world.server.application.services;
  const state = async (): Promise<unknown> => [
    await store.read.query("select count(*), max(id) from outbox"),
    await store.read.query("select count(*), sum(version), max(update_time) from scim_users where identity_provider_uid = $1", [idp.uid]),
    await store.read.query("select count(*), max(uid) from role_bindings"),
  ];
  const before = await state();
  await inTurns(async (index) => {
    const known = await find(index);
    const { status, headers } = await idp.ask("PUT", `/Users/${text(known ?? {}, "id")}`, person(index));
    assert.deepEqual([status, headers.get("etag")], [200, 'W/"1"']);
  });
  assert.deepEqual(await state(), before);
});
