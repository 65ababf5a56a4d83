// YAML, as hostile as it may be: aliases, depth and size are bounded (attack: bombs). Every scalar is its own text, or
// null: a version 1.10 must not become 1.1, and no schema here asks for numbers.

import type { Alias, Document, LineCounter, Node, Pair, Scalar, YAMLMap, YAMLSeq } from "yaml";
import type { Json, JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { Broken, type Path } from "../refused.ts";
import { readPlainYaml } from "./plain-yaml.ts";

type Yaml = typeof import("yaml");

interface Walk {
  readonly yaml: Yaml;
  readonly document: Document;
  readonly lineAt: (node: Node | null | undefined) => number;
  aliases: number;
  values: number;
}

const nullForm = /^(?:~|null|Null|NULL|)$/;

const scalarOf = ({ type, source, value }: Scalar): Json => {
  if (type === "PLAIN" || type === undefined) return nullForm.test(source ?? "") ? null : (source ?? "");
  return typeof value === "string" ? value : (source ?? "");
};

const valueOf = (walk: Walk, node: Node | Pair | null | undefined, depth: number, place: Node | null | undefined): Json => {
  const { yaml } = walk;
  const refuse = (reason: string): never => {
    throw new Broken(walk.lineAt(place), reason);
  };
  if (++walk.values > limits.feedYamlValuesMax) refuse(`holds more than ${limits.feedYamlValuesMax} values`);
  if (depth > limits.feedDepthMax) refuse(`is nested deeper than ${limits.feedDepthMax} levels`);
  if (node === null || node === undefined) return null;
  if (yaml.isAlias(node)) {
    if (++walk.aliases > limits.feedYamlAliasesMax) refuse(`holds more than ${limits.feedYamlAliasesMax} aliases`);
    return valueOf(walk, (node as Alias).resolve(walk.document), depth + 1, place);
  }
  if (yaml.isScalar(node)) return scalarOf(node);
  if (yaml.isSeq(node)) return (node as YAMLSeq<Node>).items.map((item) => valueOf(walk, item, depth + 1, item));
  if (!yaml.isMap(node)) return refuse("must be a map, a list or a scalar");
  const found: JsonObject = {};
  for (const { key, value } of (node as YAMLMap<Node, Node | null>).items) {
    if (!yaml.isScalar(key)) return refuse("must have texts as keys");
    const name = scalarOf(key);
    // A key that would touch the prototype is data like any other (decisions: JSON).
    Object.defineProperty(found, String(name), { value: valueOf(walk, value, depth + 1, value ?? key), enumerable: true, configurable: true, writable: true });
  }
  return found;
};

const open = (yaml: Yaml, text: string): { document: Document; lines: LineCounter; lineAt: Walk["lineAt"] } => {
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { lineCounter: lines, schema: "failsafe", logLevel: "error", prettyErrors: false });
  return { document, lines, lineAt: (node) => (node?.range ? lines.linePos(node.range[0]).line : 1) };
};

/** Whatever the library throws at a hostile text is the text's fault. */
const guarded = <T>(work: () => T): T => {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof RangeError) throw new Broken(1, `is nested deeper than ${limits.feedDepthMax} levels`);
    throw thrown;
  }
};

const whole = (yaml: Yaml, text: string): Json =>
  guarded(() => {
    const { document, lineAt, lines } = open(yaml, text);
    const [error] = document.errors;
    if (error) {
      const reason = error.code === "MULTIPLE_DOCS" ? "holds more than one document" : `not valid YAML: ${error.message.replace(/\s+/g, " ")}`;
      throw new Broken(lines.linePos(error.pos[0]).line, reason);
    }
    return valueOf({ yaml, document, lineAt, aliases: 0, values: 0 }, document.contents as Node | null, 0, document.contents as Node | null);
  });

/** Reads a text of YAML. Throws Broken. */
export const readYaml = async (text: string): Promise<Json> => {
  if (text.length > limits.feedYamlLengthMax) throw new Broken(1, `is YAML of more than ${limits.feedYamlLengthMax} characters`);
  return readPlainYaml(text) ?? whole(await import("yaml"), text);
};

/** The line (from 1) of the value at `path`; of the nearest enclosing one where there is none. */
export const yamlLineOf = async (text: string, path: Path): Promise<number> => {
  const { document, lineAt } = open(await import("yaml"), text);
  for (let length = path.length; length > 0; length--) {
    const found = document.getIn(path.slice(0, length), true) as Node | undefined;
    if (found?.range) return lineAt(found);
  }
  return 1;
};
