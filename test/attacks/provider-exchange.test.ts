// Attacks by an organization's identity provider in an exchange (sts: identity_provider): on its users' other organizations, on users who
// never joined, and with tokens for other audiences.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { newChild } from "#base/uid.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import type { Answer, Protocol } from "../client.ts";
import { openOwners, type Owners } from "../owner.ts";
import { type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { openWorld, type World } from "../world.ts";

const protocols: readonly Protocol[] = ["rest", "grpc"];
const exchangeName = "chainguard.platform.oidc.SecurityTokenService/Exchange";

let world: World;
let owners: Owners;
let provider: FakeProvider;
/** Its issuer is also the attacker's provider, as a public one would be. */
let attacker: string;
let victim: string;
let idp: string;

before(async () => {
  const opened = await openWorld();
  owners = openOwners(opened);
  world = owners.world();
  victim = world.organization;
  attacker = text(await opened.ok("iam.GroupsService/CreateGroup", { group: { name: "attacker" } }), "uid");
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider, { parent: attacker });
});
after(async () => {
  await world?.close();
  await provider?.close();
});

const exchange = (idToken: string, request: JsonObject = {}, protocol: Protocol = "rest"): Promise<Answer> =>
  world.call(exchangeName, { identityProvider: idp, ...request }, { token: idToken, protocol });

const groupsSeenBy = async (token: string): Promise<string[]> =>
  objectList(await world.ok("iam.GroupsService/ListGroups", {}, { token }), "groups").map(({ uid }) => String(uid));

/** Returns a user who has signed in through the attacker's provider and is an owner in the victim's organization. */
const memberOfBoth = async (sub: string): Promise<{ readonly uid: string; readonly token: string }> => {
  const signedIn = await signIn(world, provider, idp, { sub });
  const uid = String(claimsOf(signedIn.token).sub);
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: victim, roleBinding: { identityUid: uid, roleUid: builtInRoleUid("owner") } });
  await world.ok("gantry.memberships.v1.MembershipsService/AcceptMembership", { group: victim }, { token: signedIn.token });
  return { uid, token: signedIn.token };
};

test("a member exchanges an ID token of the organization's provider over REST and gRPC for a token valid in it alone", async () => {
  const { uid, token } = await memberOfBoth("ada");
  assert.deepEqual((await groupsSeenBy(token)).sort(), [attacker, victim].sort(), "a sign-in is good in both");
  for (const protocol of protocols) {
    const answer = await exchange(await provider.idToken({ sub: "ada" }), {}, protocol);
    assert.equal(answer.code, 0, answer.message);
    const claims = claimsOf(text(answer.reply, "token"));
    assert.deepEqual([claims.sub, claims.email], [uid, undefined]);
    assert.deepEqual(await groupsSeenBy(text(answer.reply, "token")), [attacker]);
  }
});

test("attack 315: a provider's ID tokens have no effect in the user's other organizations, nor on the user", async () => {
  const { uid, token: own } = await memberOfBoth("grace");
  const { reply } = await exchange(await provider.idToken({ sub: "grace", email: "root@victim.example", email_verified: true }));
  const token = text(reply, "token");
  const refused: readonly (readonly [name: string, request: JsonObject])[] = [
    ["iam.GroupsService/GetGroup", { uid: victim }],
    ["registry.ReposService/CreateRepo", { parent: victim, repo: { name: "planted" } }],
    ["iam.RoleBindingsService/CreateRoleBinding", { parent: victim, roleBinding: { identityUid: uid, roleUid: builtInRoleUid("viewer") } }],
    ["chainguard.platform.auth.Auth/Delete", { id: uid }],
    ["gantry.memberships.v1.MembershipsService/DeclineMembership", { group: victim }],
    ["gantry.sessions.v1.SessionsService/RevokeAllSessions", {}],
  ];
  for (const protocol of protocols)
    for (const [name, request] of refused) {
      const { code, message } = await world.call(name, request, { token, protocol });
      assert.equal(code, codes.PERMISSION_DENIED, `${name} over ${protocol}: ${message}`);
    }
  // Neither naming the other organization nor a second exchange removes the limit.
  assert.equal((await exchange(await provider.idToken({ sub: "grace" }), { scopes: [victim] })).code, codes.PERMISSION_DENIED);
  const again = await world.call(exchangeName, {}, { token });
  assert.deepEqual(await groupsSeenBy(text(again.reply, "token")), [attacker]);
  // Other services that trust this server's tokens do not know about the limit.
  assert.equal((await exchange(await provider.idToken({ sub: "grace" }), { aud: ["https://other.example"] })).code, codes.INVALID_ARGUMENT);
  assert.deepEqual((await groupsSeenBy(own)).sort(), [attacker, victim].sort(), "nothing has changed for the person");
});

test("attack 316: an exchange admits no user who has not joined, has left or is inactive", async () => {
  const before = await world.events();
  const unknown = await exchange(await provider.idToken({ sub: "nobody" }));
  assert.equal(unknown.code, codes.NOT_FOUND, unknown.message);
  // Known to the server and the issuer, but not to the organization.
  const own = text(
    await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
      parent: victim,
      identityProvider: {
        name: "people",
        defaultRole: builtInRoleUid("viewer"),
        oidc: { issuer: provider.url, clientId: "gantry-client", clientSecret: provider.clientSecret },
      },
    }),
    "uid",
  );
  const { token } = await signIn(world, provider, own, { sub: "eve" });
  assert.equal((await exchange(await provider.idToken({ sub: "eve" }))).code, codes.NOT_FOUND);
  // Bound by the attacker, and not asked yet.
  const roleBinding = { identityUid: String(claimsOf(token).sub), roleUid: builtInRoleUid("owner") };
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: attacker, roleBinding });
  assert.equal((await exchange(await provider.idToken({ sub: "eve" }))).code, codes.NOT_FOUND);
  const { uid } = await memberOfBoth("vic");
  assert.equal((await exchange(await provider.idToken({ sub: "vic" }))).code, 0);
  await world.server.application.services.store.write(async (rows) => {
    await rows.query("select set_config('gantry.untold', 'on', true)");
    await rows.query("update identity_providers set scim_enabled = true where uid = $1", [idp]);
    await rows.query("insert into scim_removals (identity_provider_uid, external_id, identity_uid, remove_time) values ($1, 'vic', $2, now())", [idp, uid]);
  });
  assert.equal((await exchange(await provider.idToken({ sub: "vic" }))).code, codes.PERMISSION_DENIED);
  assert.ok(!(await world.events()).slice(before.length).some(({ body }) => JSON.stringify(body).includes("nobody")));
});

test("attack 317: a token of another client or issuer, for several clients, or of this server is no ID token of the provider", async () => {
  const { token: own } = await memberOfBoth("bea");
  const wrong: readonly (readonly [token: string, code: number])[] = [
    [await provider.idToken({ sub: "bea", aud: "another-client" }), codes.UNAUTHENTICATED],
    [await provider.idToken({ sub: "bea", aud: world.url }), codes.UNAUTHENTICATED],
    [await provider.idToken({ sub: "bea", aud: ["gantry-client", "another-client"] }), codes.UNAUTHENTICATED],
    [await provider.idToken({ sub: "bea", azp: "another-client" }), codes.UNAUTHENTICATED],
    [await provider.idToken({ sub: "bea", iss: "https://other.example" }), codes.PERMISSION_DENIED],
    [`${(await provider.idToken({ sub: "bea" })).slice(0, -8)}AAAAAAAA`, codes.UNAUTHENTICATED],
    [own, codes.UNAUTHENTICATED],
  ];
  for (const [token, code] of wrong) {
    const answer = await exchange(token);
    assert.equal(answer.code, code, answer.message);
  }
  assert.equal((await exchange(await provider.idToken({ sub: "bea", aud: ["gantry-client", "api"], azp: "gantry-client" }))).code, 0);
  const both = await exchange(await provider.idToken({ sub: "bea" }), { identity: newChild(attacker) });
  assert.equal(both.code, codes.INVALID_ARGUMENT);
  // An unknown provider gets the same error as a wrong issuer, and no host is contacted.
  const asked = provider.requestedPaths.length;
  const idToken = await provider.idToken({ sub: "bea" });
  const [absent, foreign] = [
    await exchange(idToken, { identityProvider: newChild(attacker) }),
    await exchange(await provider.idToken({ sub: "bea", iss: "https://other.example" })),
  ];
  assert.deepEqual([absent.code, absent.message.replace(/"[^"]*"$/, "")], [foreign.code, foreign.message.replace(/"[^"]*"$/, "")]);
  assert.equal(provider.requestedPaths.length, asked);
});
