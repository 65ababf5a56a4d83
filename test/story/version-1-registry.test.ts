// Version 1 of the registry: the public Terraform provider's requests over the whole lifecycle, and the same repos and tags in both versions.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { builtInRoleUid } from "#authz";
import { type Answer, callHttp, type Protocol } from "../client.ts";
import { openRegistry, type RegistryClient } from "../registry.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let client: RegistryClient;
let owner: string;
const ownerToken = (): Promise<string> => world.token(owner);
before(async () => {
  world = await openWorld();
  client = openRegistry(world.url, `Bearer ${await world.token()}`);
  owner = await memberWith(builtInRoleUid("owner"), "owner");
});
after(() => world?.close());

const registry = "chainguard.platform.registry.Registry";
const protocols: readonly Protocol[] = ["grpc", "rest"];
const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;
const memberWith = async (role: string, name: string): Promise<string> => {
  const { uid = "" } = await world.ok("iam.IdentitiesService/CreateIdentity", {
    parent: world.organization,
    identity: { name, staticKeys: { issuer: "https://keys.example.com", subject: name, issuerKeys: "keys" } },
  });
  await world.ok("chainguard.platform.iam.RoleBindings/Create", { parent: world.organization, roleBinding: { identity: uid, role } });
  return String(uid);
};
const ask = async (rpc: string, request: JsonObject, protocol: Protocol = "grpc"): Promise<JsonObject> =>
  world.ok(`${registry}/${rpc}`, request, { protocol, token: await ownerToken() });
const answerOf = async (rpc: string, request: JsonObject, protocol: Protocol = "grpc"): Promise<Answer> =>
  world.call(`${registry}/${rpc}`, request, { protocol, token: await ownerToken() });
const newRepo = async (name: string, more: JsonObject = {}): Promise<string> =>
  text(await ask("CreateRepo", { parentId: world.organization, repo: { name, ...more } }), "id");
const only = (list: JsonObject): JsonObject => {
  const [first, ...others] = objectList(list, "items");
  assert.equal(others.length, 0);
  return first ?? assert.fail("there is none");
};

const told = async (subject: string): Promise<{ type: string; bodyType: string; body: Json }[]> => {
  const rows = await world.server.application.services.store.read.query(
    "select type, body_type, data::jsonb -> 'body' from outbox where subject = $1 order by id",
    [subject],
  );
  return rows.map(([type, bodyType, body]) => ({
    type: (type ?? "").split(".").slice(-3, -1).join("."),
    bodyType: bodyType ?? "",
    body: JSON.parse(body ?? "null"),
  }));
};

for (const protocol of protocols) {
  test(`over ${protocol} a repo of the Terraform provider is created with its readme, read by ID, updated with its name, and deleted`, async () => {
    const source = await newRepo(`source-${protocol}`);
    const readme = "# Nginx\n\nServes.";
    const wanted = { bundles: ["base"], readme, catalogTier: "FIPS", aliases: ["docker.io/library/nginx:latest"], activeTags: ["latest"] };
    const made = await ask("CreateRepo", { parentId: world.organization, repo: { name: `nginx-${protocol}`, sync_config: { source }, ...wanted } }, protocol);
    const id = text(made, "id");
    const held = only(await ask("ListRepos", { id }, protocol));
    assert.deepEqual(
      { ...wanted, name: held.name, source: part(held, "sync_config").source },
      { ...Object.fromEntries(Object.keys(wanted).map((key) => [key, held[key]])), name: `nginx-${protocol}`, source },
    );
    const changed = await ask("UpdateRepo", { id, name: `renamed-${protocol}`, ...wanted, catalogTier: "COMMERCIAL", sync_config: { source } }, protocol);
    assert.deepEqual([changed.id, changed.name, changed.catalogTier, changed.readme], [id, `renamed-${protocol}`, "COMMERCIAL", readme]);
    const inVersion2 = await world.ok("registry.ReposService/GetRepo", { uid: id });
    assert.deepEqual([inVersion2.name, inVersion2.catalogTier, inVersion2.readme], [`renamed-${protocol}`, "CATALOG_TIER_COMMERCIAL", undefined]);
    assert.equal((await world.ok("registry.ReposService/GetRepoReadme", { uid: id })).content, readme);
    assert.equal((await ask("GetRepoCountBySource", { id: source }, protocol)).count, "1");
    await ask("DeleteRepo", { id }, protocol);
    assert.deepEqual(objectList(await ask("ListRepos", { id }, protocol), "items"), [], "what is deleted is an empty list");
  });

  test(`over ${protocol} a Terraform tag without a digest gets the first pushed one and keeps it on updates`, async () => {
    const name = `pushed-${protocol}`;
    const repo = await newRepo(name);
    const made = await ask("CreateTag", { repoId: repo, tag: { name: "v1", bundles: ["base"] } }, protocol);
    const id = text(made, "id");
    assert.equal(text(made, "digest"), "");
    const listed = objectList(await world.ok("registry.TagsService/ListTags", { uidp: { childrenOf: repo } }), "tags");
    assert.deepEqual(
      listed.map((tag) => [tag.uid, tag.name, tag.digest]),
      [[id, "v1", undefined]],
      "version 2 lists it without one",
    );
    const path = `first-organization/${name}`;
    const absent = await client.send("GET", `${path}/manifests/v1`);
    assert.deepEqual([absent.status, (await absent.text()).includes("MANIFEST_UNKNOWN")], [404, true]);
    assert.deepEqual(JSON.parse(await (await client.send("GET", `${path}/tags/list`)).text()).tags ?? [], [], "nobody can pull it");

    const renamed = await ask("UpdateTag", { id, name: "v2", bundles: ["base", "fips"] }, protocol);
    assert.deepEqual([renamed.id, renamed.name, renamed.bundles, text(renamed, "digest")], [id, "v2", ["base", "fips"], ""]);
    const pushed = await client.pushImage(path, "v2");
    assert.equal(only(await ask("ListTags", { id }, protocol)).digest, pushed);
    const changed = await ask("UpdateTag", { id, name: "v2", deprecated: true }, protocol);
    assert.deepEqual([changed.digest, changed.deprecated, changed.bundles ?? []], [pushed, true, []], "what is not sent is empty, but not the digest");
    assert.equal(text(await ask("CreateTag", { repoId: repo, tag: { name: "v2" } }, protocol), "digest"), pushed, "made again it keeps it too");
    assert.equal(text(await ask("UpdateTag", { id, name: "v2", digest: digestOf("b") }, protocol), "digest"), digestOf("b"));
    const history = objectList(await ask("ListTagHistory", { parentId: id }, protocol), "items");
    assert.deepEqual(
      history.map((each) => each.digest),
      [digestOf("b"), pushed],
    );
    assert.ok(history.every((each) => text(each, "updateTimestamp") !== ""));
    await ask("DeleteTag", { id }, protocol);
    assert.deepEqual(objectList(await ask("ListTags", { id }, protocol), "items"), []);
  });

  test(`over ${protocol} a Terraform deployment is created once, updated if it exists, and deleted by an empty value`, async () => {
    const repo = await newRepo(`deployed-${protocol}`);
    const charts = [
      { source: "https://example.com/podinfo", repo: "oci://charts.example.com/podinfo" },
      { source: "", repo: "oci://charts.example.com/redis" },
      { repo: "https://charts.example.com/", chart: "kyverno" },
    ];
    assert.equal((await answerOf("GetDeployment", { repoId: repo }, protocol)).code, codes.NOT_FOUND);
    assert.equal((await answerOf("UpdateDeployment", { repoId: repo, charts }, protocol)).code, codes.NOT_FOUND);
    assert.deepEqual(await ask("CreateDeployment", { parentId: repo, charts }, protocol), { id: repo, charts });
    assert.equal((await answerOf("CreateDeployment", { parentId: repo, charts }, protocol)).code, codes.ALREADY_EXISTS, "then it is updated");
    const other = [{ repo: "oci://charts.example.com/nginx" }];
    assert.deepEqual(await ask("UpdateDeployment", { repoId: repo, charts: other }, protocol), { id: repo, charts: other });
    assert.deepEqual(await ask("GetDeployment", { repoId: repo }, protocol), { id: repo, charts: other });
    await ask("UpdateDeployment", { repoId: repo, charts: other }, protocol);
    for (let time = 0; time < 2; time++) assert.deepEqual(await ask("UpdateDeployment", { repoId: repo }, protocol), { id: repo });
    assert.equal((await answerOf("GetDeployment", { repoId: repo }, protocol)).code, codes.NOT_FOUND);
    assert.deepEqual(
      (await told(repo)).map(({ type }) => type),
      ["repo.created", "deployment.created", "deployment.updated", "deployment.updated"],
      "each change is in the audit log, and nothing besides",
    );
    await ask("CreateDeployment", { parentId: repo, charts }, protocol);
    await ask("DeleteRepo", { id: repo }, protocol);
    const left = await world.server.application.services.store.read.query("select 1 from repo_deployments where repo_uid = $1", [repo]);
    assert.equal(left.length, 0, "a repo takes its deployment along");
    assert.equal((await answerOf("CreateDeployment", { parentId: repo, charts }, protocol)).code, codes.NOT_FOUND);
  });

  test(`over ${protocol} registry settings are unset at first, replaced as a whole, and belong to an organization only`, async () => {
    // The organization is created and deleted here, which needs the operator; its owner has another test.
    const asOperator = (rpc: string, request: JsonObject): Promise<Answer> => world.call(`${registry}/${rpc}`, request, { protocol });
    const root = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: `settings-${protocol}` } }), "uid");
    const read = async (): Promise<readonly (Json | undefined)[]> => {
      const { registryId, uniqueTags, eolGracePeriod } = (await asOperator("GetRegistrySettings", { registryId: root })).reply;
      return [registryId, uniqueTags ?? false, eolGracePeriod ?? false];
    };
    assert.deepEqual(await read(), [root, false, false]);
    assert.equal((await asOperator("UpdateRegistrySettings", { registryId: root, uniqueTags: true, eolGracePeriod: true })).code, 0);
    assert.deepEqual(await read(), [root, true, true]);
    assert.equal((await asOperator("UpdateRegistrySettings", { registryId: root, eolGracePeriod: true })).code, 0);
    assert.deepEqual(await read(), [root, false, true]);
    const folder = text(await world.ok("iam.GroupsService/CreateGroup", { parent: root, group: { name: "folder" } }), "uid");
    assert.equal((await asOperator("GetRegistrySettings", { registryId: folder })).code, codes.INVALID_ARGUMENT);
    await world.ok("iam.GroupsService/DeleteGroup", { uid: folder });
    await world.ok("iam.GroupsService/DeleteGroup", { uid: root });
    assert.equal((await asOperator("GetRegistrySettings", { registryId: root })).code, codes.NOT_FOUND);
  });

  test(`over ${protocol} a repo's tag summary has "latest" or the last changed tag, and the longest other name of its digest`, async () => {
    const repo = await newRepo(`summary-${protocol}`);
    const summary = (more: JsonObject = {}): Promise<JsonObject> => ask("GetRepoTagsSummary", { repoId: repo, ...more }, protocol);
    const none = await summary();
    assert.deepEqual([none.id, none.tagCount ?? "0", none.lastUpdated, none.latestTag, text(none, "latestVersion")], [repo, "0", undefined, undefined, ""]);
    const names = [
      ["1.2.3", "a"],
      ["1.2", "a"],
      ["latest-dev", "a"],
      ["1.2.3-r0", "a"],
      ["newest", "c"],
      ["sha256-abc.sig", "d"],
      ["1.2-20260101", "a"],
    ];
    for (const [name = "", letter = ""] of names) {
      world.clock.now += 1000;
      await ask("CreateTag", { repoId: repo, tag: { name, digest: digestOf(letter) } }, protocol);
    }
    const leftOut = { excludeReferrers: true, excludeDates: true, excludeEpochs: true };
    const byTime = await summary(leftOut);
    assert.deepEqual([byTime.tagCount, part(byTime, "latestTag").name, text(byTime, "latestVersion")], ["4", "newest", ""]);
    await ask("CreateTag", { repoId: repo, tag: { name: "latest", digest: digestOf("a") } }, protocol);
    const few = await summary(leftOut);
    assert.deepEqual([few.tagCount, part(few, "latestTag").name, few.latestVersion], ["5", "latest", "1.2.3"]);
    const all = await summary();
    assert.deepEqual([all.tagCount, all.latestVersion], ["8", "1.2-20260101"]);
    assert.equal(objectList(await ask("ListTags", { uidp: { childrenOf: repo } }, protocol), "items").length, 8, "version 1 lists all by default");
    assert.equal(objectList(await ask("ListTags", { uidp: { childrenOf: repo }, ...leftOut }, protocol), "items").length, 5);
  });

  test(`over ${protocol} build reports are empty, and operations that need a build service say so`, async () => {
    assert.deepEqual(objectList(await ask("ListBuildReports", { uidp: { descendantsOf: world.organization } }, protocol), "reports"), []);
    const repo = await newRepo(`unbuilt-${protocol}`);
    assert.equal((await answerOf("GetUpdateStatus", { repoId: repo }, protocol)).code, codes.UNIMPLEMENTED);
  });
}

test("a repo created over version 1 and updated over version 2 has one event for each change, in the version of the request", async () => {
  const id = await newRepo("both");
  await world.ok("registry.ReposService/UpdateRepo", { repo: { uid: id, description: "changed" } });
  await ask("UpdateRepo", { id, name: "both", description: "again" });
  await world.ok("registry.ReposService/DeleteRepo", { uid: id });
  const events = await told(id);
  assert.deepEqual(
    events.map(({ type, bodyType }) => [type, bodyType]),
    [
      ["repo.created", "chainguard.platform.registry.Repo"],
      ["repo.updated", "chainguard.platform.registry.v2.Repo"],
      ["repo.updated", "chainguard.platform.registry.Repo"],
      ["repo.deleted", "chainguard.platform.registry.v2.DeleteRepoRequest"],
    ],
  );
  assert.deepEqual(
    events.map(({ body }) => [part({ body }, "body").id, part({ body }, "body").uid].filter(Boolean)),
    [[id], [id], [id], [id]],
  );
});

test("a tag created over version 2 and updated over version 1 emits tag.updated, and an update without changes emits nothing", async () => {
  const repo = await newRepo("tags-of-both");
  const { uid: id = "" } = await world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name: "v1", digest: digestOf("a") } });
  const wanted = { id, name: "v1", digest: digestOf("a"), deprecated: true };
  await ask("UpdateTag", wanted);
  await ask("UpdateTag", wanted);
  await world.ok("gantry.registry.v1.TagChangesService/UpdateTag", { tag: { uid: id, bundles: ["fips"] }, updateMask: "bundles" });
  const events = await told(String(id));
  assert.deepEqual(
    events.map(({ type, bodyType }) => [type, bodyType]),
    [
      ["tag.created", "chainguard.platform.registry.v2.Tag"],
      ["tag.updated", "chainguard.platform.registry.Tag"],
      ["tag.updated", "chainguard.platform.registry.v2.Tag"],
    ],
  );
  const body = part({ body: events[1]?.body ?? null }, "body");
  assert.deepEqual([body.id, body.deprecated, typeof body.last_updated], [id, true, "string"], "with the names of the proto");
});

test("creating a repo with an existing name replaces it unless prevented; version 2 does so on request", async () => {
  const id = await newRepo("again", { description: "first" });
  assert.equal(text(await ask("CreateRepo", { parentId: world.organization, repo: { name: "again", description: "second" } }), "id"), id);
  assert.equal(only(await ask("ListRepos", { id })).description, "second");
  const request = { parentId: world.organization, repo: { name: "again" }, preventExisting: true };
  for (const protocol of protocols) assert.equal((await answerOf("CreateRepo", request, protocol)).code, codes.ALREADY_EXISTS);
  const inVersion2 = { parent: world.organization, repo: { name: "again" } };
  assert.equal((await world.call("registry.ReposService/CreateRepo", inVersion2)).code, codes.ALREADY_EXISTS);
  assert.equal((await world.ok("registry.ReposService/CreateRepo", { ...inVersion2, updateExisting: true })).uid, id);
  assert.equal(only(await ask("ListRepos", { id })).description, undefined);
  assert.deepEqual(
    (await told(id)).map(({ type }) => type),
    ["repo.created", "repo.created", "repo.created"],
  );
});

test("PUT keeps fields that version 1 does not have, and replaces the readme", async () => {
  const id = await newRepo("kept", { readme: "# Kept" });
  await world.ok("registry.ReposService/UpdateRepo", { repo: { uid: id, anonymousPull: true } });
  const before = await world.ok("registry.ReposService/GetRepoReadme", { uid: id });
  world.clock.now += 1000;
  await ask("UpdateRepo", { id, name: "kept", readme: "# Changed" });
  const repo = await world.ok("registry.ReposService/GetRepo", { uid: id });
  assert.equal(repo.anonymousPull, true);
  const readme = await world.ok("registry.ReposService/GetRepoReadme", { uid: id });
  assert.equal(readme.content, "# Changed");
  assert.ok(text(readme, "updateTime") > text(before, "updateTime"), "the readme has changed when it has");
  await ask("UpdateRepo", { id, name: "kept" });
  assert.equal((await world.ok("registry.ReposService/GetRepoReadme", { uid: id })).content, undefined);
  await world.ok("registry.ReposService/UpdateRepoReadme", { repoReadme: { uid: id, content: "# Two" } });
  assert.equal(only(await ask("ListRepos", { id })).readme, "# Two");
});

test("version 1 validates a readme like version 2, where it is not a field of a repo", async () => {
  const bad = "<script>alert(1)</script>";
  for (const protocol of protocols) {
    const answer = await answerOf("CreateRepo", { parentId: world.organization, repo: { name: "bad-readme", readme: bad } }, protocol);
    assert.equal(answer.code, codes.INVALID_ARGUMENT);
    assert.match(answer.message, /readme/);
  }
  const id = await newRepo("no-readme");
  const token = await world.token();
  const patch = await callHttp(world.url, "PATCH", `/registry/v2/repos/${id}`, { token, body: '{"readme":"# x"}' });
  assert.deepEqual([patch.code, /readme/.test(patch.message)], [codes.INVALID_ARGUMENT, true]);
  const masked = await world.call("registry.ReposService/UpdateRepo", { repo: { uid: id, name: "no-readme" }, updateMask: "readme" }, { protocol: "grpc" });
  assert.equal(masked.code, codes.INVALID_ARGUMENT);
});

test("both versions share ETags: a PUT after another change is refused", async () => {
  const id = await newRepo("etags", { readme: "# One" });
  const token = await world.token();
  const read = await callHttp(world.url, "GET", `/registry/v2/repos/${id}`, { token });
  const etag = read.headers.etag ?? "";
  const put = (): Promise<Answer> =>
    callHttp(world.url, "PUT", `/registry/v1/repos/${id}`, { token, body: '{"name":"etags","readme":"# Two"}', headers: { "if-match": etag } });
  assert.equal((await put()).status, 200);
  assert.equal((await put()).status, 412);
});

test("a read-only caller sees no more over version 1 and cannot change anything", async () => {
  const id = await newRepo("read-alone");
  const { uid = "" } = await world.ok("iam.IdentitiesService/CreateIdentity", {
    parent: world.organization,
    identity: { name: "viewer", staticKeys: { issuer: "https://keys.example.com", subject: "viewer", issuerKeys: "keys" } },
  });
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: world.organization,
    roleBinding: { identityUid: uid, roleUid: builtInRoleUid("viewer") },
  });
  const token = await world.token(String(uid));
  assert.equal((await world.call(`${registry}/ListRepos`, { id }, { token })).code, 0);
  for (const [rpc, request] of [
    ["UpdateRepo", { id, name: "x" }],
    ["CreateTag", { repoId: id, tag: { name: "x" } }],
    ["CreateDeployment", { parentId: id }],
    ["UpdateRegistrySettings", { registryId: world.organization }],
  ] as const)
    assert.equal((await world.call(`${registry}/${rpc}`, request, { token })).code, codes.PERMISSION_DENIED, rpc);
});

test("an owner delegates deployments with a custom role that cannot include internal", async () => {
  const iam = "chainguard.platform.iam";
  const capabilities = ["registry.deployments.create", "registry.deployments.list", "registry.deployments.update"];
  const create = async (name: string, more: string[]): Promise<Answer> =>
    world.call(
      `${iam}.Roles/Create`,
      { parentId: world.organization, role: { name, capabilities: [...capabilities, ...more] } },
      { token: await ownerToken() },
    );
  assert.equal((await create("internal-deployer", ["internal"])).code, codes.PERMISSION_DENIED);
  assert.equal((await create("admin-deployer", ["internal", "repo.internal.admin"])).code, codes.PERMISSION_DENIED);
  const role = (await create("deployer", [])).reply;
  const token = await world.token(await memberWith(text(role, "id"), "deployer"));
  const repo = await newRepo("given-on");
  const charts = [{ repo: "oci://charts.example.com/nginx" }];
  assert.equal((await world.call(`${registry}/CreateDeployment`, { parentId: repo, charts }, { token })).code, 0);
  assert.equal((await world.call(`${registry}/UpdateDeployment`, { repoId: repo }, { token })).code, 0);
  assert.equal((await world.call(`${registry}/DeleteRepo`, { id: repo }, { token })).code, codes.PERMISSION_DENIED);
});

for (const protocol of protocols) {
  test(`over ${protocol} an owner writes all catalogue fields of a repo, its readme and the settings, in both versions`, async () => {
    const token = await ownerToken();
    const catalog = { bundles: ["base"], catalogTier: "CATALOG_TIER_FIPS", aliases: ["docker.io/library/nginx:latest"], activeTags: ["latest"] };
    const repos = "registry.ReposService";
    const { uid = "" } = await world.ok(
      `${repos}/CreateRepo`,
      { parent: world.organization, repo: { name: `published-${protocol}`, ...catalog } },
      { token, protocol },
    );
    const repo = { uid, bundles: ["application"], aliases: [] };
    const changed = await world.ok(`${repos}/UpdateRepo`, { repo, updateMask: "bundles,aliases" }, { token, protocol });
    assert.deepEqual([changed.bundles, changed.aliases ?? [], changed.activeTags], [["application"], [], ["latest"]]);
    const readme = await world.ok(`${repos}/UpdateRepoReadme`, { repoReadme: { uid, content: "# Published" }, updateMask: "content" }, { token, protocol });
    assert.equal(readme.content, "# Published");
    const settings = { registryId: world.organization, uniqueTags: true, eolGracePeriod: true };
    assert.deepEqual(await world.ok(`${registry}/UpdateRegistrySettings`, settings, { token, protocol }), settings);
  });
}

for (const protocol of protocols) {
  test(`over ${protocol} an empty bundle is refused in a repo and a tag of either version, and changes nothing`, async () => {
    const token = await ownerToken();
    const repo = await newRepo(`empty-bundle-${protocol}`);
    const parent = world.organization;
    const refused: readonly (readonly [name: string, request: JsonObject])[] = [
      ["registry.ReposService/CreateRepo", { parent, repo: { name: `refused-${protocol}`, bundles: [""] } }],
      ["registry.ReposService/UpdateRepo", { repo: { uid: repo, bundles: ["base", ""] }, updateMask: "bundles" }],
      ["registry.TagsService/CreateTag", { parent: repo, tag: { name: "latest", digest: digestOf("a"), bundles: [""] } }],
      [`${registry}/CreateRepo`, { parentId: parent, repo: { name: `refused-${protocol}`, bundles: [""] } }],
      [`${registry}/UpdateRepo`, { id: repo, name: `empty-bundle-${protocol}`, bundles: [""] }],
      [`${registry}/CreateTag`, { repoId: repo, tag: { name: "latest", bundles: [""] } }],
    ];
    const before = (await world.events()).length;
    for (const [name, request] of refused) {
      const answer = await world.call(name, request, { token, protocol });
      assert.equal(answer.code, codes.INVALID_ARGUMENT, name);
      assert.match(answer.message, /bundles(?:\[[01]\])? must match/, name);
    }
    assert.equal((await world.events()).length, before);
  });
}

for (const protocol of protocols) {
  test(`over ${protocol} no images are synced: a repo's status and a group's list are empty, and a missing repo is NOT_FOUND`, async () => {
    const source = await newRepo(`source-${protocol}`);
    const repoId = await newRepo(`copy-${protocol}`, { sync_config: { source } });
    assert.deepEqual(await ask("GetSyncStatus", { repoId }, protocol), {});
    assert.deepEqual(objectList(await ask("ListSyncStatuses", { registryId: world.organization }, protocol), "items"), []);
    const missing = await answerOf("GetSyncStatus", { repoId: `${world.organization}/0123456789abcdef` }, protocol);
    assert.equal(missing.code, codes.NOT_FOUND, missing.message);
  });
}
