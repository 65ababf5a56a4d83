// Builds a secdb entry: the fixes on an origin package by version. Advisories that a secdb cannot express are omitted, because
// readers treat every version not below a listed one as safe. Pure.

import type { JsonObject } from "#base/json.ts";
import { isApkVersion } from "#base/versions/apk.ts";
import { currentStatus, distributionOf, type Published, vulnerabilityNumbers } from "./advisory.ts";
import { contradiction, type OwnPackage } from "./own-packages.ts";

/** Returns "" if no secdb covers the artifact. */
export const secdbDistribution = (advisory: Pick<Published, "artifactType" | "namespace" | "author">): string => {
  const name = distributionOf(advisory).toLowerCase();
  return advisory.artifactType === "apk" && /^[a-z0-9][a-z0-9._-]*$/.test(name) ? name : "";
};

/** Returns CVEs, else other aliases, else our ID. One reader supports CVEs only. */
const secdbNames = (advisory: Published): string[] => {
  const numbers = vulnerabilityNumbers(advisory);
  const cves = numbers.filter((number) => number.startsWith("CVE-"));
  if (cves.length > 0) return cves;
  const others = numbers.filter((number) => number !== advisory.advisoryId);
  return others.length > 0 ? others : numbers;
};

/** Returns the first fixed version: "0" if none was ever affected, undefined if it is open. */
const fixedFrom = (advisory: Published): string | undefined => {
  const { status, fixedVersions } = currentStatus(advisory);
  if (status === "not_affected") return "0";
  return status === "fixed" ? fixedVersions[0] : undefined;
};

export const whyNoSecdb = (advisory: Published, { origin, contradicted }: OwnPackage): string | undefined => {
  if (secdbDistribution(advisory) === "") return "a secdb has packages of apk distributions alone";
  if (advisory.artifactName !== origin) return "a secdb names origin packages, and this is about one that is built from it";
  if (advisory.artifactArchitecture !== "") return "a secdb names no architectures";
  if (contradicted.has(advisory)) return contradiction;
  const version = advisory.approved.length === 0 ? undefined : fixedFrom(advisory);
  if (version === undefined) return "a secdb contains only fixes, and this is still open";
  if (currentStatus(advisory).fixedVersions.length > 1) return "it names several patched versions, but not the affected versions between them";
  // Commit hashes ("1.2~abc") came with apk 3; readers implement apk 2's order.
  if (!isApkVersion(version) || version.includes("~")) return "its fixed version is none that readers know, and they would take every version for fixed";
  return secdbNames(advisory).some((name) => /\s/.test(name)) ? "a blank is in its number, and readers would take it for two" : undefined;
};

export const secdbPackage = (found: OwnPackage, distribution: string): JsonObject | undefined => {
  const fixes = new Map<string, Set<string>>();
  for (const advisory of found.advisories) {
    if (secdbDistribution(advisory) !== distribution || whyNoSecdb(advisory, found) !== undefined) continue;
    const version = fixedFrom(advisory) ?? "";
    const named = fixes.get(version) ?? new Set();
    for (const name of secdbNames(advisory)) named.add(name);
    fixes.set(version, named);
  }
  if (fixes.size === 0) return undefined;
  const secfixes = Object.fromEntries([...fixes].map(([version, names]): [string, string[]] => [version, [...names].sort()]));
  return { pkg: { name: found.origin, secfixes } };
};
