// Permission changes take effect immediately on every server (decisions: Access). Two servers with separate caches share a database, and every
// change applies to the next request on both.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { registerPerson } from "../../server/application/person.ts";
import { type Answer, callOver } from "../client.ts";
import { freshDatabase } from "../database.ts";
import { oneOrAll } from "../length.ts";
import { nonEmpty } from "../samples.ts";
import { openWorld } from "../world.ts";
import {
  everyCapabilityBut,
  folder,
  hasSafeWrites,
  protocols,
  protocolsOf,
  type Holder,
  isBesideOpen,
  isList,
  hidesRows,
  openStage,
  roleMessage,
  rowsOf,
  shownMessage,
  symbolsOf,
  uidsOf,
} from "./stage.ts";

const database = await freshDatabase();
const secrets = await mkdtemp(join(tmpdir(), "gantry-secret-"));
await writeFile(join(secrets, "key"), randomBytes(32).toString("base64"), { mode: 0o600 });
const shared = {
  DATABASE_URL: database.url,
  GANTRY_SECRET_KEY_FILE: join(secrets, "key"),
  GANTRY_PUBLIC_URL: "http://gantry.example.test",
  GANTRY_BLOBS: join(secrets, "blobs"),
};
const stage = await openStage(shared);
const second = await openWorld(shared);
after(async () => {
  await second.close();
  await stage.close();
  await database.drop();
  await rm(secrets, { recursive: true });
});

const { world } = stage;
const place = await folder(stage);
const named = (rpc: string): MethodFact =>
  nonEmpty(
    methods.filter((method) => method.rpc === rpc),
    rpc,
  )[0] ?? assert.fail(rpc);

/** Sends the request to both servers, in a long run over both protocols. Writes are dry runs, except in the OCI protocol, which has none. */
const everywhere = async (method: MethodFact, request: JsonObject, { token }: Holder): Promise<Answer[]> => {
  const answers: Answer[] = [];
  const isTried = method.writes && hasSafeWrites(method);
  for (const url of [world.url, second.url]) {
    for (const protocol of oneOrAll(protocolsOf(method))) {
      const asked = method.writes && !isTried ? await stage.request(method, { place }) : request;
      answers.push(await callOver(protocol, url, method.name, asked, { token, validateOnly: isTried }));
    }
  }
  return answers;
};

const allowed = (method: MethodFact, answer: Answer, uid: string): boolean => {
  if (!hidesRows(method)) return answer.code === 0;
  return isList(method) ? uidsOf(method, answer.reply).includes(uid) : rowsOf(method, answer.reply).length > 0;
};

const assertEverywhere = async (method: MethodFact, request: JsonObject, holder: Holder, wanted: boolean, uid: string, when: string): Promise<void> => {
  const answers = await everywhere(method, request, holder);
  assert.deepEqual(
    answers.map((answer) => allowed(method, answer, uid)),
    answers.map(() => wanted),
    `${when}: ${answers.map(({ code, message }) => `${code} ${message}`).join("; ")}`,
  );
  if (!wanted && !hidesRows(method)) assert.ok(answers.every(({ code }) => code === codes.PERMISSION_DENIED || code === codes.NOT_FOUND));
};

/** Returns the uid that a list must show, or an empty text. */
const target = async (method: MethodFact): Promise<string> => {
  const maker = methods.find(({ service, rpc }) => service === method.service && rpc.startsWith("Create"));
  const message = maker?.output.name ?? shownMessage(method)?.name;
  return hidesRows(method) && message !== undefined ? text(await stage.make(message, { place }), "uid") : "";
};

const asked = nonEmpty(
  methods.filter(
    // The catalog is empty for strangers (test/attacks/catalog.test.ts).
    (method) =>
      stage.answers(method) &&
      !method.open &&
      !isBesideOpen(method) &&
      method.capabilities.length > 0 &&
      !method.input.byName.has("digest") &&
      method.rpc !== "ListCatalog",
  ),
  "operation with capabilities",
);

for (const method of asked) {
  test(`${method.name}: a revoked binding, a narrowed role and a new binding take effect on the next request, on both servers`, async () => {
    const role = text(await stage.make(roleMessage, { capabilities: everyCapabilityBut("") }), "uid");
    const holder = await stage.stranger(world.organization);
    const uid = await target(method);
    const sample = await stage.request(method, { place, capabilities: method.capabilities });
    const request = hidesRows(method)
      ? { ...(isList(method) ? {} : sample), uidp: { descendantsOf: place, ...(isList(method) ? { ids: [uid] } : {}) } }
      : sample;
    await assertEverywhere(method, request, holder, false, uid, "before any binding");
    const group = stage.needsAt(method, place);
    const binding = await stage.bind(group, holder.uid, role);
    await assertEverywhere(method, request, holder, true, uid, "bound on the first server");
    const revoked = await callOver("rest", second.url, named("DeleteRoleBinding").name, { uid: binding }, { token: await stage.owner() });
    assert.equal(revoked.code, 0, revoked.message);
    await assertEverywhere(method, request, holder, false, uid, "revoked on the second server");
    await stage.bind(group, holder.uid, role);
    await assertEverywhere(method, request, holder, true, uid, "bound anew");
    const capabilities = symbolsOf(everyCapabilityBut(method.capabilities[0] ?? ""));
    // Only the operator can grant some of the role's capabilities.
    await world.ok(named("UpdateRole").name, { role: { uid: role, name: "shrunk", capabilities } }, { token: await stage.operator() });
    await assertEverywhere(method, request, holder, false, uid, "the role lost the capability");
  });
}

const get = named("GetRepo");

test("constant permission changes block no other caller's reads and writes", async () => {
  const role = text(await stage.make(roleMessage, { capabilities: ["repo.list"] }), "uid");
  const busy = await stage.stranger(world.organization);
  const reader = await stage.holder(everyCapabilityBut(""), world.organization);
  const [list, create] = [named("ListRepos"), named("CreateRepo")];
  const requests = await Promise.all(Array.from({ length: 12 }, () => stage.request(create, { place })));
  let changing = true;
  const churn = (async (): Promise<void> => {
    while (changing) await world.ok(named("DeleteRoleBinding").name, { uid: await stage.bind(place, busy.uid, role) });
  })();
  try {
    for (let round = 0; round < 12; round++) {
      const answers = await Promise.all(
        [world.url, second.url].flatMap((url) => [
          ...Array.from({ length: 4 }, () => callOver("rest", url, list.name, { pageSize: 1 }, { token: reader.token })),
          callOver("grpc", url, create.name, requests[round] ?? {}, { token: reader.token, validateOnly: true }),
        ]),
      );
      for (const { code, message } of answers) assert.equal(code, 0, message);
    }
  } finally {
    changing = false;
    await churn;
  }
});

test("the token of a deleted identity is UNAUTHENTICATED from the next request on, on both servers", async () => {
  const holder = await stage.holder(["repo.list"], place);
  const request = await stage.request(get, { place });
  await assertEverywhere(get, request, holder, true, "", "before");
  await world.ok(named("DeleteIdentity").name, { uid: holder.uid });
  for (const answer of await everywhere(get, request, holder)) assert.equal(answer.code, codes.UNAUTHENTICATED, answer.message);
  for (const answer of await everywhere(named("ListRepos"), {}, holder)) assert.equal(answer.code, codes.UNAUTHENTICATED, answer.message);
  for (const answer of await everywhere(named("LookupIdentity"), { issuer: "https://issuer.example.com", subject: "s" }, holder))
    assert.equal(answer.code, codes.UNAUTHENTICATED);
});

test("a user's permissions follow the same rule, in each organization separately", async () => {
  const uid = await registerPerson(world.server.application.kernel, {
    issuer: "https://people.example.com",
    subject: "p1",
    email: "p1@example.com",
    name: "",
  });
  const person: Holder = { uid, token: await world.token(uid) };
  const role = text(await stage.make(roleMessage, { capabilities: ["repo.list", "identity.list"] }), "uid");
  const request = await stage.request(get, { place });
  await assertEverywhere(get, request, person, false, "", "before");
  const binding = await stage.bind(place, uid, role);
  await stage.join(person, place);
  await assertEverywhere(get, request, person, true, "", "bound");
  await second.ok(named("DeleteRoleBinding").name, { uid: binding }, { token: await stage.owner() });
  await assertEverywhere(get, request, person, false, "", "revoked");
});

test("a user is visible only to themselves and to callers with identity.list in an organization that binds them", async () => {
  const uid = await registerPerson(world.server.application.kernel, {
    issuer: "https://people.example.com",
    subject: "p2",
    email: "p2@example.com",
    name: "",
  });
  const getIdentity = named("GetIdentity");
  const list = named("ListIdentities");
  const self: Holder = { uid, token: await world.token(uid) };
  const lister = await stage.holder(["identity.list"], place);
  const beside = await stage.holder(["identity.list"], await folder(stage));
  const seenBy = async (holder: Holder): Promise<boolean[]> => {
    const got = await everywhere(getIdentity, { uid }, holder);
    for (const { code } of got) assert.ok(code === 0 || code === codes.PERMISSION_DENIED);
    const listed = await everywhere(list, { pageSize: 200 }, holder);
    const seen = [...got.map(({ code }) => code === 0), ...listed.map(({ reply }) => uidsOf(list, reply).includes(uid))];
    return [...new Set(seen)];
  };
  const all = (wanted: boolean): boolean[] => [wanted];
  assert.deepEqual(await seenBy(self), all(true));
  assert.deepEqual(await seenBy(lister), all(false));
  const binding = await stage.bind(await folder(stage, place), uid, text(await stage.make(roleMessage, { capabilities: ["repo.list"] }), "uid"));
  await stage.join(self, place);
  assert.deepEqual(await seenBy(lister), all(true));
  assert.deepEqual(await seenBy(beside), all(false));
  await world.ok(named("DeleteRoleBinding").name, { uid: binding });
  assert.deepEqual(await seenBy(lister), all(false));
  assert.deepEqual(await seenBy(self), all(true));
});

test("granting requires every granted capability: for bindings, batches, roles and the identity's own keys", async () => {
  const granter = await stage.holder(["role_bindings.create", "role_bindings.update", "roles.create", "roles.update", "identity.update", "repo.list"], place);
  const tooMuch = text(await stage.make(roleMessage, { capabilities: ["repo.list", "repo.delete"] }), "uid");
  const enough = text(await stage.make(roleMessage, { capabilities: ["repo.list"] }), "uid");
  const mine = await stage.stranger(world.organization);
  const strong = text(await stage.make("chainguard.platform.iam.v2.Identity", { place, parent: place }), "uid");
  await stage.bind(place, strong, tooMuch);
  const binding = await stage.bind(place, mine.uid, enough);
  const ownRole = text(await stage.make(roleMessage, { place, parent: place, capabilities: ["repo.list"] }), "uid");
  const symbols = symbolsOf(["repo.list", "repo.delete"]);
  const before = await stage.fingerprint();
  const refused: [string, JsonObject][] = [
    ["CreateRoleBinding", { parent: place, roleBinding: { identityUid: mine.uid, roleUid: tooMuch } }],
    [
      "BatchCreateRoleBindings",
      {
        parent: place,
        requests: [{ roleBinding: { identityUid: granter.uid, roleUid: enough } }, { roleBinding: { identityUid: mine.uid, roleUid: tooMuch } }],
      },
    ],
    ["UpdateRoleBinding", { roleBinding: { uid: binding, roleUid: tooMuch } }],
    ["CreateRole", { parent: place, role: { name: "too much", capabilities: symbols } }],
    ["UpdateRole", { role: { uid: ownRole, capabilities: symbols } }],
    ["UpdateIdentity", { identity: { uid: strong, claimMatch: { issuer: "https://mine.example.com", subject: "me" } } }],
  ];
  for (const [rpc, request] of refused) {
    for (const protocol of protocols) {
      const answer = await callOver(protocol, world.url, named(rpc).name, request, { token: granter.token });
      assert.equal(answer.code, codes.PERMISSION_DENIED, `${rpc}: ${answer.message}`);
    }
  }
  assert.equal(await stage.fingerprint(), before);
  for (const [rpc, request] of [
    ["CreateRoleBinding", { parent: place, roleBinding: { identityUid: granter.uid, roleUid: enough } }],
    ["UpdateIdentity", { identity: { uid: strong, name: "renamed" } }],
  ] as const) {
    const answer = await callOver("rest", world.url, named(rpc).name, request, { token: granter.token });
    assert.equal(answer.code, 0, `${rpc}: ${answer.message}`);
  }
});
