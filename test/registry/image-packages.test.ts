// Packages of images by the API: their layers and paths, pushed SBOMs and attestations, and the difference between two images.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type JsonObject, objectList, text, texts } from "#base/json.ts";
import { runGantry } from "../command-line.ts";
import { alpine, apk, debian, dpkg, files, os, pushImage } from "../image-layers.ts";
import { openOwners, type Owners } from "../owner.ts";
import { descriptorOf, ociIndex, ociManifest, openPusher, type Pushed, type Pusher } from "../pusher.ts";
import { configType } from "../registry.ts";
import { symbolsOf } from "../conformance/stage.ts";
import { openWorld, type World } from "../world.ts";

const service = "gantry.images.v1.ImagePackagesService";

let world: World;
let folder: string;
let owners: Owners;
let made = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-packages-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  owners = openOwners(world);
});
after(async () => {
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

interface Repo {
  readonly group: string;
  readonly uid: string;
  readonly registry: Pusher;
}

const openGroup = async (): Promise<{ readonly uid: string; readonly name: string }> => {
  const name = `packages-${++made}`;
  return { uid: text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid"), name };
};

const openRepo = async (group: { readonly uid: string; readonly name: string }, name = "app"): Promise<Repo> => {
  const token = () => owners.token(group.uid);
  const uid = text(await world.ok("registry.ReposService/CreateRepo", { parent: group.uid, repo: { name } }, { token: await token() }), "uid");
  return { group: group.uid, uid, registry: openPusher(world, `${group.name}/${name}`, token) };
};

const call = async ({ group }: Repo, rpc: string, request: JsonObject): Promise<JsonObject> =>
  world.ok(`${service}/${rpc}`, request, { token: await owners.token(group) });

const packagesOf = (reply: JsonObject): string[] =>
  objectList(reply, "packages").map((each) => {
    const origins = texts(each, "origins").map((origin) => origin.replace("IMAGE_PACKAGE_ORIGIN_", ""));
    return `${text(each, "type")} ${text(each, "name")} ${text(each, "version")} ${Number(each.layerPosition ?? 0)} ${text(each, "path")} ${origins.join()}`;
  });

const changesOf = (reply: JsonObject): string[] =>
  objectList(reply, "changes").map((each) => {
    const kind = text(each, "kind").replace("IMAGE_PACKAGE_CHANGE_KIND_", "");
    return `${kind} ${text(each, "type")} ${text(each, "name")} ${texts(each, "fromVersions").join()} > ${texts(each, "toVersions").join()}`;
  });

const npm = (path: string, name: string, version: string) => ({ name: `${path}/package.json`, content: JSON.stringify({ name, version }) });

const stateless = (reply: JsonObject): string => text(reply, "state").replace("IMAGE_CONTENTS_STATE_", "");

test("each package of an image has its layer, path and database, and the layer is the first that has it in this version", async () => {
  const repo = await openRepo(await openGroup());
  const image = await pushImage(
    repo.registry,
    "1",
    [debian, dpkg(["bash", "5.2.15-2"], ["libssl3", "3.0.9-1"])],
    [
      dpkg(["bash", "5.2.15-3"], ["libssl3", "3.0.9-1"]),
      npm("app/node_modules/@babel/core", "@babel/core", "7.0.0"),
      npm("app/node_modules/gone", "gone", "1.0.0"),
    ],
    [{ name: "app/node_modules/.wh.gone" }, npm("srv/node_modules/@babel/core", "@babel/core", "7.0.0")],
  );
  await world.server.contents.turn();
  const reply = await call(repo, "FindImagePackages", { repoUid: repo.uid, reference: "1" });
  assert.deepEqual(packagesOf(reply), [
    "npm @babel/core 7.0.0 2 app/node_modules/@babel/core/package.json LAYERS",
    "npm @babel/core 7.0.0 3 srv/node_modules/@babel/core/package.json LAYERS",
    "deb bash 5.2.15-3 2 var/lib/dpkg/status LAYERS",
    "deb libssl3 3.0.9-1 1 var/lib/dpkg/status LAYERS",
  ]);
  assert.deepEqual([reply.totalCount, stateless(reply), reply.digest, reply.problemCount ?? 0], ["4", "INDEXED", image.digest, 0]);
  const manifest = (await (await repo.registry.send("GET", "manifests/1")).json()) as JsonObject;
  const [lowest = {}] = objectList(manifest, "layers");
  const ofLayer = await call(repo, "FindImagePackages", { repoUid: repo.uid, reference: image.digest, layers: [text(lowest, "digest")] });
  assert.deepEqual(objectList(ofLayer, "packages"), [
    {
      name: "libssl3",
      version: "3.0.9-1",
      type: "deb",
      purl: "pkg:deb/debian/libssl3@3.0.9-1?arch=amd64&distro=debian-12",
      architecture: "amd64",
      layer: lowest.digest,
      layerPosition: 1,
      path: "var/lib/dpkg/status",
      database: "dpkg",
      origins: ["IMAGE_PACKAGE_ORIGIN_LAYERS"],
    },
  ]);
});

test("packages are filtered, ordered and paged with exact totals, and every page has others", async () => {
  const repo = await openRepo(await openGroup());
  const names = Array.from({ length: 23 }, (_, index) => `lib${String(index).padStart(2, "0")}`);
  await pushImage(repo.registry, "1", [alpine, apk(...names.map((name): [string, string] => [name, "1-r0"])), npm("node_modules/ms", "ms", "2.0.0")]);
  await world.server.contents.turn();
  const find = (request: JsonObject): Promise<JsonObject> => call(repo, "FindImagePackages", { repoUid: repo.uid, reference: "1", ...request });
  for (const orderBy of ["name", "name desc", "type", "type desc"]) {
    const seen: string[] = [];
    let pageToken = "";
    do {
      const page = await find({ pageSize: 5, orderBy, pageToken });
      assert.equal(page.totalCount, "24");
      seen.push(...objectList(page, "packages").map((each) => text(each, "name")));
      pageToken = text(page, "nextPageToken");
    } while (pageToken !== "");
    const expected = [...names, "ms"];
    assert.deepEqual(seen, orderBy.endsWith("desc") ? expected.reverse() : expected, orderBy);
  }
  const named = await find({ names: ["lib07", "ms"], types: ["apk"] });
  assert.deepEqual([packagesOf(named), named.totalCount], [["apk lib07 1-r0 1 lib/apk/db/installed LAYERS"], "1"]);
  const skipped = await find({ skip: 22 });
  assert.deepEqual([objectList(skipped, "packages").map((each) => text(each, "name")), skipped.skipped], [["lib22", "ms"], 22]);
  assert.equal((await find({ origins: ["IMAGE_PACKAGE_ORIGIN_SBOM"] })).totalCount, "0");
});

test("a package that layers, an SBOM and an attestation name is listed once with all origins, and SBOMs add others", async () => {
  const repo = await openRepo(await openGroup());
  const { registry } = repo;
  const image = await pushImage(registry, "1", [debian, dpkg(["bash", "5.2.15-2"], ["zlib1g", "1.2-1"])]);
  const documentOf = (...purls: readonly string[]): JsonObject => ({
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    components: purls.map((purl) => ({ type: "library", name: purl, purl })),
  });
  const bash = "pkg:deb/debian/bash@5.2.15-2?arch=amd64&distro=debian-12";
  const sbom = JSON.stringify(documentOf(bash, "pkg:npm/%40babel/core@7.0.0"));
  await registry.artifact([await registry.blob(sbom, "application/vnd.cyclonedx+json")], { subject: image });
  const statement = JSON.stringify({
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ name: "app", digest: { sha256: image.digest.slice("sha256:".length) } }],
    predicateType: "https://cyclonedx.org/bom",
    predicate: documentOf(bash, "pkg:npm/%40babel/core@7.0.0", "pkg:golang/example.com/mod@v1.2.3"),
  });
  await registry.artifact([await registry.blob(statement, "application/vnd.in-toto+json")], { subject: image });
  await world.server.contents.turn();
  await world.server.sboms.turn();
  const find = async (origins: readonly string[] = []): Promise<string[]> =>
    packagesOf(await call(repo, "FindImagePackages", { repoUid: repo.uid, reference: "1", origins: origins.map((each) => `IMAGE_PACKAGE_ORIGIN_${each}`) }));
  const attested = "golang example.com/mod v1.2.3 0  ATTESTATION";
  const babel = "npm @babel/core 7.0.0 0  ATTESTATION,SBOM";
  const [both, layers] = ["deb bash 5.2.15-2 1 var/lib/dpkg/status LAYERS,ATTESTATION,SBOM", "deb zlib1g 1.2-1 1 var/lib/dpkg/status LAYERS"];
  assert.deepEqual(await find(), [babel, both, attested, layers]);
  assert.deepEqual(await find(["SBOM"]), [babel, both]);
  assert.deepEqual(await find(["LAYERS"]), [both, layers]);
});

test("an unread or unreadable image has an empty list with its state, and is not compared (attack 356)", async () => {
  const repo = await openRepo(await openGroup());
  const { registry } = repo;
  const good = await pushImage(registry, "good", [alpine, apk(["musl", "1.2.5-r0"])]);
  await world.server.contents.turn();
  await pushImage(registry, "damaged", Buffer.from("no layer at all"));
  const find = (reference: string): Promise<JsonObject> => call(repo, "FindImagePackages", { repoUid: repo.uid, reference });
  const waiting = await find("damaged");
  assert.deepEqual([waiting.totalCount, stateless(waiting)], ["0", "PENDING"]);
  const compare = async (reference: string, toReference: string) =>
    world.call(`${service}/CompareImages`, { repoUid: repo.uid, reference, toReference }, { token: await owners.token(repo.group) });
  const early = await compare("good", "damaged");
  assert.equal(early.code, 9);
  assert.match(early.message, /its state is PENDING/);
  await world.server.contents.turn();
  const failed = await find("damaged");
  assert.deepEqual([failed.totalCount, stateless(failed), failed.problemCount], ["0", "FAILED", 1]);
  for (const [from, to] of [
    ["good", "damaged"],
    ["damaged", good.digest],
  ] as const)
    assert.equal((await compare(from, to)).code, 9);
  const absent = await world.call(`${service}/FindImagePackages`, { repoUid: repo.uid, reference: "none" }, { token: await owners.token(repo.group) });
  assert.equal(absent.code, 5);
});

test("two images of different repos are compared by package, with a fixed order and the versions of both", async () => {
  const group = await openGroup();
  const [one, other] = [await openRepo(group, "one"), await openRepo(group, "other")];
  const from = await pushImage(one.registry, "1", [
    debian,
    dpkg(["bash", "5.2.15-2"], ["curl", "7.88-1"], ["same", "1"]),
    npm("a/node_modules/ms", "ms", "1.0.0"),
  ]);
  // Another release of the distribution, path and layer.
  const to = await pushImage(
    other.registry,
    "2",
    [os("debian", "13", "Debian GNU/Linux 13 (trixie)")],
    [dpkg(["bash", "5.3-1"], ["same", "1"], ["wget", "1.21-1"]), npm("b/node_modules/ms", "ms", "1.0.0"), npm("c/node_modules/ms", "ms", "2.0.0")],
  );
  await world.server.contents.turn();
  const compare = (request: JsonObject = {}): Promise<JsonObject> =>
    call(one, "CompareImages", { repoUid: one.uid, reference: "1", toRepoUid: other.uid, toReference: to.digest, ...request });
  const all = ["CHANGED deb bash 5.2.15-2 > 5.3-1", "REMOVED deb curl 7.88-1 > ", "CHANGED npm ms 1.0.0 > 1.0.0,2.0.0", "ADDED deb wget  > 1.21-1"];
  const reply = await compare();
  assert.deepEqual([changesOf(reply), reply.totalCount, reply.digest, reply.toDigest], [all, "4", from.digest, to.digest]);
  const second = await compare({ pageSize: 3, pageToken: text(await compare({ pageSize: 3 }), "nextPageToken") });
  assert.deepEqual(changesOf(second), all.slice(3));
  assert.deepEqual(changesOf(await compare({ types: ["deb"], kinds: ["IMAGE_PACKAGE_CHANGE_KIND_ADDED", "IMAGE_PACKAGE_CHANGE_KIND_REMOVED"] })), [
    all[1],
    all[3],
  ]);
  const own = await call(one, "CompareImages", { repoUid: one.uid, reference: "1", toReference: from.digest });
  assert.deepEqual([changesOf(own), own.totalCount], [[], "0"]);
});

test("of an index, the packages are those of the architecture", async () => {
  const repo = await openRepo(await openGroup());
  const { registry } = repo;
  const one = await pushImage(registry, undefined, [alpine, apk(["musl", "1.2.5-r0"])]);
  const config = await registry.blob(JSON.stringify({ architecture: "arm64", os: "linux" }), configType);
  const broken = await registry.blob("broken", files);
  const body = { schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(config), layers: [descriptorOf(broken)] };
  const other = await registry.manifest(body, ociManifest);
  const listed = (image: Pushed, architecture: string): JsonObject => ({ ...descriptorOf(image), platform: { os: "linux", architecture } });
  await registry.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests: [listed(one, "amd64"), listed(other, "arm64")] }, ociIndex, "many");
  await world.server.contents.turn();
  const find = (architecture: string): Promise<JsonObject> => call(repo, "FindImagePackages", { repoUid: repo.uid, reference: "many", architecture });
  const [amd64, arm64] = [await find(""), await find("arm64")];
  assert.deepEqual([packagesOf(amd64).length, amd64.digest, stateless(arm64), arm64.digest], [1, one.digest, "FAILED", other.digest]);
});

test("an image is compared only with images that the caller may list, and a layer's contents need its blob in the repo (attack 357)", async () => {
  const [ours, theirs] = [await openRepo(await openGroup()), await openRepo(await openGroup())];
  await pushImage(ours.registry, "1", [debian, dpkg(["bash", "5.2.15-2"])]);
  await pushImage(theirs.registry, "1", [debian, dpkg(["secret", "1"])]);
  await world.server.contents.turn();
  const token = await owners.token(ours.group);
  const request = { repoUid: ours.uid, reference: "1", toRepoUid: theirs.uid, toReference: "1" };
  const refusals = [
    await world.call(`${service}/CompareImages`, request, { token }),
    await world.call(`${service}/CompareImages`, { ...request, toReference: "absent" }, { token }),
    await world.call(`${service}/FindImagePackages`, { repoUid: theirs.uid, reference: "1" }, { token }),
  ];
  assert.deepEqual(
    refusals.map(({ code }) => code),
    [7, 7, 7],
  );
  // The layer of another organization, listed as stored elsewhere.
  const manifest = (await (await theirs.registry.send("GET", "manifests/1")).json()) as JsonObject;
  const [layer = {}] = objectList(manifest, "layers");
  const config = await ours.registry.blob(JSON.stringify({ architecture: "amd64", os: "linux" }), configType);
  const foreign = { ...layer, mediaType: "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip" };
  await ours.registry.manifest({ schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(config), layers: [foreign] }, ociManifest, "guess");
  await world.server.contents.turn();
  const guessed = await call(ours, "FindImagePackages", { repoUid: ours.uid, reference: "guess" });
  assert.deepEqual([packagesOf(guessed), stateless(guessed)], [[], "FAILED"]);
});

const v1 = "chainguard.platform.registry.Registry";

test("an image without a pushed SBOM has a generated one by every operation, and a pushed one takes precedence", async () => {
  const repo = await openRepo(await openGroup());
  const { registry } = repo;
  const image = await pushImage(registry, "1", [debian, dpkg(["bash", "5.2.15-2"])]);
  await world.server.contents.turn();
  const token = await owners.token(repo.group);
  const exported = (format: string): Promise<JsonObject> =>
    call(repo, "ExportImageSbom", { repoUid: repo.uid, reference: "1", format: `IMAGE_SBOM_FORMAT_${format}` });
  for (const [format, mark] of [
    ["UNSPECIFIED", '"spdxVersion":"SPDX-2.3"'],
    ["SPDX_3_0", '"specVersion":"3.0.1"'],
    ["CYCLONEDX_1_6", '"specVersion":"1.6"'],
  ] as const) {
    const [one, again] = [await exported(format), await exported(format)];
    assert.deepEqual(one, again);
    assert.deepEqual([one.packageCount, stateless(one), one.digest, text(one, "document").includes(mark)], [1, "INDEXED", image.digest, true]);
    assert.match(text(one, "document"), /pkg:deb\/debian\/bash@5\.2\.15-2\?arch=amd64&distro=debian-12/);
  }
  const request = { repoId: repo.uid, digest: image.digest };
  const raw = async (): Promise<string> => text(await world.ok(`${v1}/GetRawSbom`, request, { token }), "rawSbom");
  assert.equal(await raw(), text(await exported("SPDX_2_3"), "document"));
  const generated = await world.ok(`${v1}/GetSbom`, request, { token });
  assert.deepEqual(
    [generated.source, generated.format, generated.digest, text(generated, "tool").startsWith("gantry-")],
    ["GENERATED", "SPDX", image.digest, true],
  );
  const pushed = JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components: [{ type: "library", name: "ms", purl: "pkg:npm/ms@2.0.0" }] });
  await registry.artifact([await registry.blob(pushed, "application/vnd.cyclonedx+json")], { subject: image });
  await world.server.sboms.turn();
  assert.equal(await raw(), pushed);
  assert.equal((await world.ok(`${v1}/GetSbom`, request, { token })).source, "INGESTED");
  // A pushed SBOM adds to the layers, and removes nothing.
  const both = await exported("CYCLONEDX_1_6");
  const { components } = JSON.parse(text(both, "document")) as { components: { purl?: string; properties?: { name: string; value: string }[] }[] };
  assert.deepEqual(
    components.flatMap(({ purl, properties = [] }) => (purl === undefined ? [] : [[purl, properties.find(({ name }) => name === "gantry:origins")?.value]])),
    [
      ["pkg:deb/debian/bash@5.2.15-2?arch=amd64&distro=debian-12", "layers"],
      ["pkg:npm/ms@2.0.0", "sbom"],
    ],
  );
});

test("no SBOM is made of an image of which nothing was read, and one of a part says that it is incomplete (attack 356)", async () => {
  const repo = await openRepo(await openGroup());
  const image = await pushImage(repo.registry, "damaged", Buffer.from("no layer at all"));
  await pushImage(repo.registry, "partial", [debian, dpkg(["bash", "5.2.15-2"])], Buffer.from("damaged"));
  const token = await owners.token(repo.group);
  const codes = async (): Promise<number[]> => {
    const exported = await world.call(`${service}/ExportImageSbom`, { repoUid: repo.uid, reference: "damaged" }, { token });
    const raw = await world.call(`${v1}/GetRawSbom`, { repoId: repo.uid, digest: image.digest }, { token });
    const graph = await world.call(`${v1}/GetSbom`, { repoId: repo.uid, digest: image.digest }, { token });
    return [exported.code, raw.code, graph.code];
  };
  assert.deepEqual(await codes(), [9, 5, 5]);
  await world.server.contents.turn();
  assert.deepEqual(await codes(), [9, 5, 5]);
  const partial = await call(repo, "ExportImageSbom", { repoUid: repo.uid, reference: "partial" });
  assert.deepEqual([stateless(partial), /"comment":"Incomplete: /.test(text(partial, "document"))], ["PARTIAL", true]);
});

test("packages of a layer with contents that are too large to store are listed without their layer", async () => {
  const repo = await openRepo(await openGroup());
  await pushImage(repo.registry, "1", [debian, dpkg(["bash", "5.2.15-2"], ["libc6", "2.36-9"])]);
  await world.server.contents.turn();
  const { store } = world.server.application.services;
  await store.write((rows) => rows.query("update layer_contents set reader_version = 0"));
  const reply = await call(repo, "FindImagePackages", { repoUid: repo.uid, reference: "1" });
  assert.deepEqual(packagesOf(reply), ["deb bash 5.2.15-2 0  LAYERS", "deb libc6 2.36-9 0  LAYERS"]);
  assert.deepEqual([reply.totalCount, text(objectList(reply, "packages")[0] ?? {}, "purl")], ["2", "pkg:deb/debian/bash@5.2.15-2?distro=debian-12"]);
});

test("a caller without manifest.metadata.list, or with a similar capability, gets no generated SBOM of version 1 (attack 357)", async () => {
  const repo = await openRepo(await openGroup());
  const image = await pushImage(repo.registry, "1", [debian, dpkg(["bash", "5.2.15-2"])]);
  await world.server.contents.turn();
  const codeOf = async (...capabilities: readonly string[]): Promise<number> => {
    const parent = repo.group;
    const name = `holder-${++made}`;
    const role = { name, capabilities: symbolsOf(["repo.list", "sboms.list", ...capabilities]) };
    const roleUid = text(await world.ok("iam.RolesService/CreateRole", { parent, role }), "uid");
    const claimMatch = { issuer: "https://issuer.example.com", subject: name };
    const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent, identity: { name, claimMatch } }), "uid");
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid } });
    const { code } = await world.call(`${v1}/GetRawSbom`, { repoId: repo.uid, digest: image.digest }, { token: await world.token(identityUid) });
    return code;
  };
  const similar = ["manifest.list", "tag.list", "vuln_reports.list"];
  assert.deepEqual([await codeOf(), await codeOf(...similar), await codeOf("manifest.metadata.list")], [5, 5, 0]);
});

test("gantry registry images diff and sbom print the same as the API, and an incomplete image is noted", async () => {
  const group = await openGroup();
  const [one, other] = [await openRepo(group, "one"), await openRepo(group, "other")];
  await pushImage(one.registry, "1", [debian, dpkg(["bash", "5.2.15-2"], ["curl", "7.88-1"])]);
  await pushImage(other.registry, "2", [debian, dpkg(["bash", "5.2.15-3"])], Buffer.from("damaged"));
  await world.server.contents.turn();
  const environment = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await owners.token(group.uid), XDG_CONFIG_HOME: folder, HOME: folder };
  const run = (...args: readonly string[]) => runGantry(["registry", "images", ...args], { environment });
  const [from, to] = [`${group.name}/one:1`, `${group.name}/other:2`];
  assert.deepEqual(await run("diff", from, to), {
    status: 0,
    out: "~  deb  bash  5.2.15-2 -> 5.2.15-3\n-  deb  curl  7.88-1\n",
    err: `${to}: not all layers were read (PARTIAL), so packages can be missing.\n`,
  });
  assert.deepEqual(await run("diff", from, from), { status: 0, out: "No differences.\n", err: "" });
  const json = await run("diff", from, to, "--json");
  assert.deepEqual(
    json.out
      .trim()
      .split("\n")
      .map((line) => text(JSON.parse(line) as JsonObject, "name")),
    ["bash", "curl"],
  );
  const printed = await run("sbom", `${one.uid}:1`, "--format", "cyclonedx");
  const exported = await call(one, "ExportImageSbom", { repoUid: one.uid, reference: "1", format: "IMAGE_SBOM_FORMAT_CYCLONEDX_1_6" });
  assert.deepEqual([printed.status, printed.err, JSON.parse(printed.out)], [0, "", JSON.parse(text(exported, "document"))]);
  for (const [args, message] of [
    [["diff", from, `${group.name}/one`], /TO must be REPO:TAG or REPO@DIGEST/],
    [["diff", from], /two images required/],
    [["sbom", from, "--format", "xml"], /--format must be spdx, spdx3, cyclonedx/],
    [["sbom", `${group.name}/absent:1`], /repo "[^"]*absent" not found/],
  ] as const) {
    const { status, err } = await run(...args);
    assert.notEqual(status, 0);
    assert.match(err, message);
  }
});
