// The operations that the public Terraform provider calls for twenty resources, as an owner, under v2beta1 and version 1, in its order. The provider
// itself is not installed, because its module is not available in builds.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { openOwners } from "../owner.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let token: string;
before(async () => {
  world = await openWorld();
  token = await openOwners(world).token();
});
after(() => world?.close());

const call = (name: string, request: JsonObject) => world.call(name, request, { protocol: "grpc", token });
const ask = async (name: string, request: JsonObject): Promise<JsonObject> => {
  const answer = await call(name, request);
  assert.equal(answer.code, 0, `${name}: ${answer.message}`);
  return answer.reply;
};

interface Resource {
  readonly create: () => Promise<JsonObject>;
  /** Undefined once it is deleted. */
  readonly read: (id: string) => Promise<JsonObject | undefined>;
  /** Undefined if a change replaces the resource. */
  readonly update?: (held: JsonObject) => Promise<JsonObject>;
  readonly remove: (id: string) => Promise<unknown>;
}

const idOf = (held: JsonObject): string => text(held, "uid") || text(held, "id");

/** Defines a resource of version 2 by its service and the fields of create and update. */
const current = (service: string, short: string, field: string, parent: () => string, body: () => JsonObject, change?: JsonObject): Resource => {
  const base = `chainguard.platform.iam.v2beta1.${service}`;
  return {
    create: () => ask(`${base}/Create${short}`, { parent: parent(), [field]: body() }),
    read: async (uid) => {
      const answer = await call(`${base}/Get${short}`, { uid });
      return answer.code === codes.NOT_FOUND ? undefined : answer.reply;
    },
    // The provider sends all known fields with the mask "*"; for a group it names them.
    ...(change === undefined
      ? {}
      : {
          update: (held) =>
            ask(`${base}/Update${short}`, {
              [field]: { ...body(), uid: idOf(held), ...change },
              updateMask: short === "Group" ? "name,description,verified" : "*",
            }),
        }),
    remove: (uid) => ask(`${base}/Delete${short}`, { uid }),
  };
};

const registry = "chainguard.platform.registry.Registry";

const earlier = (
  read: string,
  create: () => Promise<JsonObject>,
  remove: (id: string) => Promise<unknown>,
  update?: (held: JsonObject) => Promise<JsonObject>,
): Resource => ({
  create,
  read: async (id) => {
    const [first, ...others] = objectList({ items: [], ...(await ask(read, { id })) }, "items");
    assert.equal(others.length, 0);
    return first;
  },
  ...(update ? { update } : {}),
  remove,
});

/** Returns the fields that the provider compares, without times and lookups. */
const compared = (held: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(held).filter(([key]) => !/^(?:code|ttl|clientSecret|updateTime|updatedAt|lastUpdated|last_updated)$/.test(key)));

test("twenty resources of a Terraform configuration are applied, planned empty, changed, imported and destroyed by an owner", async () => {
  const root = world.organization;
  const made = new Map<string, JsonObject>();
  const id = (name: string): string => idOf(made.get(name) ?? assert.fail(`${name} is not made yet`));
  const groups = (name: string, parent: () => string): Resource =>
    current("GroupsService", "Group", "group", parent, () => ({ name, description: "Builds" }), { description: "Ships" });
  const role = (name: string, capabilities: string[]): Resource =>
    current(
      "RolesService",
      "Role",
      "role",
      () => root,
      () => ({ name, capabilities }),
      { description: "Changed" },
    );
  const identity = (name: string, relation: JsonObject): Resource =>
    current(
      "IdentitiesService",
      "Identity",
      "identity",
      () => id("team"),
      () => ({ name, ...relation }),
      { description: "Changed" },
    );
  const binding = (group: () => string, who: string, roleUid: () => string): Resource =>
    current("RoleBindingsService", "RoleBinding", "roleBinding", group, () => ({ identityUid: id(who), roleUid: roleUid() }), {
      roleUid: builtInRoleUid("viewer"),
    });
  const repo = (name: string): Resource =>
    earlier(
      `${registry}/ListRepos`,
      () => ask(`${registry}/CreateRepo`, { parentId: id("team"), repo: { name, bundles: ["base"], readme: "# Hello" } }),
      (uid) => ask(`${registry}/DeleteRepo`, { id: uid }),
      (held) => ask(`${registry}/UpdateRepo`, { id: idOf(held), name, bundles: ["base", "fips"], readme: "# Changed", catalogTier: "BASE" }),
    );
  const tag = (name: string): Resource =>
    earlier(
      `${registry}/ListTags`,
      () => ask(`${registry}/CreateTag`, { repoId: id("app"), tag: { name } }),
      (uid) => ask(`${registry}/DeleteTag`, { id: uid }),
      (held) => ask(`${registry}/UpdateTag`, { id: idOf(held), name, deprecated: true }),
    );
  const charts = (repoUrl: string): JsonObject => ({ charts: [{ repo: repoUrl }] });
  const oidc = { issuer: "https://login.example.com", clientId: "gantry", clientSecret: "s3cret", additionalScopes: ["email", "profile"] };
  const actions = "https://token.actions.githubusercontent.com";
  const configuration: readonly (readonly [string, Resource])[] = [
    ["team", groups("team", () => root)],
    ["inner", groups("inner", () => id("team"))],
    ["deep", groups("deep", () => id("inner"))],
    ["publisher", role("publisher", ["CAP_REPO_CREATE", "CAP_REPO_LIST"])],
    ["reader", role("reader", ["CAP_REPO_LIST"])],
    ["ci", identity("ci", { claimMatch: { issuer: actions, subject: "repo:acme/app" } })],
    ["patterns", identity("patterns", { claimMatch: { issuer: actions, subjectPattern: "repo:acme/.*" } })],
    ["keys", identity("keys", { staticKeys: { issuer: "https://keys.example.com", subject: "job", issuerKeys: "keys" } })],
    ["aws", identity("aws", { awsIdentity: { awsAccount: "123456789012", arn: "arn:aws:sts::123456789012:assumed-role/ci/job", userId: "AROA:job" } })],
    [
      "ci-publishes",
      binding(
        () => id("team"),
        "ci",
        () => id("publisher"),
      ),
    ],
    [
      "ci-reads",
      binding(
        () => id("inner"),
        "ci",
        () => id("reader"),
      ),
    ],
    [
      "aws-reads",
      binding(
        () => id("inner"),
        "aws",
        () => id("reader"),
      ),
    ],
    [
      "provider",
      current(
        "IdentityProvidersService",
        "IdentityProvider",
        "identityProvider",
        () => root,
        () => ({ name: "sign-in", defaultRole: id("reader"), oidc }),
        { description: "Changed" },
      ),
    ],
    [
      "invite",
      current(
        "GroupInvitesService",
        "GroupInvite",
        "groupInvite",
        () => root,
        () => ({ roleUid: id("reader"), ttl: "3600s", email: "ada@example.com" }),
      ),
    ],
    [
      "accounts",
      current(
        "AccountAssociationsService",
        "AccountAssociation",
        "accountAssociation",
        () => id("team"),
        () => ({ name: "accounts", amazon: { account: "123456789012" } }),
        { description: "Changed" },
      ),
    ],
    [
      "events",
      earlier(
        "chainguard.platform.events.Subscriptions/List",
        () => ask("chainguard.platform.events.Subscriptions/Create", { parentId: root, subscription: { sink: "https://hooks.example.com/gantry" } }),
        (uid) => ask("chainguard.platform.events.Subscriptions/Delete", { id: uid }),
      ),
    ],
    ["app", repo("app")],
    ["base", repo("base")],
    ["latest", tag("latest")],
    ["edge", tag("edge")],
    [
      "deployment",
      {
        create: () => ask(`${registry}/CreateDeployment`, { parentId: id("app"), ...charts("oci://charts.example.com/app") }),
        read: async (repoId) => {
          const answer = await call(`${registry}/GetDeployment`, { repoId });
          return answer.code === codes.NOT_FOUND ? undefined : answer.reply;
        },
        update: (held) => ask(`${registry}/UpdateDeployment`, { repoId: idOf(held), ...charts("oci://charts.example.com/app-2") }),
        remove: (repoId) => ask(`${registry}/UpdateDeployment`, { repoId }),
      },
    ],
  ];
  assert.ok(configuration.length >= 20);
  const read = async (name: string, { read: readOne }: Resource): Promise<JsonObject> => {
    const held = await readOne(id(name));
    return compared(held ?? assert.fail(`${name} is gone`));
  };
  for (const [name, resource] of configuration) made.set(name, await resource.create());
  const applied = new Map<string, JsonObject>();
  for (const [name, resource] of configuration) {
    const held = await read(name, resource);
    for (const [key, value] of Object.entries(compared(made.get(name) ?? {}))) assert.deepEqual(held[key], value, `${name}: ${key} after the apply`);
    applied.set(name, held);
  }
  for (const [name, resource] of configuration) assert.deepEqual(await read(name, resource), applied.get(name), `${name}: the plan is empty`);
  for (const [name, resource] of configuration) {
    const changed = await resource.update?.(applied.get(name) ?? {});
    if (!changed) continue;
    assert.notDeepEqual(compared(changed), applied.get(name), `${name} has changed`);
    const held = await read(name, resource);
    for (const [key, value] of Object.entries(compared(changed))) assert.deepEqual(held[key], value, `${name}: ${key} after the change`);
    // An import knows only the ID and reads the same values.
    assert.deepEqual(compared((await resource.read(id(name))) ?? {}), held, `${name} is imported`);
  }
  for (const [name, resource] of [...configuration].reverse()) {
    await resource.remove(id(name));
    assert.equal(await resource.read(id(name)), undefined, `${name} is destroyed`);
  }
});
