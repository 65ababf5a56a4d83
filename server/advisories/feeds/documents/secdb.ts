// Our own advisories on an origin package as an entry of a secdb, which tells of each package which version fixed what. What
// it cannot say is left out: a reader takes every version that is not below a named one for safe. Pure.

import type { JsonObject } from "#base/json.ts";
import { isApkVersion } from "#base/versions/apk.ts";
import { currentStatus, distributionOf, type Published, vulnerabilityNumbers } from "./advisory.ts";
import { contradiction, type OwnPackage } from "./own-packages.ts";

/** The distribution whose secdb an advisory is in; "" where there is none. */
export const secdbDistribution = (advisory: Pick<Published, "artifactType" | "namespace" | "author">): string => {
  const name = distributionOf(advisory).toLowerCase();
  return advisory.artifactType === "apk" && /^[a-z0-9][a-z0-9._-]*$/.test(name) ? name : "";
};

/** What is called "CVE-…", wherever there is such a name; other names, and at last our own, where there is none. One reader knows CVE alone. */
const secdbNames = (advisory: Published): string[] => {
  const numbers = vulnerabilityNumbers(advisory);
  const cves = numbers.filter((number) => number.startsWith("CVE-"));
  if (cves.length > 0) return cves;
  const others = numbers.filter((number) => number !== advisory.advisoryId);
  return others.length > 0 ? others : numbers;
};

/** The first version without it; "0" where none ever had it. Undefined where it is still open. */
const fixedFrom = (advisory: Published): string | undefined => {
  const { status, fixedVersions } = currentStatus(advisory);
  if (status === "not_affected") return "0";
  return status === "fixed" ? fixedVersions[0] : undefined;
};

/** Why a secdb does not say what this advisory does; undefined where it does. */
export const whyNoSecdb = (advisory: Published, { origin, contradicted }: OwnPackage): string | undefined => {
  if (secdbDistribution(advisory) === "") return "a secdb has packages of apk distributions alone";
  if (advisory.artifactName !== origin) return "a secdb names origin packages, and this is about one that is built from it";
  if (advisory.artifactArchitecture !== "") return "a secdb names no architectures";
  if (contradicted.has(advisory)) return contradiction;
  const version = advisory.approved.length === 0 ? undefined : fixedFrom(advisory);
  if (version === undefined) return "a secdb contains only fixes, and this is still open";
  if (currentStatus(advisory).fixedVersions.length > 1) return "it names several patched versions, but not the affected versions between them";
  // Hashes of commits ("1.2~abc") came with apk 3; readers' libraries have the order of apk 2.
  if (!isApkVersion(version) || version.includes("~")) return "its fixed version is none that readers know, and they would take every version for fixed";
  return secdbNames(advisory).some((name) => /\s/.test(name)) ? "a blank is in its number, and readers would take it for two" : undefined;
};

/** The entry of one package; undefined where nothing of it can be said. */
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
