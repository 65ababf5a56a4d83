// Attacks 68-71: keeping temporary permissions. A holder of permissions by upstream groups or with an expiry tries to extend them: by a
// binding, a credential, another user or an identity.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { entriesOf } from "../audit.ts";
import { type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { awsToken, type Principal, startSts, type Sts } from "../story/aws-sts.ts";
import { createIdentity } from "../story/installation.ts";
import { type Issuer, startIssuer } from "../story/processes.ts";
import { column, items } from "../story/protocols.ts";
import { openWorld, type World } from "../world.ts";

const builder: Principal = {
  id: "AKIAIOSFODNN7EXAMPLE",
  secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  account: "123456789012",
  arn: "arn:aws:iam::123456789012:user/builder",
  userId: "AIDAEXAMPLEBUILDER",
};
const protocols = ["rest", "grpc"] as const;
const minute = 60_000;
const day = 24 * 60 * minute;
const viewer = builtInRoleUid("viewer");
const owner = builtInRoleUid("owner");
const register = "chainguard.platform.auth.Auth/Register";
const bindings = "iam.RoleBindingsService";

let world: World;
let provider: FakeProvider;
let issuer: Issuer;
let sts: Sts;
let idp: string;
let start: number;
before(async () => {
  sts = await startSts([builder]);
  world = await openWorld({ GANTRY_AWS_STS_URL: sts.url });
  provider = await openProvider(() => world.clock.now);
  issuer = await startIssuer();
  const nothing = await role("nothing", ["CAP_REPO_LIST"]);
  idp = await registerProvider(world, provider, { role: nothing, oidc: { groupsClaim: "groups" } });
  start = world.clock.now;
});
after(async () => {
  await Promise.all([world?.close(), provider?.close(), issuer?.close()]);
  sts?.close();
});

const inMs = (ms: number): string => new Date(world.clock.now + ms).toISOString();
const role = async (name: string, capabilities: readonly string[]): Promise<string> =>
  text(await world.ok("iam.RolesService/CreateRole", { parent: world.organization, role: { name, capabilities: [...capabilities] } }), "uid");
const someone = (name: string): Promise<string> =>
  createIdentity(world, world.organization, name, { issuer: "https://issuer.example.com", subject: "somebody" });
const bind = async (identityUid: string, roleUid: string, expireTime?: string, token?: string) =>
  world.call(
    `${bindings}/CreateRoleBinding`,
    { parent: world.organization, roleBinding: { identityUid, roleUid, ...(expireTime === undefined ? {} : { expireTime }) } },
    token === undefined ? {} : { token },
  );
const bound = async (identityUid: string, roleUid: string, expireTime?: string): Promise<string> => {
  const { code, message, reply } = await bind(identityUid, roleUid, expireTime);
  assert.equal(code, 0, message);
  return text(reply, "uid");
};
const map = async (group: string, roleUid = owner): Promise<string> =>
  text(
    await world.ok("iam.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping", {
      parent: idp,
      externalGroupRoleMapping: { externalGroupId: group, roleUid, scope: world.organization },
    }),
    "uid",
  );
const arrive = async (sub: string, groups: readonly string[]): Promise<{ readonly uid: string; readonly token: string }> => {
  const { token, error } = await signIn(world, provider, idp, { sub, groups });
  assert.equal(error, "");
  return { uid: String(claimsOf(token).sub), token };
};
const sees = async (token: string): Promise<boolean> => (await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token })).code === 0;
const bindingsOf = async (identity: string): Promise<JsonObject[]> =>
  items(await world.ok(`${bindings}/ListRoleBindings`, { identity, uidp: { descendantsOf: world.organization } }), "roleBindings");

test("attack 68: an owner by an upstream group cannot bind herself as owner, and loses access once removed upstream", async () => {
  await map("owners-68");
  const ada = await arrive("ada", ["owners-68"]);
  const given = await bindingsOf(ada.uid);
  const ways: readonly (readonly [string, string, JsonObject])[] = [
    ["without an end", `${bindings}/CreateRoleBinding`, { parent: world.organization, roleBinding: { identityUid: ada.uid, roleUid: owner } }],
    [
      "for a day",
      `${bindings}/CreateRoleBinding`,
      { parent: world.organization, roleBinding: { identityUid: ada.uid, roleUid: owner, expireTime: inMs(day) } },
    ],
    [
      "in a batch",
      `${bindings}/BatchCreateRoleBindings`,
      {
        parent: world.organization,
        roleUid: owner,
        requests: [
          { roleBinding: { identityUid: await someone("first"), expireTime: inMs(day) } },
          { roleBinding: { identityUid: ada.uid, expireTime: inMs(day) } },
        ],
      },
    ],
    [
      "another's binding",
      `${bindings}/UpdateRoleBinding`,
      { roleBinding: { uid: await bound(await someone("moved"), owner, inMs(minute)), identityUid: ada.uid } },
    ],
    ["what she has herself, as more", `${bindings}/UpdateRoleBinding`, { roleBinding: { uid: text(given[0] ?? {}, "uid"), roleUid: owner } }],
  ];
  for (const protocol of protocols)
    for (const [what, name, request] of ways) {
      const more = name.endsWith("UpdateRoleBinding")
        ? { updateMask: "identityUid,roleUid".split(",").find((each) => each in (request.roleBinding as JsonObject)) ?? "" }
        : {};
      const { code, message } = await world.call(name, { ...request, ...more }, { token: ada.token, protocol });
      assert.equal(code, codes.PERMISSION_DENIED, `${what}: ${message}`);
      assert.match(message, /comes from the groups of your sign-in/, what);
    }
  // A narrowed token belongs to the same sign-in.
  const cap = ["groups.list", "role_bindings.create"];
  const narrowed = text(
    await world.ok("chainguard.platform.oidc.SecurityTokenService/Exchange", { cap, scope: [world.organization] }, { token: ada.token }),
    "token",
  );
  const small = await role("small", ["CAP_IAM_GROUPS_LIST"]);
  assert.equal((await bind(ada.uid, small, inMs(day), narrowed)).code, codes.PERMISSION_DENIED);
  assert.equal((await bind(await someone("narrowed"), small, inMs(day), narrowed)).code, 0);
  assert.deepEqual(await bindingsOf(ada.uid), given);
  assert.equal(await sees(ada.token), true);
  assert.equal(await sees((await arrive("ada", [])).token), false);
});

test("attack 68: her grants to others last thirty days at most, survive her removal, and are found by her name", async () => {
  const mapping = await map("givers-68");
  const grace = await arrive("grace", ["givers-68"]);
  const other = await someone("other");
  const end = inMs(limits.sessionDelegationMs);
  assert.equal((await bind(other, viewer, undefined, grace.token)).code, codes.PERMISSION_DENIED);
  assert.equal((await bind(other, viewer, inMs(limits.sessionDelegationMs + 1), grace.token)).code, codes.PERMISSION_DENIED);
  const { code, message, reply } = await bind(other, viewer, end, grace.token);
  assert.equal(code, 0, message);
  // A longer expiry is a new grant; a shorter one is not.
  const uid = text(reply, "uid");
  const move = (expireTime: string) =>
    world.call(`${bindings}/UpdateRoleBinding`, { roleBinding: { uid, expireTime }, updateMask: "expireTime" }, { token: grace.token });
  world.clock.now += minute;
  assert.equal((await move(inMs(limits.sessionDelegationMs + minute))).code, codes.PERMISSION_DENIED);
  assert.equal((await move(inMs(day))).code, 0);
  await world.ok("iam.ExternalGroupRoleMappingsService/DeleteExternalGroupRoleMapping", { uid: mapping });
  assert.equal(await sees(grace.token), false);
  assert.equal(await sees(await world.token(other)), true);
  const found = await entriesOf(world, {
    callerUids: [grace.uid],
    operations: [`chainguard.platform.iam.v2.RoleBindingsService/CreateRoleBinding`],
    codes: ["OK"],
  });
  assert.deepEqual(
    found.map(({ subject }) => subject),
    [uid],
  );
  assert.ok(JSON.stringify(found[0]?.bindingUids).includes(mapping), "by what she could give it");
  world.clock.now = start;
});

test("attack 68: her invite admits others until it expires and while the mapping lasts, but never herself", async () => {
  const mapping = await map("inviters-68");
  const joan = await arrive("joan", ["inviters-68"]);
  const invite = (body: JsonObject, token = joan.token) =>
    world.call("iam.GroupInvitesService/CreateGroupInvite", { parent: world.organization, groupInvite: { roleUid: owner, ttl: "86400s", ...body } }, { token });
  const forGood = await invite({});
  assert.equal(forGood.code, codes.PERMISSION_DENIED);
  assert.match(forGood.message, /comes from the groups of your sign-in and is given with an expireTime within 30 days only/);
  const expireTime = inMs(2 * 60 * minute);
  const { code, message, reply } = await invite({ expireTime });
  assert.equal(code, 0, message);
  assert.deepEqual([reply.expireTime, reply.expirationTime], [expireTime, expireTime], "the invite ends with what it gives");
  const join = (token: string) => world.call(register, { code: text(reply, "code") }, { token });
  const herself = await join((await arrive("joan", [])).token);
  assert.equal(herself.code, codes.FAILED_PRECONDITION, herself.message);
  const friend = await arrive("friend of joan", []);
  assert.equal((await join(friend.token)).code, 0);
  assert.equal((await bindingsOf(friend.uid)).find(({ roleUid }) => roleUid === owner)?.expireTime, expireTime);
  await world.ok("iam.ExternalGroupRoleMappingsService/DeleteExternalGroupRoleMapping", { uid: mapping });
  assert.equal((await join((await arrive("late", [])).token)).code, codes.FAILED_PRECONDITION);
});

test("attack 69: a ten-minute owner cannot create a lasting SCIM token or a lasting permission", async () => {
  const guest = await someone("owner for ten minutes");
  await bound(guest, owner, inMs(10 * minute));
  const token = await world.token(guest);
  const scim = (identityProviderUid: string, more: JsonObject) =>
    world.call("iam.IdentityProvidersService/GenerateScimToken", { identityProviderUid, ...more }, { token });
  for (const more of [{ neverExpires: true }, {}, { expireTime: inMs(11 * minute) }]) {
    const { code, message } = await scim(idp, more);
    assert.equal(code, codes.PERMISSION_DENIED, JSON.stringify(more));
    assert.match(message, /identity_providers\.scim\.manage at \S+ expires at /);
  }
  const { code, reply, message } = await scim(idp, { expireTime: inMs(10 * minute) });
  assert.equal(code, 0, message);
  assert.equal(reply.expireTime, inMs(10 * minute));
});

test("attack 70: a temporary permission to grant cannot grant permanently, even if the granted permission is permanent", async () => {
  const guest = await someone("viewer for good");
  await bound(guest, viewer);
  await bound(guest, await role("gives", ["CAP_IAM_ROLE_BINDINGS_CREATE", "CAP_IAM_GROUP_INVITES_CREATE"]), inMs(10 * minute));
  const token = await world.token(guest);
  const friend = await someone("friend");
  const refused = await bind(friend, viewer, undefined, token);
  assert.equal(refused.code, codes.PERMISSION_DENIED);
  assert.equal(
    refused.message,
    `Permission denied: role_bindings.create at ${world.organization} expires at ${inMs(10 * minute)}, and permissions that you grant must not outlast it. ` +
      `A caller with role_bindings.create at ${world.organization} from a role binding without expiry can grant it permanently`,
  );
  assert.equal((await bind(friend, viewer, inMs(11 * minute), token)).code, codes.PERMISSION_DENIED);
  assert.equal((await bind(friend, viewer, inMs(10 * minute), token)).code, 0);
  const unseeing = await someone("sees no group");
  const small = await role("small", ["CAP_REPO_LIST", "CAP_IAM_ROLE_BINDINGS_CREATE"]);
  await bound(unseeing, small, inMs(10 * minute));
  const hidden = await bind(friend, small, undefined, await world.token(unseeing));
  assert.equal(hidden.code, codes.PERMISSION_DENIED);
  assert.ok(!hidden.message.includes(world.organization), "the place is named to whoever may see it");
});

test("attack 70: an invite grants only what its creator can grant at redemption, and shortens no existing binding", async () => {
  const maker = await someone("maker");
  const makers = await bound(maker, owner);
  const token = await world.token(maker);
  const invite = async (body: JsonObject): Promise<string> =>
    text(
      await world.ok(
        "iam.GroupInvitesService/CreateGroupInvite",
        { parent: world.organization, groupInvite: { roleUid: viewer, ttl: "86400s", ...body } },
        { token },
      ),
      "code",
    );
  const [forGood, forHour, forDay] = [await invite({}), await invite({ expireTime: inMs(60 * minute) }), await invite({ expireTime: inMs(day) })];
  const guest = await arrive("guest of maker", []);
  const join = (code: string) => world.call(register, { code }, { token: guest.token });
  const end = async () => (await bindingsOf(guest.uid)).find(({ roleUid }) => roleUid === viewer)?.expireTime;
  const [hour, wholeDay] = [inMs(60 * minute), inMs(day)];
  assert.equal((await join(forHour)).code, 0);
  assert.equal(await end(), hour);
  assert.equal((await join(forDay)).code, 0);
  assert.equal(await end(), wholeDay, "the later of both");
  assert.equal((await join(forHour)).code, 0);
  assert.equal(await end(), wholeDay);
  const move = (expireTime: JsonObject) => world.ok(`${bindings}/UpdateRoleBinding`, { roleBinding: { uid: makers, ...expireTime }, updateMask: "expireTime" });
  await move({ expireTime: inMs(10 * minute) });
  assert.equal((await join(forGood)).code, codes.FAILED_PRECONDITION);
  await move({});
  assert.equal((await join(forGood)).code, 0);
  assert.equal(await end(), undefined);
  assert.equal((await join(forHour)).code, 0);
  assert.equal(await end(), undefined, "never shorter");
});

const isHolder = async (uid: string): Promise<boolean> =>
  column(
    await world.ok("gantry.access.v1.AccessService/WhoCan", { place: world.organization, capability: "groups.list", pageSize: 200 }),
    "holders",
    "identityUid",
  ).includes(uid);

/** Creates an identity of each kind that expires in half an hour, with a credential for each. */
const ending = async (): Promise<readonly { readonly uid: string; readonly kind: string; readonly present: () => Promise<string> }[]> => {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const keys = {
    issuer: "https://keys.example.com",
    subject: "build",
    issuerKeys: JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }] }),
  };
  const kinds: readonly (readonly [string, JsonObject, (uid: string) => Promise<string>])[] = [
    ["claim match", { claimMatch: { issuer: issuer.url, subject: "job" } }, () => issuer.token({ sub: "job", aud: world.url })],
    [
      "static keys",
      { staticKeys: keys },
      () =>
        new SignJWT({ iss: keys.issuer, sub: "build", aud: world.url, exp: Math.floor(world.clock.now / 1000) + 7200 })
          .setProtectedHeader({ alg: "ES256" })
          .sign(privateKey),
    ],
    [
      "AWS",
      { awsIdentity: { awsAccount: builder.account, arn: builder.arn, userId: builder.userId } },
      async (identity) => {
        // Two requests within one second have the same signature.
        world.clock.now += 1000;
        return awsToken({ key: builder, audience: world.url, identity, nowMs: world.clock.now });
      },
    ],
  ];
  return Promise.all(
    kinds.map(async ([kind, relationship, present]) => {
      const identity = { name: "ending", ...relationship, expireTime: new Date(start + 30 * minute).toISOString() };
      const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity }), "uid");
      await bound(uid, viewer);
      return { uid, kind, present: () => present(uid) };
    }),
  );
};

test("attack 71: an expired identity cannot be used by an exchange, directly, or with an earlier token", async () => {
  for (const { uid, kind, present } of await ending()) {
    world.clock.now = start;
    const exchange = async (protocol: "rest" | "grpc") =>
      world.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity: uid, aud: [world.url] }, { token: await present(), protocol });
    const direct = async () =>
      world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token: await present(), headers: { "gantry-identity": uid } });
    const held = await exchange("rest");
    assert.equal(held.code, 0, `${kind}: ${held.message}`);
    const token = text(held.reply, "token");
    assert.ok(Number(claimsOf(token).exp) * 1000 <= start + 30 * minute, "its tokens end with it");
    assert.equal(await isHolder(uid), true);
    const directly = await direct();
    assert.equal(directly.code, 0, `${kind}: ${directly.message}`);
    const longer = await world.token(uid);
    world.clock.now = start + 30 * minute;
    assert.equal(await sees(longer), false);
    const refused = await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token: longer });
    assert.deepEqual([refused.code, /has expired \(expireTime\)/.test(refused.message)], [codes.UNAUTHENTICATED, true], refused.message);
    for (const protocol of protocols) {
      const over = await exchange(protocol);
      assert.deepEqual(
        [over.code, /the identity ended at .* \(its expireTime\)/.test(over.message)],
        [codes.PERMISSION_DENIED, true],
        `${kind}: ${over.message}`,
      );
    }
    const afterwards = await direct();
    assert.deepEqual([afterwards.code, /the identity ended at/.test(afterwards.message)], [codes.UNAUTHENTICATED, true], `${kind}: ${afterwards.message}`);
    // A token from before the expiry was shortened cannot be exchanged.
    const renewed = await world.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { aud: ["https://registry.example.com"] }, { token: longer });
    assert.equal(renewed.code, codes.PERMISSION_DENIED, renewed.message);
    assert.equal(await isHolder(uid), false);
    const reasons = await world.ok("gantry.access.v1.AccessService/Explain", { place: world.organization, identityUid: uid, action: "groups.list" });
    assert.deepEqual([reasons.allowed, JSON.stringify(reasons).includes("EFFECT_NO_IDENTITY")], [false, true]);
    // The identity still exists, and a later expiry reactivates it: a grant by the caller who sets it.
    await world.ok("iam.IdentitiesService/UpdateIdentity", { identity: { uid, expireTime: inMs(day) }, updateMask: "expireTime" });
    assert.equal(await sees(longer), true, "with the next request");
    await world.ok("iam.IdentitiesService/UpdateIdentity", { identity: { uid, expireTime: inMs(1) }, updateMask: "expireTime" });
    world.clock.now += 1;
    assert.equal(await sees(longer), false);
  }
  world.clock.now = start;
});

test("attack 71: a caller with temporary permissions cannot extend an identity beyond them, even an expired one", async () => {
  const [identity] = await ending();
  assert.ok(identity);
  const { uid } = identity;
  const guest = await someone("owner for an hour");
  await bound(guest, owner, new Date(start + 60 * minute).toISOString());
  const token = await world.token(guest);
  const move = async (expireTime: string | undefined) =>
    (
      await world.call(
        "iam.IdentitiesService/UpdateIdentity",
        { identity: { uid, ...(expireTime === undefined ? {} : { expireTime }) }, updateMask: "expireTime" },
        { token },
      )
    ).code;
  const within = new Date(start + 60 * minute).toISOString();
  for (const now of [start, start + 40 * minute]) {
    world.clock.now = now;
    assert.equal(await move(undefined), codes.PERMISSION_DENIED);
    assert.equal(await move(inMs(day)), codes.PERMISSION_DENIED);
  }
  assert.equal(await move(within), 0);
  world.clock.now = start;
});

test("an expiry is refused by field name if it is in the past or for a user, since role bindings expire instead", async () => {
  const violated = ({ details }: { readonly details: readonly JsonObject[] }) => column(details[1] ?? {}, "fieldViolations", "field");
  const claimMatch = { issuer: "https://issuer.example.com", subject: "late" };
  for (const protocol of protocols) {
    const made = await world.call(
      "iam.IdentitiesService/CreateIdentity",
      { parent: world.organization, identity: { name: "late", claimMatch, expireTime: inMs(0) } },
      { protocol, token: await world.token() },
    );
    assert.deepEqual([made.code, violated(made)], [codes.INVALID_ARGUMENT, ["expireTime"]]);
    const invited = await world.call(
      "iam.GroupInvitesService/CreateGroupInvite",
      { parent: world.organization, groupInvite: { roleUid: viewer, ttl: "60s", expireTime: inMs(0) } },
      { protocol, token: await world.token() },
    );
    assert.deepEqual([invited.code, violated(invited)], [codes.INVALID_ARGUMENT, ["expireTime"]]);
    const { uid } = await arrive("ends", []);
    const person = await world.call(
      "iam.IdentitiesService/UpdateIdentity",
      { identity: { uid, expireTime: inMs(day) }, updateMask: "expireTime" },
      { protocol, token: await world.token() },
    );
    assert.deepEqual([person.code, violated(person)], [codes.INVALID_ARGUMENT, ["expireTime"]]);
  }
});
