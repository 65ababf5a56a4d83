// Converts between YAML and JSON without changing the meaning.

import { isMap, isScalar, parseDocument, Document, visit } from "yaml";
import type { Json } from "#base/json.ts";
import { isUnprintable, printableJson } from "./escape.ts";

/** Returns one document. Strings with control sequences are double-quoted and escaped. */
export const yamlText = (value: Json): string => {
  // YAML 1.1 parsers read yes as true and times as dates: such strings are quoted.
  const document = new Document(value, { aliasDuplicateObjects: false, compat: "yaml-1.1" });
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value !== "string") return;
      // Multi-line text stays readable.
      const lines = node.value.split("\n");
      if (lines.some(isUnprintable)) node.type = "QUOTE_DOUBLE";
    },
  });
  return printableJson(document.toString({ lineWidth: 0 }));
};

export interface ReadDocument {
  readonly value: Json | undefined;
  readonly problem: string | undefined;
}

export const parseStructured = (content: string): ReadDocument => {
  const document = parseDocument(content, { uniqueKeys: true, schema: "core", maxAliasCount: 0 } as Parameters<typeof parseDocument>[1]);
  const [error] = document.errors;
  if (error !== undefined) return { value: undefined, problem: error.message.split("\n")[0] ?? "" };
  try {
    // Keys must be text: `1: x` is not JSON.
    if (isMap(document.contents) && document.contents.items.some(({ key }) => isScalar(key) && typeof key.value !== "string"))
      return { value: undefined, problem: "a key must be text" };
    return { value: document.toJS({ maxAliasCount: 0 }) as Json, problem: undefined };
  } catch (error) {
    return { value: undefined, problem: error instanceof Error ? error.message : String(error) };
  }
};
