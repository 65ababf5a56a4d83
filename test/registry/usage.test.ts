// Used storage, pulls, and images in use, as an organization's owner sees them.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Param, Read } from "#db";
import { findImagesInUse, findLastPull, findPullDays, findPulledNames, findReposAfter, findTagFacts, findUsedStorage } from "#registry/store";
import { runMaintenance } from "../../server/application/maintenance.ts";
import { finishPullCounts } from "../../server/registry/resources/distribution/pull-records.ts";
import { openOwners } from "../owner.ts";
import { openWorld, type World } from "../world.ts";
import { newConfig, openRegistryClient, type RegistryClient } from "./images.ts";
import { digestOf } from "../distribution.ts";

const dayMs = 24 * 60 * 60 * 1000;
const operations = "gantry.registry.v1";

let world: World;
let owner: World;
let client: RegistryClient;

before(async () => {
  world = await openWorld();
  const owners = openOwners(world);
  owner = owners.world();
  client = openRegistryClient(world.url, () => owners.token());
});
after(() => world.close());

const described = (content: Uint8Array): { digest: string; size: number } => ({ digest: digestOf(content), size: content.byteLength });

const push = async (repo: string, tag: string, layers: readonly Uint8Array[]): Promise<string> => {
  const contents = [newConfig(), ...layers];
  for (const content of contents) await client.pushBlob(repo, content);
  return client.pushManifest(repo, tag, contents.map(described));
};

const uidOf = async (name: string): Promise<string> => {
  const { repos } = await owner.ok("registry.ReposService/ListRepos", { uidp: { descendantsOf: world.organization }, name });
  return text((repos as JsonObject[])[0] ?? {}, "uid");
};

const storageOf = async (uid: string): Promise<JsonObject> => owner.ok(`${operations}.StorageService/GetStorage`, { uid });

const pullsOf = async (uid: string, more: JsonObject = {}): Promise<JsonObject> => {
  await finishPullCounts(world.server.application.services);
  return owner.ok(`${operations}.PullsService/GetPulls`, { uid, ...more });
};

test("storage counts each content once at every level, and gross once for each manifest that needs it", async () => {
  const shared = randomBytes(5_000);
  await push("first-organization/team/one", "1", [shared, randomBytes(100)]);
  await push("first-organization/team/one", "2", [shared]);
  await push("first-organization/two", "1", [shared]);
  const [one, two] = [await uidOf("one"), await uidOf("two")];
  const configs = newConfig().byteLength;
  assert.deepEqual(await storageOf(one).then(({ bytes, grossBytes, blobCount }) => [bytes, grossBytes, blobCount]), [
    String(5_100 + 2 * configs),
    String(10_100 + 2 * configs),
    "4",
  ]);
  assert.equal((await storageOf(two)).bytes, String(5_000 + configs));
  const whole = await storageOf(world.organization);
  const { bytes, grossBytes, organizationBytes } = whole;
  assert.deepEqual([bytes, grossBytes, organizationBytes], [String(5_100 + 3 * configs), String(15_100 + 3 * configs), bytes]);
  assert.equal(whole.quotaBytes, "100000000000000");
  assert.equal((await storageOf(one.slice(0, -17))).bytes, (await storageOf(one)).bytes, "the group above");
  // Not in a manifest yet.
  await client.pushBlob("first-organization/two", randomBytes(77));
  assert.equal((await storageOf(two)).grossBytes, String(5_077 + configs));
});

test("the quota of the organization is absent for a caller who may list repos in one group only", async () => {
  const one = await uidOf("one");
  const group = one.slice(0, -17);
  const claimMatch = { issuer: "https://issuer.example.com", subject: "narrow" };
  const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: group, identity: { name: "narrow", claimMatch } }), "uid");
  const { roles } = await world.ok("iam.RolesService/ListRoles", { name: "viewer" });
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: group,
    roleBinding: { identityUid, roleUid: text((roles as JsonObject[])[0] ?? {}, "uid") },
  });
  const token = await world.token(identityUid);
  const { reply } = await world.call(`${operations}.StorageService/GetStorage`, { uid: one }, { token });
  assert.deepEqual(Object.keys(reply).sort(), ["blobCount", "bytes", "grossBytes", "uid"]);
  assert.equal((await world.call(`${operations}.StorageService/GetStorage`, { uid: world.organization }, { token })).code, codes.PERMISSION_DENIED);
  assert.equal((await owner.call(`${operations}.StorageService/GetStorage`, { uid: `${group}/0123456789abcdef` }, {})).code, codes.NOT_FOUND);
});

test("pulls are counted by day, tag and digest; a HEAD changes the time of the last pull only", async () => {
  const path = "first-organization/pulled";
  const digest = await push(path, "1", []);
  const uid = await uidOf("pulled");
  const firstDay = new Date(world.clock.now).toISOString().slice(0, 10);
  const pull = async (method: string, reference: string): Promise<void> => {
    assert.equal((await client.request(method, `/v2/${path}/manifests/${reference}`)).status, 200);
  };
  await Promise.all([pull("GET", "1"), pull("GET", "1"), pull("GET", digest)]);
  const first = await pullsOf(uid);
  assert.deepEqual([first.pullCount, first.days], ["3", [{ day: firstDay, pullCount: "3" }]]);
  world.clock.now += dayMs;
  await Promise.all([pull("GET", "1"), pull("HEAD", "1")]);
  const secondDay = new Date(world.clock.now).toISOString().slice(0, 10);
  const both = await pullsOf(uid, { tag: "1" });
  assert.deepEqual(
    [both.pullCount, both.days],
    [
      "3",
      [
        { day: secondDay, pullCount: "1" },
        { day: firstDay, pullCount: "2" },
      ],
    ],
  );
  assert.equal((await pullsOf(uid, { digest })).pullCount, "4");
  world.clock.now += 1000;
  await pull("HEAD", digest);
  const later = await pullsOf(uid);
  assert.deepEqual([later.pullCount, later.lastPullTime], ["4", new Date(world.clock.now).toISOString()]);
  const { images, totalCount } = await owner.ok(`${operations}.PullsService/FindPulls`, { uid, pageSize: 1 });
  assert.deepEqual([(images as JsonObject[]).map(({ digest: of, tag, pullCount }) => [of, tag, pullCount]), totalCount], [[[digest, undefined, "1"]], "2"]);
  // Neither is kept longer.
  world.clock.now += limits.pullsKeptMs + dayMs;
  await runMaintenance(world.server.application.kernel);
  assert.deepEqual((await pullsOf(uid)).days ?? [], []);
  assert.equal((await owner.ok(`${operations}.PullsService/FindPulls`, { uid })).totalCount, "0");
});

test("a pull by an identity with the label runtime is recorded as one", async () => {
  const path = "first-organization/running";
  await push(path, "1", []);
  const uid = await uidOf("running");
  const claimMatch = { issuer: "https://issuer.example.com", subject: "cluster" };
  const identity = { name: "cluster", claimMatch, labels: ["runtime"] };
  const made = await owner.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity });
  assert.deepEqual(made.labels, ["runtime"]);
  const { roles } = await world.ok("iam.RolesService/ListRoles", { name: "registry.pull" });
  const roleUid = text((roles as JsonObject[])[0] ?? {}, "uid");
  await owner.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: world.organization, roleBinding: { identityUid: text(made, "uid"), roleUid } });
  const puller = openRegistryClient(world.url, () => world.token(text(made, "uid")));
  await client.request("GET", `/v2/${path}/manifests/1`);
  assert.equal((await pullsOf(uid)).lastRuntimePullTime, undefined);
  world.clock.now += 1000;
  assert.equal((await puller.request("GET", `/v2/${path}/manifests/1`)).status, 200);
  assert.equal((await pullsOf(uid)).lastRuntimePullTime, new Date(world.clock.now).toISOString());
});

test("a pull adds no statement of its own to the request", async () => {
  const path = "first-organization/counted";
  await push(path, "1", []);
  const { services } = world.server.application;
  await client.request("GET", `/v2/${path}/manifests/1`);
  await finishPullCounts(services);
  const countOf = async (): Promise<number> =>
    Number((await services.store.read.query("select coalesce(sum(pull_count), 0) from last_pulls where repo_uid = $1", [await uidOf("counted")]))[0]?.[0]);
  assert.equal(await countOf(), 1);
  await client.request("GET", `/v2/${path}/manifests/1`);
  assert.equal(await countOf(), 1, "in memory");
  await finishPullCounts(services);
  assert.equal(await countOf(), 2);
});

test("images in use are those reported below the group, until the report expires", async () => {
  const path = "first-organization/deployed";
  const digest = await push(path, "1", []);
  const repoUid = await uidOf("deployed");
  const host = new URL(world.url).host;
  const images = [`${path}:1`, `${host}/${path}@${digest}`, "docker.io/library/nginx:1", `${path}`, "first-organization/absent:1"];
  const report = { parent: world.organization, source: "cluster-a", images };
  const { imageCount, unknownImages } = await owner.ok(`${operations}.InUseService/ReportInUse`, report);
  assert.deepEqual([imageCount, unknownImages], [2, images.slice(2)]);
  const listed = async (): Promise<unknown[]> =>
    objectList(await owner.ok(`${operations}.InUseService/FindInUse`, { uid: repoUid }), "images").map(({ digest: of, tag, source }) => [of, tag, source]);
  assert.deepEqual(await listed(), [
    [undefined, "1", "cluster-a"],
    [digest, undefined, "cluster-a"],
  ]);
  world.clock.now += limits.inUseDefaultMs;
  assert.deepEqual(await listed(), []);
  await runMaintenance(world.server.application.kernel);
  const left = await world.server.application.services.store.read.query("select count(*) from images_in_use");
  assert.equal(left[0]?.[0], "0");
  for (const [expireTime, message] of [
    [world.clock.now, "must be in the future"],
    [world.clock.now + limits.inUseMaxMs + 1000, "must be within 30 days"],
  ] as const) {
    const refused = await owner.call(`${operations}.InUseService/ReportInUse`, { ...report, expireTime: new Date(expireTime).toISOString() }, {});
    assert.deepEqual([refused.code, refused.message.includes(message)], [codes.INVALID_ARGUMENT, true], refused.message);
  }
});

test("storage, pulls, images in use and the tags of a repo are read through indexes", async () => {
  const { store } = world.server.application.services;
  const [repo, nowMs] = [await uidOf("one"), world.clock.now];
  const page = { order: { column: "digest", descending: false }, after: undefined, skip: 0, limit: 51, total: undefined };
  const reads: Readonly<Record<string, (rows: Read) => Promise<unknown>>> = {
    findUsedStorage: (rows) => findUsedStorage(rows, repo),
    findPullDays: (rows) => findPullDays(rows, repo, "", "", nowMs),
    findLastPull: (rows) => findLastPull(rows, repo, "1", ""),
    findPulledNames: (rows) => findPulledNames(rows, repo, page),
    findImagesInUse: (rows) => findImagesInUse(rows, repo, nowMs, page),
    findTagFacts: (rows) => findTagFacts(rows, repo, nowMs, 100),
    findReposAfter: (rows) => findReposAfter(rows, world.organization, "", 50),
  };
  for (const [name, read] of Object.entries(reads)) {
    const statements: (readonly [string, readonly Param[] | undefined])[] = [];
    const noting: Read = {
      ...store.read,
      query: (statement, values, cost) => {
        statements.push([statement, values]);
        return store.read.query(statement, values, cost);
      },
    };
    await read(noting);
    await store.write(async (rows) => {
      await rows.query("select set_config('enable_seqscan', 'off', true)");
      for (const [statement, values] of statements) {
        const plan = (await rows.query(`explain ${statement}`, values)).map(([line]) => line ?? "").join("\n");
        assert.doesNotMatch(plan, /Seq Scan on (?!pg_)/, `${name}\n${plan}`);
      }
    });
  }
});
