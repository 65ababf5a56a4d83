// Parses untrusted YAML: aliases, depth and size are bounded (attack: bombs). Scalars stay texts or null: the version 1.10 must
// not become 1.1, and no format needs numbers.

import type { Alias, Document, LineCounter, Node, Pair, Scalar, YAMLMap, YAMLSeq } from "yaml";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { DocumentError, type Path } from "../invalid.ts";
import { readYamlSubset } from "./yaml-subset.ts";

type Yaml = typeof import("yaml");

interface Conversion {
  readonly yaml: Yaml;
  readonly document: Document;
  readonly lineAt: (node: Node | null | undefined) => number;
  /** Types plain scalars by YAML 1.2 (10.3.2). */
  readonly isTyped: boolean;
  aliases: number;
  values: number;
}

const nullForm = /^(?:~|null|Null|NULL|)$/;

/** YAML 1.2, 10.3.2: the core schema. */
const typedValue = (source: string): Json => {
  if (/^(?:true|True|TRUE)$/.test(source)) return true;
  if (/^(?:false|False|FALSE)$/.test(source)) return false;
  const isNumber = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$|^0o[0-7]+$|^0x[0-9a-fA-F]+$/.test(source);
  const number = Number(source.replace(/^\+/, ""));
  return isNumber && Number.isFinite(number) ? number : source;
};

const scalarValue = ({ type, source, value }: Scalar, isTyped = false): Json => {
  if (isTyped && type === "PLAIN" && !nullForm.test(source ?? "")) return typedValue(source ?? "");
  if (type === "PLAIN" || type === undefined) return nullForm.test(source ?? "") ? null : (source ?? "");
  return typeof value === "string" ? value : (source ?? "");
};

const nodeValue = (conversion: Conversion, node: Node | Pair | null | undefined, depth: number, position: Node | null | undefined): Json => {
  const { yaml } = conversion;
  const refuse = (reason: string): never => {
    throw new DocumentError(conversion.lineAt(position), reason);
  };
  if (++conversion.values > limits.feedYamlValuesMax) refuse(`contains more than ${limits.feedYamlValuesMax} values`);
  if (depth > limits.feedDepthMax) refuse(`is nested deeper than ${limits.feedDepthMax} levels`);
  if (node === null || node === undefined) return null;
  if (yaml.isAlias(node)) {
    if (++conversion.aliases > limits.feedYamlAliasesMax) refuse(`contains more than ${limits.feedYamlAliasesMax} aliases`);
    return nodeValue(conversion, (node as Alias).resolve(conversion.document), depth + 1, position);
  }
  if (yaml.isScalar(node)) return scalarValue(node, conversion.isTyped);
  if (yaml.isSeq(node)) return (node as YAMLSeq<Node>).items.map((item) => nodeValue(conversion, item, depth + 1, item));
  if (!yaml.isMap(node)) return refuse("must be a map, a list or a scalar");
  const found: JsonObject = {};
  const merged: JsonObject[] = [];
  for (const { key, value } of (node as YAMLMap<Node, Node | null>).items) {
    if (!yaml.isScalar(key)) return refuse("must have texts as keys");
    const name = scalarValue(key);
    const held = nodeValue(conversion, value, depth + 1, value ?? key);
    if (name === "<<" && (key.type === "PLAIN" || key.type === undefined)) merged.push(...mergedMaps(held, conversion.lineAt(key)));
    else setKey(found, String(name), held);
  }
  return merged.length === 0 ? found : mergeMaps(found, merged);
};

/** A key such as __proto__ is ordinary data (decisions: JSON). */
const setKey = (into: JsonObject, name: string, value: Json): void => {
  Object.defineProperty(into, name, { value, enumerable: true, configurable: true, writable: true });
};

/** Returns the maps of a merge key (YAML 1.1, "<<"). Each copy counts towards the limit of values. */
const mergedMaps = (held: Json, line: number): JsonObject[] => {
  const maps = Array.isArray(held) ? held : [held];
  return maps.map((map) => {
    if (isObject(map)) return map;
    throw new DocumentError(line, "a merge key (<<) must contain a map or a list of maps");
  });
};

/** The map's own keys take precedence, then earlier maps. */
const mergeMaps = (own: JsonObject, merged: readonly JsonObject[]): JsonObject => {
  const found: JsonObject = {};
  for (const map of [...merged].reverse()) for (const key of Object.keys(map)) setKey(found, key, map[key] ?? null);
  for (const key of Object.keys(own)) setKey(found, key, own[key] ?? null);
  return found;
};

const parseYaml = (yaml: Yaml, text: string): { document: Document; lines: LineCounter; lineAt: Conversion["lineAt"] } => {
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { lineCounter: lines, schema: "failsafe", logLevel: "error", prettyErrors: false });
  return { document, lines, lineAt: (node) => (node?.range ? lines.linePos(node.range[0]).line : 1) };
};

/** Hostile input can overflow the library's stack. */
const withoutStackOverflow = <T>(work: () => T): T => {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof RangeError) throw new DocumentError(1, `is nested deeper than ${limits.feedDepthMax} levels`);
    throw thrown;
  }
};

const readAllOfYaml = (yaml: Yaml, text: string, isTyped = false): Json =>
  withoutStackOverflow(() => {
    const { document, lineAt, lines } = parseYaml(yaml, text);
    const [error] = document.errors;
    if (error) {
      const reason = error.code === "MULTIPLE_DOCS" ? "contains more than one document" : `not valid YAML: ${error.message.replace(/\s+/g, " ")}`;
      throw new DocumentError(lines.linePos(error.pos[0]).line, reason);
    }
    return nodeValue({ yaml, document, lineAt, isTyped, aliases: 0, values: 0 }, document.contents as Node | null, 0, document.contents as Node | null);
  });

/** Throws DocumentError. */
export const readYaml = async (text: string): Promise<Json> => {
  if (text.length > limits.feedYamlLengthMax) throw new DocumentError(1, `is YAML of more than ${limits.feedYamlLengthMax} characters`);
  return readYamlSubset(text) ?? readAllOfYaml(await import("yaml"), text);
};

/** Reads numbers and booleans as such, for documents that are served unchanged. */
export const readTypedYaml = async (text: string): Promise<Json> => readAllOfYaml(await import("yaml"), text, true);

/** Returns the line (from 1) of the value at `path`, or of the nearest enclosing one. */
export const yamlLineOf = async (text: string, path: Path): Promise<number> => {
  const { document, lineAt } = parseYaml(await import("yaml"), text);
  for (let length = path.length; length > 0; length--) {
    const found = document.getIn(path.slice(0, length), true) as Node | undefined;
    if (found?.range) return lineAt(found);
  }
  return 1;
};
