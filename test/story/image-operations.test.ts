// Version 1's reads of stored images: platforms, sizes, configurations, counts and packages, compared with the pushed content.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { importOciLayout } from "#application";
import type { Protocol } from "../client.ts";
import { asOwner } from "../database.ts";
import { shortOrLong } from "../length.ts";
import { descriptorOf, ociIndex, ociManifest, openPusher, type Pushed, type Pusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";
import { realData, runImport, withRealData } from "./import.ts";

const registry = "chainguard.platform.registry.Registry";
const protocols: readonly Protocol[] = ["rest", "grpc"];

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world?.close());

const createRepo = async (name: string, parent = world.organization): Promise<{ uid: string; pusher: Pusher }> => {
  const uid = text(await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name } }), "uid");
  return { uid, pusher: openPusher(world, uid, () => world.token(), name) };
};

const ask = (operation: string, request: JsonObject, protocol: Protocol = "rest"): Promise<JsonObject> =>
  world.ok(`${registry}/${operation}`, request, { protocol });
const refused = async (operation: string, request: JsonObject, protocol: Protocol = "rest", token?: string): Promise<number> =>
  (await world.call(`${registry}/${operation}`, request, { protocol, ...(token === undefined ? {} : { token }) })).code;

const imageWith = async (pusher: Pusher, config: object, reference?: string): Promise<Pushed> => {
  const stored = await pusher.blob(JSON.stringify(config), "application/vnd.oci.image.config.v1+json");
  const layer = await pusher.blob(`a layer of ${JSON.stringify(config)}`, "application/vnd.oci.image.layer.v1.tar");
  return pusher.manifest({ schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(stored), layers: [descriptorOf(layer)] }, ociManifest, reference);
};

const attach = async (pusher: Pusher, subject: Pushed, document: string | Uint8Array, mediaType = "application/vnd.cyclonedx+json"): Promise<void> => {
  await pusher.artifact([await pusher.blob(document, mediaType)], { subject });
  await world.server.sboms.turn();
};

const bom = (...components: readonly JsonObject[]): string => JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components });
const library = (purl: string): JsonObject => ({ type: "library", name: purl, purl });

const fullConfig = {
  architecture: "arm64",
  os: "linux",
  config: {
    User: "65532",
    ExposedPorts: { "80/tcp": {}, "443/tcp": { left: "out" } },
    Env: ["PATH=/usr/bin", "EMPTY="],
    Entrypoint: ["/bin/sh", "-c"],
    Cmd: ["echo"],
    Volumes: { "/data": {} },
    WorkingDir: "/work",
    Labels: { a: "b", __proto__x: "data" },
    StopSignal: "SIGTERM",
    OnBuild: ["nothing of version 1's"],
  },
};

test("an image returns its pushed configuration, and an index that of the requested architecture", async () => {
  const { uid, pusher } = await createRepo("configurations");
  const arm = await imageWith(pusher, fullConfig);
  const amd = await imageWith(pusher, { architecture: "amd64", os: "linux", config: { User: "root" } });
  const index = await pusher.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests: [arm, amd].map(descriptorOf) }, ociIndex, "latest");
  const { config } = fullConfig;
  for (const protocol of protocols) {
    for (const request of [{ digest: arm.digest }, { digest: arm.digest, arch: "arm64" }, { digest: index.digest, arch: "arm64" }]) {
      const reply = await ask("GetImageConfig", { repoId: uid, ...request }, protocol);
      assert.deepEqual(
        [text(reply, "user"), Object.keys(part(reply, "exposedPorts")).sort(), texts(reply, "env"), texts(reply, "entrypoint"), texts(reply, "cmd")],
        [config.User, Object.keys(config.ExposedPorts).sort(), config.Env, config.Entrypoint, config.Cmd],
      );
      assert.deepEqual(
        [Object.keys(part(reply, "volumes")), text(reply, "workingDir"), part(reply, "labels"), text(reply, "stopSignal")],
        [Object.keys(config.Volumes), config.WorkingDir, config.Labels, config.StopSignal],
      );
    }
    assert.equal(text(await ask("GetImageConfig", { repoId: uid, digest: index.digest }, protocol), "user"), "root", "amd64 where nothing is said");
    assert.deepEqual([...texts(await ask("GetArchs", { repoId: uid, digest: index.digest }, protocol), "archs")].sort(), ["amd64", "arm64"]);
    const size = await ask("GetSize", { repoId: uid, digest: index.digest, arch: "arm64" }, protocol);
    assert.deepEqual(size, {
      arch: "arm64",
      size: (await world.ok("registry.ImagesService/GetSize", { repoUid: uid, digest: arm.digest, architecture: "arm64" })).size,
    });
    for (const request of [{ digest: index.digest, arch: "riscv64" }, { digest: arm.digest, arch: "amd64" }, { digest: `sha256:${"0".repeat(64)}` }])
      assert.equal(await refused("GetImageConfig", { repoId: uid, ...request }, protocol), codes.NOT_FOUND, JSON.stringify(request));
  }
});

test("unexpected types in a configuration are ignored; returned values are texts", async () => {
  const { uid, pusher } = await createRepo("odd-configurations");
  for (const config of [
    { config: null },
    { config: [] },
    { config: { User: 5, Env: "A=b", Cmd: [1, "two"], ExposedPorts: ["80"], Labels: { a: 1, b: "c" }, Volumes: null } },
    {},
  ]) {
    const { digest } = await imageWith(pusher, { architecture: "amd64", os: "linux", ...config });
    for (const protocol of protocols) {
      const reply = await ask("GetImageConfig", { repoId: uid, digest }, protocol);
      assert.deepEqual([text(reply, "user"), texts(reply, "env"), part(reply, "exposedPorts")], ["", [], {}], JSON.stringify(config));
      assert.deepEqual(part(reply, "labels"), config.config && "Labels" in config.config ? { b: "c" } : {});
    }
  }
  // A chart is not an image, and its configuration has no container fields.
  const chart = await pusher.blob(JSON.stringify({ name: "chart", version: "1" }), "application/vnd.cncf.helm.config.v1+json");
  const { digest } = await pusher.manifest({ schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(chart), layers: [] }, ociManifest);
  assert.equal(text(await ask("GetImageConfig", { repoId: uid, digest }), "user"), "");
  const large = await pusher.blob(
    JSON.stringify({ architecture: "amd64", os: "linux", padding: "x".repeat(limits.imageConfigBytesMax) }),
    "application/vnd.example",
  );
  const huge = await pusher.manifest({ schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(large), layers: [] }, ociManifest);
  assert.equal(await refused("GetImageConfig", { repoId: uid, digest: huge.digest }), codes.FAILED_PRECONDITION);
});

test("the real images return the values of their files", withRealData, async () => {
  const layouts = join(realData, "registry/oci-layouts");
  let compared = 0;
  for (const name of readdirSync(layouts)) {
    const { uid } = await createRepo(name.replaceAll("_", "-"));
    const folder = join(layouts, name);
    await importOciLayout(world.server.application, { folder, repo: uid, progress: () => {} });
    const read = (digest: string): JsonObject => JSON.parse(readFileSync(join(folder, "blobs/sha256", digest.slice("sha256:".length)), "utf8")) as JsonObject;
    const stored = await asOwner(world.databaseUrl, `select sha256 from repo_manifests where repo_uid = '${uid}'`);
    for (const [digest = ""] of stored) {
      const manifest = read(digest ?? "");
      if (manifest.config === undefined) continue;
      const own = part(read(text(part(manifest, "config"), "digest")), "config");
      for (const protocol of protocols) {
        const reply = await ask("GetImageConfig", { repoId: uid, digest }, protocol);
        assert.deepEqual(
          [text(reply, "user"), texts(reply, "env"), texts(reply, "entrypoint"), texts(reply, "cmd"), text(reply, "workingDir"), part(reply, "labels")],
          [text(own, "User"), texts(own, "Env"), texts(own, "Entrypoint"), texts(own, "Cmd"), text(own, "WorkingDir"), part(own, "Labels")],
          `${name} ${digest}`,
        );
      }
      compared++;
    }
  }
  assert.ok(compared > 3, `only ${compared} configurations were compared`);
});

test("manifests are counted in their repo and each group above it, a digest once", async () => {
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "counted" } }), "uid");
  const below = text(await world.ok("iam.GroupsService/CreateGroup", { parent: group, group: { name: "below" } }), "uid");
  const [one, other] = [await createRepo("one", group), await createRepo("other", below)];
  const count = async (parentId: string): Promise<string[]> =>
    Promise.all(protocols.map(async (protocol) => text(await ask("GetManifestDigestCount", { parentId }, protocol), "count") || "0"));
  assert.deepEqual(await count(group), ["0", "0"]);
  await imageWith(one.pusher, { architecture: "amd64", os: "linux" });
  await imageWith(other.pusher, { architecture: "amd64", os: "linux" });
  await imageWith(other.pusher, { architecture: "arm64", os: "linux" });
  for (const [place, expected] of [
    [one.uid, "1"],
    [other.uid, "2"],
    [below, "2"],
    [group, "2"],
  ] as const)
    assert.deepEqual(await count(place), [expected, expected], place);
});

// ---- packages of images ----------------------------------------------------------------------------------------------

const withRealSboms = { skip: withRealData.skip };

/** Collects all package URLs anywhere in a document. */
const purlsIn = (value: Json, found = new Set<string>()): Set<string> => {
  if (typeof value === "string" && value.startsWith("pkg:")) found.add(value);
  else if (Array.isArray(value)) for (const each of value) purlsIn(each, found);
  else if (isObject(value)) for (const each of Object.values(value)) purlsIn(each, found);
  return found;
};

test("an SBOM is returned byte for byte, and its graph has all its packages", withRealSboms, async () => {
  const { uid, pusher } = await createRepo("sboms");
  let [documents, packages, edges] = [0, 0, 0];
  for (const folder of ["spdx", "cyclonedx"]) {
    const names = readdirSync(join(realData, "sboms", folder));
    for (const [at, name] of names.entries()) {
      if (at % shortOrLong(6, 1) !== 0) continue;
      const document = readFileSync(join(realData, "sboms", folder, name), "utf8");
      const parsed = JSON.parse(document) as JsonObject;
      const image = await imageWith(pusher, { architecture: "amd64", os: "linux", comment: name });
      await attach(pusher, image, document, folder === "spdx" ? "application/spdx+json" : "application/vnd.cyclonedx+json");
      const asked = { repoId: uid, digest: image.digest };
      const protocol = protocols[at % 2] ?? "rest";
      assert.equal(text(await ask("GetRawSbom", asked, protocol), "rawSbom"), document, name);
      const sbom = await ask("GetSbom", asked, protocol);
      const nodes = objectList(part(sbom, "graph"), "nodes").map((node) => part(node, "package"));
      const lists =
        folder === "cyclonedx"
          ? [...objectList(parsed, "components"), ...(isObject(part(parsed, "metadata").component) ? [part(part(parsed, "metadata"), "component")] : [])]
          : parsed.spdxVersion === undefined
            ? objectList(parsed, "@graph").filter((element) => element.type === "software_Package")
            : objectList(parsed, "packages");
      const counted = (list: readonly JsonObject[]): number => list.reduce((sum, each) => sum + 1 + counted(objectList(each, "components")), 0);
      assert.equal(nodes.length, counted(lists), name);
      const shown = new Set(nodes.map((node) => text(node, "purl")).filter((purl) => purl !== ""));
      const known = purlsIn(lists);
      for (const purl of shown) assert.ok(known.has(purl), `${name}: ${purl}`);
      if (folder === "cyclonedx")
        assert.deepEqual(
          [...shown].sort(),
          [
            ...purlsIn(
              lists.flatMap(function all(each: JsonObject): string[] {
                return [text(each, "purl"), ...objectList(each, "components").flatMap(all)];
              }),
            ),
          ].sort(),
          name,
        );
      const ids = new Set(nodes.map((node) => text(node, "id")));
      for (const edge of objectList(part(sbom, "graph"), "edges")) assert.ok(ids.has(text(edge, "predicateId")), name);
      assert.equal(text(sbom, "format"), folder === "spdx" ? "SPDX" : "CycloneDX");
      assert.equal(text(sbom, "source"), "INGESTED");
      const metadata = objectList(await ask("ListManifestMetadata", { repoId: uid, items: [{ imageDigest: image.digest }] }, "grpc"), "items");
      const [row = {}] = objectList(await world.ok("gantry.images.v1.ImageSbomsService/ListImageSboms", { digest: image.digest }), "imageSboms");
      assert.equal(objectList(metadata[0] ?? {}, "pkgMetadata").length, row.packageCount ?? 0, name);
      documents++;
      packages += nodes.length;
      edges += objectList(part(sbom, "graph"), "edges").length;
    }
  }
  assert.ok(documents >= 8 && packages > 300 && edges > 100, `${documents} documents, ${packages} packages, ${edges} edges`);
});

test("a graph has names, versions, licenses, relations, author and time, in every format", async () => {
  const { uid, pusher } = await createRepo("graphs");
  const spdx = {
    spdxVersion: "SPDX-2.3",
    SPDXID: "SPDXRef-DOCUMENT",
    name: "an image",
    creationInfo: { created: "2026-01-02T03:04:05Z", creators: ["Tool: apko (1.0)", "Organization: Example"] },
    packages: [
      { SPDXID: "image", name: "image", versionInfo: "1" },
      {
        SPDXID: "bash",
        name: "bash",
        versionInfo: "5.2",
        licenseConcluded: "NOASSERTION",
        licenseDeclared: "GPL-3.0",
        description: "A shell.",
        externalRefs: [{ referenceType: "purl", referenceLocator: "pkg:apk/wolfi/bash@5.2" }],
      },
    ],
    files: [{ SPDXID: "file", fileName: "x" }],
    relationships: [
      { spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: "image" },
      { spdxElementId: "bash", relationshipType: "CONTAINED_BY", relatedSpdxElement: "image" },
      { spdxElementId: "bash", relationshipType: "CONTAINS", relatedSpdxElement: "file" },
    ],
  };
  const cyclonedx = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: "urn:uuid:1",
    metadata: {
      timestamp: "2026-01-02T03:04:05Z",
      tools: { components: [{ name: "apko", version: "1.0" }] },
      authors: [{ name: "Example" }],
      component: { "bom-ref": "image", type: "container", name: "image", version: "1" },
    },
    components: [
      {
        "bom-ref": "bash",
        type: "library",
        name: "bash",
        version: "5.2",
        description: "A shell.",
        licenses: [{ license: { id: "GPL-3.0" } }],
        purl: "pkg:apk/wolfi/bash@5.2",
      },
    ],
    dependencies: [{ ref: "image", dependsOn: ["bash"] }],
  };
  for (const [format, document, type, tool, name] of [
    ["SPDX", spdx, "CONTAINS", "apko (1.0)", "an image"],
    ["CycloneDX", cyclonedx, "DEPENDS_ON", "apko-1.0", "image"],
  ] as const) {
    const image = await imageWith(pusher, { architecture: "amd64", os: "linux", format });
    await attach(pusher, image, JSON.stringify(document));
    for (const protocol of protocols) {
      const sbom = await ask("GetSbom", { repoId: uid, digest: image.digest }, protocol);
      const { nodes, edges } = part(sbom, "graph");
      assert.deepEqual(
        (Array.isArray(nodes) ? nodes.filter(isObject) : []).map((node) =>
          Object.fromEntries(Object.entries(part(node, "package")).filter(([, value]) => value !== "")),
        ),
        [
          { id: "image", name: "image", version: "1" },
          { id: "bash", name: "bash", version: "5.2", license: "GPL-3.0", description: "A shell.", purl: "pkg:apk/wolfi/bash@5.2" },
        ],
      );
      assert.deepEqual(
        (Array.isArray(edges) ? edges.filter(isObject) : []).map((edge) => [text(edge, "subjectId"), text(edge, "type"), text(edge, "predicateId")]),
        [
          [format === "SPDX" ? "SPDXRef-DOCUMENT" : "urn:uuid:1", "DESCRIBES", "image"],
          ["image", type, "bash"],
        ],
      );
      assert.deepEqual(
        ["format", "tool", "authors", "generatedAt", "name"].map((key) => text(sbom, key).replace(/\.000Z$/, "Z")),
        [format, tool, "Example", "2026-01-02T03:04:05Z", name],
      );
    }
  }
});

test("a wrapped or compressed SBOM is returned as the inner document", async () => {
  const { uid, pusher } = await createRepo("wrapped");
  const document = bom(library("pkg:npm/ms@2.0.0"));
  const image = await imageWith(pusher, { architecture: "amd64", os: "linux" });
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    predicateType: "https://cyclonedx.org/bom",
    subject: [{ name: "i", digest: { sha256: image.digest.slice(7) } }],
    predicate: JSON.parse(document) as object,
  };
  const envelope = JSON.stringify({
    payloadType: "application/vnd.in-toto+json",
    payload: Buffer.from(JSON.stringify(statement)).toString("base64"),
    signatures: [],
  });
  await attach(pusher, image, envelope, "application/vnd.dsse.envelope.v1+json");
  assert.equal(text(await ask("GetRawSbom", { repoId: uid, digest: image.digest }), "rawSbom"), document);
  const packed = await imageWith(pusher, { architecture: "amd64", os: "linux", packed: true });
  await attach(pusher, packed, gzipSync(document));
  assert.equal(text(await ask("GetRawSbom", { repoId: uid, digest: packed.digest }), "rawSbom"), document);
});

test("of several SBOMs the image's own precedes the index's, and then the latest wins", async () => {
  const { uid, pusher } = await createRepo("several");
  const [amd, arm] = [await imageWith(pusher, { architecture: "amd64", os: "linux" }), await imageWith(pusher, { architecture: "arm64", os: "linux" })];
  const index = await pusher.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests: [amd, arm].map(descriptorOf) }, ociIndex, "1");
  const rawOf = async (request: JsonObject): Promise<string> => text(await ask("GetRawSbom", { repoId: uid, ...request }), "rawSbom");
  const [ofIndex, ofArm, newer] = [bom(library("pkg:npm/index@1")), bom(library("pkg:npm/arm@1")), bom(library("pkg:npm/newer@1"))];
  await attach(pusher, index, ofIndex);
  assert.equal(await rawOf({ digest: index.digest, arch: "arm64" }), ofIndex);
  await attach(pusher, arm, ofArm);
  assert.equal(await rawOf({ digest: index.digest, arch: "arm64" }), ofArm);
  assert.equal(await rawOf({ digest: index.digest }), ofIndex, "amd64 has none of its own");
  world.clock.now += 1000;
  await attach(pusher, arm, newer);
  assert.equal(await rawOf({ digest: arm.digest }), newer);
  for (const [reference, code] of [
    [`host.example/a/b@${arm.digest}`, 0],
    ["host.example/a/b:1", codes.INVALID_ARGUMENT],
    [`b@${amd.digest}`, codes.INVALID_ARGUMENT],
    ["nothing", codes.INVALID_ARGUMENT],
  ] as const)
    for (const protocol of protocols) assert.equal(await refused("GetRawSbom", { repoId: uid, digest: arm.digest, reference }, protocol), code, reference);
  assert.equal(await rawOf({ digest: index.digest, reference: "host.example/a/b:1" }), ofIndex);
  for (const operation of ["GetSbom", "GetRawSbom"]) {
    for (const request of [{ digest: index.digest, arch: "s390x" }, { digest: `sha256:${"1".repeat(64)}` }])
      for (const protocol of protocols) assert.equal(await refused(operation, { repoId: uid, ...request }, protocol), codes.NOT_FOUND, operation);
  }
});

test("an SBOM too large for a response is refused with its size and can still be pulled as a blob", async () => {
  const { uid, pusher } = await createRepo("too-large");
  const image = await imageWith(pusher, { architecture: "amd64", os: "linux" });
  const document = JSON.stringify({
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    metadata: { note: "x".repeat(limits.shownSbomBytesMax) },
    components: [library("pkg:npm/a@1")],
  });
  await attach(pusher, image, document);
  for (const operation of ["GetSbom", "GetRawSbom"]) {
    const answer = await world.call(`${registry}/${operation}`, { repoId: uid, digest: image.digest });
    assert.equal(answer.code, codes.FAILED_PRECONDITION);
    assert.match(answer.message, new RegExp(`${Buffer.byteLength(document)} bytes`));
  }
});

test("packages of images have package URLs, source packages and ends of life", async () => {
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "packages" } }), "uid");
  const { uid, pusher } = await createRepo("packages", group);
  const path = join(import.meta.dirname, "../fixtures/feeds/lighthouse.md");
  assert.deepEqual((await runImport(world, "lifecycle", [path], { group })).refused, []);
  const [amd, arm] = [await imageWith(pusher, { architecture: "amd64", os: "linux" }), await imageWith(pusher, { architecture: "arm64", os: "linux" })];
  const index = await pusher.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests: [amd, arm].map(descriptorOf) }, ociIndex, "1");
  await attach(
    pusher,
    amd,
    bom(
      ...[
        "pkg:apk/wolfi/lighthouse-1.9@1.9.3-r0?distro=wolfi",
        "pkg:deb/debian/libbeacon1@1:1.10.1-2?distro=debian-12&upstream=beacon",
        "pkg:apk/wolfi/beacon-doc@1.9-r1?upstream=lighthouse",
        "pkg:npm/lighthouse@1.9.0",
        "pkg:deb/debian/beacon@1:1.10.1-2",
      ].map(library),
    ),
  );
  const listed = async (items: readonly JsonObject[]): Promise<JsonObject[]> =>
    objectList(await ask("ListManifestMetadata", { repoId: uid, items: [...items] }, "grpc"), "items");
  const [first] = await listed([{ imageDigest: amd.digest }]);
  assert.equal(text(first ?? {}, "digest"), amd.digest);
  assert.deepEqual(
    objectList(first ?? {}, "pkgMetadata").map((each) => [text(each, "purl"), text(each, "originPurl"), text(each, "eolDate").slice(0, 10)]),
    [
      ["pkg:apk/wolfi/beacon-doc@1.9-r1", "pkg:apk/wolfi/lighthouse@1.9-r1", ""],
      ["pkg:apk/wolfi/lighthouse-1.9@1.9.3-r0?distro=wolfi", "pkg:apk/wolfi/lighthouse-1.9@1.9.3-r0?distro=wolfi", "2025-08-31"],
      ["pkg:deb/debian/beacon@1%3A1.10.1-2", "pkg:deb/debian/beacon@1%3A1.10.1-2", "2027-06-30"],
      ["pkg:deb/debian/libbeacon1@1%3A1.10.1-2?distro=debian-12", "pkg:deb/debian/beacon?distro=debian-12", ""],
      ["pkg:npm/lighthouse@1.9.0", "pkg:npm/lighthouse@1.9.0", ""],
    ],
  );
  const digests = async (items: readonly JsonObject[]): Promise<[string, number][]> =>
    (await listed(items)).map((item): [string, number] => [text(item, "digest"), objectList(item, "pkgMetadata").length]);
  assert.deepEqual(
    await digests([
      { indexFilter: { digest: index.digest, arch: "amd64" } },
      { indexFilter: { digest: index.digest, arch: "arm64" } },
      { imageDigest: arm.digest },
    ]),
    [
      [amd.digest, 5],
      [arm.digest, 0],
      [arm.digest, 0],
    ],
  );
  assert.deepEqual(
    await digests([{ imageDigest: `sha256:${"2".repeat(64)}` }, { imageDigest: index.digest }, { indexFilter: { digest: index.digest, arch: "mips" } }]),
    [],
  );
  for (const protocol of protocols)
    assert.deepEqual(objectList(await ask("ListManifestMetadata", { repoId: uid }, protocol), "items"), [], "nothing was asked for");
  for (const items of [
    [{}],
    [{ imageDigest: "latest" }],
    [{ indexFilter: { arch: "amd64" } }],
    Array(limits.manifestMetadataItemsMax + 1).fill({ imageDigest: amd.digest }),
  ])
    assert.equal(await refused("ListManifestMetadata", { repoId: uid, items: items as JsonObject[] }, "grpc"), codes.INVALID_ARGUMENT);
});

// ---- isolation -------------------------------------------------------------------------------------------------------

test("the packages of an image are hidden from other organizations and from other repos with the same digest", async () => {
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "stranger.example" } }), "uid");
  const [mine, beside, theirs] = [await createRepo("isolated"), await createRepo("isolated-beside"), await createRepo("isolated", other)];
  const config = { architecture: "amd64", os: "linux", shared: true };
  const [image] = [await imageWith(mine.pusher, config), await imageWith(beside.pusher, config), await imageWith(theirs.pusher, config)];
  await attach(mine.pusher, image, bom(library("pkg:npm/secret@1")));
  const identity = text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: other,
      identity: { name: "stranger", claimMatch: { issuer: "https://issuer.example", subject: "stranger" } },
    }),
    "uid",
  );
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: other, roleBinding: { identityUid: identity, roleUid: builtInRoleUid("owner") } });
  const token = await world.token(identity);
  for (const protocol of protocols) {
    for (const operation of ["GetSbom", "GetRawSbom"]) {
      assert.equal(await refused(operation, { repoId: mine.uid, digest: image.digest }, protocol), 0);
      assert.equal(await refused(operation, { repoId: beside.uid, digest: image.digest }, protocol), codes.NOT_FOUND);
      assert.equal(await refused(operation, { repoId: theirs.uid, digest: image.digest }, protocol, token), codes.NOT_FOUND);
    }
    const seen = await world.ok(
      `${registry}/ListManifestMetadata`,
      { repoId: theirs.uid, items: [{ imageDigest: image.digest }] },
      { token, protocol: "grpc" },
    );
    assert.deepEqual(
      objectList(seen, "items").flatMap((item) => objectList(item, "pkgMetadata")),
      [],
    );
    for (const operation of ["GetSbom", "GetRawSbom", "GetImageConfig", "GetArchs", "GetSize", "ListManifestMetadata"])
      assert.equal(
        await refused(operation, { repoId: mine.uid, ...(operation === "ListManifestMetadata" ? {} : { digest: image.digest }) }, protocol, token),
        codes.PERMISSION_DENIED,
        operation,
      );
    assert.equal(await refused("GetManifestDigestCount", { parentId: world.organization }, protocol, token), codes.PERMISSION_DENIED);
    for (const operation of ["GetSbom", "GetRawSbom", "GetImageConfig"])
      assert.equal(await refused(operation, { repoId: mine.uid, digest: "sha256:short" }, "grpc"), codes.INVALID_ARGUMENT, operation);
  }
});
