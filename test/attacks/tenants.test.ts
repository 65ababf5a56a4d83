// Attacks across tenants and groups (numbers of docs/attacks.md). Of two organizations with resources of every kind, the owner of one attacks
// the other.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import type { MethodFact } from "#contract/facts.ts";
import { methods } from "#contract/catalog.ts";
import { callOver, type Protocol, restRequest } from "../client.ts";
import { isBesideOpen } from "../conformance/stage.ts";
import { column, http, items } from "../story/protocols.ts";
import { bind, databaseContents, createIdentity, findRole } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

const protocols: readonly Protocol[] = ["rest", "grpc"];
const digest = `sha256:${"d".repeat(64)}`;

interface Tenant {
  readonly organization: string;
  readonly team: string;
  readonly repo: string;
  readonly tag: string;
  readonly identity: string;
  readonly role: string;
  readonly binding: string;
  /** A token of an identity that owns the organization. */
  readonly owner: string;
}

let world: World;
let operator: string;
let ours: Tenant;
let theirs: Tenant;

const claimMatch = { issuer: "https://issuer.example.com", subject: "build" };

const makeTenant = async (name: string, organization: string): Promise<Tenant> => {
  const make = async (path: string, body: JsonObject): Promise<string> => {
    const seen = await http(world.url, "POST", path, { token: operator, body: JSON.stringify(body) });
    assert.equal(seen.status, 200, seen.text);
    return String(seen.body.uid);
  };
  const team = await make(`/iam/v2/groups/${organization}`, { name: `${name} team` });
  const repo = await make(`/registry/v2/repos/${organization}`, { name: `${name} repo` });
  const tag = await make(`/registry/v2/tags/${repo}`, { name: "latest", digest });
  const identity = await make(`/iam/v2/identities/${organization}`, { name: `${name} bot`, claimMatch });
  const role = await make(`/iam/v2/roles/${organization}`, { name: `${name} role`, capabilities: ["CAP_REPO_LIST"] });
  const binding = await bind(world, organization, identity, "viewer");
  const owner = await createIdentity(world, organization, `${name} owner`, claimMatch);
  await bind(world, organization, owner, "owner");
  return { organization, team, repo, tag, identity, role, binding, owner: await world.token(owner) };
};

before(async () => {
  world = await openWorld();
  operator = await world.token();
  ours = await makeTenant("ours", world.organization);
  const { uid } = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "another organization" } });
  theirs = await makeTenant("theirs", String(uid));
});
after(() => world?.close());

const uidsOf = ({ owner: _token, ...uids }: Tenant): string[] => Object.values(uids);

/** Returns a request with this uid in the field that names the operation's resource. */
const requestAt = (method: MethodFact, uid: string): JsonObject => {
  const nest = (path: readonly string[]): JsonObject => {
    const [key = "", ...rest] = path;
    return { [key]: rest.length === 0 ? uid : nest(rest) };
  };
  const extra: JsonObject = method.input.byName.has("digest") ? { digest } : {};
  // The path can contain a uid even without such a field ("/auth/v1/delete/{id=*}").
  const inPath = [...(method.http[0]?.template ?? "").matchAll(/\{(\w+)(?:=\*\*?)?\}/g)].map(([, name = ""]) => name);
  return {
    ...(method.scope ? nest(method.scope) : Object.fromEntries(inPath.map((name) => [method.input.byName.get(name)?.json ?? name, uid.slice(0, 40)]))),
    ...extra,
  };
};

/** Returns implemented operations that need a capability on a resource. Attacks 99 to 103 cover the OCI protocol. */
const scoped = (): MethodFact[] =>
  methods.filter((method) => method.scope !== undefined && !method.distribution && world.server.application.kernel.answers.has(method.name));

test("attack 1: another tenant's uid in any operation gets the same bytes as a missing one", async () => {
  assert.ok(scoped().length >= 20);
  const before = await databaseContents(world);
  const invented = [`${theirs.organization}/0123456789abcdef`, `${theirs.repo}/0123456789abcdef`, "0".repeat(40)];
  for (const method of scoped())
    for (const protocol of protocols) {
      const answers = await Promise.all(
        [...uidsOf(theirs), ...invented].map(async (uid) => {
          const { code, message, details } = await callOver(protocol, world.url, method.name, requestAt(method, uid), { token: ours.owner });
          return JSON.stringify({ code, message, details }).replaceAll(uid, "UID");
        }),
      );
      assert.deepEqual([...new Set(answers)].length, 1, `${protocol} ${method.name}: ${answers.join("\n")}`);
      assert.match(answers[0] ?? "", /^\{"code":7,"message":"Permission denied",/, `${protocol} ${method.name}`);
    }
  assert.deepEqual(await databaseContents(world), before);
});

test("attack 1: no list shows another tenant's rows, with any filter", async () => {
  const lists = methods.filter(
    ({ rpc, domain, version }) => rpc.startsWith("List") && ["v2", "v2beta1"].includes(version) && ["iam", "registry"].includes(domain),
  );
  const filters: readonly JsonObject[] = [
    {},
    { uidp: { ids: uidsOf(theirs) } },
    ...[theirs.organization, theirs.team, theirs.repo].flatMap((uid) => [
      { uidp: { descendantsOf: uid } },
      { uidp: { childrenOf: uid } },
      { uidp: { ancestorsOf: uid } },
    ]),
    ...["theirs repo", "theirs team", "theirs bot", "theirs role", "another organization"].map((name) => ({ name })),
    { digest },
    { identity: theirs.identity },
    { group: theirs.organization },
  ];
  let answered = 0;
  for (const method of lists.filter((each) => each.unscoped))
    for (const filter of filters) {
      if (Object.keys(filter).some((key) => !method.input.byName.has(key))) continue;
      for (const protocol of protocols) {
        const { code, reply } = await callOver(protocol, world.url, method.name, { ...filter, pageSize: 200 }, { token: ours.owner });
        if (code === 12) continue;
        assert.equal(code, 0, method.name);
        assert.ok(!JSON.stringify(reply).includes(theirs.organization), `${protocol} ${method.name} ${JSON.stringify(filter)}`);
        answered++;
      }
    }
  assert.ok(answered > 80);
});

// Operations without a capability, and without a token, by name; a new one must be added here.
const inventory = {
  open: [
    "chainguard.platform.advisory.v2.SecurityAdvisoryService/ListDocuments",
    "chainguard.platform.advisory.v2.SecurityAdvisoryService/ListVulnerabilityMetadata",
    "chainguard.platform.auth.Auth/GetHeadlessSession",
    "chainguard.platform.auth.Auth/Register",
    "chainguard.platform.oidc.SecurityTokenService/Exchange",
    "chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken",
    "chainguard.platform.ping.v2.PingService/Ping",
  ],
  anyToken: [
    "chainguard.platform.auth.Auth/Delete",
    "chainguard.platform.auth.Auth/Validate",
    "chainguard.platform.iam.v2.GroupsService/CheckEligibility",
    "chainguard.platform.iam.v2.GroupsService/LookupGroup",
    "chainguard.platform.iam.v2.GroupsService/RequestGroupAccess",
    "chainguard.platform.iam.v2.IdentitiesService/LookupIdentity",
    "chainguard.platform.iam.v2.IdentitiesService/UpdateIdentityMetadata",
    "gantry.access.v1.AccessService/Mine",
    "gantry.memberships.v1.MembershipsService/AcceptMembership",
    "gantry.memberships.v1.MembershipsService/DeclineMembership",
    "gantry.memberships.v1.MembershipsService/ListMemberships",
    "gantry.names.v1.NamesService/Lookup",
    "gantry.names.v1.NamesService/Resolve",
    "gantry.names.v1.NamesService/Search",
    "gantry.registry.v1.DistributionService/GetDistribution",
    "gantry.sessions.v1.SessionsService/ListSessions",
    "gantry.sessions.v1.SessionsService/RevokeAllSessions",
    "gantry.sessions.v1.SessionsService/RevokeSession",
  ],
};

test("attack 2: every route names its capability, and the few without one are listed here", () => {
  const names = (wanted: (method: MethodFact) => boolean): string[] =>
    methods
      .filter(wanted)
      .map(({ name }) => name)
      .sort();
  assert.deepEqual(
    names(({ open }) => open),
    inventory.open,
  );
  assert.deepEqual(
    names(({ open, capabilities, scim }) => !open && scim === undefined && capabilities.length === 0),
    inventory.anyToken,
  );
  // Operations for a provider's SCIM token only (attack 165) form one whole package.
  assert.deepEqual(
    names(({ scim }) => scim !== undefined),
    names(({ name }) => name.startsWith("gantry.scim.v1.")),
  );
});

test("attack 2: every path of every route refuses a request without a token or without permissions", async () => {
  const nobody = await world.token(await createIdentity(world, ours.organization, "may nothing", claimMatch));
  for (const method of methods.filter((each) => !each.open && !isBesideOpen(each)))
    for (const binding of method.http) {
      const { verb, path, body: sent } = restRequest({ ...method, http: [binding] }, requestAt(method, ours.repo));
      const body = sent === undefined ? {} : { body: sent };
      assert.equal((await http(world.url, verb, path, body)).status, 401, `${verb} ${path}`);
      const built = world.server.application.kernel.answers.has(method.name);
      if (method.scope || !built) assert.equal((await http(world.url, verb, path, { ...body, token: nobody })).status, built ? 403 : 501, `${verb} ${path}`);
    }
});

test("attack 2: resources below a repo (readme, images) need the repo's permissions", async () => {
  const paths = [
    `/registry/v2/repos/${theirs.repo}/readme`,
    `/registry/v2/repos/${theirs.repo}/digests/${digest}/size`,
    `/registry/v2/repos/${theirs.repo}/digests/${digest}/architectures`,
  ];
  for (const path of paths) assert.equal((await http(world.url, "GET", path, { token: ours.owner })).status, 403, path);
  const write = async (repo: string): Promise<number> =>
    (await http(world.url, "PATCH", `/registry/v2/repos/${repo}/readme`, { token: ours.owner, body: '{"content":"mine"}' })).status;
  assert.deepEqual([await write(theirs.repo), await write(ours.repo)], [403, 200]);
});

test("attack 3: a uid or parent in the body that differs from the path is refused", async () => {
  const before = await databaseContents(world);
  const cases: readonly (readonly [verb: string, path: string, body: JsonObject, field: string])[] = [
    ["PATCH", `/registry/v2/repos/${ours.repo}`, { uid: theirs.repo, description: "mine" }, "uid"],
    ["PATCH", `/iam/v2/groups/${ours.team}`, { uid: theirs.team, name: "mine" }, "uid"],
    ["PATCH", `/iam/v2/identities/${ours.identity}`, { uid: theirs.identity, description: "mine" }, "uid"],
    ["PATCH", `/iam/v2/roles/${ours.role}`, { uid: theirs.role, description: "mine" }, "uid"],
    ["PATCH", `/iam/v2/roleBindings/${ours.binding}`, { uid: theirs.binding, roleUid: ours.role }, "uid"],
    ["POST", `/registry/v2/repos/${ours.organization}?parent=${theirs.organization}`, { name: "mine" }, "parent"],
    ["POST", `/iam/v2/groups/${ours.organization}?parent=${theirs.organization}`, { name: "mine" }, "parent"],
  ];
  for (const [verb, path, body, field] of cases) {
    const seen = await http(world.url, verb, path, { token: ours.owner, body: JSON.stringify(body) });
    assert.equal(seen.status, 400, `${verb} ${path}: ${seen.text}`);
    assert.deepEqual(items(seen.body, "details")[1]?.fieldViolations, [{ field, description: "differs from the path" }]);
  }
  assert.deepEqual(await databaseContents(world), before);
});

const batches: Readonly<Record<string, (good: string) => JsonObject>> = {
  "a foreign identity": (good) => ({ requests: [{ roleBinding: { identityUid: good } }, { roleBinding: { identityUid: theirs.identity } }] }),
  "a foreign parent": (good) => ({ requests: [{ roleBinding: { identityUid: good } }, { parent: theirs.organization, roleBinding: { identityUid: good } }] }),
  "a foreign role": (good) => ({ requests: [{ roleBinding: { identityUid: good } }, { roleBinding: { identityUid: good, roleUid: theirs.role } }] }),
  "the operator's role": (good) => ({ requests: [{ roleBinding: { identityUid: good } }, { roleBinding: { identityUid: good, roleUid: "operator" } }] }),
  "an identity that is not there": (good) => ({
    requests: [{ roleBinding: { identityUid: good } }, { roleBinding: { identityUid: `${ours.organization}/00000000000000ff` } }],
  }),
};

for (const [what, of] of Object.entries(batches))
  test(`attack 4: a batch with ${what} in last place fails whole`, async () => {
    const good = await createIdentity(world, ours.organization, "in a batch", claimMatch);
    const [role, above] = await Promise.all([findRole(world, "registry.pull"), findRole(world, "operator")]);
    const request = JSON.parse(JSON.stringify(of(good)).replace('"operator"', JSON.stringify(above))) as JsonObject;
    const shared = JSON.stringify(request).includes("roleUid") ? {} : { roleUid: role };
    const filled = JSON.parse(
      JSON.stringify({ ...request, ...shared }).replace(`{"identityUid":"${good}"}`, JSON.stringify({ identityUid: good, roleUid: role })),
    ) as JsonObject;
    const before = await databaseContents(world);
    for (const protocol of protocols) {
      const { code } = await world.call(
        "iam.RoleBindingsService/BatchCreateRoleBindings",
        { parent: ours.organization, ...filled },
        { token: ours.owner, protocol },
      );
      assert.ok(code === 3 || code === 7, `${protocol}: ${code}`);
    }
    assert.deepEqual(await databaseContents(world), before);
    const alone = { parent: ours.organization, roleUid: role, requests: [{ roleBinding: { identityUid: good } }] };
    assert.equal((await world.call("iam.RoleBindingsService/BatchCreateRoleBindings", alone, { token: ours.owner })).code, 0, "without the last it is made");
  });

test("attack 5: a delegated admin cannot grant beyond their own permissions on any path", async () => {
  const delegated = [
    "CAP_IAM_GROUPS_LIST",
    "CAP_IAM_ROLES_CREATE",
    "CAP_IAM_ROLES_UPDATE",
    "CAP_IAM_ROLES_LIST",
    "CAP_IAM_ROLE_BINDINGS_CREATE",
    "CAP_IAM_ROLE_BINDINGS_UPDATE",
    "CAP_IAM_ROLE_BINDINGS_LIST",
    "CAP_IAM_IDENTITY_CREATE",
    "CAP_IAM_IDENTITY_UPDATE",
    "CAP_IAM_IDENTITY_LIST",
    "CAP_REPO_LIST",
  ];
  const create = async (path: string, body: JsonObject): Promise<string> =>
    String((await http(world.url, "POST", path, { token: operator, body: JSON.stringify(body) })).body.uid);
  const at = ours.organization;
  const delegateRole = await create(`/iam/v2/roles/${at}`, { name: "delegate", capabilities: delegated });
  const delegate = await createIdentity(world, at, "delegate", claimMatch);
  await create(`/iam/v2/roleBindings/${at}`, { identityUid: delegate, roleUid: delegateRole });
  const strong = await createIdentity(world, at, "strong", { issuer: "https://strong.example.com", subject: "strong" });
  await bind(world, at, strong, "owner");
  const weak = await createIdentity(world, at, "weak", claimMatch);
  const weakRole = await create(`/iam/v2/roles/${at}`, { name: "weak", capabilities: ["CAP_REPO_LIST"] });
  const weakBinding = await create(`/iam/v2/roleBindings/${at}`, { identityUid: weak, roleUid: weakRole });
  const [owner, viewer, full] = await Promise.all([findRole(world, "owner"), findRole(world, "viewer"), findRole(world, "operator")]);
  const token = await world.token(delegate);
  const before = await databaseContents(world);
  const tries: readonly (readonly [what: string, name: string, request: JsonObject])[] = [
    ["bind themselves to owner", "iam.RoleBindingsService/CreateRoleBinding", { parent: at, roleBinding: { identityUid: delegate, roleUid: owner } }],
    ["bind another to viewer", "iam.RoleBindingsService/CreateRoleBinding", { parent: at, roleBinding: { identityUid: weak, roleUid: viewer } }],
    ["bind in a group below", "iam.RoleBindingsService/CreateRoleBinding", { parent: ours.team, roleBinding: { identityUid: weak, roleUid: owner } }],
    ["bind the operator's role", "iam.RoleBindingsService/CreateRoleBinding", { parent: at, roleBinding: { identityUid: delegate, roleUid: full } }],
    ["bind in a batch", "iam.RoleBindingsService/BatchCreateRoleBindings", { parent: at, roleUid: owner, requests: [{ roleBinding: { identityUid: weak } }] }],
    ["turn a binding to owner", "iam.RoleBindingsService/UpdateRoleBinding", { roleBinding: { uid: weakBinding, roleUid: owner }, updateMask: "roleUid" }],
    ["make a role of more", "iam.RolesService/CreateRole", { parent: at, role: { name: "more", capabilities: ["CAP_REPO_DELETE"] } }],
    [
      "make their own role more",
      "iam.RolesService/UpdateRole",
      { role: { uid: delegateRole, capabilities: [...delegated, "CAP_REPO_DELETE"] }, updateMask: "capabilities" },
    ],
    [
      "take over who may act as the strong",
      "iam.IdentitiesService/UpdateIdentity",
      { identity: { uid: strong, claimMatch: { issuer: "https://evil.example.com", subject: "me" } }, updateMask: "claimMatch" },
    ],
    [
      "take it over by one claim",
      "iam.IdentitiesService/UpdateIdentity",
      { identity: { uid: strong, claimMatch: { subject: "me" } }, updateMask: "claimMatch.subject" },
    ],
    [
      "take it over by a full replacement",
      "iam.IdentitiesService/UpdateIdentity",
      { identity: { uid: strong, name: "strong", claimMatch: { issuer: "https://strong.example.com", subjectPattern: ".*" } }, updateMask: "*" },
    ],
    [
      "take it over with keys of their own",
      "iam.IdentitiesService/UpdateIdentity",
      {
        identity: {
          uid: strong,
          staticKeys: {
            issuer: "https://strong.example.com",
            subject: "strong",
            issuerKeys: '{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}',
          },
        },
        updateMask: "staticKeys",
      },
    ],
  ];
  for (const [what, name, request] of tries)
    for (const protocol of protocols) {
      const { code } = await world.call(name, request, { token, protocol });
      assert.equal(code, 7, `${what}, over ${protocol}`);
    }
  assert.deepEqual(await databaseContents(world), before);
  const granted = await world.call(
    "iam.RoleBindingsService/CreateRoleBinding",
    { parent: ours.team, roleBinding: { identityUid: weak, roleUid: weakRole } },
    { token },
  );
  assert.equal(granted.code, 0, granted.message);
  const renamed = await world.call(
    "iam.IdentitiesService/UpdateIdentity",
    { identity: { uid: strong, description: "described" }, updateMask: "description" },
    { token },
  );
  assert.equal(renamed.code, 0, renamed.message);
});

test("attack 7: within a tenant, a sibling group's uid gives no access", async () => {
  const { uid } = await world.ok("iam.GroupsService/CreateGroup", { parent: ours.organization, group: { name: "sibling" } });
  const sibling = String(uid);
  const member = await createIdentity(world, sibling, "member", claimMatch);
  await bind(world, sibling, member, "owner");
  const token = await world.token(member);
  for (const method of scoped())
    for (const place of [ours.team, ours.repo, ours.tag, ours.identity, ours.binding, ours.organization]) {
      const { code } = await callOver("rest", world.url, method.name, requestAt(method, place), { token });
      assert.equal(code, 7, `${method.name} at ${place}`);
    }
});

test("attack 8: callers never choose IDs: a uid, parent or time in the body of a create is ignored or refused", async () => {
  for (const protocol of protocols) {
    const chosen = `${ours.organization}/${protocol === "rest" ? "1" : "2"}${"a".repeat(15)}`;
    const { code, reply } = await world.call(
      "registry.ReposService/CreateRepo",
      { parent: ours.organization, repo: { uid: chosen, name: `chosen ${protocol}`, createTime: "2001-01-01T00:00:00Z", updateTime: "2001-01-01T00:00:00Z" } },
      { token: ours.owner, protocol },
    );
    assert.equal(code, 0);
    assert.notEqual(reply.uid, chosen);
    assert.ok(String(reply.createTime) > "2020");
  }
});

test("attack 8: a recreated resource of the same name is new, and old tokens, bindings and tags do not return", async () => {
  const make = async () => {
    const identity = await createIdentity(world, ours.organization, "recycled", claimMatch);
    const repo = String((await world.ok("registry.ReposService/CreateRepo", { parent: ours.organization, repo: { name: "recycled" } })).uid);
    return { identity, repo };
  };
  const first = await make();
  const binding = await bind(world, ours.organization, first.identity, "owner");
  const tag = String((await world.ok("registry.TagsService/CreateTag", { parent: first.repo, tag: { name: "old", digest } })).uid);
  const token = await world.token(first.identity);
  assert.equal((await http(world.url, "GET", `/registry/v2/repos/${first.repo}`, { token })).status, 200);
  await world.ok("iam.IdentitiesService/DeleteIdentity", { uid: first.identity });
  await world.ok("registry.ReposService/DeleteRepo", { uid: first.repo });
  const second = await make();
  assert.notEqual(second.identity, first.identity);
  assert.notEqual(second.repo, first.repo);
  assert.equal((await http(world.url, "GET", "/registry/v2/repos", { token })).status, 401);
  assert.equal((await http(world.url, "GET", `/iam/v2/roleBindings/${binding}`, { token: operator })).status, 404);
  assert.equal((await http(world.url, "GET", `/registry/v2/tags/${tag}`, { token: operator })).status, 404);
  const { body } = await http(world.url, "GET", `/registry/v2/tags?uidp.children_of=${second.repo}`, { token: operator });
  assert.deepEqual(body, { tags: [], totalCount: "0", skipped: 0 });
  assert.deepEqual((await http(world.url, "GET", "/registry/v2/repos", { token: await world.token(second.identity) })).body.repos, []);
});

test("attack 10: a tag hidden by name is hidden by digest, uid, repo and image too", async () => {
  const { uid } = await world.ok("iam.GroupsService/CreateGroup", { parent: ours.organization, group: { name: "outsiders" } });
  const member = await createIdentity(world, String(uid), "outsider", claimMatch);
  await bind(world, String(uid), member, "viewer");
  const token = await world.token(member);
  for (const query of [
    "",
    "name=latest",
    `digest=${digest}`,
    `uidp.children_of=${ours.repo}`,
    `uidp.descendants_of=${ours.organization}`,
    `uidp.ids=${ours.tag}`,
    "include_dates=true&include_referrers=true&include_epochs=true",
  ]) {
    const { status, body } = await http(world.url, "GET", `/registry/v2/tags?${query}`, { token });
    assert.deepEqual({ status, body }, { status: 200, body: { tags: [], totalCount: "0", skipped: 0 } }, query);
  }
  for (const path of [`/registry/v2/tags/${ours.tag}`, `/registry/v2/repos/${ours.repo}/digests/${digest}/size`])
    assert.equal((await http(world.url, "GET", path, { token })).status, 403, path);
});

test("attack 10: an image in another organization's repo is not readable through the caller's own repo", async () => {
  const { store } = world.server.application.services;
  await store.write((rows) =>
    rows.query("insert into manifests (repo_uid, index_digest, digest, os, architecture, size_bytes) values ($1, $2, $2, 'linux', 'amd64', 1)", [
      theirs.repo,
      digest,
    ]),
  );
  assert.equal((await http(world.url, "GET", `/registry/v2/repos/${theirs.repo}/digests/${digest}/size`, { token: theirs.owner })).status, 200);
  assert.equal((await http(world.url, "GET", `/registry/v2/repos/${ours.repo}/digests/${digest}/size`, { token: ours.owner })).status, 404);
});

test("attack 10: deleting a repo removes its tags by name, digest and uid, over both protocols", async () => {
  const repo = String((await world.ok("registry.ReposService/CreateRepo", { parent: ours.organization, repo: { name: "cascade" } })).uid);
  const own = `sha256:${"c".repeat(64)}`;
  const tag = String((await world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name: "cascade", digest: own } })).uid);
  await world.ok("registry.ReposService/DeleteRepo", { uid: repo });
  for (const protocol of protocols) {
    for (const filter of [{ name: "cascade" }, { digest: own }, { uidp: { ids: [tag] } }]) {
      const { reply } = await world.call("registry.TagsService/ListTags", filter, { token: operator, protocol });
      assert.deepEqual(items(reply, "tags"), [], JSON.stringify(filter));
    }
    assert.equal((await world.call("registry.TagsService/GetTag", { uid: tag }, { token: operator, protocol })).code, 5);
  }
});

test("attack 25: a page token works only for its caller, list, filters and order", async () => {
  for (const name of ["p1", "p2", "p3"]) {
    await world.ok("registry.ReposService/CreateRepo", { parent: ours.organization, repo: { name } });
    await world.ok("registry.ReposService/CreateRepo", { parent: theirs.organization, repo: { name } });
  }
  const second = await world.token(
    await createIdentity(world, ours.organization, "second owner", claimMatch).then(async (uid) => {
      await bind(world, ours.organization, uid, "owner");
      return uid;
    }),
  );
  const query = { uidp: { descendantsOf: ours.organization }, orderBy: "name", pageSize: 1 };
  const first = await world.call("registry.ReposService/ListRepos", query, { token: ours.owner });
  const pageToken = String(first.reply.nextPageToken);
  const refused: readonly (readonly [what: string, name: string, request: JsonObject, token: string])[] = [
    ["another tenant's caller", "registry.ReposService/ListRepos", query, theirs.owner],
    ["another caller with the same rights", "registry.ReposService/ListRepos", query, second],
    ["the operator", "registry.ReposService/ListRepos", query, operator],
    ["another order", "registry.ReposService/ListRepos", { ...query, orderBy: "name desc" }, ours.owner],
    ["no order", "registry.ReposService/ListRepos", { ...query, orderBy: "" }, ours.owner],
    ["another place", "registry.ReposService/ListRepos", { ...query, uidp: { descendantsOf: ours.team } }, ours.owner],
    ["no place", "registry.ReposService/ListRepos", { orderBy: "name" }, ours.owner],
    ["one more filter", "registry.ReposService/ListRepos", { ...query, name: "p1" }, ours.owner],
    ["another list", "iam.GroupsService/ListGroups", query, ours.owner],
  ];
  for (const [what, name, request, token] of refused)
    for (const protocol of protocols) {
      const { code, details } = await world.call(name, { ...request, pageToken }, { token, protocol });
      assert.equal(code, 3, `${what}, over ${protocol}`);
      assert.deepEqual(column(details[1] ?? {}, "fieldViolations", "field"), ["page_token"], what);
    }
  const good = await world.call("registry.ReposService/ListRepos", { ...query, pageToken, pageSize: 2, skip: 1 }, { token: ours.owner });
  assert.equal(good.code, 0, "page_size and skip may change");
  assert.equal(column(good.reply, "repos", "name").length, 2);
});

test("attack 25: a page token reveals nothing of its content, and any changed bit is detected", async () => {
  const { reply } = await world.call("registry.ReposService/ListRepos", { orderBy: "name", pageSize: 1 }, { token: ours.owner });
  const pageToken = String(reply.nextPageToken);
  const opened = Buffer.from(pageToken, "base64url");
  for (const secret of [ours.organization, "name", "repo", column(reply, "repos", "name")[0] ?? ""]) assert.ok(!opened.includes(secret), secret);
  const turned = Array.from({ length: opened.length }, (_, at) => {
    const copy = Buffer.from(opened);
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy.toString("base64url");
  });
  const answers = await Promise.all(
    turned.map((forged) => world.call("registry.ReposService/ListRepos", { orderBy: "name", pageToken: forged }, { token: ours.owner })),
  );
  assert.deepEqual(new Set(answers.map(({ code }) => code)), new Set([3]));
});
