// Converts an SBOM to a graph of packages. Invalid values are omitted, not refused: the document was validated before
// (read-sbom.ts).

import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readTimestamp, timestamp } from "#base/time.ts";

type EdgeType = "DESCRIBES" | "CONTAINS" | "DEPENDS_ON" | "GENERATED_FROM";

export interface SbomPackage {
  /** The ID in the document. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly description: string;
  readonly purl: string;
}

export interface SbomEdge {
  readonly subjectId: string;
  readonly predicateId: string;
  readonly type: EdgeType;
}

export interface SbomGraph {
  /** "SPDX", "CycloneDX". */
  readonly format: string;
  readonly name: string;
  /** Separated by commas. */
  readonly tool: string;
  readonly authors: string;
  /** RFC 3339; "" if missing. */
  readonly generateTime: string;
  readonly packages: readonly SbomPackage[];
  /** From the document to described packages, too. */
  readonly edges: readonly SbomEdge[];
  /** Both lists are then empty. */
  readonly isTooLarge: boolean;
}

const timeOf = (said: string): string => {
  const milliseconds = readTimestamp(said);
  return milliseconds === undefined ? "" : timestamp(milliseconds);
};

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]);
const textsOf = (value: Json | undefined): string[] => listOf(value).filter((each) => typeof each === "string");
const objectsOf = (value: Json | undefined): JsonObject[] => listOf(value).filter(isObject);

const saidLicense = (license: string): string => (license === "NOASSERTION" || license === "NONE" ? "" : license);

interface EdgeKind {
  readonly type: EdgeType;
  readonly reversed?: boolean;
}

const spdxEdges: ReadonlyMap<string, EdgeKind> = new Map<string, EdgeKind>([
  ["DESCRIBES", { type: "DESCRIBES" }],
  ["DESCRIBED_BY", { type: "DESCRIBES", reversed: true }],
  ["CONTAINS", { type: "CONTAINS" }],
  ["CONTAINED_BY", { type: "CONTAINS", reversed: true }],
  ["DEPENDS_ON", { type: "DEPENDS_ON" }],
  ["DEPENDENCY_OF", { type: "DEPENDS_ON", reversed: true }],
  ["GENERATED_FROM", { type: "GENERATED_FROM" }],
  ["GENERATES", { type: "GENERATED_FROM", reversed: true }],
]);

const spdx3Edges: ReadonlyMap<string, EdgeKind> = new Map<string, EdgeKind>([
  ["describes", { type: "DESCRIBES" }],
  ["contains", { type: "CONTAINS" }],
  ["dependsOn", { type: "DEPENDS_ON" }],
  ["generates", { type: "GENERATED_FROM", reversed: true }],
]);

const edgeOf = (kind: EdgeKind | undefined, left: string, right: string): SbomEdge[] =>
  kind === undefined ? [] : [{ type: kind.type, subjectId: kind.reversed ? right : left, predicateId: kind.reversed ? left : right }];

type Parts = Omit<SbomGraph, "isTooLarge">;

const spdxParts = (document: JsonObject): Parts => {
  const creation = part(document, "creationInfo");
  const creators = textsOf(creation.creators).map((creator) => /^(Tool|Person|Organization): *(.*)$/s.exec(creator)?.slice(1) ?? ["", creator]);
  const named = (isTool: boolean): string =>
    creators
      .filter(([kind]) => (kind === "Tool") === isTool)
      .map(([, name = ""]) => name)
      .join(", ");
  const root = text(document, "SPDXID") || "SPDXRef-DOCUMENT";
  return {
    format: "SPDX",
    name: text(document, "name"),
    tool: named(true),
    authors: named(false),
    generateTime: timeOf(text(creation, "created")),
    packages: objectList(document, "packages").map((each) => ({
      id: text(each, "SPDXID"),
      name: text(each, "name"),
      version: text(each, "versionInfo"),
      license: saidLicense(text(each, "licenseConcluded")) || saidLicense(text(each, "licenseDeclared")),
      description: text(each, "description"),
      purl: text(objectList(each, "externalRefs").find((reference) => text(reference, "referenceType") === "purl") ?? {}, "referenceLocator"),
    })),
    edges: [
      ...textsOf(document.documentDescribes).map((id): SbomEdge => ({ type: "DESCRIBES", subjectId: root, predicateId: id })),
      ...objectList(document, "relationships").flatMap((relation) =>
        edgeOf(spdxEdges.get(text(relation, "relationshipType")), text(relation, "spdxElementId"), text(relation, "relatedSpdxElement")),
      ),
    ],
  };
};

const spdx3Parts = (document: JsonObject): Parts => {
  const elements = objectList(document, "@graph");
  const ofType = (...types: string[]): JsonObject[] => elements.filter((element) => types.includes(text(element, "type")));
  const names = new Map(elements.map((element) => [text(element, "spdxId"), text(element, "name")]));
  const [creation = {}] = ofType("CreationInfo");
  const named = (key: string): string =>
    textsOf(creation[key])
      .map((id) => names.get(id) || id)
      .join(", ");
  const [root] = ofType("SpdxDocument");
  const roots = [...ofType("SpdxDocument"), ...ofType("software_Sbom")].flatMap((element) =>
    textsOf(element.rootElement).map((id): SbomEdge => ({ type: "DESCRIBES", subjectId: text(element, "spdxId"), predicateId: id })),
  );
  return {
    format: "SPDX",
    name: text(root ?? {}, "name"),
    tool: named("createdUsing"),
    authors: named("createdBy"),
    generateTime: timeOf(text(creation, "created")),
    packages: ofType("software_Package").map((each) => ({
      id: text(each, "spdxId"),
      name: text(each, "name"),
      version: text(each, "software_packageVersion"),
      license: "",
      description: text(each, "description"),
      purl:
        text(each, "software_packageUrl") ||
        text(objectsOf(each.externalIdentifier).find((one) => text(one, "externalIdentifierType") === "packageUrl") ?? {}, "identifier"),
    })),
    edges: [
      ...roots,
      ...ofType("Relationship", "LifecycleScopedRelationship").flatMap((relation) =>
        textsOf(relation.to).flatMap((to) => edgeOf(spdx3Edges.get(text(relation, "relationshipType")), text(relation, "from"), to)),
      ),
    ],
  };
};

const cyclonedxLicense = (component: JsonObject): string =>
  objectList(component, "licenses")
    .map((choice) => text(choice, "expression") || text(part(choice, "license"), "id") || text(part(choice, "license"), "name"))
    .filter((license) => license !== "")
    .join(" AND ");

const toolNames = (tools: Json | undefined): string[] => {
  const entries = isObject(tools) ? [...objectsOf(tools.components), ...objectsOf(tools.services)] : objectsOf(tools);
  return entries.map((tool) => [text(tool, "name"), text(tool, "version")].filter((each) => each !== "").join("-")).filter((name) => name !== "");
};

const cyclonedxParts = (document: JsonObject): Parts => {
  const metadata = part(document, "metadata");
  const root = text(document, "serialNumber") || "DOCUMENT";
  const packages: SbomPackage[] = [];
  const edges: SbomEdge[] = [];
  const described = objectsOf(metadata.component);
  const waiting = [
    ...described.map((component) => ({ component, edge: "DESCRIBES" as EdgeType | undefined, parent: root })),
    ...objectList(document, "components").map((component) => ({ component, edge: undefined, parent: "" })),
  ].reverse();
  for (let next = waiting.pop(); next !== undefined && packages.length <= limits.shownSbomNodesMax; next = waiting.pop()) {
    const { component, edge, parent } = next;
    const [name, version, purl] = [text(component, "name"), text(component, "version"), text(component, "purl")];
    const id = text(component, "bom-ref") || purl || `${name}@${version}`;
    const group = text(component, "group");
    packages.push({
      id,
      name: group === "" ? name : `${group}/${name}`,
      version,
      license: cyclonedxLicense(component),
      description: text(component, "description"),
      purl,
    });
    if (edge !== undefined) edges.push({ type: edge, subjectId: parent, predicateId: id });
    for (const inner of objectList(component, "components").reverse()) waiting.push({ component: inner, edge: "CONTAINS", parent: id });
  }
  for (const dependency of objectList(document, "dependencies"))
    for (const on of textsOf(dependency.dependsOn)) edges.push({ type: "DEPENDS_ON", subjectId: text(dependency, "ref"), predicateId: on });
  return {
    format: "CycloneDX",
    name: text(described[0] ?? {}, "name"),
    tool: toolNames(metadata.tools).join(", "),
    authors: objectList(metadata, "authors")
      .map((author) => text(author, "name") || text(author, "email"))
      .filter((author) => author !== "")
      .join(", "),
    generateTime: timeOf(text(metadata, "timestamp")),
    packages,
    edges,
  };
};

/** For valid SPDX or CycloneDX only. */
export const graphOf = (document: JsonObject): SbomGraph => {
  const parts = document.bomFormat === "CycloneDX" ? cyclonedxParts(document) : document.spdxVersion === undefined ? spdx3Parts(document) : spdxParts(document);
  const isTooLarge = parts.packages.length > limits.shownSbomNodesMax || parts.edges.length > limits.shownSbomEdgesMax;
  if (isTooLarge) return { ...parts, packages: [], edges: [], isTooLarge };
  // Drops edges to files, snippets and other documents.
  const known = new Set(parts.packages.map(({ id }) => id));
  const edges = parts.edges.filter(({ type, subjectId, predicateId }) => known.has(predicateId) && (type === "DESCRIBES" || known.has(subjectId)));
  return { ...parts, edges, isTooLarge };
};
