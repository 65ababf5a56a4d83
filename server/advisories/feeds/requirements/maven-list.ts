// Reads Maven artifacts: lines, or the direct dependencies of a POM.
//
//   org.example:lib:1.0                       also with packaging, classifier and scope, as printed by mvn dependency:list
//   org.example:lib:1.0=compileClasspath      gradle.lockfile
//   lib/1.0//lib-1.0.jar                      lists of jars without groups, which cannot be requested

import { isObject, type Json, type JsonObject, part, text as textOf } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { DocumentError } from "../invalid.ts";
import { readXml } from "../parse/xml.ts";
import { FoundRequirements, type Requirement, unpinned, withoutComment } from "./requirement.ts";

const idForm = /^[A-Za-z0-9_.-]+$/;
const versionForm = /^[^\s:\\/[\](),<>"|?*$]+$/;
const scopes: ReadonlySet<string> = new Set(["compile", "runtime", "provided", "test", "system", "import"]);
const jarForm = /^([A-Za-z0-9_.-]+)\/([^\s/]+)\/([^\s/]*)\/\S+$/;

/** "[1.0]" is exact; other ranges are not. */
const exactVersionOf = (version: string): string => {
  const [, single] = /^\[([^\s,[\]()]+)\]$/.exec(version) ?? [];
  const exact = single ?? version;
  return versionForm.test(exact) ? exact : "";
};

const artifactOf = (text: string, group: string, artifact: string, version: string): Requirement => {
  if (!idForm.test(group) || !idForm.test(artifact)) return { text, name: "", version: "", problem: "is not group:artifact:version" };
  const exact = exactVersionOf(version);
  return { text, name: `${group}:${artifact}`, version: exact, problem: exact === "" ? unpinned : "" };
};

export const readMavenArtifact = (text: string): Requirement => {
  const [, jar = "", jarVersion = ""] = jarForm.exec(text) ?? [];
  if (jar !== "") return { text, name: jar, version: jarVersion, problem: "names no group: write group:artifact:version" };
  const parts = text.split(":").map((each) => each.trim());
  if (parts.length > 3 && scopes.has(parts.at(-1) ?? "")) parts.pop();
  const [group = "", artifact = ""] = parts;
  if (parts.length < 2 || parts.length > 5) return { text, name: "", version: "", problem: "is not group:artifact:version" };
  return artifactOf(text, group, artifact, parts.length === 2 ? "" : (parts.at(-1) ?? ""));
};

const readLines = (content: string): readonly Requirement[] => {
  const found = new FoundRequirements();
  for (const [index, line] of content.split(/\r\n|\r|\n/).entries()) {
    const plain = withoutComment(line)
      .replace(/^\[INFO\]/, "")
      .trim();
    if (plain === "") continue;
    if (plain.length > limits.requirementLengthMax * 4) throw new DocumentError(index + 1, `must have at most ${limits.requirementLengthMax * 4} characters`);
    const equals = plain.indexOf("=");
    // gradle.lockfile: configurations without dependencies.
    if (/^empty=/.test(plain)) continue;
    found.add(index + 1, readMavenArtifact(equals < 0 ? plain : plain.slice(0, equals).trim()));
  }
  return found.list;
};

// ---- POM --------------------------------------------------------------------------------------------------------

const elementsOf = (value: Json | undefined, name: string): JsonObject[] => {
  const held: Json | undefined = isObject(value) ? value[name] : undefined;
  return (Array.isArray(held) ? held : [held]).filter((each) => isObject(each));
};

/** Properties may be nested, so depth and length are bounded. */
const interpolated = (text: string, properties: ReadonlyMap<string, string>, depth = 0): string => {
  if (!text.includes("${") || depth >= limits.propertyDepthMax || text.length > limits.propertyLengthMax) return text;
  const filled = text.replace(/\$\{([^{}$]+)\}/g, (whole, name: string) => properties.get(name) ?? whole);
  return filled === text || filled.length > limits.propertyLengthMax ? text : interpolated(filled, properties, depth + 1);
};

const propertiesOf = (project: JsonObject): ReadonlyMap<string, string> => {
  const parent = part(project, "parent");
  const properties = new Map<string, string>();
  for (const [name, value] of Object.entries(part(project, "properties"))) {
    // Longer values would amplify the input.
    if (typeof value === "string" && value.length <= limits.propertyLengthMax) properties.set(name, value);
  }
  for (const name of ["groupId", "artifactId", "version"] as const) {
    const inherited = name === "artifactId" ? "" : textOf(parent, name);
    const own = textOf(project, name) || inherited;
    for (const prefix of ["project.", "pom.", ""]) if (own !== "") properties.set(`${prefix}${name}`, own);
    if (textOf(parent, name) !== "") properties.set(`project.parent.${name}`, textOf(parent, name));
  }
  return properties;
};

interface Dependency {
  readonly group: string;
  readonly artifact: string;
  readonly version: string;
  /** Also identifies the entry in dependencyManagement. */
  readonly key: string;
}

const readPom = async (content: string): Promise<readonly Requirement[]> => {
  const document = await readXml(content);
  const project = isObject(document) ? document.project : undefined;
  if (!isObject(project)) throw new DocumentError(1, "is XML, but no POM: it has no project");
  const properties = propertiesOf(project);
  const dependencyOf = (element: JsonObject): Dependency => {
    const at = (name: string): string => interpolated(textOf(element, name), properties);
    const [group, artifact] = [at("groupId"), at("artifactId")];
    return { group, artifact, version: at("version"), key: [group, artifact, at("type") || "jar", at("classifier")].join(":") };
  };
  const managed = new Map(
    elementsOf(part(part(project, "dependencyManagement"), "dependencies"), "dependency")
      .map(dependencyOf)
      .map(({ key, version }) => [key, version]),
  );
  const found = new FoundRequirements();
  for (const element of elementsOf(project.dependencies, "dependency")) {
    const { group, artifact, version, key } = dependencyOf(element);
    const asked = version || managed.get(key) || "";
    const text = [group, artifact, asked].filter((each) => each !== "").join(":");
    const read = artifactOf(text, group, artifact, asked);
    found.add(1, read.problem === unpinned ? { ...read, problem: "has its version not in this file, or names no exact one" } : read);
  }
  return found.list;
};

/** Throws DocumentError. */
export const readMavenList = async (content: string): Promise<readonly Requirement[]> => (/^\s*</.test(content) ? readPom(content) : readLines(content));
