// Attacks by an organization's own identity provider in an exchange (sts: identity_provider): on other organizations of its people, on
// people who never joined, and with tokens that were made for others.

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
/** Its issuer is the attacker's provider too, as one of the whole world's would be. */
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

/** A person who has signed in through the attacker's provider, and whom the victim has made an owner of its own. */
const memberOfBoth = async (sub: string): Promise<{ readonly uid: string; readonly token: string }> => {
  const signedIn = await signIn(world, provider, idp, { sub });
  const uid = String(claimsOf(signedIn.token).sub);
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: victim, roleBinding: { identityUid: uid, roleUid: builtInRoleUid("owner") } });
  await world.ok("gantry.memberships.v1.MembershipsService/AcceptMembership", { group: victim }, { token: signedIn.token });
  return { uid, token: signedIn.token };
};

test("a member exchanges an ID token of the organization's provider over REST and gRPC, for a token that is good in it alone", async () => {
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

test("attack 315: who makes ID tokens of a provider does nothing with them in another organization of the same person, nor for the person", async () => {
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
  // Neither asks for the other organization, nor gets rid of the bound by another exchange.
  assert.equal((await exchange(await provider.idToken({ sub: "grace" }), { scopes: [victim] })).code, codes.PERMISSION_DENIED);
  const again = await world.call(exchangeName, {}, { token });
  assert.deepEqual(await groupsSeenBy(text(again.reply, "token")), [attacker]);
  // Other services that trust this server's tokens do not know that this one is narrowed.
  assert.equal((await exchange(await provider.idToken({ sub: "grace" }), { aud: ["https://other.example"] })).code, codes.INVALID_ARGUMENT);
  assert.deepEqual((await groupsSeenBy(own)).sort(), [attacker, victim].sort(), "nothing has changed for the person");
});

test("attack 316: an exchange brings nobody in: who has not joined the organization, has left it or is announced as inactive gets no token", async () => {
  const before = await world.events();
  const unknown = await exchange(await provider.idToken({ sub: "nobody" }));
  assert.equal(unknown.code, codes.NOT_FOUND, unknown.message);
  // Known to the server and to the issuer, and not to the organization.
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

test("attack 317: a token of another client, of another issuer or for several clients is no ID token of the provider, nor is one of ours", async () => {
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
  // A provider that there is not is refused as one of another issuer, and nobody is asked.
  const asked = provider.requestedPaths.length;
  const idToken = await provider.idToken({ sub: "bea" });
  const [absent, foreign] = [
    await exchange(idToken, { identityProvider: newChild(attacker) }),
    await exchange(await provider.idToken({ sub: "bea", iss: "https://other.example" })),
  ];
  assert.deepEqual([absent.code, absent.message.replace(/"[^"]*"$/, "")], [foreign.code, foreign.message.replace(/"[^"]*"$/, "")]);
  assert.equal(provider.requestedPaths.length, asked);
});
