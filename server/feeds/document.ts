// One document: its text to records, or a refusal with its line. Whatever a hostile text does to a parser ends here.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { brokenLine, lineOf } from "#base/json-line.ts";
import { limits } from "#base/limits.ts";
import type { Telling } from "./formats/format.ts";
import { readToml, tomlLineOf } from "./parse/toml.ts";
import { readXml, xmlLineOf } from "./parse/xml.ts";
import { readYaml, yamlLineOf } from "./parse/yaml.ts";
import { formatOf, type Notation } from "./recognise.ts";
import type { FeedRecord } from "./record.ts";
import { At, Broken, type Path, Refused, shown } from "./refused.ts";

export interface Asked extends Telling {
  /** The one format that is taken; any that the kind knows without it. */
  readonly only: string | undefined;
}

/** The line at which brackets are nested too deeply; undefined where they are not. */
const tooDeepLine = (json: string): number | undefined => {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === 0x22) {
      for (at++; at < json.length && json.charCodeAt(at) !== 0x22; at++) if (json.charCodeAt(at) === 0x5c) at++;
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > limits.feedDepthMax) return json.slice(0, at).split("\n").length;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return undefined;
};

const readJson = (text: string): Json => {
  const deep = tooDeepLine(text);
  if (deep !== undefined) throw new Broken(deep, `is nested deeper than ${limits.feedDepthMax} levels`);
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    // Node quotes what stands around the mistake, line ends, control characters and all.
    const message = (error instanceof Error ? error.message : String(error)).replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, " ").replace(/,? \.*".*/, "");
    throw new Broken(brokenLine(text), `not valid JSON: ${message}`);
  }
};

interface Reader {
  read(text: string): Json | Promise<Json>;
  line(text: string, path: Path): number | Promise<number>;
}

const readers: Readonly<Record<Exclude<Notation, "prose">, Reader>> = {
  json: { read: readJson, line: lineOf },
  yaml: { read: readYaml, line: yamlLineOf },
  toml: { read: readToml, line: tomlLineOf },
  xml: { read: readXml, line: xmlLineOf },
};

const documentOf = (value: Json): JsonObject => {
  if (isObject(value)) return value;
  throw new Refused([], Array.isArray(value) ? "must be one document, not a list" : "must be a document with keys");
};

/** The records that a document tells. Throws Broken, with the line and what is wrong there. */
export const readDocument = async (text: string, notation: Exclude<Notation, "prose">, asked: Asked): Promise<FeedRecord[]> => {
  const reader = readers[notation];
  const value = await reader.read(text);
  try {
    const document = documentOf(value);
    return formatOf(document, asked.kind, asked.only).read(new At(document), asked);
  } catch (thrown) {
    if (!(thrown instanceof Refused)) throw thrown;
    throw new Broken(await reader.line(text, thrown.path), `${shown(thrown.path)} ${thrown.message}`.trim());
  }
};
