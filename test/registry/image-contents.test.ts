// The packages in the layers of pushed images, without SBOMs: read after the push, matched with advisories, and never clean if unread.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { findRegistryBacklog } from "#db";
import { openLayerReader, readerVersion } from "#registry/contents";
import { indexImages } from "../../server/application/index-images.ts";
import { openAttachedSboms } from "../../server/application/attached-sboms.ts";
import { openImageIndexing } from "../../server/application/image-indexing.ts";
import { asOwner } from "../database.ts";
import { digestOf } from "../distribution.ts";
import { openOwners, type Owners } from "../owner.ts";
import { descriptorOf, ociIndex, ociManifest, openPusher, type Pusher } from "../pusher.ts";
import { configType } from "../registry.ts";
import { runImport } from "../story/import.ts";
import { type DraftEntry, tarOf } from "../../server/registry/contents/tar.fixture.ts";
import { alpine, apk, debian, dpkg, files, pushImage } from "../image-layers.ts";
import { openWorld, type World } from "../world.ts";

const alpineSystem = { id: "alpine", version: "3.20.3", name: "Alpine Linux v3.20" };
const contentsList = "gantry.images.v1.ImageContentsService/ListImageContents";
const affectedList = "gantry.images.v1.AffectedImagesService/ListAffectedImages";

let world: World;
let folder: string;
let owners: Owners;
let made = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-contents-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  owners = openOwners(world);
});
after(async () => {
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

interface Tenant {
  readonly group: string;
  readonly name: string;
  readonly repo: (name: string) => Pusher;
  readonly list: (name: string, request?: JsonObject) => Promise<JsonObject>;
}

const openTenant = async (): Promise<Tenant> => {
  const name = `contents-${++made}`;
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  return {
    group,
    name,
    repo: (repo) => openPusher(world, `${name}/${repo}`, () => owners.token(group)),
    list: async (operation, request = {}) => world.ok(operation, request, { token: await owners.token(group) }),
  };
};

/** Reads all pushed images, and matches them. */
const turn = async (): Promise<void> => {
  await world.server.contents.turn();
  await world.server.sboms.turn();
};

const advisoryOf = (id: string, ecosystem: string, name: string, fixed: string): JsonObject => ({
  id,
  modified: "2026-01-02T00:00:00Z",
  affected: [{ package: { ecosystem, name }, ranges: [{ type: ecosystem === "npm" ? "SEMVER" : "ECOSYSTEM", events: [{ introduced: "0" }, { fixed }] }] }],
});

const importAdvisories = async ({ group }: Tenant, ...records: readonly JsonObject[]): Promise<void> => {
  const file = join(folder, "advisories.json");
  await writeFile(file, JSON.stringify(records));
  const { refused } = await runImport(world, "advisories", [file], { group });
  assert.deepEqual(refused, []);
};

const affectedOf = async ({ list }: Tenant): Promise<string[]> =>
  objectList(await list(affectedList), "affectedImages")
    .filter((each) => text(each, "state") === "AFFECTED_IMAGE_STATE_AFFECTED")
    .map(
      (each) =>
        `${text(each, "repo")}:${texts(each, "tags").join()} ${text(each, "packageName")} ${text(each, "installedVersion")} ${text(each, "advisoryId")}`,
    )
    .sort();

const contentsOf = async ({ list }: Tenant, request: JsonObject = {}): Promise<JsonObject[]> => objectList(await list(contentsList, request), "imageContents");
const stateOf = (contents: JsonObject): string => text(contents, "state").replace("IMAGE_CONTENTS_STATE_", "");

const unjudgedOf = async ({ list }: Tenant): Promise<string[]> =>
  objectList(part(await list(affectedList), "coverage"), "images")
    .map((image) => {
      const contents = objectList(image, "contents").map((each) => [stateOf(each), ...objectList(each, "problems").map((problem) => text(problem, "reason"))]);
      const reason = text(image, "reason").replace("UNJUDGED_REASON_", "");
      return `${text(image, "repo")}:${texts(image, "tags").join()} ${reason} ${contents.flat().join(" ")}`.trim();
    })
    .sort();

test("images without an SBOM are read after the push, and exactly their affected packages are listed", async () => {
  const tenant = await openTenant();
  await importAdvisories(
    tenant,
    advisoryOf("ALPINE-1", "Alpine:v3.20", "openssl", "3.3.2-r1"),
    advisoryOf("DEBIAN-1", "Debian:12", "bash", "5.2.15-3"),
    advisoryOf("NPM-1", "npm", "ms", "2.0.0"),
  );
  const registry = tenant.repo("app");
  const image = await pushImage(registry, "alpine", [alpine, apk(["openssl", "3.3.2-r0"], ["musl", "1.2.5-r0"])]);
  await pushImage(registry, "alpine-fixed", [alpine, apk(["openssl", "3.3.2-r1"])]);
  await pushImage(registry, "debian", [
    debian,
    dpkg(["bash", "5.2.15-2"]),
    { name: "app/node_modules/ms/package.json", content: '{"name":"ms","version":"1.9.0"}' },
  ]);
  // A later layer removes the affected package.
  await pushImage(
    registry,
    "debian-fixed",
    [debian, dpkg(["bash", "5.2.15-2"]), { name: "app/node_modules/ms/package.json", content: '{"name":"ms","version":"1.9.0"}' }],
    [dpkg(["bash", "5.2.15-3"]), { name: "app/.wh.node_modules" }],
  );
  assert.deepEqual((await contentsOf(tenant)).map(stateOf), ["PENDING", "PENDING", "PENDING", "PENDING"]);
  assert.deepEqual(
    await unjudgedOf(tenant),
    ["alpine", "alpine-fixed", "debian", "debian-fixed"].map((tag) => `app:${tag} NOT_READ PENDING`),
  );
  await turn();
  assert.deepEqual(await affectedOf(tenant), [
    "app:alpine pkg:apk/alpine/openssl?distro=alpine-3.20.3 3.3.2-r0 ALPINE-1",
    "app:debian pkg:deb/debian/bash?distro=debian-12 5.2.15-2 DEBIAN-1",
    "app:debian pkg:npm/ms 1.9.0 NPM-1",
  ]);
  assert.deepEqual(await unjudgedOf(tenant), []);
  const [contents = {}] = await contentsOf(tenant, { digest: image.digest });
  assert.deepEqual(
    [stateOf(contents), contents.platform, contents.packageCount, contents.problemCount, contents.readerVersion, contents.operatingSystem],
    ["INDEXED", "linux/amd64", 2, 0, readerVersion, { ...alpineSystem, endOfLifeState: "END_OF_LIFE_STATE_UNKNOWN" }],
  );
});

test("an operating system has the end of life that a lifecycle of the repo's group names, and it is unknown without one", async () => {
  const [tenant, other] = [await openTenant(), await openTenant()];
  for (const { repo } of [tenant, other]) {
    await pushImage(repo("os"), "alpine", [alpine, apk(["musl", "1.2.5-r0"])]);
    await pushImage(repo("os"), "debian", [debian, dpkg(["bash", "5.2.15-2"])]);
    await pushImage(repo("os"), "none", [apk(["musl", "1.2.5-r0"])]);
  }
  await turn();
  const file = join(folder, "lifecycle.json");
  const releases = (eol: string) => [{ releaseCycle: "3.20", releaseDate: "2024-05-22", eol }];
  const systems = async ({ list }: Tenant): Promise<JsonObject[]> =>
    objectList(await list(contentsList, { orderBy: "uid" }), "imageContents")
      .map((contents) => part(contents, "operatingSystem"))
      .sort((one, next) => (text(one, "id") < text(next, "id") ? -1 : 1));
  const unknown = { endOfLifeState: "END_OF_LIFE_STATE_UNKNOWN" };
  const debianSystem = { id: "debian", version: "12", name: "Debian GNU/Linux 12 (bookworm)", ...unknown };
  for (const [eol, state] of [
    ["2999-04-01", "SUPPORTED"],
    ["2025-04-01", "ENDED"],
  ] as const) {
    await writeFile(file, JSON.stringify({ permalink: "/alpine-linux", alternate_urls: ["/alpine"], releases: releases(eol) }));
    await runImport(world, "lifecycle", [file], { group: tenant.group });
    assert.deepEqual(await systems(tenant), [{}, { ...alpineSystem, endOfLifeState: `END_OF_LIFE_STATE_${state}`, endOfLifeDate: eol }, debianSystem]);
  }
  assert.deepEqual(await systems(other), [{}, { ...alpineSystem, ...unknown }, debianSystem]);
  const listed = async ({ list }: Tenant, states: readonly string[], more: JsonObject = {}): Promise<string[]> => {
    const endOfLifeStates = states.map((state) => `END_OF_LIFE_STATE_${state}`);
    const reply = await list(contentsList, { ...more, endOfLifeStates });
    const found = objectList(reply, "imageContents").map((contents) => text(part(contents, "operatingSystem"), "id"));
    assert.equal(Number(reply.totalCount ?? 0), found.length);
    return found.sort();
  };
  assert.deepEqual([await listed(tenant, ["ENDED"]), await listed(other, ["ENDED"])], [["alpine"], []]);
  assert.deepEqual([await listed(tenant, ["UNKNOWN"]), await listed(other, ["UNKNOWN"])], [["debian"], ["alpine", "debian"]]);
  assert.deepEqual([await listed(tenant, ["UNKNOWN", "ENDED"]), await listed(tenant, ["SUPPORTED"])], [["alpine", "debian"], []]);
  const repoUid = text((await contentsOf(tenant))[0] ?? {}, "repoUid");
  assert.deepEqual(await listed(tenant, ["ENDED"], { uidp: { descendantsOf: repoUid } }), ["alpine"]);
  // A caller with permissions in the repo alone, and one with permissions everywhere, find it too.
  const ended = { endOfLifeStates: ["END_OF_LIFE_STATE_ENDED"] };
  const digests = objectList(await world.ok(contentsList, ended), "imageContents").map(({ repoUid: uid }) => uid);
  assert.deepEqual(digests, [repoUid]);
});

test("an image that cannot be read, or only in part, is never shown as clean (attack 353)", async () => {
  const tenant = await openTenant();
  await importAdvisories(tenant, advisoryOf("DEBIAN-2", "Debian:12", "bash", "5.2.15-3"));
  const registry = tenant.repo("unread");
  const good = [debian, dpkg(["bash", "5.2.15-2"])];
  await pushImage(registry, "complete", good);
  await pushImage(registry, "failed", Buffer.from("no layer at all"));
  await pushImage(registry, "partial", good, gzipSync(tarOf([{ name: "a", content: "b".repeat(5000) }])).subarray(0, 60));
  const chart = await registry.blob("chart", "application/vnd.cncf.helm.chart.content.v1.tar+gzip");
  await registry.artifact([chart], { reference: "unsupported" });
  await turn();
  assert.deepEqual(await affectedOf(tenant), [
    "unread:complete pkg:deb/debian/bash?distro=debian-12 5.2.15-2 DEBIAN-2",
    "unread:partial pkg:deb/debian/bash?distro=debian-12 5.2.15-2 DEBIAN-2",
  ]);
  assert.deepEqual(await unjudgedOf(tenant), [
    "unread:failed NOT_READ FAILED LAYER_UNREADABLE",
    "unread:partial NOT_READ PARTIAL LAYER_UNREADABLE",
    "unread:unsupported NOT_READ UNSUPPORTED",
  ]);
  const states = await contentsOf(tenant, { states: ["IMAGE_CONTENTS_STATE_FAILED", "IMAGE_CONTENTS_STATE_PARTIAL"] });
  assert.deepEqual(states.map(stateOf).sort(), ["FAILED", "PARTIAL"]);
  const [problem = {}] = objectList(states.find((each) => stateOf(each) === "PARTIAL") ?? {}, "problems");
  assert.deepEqual([problem.reason, problem.detail, problem.path ?? ""], ["LAYER_UNREADABLE", "is damaged gzip", ""]);
});

test("an SBOM adds to what the layers show, removes nothing, and the same package of both counts once (attack 353)", async () => {
  const tenant = await openTenant();
  await importAdvisories(tenant, advisoryOf("DEBIAN-3", "Debian:12", "bash", "5.2.15-3"), advisoryOf("NPM-3", "npm", "ms", "2.0.0"));
  const registry = tenant.repo("both");
  const image = await pushImage(registry, "1", [debian, dpkg(["bash", "5.2.15-2"])]);
  const purls = ["pkg:deb/debian/bash@5.2.15-2?arch=amd64&distro=debian-12.5", "pkg:npm/ms@1.9.0"];
  const sbom = JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components: purls.map((purl) => ({ type: "library", name: purl, purl })) });
  await registry.artifact([await registry.blob(sbom, "application/vnd.cyclonedx+json")], { subject: image });
  // An SBOM that names nothing.
  const other = await pushImage(registry, "2", [debian, dpkg(["bash", "5.2.15-2"]), { name: "etc/second", content: "" }]);
  const empty = JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components: [] });
  await registry.artifact([await registry.blob(empty, "application/vnd.cyclonedx+json")], { subject: other });
  await turn();
  const bash = "pkg:deb/debian/bash?distro=debian-12 5.2.15-2 DEBIAN-3";
  assert.deepEqual(await affectedOf(tenant), [`both:1 ${bash}`, "both:1 pkg:npm/ms 1.9.0 NPM-3", `both:2 ${bash}`]);
});

test("each platform of an index is read", async () => {
  const tenant = await openTenant();
  await importAdvisories(tenant, advisoryOf("DEBIAN-4", "Debian:12", "bash", "5.2.15-3"));
  const registry = tenant.repo("index");
  const one = await pushImage(registry, undefined, [debian, dpkg(["bash", "5.2.15-2"])]);
  const config = await registry.blob(JSON.stringify({ architecture: "arm64", os: "linux" }), configType);
  const broken = await registry.blob("broken", files);
  const other = await registry.manifest(
    { schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(config), layers: [descriptorOf(broken)] },
    ociManifest,
  );
  const manifests = [
    { ...descriptorOf(one), platform: { os: "linux", architecture: "amd64" } },
    { ...descriptorOf(other), platform: { os: "linux", architecture: "arm64" } },
  ];
  await registry.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests }, ociIndex, "many");
  await turn();
  assert.deepEqual(await affectedOf(tenant), ["index:many pkg:deb/debian/bash?distro=debian-12 5.2.15-2 DEBIAN-4"]);
  assert.deepEqual(await unjudgedOf(tenant), ["index:many NOT_READ FAILED LAYER_UNREADABLE"]);
  assert.deepEqual((await contentsOf(tenant)).map((each) => `${text(each, "platform")} ${stateOf(each)}`).sort(), [
    "linux/amd64 INDEXED",
    "linux/arm64 FAILED",
  ]);
});

test("an image of a deleted tag, manifest or repo is affected no longer, and a restored repo's is again", async () => {
  const tenant = await openTenant();
  await importAdvisories(tenant, advisoryOf("DEBIAN-5", "Debian:12", "bash", "5.2.15-3"));
  const registry = tenant.repo("deleted");
  const image = await pushImage(registry, "1", [debian, dpkg(["bash", "5.2.15-2"])]);
  await turn();
  const affected = ["deleted:1 pkg:deb/debian/bash?distro=debian-12 5.2.15-2 DEBIAN-5"];
  assert.deepEqual(await affectedOf(tenant), affected);
  assert.equal((await registry.send("DELETE", "manifests/1")).status, 202);
  await turn();
  assert.deepEqual(await affectedOf(tenant), []);
  await pushImage(registry, "1", [debian, dpkg(["bash", "5.2.15-2"])]);
  await turn();
  assert.deepEqual(await affectedOf(tenant), affected);
  const [{ repoUid = "" } = {}] = await contentsOf(tenant);
  const { token } = owners;
  await world.ok("registry.ReposService/DeleteRepo", { uid: String(repoUid) }, { token: await token(tenant.group) });
  await turn();
  assert.deepEqual([await affectedOf(tenant), await contentsOf(tenant)], [[], []]);
  const [{ uid = "" } = {}] = objectList(
    await tenant.list("gantry.deletions.v1.DeletionsService/ListDeletions", { resourceUids: [String(repoUid)] }),
    "deletions",
  );
  await world.ok("gantry.deletions.v1.DeletionsService/UndeleteDeletion", { uid: String(uid) }, { token: await token(tenant.group) });
  await turn();
  assert.deepEqual(await affectedOf(tenant), affected);
  assert.equal((await registry.send("DELETE", `manifests/${image.digest}`)).status, 202);
  await turn();
  assert.deepEqual([await affectedOf(tenant), await contentsOf(tenant)], [[], []]);
});

test("new advisories find each image, although too many names of gone packages were kept, and one image had no tag when they were deleted", async () => {
  const tenant = await openTenant();
  const registry = tenant.repo("kept");
  const image = [debian, dpkg(["bash", "5.2.15-2"])];
  await pushImage(registry, "1", image);
  await turn();
  assert.equal((await registry.send("DELETE", "manifests/1")).status, 202);
  await turn();
  const plant = "insert into package_labels (root, name) select $1, 'gone-' || number from generate_series(1, $2::integer) as number";
  await asOwner(world.databaseUrl, plant, [tenant.group, limits.packageLabelsMax]);
  await pushImage(registry, "2", [debian, dpkg(["openssl", "3.0.1-1"])]);
  await turn();
  // Matched by the import.
  await pushImage(tenant.repo("kept-too"), "1", [debian, dpkg(["zlib1g", "1.2.13-1"])]);
  await world.server.contents.turn();
  const advisories = [advisoryOf("DEBIAN-9", "Debian:12", "openssl", "3.0.2-1"), advisoryOf("DEBIAN-10", "Debian:12", "bash", "5.2.15-3")] as const;
  await importAdvisories(tenant, advisories[0]);
  const found = "kept:2 pkg:deb/debian/openssl?distro=debian-12 3.0.1-1 DEBIAN-9";
  assert.deepEqual(await affectedOf(tenant), [found]);
  const labels = await asOwner(world.databaseUrl, "select name from package_labels where root = $1 order by name", [tenant.group]);
  assert.deepEqual(labels.flat(), ["pkg:deb/debian/openssl?distro=debian-12", "pkg:deb/debian/zlib1g?distro=debian-12"]);
  await pushImage(registry, "1", image);
  await turn();
  await importAdvisories(tenant, ...advisories);
  assert.deepEqual(await affectedOf(tenant), ["kept:1 pkg:deb/debian/bash?distro=debian-12 5.2.15-2 DEBIAN-10", found]);
});

test("the names of packages are deleted with their organization", async () => {
  const root = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "contents-gone" } }), "uid");
  const labels = () => asOwner(world.databaseUrl, "select name from package_labels where root = $1", [root]);
  await asOwner(world.databaseUrl, "insert into package_labels (root, name) values ($1, 'pkg:npm/ms')", [root]);
  assert.equal((await labels()).length, 1);
  await world.ok("iam.GroupsService/DeleteGroup", { uid: root });
  assert.deepEqual(await labels(), []);
});

test("another organization with the same layers sees only its own images, and nothing of the other's (attack 355)", async () => {
  const [ours, theirs] = [await openTenant(), await openTenant()];
  await importAdvisories(ours, advisoryOf("DEBIAN-6", "Debian:12", "bash", "5.2.15-3"));
  const layer = [debian, dpkg(["bash", "5.2.15-2"])];
  await pushImage(ours.repo("same"), "1", layer);
  await turn();
  assert.deepEqual(await contentsOf(theirs), []);
  assert.equal((await theirs.list(contentsList, { uidp: { descendantsOf: ours.group } })).totalCount, "0");
  await pushImage(theirs.repo("same"), "1", layer);
  const [waiting = {}] = await contentsOf(theirs);
  assert.equal(stateOf(waiting), "PENDING", "a layer that another organization has is not known before it is read");
  await turn();
  const [own = {}, ...others] = await contentsOf(theirs);
  assert.deepEqual([stateOf(own), text(own, "uid").startsWith(theirs.group), others], ["INDEXED", true, []]);
  assert.deepEqual([await affectedOf(theirs), (await affectedOf(ours)).length], [[], 1]);
  // A manifest may list layers that are stored elsewhere: the digest of a layer is not enough to see what is in it.
  const secret = gzipSync(tarOf([debian, dpkg(["secret", "1"])]));
  await pushImage(ours.repo("secret"), "1", secret);
  await turn();
  const guess = theirs.repo("guess");
  const config = await guess.blob(JSON.stringify({ architecture: "amd64", os: "linux" }), configType);
  const elsewhere = { mediaType: "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", digest: digestOf(secret), size: secret.length };
  const guessed = await guess.manifest({ schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(config), layers: [elsewhere] }, ociManifest, "1");
  await turn();
  const [seen = {}] = await contentsOf(theirs, { digest: guessed.digest });
  assert.deepEqual([stateOf(seen), seen.packageCount, seen.operatingSystem], ["FAILED", 0, undefined]);
  assert.deepEqual(objectList(seen, "problems"), [{ reason: "LAYER_MISSING", detail: "is not stored", layer: digestOf(secret) }]);
});

test("hostile layers end in a named state and change no other image", async () => {
  const tenant = await openTenant();
  const registry = tenant.repo("hostile");
  const hostile: Readonly<Record<string, readonly DraftEntry[] | Uint8Array>> = {
    bomb: zstdCompressSync(Buffer.alloc(64 * 1024 * 1024)),
    control: [debian, dpkg(["ba\u001bsh", "1"])],
    outside: [{ name: "../../etc/passwd", content: "x" }, debian, dpkg(["bash", "1"])],
    surrogate: [debian, { name: "app/node_modules/ms/package.json", content: '{"name":"m\\ud800","version":"1.0.0"}' }],
    "deep-path": [debian, { name: `${"a/".repeat(100)}lib/apk/db/installed`, content: "P:a\nV:1\n" }],
  };
  for (const [tag, layer] of Object.entries(hostile)) await pushImage(registry, tag, layer);
  await pushImage(registry, "good", [debian, dpkg(["bash", "5.2.15-2"])]);
  await turn();
  const found = await contentsOf(tenant);
  const states = Map.groupBy(found, stateOf);
  assert.deepEqual([found.length, states.get("PENDING") ?? []], [6, []]);
  const reasons = found.flatMap((each) => objectList(each, "problems").map((problem) => text(problem, "reason")));
  assert.deepEqual(reasons.sort(), ["PACKAGE_INVALID", "PACKAGE_INVALID", "PATH_OUTSIDE"]);
});

test("organizations take turns, and an image that fails again and again ends as FAILED without delaying others (attack 354)", async () => {
  const [many, few] = [await openTenant(), await openTenant()];
  const layerOf = (name: string): Buffer => gzipSync(tarOf([{ name, content: name }]));
  for (const name of ["a", "b", "c"]) await pushImage(many.repo("turns"), name, layerOf(`many-${name}`));
  await pushImage(few.repo("turns"), "a", layerOf("few"));
  const services = world.server.application.services;
  const read = openLayerReader();
  const order: string[] = [];
  // The storage fails for one layer of the other organization.
  const indexing = openImageIndexing({
    services,
    sboms: openAttachedSboms(world.server.application.kernel),
    byHand: true,
    read: async (pieces, signal) => {
      const bytes = Buffer.concat(await Array.fromAsync(pieces, (piece) => Uint8Array.from(piece)));
      const name = ["many-a", "many-b", "many-c", "few"].find((each) => layerOf(each).equals(bytes)) ?? "";
      order.push(name.slice(0, 4).replace("-", ""));
      if (name === "many-b") throw new Error("the storage is unreachable");
      return read(
        (async function* () {
          yield bytes;
        })(),
        signal,
      );
    },
  });
  await indexing.turn();
  assert.equal(order.length, 4);
  assert.ok(order.indexOf("few") < 2, order.join());
  const states = async (): Promise<string[]> => (await contentsOf(many)).map(stateOf).sort();
  assert.deepEqual([await states(), (await contentsOf(few)).map(stateOf)], [["INDEXED", "INDEXED", "PENDING"], ["INDEXED"]]);
  const before = world.clock.now;
  for (let tries = 0; tries <= limits.contentsTriesMax; tries++) {
    world.clock.now += limits.contentsRetryMaxMs;
    await indexing.turn();
  }
  assert.deepEqual([await states(), order.length], [["FAILED", "INDEXED", "INDEXED"], 3 + limits.contentsTriesMax]);
  const [failed = {}] = await contentsOf(many, { states: ["IMAGE_CONTENTS_STATE_FAILED"] });
  assert.deepEqual(objectList(failed, "problems"), [{ reason: "IMAGE_UNREADABLE", detail: `could not be read in ${limits.contentsTriesMax} tries` }]);
  world.clock.now = before;
  await indexing.stop();
});

test("an image of many layers waits between them for the images of other organizations, and reads no layer twice (attack 354)", async () => {
  const [large, small] = [await openTenant(), await openTenant()];
  const layerOf = (name: string): Buffer => gzipSync(tarOf([{ name, content: name }]));
  const names = ["large-a", "large-b", "large-c", "small"];
  await pushImage(large.repo("layers"), "1", ...["large-a", "large-b", "large-c"].map(layerOf));
  const read = openLayerReader();
  const order: string[] = [];
  const indexing = openImageIndexing({
    services: world.server.application.services,
    sboms: openAttachedSboms(world.server.application.kernel),
    byHand: true,
    turnMs: -1,
    read: async (pieces, signal) => {
      const bytes = Buffer.concat(await Array.fromAsync(pieces, (piece) => Uint8Array.from(piece)));
      order.push(names.find((each) => layerOf(each).equals(bytes)) ?? "another");
      // The other organization pushes meanwhile.
      if (order.length === 1) await pushImage(small.repo("layers"), "1", layerOf("small"));
      return read(Readable.from([bytes]), signal);
    },
  });
  await indexing.turn();
  assert.deepEqual(order, ["large-a", "small", "large-b", "large-c"]);
  assert.deepEqual([(await contentsOf(large)).map(stateOf), (await contentsOf(small)).map(stateOf)], [["INDEXED"], ["INDEXED"]]);
  await indexing.stop();
});

test("images that an older reader read are read again, and keep their packages meanwhile", async () => {
  const tenant = await openTenant();
  await importAdvisories(tenant, advisoryOf("DEBIAN-7", "Debian:12", "bash", "5.2.15-3"));
  await pushImage(tenant.repo("older"), "1", [debian, dpkg(["bash", "5.2.15-2"])]);
  await turn();
  const { store } = world.server.application.services;
  await store.write((rows) => rows.query("update image_contents set reader_version = 0 where left(uid, 40) = $1", [tenant.group]));
  const affected = ["older:1 pkg:deb/debian/bash?distro=debian-12 5.2.15-2 DEBIAN-7"];
  const [older = {}] = await contentsOf(tenant);
  assert.deepEqual([stateOf(older), older.readerVersion ?? 0, await affectedOf(tenant)], ["INDEXED", 0, affected]);
  await turn();
  const [newer = {}] = await contentsOf(tenant);
  assert.deepEqual([stateOf(newer), newer.readerVersion, await affectedOf(tenant)], ["INDEXED", readerVersion, affected]);
});

test("gantry admin registry index queues read images again with their layers once, and images keep their packages meanwhile", async () => {
  const tenant = await openTenant();
  await importAdvisories(tenant, advisoryOf("DEBIAN-8", "Debian:12", "bash", "5.2.15-3"));
  await pushImage(tenant.repo("again"), "1", [debian, dpkg(["bash", "5.2.15-2"])]);
  await pushImage(tenant.repo("other"), "1", [debian, dpkg(["bash", "5.2.15-3"])]);
  await turn();
  const { services } = world.server.application;
  // Times have milliseconds: what was read now was not read before now.
  world.clock.now += 1_000;
  const progress: number[] = [];
  const index = (more: { readonly repo?: string; readonly dryRun?: boolean; readonly readBeforeMs?: number } = {}): Promise<number> =>
    indexImages(services, { repo: `${tenant.name}/again`, readBeforeMs: world.clock.now, dryRun: false, progress: ({ done }) => progress.push(done), ...more });
  assert.deepEqual([await index({ dryRun: true }), progress], [1, []]);
  assert.deepEqual([await index({ readBeforeMs: 0 }), progress], [0, []]);
  assert.deepEqual([await index(), await index(), progress], [1, 0, [1]]);
  await assert.rejects(index({ repo: `${tenant.name}/absent` }), /Repo ".*absent" not found/);
  const affected = ["again:1 pkg:deb/debian/bash?distro=debian-12 5.2.15-2 DEBIAN-8"];
  assert.deepEqual([(await contentsOf(tenant)).map(stateOf), await affectedOf(tenant)], [["INDEXED", "INDEXED"], affected]);
  const reads: number[] = [];
  const readLayer = openLayerReader();
  const indexing = openImageIndexing({
    services,
    sboms: openAttachedSboms(world.server.application.kernel),
    byHand: true,
    read: (pieces, signal) => {
      reads.push(1);
      return readLayer(pieces, signal);
    },
  });
  await indexing.turn();
  await indexing.turn();
  await indexing.stop();
  assert.deepEqual([reads.length, await index({ dryRun: true, readBeforeMs: world.clock.now - 1 }), await affectedOf(tenant)], [1, 0, affected]);
});

test("the age of the oldest image that is due is a metric, and is 0 when all images are read", async () => {
  const tenant = await openTenant();
  await turn();
  const ageMs = async (): Promise<number> => {
    const { store, clock } = world.server.application.services;
    const dueMs = (await findRegistryBacklog(store.read))?.firstImageDueMs;
    return dueMs === undefined ? 0 : clock() - dueMs;
  };
  assert.equal(await ageMs(), 0);
  await pushImage(tenant.repo("old"), "1", [debian, dpkg(["bash", "5.2.15-2"])]);
  const start = world.clock.now;
  world.clock.now += 60_000;
  await pushImage(tenant.repo("new"), "1", [debian, dpkg(["bash", "5.2.15-3"])]);
  const [oldest, lowest] = [await ageMs(), world.clock.now - start];
  assert.ok(oldest >= lowest, `${oldest} ms`);
  await turn();
  assert.equal(await ageMs(), 0);
  world.clock.now = start;
});

test("a push that moves a tag reports no finding as resolved before the new image is read, and those of an unchanged package never", async () => {
  const tenant = await openTenant();
  await importAdvisories(tenant, advisoryOf("ALPINE-1", "Alpine:v3.20", "openssl", "3.3.2-r1"));
  const registry = tenant.repo("app");
  const changes = async (): Promise<string[]> => {
    const reply = await tenant.list("gantry.events.v1.EventsService/ListEvents", { uidp: { descendantsOf: tenant.group }, pageSize: 200 });
    return objectList(reply, "events").flatMap((event) => {
      const [, change = ""] = /^dev\.gantry\.findings\.(appeared|resolved|reopened)\.v1$/.exec(text(event, "type")) ?? [];
      return change === "" ? [] : [change];
    });
  };
  /** The tag moves before the layers of its image are read. */
  const push = async (...packages: [name: string, version: string][]): Promise<void> => {
    await pushImage(registry, "latest", [alpine, apk(...packages)]);
    await world.server.sboms.turn();
  };
  await push(["openssl", "3.3.2-r0"]);
  await turn();
  world.clock.now += 60_000;
  await push(["openssl", "3.3.2-r0"], ["musl", "1.2.5-r0"]);
  await turn();
  assert.deepEqual((await affectedOf(tenant)).length, 1);
  world.clock.now += 60_000;
  await push(["musl", "1.2.5-r0"]);
  await world.server.delivery.finish();
  assert.deepEqual(await changes(), ["appeared"]);
  await turn();
  await world.server.delivery.finish();
  assert.deepEqual(await changes(), ["appeared", "resolved"]);
});
