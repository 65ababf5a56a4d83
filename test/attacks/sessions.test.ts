// Attacks on sessions and their revocation (docs/attacks.md, 256 to 262), over two servers on one database.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { registryToken } from "../registry-token.ts";
import { codeOf, openServers, operations, refreshCode, revokeToken, sessionsOf } from "../sessions.ts";
import { bind, createIdentity } from "../story/installation.ts";
import type { World } from "../world.ts";

let first: World;
let second: World;
let close: () => Promise<void>;
interface TestTenant {
  readonly organization: string;
  readonly idp: string;
  readonly owner: string;
}
let tenantA: TestTenant;
let tenantB: TestTenant;
let provider: FakeProvider;
let providerB: FakeProvider;

const openTenant = async (organization: string, from: FakeProvider): Promise<TestTenant> => {
  const idp = await registerProvider(first, from, { parent: organization });
  const identity = await createIdentity(first, organization, "owner", { issuer: "https://issuer.example.com", subject: organization });
  await bind(first, organization, identity, "owner");
  return { organization, idp, owner: await first.token(identity) };
};

before(async () => {
  ({ first, second, close } = await openServers());
  provider = await openProvider(() => first.clock.now);
  providerB = await openProvider(() => first.clock.now);
  tenantA = await openTenant(first.organization, provider);
  const made = await first.ok("iam.GroupsService/CreateGroup", { group: { name: "tenant-b" } });
  tenantB = await openTenant(text(made, "uid"), providerB);
});
after(async () => {
  await close?.();
  await provider?.close();
  await providerB?.close();
});

interface Arrived {
  readonly token: string;
  readonly refreshToken: string;
  readonly identity: string;
  readonly uid: string;
}

const arrive = async (sub: string, tenant = tenantA): Promise<Arrived> => {
  const from = tenant === tenantA ? provider : providerB;
  const { token, refreshToken, error } = await signIn(first, from, tenant.idp, { sub }, { create_refresh_token: "true" });
  assert.equal(error, "");
  const current = (await sessionsOf(first, token)).find((session) => session.current === true);
  return { token, refreshToken, identity: text(claimsOf(token), "sub"), uid: text(current ?? {}, "uid") };
};

const isAlive = async ({ token, refreshToken }: Arrived): Promise<void> => {
  for (const world of [first, second]) assert.equal(await codeOf(world, token), 0);
  assert.equal(await refreshCode(second, refreshToken), 0);
};

const codesOf = async (name: string, request: JsonObject, token: string): Promise<number[]> => [
  (await first.call(name, request, { token })).code,
  (await second.call(name, request, { token, protocol: "grpc" })).code,
];

test("attack 256: another user's session is not found by its uid, and is neither listed nor revoked", async () => {
  const [victim, attacker, ofB] = [await arrive("victim"), await arrive("attacker"), await arrive("attacker of B", tenantB)];
  for (const { token } of [attacker, ofB]) {
    assert.deepEqual(await codesOf(operations.revoke, { uid: victim.uid }, token), [5, 5]);
    const made = `${victim.uid.slice(0, -16)}${"0".repeat(16)}`;
    const [real, madeUp] = [victim.uid, made].map(async (uid) => (await first.call(operations.revoke, { uid }, { token })).message.replaceAll(uid, "UID"));
    assert.equal(await real, await madeUp, "a session that exists and one that does not are refused alike");
    const listed = await sessionsOf(second, token, operations.list, { uidp: { ids: [victim.uid] } });
    assert.deepEqual(listed, []);
    assert.ok((await sessionsOf(second, token)).every(({ uid }) => uid !== victim.uid));
  }
  await isAlive(victim);
});

test("attack 257: an administrator of one tenant cannot list or revoke sessions of another tenant's provider", async () => {
  const victim = await arrive("employee of A");
  // Bound in the attacker's organization too: the user's uid does not lead to sessions elsewhere.
  await bind(first, tenantB.organization, victim.identity, "viewer");
  assert.deepEqual(await codesOf(operations.listGroup, { group: tenantA.organization }, tenantB.owner), [7, 7]);
  assert.deepEqual(await codesOf(operations.listGroup, { group: tenantA.idp }, tenantB.owner), [7, 7]);
  assert.deepEqual(await codesOf(operations.revokeGroup, { uid: victim.uid }, tenantB.owner), [7, 7]);
  // A uid of the attacker's own provider with the digits of the victim's session.
  assert.deepEqual(await codesOf(operations.revokeGroup, { uid: `${tenantB.idp}/${victim.uid.slice(-16)}` }, tenantB.owner), [5, 5]);
  const listed = await sessionsOf(second, tenantB.owner, operations.listGroup, { group: tenantB.organization, identityUid: victim.identity });
  assert.deepEqual(listed, []);
  await isAlive(victim);
});

test("attack 257: a viewer of the organization cannot list or revoke others' sessions", async () => {
  const [victim, viewer] = [await arrive("victim of a viewer"), await arrive("viewer")];
  assert.deepEqual(await codesOf(operations.listGroup, { group: tenantA.organization }, viewer.token), [7, 7]);
  assert.deepEqual(await codesOf(operations.revokeGroup, { uid: victim.uid }, viewer.token), [7, 7]);
  await isAlive(victim);
});

test("attack 258: an organization sees a sign-in but no later use, so it learns nothing of activity elsewhere", async () => {
  const person = await arrive("busy elsewhere");
  const seen = async (): Promise<unknown> => {
    const request = { group: tenantA.organization, identityUid: person.identity };
    const reply = await first.ok(operations.listGroup, request, { token: tenantA.owner });
    return { ...reply, nextPageToken: "" };
  };
  const before = await seen();
  first.clock.now += 3 * 24 * 60 * 60 * 1000;
  second.clock.now = first.clock.now;
  assert.equal(await refreshCode(second, person.refreshToken), 0);
  // The owner's own token has expired meanwhile.
  const identity = text(claimsOf(tenantA.owner), "sub");
  tenantA = { ...tenantA, owner: await first.token(identity) };
  tenantB = { ...tenantB, owner: await first.token(text(claimsOf(tenantB.owner), "sub")) };
  assert.deepEqual(await seen(), before);
  const byUse = await first.call(operations.listGroup, { group: tenantA.organization, orderBy: "last_use_time" }, { token: tenantA.owner });
  assert.equal(byUse.code, 3, "no order by what is not shown");
});

test("attack 258: the event of a revocation reveals nothing of the caller's sign-in through another organization", async () => {
  const victim = await arrive("person of two");
  // A token of the same user without a session: its origin is not shown to the organization.
  const act = { iss: "https://other.example.com", sub: "person", email: "person@other.example.com" };
  const stranger = await first.server.application.services.authn.mint({ uid: victim.identity, audience: [first.url], act });
  await first.ok(operations.revoke, { uid: victim.uid }, { token: stranger });
  const rows = await first.server.application.services.store.read.query(
    "select data::jsonb #> '{actor}', data::jsonb -> 'body' from outbox where subject = $1 and type = 'dev.gantry.sessions.session.revoked.v1'",
    [victim.uid],
  );
  assert.deepEqual(JSON.parse(rows[0]?.[0] ?? "{}"), { subject: victim.identity });
});

test("attack 259: the revocation endpoint responds alike to every token, and a forged one revokes nothing", async () => {
  const victim = await arrive("victim of RFC 7009");
  const { id } = JSON.parse(Buffer.from(victim.refreshToken, "base64").toString("utf8")) as { id: string };
  const session = text(claimsOf(victim.token), "gantry_grant");
  const [header = "", payload = ""] = victim.token.split(".");
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64");
  const tokens = [
    "nothing",
    "a.b.c",
    `${header}.${payload}.AAAA`,
    encode({ exp: 1, id: "0".repeat(32), secret: "made up" }),
    // With data visible in the access token: no family of a loopback sign-in has the ID of its session.
    encode({ exp: 1, id: session, secret: "made up" }),
    encode({ exp: 1, id: "\u0000", secret: "x" }),
    await first.token(victim.identity),
    tenantB.owner,
  ];
  assert.notEqual(session, id);
  for (const token of tokens) assert.deepEqual(await revokeToken(first, token), [200, "{}"]);
  await isAlive(victim);
  assert.deepEqual((await revokeToken(first, ""))[0], 400);
});

test("attack 259: a token for another audience, which others can see, signs no user out", async () => {
  const victim = await arrive("user of a registry");
  const shown: string[] = [await registryToken(first.url, victim.token)];
  // The API accepts its host as an audience, and registries see tokens for that host.
  for (const audience of ["https://other.example.com", new URL(first.url).host]) {
    const { reply } = await first.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { aud: [audience] }, { token: victim.token });
    shown.push(text(reply, "token"));
  }
  for (const token of shown) {
    assert.match(token, /^ey/);
    assert.deepEqual(await revokeToken(first, token), [200, "{}"]);
  }
  await isAlive(victim);
});

test("attack 260: the revocation endpoint is rate-limited by address", async () => {
  const statuses = new Set<number>();
  for (let at = 0; at < limits.exchangesPerMinute + 5; at++) statuses.add((await revokeToken(second, "nothing"))[0]);
  second.clock.now += 60_000;
  first.clock.now = second.clock.now;
  assert.deepEqual([...statuses].sort(), [200, 429]);
});

test("attack 261: a narrowed token cannot list or revoke sessions", async () => {
  const victim = await arrive("holder of a narrowed token");
  for (const narrowing of [{ capabilities: ["groups.list"] }, { scopes: [tenantA.organization] }]) {
    const token = await first.token(victim.identity, narrowing);
    for (const [name, request] of [
      [operations.list, {}],
      [operations.revoke, { uid: victim.uid }],
      [operations.revokeAll, {}],
    ] as const)
      assert.deepEqual(await codesOf(name, request, token), [7, 7], name);
  }
  await isAlive(victim);
});

test("attack 262: a token of a revoked session cannot be exchanged, and tokens derived from it stop working", async () => {
  const victim = await arrive("thief's victim");
  const exchange = "chainguard.platform.oidc.SecurityTokenService/Exchange";
  const basic = Buffer.from(`_token:${victim.token}`).toString("base64");
  const askRegistry = async (): Promise<string> => {
    const response = await fetch(`${second.url}/v2/token`, { headers: { authorization: `Basic ${basic}` } });
    return response.status === 200 ? text((await response.json()) as JsonObject, "token") : "";
  };
  const made = (await second.ok(exchange, {}, { token: victim.token })) as JsonObject;
  const exchanged = text(made, "token") || text(part(made, "token"), "token");
  const registry = await askRegistry();
  assert.deepEqual([await codeOf(second, exchanged), registry !== ""], [0, true]);
  const ping = async (token: string): Promise<number> => (await fetch(`${second.url}/v2/`, { headers: { authorization: `Bearer ${token}` } })).status;
  assert.equal(await ping(registry), 200);
  await revokeToken(first, victim.token);
  for (const world of [first, second]) assert.equal(await codeOf(world, exchanged), 16);
  assert.equal(await ping(registry), 401);
  assert.equal((await second.call(exchange, { aud: ["https://other.example.com"] }, { token: victim.token })).code, 16);
  const after = await askRegistry();
  if (after !== "") assert.equal(await ping(after), 401);
});
