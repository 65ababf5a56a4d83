// XML without entities and document types: each element with its children, or its text.

import type { Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { DocumentError, type Path } from "../invalid.ts";

const xmlLineAt = (text: string, index: number): number => text.slice(0, Math.max(0, index)).split("\n").length;

/** Elements that may come more than once are lists, also where there is one. */
const repeatedElements: ReadonlySet<string> = new Set(["metadata.versioning.versions.version"]);

/** Reads the text. Throws DocumentError. */
export const readXml = async (text: string): Promise<Json> => {
  if (text.length > limits.feedXmlLengthMax) throw new DocumentError(1, `is XML of more than ${limits.feedXmlLengthMax} characters`);
  const forbidden = text.search(/<!(?:DOCTYPE|ENTITY)/i);
  if (forbidden >= 0) throw new DocumentError(xmlLineAt(text, forbidden), "must not have a document type or entities");
  const { XMLParser, XMLValidator } = await import("fast-xml-parser");
  const problem = XMLValidator.validate(text);
  if (problem !== true) {
    const { msg, line } = problem.err;
    // What is left open at the end comes as a list.
    if (msg.startsWith("Invalid '[")) throw new DocumentError(xmlLineAt(text, text.trimEnd().length), "not valid XML: it ends within an element");
    throw new DocumentError(line, `not valid XML: ${msg}`);
  }
  try {
    return new XMLParser({
      processEntities: false,
      ignoreAttributes: true,
      parseTagValue: false,
      trimValues: true,
      ignoreDeclaration: true,
      ignorePiTags: true,
      isArray: (_name, path) => repeatedElements.has(String(path)),
    }).parse(text) as Json;
  } catch (thrown) {
    // Its own limit of nested elements, or the stack's.
    throw new DocumentError(1, `not valid XML: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
};

/** The line of an element, by its name; of the nth where it is in a list. */
export const xmlLineOf = (text: string, path: Path): number => {
  const name = path.findLast((step) => typeof step === "string");
  const last = path.at(-1);
  const found = [...text.matchAll(new RegExp(`<${name}[\\s/>]`, "g"))];
  // <versions> is no <version>, but <version> of another element may come first: the list's are the last ones.
  const at = typeof last === "number" ? found[last] : found[0];
  return xmlLineAt(text, at?.index ?? 0);
};
