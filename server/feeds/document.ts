// One document: its text to records, or a refusal with its line. Whatever a hostile text does to a parser ends here.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { Field } from "./field.ts";
import type { ReadOptions } from "./formats/format.ts";
import { DocumentError, FieldError, type Path, pathText } from "./invalid.ts";
import { jsonLineOf, readJson } from "./parse/json.ts";
import { readToml, tomlLineOf } from "./parse/toml.ts";
import { readXml, xmlLineOf } from "./parse/xml.ts";
import { readYaml, yamlLineOf } from "./parse/yaml.ts";
import { type Notation, recogniseFormat } from "./recognise.ts";
import type { FeedRecord } from "./record.ts";

export interface DocumentOptions extends ReadOptions {
  /** The one format that is taken; any that the kind knows without it. */
  readonly format: string | undefined;
}

interface NotationReader {
  read(text: string): Promise<Json>;
  /** The line (from 1) of the value at a path. */
  lineOf(text: string, path: Path): number | Promise<number>;
}

const notationReaders: Readonly<Record<Exclude<Notation, "prose">, NotationReader>> = {
  json: { read: readJson, lineOf: jsonLineOf },
  yaml: { read: readYaml, lineOf: yamlLineOf },
  toml: { read: readToml, lineOf: tomlLineOf },
  xml: { read: readXml, lineOf: xmlLineOf },
};

const requireObject = (value: Json): JsonObject => {
  if (isObject(value)) return value;
  throw new FieldError([], Array.isArray(value) ? "must be one document, not a list" : "must be a document with keys");
};

/** The records that a document tells. Throws DocumentError, with the line and what is wrong there. */
export const readDocument = async (text: string, notation: Exclude<Notation, "prose">, options: DocumentOptions): Promise<FeedRecord[]> => {
  const reader = notationReaders[notation];
  const value = await reader.read(text);
  try {
    const document = requireObject(value);
    return recogniseFormat(document, options.kind, options.format).read(new Field(document), options);
  } catch (thrown) {
    if (!(thrown instanceof FieldError)) throw thrown;
    throw new DocumentError(await reader.lineOf(text, thrown.path), `${pathText(thrown.path)} ${thrown.message}`.trim());
  }
};
