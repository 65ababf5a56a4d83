// resources: Groups. Properties of an organization that the operator sets: verified domain, kind, and suspension.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { newChild, newRoot } from "#base/uid.ts";
import { registerPerson } from "../../server/application/person.ts";
import type { Answer, Protocol } from "../client.ts";
import { asOwner, freshDatabase } from "../database.ts";
import { plant } from "../told.ts";
import { openWorld, type World } from "../world.ts";
import { items } from "./protocols.ts";
import { bind, createIdentity } from "./installation.ts";
import { gantry } from "./processes.ts";

const protocols = ["rest", "grpc"] as const satisfies readonly Protocol[];
let folder: string;
let environment: Record<string, string>;
let drop: (() => Promise<void>) | undefined;
let world: World;
let second: World;

before(async () => {
  const database = await freshDatabase();
  drop = database.drop;
  folder = await mkdtemp(join(tmpdir(), "gantry-verified-"));
  await writeFile(join(folder, "key"), randomBytes(32).toString("base64"), { mode: 0o600 });
  environment = {
    DATABASE_URL: database.url,
    GANTRY_SECRET_KEY_FILE: join(folder, "key"),
    GANTRY_PUBLIC_URL: "http://gantry.example.test",
    GANTRY_OPEN_ORGANIZATIONS: "true",
  };
  world = await openWorld(environment);
  second = await openWorld(environment);
});
after(async () => {
  await second?.close();
  await world?.close();
  await drop?.();
  await rm(folder, { recursive: true });
});

const create = (group: JsonObject, options: { parent?: string; token?: string; protocol?: Protocol } = {}): Promise<Answer> => {
  const { parent, ...rest } = options;
  return world.call("iam.GroupsService/CreateGroup", { ...(parent === undefined ? {} : { parent }), group }, rest);
};
const update = (uid: string, group: JsonObject, updateMask?: string, options: { token?: string; protocol?: Protocol } = {}): Promise<Answer> =>
  world.call("iam.GroupsService/UpdateGroup", { group: { uid, ...group }, ...(updateMask === undefined ? {} : { updateMask }) }, options);
const get = (uid: string): Promise<JsonObject> => world.ok("iam.GroupsService/GetGroup", { uid });

let made = 0;
const organization = async (more: JsonObject = {}): Promise<string> => {
  const { reply, message } = await create({ name: `org${made++}.example`, verified: true, kind: "ORG_KIND_CUSTOMER", ...more });
  assert.ok(reply.uid, message);
  return String(reply.uid);
};

const person = async (): Promise<{ uid: string; token: string }> => {
  const uid = await registerPerson(world.server.application.kernel, { issuer: "https://people.example.com", subject: `p${made++}`, email: "", name: "" });
  return { uid, token: await world.token(uid) };
};

const violated = ({ code, details }: Answer): string[] => {
  assert.equal(code, codes.INVALID_ARGUMENT);
  return details.flatMap((detail) => items(detail, "fieldViolations").map(({ field }) => String(field)));
};

test("the operator creates a verified organization with its kind, and it is ready at once", async () => {
  for (const protocol of protocols) {
    const answer = await create({ name: `made-${protocol}.example`, verified: true, kind: "ORG_KIND_STARTER" }, { protocol });
    assert.equal(answer.code, 0, answer.message);
    const { verified, kind, status } = await get(String(answer.reply.uid));
    assert.deepEqual({ verified, kind, status }, { verified: true, kind: "ORG_KIND_STARTER", status: "ORG_STATUS_READY" });
  }
});

test("a verified organization has a domain as name and a kind, and only a verified one has a kind", async () => {
  for (const name of [
    "acme",
    "acme corp",
    "acme.",
    ".example",
    "a..example",
    "-a.example",
    "a-.example",
    "acme.example.1",
    "a_b.example",
    `${"a".repeat(64)}.example`,
    "1.2.3.4",
  ]) {
    assert.deepEqual(violated(await create({ name, verified: true, kind: "ORG_KIND_DEV" })), ["name"], name);
  }
  assert.deepEqual(violated(await create({ name: "nokind.example", verified: true })), ["kind"]);
  assert.deepEqual(violated(await create({ name: "unverified.example", kind: "ORG_KIND_DEV" })), ["kind"]);
  const plain = String((await create({ name: "plain name" })).reply.uid);
  assert.deepEqual(violated(await update(plain, { kind: "ORG_KIND_DEV" }, "kind")), ["kind"]);
  assert.deepEqual(violated(await update(plain, { verified: true }, "verified")), ["name"]);
});

test("a domain has one verified organization, even after concurrent creates", async () => {
  const body = { name: "unique.example", verified: true, kind: "ORG_KIND_CUSTOMER" };
  const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => create(body, { protocol: protocols[index % 2] ?? "rest" })));
  assert.equal(answers.filter(({ code }) => code === 0).length, 1);
  assert.ok(answers.every(({ code }) => code === 0 || code === codes.ALREADY_EXISTS));
  assert.equal((await create({ name: "unique.example" })).code, codes.ALREADY_EXISTS);
  const third = await organization();
  assert.equal((await update(third, { verified: false }, "verified")).code, 0);
  assert.equal((await update(third, { name: "unique.example", verified: true }, "name,verified")).code, codes.ALREADY_EXISTS);
  assert.equal((await create({ name: "unique.example" }, { parent: world.organization })).code, 0, "a folder may have any name");
});

test("a verified organization's name cannot change, even by the operator, by mask, by fields or by full replacement", async () => {
  const uid = await organization();
  const was = await get(uid);
  for (const [mask, body] of [
    ["name", { name: "other.example" }],
    [undefined, { name: "other.example" }],
    ["*", { name: "other.example", verified: true, kind: "ORG_KIND_CUSTOMER" }],
    ["name,description", { name: "x" }],
  ] as const) {
    assert.deepEqual(violated(await update(uid, { ...body }, mask)), ["name"]);
  }
  assert.deepEqual(await get(uid), was);
  assert.equal((await update(uid, { name: String(was.name), description: "same name" }, "name,description")).code, 0);
  assert.equal((await update(uid, { verified: false, name: "renamed.example" }, "verified,name")).code, 0, "giving up the one, it may have the other");
});

test("kind changes only if named; a full replacement may restate but not change it", async () => {
  const uid = await organization();
  const { name } = await get(uid);
  assert.equal((await update(uid, { kind: "ORG_KIND_INFRA" }, "kind")).code, 0);
  assert.equal((await get(uid)).kind, "ORG_KIND_INFRA");
  for (const kind of [undefined, "ORG_KIND_DEV"]) {
    for (const protocol of protocols)
      assert.deepEqual(violated(await update(uid, { name: String(name), verified: true, ...(kind ? { kind } : {}) }, "*", { protocol })), ["kind"]);
  }
  assert.equal((await update(uid, { name: String(name), verified: true, kind: "ORG_KIND_INFRA", description: "new" }, "*")).code, 0);
  assert.equal((await get(uid)).description, "new");
  assert.equal((await update(uid, { status: "ORG_STATUS_SUSPENDED" }, "status")).code, codes.INVALID_ARGUMENT);
  assert.equal((await get(uid)).status, "ORG_STATUS_READY");
});

test("only the operator verifies organizations and sets kinds: not an owner, not a user who creates one", async () => {
  const uid = await organization();
  const owner = await person();
  await bind(world, uid, owner.uid, "owner");
  const was = await get(uid);
  for (const [body, mask] of [
    [{ verified: false }, "verified"],
    [{ kind: "ORG_KIND_DEV" }, "kind"],
    [{ kind: "ORG_KIND_UNSPECIFIED" }, "kind"],
  ] as const) {
    for (const protocol of protocols)
      assert.equal((await update(uid, { ...body }, mask, { token: owner.token, protocol })).code, codes.PERMISSION_DENIED, mask);
  }
  assert.equal(
    (await update(uid, { name: String(was.name), verified: true, description: "by its owner" }, "name,description,verified", { token: owner.token })).code,
    0,
    "what stays as it is may be said",
  );
  assert.deepEqual({ ...(await get(uid)), description: "", updateTime: "" }, { ...was, description: "", updateTime: "" });
  assert.equal((await create({ name: "mine.example", verified: true, kind: "ORG_KIND_DEV" }, { token: owner.token })).code, codes.PERMISSION_DENIED);
  assert.equal((await create({ name: "mine.example" }, { token: owner.token })).code, 0);
});

test("a subgroup has and shows its organization's kind and status, and cannot have its own", async () => {
  const uid = await organization();
  const inside = String((await create({ name: "inside" }, { parent: uid })).reply.uid);
  const answer = await create({ name: "deeper" }, { parent: inside });
  assert.deepEqual({ kind: answer.reply.kind, status: answer.reply.status }, { kind: "ORG_KIND_CUSTOMER", status: "ORG_STATUS_READY" });
  const deeper = String(answer.reply.uid);
  assert.equal((await update(uid, { kind: "ORG_KIND_DEV" }, "kind")).code, 0);
  for (const each of [inside, deeper]) {
    const { kind, status, verified } = await get(each);
    assert.deepEqual({ kind, status, verified }, { kind: "ORG_KIND_DEV", status: "ORG_STATUS_READY", verified: false });
  }
  assert.deepEqual(violated(await create({ name: "own", kind: "ORG_KIND_INFRA" }, { parent: uid })), ["kind"]);
  assert.deepEqual(violated(await create({ name: "own.example", verified: true }, { parent: uid })), ["verified"]);
  assert.deepEqual(violated(await update(inside, { kind: "ORG_KIND_INFRA" }, "kind")), ["kind"]);
  assert.deepEqual(violated(await update(inside, { verified: true }, "verified")), ["verified"]);
  const list = await world.ok("iam.GroupsService/ListGroups", { uidp: { descendantsOf: uid } });
  assert.deepEqual(
    items(list, "groups").map(({ kind }) => kind),
    ["ORG_KIND_DEV", "ORG_KIND_DEV"],
  );
});

const command = async (...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> =>
  gantry(args, { env: { ...environment, GANTRY_DATA: folder } });

test("a suspended organization is closed to its members at once, on every server and protocol, except to the operator, until resumed", async () => {
  const uid = await organization();
  const elsewhere = await organization();
  const member = await person();
  const program = await createIdentity(world, uid, "ci", { issuer: "https://ci.example.com", subject: "s" });
  await bind(world, uid, member.uid, "owner");
  await bind(world, elsewhere, member.uid, "viewer");
  await bind(world, uid, program, "owner");
  const programToken = await world.token(program);
  const repo = String((await world.ok("registry.ReposService/CreateRepo", { parent: uid, repo: { name: "app" } })).uid);

  const everywhere = async (name: string, request: JsonObject, token: string): Promise<Answer[]> => {
    const answers: Answer[] = [];
    for (const each of [world, second])
      for (const protocol of protocols) answers.push(await each.call(name, request, { token, protocol, validateOnly: name.includes("Create") }));
    return answers;
  };
  const codesOf = async (name: string, request: JsonObject, token: string): Promise<number[]> =>
    (await everywhere(name, request, token)).map(({ code }) => code);
  const open = [0, 0, 0, 0];
  const shut = open.map(() => codes.PERMISSION_DENIED);
  const assertAll = async (wanted: number[]): Promise<void> => {
    for (const token of [member.token, programToken]) {
      assert.deepEqual(await codesOf("registry.ReposService/GetRepo", { uid: repo }, token), wanted);
      assert.deepEqual(await codesOf("registry.ReposService/CreateRepo", { parent: uid, repo: { name: "new" } }, token), wanted);
    }
    // A program of the organization cannot send any request.
    assert.deepEqual(await codesOf("registry.ReposService/ListRepos", {}, programToken), wanted);
    assert.deepEqual(await codesOf("iam.IdentitiesService/LookupIdentity", { issuer: "https://a.example", subject: "s" }, programToken), wanted);
  };
  await assertAll(open);

  const suspended = await command("suspend", uid);
  assert.equal(suspended.code, 0, suspended.stderr);
  assert.match(suspended.stdout, /is suspended/);
  await assertAll(shut);
  for (const answer of await everywhere("registry.ReposService/GetRepo", { uid: repo }, member.token))
    assert.equal(answer.message, "Permission denied: the organization is suspended");
  assert.deepEqual(await codesOf("iam.GroupsService/GetGroup", { uid: elsewhere }, member.token), open);
  for (const answer of await everywhere("iam.GroupsService/ListGroups", {}, member.token))
    assert.deepEqual(
      items(answer.reply, "groups").map((group) => group.uid),
      [elsewhere],
    );
  for (const protocol of protocols) {
    const exchanged = await world.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity: program }, { token: programToken, protocol });
    assert.equal(exchanged.code, codes.PERMISSION_DENIED);
    assert.match(exchanged.message, /suspended/);
  }
  const operator = await world.token();
  assert.deepEqual(await codesOf("registry.ReposService/GetRepo", { uid: repo }, operator), open);
  const shown = await get(uid);
  assert.deepEqual(
    [shown.status, (await get(String((await create({ name: "made meanwhile" }, { parent: uid })).reply.uid))).status],
    ["ORG_STATUS_SUSPENDED", "ORG_STATUS_SUSPENDED"],
  );

  const resumed = await command("resume", String(shown.name));
  assert.equal(resumed.code, 0, resumed.stderr);
  await assertAll(open);
  assert.equal((await get(uid)).status, "ORG_STATUS_READY");
});

test("the commands report a missing, unknown or ambiguous organization and a subgroup", async () => {
  const inside = String((await create({ name: "in it" }, { parent: world.organization })).reply.uid);
  const twins = [String((await create({ name: "twins" })).reply.uid), String((await create({ name: "other twins" })).reply.uid)];
  // The state from before names were unique.
  await asOwner(world.databaseUrl, "alter table groups disable trigger groups_renamed");
  assert.equal((await update(twins[1] ?? "", { name: "twins" }, "name")).code, 0);
  await asOwner(world.databaseUrl, "alter table groups enable trigger groups_renamed");
  for (const [args, said] of [
    [[], /one organization required/],
    [["nowhere.example"], /organization "nowhere.example" not found/],
    [[newRoot()], /not found/],
    [[inside], /is not an organization but a group in one/],
    [["twins"], /is ambiguous/],
    [["a", "b"], /one organization required/],
  ] as const) {
    const { code, stderr } = await command("suspend", ...args);
    // A missing or ambiguous organization is a usage error, not a server error.
    assert.equal(code, args.length === 1 ? 1 : 64);
    assert.match(stderr, said);
  }
});

test("a parent given by name is resolved among the caller's own groups, however many others share the name", async () => {
  const mine = await organization();
  const theirs = await organization();
  const owner = await person();
  await bind(world, mine, owner.uid, "owner");
  const wanted = String((await create({ name: "team" }, { parent: mine })).reply.uid);
  const now = new Date().toISOString();
  await world.server.application.services.store.write(async (write) => {
    const rows = await plant(write);
    for (let count = 0; count < 300; count++)
      await rows.query("insert into groups (uid, name, create_time, update_time) values ($1, 'team', $2, $2)", [newChild(newChild(theirs)), now]);
  });
  for (const protocol of protocols) {
    const answer = await create({ name: `below ${protocol}` }, { parent: "team", token: owner.token, protocol });
    assert.equal(answer.code, 0, answer.message);
    assert.ok(String(answer.reply.uid).startsWith(`${wanted}/`));
    assert.equal((await create({ name: `suffix ${protocol}` }, { parent: wanted.slice(-16), token: owner.token, protocol })).code, 0);
  }
});
