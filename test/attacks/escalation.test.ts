// Attack 5: a caller grants only permissions that the caller holds, on every path to a permission. The table lists the paths; the first test
// fails if the contract has one that the table lacks.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import { everyCapabilityBut, neighbour, protocols, identityMessage, openStage, roleMessage, symbolsOf } from "../conformance/stage.ts";
import { nonEmpty, valueOf } from "../samples.ts";
import { registerPerson } from "../../server/application/person.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());
const { organization } = world;
const iam = "chainguard.platform.iam.v2";
const named = (name: string): MethodFact => methods.find((method) => method.name === `${iam}.${name}`) ?? assert.fail(name);

/** A capability that the granter holds, and the one that it lacks. */
const [held, lacked] = ["repo.list", "repo.delete"];
const owner = await stage.holder(everyCapabilityBut(""), organization);
const team = text(await stage.make(`${iam}.Group`, { parent: organization }), "uid");
const newRole = async (name: string): Promise<string> => text(await stage.make(roleMessage, { capabilities: [name] }), "uid");

/** Returns every writable field that names a role, a capability or a way to assume an identity. */
const grantingFields = (message: MessageFact, prefix = "", within: readonly MessageFact[] = []): string[] =>
  message.fields.flatMap((field) => {
    if (field.outputOnly || within.includes(message)) return [];
    const at = prefix ? `${prefix}.${field.json}` : field.json;
    const grants =
      field.refersTo === roleMessage ||
      field.enum?.name === "chainguard.capabilities.Capability" ||
      (message.name === identityMessage && field.oneof === "relationship");
    return grants ? [at] : field.message ? grantingFields(field.message, at, [...within, message]) : [];
  });

const inContract = methods
  .filter(({ writes }) => writes)
  .flatMap((method) => grantingFields(method.input).map((at) => `${method.name.replace(`${iam}.`, "")} ${at}`));

interface Way {
  readonly uses: readonly string[];
  readonly what: string;
  readonly method: MethodFact;
  /** Sends the granting request; `allowed` if the granter holds the capability. */
  readonly request: (allowed: boolean) => Promise<JsonObject>;
}

const roles = { allowed: await newRole(held), refused: await newRole(lacked) };
const roleFor = (allowed: boolean): string => (allowed ? roles.allowed : roles.refused);
const bot = async (): Promise<string> => (await stage.stranger(organization)).uid;
/** Creates an identity with the permission that assuming it would give. */
const bound = async (allowed: boolean): Promise<string> => {
  const uid = await bot();
  await stage.bind(organization, uid, roleFor(allowed));
  return uid;
};
const provider = async (defaultRole: string): Promise<string> =>
  text(
    await world.ok(`${iam}.IdentityProvidersService/CreateIdentityProvider`, {
      parent: organization,
      identityProvider: {
        name: `provider ${stage.next()}`,
        defaultRole,
        oidc: { issuer: "https://login.example.com", clientId: "gantry", clientSecret: "a secret" },
      },
    }),
    "uid",
  );
const mapped = async (allowed: boolean): Promise<string> => {
  const uid = await provider(roles.allowed);
  await world.ok(`${iam}.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping`, {
    parent: uid,
    externalGroupRoleMapping: { externalGroupId: "admins", roleUid: roleFor(allowed), scope: organization },
  });
  return uid;
};
const relationshipOf = async (name: string): Promise<JsonObject> => {
  const message = named("IdentitiesService/UpdateIdentity").input.byName.get("identity")?.message ?? assert.fail();
  const field = message.byName.get(name) ?? assert.fail(name);
  return { [field.json]: await valueOf(field, message, stage.sampling(organization), true) };
};
const configurations: Readonly<Record<string, JsonObject[keyof JsonObject]>> = {
  issuer: "https://elsewhere.example.com",
  clientId: "another client",
  additionalScopes: ["groups"],
  groupsClaim: "roles",
  pkceEnabled: true,
};
/** Updates with a client secret, which a new issuer or client ID requires (attack 64). */
const reconfigure = (uid: string, name: string, value: JsonObject[keyof JsonObject] = null): JsonObject => ({
  identityProvider: { uid, oidc: { clientSecret: "a secret", [name]: value } },
  updateMask: `oidc.${name},oidc.clientSecret`,
});
/** A client secret does not decide who signs in, and a correlation rule is immutable. */
const harmless = ["clientSecret", "correlationRule"];

const ways: readonly Way[] = [
  {
    uses: ["RoleBindingsService/CreateRoleBinding roleBinding.roleUid"],
    what: "a binding",
    method: named("RoleBindingsService/CreateRoleBinding"),
    request: async (allowed) => ({ parent: organization, roleBinding: { identityUid: await bot(), roleUid: roleFor(allowed) } }),
  },
  {
    uses: ["RoleBindingsService/UpdateRoleBinding roleBinding.roleUid"],
    what: "another role for a binding",
    method: named("RoleBindingsService/UpdateRoleBinding"),
    request: async (allowed) => ({
      roleBinding: { uid: await stage.bind(organization, await bot(), await newRole("tag.list")), roleUid: roleFor(allowed) },
      updateMask: "roleUid",
    }),
  },
  {
    uses: [],
    what: "another identity for a binding",
    method: named("RoleBindingsService/UpdateRoleBinding"),
    request: async (allowed) => ({
      roleBinding: { uid: await stage.bind(organization, await bot(), roleFor(allowed)), identityUid: await bot() },
      updateMask: "identityUid",
    }),
  },
  {
    uses: ["RoleBindingsService/BatchCreateRoleBindings roleUid"],
    what: "a batch with one role for all",
    method: named("RoleBindingsService/BatchCreateRoleBindings"),
    request: async (allowed) => ({ parent: organization, roleUid: roleFor(allowed), requests: [{ roleBinding: { identityUid: await bot() } }] }),
  },
  {
    uses: ["RoleBindingsService/BatchCreateRoleBindings requests.roleBinding.roleUid"],
    what: "the last of a batch",
    method: named("RoleBindingsService/BatchCreateRoleBindings"),
    request: async (allowed) => ({
      parent: organization,
      requests: [
        { roleBinding: { identityUid: await bot(), roleUid: roles.allowed } },
        { roleBinding: { identityUid: await bot(), roleUid: roleFor(allowed) } },
      ],
    }),
  },
  {
    uses: ["RolesService/CreateRole role.capabilities"],
    what: "a role",
    method: named("RolesService/CreateRole"),
    request: async (allowed) => ({ parent: organization, role: { name: `role ${stage.next()}`, capabilities: symbolsOf(allowed ? [held] : [held, lacked]) } }),
  },
  {
    uses: ["RolesService/UpdateRole role.capabilities"],
    what: "more for a role",
    method: named("RolesService/UpdateRole"),
    request: async (allowed) => ({
      role: { uid: await newRole("tag.list"), capabilities: symbolsOf(["tag.list", allowed ? held : lacked]) },
      updateMask: "capabilities",
    }),
  },
  {
    uses: ["GroupInvitesService/CreateGroupInvite groupInvite.roleUid"],
    what: "an invite",
    method: named("GroupInvitesService/CreateGroupInvite"),
    request: async (allowed) => ({ parent: organization, groupInvite: { roleUid: roleFor(allowed), ttl: "3600s" } }),
  },
  {
    uses: ["IdentityProvidersService/CreateIdentityProvider identityProvider.defaultRole"],
    what: "a default role",
    method: named("IdentityProvidersService/CreateIdentityProvider"),
    request: async (allowed) => ({
      parent: organization,
      identityProvider: {
        name: `provider ${stage.next()}`,
        defaultRole: roleFor(allowed),
        oidc: { issuer: "https://login.example.com", clientId: "gantry", clientSecret: "a secret" },
      },
    }),
  },
  {
    uses: ["IdentityProvidersService/UpdateIdentityProvider identityProvider.defaultRole"],
    what: "another default role",
    method: named("IdentityProvidersService/UpdateIdentityProvider"),
    request: async (allowed) => ({
      identityProvider: { uid: await provider(await newRole("tag.list")), defaultRole: roleFor(allowed) },
      updateMask: "defaultRole",
    }),
  },
  ...Object.entries(configurations).flatMap(([name, value]): Way[] => [
    {
      uses: [],
      what: `another ${name} for a provider with a default role`,
      method: named("IdentityProvidersService/UpdateIdentityProvider"),
      request: async (allowed) => reconfigure(await provider(roleFor(allowed)), name, value),
    },
    {
      uses: [],
      what: `another ${name} for a provider with mappings`,
      method: named("IdentityProvidersService/UpdateIdentityProvider"),
      request: async (allowed) => reconfigure(await mapped(allowed), name, value),
    },
  ]),
  {
    uses: ["ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping externalGroupRoleMapping.roleUid"],
    what: "a mapping",
    method: named("ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping"),
    request: async (allowed) => ({
      parent: await provider(roles.allowed),
      externalGroupRoleMapping: { externalGroupId: `group ${stage.next()}`, roleUid: roleFor(allowed), scope: organization },
    }),
  },
  ...["claimMatch", "staticKeys", "awsIdentity"].map(
    (name): Way => ({
      uses: [`IdentitiesService/UpdateIdentity identity.${name}`],
      what: `another ${name} for an identity with rights`,
      method: named("IdentitiesService/UpdateIdentity"),
      request: async (allowed) => ({ identity: { uid: await bound(allowed), ...(await relationshipOf(name)) }, updateMask: `claimMatch,${name}` }),
    }),
  ),
  {
    uses: [],
    what: "one claim of an identity with rights",
    method: named("IdentitiesService/UpdateIdentity"),
    request: async (allowed) => ({ identity: { uid: await bound(allowed), claimMatch: { claims: { actor: "me" } } }, updateMask: "claimMatch.claims" }),
  },
  {
    uses: [],
    what: "a whole identity with rights",
    method: named("IdentitiesService/UpdateIdentity"),
    request: async (allowed) => ({
      identity: { uid: await bound(allowed), name: "mine", claimMatch: { issuer: "https://mine.example.com", subject: "me" } },
      updateMask: "*",
    }),
  },
];

/** A new identity has no permissions yet, and another group's service principal cannot be chosen. */
const givesNothing = (field: string): boolean =>
  field.startsWith("IdentitiesService/CreateIdentity ") || field === "IdentitiesService/UpdateIdentity identity.servicePrincipal";

test("attack 5: the table covers every field that names a role, a capability or a way to assume an identity", () => {
  assert.deepEqual(
    nonEmpty(inContract, "field")
      .filter((field) => !givesNothing(field))
      .sort(),
    [...new Set(ways.flatMap(({ uses }) => uses))].sort(),
  );
  const oidc = named("IdentityProvidersService/UpdateIdentityProvider").input.byName.get("identity_provider")?.message?.byName.get("oidc")?.message;
  const writable = (oidc?.fields ?? []).filter(({ outputOnly }: FieldFact) => !outputOnly).map(({ json }) => json);
  assert.deepEqual([...Object.keys(configurations), ...harmless].sort(), writable.sort());
});

const minuteMs = 60_000;

/** Every capability that these paths need, and all others except one. */
const allButOne = everyCapabilityBut(lacked);

const granters: Readonly<Record<string, () => Promise<string>>> = {
  "who holds everything but one capability": async () => (await stage.holder(allButOne, organization)).token,
  "who holds it in a group below only": async () => {
    const granter = await stage.holder(allButOne, organization);
    await stage.bind(team, granter.uid, roles.refused);
    return granter.token;
  },
  "whose token is narrowed to everything but it": () => world.token(owner.uid, { capabilities: allButOne }),
  "who held it until now": async () => {
    const granter = await stage.holder(allButOne, organization);
    const { uid } = await world.ok(`${iam}.RoleBindingsService/CreateRoleBinding`, {
      parent: organization,
      roleBinding: { identityUid: granter.uid, roleUid: roles.refused },
    });
    assert.equal(
      (
        await stage.call(
          "rest",
          named("RolesService/CreateRole"),
          { parent: organization, role: { name: `held ${stage.next()}`, capabilities: symbolsOf([lacked]) } },
          { token: granter.token },
        )
      ).code,
      0,
    );
    await world.ok(`${iam}.RoleBindingsService/DeleteRoleBinding`, { uid: text({ uid: uid ?? "" }, "uid") });
    return granter.token;
  },
};

for (const [who, granter] of Object.entries(granters))
  test(`attack 5: ${who} cannot grant it on any path, and can grant held capabilities on each`, async () => {
    const token = await granter();
    for (const { what, method, request } of ways) {
      const refused = await request(false);
      const before = await stage.fingerprint();
      for (const protocol of protocols) {
        const { code, message } = await stage.call(protocol, method, refused, { token });
        assert.equal(code, codes.PERMISSION_DENIED, `${what} over ${protocol}: ${message}`);
      }
      assert.equal(await stage.fingerprint(), before, `${what} changed nothing`);
      const { code, message, details } = await stage.call("rest", method, await request(true), { token });
      assert.equal(code, 0, `${what}, of what they hold: ${message} ${JSON.stringify(details)}`);
    }
  });

test("attack 5: a temporary permission cannot be granted permanently on any path", async () => {
  const granter = await stage.holder(allButOne, organization);
  const expireTime = new Date(world.clock.now + 30 * minuteMs).toISOString();
  await world.ok(`${iam}.RoleBindingsService/CreateRoleBinding`, {
    parent: organization,
    roleBinding: { identityUid: granter.uid, roleUid: roles.refused, expireTime },
  });
  for (const { what, method, request } of ways) {
    const expected = method.rpc === "CreateRole" ? 0 : codes.PERMISSION_DENIED;
    const { code, message } = await stage.call("grpc", method, await request(false), { token: granter.token });
    assert.equal(code, expected, `${what}: ${message}`);
  }
});

test("attack 5: a role of another organization cannot be granted here, even to an identity of its owner", async () => {
  const { organization: other } = await neighbour(stage);
  const roleUid = text(await stage.make(roleMessage, { place: other, parent: other, capabilities: [held] }), "uid");
  const identityUid = (await stage.stranger(organization)).uid;
  for (const protocol of protocols) {
    const answer = await stage.call(
      protocol,
      named("RoleBindingsService/CreateRoleBinding"),
      { parent: organization, roleBinding: { identityUid, roleUid } },
      owner,
    );
    assert.equal(answer.code, codes.INVALID_ARGUMENT, answer.message);
    assert.match(JSON.stringify(answer.details), /must be a built-in role, or one of this group or of one above it/);
  }
});

test("attack 5: no one can assume a user's identity, not even the operator", async () => {
  const person = await registerPerson(world.server.application.kernel, {
    issuer: "https://people.example.com",
    subject: "ada",
    email: "ada@example.com",
    name: "Ada",
  });
  await stage.bind(organization, person, roles.refused);
  for (const token of [await stage.operator(), owner.token])
    for (const name of ["claimMatch", "staticKeys", "awsIdentity"]) {
      const request = { identity: { uid: person, ...(await relationshipOf(name)) }, updateMask: name };
      for (const protocol of protocols) {
        const { code } = await stage.call(protocol, named("IdentitiesService/UpdateIdentity"), request, { token });
        assert.ok(code === codes.INVALID_ARGUMENT || code === codes.PERMISSION_DENIED, `${name} over ${protocol}: ${code}`);
      }
    }
});

test("attack 72: an update of all fields (*) by a client unaware of expiry never makes a binding permanent", async () => {
  const { uid: identityUid } = await stage.stranger(organization);
  const expireTime = new Date(world.clock.now + 3_600_000).toISOString();
  const made = await world.ok(`${iam}.RoleBindingsService/CreateRoleBinding`, {
    parent: organization,
    roleBinding: { identityUid, roleUid: roles.allowed, expireTime },
  });
  const update = named("RoleBindingsService/UpdateRoleBinding");
  for (const protocol of protocols) {
    const roleBinding = { uid: text(made, "uid"), identityUid, roleUid: await newRole(held) };
    const answer = await stage.call(protocol, update, { roleBinding, updateMask: "*" }, { token: owner.token });
    assert.equal(answer.code, 0, answer.message);
    const later = await world.ok(`${iam}.RoleBindingsService/GetRoleBinding`, { uid: roleBinding.uid });
    assert.deepEqual([later.roleUid, later.expireTime], [roleBinding.roleUid, expireTime], protocol);
  }
});
