// Parses XML without entities and document types: each element has its children, or its text.

import type { Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { DocumentError, type Path } from "../invalid.ts";

const xmlLineAt = (text: string, index: number): number => text.slice(0, Math.max(0, index)).split("\n").length;

/** Always lists. */
const repeatedElements: ReadonlySet<string> = new Set(["metadata.versioning.versions.version"]);

/** Throws DocumentError. */
export const readXml = async (text: string): Promise<Json> => {
  if (text.length > limits.feedXmlLengthMax) throw new DocumentError(1, `is XML of more than ${limits.feedXmlLengthMax} characters`);
  const forbidden = text.search(/<!(?:DOCTYPE|ENTITY)/i);
  if (forbidden >= 0) throw new DocumentError(xmlLineAt(text, forbidden), "must not have a document type or entities");
  const { XMLParser, XMLValidator } = await import("fast-xml-parser");
  const problem = XMLValidator.validate(text);
  if (problem !== true) {
    const { msg, line } = problem.err;
    // The library's form for unclosed elements.
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
    // Nested too deeply.
    throw new DocumentError(1, `not valid XML: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
};

/** Finds the line of an element by name, and by index in a list. */
export const xmlLineOf = (text: string, path: Path): number => {
  const name = path.findLast((step) => typeof step === "string");
  const last = path.at(-1);
  const found = [...text.matchAll(new RegExp(`<${name}[\\s/>]`, "g"))];
  // <versions> does not match <version>.
  const at = typeof last === "number" ? found[last] : found[0];
  return xmlLineAt(text, at?.index ?? 0);
};
