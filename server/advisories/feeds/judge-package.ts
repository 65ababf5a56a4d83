// Evaluates whether an advisory affects a package of an image. Ranges are evaluated in their ecosystem's order, our documents and
// lists of fixes (Wolfi, secdb) by events. Other records have no verdict by version (docs/decisions/0026). Pure.

import { isObject, type Json, type JsonObject, part, text, texts } from "#base/json.ts";
import { judgeVersion } from "#base/versions/affected.ts";
import { compareVersions } from "#base/versions/ecosystem.ts";
import { packageNameKey } from "#base/versions/package-name.ts";
import { coversRelease, type Distribution, distributionOf, isDistributionType } from "./formats/distribution.ts";
import { artifactTypeOf, languageEcosystems } from "./formats/osv.ts";
import { originOf, packageName, readPurlParts } from "./formats/purl.ts";

export interface InstalledPackage {
  /** "bash", or a package URL without version. */
  readonly label: string;
  readonly type: string;
  readonly name: string;
  /** Such as "debian"; "" if unknown. */
  readonly distribution: string;
  /** Undefined for language packages and apko's packages. */
  readonly os: Distribution | undefined;
  /** The source package, if known; "" otherwise. */
  readonly origin: string;
}

export interface PackageVerdict {
  readonly state: "affected" | "under investigation";
  /** The next fixed version; "" if unknown. */
  readonly fixedVersion: string;
  /** The advisory says that no fix is planned. */
  readonly wontFix?: boolean;
  /** By architecture ("amd64"). If absent, the verdict applies to all. */
  readonly isFor?: (architecture: string) => boolean;
}

/** A label without a type is a distribution package, as in apko. */
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

/** Compares the ecosystem with its suffix. */
const isOfEcosystem = (ecosystem: string, { type, distribution, os }: InstalledPackage): boolean => {
  const [family = "", suffix] = ecosystem.split(":");
  if (artifactTypeOf(family) !== type) return false;
  if (!isDistributionType(type)) return true;
  // apko's packages do not name their distribution.
  if (distribution === "" && (os === undefined || os.family === "")) return suffix === undefined;
  return os !== undefined && coversRelease(ecosystem, os);
};

const memberObjects = (value: JsonObject, key: string): JsonObject[] => {
  const found: Json | undefined = value[key];
  return Array.isArray(found) ? found.filter(isObject) : [];
};

/** Returns the smallest fixed version after this one. */
const nextFix = (ecosystem: string, version: string, fixes: readonly string[]): string => {
  let least = "";
  for (const fix of fixes) {
    if ((compareVersions(ecosystem, fix, version) ?? 0) > 0 && (least === "" || (compareVersions(ecosystem, fix, least) ?? 0) < 0)) least = fix;
  }
  return least;
};

/** Returns undefined if the record does not affect the version. */
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

export const approvedEventsOf = (events: string): JsonObject[] => {
  const list = JSON.parse(events) as Json;
  return (Array.isArray(list) ? list.filter(isObject) : []).filter((event) => text(event, "reviewState") === "REVIEW_STATE_APPROVED");
};

/** An ecosystem with the version order of the package type. */
const orderOfDistributions: ReadonlyMap<string, string> = new Map([
  ["apk", "Wolfi"],
  ["deb", "Debian"],
  ["rpm", "Red Hat"],
]);

/** Returns an ecosystem with the version order of the package type; undefined if none is known. */
export const orderOfType = (type: string): string | undefined => {
  const ecosystem = orderOfDistributions.get(type) ?? languageEcosystems.get(type);
  return ecosystem !== undefined && compareVersions(ecosystem, "1", "1") === undefined && compareVersions(ecosystem, "1.0.0", "1.0.0") === undefined
    ? undefined
    : ecosystem;
};

/** Returns true if the package belongs to the distribution ("" for none). Packages of apko name no distribution. */
export const isOfDistribution = (distribution: string, { type, distribution: installed }: InstalledPackage): boolean => {
  if (!isDistributionType(type)) return true;
  const own = ["wolfi", "chainguard"].includes(distribution) ? ["", "wolfi", "chainguard"] : [distribution];
  return own.includes(installed);
};

/**
 * Evaluates the version by approved events, oldest first. It is fixed from the fixed version on; for earlier versions, the last
 * determination counts.
 * @param ecosystem whose version order applies; if undefined, events with versions have no verdict
 */
export const judgeByEvents = (approved: readonly JsonObject[], version: string, ecosystem: string | undefined): PackageVerdict | undefined => {
  const fixes = approved.map((event) => text(part(event, "fixed"), "fixedVersion")).filter((fix) => fix !== "");
  const patched = approved.flatMap((event) => texts(part(event, "patched"), "patchedVersions"));
  if (ecosystem === undefined && fixes.length + patched.length > 0) return undefined;
  const order = ecosystem ?? "";
  // An invalid version is not below any other.
  if (fixes.some((fix) => (compareVersions(order, version, fix) ?? -1) >= 0)) return undefined;
  if (patched.some((each) => compareVersions(order, version, each) === 0)) return undefined;
  const last = approved.flatMap((event) => decisions.filter((decision) => event[decision] !== undefined)).at(-1);
  if (last === "falsePositiveDetermination") return undefined;
  const fixedVersion = nextFix(order, version, [...fixes, ...patched]);
  if (fixes.length > 0 || last !== undefined) return { state: "affected", fixedVersion, ...(last === "fixNotPlanned" ? { wontFix: true } : {}) };
  return approved.some((event) => event.detection !== undefined) ? { state: "under investigation", fixedVersion } : undefined;
};
