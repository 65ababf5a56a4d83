// Tests the verdicts of OpenVEX and CSAF documents on versions of packages.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { installedPackageOf } from "./judge-package.ts";
import { judgeByProducts, judgeByStatements } from "./judge-statements.ts";

const statement = (status: string, products: readonly (string | JsonObject)[], timestamp = "2026-01-01T00:00:00Z"): JsonObject => ({
  vulnerability: { name: "CVE-2026-1", aliases: ["GHSA-1"] },
  status,
  timestamp,
  products: products.map((each) => (typeof each === "string" ? { "@id": each } : each)),
});
const openvex = (...statements: readonly JsonObject[]): JsonObject => ({ "@context": "https://openvex.dev/ns/v0.2.0", statements: [...statements] });

const stated = (document: JsonObject, label: string, version: string, ids = ["CVE-2026-1"]): string =>
  judgeByStatements(document, ids)(installedPackageOf(label), version)?.state ?? "-";

test("an OpenVEX statement applies to its package version, or to all versions if it names none", () => {
  const document = openvex(statement("affected", ["pkg:apk/wolfi/bash@1.0-r0", "pkg:npm/left-pad"]));
  assert.equal(stated(document, "bash", "1.0-r0"), "affected");
  assert.equal(stated(document, "bash", "1.0-r1"), "-");
  assert.equal(stated(document, "zsh", "1.0-r0"), "-");
  assert.equal(stated(document, "pkg:npm/left-pad", "1.0.0"), "affected");
  assert.equal(stated(document, "pkg:pypi/left-pad", "1.0.0"), "-");
  assert.equal(stated(document, "bash", "1.0-r0", ["GHSA-1"]), "affected");
  assert.equal(stated(document, "bash", "1.0-r0", ["CVE-2026-2"]), "-");
});

test("versions are compared in their ecosystem's order, and PyPI names are normalized", () => {
  const document = openvex(statement("affected", ["pkg:pypi/Some_Package@1.0", "pkg:rpm/redhat/curl@7.1-1?epoch=1"]));
  assert.equal(stated(document, "pkg:pypi/some-package", "1.0.0"), "affected");
  assert.equal(stated(document, "pkg:rpm/redhat/curl", "1:7.1-1"), "affected");
  assert.equal(stated(document, "pkg:rpm/fedora/curl", "1:7.1-1"), "-");
});

test("the latest statement on a product counts, separately for each component", () => {
  const product = "pkg:apk/wolfi/bash@1.0-r0";
  assert.equal(stated(openvex(statement("affected", [product]), statement("fixed", [product], "2026-01-02T00:00:00Z")), "bash", "1.0-r0"), "-");
  assert.equal(stated(openvex(statement("fixed", [product], "2026-01-02T00:00:00Z"), statement("affected", [product])), "bash", "1.0-r0"), "-");
  assert.equal(stated(openvex(statement("affected", [product]), statement("not_affected", [product])), "bash", "1.0-r0"), "-");
  assert.equal(stated(openvex(statement("under_investigation", [product])), "bash", "1.0-r0"), "under investigation");
  const parts = (component: string): JsonObject => ({ "@id": product, subcomponents: [{ "@id": component }] });
  assert.equal(
    stated(openvex(statement("affected", [parts("pkg:golang/a")]), statement("not_affected", [parts("pkg:golang/b")])), "bash", "1.0-r0"),
    "affected",
  );
});

test("a statement for an architecture applies only to images of that architecture", () => {
  const verdict = judgeByStatements(openvex(statement("affected", ["pkg:apk/wolfi/bash@1.0-r0?arch=x86_64"])), ["CVE-2026-1"])(
    installedPackageOf("bash"),
    "1.0-r0",
  );
  assert.deepEqual([verdict?.isFor?.("amd64"), verdict?.isFor?.("arm64")], [true, false]);
});

const branch = (category: string, name: string, id: string, purl: string): JsonObject => ({
  category,
  name,
  product: { name: id, product_id: id, ...(purl === "" ? {} : { product_identification_helper: { purl } }) },
});
const csaf = (branches: readonly JsonObject[], status: JsonObject): JsonObject => ({
  product_tree: {
    branches: [{ category: "vendor", name: "v", branches: [{ category: "product_name", name: "p", branches: [...branches] }] }],
    relationships: [
      {
        category: "default_component_of",
        full_product_name: { name: "x", product_id: "in-image" },
        product_reference: "old",
        relates_to_product_reference: "image",
      },
    ],
  },
  vulnerabilities: [{ cve: "CVE-2026-1", ids: [{ system_name: "x", text: "X-1" }], product_status: status }],
});
const judged = (document: JsonObject, label: string, version: string) => judgeByProducts(document, ["CVE-2026-1"])(installedPackageOf(label), version);

test("a CSAF product is matched by package URL and version, by its branch's version, or by a range in its ecosystem's order", () => {
  const document = csaf(
    [
      branch("product_version", "1.0-r0", "old", "pkg:apk/wolfi/bash@1.0-r0"),
      branch("product_version", "1.1-r0", "new", "pkg:apk/wolfi/bash@1.1-r0"),
      branch("product_version", "2.0.0", "named", "pkg:npm/left-pad"),
      branch("product_version_range", "vers:npm/>=3.0.0|<4.0.0", "range", "pkg:npm/left-pad"),
      branch("product_version_range", "vers:pypi/>=5.0.0", "foreign", "pkg:npm/left-pad"),
      branch("product_version_range", "before 7", "free", "pkg:npm/left-pad"),
      branch("product_name", "everything", "nothing", "pkg:npm/left-pad"),
      branch("product_version", "8", "without", ""),
    ],
    { known_affected: ["in-image", "named", "range", "foreign", "free", "nothing", "without"], fixed: ["new"], known_not_affected: [] },
  );
  assert.deepEqual([judged(document, "bash", "1.0-r0")?.state, judged(document, "bash", "1.0-r0")?.fixedVersion], ["affected", "1.1-r0"]);
  assert.equal(judged(document, "bash", "1.1-r0"), undefined);
  const versions = ["2.0.0", "3.5.0", "4.0.0", "5.1.0", "6.0.0", "8.0.0"];
  assert.deepEqual(
    versions.filter((version) => judged(document, "pkg:npm/left-pad", version)),
    ["2.0.0", "3.5.0"],
  );
});

test("a version that a CSAF document lists as fixed or not affected is excluded from its ranges", () => {
  const document = csaf(
    [
      branch("product_version_range", "vers:npm/<4.0.0", "range", "pkg:npm/left-pad"),
      branch("product_version", "3.9.1", "fix", "pkg:npm/left-pad@3.9.1"),
      branch("product_version", "3.0.0", "never", "pkg:npm/left-pad@3.0.0"),
    ],
    { known_affected: ["range"], fixed: ["fix"], known_not_affected: ["never"] },
  );
  assert.deepEqual(
    ["3.9.1", "3.0.0", "3.1.0", "4.0.0"].filter((version) => judged(document, "pkg:npm/left-pad", version)),
    ["3.1.0"],
  );
});
