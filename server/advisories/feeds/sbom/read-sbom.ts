// One pushed document, from its bytes to the packages that it says an image to have. It may stand alone, in an in-toto statement,
// in a DSSE envelope around that (what cosign and BuildKit push), or in a bundle of Sigstore's around that. Signatures are not
// verified: whoever may push to the repo says what its images are made of.
//
// @cyclonedx/cyclonedx-library (10.3) writes documents and validates them, and reads none; so this reads what is asked for, and
// nothing else of a document.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { Field } from "../field.ts";
import { DocumentError, FieldError, pathText } from "../invalid.ts";
import { readJson } from "../parse/json.ts";
import { cyclonedxPackages } from "./cyclonedx-bom.ts";
import { type Packages, packagesText } from "./packages.ts";
import { spdx3Packages, spdxPackages } from "./spdx-document.ts";
import { decode, hasTooManyValues, OtherStatementError, tooManyValues, type Unreadable, UnreadableError, unwrapStatement } from "./statement.ts";

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

const parse = async (text: string): Promise<Json> => {
  if (hasTooManyValues(text)) throw new UnreadableError(tooManyValues);
  return readJson(text);
};

const documentWithin = async (outer: Json, about: readonly string[]): Promise<JsonObject> => {
  const document = await unwrapStatement(outer, about, /spdx|cyclonedx/i, parse);
  if (!isObject(document)) throw new UnreadableError("is not a JSON object");
  return document;
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
    const { format, packages } = packagesOf(await documentWithin(await parse(decode(bytes)), about));
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
    const document = await documentWithin(outer, about);
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
