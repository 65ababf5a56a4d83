// No grant outlives its grantor. Every granting operation (hands_on) is called with permissions that are permanent, temporary, or from a
// sign-in's groups, for grants without expiry, within it, or beyond it.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact, MethodFact } from "#contract/facts.ts";
import { openOwners } from "../owner.ts";
import { openProvider, registerProvider, signIn } from "../provider.ts";
import { nonEmpty } from "../samples.ts";
import { createIdentity } from "../story/installation.ts";
import { openWorld } from "../world.ts";
import { protocols, symbolsOf } from "./stage.ts";

const world = openOwners(await openWorld()).world();
const provider = await openProvider(() => world.clock.now);
after(async () => {
  await world.close();
  await provider.close();
});

const claimMatch = { issuer: "https://issuer.example.com", subject: "somebody" };
const minute = 60_000;
/** The granted capabilities, for operations that grant capabilities of a role. */
const handedOn = ["repo.list", "tag.list"];

interface Giver {
  readonly who: string;
  /** The earliest expiry of the permissions; undefined if all are permanent. */
  readonly endMs: number | undefined;
  readonly isSession: boolean;
  readonly token: (method: MethodFact) => Promise<string>;
}

const bind = async (identityUid: string, roleUid: string, endMs?: number): Promise<string> =>
  text(
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
      parent: world.organization,
      roleBinding: { identityUid, roleUid, ...(endMs === undefined ? {} : { expireTime: new Date(endMs).toISOString() }) },
    }),
    "uid",
  );
const roleOf = async (names: readonly string[]): Promise<string> =>
  text(
    await world.ok("iam.RolesService/CreateRole", { parent: world.organization, role: { name: "some", capabilities: symbolsOf([...new Set(names)]) } }),
    "uid",
  );
const someone = (): Promise<string> => createIdentity(world, world.organization, "somebody", claimMatch);
/** Returns the required capabilities; an undelete restores a role binding here, and needs the permission to create one. */
const neededFor = ({ capabilities, delegates }: MethodFact): readonly string[] =>
  delegates?.rights === "deletion" ? [...capabilities, "role_bindings.create"] : capabilities;
/** Creates a caller with everything that the operation needs and grants, each permanent or with an expiry. */
const giver = async (method: MethodFact, neededEndMs: number | undefined, givenEndMs: number | undefined): Promise<string> => {
  const uid = await someone();
  await bind(uid, await roleOf([...neededFor(method), "groups.list"]), neededEndMs);
  await bind(uid, await roleOf(handedOn), givenEndMs);
  return world.token(uid);
};

const idp = await registerProvider(world, provider, { oidc: { groupsClaim: "groups" } });
await world.ok("iam.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping", {
  parent: idp,
  externalGroupRoleMapping: { externalGroupId: "owners", roleUid: builtInRoleUid("owner"), scope: world.organization },
});
for (let count = 0; count < 2; count++) await bind(await someone(), builtInRoleUid("owner"));

const soonMs = world.clock.now + 10 * minute;
const givers: readonly Giver[] = [
  { who: "who holds both for good", endMs: undefined, isSession: false, token: (method) => giver(method, undefined, undefined) },
  { who: "who holds what is given for ten minutes", endMs: soonMs, isSession: false, token: (method) => giver(method, undefined, soonMs) },
  { who: "who holds the right to give for ten minutes", endMs: soonMs, isSession: false, token: (method) => giver(method, soonMs, undefined) },
  {
    who: "who holds both by the groups of a sign-in",
    endMs: world.clock.now + limits.sessionDelegationMs,
    isSession: true,
    token: async () => (await signIn(world, provider, idp, { sub: "ada", groups: ["owners"] })).token,
  },
];

interface Asked {
  readonly request: JsonObject;
  /** True if only the operation's own capabilities are granted. */
  readonly ownOnly?: boolean;
}

const expireTime = (endMs: number | undefined): JsonObject => (endMs === undefined ? {} : { expireTime: new Date(endMs).toISOString() });
const until = (endMs: number | undefined): JsonObject => (endMs === undefined ? { neverExpires: true } : expireTime(endMs));
const freshProvider = async (): Promise<string> => registerProvider(world, provider, { role: await roleOf(handedOn) });
const etagOf = async (identityProviderUid: string): Promise<string> =>
  text(await world.ok("iam.IdentityProvidersService/GenerateScimToken", { identityProviderUid }), "etag");

/** The request of each granting operation, for a new grantee and this expiry; undefined means permanent. */
const asked: Readonly<Record<string, (endMs: number | undefined) => Promise<Asked>>> = {
  CreateRoleBinding: async (endMs) => ({
    request: { parent: world.organization, roleBinding: { identityUid: await someone(), roleUid: await roleOf(handedOn), ...expireTime(endMs) } },
  }),
  BatchCreateRoleBindings: async (endMs) => ({
    request: {
      parent: world.organization,
      roleUid: await roleOf(handedOn),
      // The first is within every caller's expiry (attack 4).
      requests: [
        { roleBinding: { identityUid: await someone(), ...expireTime(world.clock.now + minute) } },
        { roleBinding: { identityUid: await someone(), ...expireTime(endMs) } },
      ],
    },
  }),
  UpdateRoleBinding: async (endMs) => ({
    request: {
      roleBinding: { uid: await bind(await someone(), await roleOf(handedOn), world.clock.now + minute), ...expireTime(endMs) },
      updateMask: "expireTime",
    },
  }),
  CreateGroupInvite: async (endMs) => ({
    request: { parent: world.organization, groupInvite: { roleUid: await roleOf(handedOn), ttl: "60s", ...expireTime(endMs) } },
  }),
  UpdateIdentity: async (endMs) => {
    const uid = await someone();
    await bind(uid, await roleOf(handedOn));
    const mine = { issuer: "https://mine.example.com", subject: "me" };
    return { request: { identity: { uid, claimMatch: mine, ...expireTime(endMs) }, updateMask: "claimMatch,expireTime" } };
  },
  CreateExternalGroupRoleMapping: async () => ({
    request: {
      parent: await freshProvider(),
      externalGroupRoleMapping: { externalGroupId: "mine", roleUid: await roleOf(handedOn), scope: world.organization },
    },
  }),
  CreateIdentityProvider: async () => ({
    request: {
      parent: world.organization,
      identityProvider: {
        name: "mine",
        defaultRole: await roleOf(handedOn),
        oidc: { issuer: "https://mine.example.com", clientId: "mine", clientSecret: "secret" },
      },
    },
  }),
  UpdateIdentityProvider: async () => ({
    request: {
      identityProvider: { uid: await freshProvider(), oidc: { clientId: "mine", clientSecret: "anew" } },
      updateMask: "oidc.client_id,oidc.client_secret",
    },
  }),
  GenerateScimToken: async (endMs) => ({ request: { identityProviderUid: await freshProvider(), ...until(endMs) }, ownOnly: true }),
  RegenerateScimToken: async (endMs) => {
    const identityProviderUid = await freshProvider();
    return { request: { identityProviderUid, etag: await etagOf(identityProviderUid), ...until(endMs) }, ownOnly: true };
  },
  SetScimEnabled: async () => {
    const identityProviderUid = await freshProvider();
    return { request: { identityProviderUid, etag: await etagOf(identityProviderUid), enabled: true }, ownOnly: true };
  },
  UndeleteDeletion: async () => {
    const uid = await bind(await someone(), await roleOf(handedOn));
    await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid });
    const { deletions } = await world.ok("gantry.deletions.v1.DeletionsService/ListDeletions", { resourceUids: [uid] });
    return { request: { uid: text((deletions as JsonObject[])[0] ?? {}, "uid") } };
  },
  UpdateRole: async () => ({
    request: { role: { uid: await roleOf(["groups.list"]), capabilities: symbolsOf(handedOn) }, updateMask: "capabilities" },
  }),
};

/** Grants that no grantor must hold: none, a checked promise, a new organization. */
const ungiven = ["none", "invite", "organization"];
const delegations = nonEmpty(
  methods.filter(({ delegates }) => delegates && !ungiven.includes(delegates.rights)),
  "operation that hands on rights",
);

for (const method of delegations)
  test(`${method.rpc}: its grant expires with the grantor's permissions at the latest, or is refused`, async () => {
    const { delegates } = method;
    const ask = asked[method.rpc] ?? assert.fail(`${method.name} hands on rights, and no request of it is tried here`);
    for (const { who, endMs: rightEndMs, isSession, token } of givers) {
      const lastMs = rightEndMs ?? world.clock.now + 365 * 24 * 60 * minute;
      const ends = delegates?.end === undefined ? [undefined] : [undefined, lastMs, lastMs + minute];
      for (const endMs of ends)
        for (const protocol of protocols) {
          const { request, ownOnly } = await ask(endMs);
          const isLong = rightEndMs !== undefined && (endMs ?? Number.POSITIVE_INFINITY) > rightEndMs;
          const allowed = isSession ? delegates?.fromSessions === true && !isLong : !isLong || (ownOnly === true && who.includes("what is given"));
          const what = `${who}, ${endMs === undefined ? "without an end" : `until ${endMs - world.clock.now} ms`}, over ${protocol}`;
          const caller = await token(method);
          // As a dry run, for real, and as a retry with the same key.
          const key = { "idempotency-key": `${method.rpc} ${who} ${endMs} ${protocol}` };
          for (const options of [{ validateOnly: true }, { headers: key }, { headers: key }]) {
            const answer = await world.call(method.name, request, { token: caller, protocol, ...options });
            assert.equal(answer.code, allowed ? 0 : codes.PERMISSION_DENIED, `${what}: ${answer.message}`);
            if (allowed) continue;
            const [, right = ""] = /A caller with (\S+ at \S+) from a role binding without expiry can grant it permanently$/.exec(answer.message) ?? [];
            assert.match(right, new RegExp(`^(?:${[...neededFor(method), ...handedOn].join("|")}) at ${world.organization}`), answer.message);
            assert.ok(answer.message.startsWith(`Permission denied: ${right} ${isSession ? "comes from the groups of your sign-in" : "expires at "}`));
          }
        }
    }
  });

/** Returns true for deletions, which grant nothing. */
const takesAway = ({ rpc }: MethodFact): boolean => /^(?:Batch)?(?:Delete|Revoke|Expunge)/.test(rpc);
/** Other writes of these services, which change no permission. */
const changesNoRight = ["UpdateGroup", "RequestGroupAccess", "UpdateIdentityMetadata"];

/** Returns writes of services with a granting operation that do not declare their own grant. */
const silent = (all: readonly MethodFact[]): string[] => {
  const handing = new Set(methods.flatMap(({ delegates, service }) => (delegates ? [service] : [])));
  return all.flatMap((method) => {
    const { service, rpc, writes, delegates } = method;
    return writes && handing.has(service) && !delegates && !takesAway(method) && !changesNoRight.includes(rpc) ? [method.name] : [];
  });
};

test("every write next to a granting operation declares its grant, and a missing declaration is detected", () => {
  assert.deepEqual(silent(methods), []);
  const handing = nonEmpty(
    methods.filter(({ delegates }) => delegates),
    "operation that hands on",
  );
  for (const method of handing) assert.deepEqual(silent([{ ...method, delegates: undefined }]), [method.name]);
  for (const rpc of changesNoRight) assert.ok(methods.some((method) => method.rpc === rpc));
});

test("the expiry of a grant is a field of its request", () => {
  for (const { name, input, delegates } of methods) {
    if (!delegates?.end) continue;
    let fields: MethodFact["input"] | undefined = input;
    let kind = "";
    for (const part of delegates.end) {
      const field: FieldFact | undefined = fields?.byName.get(part);
      kind = field?.kind ?? "";
      fields = field?.message;
    }
    assert.equal(kind, "timestamp", name);
  }
});
