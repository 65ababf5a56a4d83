// Evaluates product statements. OpenVEX names products by package URL, with a version or for all versions. CSAF names them by
// package URL and version, or by a "vers:" range (docs/decisions/0026). Products named otherwise have no verdict. Pure.

import { isObject, type Json, type JsonObject, part, text, texts } from "#base/json.ts";
import { readTimestamp } from "#base/time.ts";
import { compareVersions } from "#base/versions/ecosystem.ts";
import { ecosystemOfPurlType, isInRange, readVersionRange, type VersionRange } from "#base/versions/vers.ts";
import { packageNameKeyOfType } from "#base/versions/package-name.ts";
import { distributionOf, isDistributionType } from "./formats/distribution.ts";
import { packageName, type PurlParts, readPurlParts } from "./formats/purl.ts";
import type { InstalledPackage, PackageVerdict } from "./judge-package.ts";

const objectsOf = (value: JsonObject, key: string): JsonObject[] => {
  const found: Json | undefined = value[key];
  return Array.isArray(found) ? found.filter(isObject) : [];
};

// ---- products ---------------------------------------------------------------------------------------------------

type Versions = { readonly kind: "all" } | { readonly kind: "one"; readonly version: string } | { readonly kind: "range"; readonly range: VersionRange };

interface Product {
  readonly purl: PurlParts;
  readonly versions: Versions;
}

const architectures: ReadonlyMap<string, string> = new Map([
  ["x86_64", "amd64"],
  ["aarch64", "arm64"],
  ["i386", "386"],
  ["i486", "386"],
  ["i586", "386"],
  ["i686", "386"],
  ["armhf", "arm"],
  ["armv7", "arm"],
  ["armv7hl", "arm"],
  ["ppc64el", "ppc64le"],
]);

/** Returns an architecture in the naming of images. */
export const architectureOf = (name: string): string => architectures.get(name) ?? name;
const isForEvery = (architecture: string): boolean => ["", "noarch", "all", "any"].includes(architecture);

const architectureOfProduct = ({ purl }: Product): string => purl.qualifiers.get("arch") ?? "";

/** Returns true if the package URL matches. A part missing on either side matches. */
const isAbout = ({ purl }: Product, { type, name, distribution, os }: InstalledPackage): boolean => {
  if (purl.type !== type || purl.subpath !== "") return false;
  const named = packageName({ ...purl, architecture: "" });
  if (packageNameKeyOfType(type, named) !== packageNameKeyOfType(type, name)) return false;
  if (!isDistributionType(type)) return true;
  const wanted = distributionOf(type, purl.namespace, purl.distribution);
  const isOther = (wanted.family || purl.namespace.toLowerCase()) !== (os?.family || distribution);
  if (distribution !== "" && purl.namespace !== "" && isOther) return false;
  const release = os?.release ?? "";
  return wanted.release === "" || release === "" || wanted.release === release || release.startsWith(`${wanted.release}.`);
};

const isSameVersion = ({ type, qualifiers }: PurlParts, stated: string, version: string): boolean => {
  const ecosystem = ecosystemOfPurlType(type);
  const epoch = qualifiers.get("epoch");
  const written = epoch && !stated.includes(":") ? [stated, `${epoch}:${stated}`] : [stated];
  return written.some((each) => each === version || (ecosystem !== undefined && compareVersions(ecosystem, each, version) === 0));
};

const holdsVersion = ({ purl, versions }: Product, version: string): boolean => {
  switch (versions.kind) {
    case "all":
      return true;
    case "one":
      return isSameVersion(purl, versions.version, version);
    case "range":
      return isInRange(versions.range, version) === true;
  }
};

/** Returns the smallest fixed version after this one. */
const nextFixOf = (type: string, version: string, fixes: readonly string[]): string => {
  const ecosystem = ecosystemOfPurlType(type);
  if (ecosystem === undefined) return "";
  return fixes
    .filter((fix) => (compareVersions(ecosystem, fix, version) ?? 0) > 0)
    .reduce((least, fix) => (least === "" || (compareVersions(ecosystem, fix, least) ?? 0) < 0 ? fix : least), "");
};

// ---- statements -------------------------------------------------------------------------------------------------

type Status = "affected" | "under investigation" | "fixed" | "not affected";

interface Statement {
  readonly product: Product;
  readonly status: Status;
  /** The latest statement on a product counts. */
  readonly timeMs: number;
  /** Evaluated separately. */
  readonly component: string;
}

/** Returns the state for the architecture by the latest statements, the last of equally old ones. */
const stateOf = (statements: readonly Statement[], architecture: string): PackageVerdict["state"] | undefined => {
  const latest = new Map<string, Statement>();
  for (const statement of statements) {
    const named = architectureOfProduct(statement.product);
    if (!isForEvery(named) && architectureOf(named) !== architecture) continue;
    const known = latest.get(statement.component);
    if (!known || statement.timeMs >= known.timeMs) latest.set(statement.component, statement);
  }
  const states = new Set([...latest.values()].map(({ status }) => status));
  if (states.has("affected")) return "affected";
  return states.has("under investigation") ? "under investigation" : undefined;
};

const nameOf = (type: string, name: string): string => `${type} ${packageNameKeyOfType(type, name)}`;

/** By package: a document may have thousands on one vulnerability. */
type Statements = ReadonlyMap<string, readonly Statement[]>;

const byPackage = (statements: readonly Statement[]): Statements => {
  const found = new Map<string, Statement[]>();
  for (const statement of statements) {
    const { purl } = statement.product;
    const key = nameOf(purl.type, packageName({ ...purl, architecture: "" }));
    const known = found.get(key);
    if (known) known.push(statement);
    else found.set(key, [statement]);
  }
  return found;
};

/** Cached, because statements are needed for each package. */
const readOnce = (read: (document: JsonObject, ids: readonly string[]) => Statement[]): ((document: JsonObject, ids: readonly string[]) => Statements) => {
  const known = new WeakMap<JsonObject, Map<string, Statements>>();
  return (document, ids) => {
    const ofDocument = known.get(document) ?? new Map<string, Statements>();
    known.set(document, ofDocument);
    const key = JSON.stringify(ids);
    const found = ofDocument.get(key) ?? byPackage(read(document, ids));
    ofDocument.set(key, found);
    return found;
  };
};

const judge = (statements: Statements, installed: InstalledPackage, version: string): PackageVerdict | undefined => {
  const about = (statements.get(nameOf(installed.type, installed.name)) ?? []).filter(({ product }) => isAbout(product, installed));
  const own = about.filter(({ product }) => holdsVersion(product, version));
  if (own.length === 0) return undefined;
  const fixes = about.flatMap(({ product, status }) => (status === "fixed" && product.versions.kind === "one" ? [product.versions.version] : []));
  const fixedVersion = nextFixOf(installed.type, version, fixes);
  const named = [...new Set(own.map(({ product }) => architectureOfProduct(product)).filter((each) => !isForEvery(each)))].map(architectureOf);
  if (named.length === 0) {
    const state = stateOf(own, "");
    return state && { state, fixedVersion };
  }
  // Verdicts may differ between named architectures and all others.
  const states = new Map(["", ...named].map((architecture) => [architecture, stateOf(own, architecture)]));
  const [state] = [...states.values()].filter((each) => each !== undefined).sort();
  if (state === undefined) return undefined;
  const isFor = (architecture: string): boolean => states.get(states.has(architecture) ? architecture : "") !== undefined;
  return { state, fixedVersion, isFor };
};

export type StatementJudge = (installed: InstalledPackage, version: string) => PackageVerdict | undefined;

// ---- OpenVEX ----------------------------------------------------------------------------------------------------

const openVexStatuses: ReadonlyMap<string, Status> = new Map([
  ["affected", "affected"],
  ["under_investigation", "under investigation"],
  ["fixed", "fixed"],
  ["not_affected", "not affected"],
]);

const purlOf = (component: Json): string => {
  if (typeof component === "string") return component;
  if (!isObject(component)) return "";
  return text(part(component, "identifiers"), "purl") || text(component, "@id");
};

const listOf = (value: JsonObject, key: string): readonly Json[] => {
  const found = value[key];
  return Array.isArray(found) ? found : [];
};

const productOf = (component: Json): Product | undefined => {
  const purl = readPurlParts(purlOf(component));
  return purl && { purl, versions: purl.version === "" ? { kind: "all" } : { kind: "one", version: purl.version } };
};

const isOfVulnerability = (vulnerability: Json | undefined, ids: readonly string[]): boolean => {
  if (typeof vulnerability === "string") return ids.includes(vulnerability);
  if (!isObject(vulnerability)) return false;
  return [text(vulnerability, "name"), text(vulnerability, "@id"), ...texts(vulnerability, "aliases")].some((id) => ids.includes(id));
};

/** Returns true if the name can match packages of images. */
export const isPackageName = (name: string): boolean => {
  const purl = readPurlParts(name);
  return purl !== undefined && purl.type !== "oci" && purl.type !== "docker";
};

const openVexStatements = readOnce((file, ids) => {
  const document = typeof file.predicateType === "string" ? part(file, "predicate") : file;
  const documentMs = readTimestamp(text(document, "timestamp")) ?? 0;
  return objectsOf(document, "statements").flatMap((statement): Statement[] => {
    const status = openVexStatuses.get(text(statement, "status"));
    if (status === undefined || !isOfVulnerability(statement.vulnerability, ids)) return [];
    const timeMs = readTimestamp(text(statement, "timestamp")) ?? documentMs;
    return listOf(statement, "products").flatMap((named): Statement[] => {
      const product = productOf(named);
      if (!product) return [];
      const components = [...listOf(statement, "subcomponents"), ...(isObject(named) ? listOf(named, "subcomponents") : [])].map(purlOf);
      return (components.length === 0 ? [""] : components).map((component) => ({ product, status, timeMs, component }));
    });
  });
});

/** Evaluates an OpenVEX document or attestation for a vulnerability. */
export const judgeByStatements = (file: JsonObject, ids: readonly string[]): StatementJudge => {
  const statements = openVexStatements(file, ids);
  return (installed, version) => judge(statements, installed, version);
};

// ---- CSAF -------------------------------------------------------------------------------------------------------

const csafStatuses: ReadonlyMap<string, Status> = new Map([
  ["under_investigation", "under investigation"],
  ["first_affected", "affected"],
  ["known_affected", "affected"],
  ["last_affected", "affected"],
  ["known_not_affected", "not affected"],
  ["first_fixed", "fixed"],
  ["fixed", "fixed"],
]);

/** Returns the versions from the package URL or the branch; undefined if neither names any. */
const versionsOf = ({ type, version }: PurlParts, branch: JsonObject | undefined): Versions | undefined => {
  const name = branch ? text(branch, "name") : "";
  if (branch && text(branch, "category") === "product_version_range") {
    const range = readVersionRange(name);
    // A range in another ecosystem's order does not apply.
    return range && range.ecosystem === ecosystemOfPurlType(type) ? { kind: "range", range } : undefined;
  }
  if (version !== "") return { kind: "one", version };
  return branch && text(branch, "category") === "product_version" && name !== "" ? { kind: "one", version: name } : undefined;
};

const csafProduct = (product: JsonObject, branch: JsonObject | undefined): Product | undefined => {
  const purl = readPurlParts(text(part(product, "product_identification_helper"), "purl"));
  const versions = purl && versionsOf(purl, branch);
  return purl && versions && { purl, versions };
};

const knownProducts = new WeakMap<JsonObject, Map<string, Product>>();

/** Returns products with known versions by ID. Cached. */
const csafProducts = (tree: JsonObject): Map<string, Product> => {
  const known = knownProducts.get(tree);
  if (known) return known;
  const found = new Map<string, Product>();
  const add = (product: JsonObject, branch: JsonObject | undefined): void => {
    const read = csafProduct(product, branch);
    if (read) found.set(text(product, "product_id"), read);
  };
  const walk = (branches: readonly JsonObject[]): void => {
    for (const branch of branches) {
      if (isObject(branch.product)) add(branch.product, branch);
      walk(objectsOf(branch, "branches"));
    }
  };
  walk(objectsOf(tree, "branches"));
  for (const product of objectsOf(tree, "full_product_names")) add(product, undefined);
  // A package within another product is the same package.
  for (const relationship of objectsOf(tree, "relationships")) {
    const product = found.get(text(relationship, "product_reference"));
    if (product) found.set(text(part(relationship, "full_product_name"), "product_id"), product);
  }
  knownProducts.set(tree, found);
  return found;
};

/** Returns the IDs of products that can be matched by version. */
export const judgedProductIds = (tree: JsonObject): ReadonlySet<string> => new Set(csafProducts(tree).keys());

const csafStatements = readOnce((document, ids) => {
  const products = csafProducts(part(document, "product_tree"));
  return objectsOf(document, "vulnerabilities").flatMap((vulnerability): Statement[] => {
    const own = [text(vulnerability, "cve"), ...objectsOf(vulnerability, "ids").map((each) => text(each, "text"))];
    if (!own.some((id) => id !== "" && ids.includes(id))) return [];
    const status = part(vulnerability, "product_status");
    // In the order of statuses: fixed and not affected take precedence over ranges.
    return [...csafStatuses].flatMap(([key, stated]) =>
      texts(status, key).flatMap((id): Statement[] => {
        const product = products.get(id);
        return product ? [{ product, status: stated, timeMs: 0, component: "" }] : [];
      }),
    );
  });
});

/** Evaluates a CSAF document for a vulnerability. */
export const judgeByProducts = (document: JsonObject, ids: readonly string[]): StatementJudge => {
  const statements = csafStatements(document, ids);
  return (installed, version) => judge(statements, installed, version);
};
