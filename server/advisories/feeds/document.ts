// One document: its text to records, or a refusal with its line. Whatever a hostile text does to a parser ends here.

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
  "front-matter": { read: readFrontMatter, lineOf: frontMatterLineOf },
  toml: { read: readToml, lineOf: tomlLineOf },
  xml: { read: readXml, lineOf: xmlLineOf },
};

const reasonText = ({ path, message }: FieldError): string => `${pathText(path)} ${message}`.trim();

/** Of one document: each costs a search for its line. */
const cutsNotedMax = 10;

const requireObject = (value: Json): JsonObject => {
  if (isObject(value)) return value;
  throw new FieldError([], Array.isArray(value) ? "must be one document, not a list" : "must be a document with keys");
};

/** A document's records, and the document itself where it is kept. */
export interface ReadDocument {
  readonly records: readonly FeedRecord[];
  readonly draft: DocumentDraft | undefined;
  /** Why its ranges cannot be read, and where (from 1): it is kept, and matches nothing. */
  readonly unmatched: Remark | undefined;
  /** Free texts that were cut. */
  readonly cuts: readonly Remark[];
}

interface Remark {
  /** From 1. */
  readonly line: number;
  readonly reason: string;
}

/** What the source wrote, as JSON. Of YAML everything is read as texts, which are what OSV has but for its free parts. */
const sourceText = async (text: string, notation: Notation, value: JsonObject): Promise<string> => {
  if (notation === "json") return text.trim();
  if (notation !== "yaml" || !/^ *(?:- )?"?(?:database|ecosystem)_specific"?:/m.test(text)) return JSON.stringify(value);
  return JSON.stringify(withFreeParts(value, await readTypedYaml(text)));
};

/** What a document holds of documents, each with its own number; itself where it is one. Of a list that is read piece by piece each piece is one already. */
const documentsIn = ({ entries }: Format, document: JsonObject): readonly JsonObject[] => {
  const found = entries?.(document) ?? [];
  return found.length > 1 ? found : [document];
};

const freeParts = new Set(["database_specific", "ecosystem_specific"]);

/** The texts of one reading, and of the other all that lies in OSV's free parts. */
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
 * What a document tells: itself, or of a page of several each by itself. Throws DocumentError, with the line and what is wrong there.
 * @param deflated the UTF-8 of the text, if its source has it deflated
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
    // As a whole, so that what is wrong is found on its line.
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

/** A stored document as it was read; undefined if its format has come to refuse it. */
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
