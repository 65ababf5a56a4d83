// The packages of an SPDX document (JSON, 2.2, 2.3 and 3.0), without those only for building or testing, or sources.

import type { Field } from "../field.ts";
import { collectPackages, type Packages } from "./packages.ts";

/** The classified side of "A relation B". */
type Side = "left" | "right";

// Not shipped, according to this relation.
const apart: ReadonlyMap<string, Side> = new Map([
  ["BUILD_DEPENDENCY_OF", "left"],
  ["DEV_DEPENDENCY_OF", "left"],
  ["TEST_DEPENDENCY_OF", "left"],
  ["PROVIDED_DEPENDENCY_OF", "left"],
  ["BUILD_TOOL_OF", "left"],
  ["DEV_TOOL_OF", "left"],
  ["TEST_TOOL_OF", "left"],
  ["TEST_CASE_OF", "left"],
  ["TEST_OF", "left"],
  ["DOCUMENTATION_OF", "left"],
  ["EXAMPLE_OF", "left"],
  ["GENERATES", "left"],
  ["GENERATED_FROM", "right"],
  // apko: a package and its build recipe.
  ["DESCRIBED_BY", "right"],
]);

// Shipped; this takes precedence.
const within: ReadonlyMap<string, Side> = new Map([
  ["DESCRIBES", "right"],
  ["CONTAINS", "right"],
  ["DEPENDS_ON", "right"],
  ["STATIC_LINK", "right"],
  ["DYNAMIC_LINK", "right"],
  ["CONTAINED_BY", "left"],
  ["DEPENDENCY_OF", "left"],
  ["RUNTIME_DEPENDENCY_OF", "left"],
]);

interface Placed {
  readonly apart: Set<string>;
  readonly within: Set<string>;
}

const placeByRelations = (document: Field): Placed => {
  const placed: Placed = {
    apart: new Set(),
    within: new Set(
      document
        .at("documentDescribes")
        .list()
        .map((each) => each.name()),
    ),
  };
  for (const relation of document.at("relationships").list()) {
    const type = relation.at("relationshipType").name();
    const sides = { left: relation.at("spdxElementId").name(), right: relation.at("relatedSpdxElement").name() };
    const [isApart, isWithin] = [apart.get(type), within.get(type)];
    if (isApart) placed.apart.add(sides[isApart]);
    if (isWithin) placed.within.add(sides[isWithin]);
  }
  return placed;
};

const isShipped = (placed: Placed, id: string): boolean => !placed.apart.has(id) || placed.within.has(id);

const isPurlType = (type: string): boolean => type === "purl" || type === "packageUrl";

/** A package without a package URL is counted. */
const purlsOf = (references: readonly Field[], typeKey: string, valueKey: string, missing: Field): Field[] => {
  const found = references.filter((reference) => isPurlType(reference.object().at(typeKey).name())).map((reference) => reference.at(valueKey));
  return found.length > 0 ? found : [missing];
};

export const spdxPackages = (document: Field): Packages => {
  const packages = collectPackages();
  const placed = placeByRelations(document);
  for (const each of document.at("packages").list()) {
    if (!isShipped(placed, each.object().at("SPDXID").name())) continue;
    const version = each.at("versionInfo").name();
    for (const purl of purlsOf(each.at("externalRefs").list(), "referenceType", "referenceLocator", each.at("purl"))) {
      if (purl.missing && each.at("primaryPackagePurpose").value !== undefined && each.at("primaryPackagePurpose").value !== "LIBRARY") continue;
      packages.add({ purl, version, origin: "" });
    }
  }
  return packages;
};

const buildScopes = new Set(["build", "development", "design", "test"]);
const withinRelations = new Set(["contains", "dependsOn", "describes", "hasDynamicLink", "hasStaticLink"]);

/** JSON-LD allows one entry instead of a list. */
const several = (field: Field): Field[] => (Array.isArray(field.value) || field.missing ? field.list() : [field]);

export const spdx3Packages = (document: Field): Packages => {
  const packages = collectPackages();
  const placed: Placed = { apart: new Set(), within: new Set() };
  const elements = document.at("@graph").list();
  const typeOf = (element: Field): string => element.object().at("type").name();
  for (const element of elements) {
    if (typeOf(element) !== "Relationship" && typeOf(element) !== "LifecycleScopedRelationship") continue;
    const type = element.at("relationshipType").name();
    const to = several(element.at("to")).map((each) => each.name());
    if (buildScopes.has(element.at("scope").name())) for (const id of to) placed.apart.add(id);
    else if (withinRelations.has(type)) for (const id of to) placed.within.add(id);
    if (type === "generates") placed.apart.add(element.at("from").name());
  }
  for (const element of elements) {
    if (typeOf(element) !== "software_Package" || !isShipped(placed, element.at("spdxId").name())) continue;
    const version = element.at("software_packageVersion").name();
    const own = element.at("software_packageUrl");
    const purls = own.missing ? purlsOf(several(element.at("externalIdentifier")), "externalIdentifierType", "identifier", own) : [own];
    const purpose = element.at("software_primaryPurpose");
    for (const purl of purls) {
      // Operating systems, files.
      if (purl.missing && !purpose.missing && purpose.value !== "library") continue;
      packages.add({ purl, version, origin: "" });
    }
  }
  return packages;
};
