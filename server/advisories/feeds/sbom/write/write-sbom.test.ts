// SBOMs as Gantry writes them, against the official schemas and its own readers.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Ajv, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { JsonObject } from "#base/json.ts";
import { graphOf } from "../graph.ts";
import { readSbom } from "../read-sbom.ts";
import { type SbomWriterName, sbomWriters } from "./index.ts";
import type { SbomContents, SbomContentsPackage } from "./sbom-contents.ts";

const schemaOf = (name: string): JsonObject =>
  JSON.parse(readFileSync(new URL(`../../../../../test/fixtures/sbom-schemas/${name}.json`, import.meta.url), "utf8")) as JsonObject;

const openValidators = (): Readonly<Record<SbomWriterName, ValidateFunction>> => {
  const cyclonedx = new Ajv({ strict: false, schemas: [schemaOf("cyclonedx-licenses"), schemaOf("cyclonedx-signatures")] });
  const spdx = new Ajv2019({ strict: false });
  const spdx3 = new Ajv2020({ strict: false });
  for (const each of [cyclonedx, spdx, spdx3]) formats.default(each);
  // Formats that ajv-formats does not have.
  for (const format of ["idn-email", "iri-reference"]) cyclonedx.addFormat(format, true);
  // An alias of 2019-09 with an empty fragment.
  const { $schema: _, ...spdxSchema } = schemaOf("spdx-2.3");
  return { SPDX_2_3: spdx.compile(spdxSchema), SPDX_3_0: spdx3.compile(schemaOf("spdx-3.0.1")), CYCLONEDX_1_6: cyclonedx.compile(schemaOf("cyclonedx-1.6")) };
};

const layer = `sha256:${"ab".repeat(32)}`;

const packageOf = (name: string, version: string, purl: string, more: Partial<SbomContentsPackage> = {}): SbomContentsPackage => ({
  name,
  version,
  purl,
  layer,
  path: "var/lib/dpkg/status",
  database: "dpkg",
  origins: ["layers"],
  ...more,
});

const contents: SbomContents = {
  name: "app",
  digest: `sha256:${"cd".repeat(32)}`,
  platform: "linux/amd64",
  operatingSystem: { id: "debian", version: "12", name: "Debian GNU/Linux 12 (bookworm)" },
  createTime: "2026-01-02T03:04:05.678Z",
  isComplete: true,
  toolVersion: "1.0.0",
  publicUrl: "https://gantry.example.com",
  packages: [
    packageOf("bash", "5.2.15-2", "pkg:deb/debian/bash@5.2.15-2?arch=amd64&distro=debian-12"),
    packageOf("libstdc++6", "12.2.0-14", "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14?arch=amd64&distro=debian-12&upstream=gcc-12"),
    packageOf("@babel/core", "7.0.0", "pkg:npm/%40babel/core@7.0.0", { path: "app/node_modules/@babel/core/package.json", database: "npm" }),
    // At two paths.
    packageOf("ms", "2.0.0", "pkg:npm/ms@2.0.0", { path: "a/node_modules/ms/package.json", database: "npm" }),
    packageOf("ms", "2.0.0", "pkg:npm/ms@2.0.0", { path: "b/node_modules/ms/package.json", database: "npm" }),
    packageOf("example.com/mod", "v1.2.3", "pkg:golang/example.com/mod@v1.2.3", { layer: "", path: "", database: "", origins: ["attestation", "sbom"] }),
    packageOf("org.slf4j:slf4j-api", "1.7.30", "pkg:maven/org.slf4j/slf4j-api@1.7.30", { path: "app/\ufffda b.jar", database: "jar" }),
  ],
};

const forms: Readonly<Record<string, SbomContents>> = {
  complete: contents,
  incomplete: { ...contents, isComplete: false },
  "without packages": { ...contents, packages: [] },
  "without operating system": { ...contents, operatingSystem: undefined, platform: "" },
  "without a release": { ...contents, operatingSystem: { id: "wolfi", version: "", name: "" } },
};

const names: readonly SbomWriterName[] = ["SPDX_2_3", "SPDX_3_0", "CYCLONEDX_1_6"];

test("SBOMs in SPDX 2.3, SPDX 3.0 and CycloneDX 1.6 are valid by the official schemas", () => {
  const validators = openValidators();
  for (const name of names)
    for (const [form, each] of Object.entries(forms)) {
      const validate = validators[name];
      assert.ok(validate(sbomWriters[name](each)), `${name} ${form}: ${JSON.stringify(validate.errors?.slice(0, 5))}`);
    }
  // The schemas find what is wrong.
  assert.equal(validators.SPDX_2_3({ ...sbomWriters.SPDX_2_3(contents), dataLicense: 1 }), false);
  assert.equal(validators.SPDX_3_0({ "@context": "https://spdx.org/rdf/3.0.1/spdx-context.jsonld", "@graph": [{ type: "Nothing" }] }), false);
  assert.equal(validators.CYCLONEDX_1_6({ ...sbomWriters.CYCLONEDX_1_6(contents), serialNumber: "urn:uuid:1" }), false);
});

test("each format names the same packages when it is read again", async () => {
  for (const name of names) {
    const reading = await readSbom(Buffer.from(JSON.stringify(sbomWriters[name](contents))), []);
    assert.ok("packages" in reading, JSON.stringify(reading));
    assert.deepEqual(JSON.parse(reading.packages), {
      "pkg:deb/debian/bash?distro=debian-12": "5.2.15-2",
      "pkg:deb/debian/libstdc%2B%2B6?distro=debian-12&upstream=gcc-12": "12.2.0-14",
      "pkg:golang/example.com/mod": "v1.2.3",
      "pkg:maven/org.slf4j/slf4j-api": "1.7.30",
      "pkg:npm/%40babel/core": "7.0.0",
      "pkg:npm/ms": "2.0.0",
    });
    assert.equal(reading.unnamed, 0);
  }
});

test("the same contents have the same document, other contents have another ID, and an incomplete document says so", () => {
  for (const name of names) {
    const [one, again] = [JSON.stringify(sbomWriters[name](contents)), JSON.stringify(sbomWriters[name]({ ...contents, packages: [...contents.packages] }))];
    assert.equal(one, again);
    const idOf = (text: string): string => /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}/.exec(text)?.[0] ?? "";
    const fewer = JSON.stringify(sbomWriters[name]({ ...contents, packages: contents.packages.slice(1) }));
    const incomplete = JSON.stringify(sbomWriters[name]({ ...contents, isComplete: false }));
    assert.equal(new Set([one, fewer, incomplete].map(idOf)).size, 3);
    assert.deepEqual([/incomplete/i.test(one), /incomplete/i.test(incomplete)], [false, true]);
  }
});

test("a document describes the image, which contains each package once for each path", () => {
  const { packages, edges, tool } = graphOf(sbomWriters.SPDX_2_3(contents));
  const ids = new Set(packages.map(({ id }) => id));
  assert.deepEqual([packages.length, ids.size, tool], [9, 9, "gantry-1.0.0"]);
  assert.deepEqual(edges[0], { type: "DESCRIBES", subjectId: "SPDXRef-DOCUMENT", predicateId: "SPDXRef-Image" });
  assert.deepEqual(new Set(edges.slice(1).map(({ type, subjectId }) => `${type} ${subjectId}`)), new Set(["CONTAINS SPDXRef-Image"]));
});
