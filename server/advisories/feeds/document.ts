// Parses one document into records, or refuses it with a line. No failure on hostile input gets past this module.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import type { DocumentDraft } from "#advisories/store";
import { csafFactsOf } from "./csaf/facts.ts";
import { osvFactsOf } from "./osv/facts.ts";
import { leftOutOfOsv } from "./documents/left-out.ts";
import { Field } from "./field.ts";
import type { Format, ReadOptions } from "./formats/format.ts";
import { DocumentError, FieldError, type Path, pathText } from "./invalid.ts";
import { jsonLineOf, readJson } from "./parse/json.ts";
import { readToml, tomlLineOf } from "./parse/toml.ts";
import { readXml, xmlLineOf } from "./parse/xml.ts";
import { frontMatterLineOf, readFrontMatter } from "./parse/front-matter.ts";
import { readTypedYaml, readYaml, yamlLineOf } from "./parse/yaml.ts";
import { formats, type Notation, recogniseFormat } from "./recognise.ts";
import type { FeedRecord } from "./record.ts";
import { newDocumentDraft, textOfStored, valueOfStored } from "./stored-document.ts";

export interface DocumentOptions extends ReadOptions {
  /** Accepts only this format; undefined accepts any of the kind. */
  readonly format: string | undefined;
}

interface NotationReader {
  read(text: string): Promise<Json>;
  /** Returns the line (from 1) of the value at a path. */
  lineOf(text: string, path: Path): number | Promise<number>;
}

const notationReaders: Readonly<Record<Exclude<Notation, "prose">, NotationReader>> = {
  json: { read: readJson, lineOf: jsonLineOf },
  yaml: { read: readYaml, lineOf: yamlLineOf },
  "front-matter": { read: readFrontMatter, lineOf: frontMatterLineOf },
  toml: { read: readToml, lineOf: tomlLineOf },
  xml: { read: readXml, lineOf: xmlLineOf },
};

const reasonText = ({ path, message }: FieldError): string => `${pathText(path)} ${message}`.trim();

/** Bounded, because finding a line is expensive. */
const cutsNotedMax = 10;

const requireObject = (value: Json): JsonObject => {
  if (isObject(value)) return value;
  throw new FieldError([], Array.isArray(value) ? "must be one document, not a list" : "must be a document with keys");
};

export interface ReadDocument {
  readonly records: readonly FeedRecord[];
  readonly draft: DocumentDraft | undefined;
  /** Why its ranges are unreadable. The document is stored but matches nothing. */
  readonly unmatched: Remark | undefined;
  readonly cuts: readonly Remark[];
}

interface Remark {
  /** From 1. */
  readonly line: number;
  readonly reason: string;
}

/** Returns the source text as JSON. YAML scalars are texts, which matches OSV except in its free-form parts. */
const sourceText = async (text: string, notation: Notation, value: JsonObject): Promise<string> => {
  if (notation === "json") return text.trim();
  if (notation !== "yaml" || !/^ *(?:- )?"?(?:database|ecosystem)_specific"?:/m.test(text)) return JSON.stringify(value);
  return JSON.stringify(withFreeParts(value, await readTypedYaml(text)));
};

/** Splits a document with several IDs. Lists that are read in pieces are already split. */
const documentsIn = ({ entries }: Format, document: JsonObject): readonly JsonObject[] => {
  const found = entries?.(document) ?? [];
  return found.length > 1 ? found : [document];
};

const freeParts = new Set(["database_specific", "ecosystem_specific"]);

/** Takes OSV's free-form parts from the typed parse. */
const withFreeParts = (texts: Json, typed: Json | undefined): Json => {
  if (Array.isArray(texts)) return texts.map((each, index) => withFreeParts(each, Array.isArray(typed) ? typed[index] : undefined));
  if (!isObject(texts) || !isObject(typed)) return texts;
  return Object.fromEntries(Object.entries(texts).map(([key, each]) => [key, freeParts.has(key) ? (typed[key] ?? null) : withFreeParts(each, typed[key])]));
};

const draftOf = (
  format: Format,
  document: JsonObject,
  text: string,
  records: readonly FeedRecord[],
  deflated?: Uint8Array | undefined,
): DocumentDraft | undefined => {
  const origin = format.origin?.(new Field(document));
  if (!origin) return undefined;
  const leftOut = leftOutOfOsv(format.name, document);
  return newDocumentDraft(
    format.name,
    origin,
    text,
    { leftOut, osv: osvFactsOf(format.name, document, leftOut), csaf: csafFactsOf(format.name, document) },
    records,
    deflated,
  );
};

/**
 * Reads a document, or each document of a page. Throws DocumentError.
 * @param deflated the deflated text, if the source provides it
 */
export const readDocument = async (
  text: string,
  notation: Exclude<Notation, "prose">,
  options: DocumentOptions,
  deflated?: Uint8Array | undefined,
): Promise<ReadDocument[]> => {
  const reader = notationReaders[notation];
  const value = await reader.read(text);
  try {
    const document = requireObject(value);
    const format = recogniseFormat(document, options.kind, options.format);
    const unreadable: FieldError[] = [];
    // Read as a whole first, for correct lines.
    const cut: FieldError[] = [];
    const records = format.read(new Field(document, "", undefined, (each) => cut.push(each)), {
      ...options,
      leaveUnmatched: (reason) => unreadable.push(reason),
    });
    const [first] = unreadable;
    const cuts: Remark[] = [];
    for (const each of cut.slice(0, cutsNotedMax)) cuts.push({ line: await reader.lineOf(text, each.path), reason: reasonText(each) });
    const documents = documentsIn(format, document);
    if (documents.length > 1) {
      return documents.map((each, index) => {
        const own = format.read(new Field(each), options);
        return { unmatched: undefined, cuts: index === 0 ? cuts : [], records: own, draft: draftOf(format, each, JSON.stringify(each), own) };
      });
    }
    const unmatched = first && { line: await reader.lineOf(text, first.path), reason: reasonText(first) };
    if (!format.origin) return [{ unmatched, cuts, records, draft: undefined }];
    const source = await sourceText(text, notation, document);
    return [{ unmatched, cuts, records, draft: draftOf(format, document, source, records, source === text ? deflated : undefined) }];
  } catch (thrown) {
    if (!(thrown instanceof FieldError)) throw thrown;
    throw new DocumentError(await reader.lineOf(text, thrown.path), reasonText(thrown));
  }
};

/** Returns undefined if the format now refuses the document. */
export const readStoredDocument = (form: string, body: string, options: ReadOptions): ReadDocument | undefined => {
  const format = formats.find(({ name }) => name === form);
  if (!format) return undefined;
  try {
    const document = valueOfStored(body);
    const records = format.read(new Field(document), { ...options, leaveUnmatched: () => {} });
    return { unmatched: undefined, cuts: [], records, draft: draftOf(format, document, textOfStored(body), records) };
  } catch (thrown) {
    if (thrown instanceof FieldError) return undefined;
    throw thrown;
  }
};
