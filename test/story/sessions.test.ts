// Sessions on two servers with one database (decision 0007): a user lists them, and any revocation takes effect on the next request on every server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { renew } from "../../server/iam/signin/refresh.ts";
import { endSessions } from "../../server/iam/signin/session.ts";
import { entriesOf } from "../audit.ts";
import { type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { codeOf, openServers, operations, refreshCode, revokeToken, sessionsOf, untilOneWaits } from "../sessions.ts";
import { confirmAs, poll, postForm, requestDeviceCodes } from "../terminal.ts";
import type { World } from "../world.ts";
import { bind, createIdentity } from "./installation.ts";

let first: World;
let second: World;
let close: () => Promise<void>;
let provider: FakeProvider;
let idp: string;
let owner: string;

before(async () => {
  ({ first, second, close } = await openServers());
  provider = await openProvider(() => first.clock.now);
  idp = await registerProvider(first, provider);
  const identity = await createIdentity(first, first.organization, "owner", { issuer: "https://issuer.example.com", subject: "owner" });
  await bind(first, first.organization, identity, "owner");
  owner = await first.token(identity);
});
after(async () => {
  await close?.();
  await provider?.close();
});

interface Arrived {
  readonly token: string;
  readonly refreshToken: string;
  readonly identity: string;
}

const arrive = async (sub: string, parameters: Readonly<Record<string, string>> = { create_refresh_token: "true" }): Promise<Arrived> => {
  const { token, refreshToken, error } = await signIn(first, provider, idp, { sub }, parameters);
  assert.equal(error, "");
  return { token, refreshToken, identity: text(claimsOf(token), "sub") };
};

const worlds = (): World[] => [first, second];

const isRefusedEverywhere = async (token: string): Promise<void> => {
  for (const world of worlds()) for (const protocol of ["rest", "grpc"] as const) assert.equal(await codeOf(world, token, protocol), 16);
};

test("each interactive sign-in is a session that its user lists with client, address, times and kind", async () => {
  const { token, identity } = await arrive("lister");
  first.clock.now += 60_000;
  second.clock.now = first.clock.now;
  const other = await arrive("lister", {});
  const codes = await requestDeviceCodes(first, { idp_id: idp, scope: "offline_access", client_id: "a terminal" });
  await confirmAs(first, provider, codes.page, { sub: "lister" });
  first.clock.now += 6_000;
  second.clock.now = first.clock.now;
  const device = await poll(first, codes, { client_id: "a terminal" });
  assert.equal(device.status, 200);
  const listed = await sessionsOf(second, text(device.body, "access_token"));
  const shown = listed.map(({ kind, program, address, identityUid, identityProviderUid, current = false }) => [
    kind,
    program,
    address,
    identityUid === identity,
    identityProviderUid === idp,
    current,
  ]);
  assert.deepEqual(shown, [
    ["KIND_DEVICE", "a terminal", "127.0.0.1", true, true, true],
    ["KIND_LOOPBACK", "127.0.0.1:9", "127.0.0.1", true, true, false],
    ["KIND_LOOPBACK", "127.0.0.1:9", "127.0.0.1", true, true, false],
  ]);
  const [, ofOther, ofFirst] = listed;
  assert.equal(Date.parse(text(ofFirst ?? {}, "expireTime")) - Date.parse(text(ofFirst ?? {}, "createTime")) > limits.accessTokenLifetimeMs, true);
  assert.equal(text(ofOther ?? {}, "expireTime"), new Date(Number(claimsOf(other.token).exp) * 1000).toISOString());
  assert.ok(text(ofFirst ?? {}, "uid").startsWith(`${idp}/`));
  const page = await first.ok(operations.list, { pageSize: 2, orderBy: "create_time" }, { token });
  assert.deepEqual([objectList(page, "sessions")[0]?.uid, page.totalCount], [ofFirst?.uid, "3"]);
  const rest = await first.ok(operations.list, { pageSize: 2, orderBy: "create_time", pageToken: text(page, "nextPageToken") }, { token });
  assert.deepEqual([objectList(rest, "sessions").length, text(rest, "nextPageToken")], [1, ""]);
  assert.equal((await sessionsOf(first, token, operations.list, { uidp: { ids: [text(ofOther ?? {}, "uid")] } })).length, 1);
  assert.equal((await sessionsOf(first, token, operations.list, { uidp: { descendantsOf: first.organization } })).length, 3);
  assert.equal((await sessionsOf(first, token, operations.list, { uidp: { inRoot: true } })).length, 0);
});

test("a refresh is the session's last use, and its access token belongs to the same session", async () => {
  const { token, refreshToken } = await arrive("refresher");
  first.clock.now += 1_000;
  second.clock.now = first.clock.now;
  const renewed = await second.call("chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken", {}, { token: refreshToken });
  assert.equal(claimsOf(text(part(renewed.reply, "token"), "token")).gantry_grant, claimsOf(token).gantry_grant);
  const [session, ...more] = await sessionsOf(first, token);
  assert.deepEqual([more.length, session?.lastUseTime], [0, new Date(first.clock.now).toISOString()]);
});

test("a revoked session is refused on the next request on every server, and the user's other session continues", async () => {
  const [one, other] = [await arrive("two programs"), await arrive("two programs")];
  // Both servers have cached the permissions.
  for (const world of worlds()) for (const { token } of [one, other]) assert.equal(await codeOf(world, token), 0);
  const current = (await sessionsOf(second, one.token)).find((session) => session.current === true);
  await first.ok(operations.revoke, { uid: text(current ?? {}, "uid") }, { token: other.token });
  await isRefusedEverywhere(one.token);
  assert.equal(await refreshCode(second, one.refreshToken), 16);
  for (const world of worlds()) assert.equal(await codeOf(world, other.token), 0);
  assert.equal((await sessionsOf(first, other.token)).length, 1);
  assert.equal((await first.call(operations.revoke, { uid: text(current ?? {}, "uid") }, { token: other.token })).code, 5);
});

test("revoking all sessions signs every client out", async () => {
  const [one, other, stranger] = [await arrive("everywhere"), await arrive("everywhere"), await arrive("somewhere else")];
  await second.ok(operations.revokeAll, {}, { token: one.token });
  await isRefusedEverywhere(one.token);
  await isRefusedEverywhere(other.token);
  assert.equal(await codeOf(second, stranger.token), 0);
});

for (const kind of ["access", "refresh"] as const)
  test(`RFC 7009: the bearer of the ${kind} token revokes its session`, async () => {
    const { token, refreshToken } = await arrive(`revoker ${kind}`);
    assert.equal(await codeOf(second, token), 0);
    assert.deepEqual(await revokeToken(first, kind === "access" ? token : refreshToken, { token_type_hint: "anything" }), [200, "{}"]);
    await isRefusedEverywhere(token);
    assert.equal(await refreshCode(first, refreshToken), 16);
    assert.deepEqual(await revokeToken(second, refreshToken), [200, "{}"]);
  });

test("both metadata documents have the revocation endpoint", async () => {
  for (const name of ["openid-configuration", "oauth-authorization-server"]) {
    const known = (await (await fetch(`${first.url}/.well-known/${name}`)).json()) as JsonObject;
    assert.deepEqual([known.revocation_endpoint, known.revocation_endpoint_auth_methods_supported], [`${first.url}/oauth/revoke`, ["none"]]);
  }
});

test("a new sign-in revokes only the session of the refresh token that it replaces", async () => {
  const [replaced, kept] = [await arrive("again"), await arrive("again")];
  const codes = await requestDeviceCodes(first, { idp_id: idp, scope: "offline_access", client_id: "terminal" });
  await confirmAs(first, provider, codes.page, { sub: "again" });
  const form = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: codes.deviceCode, client_id: "terminal" };
  const { status, body } = await postForm(`${first.url}/oauth/token`, { ...form, replaced_refresh_token: replaced.refreshToken });
  assert.equal(status, 200);
  await isRefusedEverywhere(replaced.token);
  for (const token of [kept.token, text(body, "access_token")]) assert.equal(await codeOf(second, token), 0);
});

test("a revocation waits for a rotation in flight, and then refuses its tokens", async () => {
  const { token, refreshToken } = await arrive("rotation first");
  const { services } = first.server.application;
  let revoked: Promise<unknown> = Promise.resolve();
  const renewed = await services.store.write(async (rows) => {
    const requestSource = { requestId: "race", origin: { address: "127.0.0.1", userAgent: "" } };
    const renewal = { authorization: `Bearer ${refreshToken}`, audience: [], capabilities: [], scopes: [], operation: "race", requestSource };
    const answer = await renew(rows, services, renewal, first.clock.now);
    revoked = revokeToken(second, token);
    await untilOneWaits(first);
    return answer;
  });
  await revoked;
  assert.ok("access" in renewed);
  await isRefusedEverywhere(renewed.access.token);
  assert.equal(await refreshCode(second, renewed.refresh.token), 16);
});

test("a rotation waits for a revocation in flight, and then returns no token", async () => {
  const { token, refreshToken, identity } = await arrive("revocation first");
  let rotated: Promise<number> = Promise.resolve(0);
  await first.server.application.services.store.write(async (rows) => {
    assert.equal((await endSessions(rows, { identityUid: identity }, first.clock.now)).length, 1);
    rotated = refreshCode(second, refreshToken);
    await untilOneWaits(first);
  });
  assert.equal(await rotated, 16);
  await isRefusedEverywhere(token);
});

test("an owner lists and revokes sessions of the organization's providers, without their later use", async () => {
  const { token, refreshToken, identity } = await arrive("employee");
  const ofEmployee = (): Promise<JsonObject[]> => sessionsOf(second, owner, operations.listGroup, { group: first.organization, identityUid: identity });
  const [before] = await ofEmployee();
  first.clock.now += 120_000;
  second.clock.now = first.clock.now;
  assert.equal(await refreshCode(first, refreshToken), 0);
  assert.deepEqual(await ofEmployee(), [before], "a refresh changes nothing that the organization sees");
  assert.deepEqual([before?.lastUseTime, before?.current, before?.address], [undefined, false, "127.0.0.1"]);
  await second.ok(operations.revokeGroup, { uid: text(before ?? {}, "uid") }, { token: owner });
  await isRefusedEverywhere(token);
  assert.deepEqual(await ofEmployee(), []);
});

test("each revocation has an event and an audit entry", async () => {
  const [one, two, three, four] = [await arrive("told"), await arrive("told"), await arrive("told"), await arrive("told")];
  const from = (await first.events()).length;
  const uidOf = async ({ token }: Arrived): Promise<string> => text((await sessionsOf(first, token)).find(({ current }) => current === true) ?? {}, "uid");
  const uids = [await uidOf(one), await uidOf(two), await uidOf(three), await uidOf(four)] as const;
  await first.ok(operations.revoke, { uid: uids[0] }, { token: two.token });
  await revokeToken(first, two.refreshToken);
  await first.ok(operations.revokeGroup, { uid: uids[2] }, { token: owner });
  await first.ok(operations.revokeAll, {}, { token: four.token });
  const events = (await first.events()).slice(from);
  const [revoked, ended] = ["dev.gantry.sessions.session.revoked.v1", "dev.gantry.sessions.session.ended.v1"];
  assert.deepEqual(
    events.map(({ type, subject, group }) => [type, subject, group]),
    [revoked, revoked, ended, revoked].map((type, at) => [type, uids[at], first.organization]),
  );
  for (const { body } of events) assert.deepEqual([body.address, body.lastUseTime, body.current], [undefined, undefined, undefined]);
  const entries = (await entriesOf(first, {}, owner)).filter(({ type }) => type === revoked || type === ended).slice(-4);
  assert.deepEqual(
    entries.map(({ operation, subject }) => [operation, subject]),
    [operations.revoke, "/oauth/revoke", operations.revokeGroup, operations.revokeAll].map((operation, at) => [operation, uids[at]]),
  );
});

test("reuse of a refresh token also revokes the access tokens of its session", async () => {
  const { token, refreshToken } = await arrive("reused");
  assert.equal(await codeOf(second, token), 0);
  assert.equal(await refreshCode(first, refreshToken), 0);
  assert.equal(await refreshCode(first, refreshToken), 16);
  await isRefusedEverywhere(token);
});

test("a session of an assumed identity is listed by its organization and revoked with its tokens", async () => {
  const { sub } = claimsOf((await arrive("actor")).token);
  const identity = await createIdentity(first, first.organization, "assumed", { issuer: provider.url, subject: "actor", audience: "gantry-client" });
  await bind(first, first.organization, identity, "viewer");
  const { token } = await arrive("actor", { identity });
  assert.deepEqual([claimsOf(token).sub, claimsOf(token).sub === sub], [identity, false]);
  assert.equal(await codeOf(second, token), 0);
  assert.deepEqual(await sessionsOf(first, token), []);
  const [session, ...more] = await sessionsOf(first, owner, operations.listGroup, { group: idp, identityUid: identity });
  assert.equal(more.length, 0);
  await first.ok(operations.revokeGroup, { uid: text(session ?? {}, "uid") }, { token: owner });
  await isRefusedEverywhere(token);
});

test("the operator and machine identities have no sessions", async () => {
  assert.deepEqual(await sessionsOf(first, await first.token()), []);
  assert.deepEqual(await sessionsOf(first, owner), []);
});
