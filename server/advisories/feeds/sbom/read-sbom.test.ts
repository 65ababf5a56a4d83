// Tests small SBOMs of each format in the wrappers of common tools, and real ones against an independent reader with another
// package URL parser.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { PackageURL } from "packageurl-js";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { openSbomReader } from "./open-reader.ts";
import { readSbom, type SbomReading } from "./read-sbom.ts";

const digest = `sha256:${"a".repeat(64)}`;

const readText = (document: string, about: readonly string[] = [digest]): Promise<SbomReading> => readSbom(Buffer.from(document), about);
const packagesOf = (reading: SbomReading): JsonObject => {
  if (!("packages" in reading)) throw new Error(problemOf(reading));
  return JSON.parse(reading.packages) as JsonObject;
};
const problemOf = (reading: SbomReading): string =>
  "problem" in reading ? reading.problem : "isOther" in reading ? "is something else" : `read as ${reading.format}`;

const cyclonedx = (components: readonly object[], more: object = {}): object => ({ bomFormat: "CycloneDX", specVersion: "1.6", ...more, components });
const spdx = (packages: readonly object[], relationships: readonly object[] = []): object => ({ spdxVersion: "SPDX-2.3", packages, relationships });
const spdxPackage = (id: string, ...purls: readonly string[]): object => ({
  SPDXID: id,
  name: id,
  externalRefs: purls.map((purl) => ({ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl })),
});
const library = (purl: string, more: object = {}): object => ({ type: "library", name: "any", purl, ...more });

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64");
const statement = (predicate: Json | object, of: string = digest): object => ({
  _type: "https://in-toto.io/Statement/v0.1",
  predicateType: "https://cyclonedx.org/bom",
  subject: [{ name: "image", digest: { sha256: of.slice("sha256:".length) } }],
  predicate,
});
const envelope = (payload: object, payloadType = "application/vnd.in-toto+json"): object => ({ payloadType, payload: base64(payload), signatures: [] });

test("components become packages by package URL, with distribution release and source package, each version once", async () => {
  const document = cyclonedx(
    [
      library("pkg:deb/debian/libssl3@3.0.9-1?arch=amd64&upstream=openssl%403.0.9-1&distro=debian-12"),
      library("pkg:deb/debian/zlib1g@1.2.11?epoch=1&distro=debian-12", { properties: [{ name: "aquasecurity:trivy:SrcName", value: "zlib" }] }),
      library("pkg:alpine/musl@1.2.3-r0?upstream=musl&distro=alpine-3.16.2"),
      library("pkg:npm/%40scope/ms@2.0.0", { components: [library("pkg:npm/@scope/ms@2.1.3", { components: [library("pkg:npm/%40scope/ms@2.0.0")] })] }),
      library("pkg:maven/org.example/app", { version: "1.0" }),
      library("pkg:golang/github.com/a/b@v1.0.0#sub"),
      library("pkg:npm/left-out@1.0.0", { scope: "excluded" }),
      library("pkg:npm/kept@1.0.0", { pedigree: { ancestors: [library("pkg:npm/ancestor@1.0.0")] } }),
      library("pkg:oci/base@sha256:00"),
      { type: "operating-system", name: "debian", version: "12" },
      { type: "library", name: "nameless" },
      library("not a package URL"),
      library("pkg:npm/versionless"),
    ],
    { metadata: { component: library("pkg:pypi/app@1.0") }, services: [{ name: "x", purl: "pkg:npm/service@1.0.0" }] },
  );
  const reading = await readText(JSON.stringify(document));
  assert.deepEqual(packagesOf(reading), {
    "pkg:apk/alpine/musl?distro=alpine-3.16.2": "1.2.3-r0",
    "pkg:deb/debian/libssl3?distro=debian-12&upstream=openssl": "3.0.9-1",
    "pkg:deb/debian/zlib1g?distro=debian-12&upstream=zlib": "1:1.2.11",
    "pkg:golang/github.com/a/b": "v1.0.0",
    "pkg:maven/org.example/app": "1.0",
    "pkg:npm/%40scope/ms": ["2.0.0", "2.1.3"],
    "pkg:npm/kept": "1.0.0",
    "pkg:pypi/app": "1.0",
  });
  assert.deepEqual("packages" in reading && [reading.format, reading.count, reading.unnamed], ["CycloneDX 1.6", 9, 3]);
});

test("SPDX packages exclude build and test tools and sources, unless the image contains or depends on them", async () => {
  const relate = (one: string, type: string, other: string): object => ({ spdxElementId: one, relationshipType: type, relatedSpdxElement: other });
  const document = spdx(
    [
      spdxPackage("app", "pkg:npm/app@1.0.0"),
      spdxPackage("tester", "pkg:npm/tester@1.0.0"),
      spdxPackage("both", "pkg:npm/both@1.0.0", "pkg:npm/also@1.0.0"),
      spdxPackage("recipe", "pkg:github/a/b@0123"),
      spdxPackage("compiler", "pkg:deb/debian/gcc@12"),
      { SPDXID: "os", name: "debian", primaryPackagePurpose: "OPERATING_SYSTEM" },
      { SPDXID: "plain", name: "plain" },
    ],
    [
      relate("tester", "TEST_DEPENDENCY_OF", "app"),
      relate("both", "DEV_DEPENDENCY_OF", "app"),
      relate("app", "DEPENDS_ON", "both"),
      relate("app", "DESCRIBED_BY", "recipe"),
      relate("compiler", "BUILD_TOOL_OF", "app"),
    ],
  );
  const reading = await readText(JSON.stringify(document));
  assert.deepEqual(packagesOf(reading), { "pkg:npm/also": "1.0.0", "pkg:npm/app": "1.0.0", "pkg:npm/both": "1.0.0" });
  assert.deepEqual("packages" in reading && [reading.format, reading.unnamed], ["SPDX 2.3", 1]);

  const third = {
    "@context": "https://spdx.org/rdf/3.0.1/spdx-context.jsonld",
    "@graph": [
      { type: "software_Package", spdxId: "a", software_packageUrl: "pkg:npm/a@1.0.0" },
      { type: "software_Package", spdxId: "b", externalIdentifier: { externalIdentifierType: "packageUrl", identifier: "pkg:npm/b@1.0.0" } },
      { type: "software_Package", spdxId: "c", software_packageUrl: "pkg:npm/c@1.0.0" },
      { type: "LifecycleScopedRelationship", relationshipType: "dependsOn", scope: "test", from: "a", to: "c" },
    ],
  };
  assert.deepEqual(packagesOf(await readText(JSON.stringify(third))), { "pkg:npm/a": "1.0.0", "pkg:npm/b": "1.0.0" });
});

test("a document is found in statements, envelopes and bundles, and refused if it is about another image", async () => {
  const document = cyclonedx([library("pkg:npm/a@1.0.0")]);
  for (const wrapped of [
    statement(document),
    statement(JSON.stringify(document)),
    envelope(statement(document)),
    { mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", dsseEnvelope: envelope(statement(document)) },
  ])
    assert.deepEqual(packagesOf(await readText(JSON.stringify(wrapped))), { "pkg:npm/a": "1.0.0" });
  const other = envelope(statement(document, `sha256:${"b".repeat(64)}`));
  assert.equal(problemOf(await readText(JSON.stringify(other))), "is a statement about other digests than this image's");
  const provenance = { ...statement({}), predicateType: "https://slsa.dev/provenance/v1" };
  assert.equal(problemOf(await readText(JSON.stringify(envelope(provenance)))), "is something else");
});

test("an unreadable document is refused with a reason, never with an internal error", async () => {
  const deep = `${'{"a":'.repeat(200)}0${"}".repeat(200)}`;
  const many = (count: number): string => JSON.stringify(cyclonedx(Array.from({ length: count }, (_, index) => ({ purl: `pkg:npm/p@${index}` }))));
  const cases: readonly (readonly [document: string, says: RegExp])[] = [
    ["", /^line 1: not valid JSON/],
    ["[]", /^is not a JSON object$/],
    ["{}", /^is neither SPDX nor CycloneDX in JSON$/],
    ['{"bomFormat":"CycloneDX"', /^line 1: not valid JSON/],
    [deep, /nested deeper than 100 levels$/],
    [`{"a":[${"0,".repeat(limits.sbomValuesMax)}0]}`, /^contains more than 8000000 values$/],
    ['{"bomFormat":"CycloneDX","components":{}}', /^components must be a list$/],
    ['{"bomFormat":"CycloneDX","components":["a"]}', /^components\[0\] must be an object$/],
    ['{"bomFormat":"CycloneDX","components":[{"purl":1}]}', /^components\[0\]\.purl must be a text$/],
    ['{"bomFormat":"CycloneDX","components":[{"purl":"pkg:npm/a\\u0000@1"}]}', /^components\[0\]\.purl must not contain control characters$/],
    ['{"spdxVersion":"SPDX-2.3","packages":[{"externalRefs":[0]}]}', /^packages\[0\]\.externalRefs\[0\] must be an object$/],
    [JSON.stringify({ payloadType: "text/plain", payload: "aGk=" }), /^is an envelope around something else than a statement$/],
    [JSON.stringify({ payloadType: "application/vnd.in-toto+json", payload: 1 }), /^is an envelope without a payload$/],
    [JSON.stringify(statement(null)), /^is a statement without a document$/],
    [many(limits.sbomPackagesMax + 1), /^components\[200000\]\.purl is one of more than 200000 packages$/],
  ];
  for (const [document, says] of cases) assert.match(problemOf(await readText(document)), says);
  assert.equal(problemOf(await readSbom(Buffer.from([0x7b, 0xff, 0x7d]), [])), "is not UTF-8");
  assert.match(problemOf(await readText(many(limits.sbomPackagesMax))), /^read as/);
  assert.deepEqual(packagesOf(await readText('{"bomFormat":"CycloneDX","__proto__":{"components":[{"purl":"pkg:npm/a@1"}]}}')), {});
});

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

const read = openSbomReader();

test("a worker thread unpacks a document within its limits, and a slow one is terminated while others are read", async () => {
  const document = Buffer.from(JSON.stringify(cyclonedx([library("pkg:npm/a@1.0.0")])));
  const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2]);
  const frames = Buffer.concat([skippable, zstdCompressSync(document.subarray(0, 20)), skippable, zstdCompressSync(document.subarray(20))]);
  for (const bytes of [document, gzipSync(document), zstdCompressSync(document), frames])
    assert.deepEqual(packagesOf(await read(chunksOf(bytes), [])), { "pkg:npm/a": "1.0.0" });
  assert.equal(problemOf(await read(chunksOf(gzipSync(Buffer.alloc(limits.sbomBytesMax + 1, 0x20))), [])), "has more than 67108864 bytes when it is unpacked");
  assert.equal(problemOf(await read(chunksOf(Buffer.alloc(limits.sbomBytesMax + 1, 0x20)), [])), "has more than 67108864 bytes");
  assert.equal(problemOf(await read(chunksOf(gzipSync(document).subarray(0, 20)), [])), "cannot be unpacked");
  const script = (code: string): URL => new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const slow = openSbomReader({ script: script("import { parentPort } from 'node:worker_threads'; parentPort.on('message', () => {})"), longestMs: 50 });
  assert.equal(problemOf(await slow(chunksOf(document), [])), "takes more than 0.05 s to read");
  const failing = openSbomReader({ script: script("throw new Error('a cause that nobody is told')") });
  assert.equal(problemOf(await failing(chunksOf(document), [])), "cannot be read");
  const greedy = openSbomReader({ script: script("const held = []; for (;;) held.push(new Array(100_000).fill({}));"), memoryMb: 64 });
  assert.equal(problemOf(await greedy(chunksOf(document), [])), "takes more than 64 MiB to read");
  const failed = new Error("the place is away");
  await assert.rejects(
    read(
      (async function* () {
        yield document.subarray(0, 5);
        throw failed;
      })(),
      [],
    ),
    failed,
  );
  assert.deepEqual(packagesOf(await read(chunksOf(document), [])), { "pkg:npm/a": "1.0.0" });
});

const data = join(import.meta.dirname, "../../../../../shared/data");
const missing = !existsSync(join(data, "sboms")) && "the real documents are not beside the project";

/** Every package URL with its version, except in pedigrees. */
const toldAnywhere = (value: Json | undefined, found: [purl: string, version: string][] = []): [string, string][] => {
  if (Array.isArray(value)) for (const each of value) toldAnywhere(each, found);
  if (!isObject(value)) return found;
  const version = text(value, "version") || text(value, "versionInfo") || text(value, "software_packageVersion");
  if (typeof value.purl === "string") found.push([value.purl, version]);
  for (const reference of Array.isArray(value.externalRefs) ? value.externalRefs.filter(isObject) : [])
    if (reference.referenceType === "purl") found.push([text(reference, "referenceLocator"), version]);
  if (typeof value.software_packageUrl === "string") found.push([value.software_packageUrl, version]);
  for (const [key, each] of Object.entries(value)) if (key !== "pedigree") toldAnywhere(each, found);
  return found;
};

const normal = (purl: string, version: string): string | undefined => {
  const { type, namespace, name, version: own, qualifiers } = PackageURL.fromString(purl);
  if (type === "oci" || type === "docker") return undefined;
  const epoch = qualifiers?.epoch !== undefined && (type === "deb" || type === "rpm") ? `${qualifiers.epoch}:` : "";
  const ofAlpine = type === "alpine";
  return JSON.stringify([ofAlpine ? "apk" : type, (ofAlpine ? "alpine" : namespace) ?? "", name, `${epoch}${own || version}`, qualifiers?.distro ?? ""]);
};

/** Excluded by their documents: build recipes and test tools. */
const apart = new Set([
  "apko-logstash-8-8.15.3-r4.spdx.json github",
  "apko-package-deduplicating.spdx.json github",
  "apko-sbom-aarch64.spdx.json github",
  "apko-sbom-x86_64.spdx.json github",
  "apko-unbound-1.23.0-r0.spdx.json github",
  "apko-unbound-package-dedupe.spdx.json github",
  "spdx-examples-example9-appbomination.spdx.json junit",
  "spdx-examples-example9-appbomination.spdx3.json junit",
]);

test("the packages of every real document match those of an independent reader", { skip: missing }, async () => {
  let total = 0;
  for (const folder of ["spdx", "cyclonedx"]) {
    for (const file of readdirSync(join(data, "sboms", folder))) {
      const bytes = readFileSync(join(data, "sboms", folder, file));
      const reading = await read(chunksOf(bytes), [digest]);
      const got = Object.entries(packagesOf(reading)).flatMap(([name, versions]) => {
        const purl = new URL(name);
        return [versions].flat().map((version) => normal(`${purl.protocol}${purl.pathname}@${encodeURIComponent(String(version))}${purl.search}`, ""));
      });
      const wanted = toldAnywhere(JSON.parse(bytes.toString("utf8")) as Json).flatMap(([purl, version]) => {
        const found = normal(purl, version);
        const [type, , name] = found === undefined ? [] : (JSON.parse(found) as string[]);
        return found === undefined || apart.has(`${file} ${type}`) || apart.has(`${file} ${name}`) ? [] : [found];
      });
      assert.deepEqual(got.sort(), [...new Set(wanted)].sort(), file);
      total += got.length;
    }
  }
  assert.ok(total > 2_000, `only ${total} packages were compared`);
});

test("no blob of a real image is mistaken for an SBOM", { skip: missing }, async () => {
  const layouts = join(data, "registry/oci-layouts");
  let seen = 0;
  for (const layout of readdirSync(layouts)) {
    for (const blob of readdirSync(join(layouts, layout, "blobs/sha256"))) {
      assert.ok("problem" in (await read(chunksOf(readFileSync(join(layouts, layout, "blobs/sha256", blob))), [])), blob);
      seen++;
    }
  }
  assert.ok(seen > 10);
});
