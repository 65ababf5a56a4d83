// resources: Groups. A new user finds the organization of their e-mail domain, requests access, and checks whether their address can have an
// organization.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { newRoot } from "#base/uid.ts";
import { registerPerson } from "../../server/application/person.ts";
import type { Answer, Protocol } from "../client.ts";
import { openWorld, type World } from "../world.ts";
import { databaseContents } from "./installation.ts";

const protocols = ["rest", "grpc"] as const satisfies readonly Protocol[];
const domain = "acme.example";
/** The operator trusts this issuer's e-mail addresses. */
const issuer = "https://people.example.com";
let world: World;
let acme: string;

const verified = async (name: string): Promise<string> =>
  String(
    (await world.ok("iam.GroupsService/CreateGroup", { group: { name, verified: true, kind: "ORG_KIND_CUSTOMER", description: "not for strangers" } })).uid,
  );

before(async () => {
  world = await openWorld({ GANTRY_FREE_MAIL_DOMAINS: "freemail.example, Other-Free.example", GANTRY_MAIL_ISSUERS: `${issuer}=*` });
  acme = await verified(domain);
});
after(() => world.close());

let people = 0;
const person = async (email: string | undefined): Promise<{ readonly uid: string; readonly token: string }> => {
  const { services } = world.server.application;
  const uid = await registerPerson(world.server.application.kernel, {
    issuer,
    subject: `p${people++}`,
    email: email ?? "",
    name: "",
  });
  return { uid, token: await services.authn.mint({ uid, audience: [world.url], act: { iss: issuer }, ...(email === undefined ? {} : { email }) }) };
};

const lookup = (token: string, protocol: Protocol): Promise<Answer> => world.call("iam.GroupsService/LookupGroup", {}, { token, protocol });
const request = (token: string, groupUid: string, protocol: Protocol = "rest"): Promise<Answer> =>
  world.call("iam.GroupsService/RequestGroupAccess", { groupUid }, { token, protocol });
const eligible = async (token: string, protocol: Protocol): Promise<boolean> =>
  (await world.ok("iam.GroupsService/CheckEligibility", {}, { token, protocol })).eligible === true;

test("a user finds the verified organization of their own domain and sees only its card", async () => {
  for (const [address, protocol] of [
    ["ada@acme.example", "rest"],
    ["Ada@ACME.Example", "grpc"],
  ] as const) {
    const found = await lookup((await person(address)).token, protocol);
    assert.equal(found.code, 0, found.message);
    assert.deepEqual(found.reply, { group: { uid: acme, name: domain, verified: true } });
  }
});

test("every failed lookup gets one response: no address, another domain, a subdomain, an unverified or suspended organization, a program", async () => {
  await world.ok("iam.GroupsService/CreateGroup", { group: { name: "unverified.example" } });
  await world.ok("iam.GroupsService/CreateGroup", { parent: acme, group: { name: "folder.example" } });
  const closed = await verified("closed.example");
  await world.server.application.services.store.write((rows) => rows.query("update groups set status = 'ORG_STATUS_SUSPENDED' where uid = $1", [closed]));
  await verified("gmail.com");
  await verified("freemail.example");
  const program = String(
    (
      await world.ok("iam.IdentitiesService/CreateIdentity", {
        parent: acme,
        identity: { name: "ci", claimMatch: { issuer: "https://ci.example.com", subject: "s" } },
      })
    ).uid,
  );
  const tokens = [await world.token(program)];
  const addresses = [
    undefined,
    "ada@elsewhere.example",
    "ada@sub.acme.example",
    "ada@example",
    "ada@unverified.example",
    "ada@folder.example",
    "ada@closed.example",
    "ada@gmail.com",
    "ada@freemail.example",
    "acme.example",
    "ada@acme.example@elsewhere.example",
    "@acme.example",
    "ada@%",
    "ada@' or true --",
  ];
  for (const address of addresses) tokens.push((await person(address)).token);
  const texts = new Set<string>();
  for (const token of tokens) {
    for (const protocol of protocols) {
      const answer = await lookup(token, protocol);
      assert.equal(answer.code, codes.NOT_FOUND, answer.message);
      texts.add(JSON.stringify([protocol, answer.message, answer.details]));
    }
  }
  assert.equal(texts.size, protocols.length);
});

test("a user of the domain can request access: owners get an event with the user, and nothing else changes", async () => {
  const ada = await person("ada@acme.example");
  const before_ = await databaseContents(world, ["role_bindings", "groups"]);
  const eventsBefore = (await world.events()).length;
  const answer = await request(ada.token, acme);
  assert.equal(answer.code, 0, answer.message);
  assert.deepEqual(answer.reply, {});
  const told = (await world.events()).slice(eventsBefore);
  assert.deepEqual(
    told.map(({ type, subject, group, actor }) => ({ type, subject, group, actor })),
    [{ type: "dev.gantry.iam.group.access_requested.v1", subject: acme, group: acme, actor: ada.uid }],
  );
  assert.deepEqual(await databaseContents(world, ["role_bindings", "groups"]), before_);
  assert.equal((await world.call("iam.GroupsService/GetGroup", { uid: acme }, { token: ada.token })).code, codes.PERMISSION_DENIED, "asking lets nobody in");
});

test("a repeated request within a day is RESOURCE_EXHAUSTED with Retry-After over both protocols, and emits no event", async () => {
  const grace = await person("grace@acme.example");
  assert.equal((await request(grace.token, acme)).code, 0);
  const eventsBefore = (await world.events()).length;
  world.clock.now += 3_600_000;
  const renewed = await world.server.application.services.authn.mint({
    uid: grace.uid,
    audience: [world.url],
    act: { iss: issuer },
    email: "grace@acme.example",
  });
  for (const protocol of protocols) {
    const again = await request(renewed, acme, protocol);
    assert.equal(again.code, codes.RESOURCE_EXHAUSTED);
    if (again.status !== undefined) assert.equal(again.status, 429);
    assert.equal(again.headers["retry-after"], String((limits.accessRequestMs - 3_600_000) / 1000));
  }
  assert.equal((await world.events()).length, eventsBefore);
  assert.equal((await request((await person("other@acme.example")).token, acme)).code, 0, "everybody has their own turn");
  world.clock.now += limits.accessRequestMs;
  const later = await world.server.application.services.authn.mint({
    uid: grace.uid,
    audience: [world.url],
    act: { iss: issuer },
    email: "grace@acme.example",
  });
  assert.equal((await request(later, acme, "grpc")).code, 0);
});

test("concurrent requests of one user emit one event", async () => {
  const { token } = await person("many@acme.example");
  const eventsBefore = (await world.events()).length;
  const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => request(token, acme, protocols[index % 2])));
  assert.equal(answers.filter(({ code }) => code === 0).length, 1);
  assert.equal((await world.events()).length, eventsBefore + 1);
});

test("a group that the user may not request is not found, whether or not it exists, and no group is INVALID_ARGUMENT", async () => {
  const { token } = await person("ida@acme.example");
  const folder = String((await world.ok("iam.GroupsService/CreateGroup", { parent: acme, group: { name: "inside" } })).uid);
  for (const protocol of protocols) {
    const texts = new Set<string>();
    for (const uid of [world.organization, folder, newRoot(), `${newRoot()}/0123456789abcdef`]) {
      const answer = await request(token, uid, protocol);
      assert.equal(answer.code, codes.NOT_FOUND);
      texts.add(JSON.stringify([answer.message, answer.details]).replaceAll(uid, "<uid>"));
    }
    assert.equal(texts.size, 1);
  }
  assert.equal((await request(token, "", "grpc")).code, codes.INVALID_ARGUMENT);
  assert.equal((await request(token, "x")).code, codes.INVALID_ARGUMENT);
});

test("a verified company address can have an organization; a free mail address or none cannot", async () => {
  const wanted: readonly (readonly [string | undefined, boolean])[] = [
    ["ada@acme.example", true],
    ["ada@new-company.example", true],
    [undefined, false],
    ["ada@gmail.com", false],
    ["ADA@GMail.com", false],
    ["ada@proton.me", false],
    ["ada@freemail.example", false],
    ["ada@other-free.example", false],
  ];
  for (const [address, answer] of wanted) {
    const { token } = await person(address);
    for (const protocol of protocols) assert.equal(await eligible(token, protocol), answer, address ?? "none");
  }
});

test("an address that the issuer did not verify is ignored", async () => {
  const { uid } = await person("eve@acme.example");
  // Her row has the address, but her token does not vouch for it.
  const token = await world.token(uid);
  assert.equal((await lookup(token, "rest")).code, codes.NOT_FOUND);
  assert.equal((await request(token, acme)).code, codes.NOT_FOUND);
  assert.equal(await eligible(token, "rest"), false);
});

test("access requests are deleted with the organization and with the user", async () => {
  const gone = await verified("gone.example");
  const { uid, token } = await person("x@gone.example");
  assert.equal((await request(token, gone)).code, 0);
  const count = async (column: string, value: string): Promise<JsonObject[]> =>
    (await world.server.application.services.store.read.query(`select 1 from group_access_requests where ${column} = $1`, [value])).map(() => ({}));
  assert.equal((await count("identity_uid", uid)).length, 1);
  await world.ok("iam.GroupsService/DeleteGroup", { uid: gone });
  assert.equal((await count("group_uid", gone)).length, 0);
});
