// The lifecycle of an identity provider's SCIM token (resources: SCIM token).

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import type { Answer, Protocol } from "../client.ts";
import { openWorld } from "../world.ts";

const world = await openWorld();
after(() => world.close());

const protocols: readonly Protocol[] = ["rest", "grpc"];
const { organization } = world;
const service = "iam.IdentityProvidersService";
const hour = 3_600_000;
const day = 24 * hour;

const provider = async (parent = organization): Promise<string> =>
  text(
    await world.ok(`${service}/CreateIdentityProvider`, {
      parent,
      identityProvider: {
        name: "corporate",
        defaultRole: builtInRoleUid("viewer"),
        oidc: { issuer: "https://login.example.com", clientId: "gantry", pkceEnabled: true },
      },
    }),
    "uid",
  );

const call = (rpc: string, identityProviderUid: string, request: JsonObject = {}, protocol: Protocol = "rest"): Promise<Answer> =>
  world.call(`${service}/${rpc}`, { identityProviderUid, ...request }, { protocol });

const done = async (rpc: string, uid: string, request: JsonObject = {}, protocol: Protocol = "rest"): Promise<JsonObject> => {
  const { code, reply, message } = await call(rpc, uid, request, protocol);
  assert.equal(code, 0, `${rpc}: ${message}`);
  return reply;
};

const scimOf = async (uid: string): Promise<JsonObject> => part(await world.ok(`${service}/GetIdentityProvider`, { uid }), "scim");
const etagOf = async (uid: string): Promise<string> => text(await scimOf(uid), "etag");
const stateOf = async (uid: string): Promise<string> => text(await scimOf(uid), "credentialState").replace("CREDENTIAL_STATE_", "");
const at = (laterMs: number): string => timestamp(world.clock.now + laterMs);

for (const protocol of protocols) {
  test(`over ${protocol} a token is created, replaced, revoked and switched, and every response has the next ETag`, async () => {
    const uid = await provider();
    const etags = [await etagOf(uid)];
    assert.equal(await stateOf(uid), "NOT_ISSUED");
    const first = await done("GenerateScimToken", uid, {}, protocol);
    assert.match(text(first, "token"), /^cgscim_[0-9a-f]{64}$/);
    assert.equal(first.identityProviderUid, uid);
    assert.equal(first.endpointUrl, `${world.url}/scim/v2/${uid}`);
    assert.equal(first.expireTime, at(365 * day));
    etags.push(text(first, "etag"));
    assert.deepEqual(await scimOf(uid), {
      enabled: false,
      endpointUrl: first.endpointUrl,
      tokenExpireTime: first.expireTime,
      credentialState: "CREDENTIAL_STATE_LIVE",
      etag: first.etag,
    });
    const second = await done("RegenerateScimToken", uid, { etag: text(first, "etag"), neverExpires: true }, protocol);
    assert.notEqual(second.token, first.token);
    assert.deepEqual([second.expireTime, second.previousTokenExpireTime, second.requestedOverlap], [undefined, at(hour), "3600s"]);
    etags.push(text(second, "etag"));
    assert.equal(await stateOf(uid), "ROTATING");
    const off = await done("SetScimEnabled", uid, { enabled: false, etag: text(second, "etag") }, protocol);
    etags.push(text(off, "etag"));
    const ended = await done("RevokeScimToken", uid, {}, protocol);
    assert.deepEqual([ended.identityProviderUid, ended.enabled ?? false, ended.revokeTime], [uid, false, at(0)]);
    etags.push(text(ended, "etag"));
    assert.deepEqual(await scimOf(uid), { enabled: false, endpointUrl: first.endpointUrl, credentialState: "CREDENTIAL_STATE_REVOKED", etag: ended.etag });
    const third = await done("RegenerateScimToken", uid, { etag: text(ended, "etag"), overlap: "600s" }, protocol);
    assert.equal(third.previousTokenExpireTime, undefined, "a dead token stays dead");
    etags.push(text(third, "etag"));
    assert.equal(new Set(etags).size, etags.length);
    assert.equal(await etagOf(uid), third.etag);
    const told = (await world.events())
      .filter(({ subject, type }) => subject === uid && type.includes("scim"))
      .map(({ type, group, body }) => [type.split("identity_providers.")[1], group, "token" in body]);
    assert.deepEqual(
      told,
      ["scim_token.generated.v1", "scim_token.regenerated.v1", "scim_enabled.updated.v1", "scim_token.revoked.v1", "scim_token.regenerated.v1"].map((type) => [
        type,
        organization,
        false,
      ]),
    );
  });

  test(`over ${protocol} a first token is created once, later ones replace it, and each requires the current ETag`, async () => {
    const uid = await provider();
    assert.equal((await call("RegenerateScimToken", uid, { etag: await etagOf(uid) }, protocol)).code, codes.NOT_FOUND);
    await done("GenerateScimToken", uid, {}, protocol);
    assert.equal((await call("GenerateScimToken", uid, {}, protocol)).code, codes.FAILED_PRECONDITION);
    for (const [rpc, request] of [
      ["RegenerateScimToken", {}],
      ["SetScimEnabled", { enabled: false }],
    ] as const) {
      const before = await scimOf(uid);
      assert.equal((await call(rpc, uid, { ...request, etag: "0" }, protocol)).code, codes.ABORTED);
      assert.equal((await call(rpc, uid, request, protocol)).code, codes.INVALID_ARGUMENT);
      assert.deepEqual(await scimOf(uid), before);
    }
    await done("RevokeScimToken", uid, {}, protocol);
    assert.equal((await call("GenerateScimToken", uid, {}, protocol)).code, codes.FAILED_PRECONDITION, "a revoked token was one");
    const absent = `${organization}/0123456789abcdef`;
    const calls: readonly [string, JsonObject][] = [
      ["GenerateScimToken", {}],
      ["RegenerateScimToken", { etag: "1" }],
      ["RevokeScimToken", {}],
      ["SetScimEnabled", { etag: "1", enabled: true }],
    ];
    for (const [rpc, request] of calls) assert.equal((await call(rpc, absent, request, protocol)).code, codes.NOT_FOUND, rpc);
  });
}

test("a token expires after a year by default, two years at most, or never", async () => {
  for (const rpc of ["GenerateScimToken", "RegenerateScimToken"]) {
    const fresh = async (): Promise<{ uid: string; base: JsonObject }> => {
      const uid = await provider();
      return { uid, base: rpc === "GenerateScimToken" ? {} : { etag: text(await done("GenerateScimToken", uid), "etag") } };
    };
    for (const expireTime of [at(1000), at(2 * 365 * day)]) {
      const { uid, base } = await fresh();
      assert.equal((await done(rpc, uid, { ...base, expireTime })).expireTime, expireTime);
    }
    const { uid, base } = await fresh();
    for (const request of [{ expireTime: at(0) }, { expireTime: at(-1000) }, { expireTime: at(2 * 366 * day) }, { expireTime: at(day), neverExpires: true }]) {
      const { code, message } = await call(rpc, uid, { ...base, ...request });
      assert.equal(code, codes.INVALID_ARGUMENT);
      assert.match(message, /expireTime/);
    }
    assert.equal((await done(rpc, uid, { ...base, neverExpires: true })).expireTime, undefined);
  }
});

test("the old token works for the overlap, at most a day, and never beyond either token's expiry", async () => {
  const ways: readonly [what: string, first: JsonObject, request: JsonObject, endsInMs: number | undefined][] = [
    ["an hour when nothing is said", {}, {}, hour],
    ["not at all", {}, { overlap: "0s" }, undefined],
    ["as long as asked", {}, { overlap: "7200s" }, 2 * hour],
    ["a day at most", {}, { overlap: "172800s" }, day],
    ["a day at most, whatever is asked", {}, { overlap: "315576000000s" }, day],
    ["until its own end", { expireTime: at(1000) }, { overlap: "7200s" }, 1000],
    ["until the new one's end", {}, { overlap: "7200s", expireTime: at(2000) }, 2000],
    ["not at all where it has ended already", { expireTime: at(10) }, { overlap: "7200s" }, undefined],
  ];
  for (const [what, first, request, endsInMs] of ways) {
    const uid = await provider();
    const { etag } = await done("GenerateScimToken", uid, first);
    const startMs = world.clock.now;
    if (what.includes("already")) world.clock.now += 10;
    for (const protocol of ["grpc", "rest"] as const) {
      // The first is a dry run.
      const answer = await world.call(
        `${service}/RegenerateScimToken`,
        { identityProviderUid: uid, etag: etag ?? "", ...request },
        { protocol, validateOnly: protocol === "grpc" },
      );
      assert.equal(answer.code, 0, `${what}: ${answer.message}`);
      assert.equal(answer.reply.previousTokenExpireTime, endsInMs === undefined ? undefined : at(endsInMs), what);
      assert.equal(answer.reply.requestedOverlap, request.overlap ?? "3600s");
    }
    assert.equal(await stateOf(uid), endsInMs === undefined ? "LIVE" : "ROTATING", what);
    if (endsInMs !== undefined) {
      world.clock.now += endsInMs;
      const scim = await scimOf(uid);
      assert.equal(scim.previousTokenExpireTime, undefined, `${what}: afterwards nothing of it is left`);
      assert.equal(scim.credentialState, request.expireTime === undefined ? "CREDENTIAL_STATE_LIVE" : "CREDENTIAL_STATE_EXPIRED");
    }
    world.clock.now = startMs;
  }
  const uid = await provider();
  const { etag } = await done("GenerateScimToken", uid);
  for (const protocol of protocols)
    assert.equal((await call("RegenerateScimToken", uid, { etag: etag ?? "", overlap: "-1s" }, protocol)).code, codes.INVALID_ARGUMENT);
  assert.equal((await call("RegenerateScimToken", uid, { etag: etag ?? "", overlap: "999999999999s" }, "rest")).code, codes.INVALID_ARGUMENT);
});

test("of concurrent replacements with one ETag exactly one succeeds", async () => {
  const uid = await provider();
  const { etag } = await done("GenerateScimToken", uid);
  const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => call("RegenerateScimToken", uid, { etag: etag ?? "" }, protocols[index % 2])));
  assert.deepEqual(
    answers.map(({ code }) => code).sort((one, other) => one - other),
    [0, ...Array.from({ length: 9 }, () => codes.ABORTED)],
  );
  const fresh = await provider();
  const generated = await Promise.all(Array.from({ length: 10 }, (_, index) => call("GenerateScimToken", fresh, {}, protocols[index % 2])));
  assert.deepEqual(
    generated.map(({ code }) => code).sort((one, other) => one - other),
    [0, ...Array.from({ length: 9 }, () => codes.FAILED_PRECONDITION)],
  );
});

test("only a token's hash is stored, and only the creating response contains the token", async () => {
  const uid = await provider();
  const { token, etag } = await done("GenerateScimToken", uid);
  const next = await done("RegenerateScimToken", uid, { etag: etag ?? "" });
  const rows = await world.server.application.services.store.read.query(
    "select scim_token_hash, scim_previous_token_hash from identity_providers where uid = $1",
    [uid],
  );
  assert.deepEqual(rows, [[next.token, token].map((each) => createHash("sha256").update(String(each)).digest("hex"))]);
  const listed = await world.ok(`${service}/ListIdentityProviders`, { uidp: { ids: [uid] } });
  assert.equal((listed.identityProviders as JsonObject[])[0]?.scim, undefined, "a list says nothing of SCIM");
});

test("enabling SCIM requires two identities currently bound as owners of the organization; disabling requires none", async () => {
  const root = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "another organization" } }), "uid");
  const team = text(await world.ok("iam.GroupsService/CreateGroup", { parent: root, group: { name: "team" } }), "uid");
  const uid = await provider(team);
  const identity = async (name: string): Promise<string> =>
    text(
      await world.ok("iam.IdentitiesService/CreateIdentity", {
        parent: root,
        identity: { name, claimMatch: { issuer: "https://ci.example.com", subject: name } },
      }),
      "uid",
    );
  const bind = async (parent: string, identityUid: string, roleUid: string, more: JsonObject = {}): Promise<string> =>
    text(await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid, ...more } }), "uid");
  const owner = builtInRoleUid("owner");
  const [first, second, third] = [await identity("a"), await identity("b"), await identity("c")];
  const turn = async (enabled: boolean, protocol: Protocol = "rest"): Promise<number> =>
    (await call("SetScimEnabled", uid, { enabled, etag: await etagOf(uid) }, protocol)).code;
  await bind(root, first, owner);
  await bind(root, second, builtInRoleUid("editor"));
  await bind(team, second, owner);
  const soon = at(hour);
  const ending = await bind(root, third, owner, { expireTime: soon });
  const { capabilities } = await world.ok("iam.RolesService/GetRole", { uid: owner });
  const same = text(await world.ok("iam.RolesService/CreateRole", { parent: root, role: { name: "as much", capabilities: capabilities ?? [] } }), "uid");
  await bind(root, first, same);
  for (const protocol of protocols) assert.equal(await turn(true, protocol), 0, "two owners, one for an hour");
  assert.equal((await scimOf(uid)).enabled, true);
  world.clock.now += hour;
  for (const protocol of protocols) assert.equal(await turn(true, protocol), codes.FAILED_PRECONDITION, "one whose time has come, and one owner twice");
  assert.equal(await turn(false), 0);
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: ending });
  await bind(root, third, same);
  assert.equal(await turn(true), 0, "whatever the role is called");
});
