// Refresh tokens (authentication.md: 3.2): each use rotates the token, and reuse revokes its family.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isObject, type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Answer } from "../client.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { openWorld, type World } from "../world.ts";

const refreshName = "chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken";

let world: World;
let provider: FakeProvider;
let idp: string;

before(async () => {
  world = await openWorld();
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
});
after(async () => {
  await world?.close();
  await provider?.close();
});

const arrive = async (sub: string, parameters: Readonly<Record<string, string>> = {}): Promise<string> => {
  const { refreshToken, error } = await signIn(world, provider, idp, { sub }, { create_refresh_token: "true", ...parameters });
  assert.equal(error, "");
  return refreshToken;
};

const refresh = (token: string, request: JsonObject = {}, protocol: "rest" | "grpc" = "rest"): Promise<Answer> =>
  world.call(refreshName, request, { token, protocol });

const next = ({ reply }: Answer): string => text(part(reply, "refreshToken"), "token");
const access = ({ reply }: Answer): string => text(part(reply, "token"), "token");

const ended = { code: 16, message: "the refresh token has expired, was used before or was revoked: sign in again" };
const refused = ({ code, message }: Answer): { code: number; message: string } => ({ code, message });

const payloadOf = (token: string): JsonObject => {
  const value: unknown = JSON.parse(Buffer.from(token, "base64").toString("utf8"));
  assert.ok(isObject(value as JsonObject));
  return value as JsonObject;
};

for (const protocol of ["rest", "grpc"] as const) {
  test(`over ${protocol} a refresh token returns a valid access token and the next refresh token`, async () => {
    const first = await arrive(`rotating ${protocol}`);
    const answer = await refresh(first, {}, protocol);
    assert.equal(answer.code, 0, answer.message);
    assert.notEqual(next(answer), first);
    assert.equal((await world.call("iam.GroupsService/ListGroups", {}, { token: access(answer), protocol })).code, 0);
    assert.equal((await refresh(next(answer), {}, protocol)).code, 0);
  });
}

test("a refresh token is standard base64 of JSON with its expiry, and nothing else is readable", async () => {
  const token = await arrive("reader");
  assert.match(token, /^[A-Za-z0-9+/]+={0,2}$/);
  assert.equal(payloadOf(token).exp, Math.floor((world.clock.now + limits.refreshTokenLifetimeMs) / 1000));
  assert.deepEqual(Object.keys(payloadOf(token)).sort(), ["exp", "id", "secret"]);
});

test("only the hash of a refresh token is stored", async () => {
  const token = await arrive("stored");
  const rows = await world.server.application.services.store.read.query("select refresh_tokens::text from refresh_tokens");
  assert.ok(rows.length > 0);
  assert.ok(!JSON.stringify(rows).includes(text(payloadOf(token), "secret")));
});

test("a reused refresh token is refused and revokes its family, including its successor", async () => {
  const first = await arrive("reused");
  const second = next(await refresh(first));
  assert.deepEqual(refused(await refresh(first)), ended);
  assert.deepEqual(refused(await refresh(second)), ended);
});

test("of 20 concurrent uses exactly one succeeds, and all tokens of the family are revoked", async () => {
  const first = await arrive("raced");
  const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(first)));
  const [winner, ...others] = answers.filter(({ code }) => code === 0);
  assert.ok(winner);
  assert.deepEqual(others, []);
  assert.deepEqual(refused(await refresh(next(winner))), ended);
});

test("another sign-in of the same user is a separate family", async () => {
  const [one, other] = [await arrive("twice"), await arrive("twice")];
  await refresh(one);
  await refresh(one);
  assert.equal((await refresh(other)).code, 0);
});

test("an unused refresh token expires, and a family expires however often it is used", async () => {
  const start = world.clock.now;
  try {
    const idle = await arrive("idle");
    let busy = await arrive("busy");
    world.clock.now += limits.refreshTokenLifetimeMs;
    assert.deepEqual(refused(await refresh(idle)), ended);
    world.clock.now = start;
    for (;;) {
      world.clock.now += limits.refreshTokenLifetimeMs - 60_000;
      const answer = await refresh(busy);
      if (answer.code !== 0) break;
      assert.ok(world.clock.now - start < limits.refreshFamilyLifetimeMs);
      busy = next(answer);
      assert.ok(Number(payloadOf(busy).exp) * 1000 <= start + limits.refreshFamilyLifetimeMs);
    }
    assert.ok(world.clock.now - start >= limits.refreshFamilyLifetimeMs);
  } finally {
    world.clock.now = start;
  }
});

test("the restrictions of the sign-in remain, and a refresh can only narrow them", async () => {
  const token = await arrive("narrowed", { scope: world.organization, cap: "groups.list,repo.list" });
  const same = await refresh(token);
  assert.deepEqual(claimsOf(access(same)).gantry_scopes, [world.organization]);
  assert.deepEqual(claimsOf(access(same)).gantry_cap, ["groups.list", "repo.list"]);
  const less = await refresh(next(same), { cap: ["groups.list", "roles.list"] });
  assert.deepEqual(claimsOf(access(less)).gantry_cap, ["groups.list"]);
  // RFC 6749 §6: the refresh token itself keeps its scope.
  const more = await refresh(next(less));
  assert.deepEqual(claimsOf(access(more)).gantry_cap, ["groups.list", "repo.list"]);
});

test("a failed refresh does not use up the token", async () => {
  const token = await arrive("careful", { cap: "groups.list" });
  assert.equal((await refresh(token, { cap: ["no.such.capability"] })).code, 3);
  assert.equal((await refresh(token, { cap: ["repo.list"] })).code, 7);
  assert.equal((await refresh(token, { scopes: ["not a uid"] })).code, 3);
  assert.equal((await refresh(token)).code, 0);
});

test("a refresh has no dry run, and trying one does not use up the token", async () => {
  const token = await arrive("rehearsed");
  assert.equal((await world.call(refreshName, {}, { token, validateOnly: true })).code, 3);
  assert.equal((await refresh(token)).code, 0);
});

test("the refresh token of a deleted identity is refused, even after the same user returns", async () => {
  const token = await arrive("deleted");
  const [binding] = await world.server.application.services.store.read.query("select uid from identities where subject = 'deleted'");
  await world.ok("iam.IdentitiesService/DeleteIdentity", { uid: binding?.[0] ?? "" });
  assert.deepEqual(refused(await refresh(token)), ended);
  await arrive("deleted");
  assert.deepEqual(refused(await refresh(token)), ended);
});

test("deleting an identity provider revokes its refresh tokens", async () => {
  const second = await openProvider(() => world.clock.now);
  try {
    const uid = await registerProvider(world, second);
    const { refreshToken } = await signIn(world, second, uid, { sub: "orphan" }, { create_refresh_token: "true" });
    await world.ok("iam.IdentityProvidersService/DeleteIdentityProvider", { uid });
    assert.deepEqual(refused(await refresh(refreshToken)), ended);
  } finally {
    await second.close();
  }
});

test("an invalid refresh token is UNAUTHENTICATED and never an internal error", async () => {
  const real = payloadOf(await arrive("forged"));
  const spelled = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64");
  const wrong = [
    "x",
    "",
    "bm9uc2Vuc2U=",
    spelled([]),
    spelled(null),
    spelled({}),
    spelled({ id: 1, secret: 2 }),
    spelled({ ...real, id: "\0" }),
    spelled({ ...real, id: "0".repeat(32) }),
    spelled({ __proto__: null, id: {}, secret: [] }),
    await world.token(),
  ];
  for (const token of wrong) assert.equal((await refresh(token)).code, 16, token.slice(0, 50));
  const bare = await world.call(refreshName, {}, { token: undefined });
  assert.equal(bare.code, 16);
  assert.equal(bare.headers["www-authenticate"], "Bearer");
});
