// SBOMs that the server attaches to images by an SBOM rule: referrers of the images, each once, that no server reads as a pushed SBOM.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type Json, isObject, type JsonObject, objectList, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { operatorUid } from "#base/operator.ts";
import { indexImages } from "../../server/application/index-images.ts";
import { runTagRetention } from "../../server/application/tag-retention.ts";
import { collectUntagged } from "../../server/application/untagged-manifests.ts";
import { asOwner } from "../database.ts";
import { alpine, apk, pushImage } from "../image-layers.ts";
import { openOwners, type Owners } from "../owner.ts";
import { descriptorOf, ociIndex, openPusher, type Pushed, type Pusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";

const rulesService = "gantry.registry.v1.SbomRulesService";
const spdxType = "application/spdx+json";
const dayMs = 24 * 60 * 60 * 1000;

let world: World;
let folder: string;
let owners: Owners;
let made = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-attached-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  owners = openOwners(world);
});
after(async () => {
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

interface Tenant {
  readonly group: string;
  readonly repo: (name: string) => Pusher;
  readonly ok: (operation: string, request?: JsonObject) => Promise<JsonObject>;
}

const openTenant = async (): Promise<Tenant> => {
  const name = `attached-${++made}`;
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  return {
    group,
    repo: (repo) => openPusher(world, `${name}/${repo}`, () => owners.token(group)),
    ok: async (operation, request = {}) => world.ok(operation, request, { token: await owners.token(group) }),
  };
};

const turn = async (): Promise<void> => {
  await world.server.contents.turn();
  await world.server.sboms.turn();
};

const createRule = async ({ ok }: Tenant, parent: string): Promise<string> =>
  text(await ok(`${rulesService}/CreateSbomRule`, { parent, sbomRule: { name: "all images" } }), "uid");

const json = async (registry: Pusher, path: string): Promise<JsonObject> => {
  const response = await registry.send("GET", path);
  assert.equal(response.status, 200, path);
  const value = (await response.json()) as Json;
  assert.ok(isObject(value));
  return value;
};

const referrersOf = async (registry: Pusher, { digest }: Pushed): Promise<JsonObject[]> => objectList(await json(registry, `referrers/${digest}`), "manifests");

/** Returns the attached SBOM of an image that has exactly one. */
const sbomOf = async (registry: Pusher, image: Pushed): Promise<{ readonly digest: string; readonly document: JsonObject }> => {
  const [referrer, ...others] = await referrersOf(registry, image);
  assert.ok(referrer && others.length === 0, `${others.length} further referrers`);
  assert.equal(referrer.artifactType, spdxType);
  const digest = text(referrer, "digest");
  const manifest = await json(registry, `manifests/${digest}`);
  const [layer] = objectList(manifest, "layers");
  return { digest, document: await json(registry, `blobs/${text(layer ?? {}, "digest")}`) };
};

const packagesOf = (document: JsonObject): string[] => objectList(document, "packages").map((each) => `${text(each, "name")} ${text(each, "versionInfo")}`);

const contentsOf = async ({ ok }: Tenant, { digest }: Pushed): Promise<JsonObject> => {
  const [found] = objectList(await ok("gantry.images.v1.ImageContentsService/ListImageContents", { digest }), "imageContents");
  assert.ok(found);
  return found;
};

const count = async (statement: string, values: readonly string[]): Promise<number> =>
  Number((await world.server.application.services.store.read.query(statement, values))[0]?.[0]);

const readAgain = async (): Promise<void> => {
  const { services } = world.server.application;
  await indexImages(services, { repo: undefined, readBeforeMs: world.clock.now, dryRun: false, progress: () => {} });
  await turn();
};

const setQuota = async ({ group }: Tenant, bytes: number): Promise<void> => {
  await asOwner(
    world.databaseUrl,
    "insert into quotas (organization, name, value) values ($1, 'blob-bytes', $2) on conflict (organization, name) do update set value = excluded.value",
    [group, bytes],
  );
};

const usedBytes = ({ group }: Tenant): Promise<number> =>
  count("select coalesce(sum(row_count), 0) from resource_counts where organization = $1 and resource = 'blob_bytes'", [group]);

const repoUid = async ({ group }: Tenant): Promise<string> =>
  (await world.server.application.services.store.read.query("select uid from repos where left(uid, 40) = $1", [group]))[0]?.[0] ?? "";

test("an image has an SPDX document as its only referrer once it is read, and images without a rule have no referrer", async () => {
  const [tenant, other] = [await openTenant(), await openTenant()];
  await createRule(tenant, tenant.group);
  const [registry, without] = [tenant.repo("app"), other.repo("app")];
  const layer = [alpine, apk(["musl", "1.2.5-r0"], ["openssl", "3.3.2-r0"])];
  const [image, plain] = [await pushImage(registry, "1", layer), await pushImage(without, "1", layer)];
  assert.deepEqual(await referrersOf(registry, image), []);
  const before = await usedBytes(tenant);
  await turn();
  const { digest, document } = await sbomOf(registry, image);
  assert.equal(document.spdxVersion, "SPDX-2.3");
  assert.ok(packagesOf(document).includes("musl 1.2.5-r0") && packagesOf(document).includes("openssl 3.3.2-r0"));
  assert.ok(JSON.stringify(document).includes(image.digest));
  assert.deepEqual([(await contentsOf(tenant, image)).sbomState, (await contentsOf(tenant, image)).sbomDigest], ["ATTACHED_SBOM_STATE_ATTACHED", digest]);
  assert.equal((await usedBytes(tenant)) - before, Buffer.byteLength(JSON.stringify(document)) + 2);
  assert.deepEqual(await referrersOf(without, plain), []);
  // A further reading makes the same document.
  world.clock.now += 1_000;
  await readAgain();
  assert.equal((await sbomOf(registry, image)).digest, digest);
  const pushes = (await world.events()).filter(({ type, body }) => type.endsWith("registry.push.v1") && body.digest === digest);
  assert.deepEqual(
    pushes.map(({ actor, body }) => [actor?.includes(operatorUid), body.type]),
    [[true, "manifest"]],
  );
  // The document is not a pushed SBOM: only the layers name the packages.
  const { packages } = await tenant.ok("gantry.images.v1.ImagePackagesService/FindImagePackages", { repoUid: await repoUid(tenant), reference: "1" });
  assert.deepEqual(
    [...new Set(objectList({ packages: packages ?? [] }, "packages").flatMap((each) => texts(each, "origins")))],
    ["IMAGE_PACKAGE_ORIGIN_LAYERS"],
  );
  assert.deepEqual(objectList(await tenant.ok("gantry.images.v1.ImageSbomsService/ListImageSboms"), "imageSboms"), []);
});

test("stored images get their SBOM when a rule is created, also for one repo, and lose it at the next reading without a rule", async () => {
  const tenant = await openTenant();
  const [registry, other] = [tenant.repo("stored"), tenant.repo("other")];
  const image = await pushImage(registry, "1", [alpine, apk(["musl", "1.2.5-r1"])]);
  const beside = await pushImage(other, "1", [alpine, apk(["musl", "1.2.5-r2"])]);
  const chart = await registry.artifact([await registry.blob("a chart", "application/vnd.example")], { reference: "chart" });
  await turn();
  const { repoUid: uid } = await contentsOf(tenant, image);
  const rule = await createRule(tenant, String(uid));
  // A second rule with the name is refused, and a member without the permissions creates none.
  assert.equal(
    (await world.call(`${rulesService}/CreateSbomRule`, { parent: String(uid), sbomRule: { name: "all images" } }, { token: await owners.token(tenant.group) }))
      .code,
    codes.ALREADY_EXISTS,
  );
  await turn();
  const { digest } = await sbomOf(registry, image);
  assert.deepEqual([await referrersOf(other, beside), await referrersOf(registry, chart)], [[], []]);
  await tenant.ok(`${rulesService}/DeleteSbomRule`, { uid: rule });
  await turn();
  assert.equal((await sbomOf(registry, image)).digest, digest);
  world.clock.now += 1_000;
  await readAgain();
  assert.deepEqual([await referrersOf(registry, image), (await contentsOf(tenant, image)).sbomState], [[], "ATTACHED_SBOM_STATE_NONE"]);
});

test("each platform of an index has its SBOM, and a promoted image has the SBOM of its new repo only", async () => {
  const tenant = await openTenant();
  await createRule(tenant, tenant.group);
  const registry = tenant.repo("source");
  const image = await pushImage(registry, undefined, [alpine, apk(["musl", "1.2.5-r3"])]);
  const manifests = [{ ...descriptorOf(image), platform: { os: "linux", architecture: "amd64" } }];
  const index = await registry.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests }, ociIndex, "1");
  await turn();
  const { digest } = await sbomOf(registry, image);
  assert.deepEqual(await referrersOf(registry, index), []);
  const name = `attached-${made}`;
  await tenant.ok("gantry.registry.v1.PromotionsService/PromoteImage", {
    repo: `${name}/target`,
    sourceRepo: `${name}/source`,
    sourceReference: "1",
    tag: "1",
  });
  const target = tenant.repo("target");
  assert.deepEqual(await referrersOf(target, image), []);
  await turn();
  const promoted = await sbomOf(target, image);
  assert.notEqual(promoted.digest, digest);
  assert.deepEqual(packagesOf(promoted.document).includes("musl 1.2.5-r3"), true);
});

test("an attached SBOM is deleted with its image, keeps no tag or image, and is attached again after its own deletion", async () => {
  const tenant = await openTenant();
  await createRule(tenant, tenant.group);
  const registry = tenant.repo("gone");
  const layerOf = (version: string) => [alpine, apk(["musl", version])];
  const [image, untagged, old] = [
    await pushImage(registry, "1", layerOf("1")),
    await pushImage(registry, undefined, layerOf("2")),
    await pushImage(registry, "old", layerOf("3")),
  ];
  await turn();
  const { digest } = await sbomOf(registry, image);
  // Deleted by hand: the next reading attaches it again.
  assert.equal((await registry.send("DELETE", `manifests/${digest}`)).status, 202);
  assert.deepEqual([await referrersOf(registry, image), (await contentsOf(tenant, image)).sbomState], [[], "ATTACHED_SBOM_STATE_NONE"]);
  world.clock.now += 1_000;
  await readAgain();
  assert.equal((await sbomOf(registry, image)).digest, digest);
  // Old tags and untagged images are deleted although their SBOMs refer to them.
  const kept = await sbomOf(registry, untagged);
  world.clock.now += 40 * dayMs;
  await tenant.ok("gantry.registry.v1.RetentionRulesService/CreateRetentionRule", {
    parent: tenant.group,
    retentionRule: { name: "old", tagPattern: "old", keepDays: 30 },
  });
  await runTagRetention(world.server.application.kernel);
  assert.equal((await registry.send("HEAD", "manifests/old")).status, 404);
  await collectUntagged(world.server.application.kernel, 30);
  for (const gone of [untagged.digest, kept.digest]) assert.equal((await registry.send("HEAD", `manifests/${gone}`)).status, 404);
  // The tag can be restored, and so its image is kept with its SBOM.
  assert.equal((await registry.send("HEAD", `manifests/${old.digest}`)).status, 200);
  await sbomOf(registry, image);
  assert.equal((await registry.send("DELETE", `manifests/${image.digest}`)).status, 202);
  assert.equal((await registry.send("HEAD", `manifests/${digest}`)).status, 404);
  assert.equal(await count("select count(*) from repo_manifests where left(repo_uid, 40) = $1 and sha256 = $2", [tenant.group, digest]), 0);
});

test("an exceeded storage quota ends in a state, the image is read, and the SBOM is attached a day after the quota is raised (attack 382)", async () => {
  const tenant = await openTenant();
  await createRule(tenant, tenant.group);
  const registry = tenant.repo("full");
  const image = await pushImage(registry, "1", [alpine, apk(["musl", "1.2.5-r4"])]);
  const used = await usedBytes(tenant);
  // The document does not fit, and then not even a byte.
  await setQuota(tenant, used + 10);
  await turn();
  const full = await contentsOf(tenant, image);
  assert.deepEqual(
    [full.state, full.sbomState, full.sbomDigest, full.packageCount, await usedBytes(tenant)],
    ["IMAGE_CONTENTS_STATE_INDEXED", "ATTACHED_SBOM_STATE_QUOTA_EXCEEDED", undefined, 1, used],
  );
  await setQuota(tenant, used);
  world.clock.now += limits.attachedSbomRetryMs + 1_000;
  await turn();
  assert.deepEqual([(await contentsOf(tenant, image)).sbomState, await referrersOf(registry, image)], ["ATTACHED_SBOM_STATE_QUOTA_EXCEEDED", []]);
  await setQuota(tenant, used + 1_000_000);
  await turn();
  assert.deepEqual(await referrersOf(registry, image), []);
  world.clock.now += limits.attachedSbomRetryMs + 1_000;
  await turn();
  await sbomOf(registry, image);
});

test("a copy of an attached SBOM is no pushed SBOM in another repo (attack 383)", async () => {
  const [tenant, other] = [await openTenant(), await openTenant()];
  await createRule(tenant, tenant.group);
  const layer = [alpine, apk(["musl", "1.2.5-r5"])];
  const [registry, target] = [tenant.repo("from"), other.repo("to")];
  const image = await pushImage(registry, "1", layer);
  await pushImage(target, "1", layer);
  await turn();
  const { digest, document } = await sbomOf(registry, image);
  const manifest = await (await registry.send("GET", `manifests/${digest}`)).text();
  for (const place of [registry, target]) {
    await place.blob("{}", "application/vnd.oci.empty.v1+json");
    await place.blob(JSON.stringify(document), spdxType);
    const response = await place.send("PUT", `manifests/${digest}`, manifest, { "content-type": "application/vnd.oci.image.manifest.v1+json" });
    assert.equal(response.status, 201);
  }
  await turn();
  for (const each of [tenant, other]) assert.deepEqual(objectList(await each.ok("gantry.images.v1.ImageSbomsService/ListImageSboms"), "imageSboms"), []);
  assert.equal((await sbomOf(registry, image)).digest, digest);
});
