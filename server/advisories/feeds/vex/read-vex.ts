// Reads the statements of one pushed OpenVEX document (0.0.1 and 0.2.0): plain, or the predicate of an in-toto statement in a DSSE
// envelope or bundle, as for SBOMs (server/advisories/feeds/sbom/read-sbom.ts). A statement is kept as far as it is about the image of
// the document: its package URLs are compared with those of findings.

import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { TrustedKey, VexResult, VexStatementDraft } from "#advisories/store";
import { Field } from "../field.ts";
import { packageLabel, readPurlParts, versionOf } from "../formats/purl.ts";
import { isJustification } from "../formats/vex.ts";
import { DocumentError, FieldError, pathText } from "../invalid.ts";
import { readJson } from "../parse/json.ts";
import { decode, hasTooManyValues, OtherStatementError, readEnvelope, tooManyValues, UnreadableError, unwrapStatement } from "../sbom/statement.ts";
import { findSigners, hasSignature, isStatementAbout } from "./signatures.ts";

const parse = async (text: string): Promise<Json> => {
  if (hasTooManyValues(text)) throw new UnreadableError(tooManyValues);
  return readJson(text);
};

const statuses = new Set(["not_affected", "affected", "fixed", "under_investigation"]);

const digestForm = /sha256:[0-9a-f]{64}$/;

/** Packages that are an image. */
const imageTypes = new Set(["oci", "docker"]);

interface Component {
  /** Package URL without qualifiers; "" for an image, and for names of other kinds. */
  readonly packageName: string;
  readonly isImage: boolean;
  /** "" if it names none. */
  readonly digest: string;
  /** Name of an image, without its path and tag; the package's name otherwise. */
  readonly name: string;
}

const componentNames = (component: Field): string[] => {
  if (typeof component.value === "string") return [component.required()];
  const names = [component.object().at("identifiers").at("purl"), component.at("@id")].map((each) => each.name(limits.feedUrlLengthMax));
  return names.filter((name) => name !== "");
};

const imageName = (path: string): string =>
  (
    path
      .split("/")
      .at(-1)
      ?.split(/[:@?#]/, 1)[0] ?? ""
  ).toLowerCase();

const readComponent = (component: Field): Component => {
  const names = componentNames(component);
  const hash = typeof component.value === "string" ? "" : component.at("hashes").at("sha-256").name();
  const [purl] = names.flatMap((name) => readPurlParts(name) ?? []);
  const isImage = purl === undefined || imageTypes.has(purl.type);
  const [digest = hash === "" ? "" : `sha256:${hash}`] = [...(purl ? [purl.version] : []), ...names].flatMap((name) => digestForm.exec(name) ?? []);
  if (purl === undefined || isImage) return { packageName: "", isImage, digest, name: imageName(purl?.name ?? names[0] ?? "") };
  const [label = ""] = packageLabel(purl).split("?", 1);
  const version = versionOf(purl);
  const packageName = version === "" ? label : `${label}@${version}`;
  return { packageName, isImage, digest: "", name: packageName };
};

interface Product {
  readonly digest: string;
  readonly name: string;
  readonly packages: readonly string[];
}

/** Returns undefined if no component has a package URL: such a product is not about packages of the image. */
const productOfParts = (digest: string, name: string, parts: readonly Component[]): Product | undefined => {
  const packages = [...new Set(parts.map(({ packageName }) => packageName).filter((name) => name !== ""))];
  return packages.length === 0 ? undefined : { digest, name, packages };
};

/** A statement without products is about the image. In 0.0.1 subcomponents are siblings of products. */
const readProducts = (statement: Field): Product[] => {
  const shared = statement.at("subcomponents").list().map(readComponent);
  const products = statement.at("products").list();
  if (products.length === 0) return shared.length === 0 ? [{ digest: "", name: "", packages: [] }] : [productOfParts("", "", shared) ?? []].flat();
  return products.flatMap((field) => {
    const own = typeof field.value === "string" ? [] : field.object().at("subcomponents").list().map(readComponent);
    const [product, parts] = [readComponent(field), [...shared, ...own]];
    const name = product.digest === "" ? product.name : "";
    if (parts.length > 0) return productOfParts(product.digest, name, parts) ?? [];
    return product.isImage ? { digest: product.digest, name, packages: [] } : (productOfParts("", "", [product]) ?? []);
  });
};

const readIds = (field: Field): string[] => {
  if (typeof field.value === "string") return [field.id()];
  const name = field.object().at("name");
  return [...new Set([name.missing ? field.at("@id").id() : name.id(), ...field.at("aliases").ids()])];
};

const readNote = (statement: Field): string => {
  const notes = ["impact_statement", "action_statement", "status_notes", "statement"].map((key) => statement.at(key).prose().trim());
  return (notes.find((note) => note !== "") ?? "").slice(0, limits.vexNoteLengthMax).toWellFormed();
};

const readStatus = (statement: Field): Pick<VexStatementDraft, "status" | "justification"> => {
  const [status, justification] = [statement.at("status").required(), statement.at("justification").name()];
  if (!statuses.has(status)) return statement.at("status").refuse("must be not_affected, affected, fixed or under_investigation");
  if (justification !== "" && !isJustification(justification)) return statement.at("justification").refuse("must be a justification of OpenVEX");
  return { status, justification: status === "not_affected" ? justification : "" };
};

const timeOf = (document: Field, statement: Field): number => {
  const times = [statement.at("last_updated"), statement.at("timestamp"), document.at("last_updated")];
  return times.map((each) => each.time()).find((time) => time !== undefined) ?? document.at("timestamp").requiredTime();
};

const readStatements = (document: Field): VexStatementDraft[] => {
  const drafts: VexStatementDraft[] = [];
  let packageCount = 0;
  for (const [number, statement] of document.at("statements").entries().entries()) {
    const [ids, status, note, timeMs] = [readIds(statement.at("vulnerability")), readStatus(statement), readNote(statement), timeOf(document, statement)];
    for (const [product, { digest, name, packages }] of readProducts(statement).entries()) {
      packageCount += ids.length * packages.length;
      for (const vulnerability of ids)
        drafts.push({ vulnerability, number, product, ...status, note, timeMs, productDigest: digest, productName: name, packages });
      if (drafts.length > limits.vexStatementsMax) throw new UnreadableError(`has more than ${limits.vexStatementsMax} statements about a product and an ID`);
      if (packageCount > limits.vexPackagesMax) throw new UnreadableError(`names more than ${limits.vexPackagesMax} packages`);
    }
  }
  return drafts;
};

const isOpenVex = (document: Json): boolean => isObject(document) && typeof document["@context"] === "string" && document["@context"].includes("openvex");

/**
 * @param about digests of the image: a statement that names subjects must be about one of these
 * @param keys of trusted sources
 */
export const readVex = async (bytes: Uint8Array, about: readonly string[], keys: readonly TrustedKey[]): Promise<VexResult> => {
  try {
    const outer = await parse(decode(bytes));
    const envelope = readEnvelope(outer);
    // The bytes that are verified are those that are read.
    const content = envelope ? await parse(decode(envelope.payload)) : outer;
    const document = await unwrapStatement(content, about, /openvex/i, parse);
    if (!isOpenVex(document)) throw new UnreadableError("is not an OpenVEX document");
    const field = new Field(document);
    const isSigned = envelope !== undefined && hasSignature(envelope);
    const verifiedBy = isSigned && isStatementAbout(content, about) ? findSigners(envelope, keys) : [];
    return { author: field.at("author").name(), statements: readStatements(field), isSigned, verifiedBy };
  } catch (thrown) {
    if (thrown instanceof OtherStatementError) return { isOther: true };
    if (thrown instanceof UnreadableError) return { problem: thrown.message };
    if (thrown instanceof DocumentError) return { problem: `line ${thrown.line}: ${thrown.message}` };
    if (thrown instanceof FieldError) return { problem: `${pathText(thrown.path)} ${thrown.message}` };
    throw thrown;
  }
};
