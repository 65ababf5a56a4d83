// Reads the packages of one pushed document: plain, in an in-toto statement, in a DSSE envelope (cosign, BuildKit), or in a
// Sigstore bundle. Signatures are not verified: push permission on the repository is sufficient.
//
// @cyclonedx/cyclonedx-library (10.3) writes and validates documents, but does not read them.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { Field } from "../field.ts";
import { DocumentError, FieldError, pathText } from "../invalid.ts";
import { readJson } from "../parse/json.ts";
import { cyclonedxPackages } from "./cyclonedx-bom.ts";
import { type Packages, packagesText } from "./packages.ts";
import { spdx3Packages, spdxPackages } from "./spdx-document.ts";
import { decode, hasTooManyValues, OtherStatementError, tooManyValues, type Unreadable, UnreadableError, unwrapStatement } from "./statement.ts";

export type SbomReading =
  | {
      /** "SPDX 2.3", "CycloneDX 1.6". */
      readonly format: string;
      /** JSON: versions by package name. */
      readonly packages: string;
      readonly count: number;
      /** Components that cannot be matched. */
      readonly unnamed: number;
    }
  | Unreadable
  /** Provenance or a scanner report. */
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

/** @param about digests of the image: a statement that names subjects must be about one of these */
export const readSbom = (bytes: Uint8Array, about: readonly string[]): Promise<SbomReading> =>
  withProblems(async () => {
    const { format, packages } = packagesOf(await documentWithin(await parse(decode(bytes)), about));
    const count = [...packages.versions.values()].reduce((sum, versions) => sum + versions.size, 0);
    return { format, packages: packagesText(packages), count, unnamed: packages.unnamed };
  });

/** Reads the document itself: the original text, or the content of its wrapper. */
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

/** Returns refusals as problems. */
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
