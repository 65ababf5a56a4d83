// One pushed document, from its bytes to the packages that it says an image to have. It may stand alone, in an in-toto statement,
// in a DSSE envelope around that (what cosign and BuildKit push), or in a bundle of Sigstore's around that. Signatures are not
// verified: whoever may push to the repo says what its images are made of.
//
// @cyclonedx/cyclonedx-library (10.3) writes documents and validates them, and reads none; so this reads what is asked for, and
// nothing else of a document.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { Field } from "../field.ts";
import { DocumentError, FieldError, pathText } from "../invalid.ts";
import { readJson } from "../parse/json.ts";
import { cyclonedxPackages } from "./cyclonedx-bom.ts";
import { type Packages, packagesText } from "./packages.ts";
import { spdx3Packages, spdxPackages } from "./spdx-document.ts";

/** Why nothing was read. */
export interface Unreadable {
  readonly problem: string;
}

/** What was read of a document; or why nothing was. */
export type SbomReading =
  | {
      /** "SPDX 2.3", "CycloneDX 1.6". */
      readonly format: string;
      /** JSON: versions by the name of each package. */
      readonly packages: string;
      readonly count: number;
      /** Components that nothing can be matched with. */
      readonly unnamed: number;
    }
  | Unreadable
  /** A statement of another kind: where an image comes from, what a scanner found. */
  | { readonly isOther: true };

/** Not to be read, for a reason that is told. */
class UnreadableError extends Error {}

/** Something else than an SBOM, and nothing wrong with it. */
class OtherStatementError extends Error {}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Values of a text of JSON, or rather the marks that divide them: what it takes as objects is many times what it takes as text. */
const hasTooManyValues = (text: string): boolean => {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      for (at++; at < text.length && text.charCodeAt(at) !== 0x22; at++) if (text.charCodeAt(at) === 0x5c) at++;
    } else if (code === 0x2c || code === 0x7b || code === 0x5b) count++;
  }
  return count > limits.sbomValuesMax;
};

const parse = async (text: string): Promise<Json> => {
  if (hasTooManyValues(text)) throw new UnreadableError(`holds more than ${limits.sbomValuesMax} values`);
  return readJson(text);
};

const decode = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new UnreadableError("is not UTF-8");
  }
};

/** A statement is about the digests that it names: one about another image says nothing of this one. */
const checkSubject = (statement: Field, about: readonly string[]): void => {
  const named = statement
    .at("subject")
    .list()
    .flatMap((subject) => {
      const digests = subject.at("digest");
      return digests.keys().map((algorithm) => `${algorithm}:${digests.at(algorithm).name()}`);
    });
  if (named.length > 0 && !named.some((digest) => about.includes(digest))) throw new UnreadableError("is a statement about other digests than this image's");
};

const payloadTypes = new Set(["application/vnd.in-toto+json", "application/json"]);

/** The document within what is wrapped around it. */
const unwrap = async (value: Json, about: readonly string[]): Promise<JsonObject> => {
  if (!isObject(value)) throw new UnreadableError("is no JSON object");
  const field = new Field(value);
  if (isObject(value.dsseEnvelope)) return unwrap(value.dsseEnvelope, about);
  if (value.payload !== undefined && value.payloadType !== undefined) {
    if (!payloadTypes.has(field.at("payloadType").name())) throw new UnreadableError("is an envelope around something else than a statement");
    if (typeof value.payload !== "string") throw new UnreadableError("is an envelope without a payload");
    return unwrap(await parse(decode(Buffer.from(value.payload, "base64"))), about);
  }
  if (typeof value._type === "string" && value._type.startsWith("https://in-toto.io/Statement/")) {
    const type = field.at("predicateType").name();
    if (type !== "" && !/spdx|cyclonedx/i.test(type)) throw new OtherStatementError();
    checkSubject(field, about);
    const { predicate } = value;
    // Some tools put the document into the statement as a text.
    const document = typeof predicate === "string" ? await parse(predicate) : predicate;
    if (!isObject(document)) throw new UnreadableError("is a statement without a document");
    return document;
  }
  return value;
};

const packagesOf = (document: JsonObject): { readonly format: string; readonly packages: Packages } => {
  const field = new Field(document);
  if (document.bomFormat === "CycloneDX") return { format: `CycloneDX ${field.at("specVersion").name(16)}`, packages: cyclonedxPackages(field) };
  if (document.spdxVersion !== undefined) return { format: field.at("spdxVersion").name(16).replace("-", " "), packages: spdxPackages(field) };
  const context = JSON.stringify(document["@context"] ?? "");
  const [, version] = /spdx\.org\/rdf\/(3\.\d+)/.exec(context) ?? [];
  if (version !== undefined) return { format: `SPDX ${version}`, packages: spdx3Packages(field) };
  throw new UnreadableError("is neither SPDX nor CycloneDX in JSON");
};

/** @param about the image's digests: a statement must be about one of them, where it says what it is about */
export const readSbom = (bytes: Uint8Array, about: readonly string[]): Promise<SbomReading> =>
  withProblems(async () => {
    const { format, packages } = packagesOf(await unwrap(await parse(decode(bytes)), about));
    const count = [...packages.versions.values()].reduce((sum, versions) => sum + versions.size, 0);
    return { format, packages: packagesText(packages), count, unnamed: packages.unnamed };
  });

/** The document itself: as it came, or where it was wrapped, as it is inside. */
export const readSbomDocument = <Shown>(
  bytes: Uint8Array,
  about: readonly string[],
  show: (document: JsonObject, text: string) => Shown,
): Promise<Shown | Exclude<SbomReading, { format: string }>> =>
  withProblems(async () => {
    const text = decode(bytes);
    const outer = await parse(text);
    const document = await unwrap(outer, about);
    return show(document, document === outer ? text : JSON.stringify(document));
  });

/** What the work refuses is told, and not thrown. */
const withProblems = async <Reading>(work: () => Promise<Reading>): Promise<Reading | Exclude<SbomReading, { format: string }>> => {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof OtherStatementError) return { isOther: true };
    if (thrown instanceof UnreadableError) return { problem: thrown.message };
    if (thrown instanceof DocumentError) return { problem: `line ${thrown.line}: ${thrown.message}` };
    if (thrown instanceof FieldError) return { problem: `${pathText(thrown.path)} ${thrown.message}` };
    throw thrown;
  }
};
