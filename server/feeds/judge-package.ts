// Whether an advisory says that a package in an image is affected. Of a record with ranges its ranges say so, by the order
// of its ecosystem; of our own documents and of lists of fixes (Wolfi, secdb) the events. Others have no verdict by version
// (docs/decisions/0026). Pure.

import { isObject, type Json, type JsonObject, part, text, texts } from "#base/json.ts";
import { judgeVersion } from "#base/versions/affected.ts";
import { compareVersions } from "#base/versions/ecosystem.ts";
import { packageNameKey } from "#base/versions/package-name.ts";
import { coversRelease, type Distribution, distributionOf, isDistributionType } from "./formats/distribution.ts";
import { artifactTypeOf, languageEcosystems } from "./formats/osv.ts";
import { originOf, packageName, readPurlParts } from "./formats/purl.ts";

/** A package as an image names it. */
export interface InstalledPackage {
  /** As the image has it: "bash", or a package URL without its version. */
  readonly label: string;
  /** The type of package URLs: "apk", "pypi". */
  readonly type: string;
  readonly name: string;
  /** The distribution, such as "debian"; "" for unknown. */
  readonly distribution: string;
  /** The distribution in OSV's terms; undefined for packages of languages and for apko's. */
  readonly os: Distribution | undefined;
  /** The package that it is built from, where the image's documents say it; "" otherwise. */
  readonly origin: string;
}

export interface PackageVerdict {
  readonly state: "affected" | "under investigation";
  /** The first fixed version behind the installed one; "" where none is named. */
  readonly fixedVersion: string;
  /** Whether it counts for images of this machine ("amd64"); absent: for all. */
  readonly isFor?: (architecture: string) => boolean;
}

/** Without a type it is a package of the distribution that the image is made of: apko's. */
export const installedPackageOf = (label: string): InstalledPackage => {
  const purl = label.startsWith("pkg:") ? readPurlParts(label) : undefined;
  if (!purl) return { label, type: "apk", name: label, distribution: "", origin: "", os: undefined };
  const os = isDistributionType(purl.type) ? distributionOf(purl.type, purl.namespace, purl.distribution) : undefined;
  return {
    label,
    type: purl.type,
    name: packageName(purl),
    distribution: purl.namespace.toLowerCase(),
    origin: originOf(purl),
    os,
  };
};

/** Whether an ecosystem of OSV's, with its suffix, is the one of the package. */
const isOfEcosystem = (ecosystem: string, { type, distribution, os }: InstalledPackage): boolean => {
  const [family = "", suffix] = ecosystem.split(":");
  if (artifactTypeOf(family) !== type) return false;
  if (!isDistributionType(type)) return true;
  // apko's packages do not name their distribution; records of a release do not speak about them.
  if (distribution === "" && (os === undefined || os.family === "")) return suffix === undefined;
  return os !== undefined && coversRelease(ecosystem, os);
};

const memberObjects = (value: JsonObject, key: string): JsonObject[] => {
  const found: Json | undefined = value[key];
  return Array.isArray(found) ? found.filter(isObject) : [];
};

/** The least of the versions that fix it behind this one. */
const nextFix = (ecosystem: string, version: string, fixes: readonly string[]): string => {
  let least = "";
  for (const fix of fixes) {
    if ((compareVersions(ecosystem, fix, version) ?? 0) > 0 && (least === "" || (compareVersions(ecosystem, fix, least) ?? 0) < 0)) least = fix;
  }
  return least;
};

/** What an OSV record says of the version. */
export const judgeByRanges = (record: JsonObject, named: readonly string[], installed: InstalledPackage, version: string): PackageVerdict | undefined => {
  if (text(record, "withdrawn") !== "") return undefined;
  const entries = memberObjects(record, "affected");
  const packages = new Map(
    entries.flatMap((entry) => {
      const [ecosystem, name] = [text(part(entry, "package"), "ecosystem"), text(part(entry, "package"), "name")];
      const found = packageNameKey(ecosystem.split(":")[0] ?? "", name);
      return named.includes(found) && isOfEcosystem(ecosystem, installed) ? [[JSON.stringify([ecosystem, name]), { ecosystem, name }] as const] : [];
    }),
  );
  for (const found of packages.values()) {
    if (judgeVersion(record, found, version).verdict !== "affected") continue;
    const fixes = entries
      .filter((entry) => text(part(entry, "package"), "name") === found.name && text(part(entry, "package"), "ecosystem") === found.ecosystem)
      .flatMap((entry) => memberObjects(entry, "ranges").filter((range) => text(range, "type") !== "GIT"))
      .flatMap((range) => memberObjects(range, "events").map((event) => text(event, "fixed")))
      .filter((fix) => fix !== "");
    return { state: "affected", fixedVersion: nextFix(found.ecosystem, version, fixes) };
  }
  return undefined;
};

const decisions = ["truePositiveDetermination", "falsePositiveDetermination", "pendingUpstreamFix", "fixNotPlanned", "analysisNotPlanned", "patched"] as const;

/** The approved ones of an advisory's events, which are JSON. */
export const approvedEventsOf = (events: string): JsonObject[] => {
  const list = JSON.parse(events) as Json;
  return (Array.isArray(list) ? list.filter(isObject) : []).filter((event) => text(event, "reviewState") === "REVIEW_STATE_APPROVED");
};

/** An ecosystem with the order of versions of a distribution's packages. */
const orderOfDistributions: ReadonlyMap<string, string> = new Map([
  ["apk", "Wolfi"],
  ["deb", "Debian"],
  ["rpm", "Red Hat"],
]);

/** The ecosystem in whose order versions of this type of packages are; undefined if versions of the type have no known order. */
export const orderOfType = (type: string): string | undefined => {
  const ecosystem = orderOfDistributions.get(type) ?? languageEcosystems.get(type);
  return ecosystem !== undefined && compareVersions(ecosystem, "1", "1") === undefined && compareVersions(ecosystem, "1.0.0", "1.0.0") === undefined
    ? undefined
    : ecosystem;
};

/** Whether an authored advisory about this distribution ("" for none) is about the package. apko's packages name no distribution. */
export const isOfDistribution = (distribution: string, { type, distribution: installed }: InstalledPackage): boolean => {
  if (!isDistributionType(type)) return true;
  const own = ["wolfi", "chainguard"].includes(distribution) ? ["", "wolfi", "chainguard"] : [distribution];
  return own.includes(installed);
};

/**
 * What approved events say of the version, the oldest first: it is fixed from the fixed version on, a determination holds
 * for all versions before, and the last one counts.
 * @param ecosystem in whose order the versions are; null: no version that an event names can be compared
 */
export const judgeByEvents = (approved: readonly JsonObject[], version: string, ecosystem: string | null = "Wolfi"): PackageVerdict | undefined => {
  const fixes = approved.map((event) => text(part(event, "fixed"), "fixedVersion")).filter((fix) => fix !== "");
  const patched = approved.flatMap((event) => texts(part(event, "patched"), "patchedVersions"));
  if (ecosystem === null && fixes.length + patched.length > 0) return undefined;
  const order = ecosystem ?? "";
  // A version that is none is below nothing.
  if (fixes.some((fix) => (compareVersions(order, version, fix) ?? -1) >= 0)) return undefined;
  if (patched.some((each) => compareVersions(order, version, each) === 0)) return undefined;
  const last = approved.flatMap((event) => decisions.filter((decision) => event[decision] !== undefined)).at(-1);
  if (last === "falsePositiveDetermination") return undefined;
  const fixedVersion = nextFix(order, version, [...fixes, ...patched]);
  if (fixes.length > 0 || last !== undefined) return { state: "affected", fixedVersion };
  return approved.some((event) => event.detection !== undefined) ? { state: "under investigation", fixedVersion } : undefined;
};
