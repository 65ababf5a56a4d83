// The audit log: caller, operation, resource, origin and role binding of each change, refused requests and sign-ins, and detection of tampering.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { operatorUid } from "#base/operator.ts";
import { codes } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ownOrigin } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { type OutboxEvent, record } from "#outbox";
import { newRoot } from "#base/uid.ts";
import { entriesOf, tamper, verifyInSteps, verifyLogs } from "../audit.ts";
import { openOwners } from "../owner.ts";
import { openWorld, type World } from "../world.ts";
import { bind, createIdentity } from "./installation.ts";

let world: World;
let group: string;
let editor: string;
let editorBinding: string;

const identityAt = (place: string, name: string): Promise<string> =>
  createIdentity(world, place, name, { issuer: "https://issuer.example.com", subject: name });

const entries = (request: JsonObject = {}, token?: string): Promise<JsonObject[]> => entriesOf(world, request, token);

before(async () => {
  world = await openWorld();
  group = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "folder" } })).uid);
  editor = await identityAt(group, "editor");
  editorBinding = await bind(world, group, editor, "editor");
});
after(() => world.close());

for (const protocol of ["rest", "grpc"] as const) {
  test(`a change over ${protocol} has an entry with caller, operation, origin and role binding`, async () => {
    const token = await world.token(editor);
    const { reply, headers } = await world.call(
      "registry.ReposService/CreateRepo",
      { parent: group, repo: { name: `made-by-${protocol}` } },
      { protocol, token },
    );
    const [entry, ...more] = await entries({ subjects: [String(reply.uid)] });
    assert.equal(more.length, 0);
    assert.ok(entry);
    assert.equal(entry.callerUid, editor);
    assert.equal(entry.operation, "chainguard.platform.registry.v2.ReposService/CreateRepo");
    assert.equal(entry.type, "dev.chainguard.api.platform.registry.repo.created.v1");
    assert.equal(entry.code, "OK");
    assert.equal(entry.count, "1");
    assert.deepEqual(entry.bindingUids, [editorBinding]);
    assert.equal(entry.remoteAddress, "127.0.0.1");
    assert.equal(entry.requestId, headers["x-request-id"]);
    assert.match(String(entry.uid), new RegExp(`^${group}/[0-9a-f]{16}$`));
    const { data } =
      (
        ((await world.ok("gantry.events.v1.EventsService/ListEvents", { uidp: { childrenOf: group }, orderBy: "position desc", pageSize: 1 })).events ??
          []) as JsonObject[]
      )[0] ?? {};
    assert.match(String(data), new RegExp(String(reply.uid)));
    assert.deepEqual(await world.ok("gantry.audit.v1.AuditService/GetAuditEntry", { uid: String(entry.uid) }, { protocol }), entry);
  });
}

test("each binding that a change requires is named: for its resource, for delegated permissions, for a group's new child", async () => {
  const owner = await identityAt(group, "owner");
  const held = await bind(world, group, owner, "owner");
  const token = await world.token(owner);
  const { uid: child } = await world.ok("iam.GroupsService/CreateGroup", { parent: group, group: { name: "child" } }, { token });
  assert.deepEqual(
    (await entries({ subjects: [String(child)] })).map(({ bindingUids }) => bindingUids),
    [[held]],
  );
  const uploader = await bind(world, group, owner, "registry.push");
  const { uid: given } = await world.ok(
    "iam.RoleBindingsService/CreateRoleBinding",
    { parent: group, roleBinding: { identityUid: editor, roleUid: builtInRoleUid("registry.push") } },
    { token },
  );
  const [entry] = await entries({ subjects: [String(given)] });
  const named = texts(entry ?? {}, "bindingUids");
  assert.ok(named.includes(held));
  assert.ok(named.every((binding) => [held, uploader].includes(binding)));
});

test("a change by the operator needs and names no binding", async () => {
  const { uid } = await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "by the operator" } });
  const [entry] = await entries({ subjects: [String(uid)] });
  assert.equal(entry?.callerUid, operatorUid);
  assert.equal(entry?.bindingUids, undefined);
});

for (const protocol of ["rest", "grpc"] as const) {
  test(`a batch over ${protocol} has one entry that names all created or deleted rows`, async () => {
    const { store, clock, publicUrl } = world.server.application.services;
    const resources = Array.from({ length: 1_000 }, (_, index) => `${group}/${index.toString(16).padStart(16, "0")}`);
    const requestId = `batch over ${protocol}`;
    const event: OutboxEvent = {
      type: "dev.gantry.test.batch.v1",
      source: publicUrl,
      subject: group,
      group,
      audience: "customer",
      extensions: { group },
      actor: { subject: editor },
      bodyType: "",
      body: {},
      requestId,
      time: timestamp(clock()),
      auditContext: { operation: "batch", bindings: [editorBinding], origin: ownOrigin, resources },
    };
    await store.write(async (rows) => {
      await record(rows, event);
      await record(rows, { ...event, auditContext: { operation: "batch", bindings: [editorBinding], origin: ownOrigin } });
    });
    const [batch, single] = (await entries({ subjects: [group] })).filter((entry) => entry.requestId === requestId);
    assert.deepEqual(batch?.resourceUids, resources);
    assert.equal(single?.resourceUids, undefined, "an event of one row names it as its subject");
    assert.deepEqual(await world.ok("gantry.audit.v1.AuditService/GetAuditEntry", { uid: String(batch?.uid) }, { protocol }), batch);
    const { whole, lines } = await verifyLogs(world);
    assert.equal(whole, true, lines.join("\n"));
  });
}

test("invalid requests and reads have no entries", async () => {
  const count = async (): Promise<number> => (await entries()).length;
  const before = await count();
  assert.equal((await world.call("registry.ReposService/CreateRepo", { parent: group, repo: { name: "" } })).code, codes.INVALID_ARGUMENT);
  await world.ok("registry.ReposService/ListRepos", {});
  assert.equal(await count(), before);
});

for (const protocol of ["rest", "grpc"] as const)
  test(`a dry run over ${protocol} has an entry marked as such, and no entry of a change`, async () => {
    const token = await world.token(editor);
    const { headers } = await world.call(
      "registry.ReposService/CreateRepo",
      { parent: group, repo: { name: `rehearsed-${protocol}` } },
      { token, protocol, validateOnly: true },
    );
    const told = (await entries({ subjects: [group], callerUids: [editor] })).filter(({ requestId }) => requestId === headers["x-request-id"]);
    assert.deepEqual(
      told.map(({ type, code, operation, remoteAddress }) => [type, code, operation, remoteAddress]),
      [["dev.gantry.call.validated_only.v1", "OK", "chainguard.platform.registry.v2.ReposService/CreateRepo", "127.0.0.1"]],
    );
    assert.equal((await entries()).filter(({ requestId }) => requestId === headers["x-request-id"]).length, 1);
  });

test("a request without permission has an entry at the named resource with its caller, whether or not the resource exists", async () => {
  const token = await world.token(editor);
  for (const uid of [world.organization, `${group}/0000000000000000`]) {
    const answer = await world.call("iam.GroupsService/DeleteGroup", { uid }, { token });
    assert.equal(answer.code, codes.PERMISSION_DENIED);
    const [entry] = (await entries({ subjects: [uid], codes: ["PERMISSION_DENIED"] })).slice(-1);
    assert.equal(entry?.callerUid, editor);
    assert.equal(entry?.operation, "chainguard.platform.iam.v2.GroupsService/DeleteGroup");
    assert.equal(entry?.requestId, answer.headers["x-request-id"]);
    assert.equal(entry?.bindingUids, undefined);
  }
});

test("a refused request that names an unknown organization has an entry in the caller's organization", async () => {
  const nowhere = "f".repeat(40);
  assert.equal((await world.call("iam.GroupsService/DeleteGroup", { uid: nowhere }, { token: await world.token(editor) })).code, codes.PERMISSION_DENIED);
  const [entry] = await entries({ subjects: [nowhere] });
  assert.match(String(entry?.uid), new RegExp(`^${group}/`));
});

test("a caller who cannot list a group's identities and bindings sees none of its entries", async () => {
  const other = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "beside" } })).uid);
  const watcher = await identityAt(other, "watcher");
  await bind(world, other, watcher, "viewer");
  const puller = await identityAt(group, "puller");
  await bind(world, group, puller, "registry.pull");
  const seen = await entries({}, await world.token(watcher));
  assert.ok(seen.length > 0);
  assert.ok(seen.every(({ uid }) => String(uid).startsWith(`${other}/`)));
  assert.deepEqual(await entries({}, await world.token(puller)), []);
  const [theirs] = await entries({ uidp: { childrenOf: group } });
  const refused = await world.call("gantry.audit.v1.AuditService/GetAuditEntry", { uid: String(theirs?.uid) }, { token: await world.token(watcher) });
  const absent = await world.call("gantry.audit.v1.AuditService/GetAuditEntry", { uid: `${group}/ffffffffffffffff` }, { token: await world.token(watcher) });
  assert.deepEqual([refused.code, refused.message], [codes.PERMISSION_DENIED, absent.message]);
});

test("an owner verifies the organization's log in steps, with the conclusion of gantry audit verify", async () => {
  const token = await openOwners(world).token();
  const listed = await entries({}, token);
  const { reply, requests } = await verifyInSteps(world, group, { token, maxEntries: 7 });
  const [first, last] = [listed[0] ?? {}, listed.at(-1) ?? {}];
  const shown = ({ sequence, sealTime, hash }: JsonObject) => ({ sequence, sealTime, hash });
  assert.deepEqual(reply, {
    organizationUid: world.organization,
    state: "AUDIT_VERIFICATION_STATE_INTACT",
    entryCount: String(listed.length),
    firstEntry: shown(first),
    lastEntry: shown(last),
    endSequence: last.sequence,
    startTime: timestamp(world.clock.now),
  });
  assert.equal(requests, Math.ceil(listed.length / 7));
  const { lines } = await verifyLogs(world, { group: world.organization });
  assert.ok(lines[0]?.includes(`intact: ${listed.length} entries, the last is ${text(last, "sequence")} with hash ${text(last, "hash")}`), lines[0]);
  for (const maxEntries of [-1, 10_001]) {
    const { code } = await world.call("gantry.audit.v1.AuditService/VerifyAuditEntries", { uid: group, maxEntries }, { token });
    assert.equal(code, codes.INVALID_ARGUMENT);
  }
});

test("attack 395: a caller without the permissions in the whole organization learns nothing of its audit log by verifying it", async () => {
  const verify = async (uid: string, token: string) => {
    const { code, message } = await world.call("gantry.audit.v1.AuditService/VerifyAuditEntries", { uid }, { token });
    return { code, message };
  };
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "verified by nobody else" } }), "uid");
  const foreign = await openOwners(world).token(other);
  const denied = await verify(world.organization, foreign);
  assert.equal(denied.code, codes.PERMISSION_DENIED);
  assert.deepEqual(await verify(newRoot(), foreign), denied);
  // An owner below does not see how many entries the organization has.
  const below = await identityAt(group, "owner below");
  await bind(world, group, below, "owner");
  assert.deepEqual(await verify(group, await world.token(below)), denied);
});

test("lists filter by caller, operation, subject, code, time and number, and order by each", async () => {
  const all = await entries();
  assert.deepEqual(
    all.map(({ sequence }) => Number(sequence)).filter((_, index) => String(all[index]?.uid).startsWith(world.organization)),
    all.filter(({ uid }) => String(uid).startsWith(world.organization)).map((_, index) => index + 1),
  );
  assert.ok((await entries({ callerUids: [editor] })).every(({ callerUid }) => callerUid === editor));
  assert.ok((await entries({ codes: ["OK"] })).every(({ code }) => code === "OK"));
  assert.ok(
    (await entries({ operations: ["chainguard.platform.iam.v2.GroupsService/CreateGroup"] })).every(({ operation }) =>
      String(operation).endsWith("CreateGroup"),
    ),
  );
  assert.deepEqual((await entries({ afterSequence: "3", uidp: { descendantsOf: world.organization } })).map(({ sequence }) => sequence).slice(0, 2), [
    "4",
    "5",
  ]);
  const newest = (await world.ok("gantry.audit.v1.AuditService/ListAuditEntries", {})).auditEntries as JsonObject[];
  assert.deepEqual(
    [...newest]
      .map(({ createTime }) => createTime)
      .sort()
      .reverse(),
    newest.map(({ createTime }) => createTime),
  );
});

test("a list's total is exact below 10,000 entries and capped above", async () => {
  const { totalCount } = await world.ok("gantry.audit.v1.AuditService/ListAuditEntries", { pageSize: 1 });
  assert.equal(Number(totalCount), (await entries()).length);
  const { uid } = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "busy" } });
  await entries();
  await tamper(
    world,
    `insert into audit_entries select $1 || '/' || lpad(to_hex(n), 16, '0'), n, entry.create_time, entry.seal_time, entry.caller_uid, act,
       operation, subject, type, code, count, binding_uids,
    remote_address, user_agent, request_id, event_id, resource_uids, hash from generate_series(2, 10002) as n, (select * from audit_entries limit 1) as entry`,
    [String(uid)],
  );
  for (const filter of [{}, { codes: ["OK"] }]) {
    const many = await world.ok("gantry.audit.v1.AuditService/ListAuditEntries", { uidp: { descendantsOf: String(uid) }, pageSize: 1, ...filter });
    assert.equal(many.totalCount, "10000");
  }
});

test("refusals of one identity beyond a limit per minute are counted in one entry, as are most requests without a valid token", async () => {
  world.clock.now += 2 * limits.refusalsWindowMs;
  const busy = await identityAt(group, "busy");
  const token = await world.token(busy);
  const tries = limits.refusalsPerCallerMax + 25;
  await Promise.all(Array.from({ length: tries }, () => world.call("iam.GroupsService/DeleteGroup", { uid: group }, { token })));
  const told = await entries({ callerUids: [busy] });
  assert.equal(told.length, limits.refusalsPerCallerMax + 1);
  assert.equal(
    told.reduce((sum, { count }) => sum + Number(count), 0),
    tries,
  );
  const strangers = limits.refusalsUnknownMax + 40;
  const before = (await entries({ codes: ["UNAUTHENTICATED"] })).length;
  await Promise.all(Array.from({ length: strangers }, () => world.call("iam.GroupsService/DeleteGroup", { uid: group }, { token: "nobody's" })));
  const unknown = (await entries({ codes: ["UNAUTHENTICATED"] })).slice(before);
  assert.equal(unknown.length, limits.refusalsUnknownMax + 1);
  assert.equal(
    unknown.reduce((sum, { count }) => sum + Number(count), 0),
    strangers,
  );
  assert.ok(unknown.every(({ uid, callerUid }) => String(uid).startsWith(operatorUid) && callerUid === undefined));
});

test("the log of a deleted group remains", async () => {
  const gone = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "gone" } })).uid);
  const { uid } = await world.ok("registry.ReposService/CreateRepo", { parent: gone, repo: { name: "gone" } });
  await world.ok("registry.ReposService/DeleteRepo", { uid: String(uid) });
  await world.ok("iam.GroupsService/DeleteGroup", { uid: gone });
  assert.deepEqual(
    (await entries({ subjects: [gone, String(uid)] })).map(({ operation }) => String(operation).split("/")[1]),
    ["CreateGroup", "CreateRepo", "DeleteRepo", "DeleteGroup"],
  );
});
