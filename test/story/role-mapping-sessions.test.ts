// Permissions from an identity provider's groups (resources: ExternalGroupRoleMappings): for one sign-in, at most an hour, and live. A change of
// mapping, role or provider takes effect on the next request on every server.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { freshDatabase } from "../database.ts";
import { type Claims, type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let other: World;
let provider: FakeProvider;
let idp: string;
let cleanUp: () => Promise<void>;

before(async () => {
  const database = await freshDatabase();
  const folder = await mkdtemp(join(tmpdir(), "gantry-sessions-"));
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  const shared = { DATABASE_URL: database.url, GANTRY_SECRET_KEY_FILE: key };
  world = await openWorld(shared);
  other = await openWorld({ ...shared, GANTRY_PUBLIC_URL: world.url });
  provider = await openProvider(() => world.clock.now);
  // A role without the tested permission, so that permissions come from groups only.
  const nothing = await role(["CAP_REPO_LIST"]);
  idp = await registerProvider(world, provider, { role: nothing, oidc: { groupsClaim: "groups" } });
  cleanUp = async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  };
});
after(async () => {
  await world?.close();
  await other?.close();
  await provider?.close();
  await cleanUp?.();
});

const role = async (capabilities: readonly string[]): Promise<string> =>
  text(await world.ok("iam.RolesService/CreateRole", { parent: world.organization, role: { name: "mapped", capabilities: [...capabilities] } }), "uid");

const map = async (group: string, roleUid: string): Promise<string> =>
  text(
    await world.ok("iam.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping", {
      parent: idp,
      externalGroupRoleMapping: { externalGroupId: group, roleUid, scope: world.organization },
    }),
    "uid",
  );

const unmap = (uid: string): Promise<JsonObject> => world.ok("iam.ExternalGroupRoleMappingsService/DeleteExternalGroupRoleMapping", { uid });

const arrive = async (claims: Claims, parameters: Readonly<Record<string, string>> = {}): Promise<{ token: string; refreshToken: string }> => {
  const { token, refreshToken, error } = await signIn(world, provider, idp, claims, parameters);
  assert.equal(error, "");
  return { token, refreshToken };
};

const seen = async (token: string): Promise<readonly number[]> => {
  const request = { uid: world.organization };
  const [here, there] = await Promise.all([
    world.call("iam.GroupsService/GetGroup", request, { token }),
    other.call("iam.GroupsService/GetGroup", request, { token, protocol: "grpc" }),
  ]);
  return [here.code, there.code];
};

const allowed = [0, 0];
const forbidden = [7, 7];

test("a user in a mapped group has the role for this sign-in, and not without the group", async () => {
  const mapping = await map("admins", builtInRoleUid("viewer"));
  const { token } = await arrive({ sub: "ada", groups: ["staff", "admins"] });
  assert.deepEqual(await seen(token), allowed);
  const without = await arrive({ sub: "ada", groups: ["staff"] });
  assert.deepEqual(await seen(without.token), forbidden);
  assert.equal(claimsOf(without.token).gantry_session, undefined);
  // The earlier sign-in continues, and caches do not mix the two (attack 11).
  assert.deepEqual(await seen(token), allowed);
  assert.deepEqual(await seen(without.token), forbidden);
  await unmap(mapping);
});

test("deleting a mapping removes the permission from its sessions on the next request on every server", async () => {
  const mapping = await map("ops", builtInRoleUid("viewer"));
  const { token } = await arrive({ sub: "grace", groups: "ops" });
  assert.deepEqual(await seen(token), allowed);
  await unmap(mapping);
  assert.deepEqual(await seen(token), forbidden);
  const again = await map("ops", builtInRoleUid("viewer"));
  assert.deepEqual(await seen(token), allowed);
  await unmap(again);
});

test("changing the mapped role changes the session's permissions on the next request", async () => {
  const custom = await role(["CAP_IAM_GROUPS_LIST"]);
  const mapping = await map("changing", custom);
  const { token } = await arrive({ sub: "joan", groups: ["changing"] });
  assert.deepEqual(await seen(token), allowed);
  await world.ok("iam.RolesService/UpdateRole", { role: { uid: custom, capabilities: ["CAP_IAM_ROLES_LIST"] }, updateMask: "capabilities" });
  assert.deepEqual(await seen(token), forbidden);
  await world.ok("iam.RolesService/UpdateRole", { role: { uid: custom, capabilities: ["CAP_IAM_GROUPS_LIST"] }, updateMask: "capabilities" });
  assert.deepEqual(await seen(token), allowed);
  await unmap(mapping);
});

test("a session ends after at most an hour, with its permissions", async () => {
  const start = world.clock.now;
  const mapping = await map("hourly", builtInRoleUid("viewer"));
  try {
    const { token } = await arrive({ sub: "mary", groups: ["hourly"] });
    assert.deepEqual(await seen(token), allowed);
    assert.ok(Number(claimsOf(token).exp) * 1000 <= start + limits.accessTokenLifetimeMs);
    // Token clocks may deviate a little; a session's permissions end by the server's clock.
    world.clock.now = start + limits.accessTokenLifetimeMs + 1_000;
    assert.equal((await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token })).code, 7);
    world.clock.now = start + limits.accessTokenLifetimeMs + limits.clockSkewMs + 1_000;
    assert.equal((await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token })).code, 16);
  } finally {
    world.clock.now = start;
  }
  await unmap(mapping);
});

test("a sign-in with permissions from groups gets no refresh token; one without gets it", async () => {
  const mapping = await map("brief", builtInRoleUid("viewer"));
  const wish = { create_refresh_token: "true" };
  assert.equal((await arrive({ sub: "hedy", groups: ["brief"] }, wish)).refreshToken, "");
  assert.notEqual((await arrive({ sub: "hedy", groups: [] }, wish)).refreshToken, "");
  await unmap(mapping);
});

test("a restricted token keeps its session's permissions within its restriction", async () => {
  const mapping = await map("narrow", builtInRoleUid("viewer"));
  const { token } = await arrive({ sub: "radia", groups: ["narrow"] });
  const exchange = async (cap: readonly string[]): Promise<string> =>
    text(await world.ok("chainguard.platform.oidc.SecurityTokenService/Exchange", { cap: [...cap] }, { token }), "token");
  assert.deepEqual(await seen(await exchange(["groups.list"])), allowed);
  assert.deepEqual(await seen(await exchange(["roles.list"])), forbidden);
  await unmap(mapping);
});

test("groups found only at the provider's userinfo endpoint count too", async () => {
  const second = await openProvider(() => world.clock.now);
  second.userinfoClaims = { groups: ["elsewhere"], email: "lynn@example.com", email_verified: true };
  const uid = await registerProvider(world, second, { role: await role(["CAP_REPO_LIST"]), oidc: { groupsClaim: "groups", additionalScopes: ["email"] } });
  await world.ok("iam.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping", {
    parent: uid,
    externalGroupRoleMapping: { externalGroupId: "elsewhere", roleUid: builtInRoleUid("viewer"), scope: world.organization },
  });
  const { token } = await signIn(world, second, uid, { sub: "lynn" });
  assert.deepEqual(await seen(token), allowed);
  assert.equal(claimsOf(token).email, "lynn@example.com");
  // The same name at another provider is another group.
  assert.deepEqual(await seen((await arrive({ sub: "lynn", groups: ["elsewhere"] })).token), forbidden);
  await world.ok("iam.IdentityProvidersService/DeleteIdentityProvider", { uid });
  assert.deepEqual(await seen(token), forbidden);
  await second.close();
});

test("without a groups claim in its configuration a provider's groups are ignored", async () => {
  const mapping = await map("ignored", builtInRoleUid("viewer"));
  await world.ok("iam.IdentityProvidersService/UpdateIdentityProvider", {
    identityProvider: { uid: idp, oidc: { groupsClaim: "" } },
    updateMask: "oidc.groups_claim",
  });
  try {
    assert.deepEqual(await seen((await arrive({ sub: "anita", groups: ["ignored"] })).token), forbidden);
  } finally {
    await world.ok("iam.IdentityProvidersService/UpdateIdentityProvider", {
      identityProvider: { uid: idp, oidc: { groupsClaim: "groups" } },
      updateMask: "oidc.groups_claim",
    });
  }
  await unmap(mapping);
});
