// Pushed SBOMs: each provides the packages of its image in its repo only, however attached, and advisories are matched with them.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, objectList, text, texts } from "#base/json.ts";
import { descriptorOf, ociIndex, openPusher, type Pushed, type Pusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";
import { runImport } from "./import.ts";

let world: World;
let logged: { event: string; fields: Readonly<Record<string, unknown>> | undefined }[];
let token: string;
let folder: string;

before(async () => {
  logged = [];
  world = await openWorld({}, (event, fields) => void logged.push({ event, fields }));
  token = await world.token();
  folder = await mkdtemp(join(tmpdir(), "gantry-pushed-sboms-"));
});
after(async () => {
  await world?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const organizationName = "first-organization";
const repo = (name: string, seed = name): Pusher => openPusher(world, `${organizationName}/${name}`, token, seed);

const cyclonedx = (...purls: readonly string[]): string =>
  JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components: purls.map((purl) => ({ type: "library", name: purl, purl })) });
const spdx = (...purls: readonly string[]): string =>
  JSON.stringify({
    spdxVersion: "SPDX-2.3",
    packages: purls.map((purl, index) => ({ SPDXID: `p${index}`, name: purl, externalRefs: [{ referenceType: "purl", referenceLocator: purl }] })),
  });
const statement = (predicateType: string, predicate: string, of: Pushed): string =>
  JSON.stringify({
    _type: "https://in-toto.io/Statement/v1",
    predicateType,
    subject: [{ name: "image", digest: { sha256: of.digest.slice("sha256:".length) } }],
    predicate: JSON.parse(predicate) as object,
  });
const envelope = (payload: string): string =>
  JSON.stringify({ payloadType: "application/vnd.in-toto+json", payload: Buffer.from(payload).toString("base64"), signatures: [] });

const sbomsOf = async (digest: string): Promise<JsonObject[]> =>
  objectList(await world.ok("gantry.images.v1.ImageSbomsService/ListImageSboms", { digest }), "imageSboms");
const stateOf = (sbom: JsonObject): string[] => ["state", "format", "problem"].map((key) => text(sbom, key)).filter((each) => each !== "");

const importLines = async (kind: "advisories" | "images", name: string, lines: readonly object[]): Promise<void> => {
  const file = join(folder, name);
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const { refused } = await runImport(world, kind, [file], { public: kind === "advisories" });
  assert.deepEqual(refused, []);
};

/** Publishes an advisory that affects an npm package before 2.0.0. */
const tellAffected = (name: string): Promise<void> =>
  importLines("advisories", `${name}.json`, [
    {
      schema_version: "1.7.0",
      id: `GHSA-${name}`,
      modified: "2026-01-01T00:00:00Z",
      affected: [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed: "2.0.0" }] }] }],
    },
  ]);

const affected = async (packageName: string): Promise<JsonObject[]> =>
  objectList(await world.ok("gantry.images.v1.AffectedImagesService/ListAffectedImages", { packages: [packageName] }), "affectedImages");
const affectedNow = async (packageName: string): Promise<[repo: string, tags: string, architectures: string, version: string][]> =>
  (await affected(packageName))
    .filter((each) => text(each, "state") === "AFFECTED_IMAGE_STATE_AFFECTED")
    .map((each): [string, string, string, string] => [
      text(each, "repo"),
      texts(each, "tags").join(),
      texts(each, "architectures").join(),
      text(each, "installedVersion"),
    ])
    .sort();

test("a pushed SBOM is read after the push, and its affected packages are listed by tag, architecture and version", async () => {
  await tellAffected("told");
  const registry = repo("app");
  const image = await registry.image("arm64", "v1");
  const document = await registry.blob(cyclonedx("pkg:npm/told@1.0.0", "pkg:npm/told@1.5.0", "pkg:npm/told@2.0.0"), "application/vnd.cyclonedx+json");
  await registry.artifact([document], { subject: image });
  assert.deepEqual((await sbomsOf(image.digest)).map(stateOf), [["IMAGE_SBOM_STATE_WAITING"]]);
  assert.deepEqual(await affectedNow("pkg:npm/told"), []);
  await world.server.sboms.turn();
  const [sbom = {}] = await sbomsOf(image.digest);
  assert.deepEqual([stateOf(sbom), sbom.packageCount, text(sbom, "documentDigest")], [["IMAGE_SBOM_STATE_READ", "CycloneDX 1.6"], 3, document.digest]);
  assert.deepEqual(await affectedNow("pkg:npm/told"), [
    ["app", "v1", "arm64", "1.0.0"],
    ["app", "v1", "arm64", "1.5.0"],
  ]);
  const told = (await world.events()).filter(({ type }) => type === "dev.gantry.images.affected.v1");
  assert.equal(told.length, 1);
});

test("an SBOM is found in every way of attachment: subject, bundle, cosign's older tags, BuildKit's index", async () => {
  const registry = repo("ways");
  const said = async (layer: (image: Pushed) => Promise<Pushed>, how: "subject" | "sbom" | "att", architecture: string): Promise<string[][]> => {
    const image = await registry.image(architecture);
    const tag = image.digest.replace(":", "-");
    await registry.artifact([await layer(image)], how === "subject" ? { subject: image } : { reference: `${tag}.${how}` });
    await world.server.sboms.turn();
    return (await sbomsOf(image.digest)).map(stateOf);
  };
  const read = (format: string): string[][] => [["IMAGE_SBOM_STATE_READ", format]];
  const type = "https://spdx.dev/Document/v2.3";
  assert.deepEqual(await said(() => registry.blob(spdx("pkg:npm/a@1.0.0"), "text/spdx+json"), "sbom", "amd64"), read("SPDX 2.3"));
  assert.deepEqual(
    await said((of) => registry.blob(envelope(statement(type, spdx("pkg:npm/b@1.0.0"), of)), "application/vnd.dsse.envelope.v1+json"), "att", "arm64"),
    read("SPDX 2.3"),
  );
  const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json";
  const signed = (of: Pushed): string => envelope(statement("https://cyclonedx.org/bom", cyclonedx("pkg:npm/c@1.0.0"), of));
  const bundle = (of: Pushed): string => `{"mediaType":"${bundleType}","dsseEnvelope":${signed(of)}}`;
  assert.deepEqual(await said((of) => registry.blob(bundle(of), bundleType), "subject", "s390x"), read("CycloneDX 1.6"));
  // Provenance is not an SBOM, and not an error.
  const provenance = (of: Pushed): Promise<Pushed> =>
    registry.blob(envelope(statement("https://slsa.dev/provenance/v1", "{}", of)), "application/vnd.in-toto+json");
  assert.deepEqual(await said(provenance, "subject", "riscv64"), []);

  const [amd, arm] = [await registry.image("amd64", "one"), await registry.image("arm64", "two")];
  const attestation = await registry.artifact([await registry.blob(statement(type, spdx("pkg:npm/d@1.0.0"), arm), "application/vnd.in-toto+json")], {});
  const notes = { "vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": arm.digest };
  const manifests = [
    { ...descriptorOf(amd), platform: { os: "linux", architecture: "amd64" } },
    { ...descriptorOf(arm), platform: { os: "linux", architecture: "arm64" } },
    { ...descriptorOf(attestation), platform: { os: "unknown", architecture: "unknown" }, annotations: notes },
  ];
  await tellAffected("d");
  await registry.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests }, ociIndex, "multi");
  await world.server.sboms.turn();
  assert.deepEqual((await sbomsOf(arm.digest)).map(stateOf), read("SPDX 2.3"));
  assert.deepEqual(await sbomsOf(amd.digest), []);
  const found = await affectedNow("pkg:npm/d");
  assert.deepEqual(found, [
    ["ways", "multi", "arm64", "1.0.0"],
    ["ways", "two", "arm64", "1.0.0"],
  ]);
});

test("an unreadable SBOM remains a blob, is named in the log and the image's state, and delays no other", async () => {
  const registry = repo("broken");
  const image = await registry.image("amd64", "v1");
  const other = await registry.image("arm64", "v2");
  const broken = await registry.blob('{"bomFormat":"CycloneDX","components":[{"purl":7}]}', "application/vnd.cyclonedx+json");
  const foreign = await registry.blob(envelope(statement("https://cyclonedx.org/bom", cyclonedx("pkg:npm/x@1.0.0"), other)), "application/vnd.in-toto+json");
  const good = await registry.blob(cyclonedx("pkg:npm/good@1.0.0"), "application/vnd.cyclonedx+json");
  await registry.artifact([broken, foreign, good], { subject: image });
  await world.server.sboms.turn();
  const known = new Map((await sbomsOf(image.digest)).map((each) => [text(each, "documentDigest"), stateOf(each)]));
  assert.deepEqual(known.get(broken.digest), ["IMAGE_SBOM_STATE_UNREADABLE", "components[0].purl must be a text"]);
  assert.deepEqual(known.get(foreign.digest), ["IMAGE_SBOM_STATE_UNREADABLE", "is a statement about other digests than this image's"]);
  assert.deepEqual(known.get(good.digest), ["IMAGE_SBOM_STATE_READ", "CycloneDX 1.6"]);
  const lines = logged.filter(({ event }) => event === "sbom.unreadable").map(({ fields }) => [fields?.document, fields?.problem]);
  assert.deepEqual(
    lines,
    [
      [broken.digest, "components[0].purl must be a text"],
      [foreign.digest, "is a statement about other digests than this image's"],
    ].sort(([one = ""], [another = ""]) => (lines.findIndex(([digest]) => digest === one) < lines.findIndex(([digest]) => digest === another) ? -1 : 1)),
  );
  assert.equal((await registry.send("GET", `blobs/${broken.digest}`)).status, 200);
});

test("an SBOM counts in its repo only, even if another repo or organization has the same digest", async () => {
  await tellAffected("mine");
  const other = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "other organization" } });
  const there = text(await world.ok("registry.ReposService/CreateRepo", { parent: text(other, "uid"), repo: { name: "app" } }), "uid");
  const [own, beside, elsewhere] = [repo("own", "same"), repo("beside", "same"), openPusher(world, there, token, "same")];
  const images = [await own.image("amd64", "same"), await beside.image("amd64", "same"), await elsewhere.image("amd64", "same")];
  assert.equal(new Set(images.map(({ digest }) => digest)).size, 1);
  const [image] = images;
  assert.ok(image);
  await own.artifact([await own.blob(cyclonedx("pkg:npm/mine@1.0.0"), "application/vnd.cyclonedx+json")], { subject: image });
  await world.server.sboms.turn();
  assert.deepEqual(await affectedNow("pkg:npm/mine"), [["own", "same", "amd64", "1.0.0"]]);
  assert.deepEqual((await sbomsOf(image.digest)).map((each) => text(each, "uid").slice(0, -17)).length, 1);
  const identity = await world.ok("iam.IdentitiesService/CreateIdentity", {
    parent: text(other, "uid"),
    identity: { name: "viewer", claimMatch: { issuer: "https://issuer.example.com", subject: "viewer" } },
  });
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: text(other, "uid"),
    roleBinding: { identityUid: text(identity, "uid"), roleUid: builtInRoleUid("owner") },
  });
  const theirs = await world.token(text(identity, "uid"));
  const seen = await world.ok("gantry.images.v1.ImageSbomsService/ListImageSboms", { digest: image.digest }, { token: theirs });
  assert.deepEqual([seen.imageSboms, seen.totalCount], [[], "0"]);
});

test("an image is no longer affected after only its tag is deleted", async () => {
  await tellAffected("untagged");
  const registry = repo("untagged");
  const image = await registry.image("amd64", "v1");
  await registry.artifact([await registry.blob(cyclonedx("pkg:npm/untagged@1.0.0"), "application/vnd.cyclonedx+json")], { subject: image });
  await world.server.sboms.turn();
  const now = async (): Promise<string[]> => (await affectedNow("pkg:npm/untagged")).map(([, tags]) => tags);
  assert.deepEqual(await now(), ["v1"]);
  const [{ repoUid } = {}] = await affected("pkg:npm/untagged");
  assert.equal((await registry.send("DELETE", "manifests/v1")).status, 202);
  await world.server.sboms.turn();
  assert.deepEqual(await now(), []);
  await world.ok("registry.TagsService/CreateTag", { parent: String(repoUid), tag: { name: "v2", digest: image.digest } });
  await world.server.sboms.turn();
  assert.deepEqual(await now(), ["v2"]);
});

test("packages follow the tag: moved to an image without an SBOM, deleted with its manifest, restored by a new push", async () => {
  await tellAffected("follows");
  const registry = repo("follows");
  const image = await registry.image("amd64", "v1");
  const plain = await registry.image("s390x", "plain");
  const document = await registry.blob(cyclonedx("pkg:npm/follows@1.0.0"), "application/vnd.cyclonedx+json");
  const artifact = await registry.artifact([document], { subject: image });
  await world.server.sboms.turn();
  const now = async (): Promise<string[]> => (await affectedNow("pkg:npm/follows")).map(([, tags]) => tags);
  assert.deepEqual(await now(), ["v1"]);
  const [owned = {}] = await affected("pkg:npm/follows");
  await world.ok("registry.TagsService/CreateTag", { parent: text(owned, "repoUid"), tag: { name: "v1", digest: plain.digest } });
  await world.server.sboms.turn();
  assert.deepEqual(await now(), []);
  await world.ok("registry.TagsService/CreateTag", { parent: text(owned, "repoUid"), tag: { name: "v1", digest: image.digest } });
  await world.server.sboms.turn();
  assert.deepEqual(await now(), ["v1"]);
  assert.equal((await registry.send("DELETE", `manifests/${artifact.digest}`)).status, 202);
  await world.server.sboms.turn();
  assert.deepEqual([await now(), await sbomsOf(image.digest)], [[], []]);
  await registry.artifact([document], { subject: image });
  await world.server.sboms.turn();
  assert.deepEqual([await now(), (await sbomsOf(image.digest)).length], [["v1"], 1]);
});

test("an SBOM overrides packages imported for the tag, and an import covers all other images", async () => {
  await tellAffected("imported");
  await tellAffected("pushed");
  await importLines("images", "images.jsonl", [
    { repo: "both", tags: ["v1", "v2"], configs: { amd64: { packages: ["pkg:npm/imported@1.0.0", "pkg:npm/imported@1.1.0"] } } },
  ]);
  const registry = repo("both");
  const image = await registry.image("amd64", "v1");
  await registry.image("amd64", "v2");
  await registry.artifact([await registry.blob(cyclonedx("pkg:npm/pushed@1.0.0"), "application/vnd.cyclonedx+json")], { subject: image });
  await world.server.sboms.turn();
  assert.deepEqual(await affectedNow("pkg:npm/pushed"), [["both", "v1", "amd64", "1.0.0"]]);
  assert.deepEqual(await affectedNow("pkg:npm/imported"), [
    ["both", "v2", "amd64", "1.0.0"],
    ["both", "v2", "amd64", "1.1.0"],
  ]);
});
