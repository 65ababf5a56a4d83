// YAML that reads back as the same JSON, in and out.

import { isMap, isScalar, parseDocument, Document, visit } from "yaml";
import type { Json } from "#base/json.ts";
import { isUnprintable, printableJson } from "./escape.ts";

/** One document. What a terminal would obey is escaped within double quotes, so that it means the same. */
export const yamlText = (value: Json): string => {
  // Readers of YAML 1.1 take yes for true and a time for a date: what they would misread is quoted.
  const document = new Document(value, { aliasDuplicateObjects: false, compat: "yaml-1.1" });
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value !== "string") return;
      // A text of several lines stays one that people can read.
      const lines = node.value.split("\n");
      if (lines.some(isUnprintable)) node.type = "QUOTE_DOUBLE";
    },
  });
  return printableJson(document.toString({ lineWidth: 0 }));
};

export interface ReadDocument {
  readonly value: Json | undefined;
  /** Undefined: it could be read. */
  readonly problem: string | undefined;
}

/** JSON or YAML, which JSON is part of. */
export const parseStructured = (content: string): ReadDocument => {
  const document = parseDocument(content, { uniqueKeys: true, schema: "core", maxAliasCount: 0 } as Parameters<typeof parseDocument>[1]);
  const [error] = document.errors;
  if (error !== undefined) return { value: undefined, problem: error.message.split("\n")[0] ?? "" };
  try {
    // Keys are texts: `1: x` is no JSON.
    if (isMap(document.contents) && document.contents.items.some(({ key }) => isScalar(key) && typeof key.value !== "string"))
      return { value: undefined, problem: "a key must be text" };
    return { value: document.toJS({ maxAliasCount: 0 }) as Json, problem: undefined };
  } catch (error) {
    return { value: undefined, problem: error instanceof Error ? error.message : String(error) };
  }
};
