// Orders of versions by OSV ecosystem.

import { limits } from "../limits.ts";
import { compareApk } from "./apk.ts";
import { compareBitnami } from "./bitnami.ts";
import { compareDebian, compareOpam } from "./debian.ts";
import { compareMaven } from "./maven.ts";
import { compareNuget } from "./nuget.ts";
import { compareNumberList } from "./number-list.ts";
import { comparePackagist } from "./packagist.ts";
import { comparePep440, isPep440 } from "./pep440.ts";
import { compareRpm } from "./rpm.ts";
import { compareRubygems } from "./rubygems.ts";
import { compareGo, comparePub, compareSemver } from "./semver.ts";

/** Returns a negative number, 0 or a positive number; undefined if either is not a version. */
export type CompareVersions = (one: string, other: string) => number | undefined;

const comparePypi: CompareVersions = (one, other) => (isPep440(one) && isPep440(other) ? comparePep440(one, other) : undefined);

const orders: ReadonlyMap<string, CompareVersions> = new Map<string, CompareVersions>([
  ...["npm", "crates.io", "Hex", "Julia", "SwiftURL", "GitHub Actions", "GHC", "VSCode"].map((name) => [name, compareSemver] as const),
  ["Bitnami", compareBitnami],
  ["Go", compareGo],
  ["Pub", comparePub],
  ["PyPI", comparePypi],
  ["RubyGems", compareRubygems],
  ["Maven", (one, other) => (one === "" || other === "" ? undefined : compareMaven(one, other))],
  ["NuGet", compareNuget],
  ["Packagist", comparePackagist],
  ...["Hackage", "CRAN", "Bioconductor"].map((name) => [name, compareNumberList] as const),
  ["opam", compareOpam],
  ...["Debian", "Ubuntu", "Echo"].map((name) => [name, compareDebian] as const),
  ...["AlmaLinux", "Amazon Linux", "Azure Linux", "Mageia", "openEuler", "openSUSE", "Oracle Linux", "Photon OS", "Red Hat", "Rocky Linux", "SUSE"].map(
    (name) => [name, compareRpm] as const,
  ),
  ...["Alpaquita", "Alpine", "BellSoft Hardened Containers", "Chainguard", "MinimOS", "Wolfi"].map((name) => [name, compareApk] as const),
]);

/**
 * Returns undefined if the ecosystem's order is unknown: Android, Linux, Kubernetes, OSS-Fuzz, FreeBSD, ConanCenter and GIT, for
 * which osv.dev has none either, and names that OSV does not know.
 */
export const orderOf = (ecosystem: string): CompareVersions | undefined => {
  const [name = "", ...suffix] = ecosystem.split(":");
  // Root patches packages of other ecosystems: "Root:Alpine:3.18", "Root:npm".
  return orders.get(name === "Root" ? (suffix[0] ?? "") : name);
};

/** Returns undefined if the ecosystem has no order or either text is not a version. */
export const compareVersions = (ecosystem: string, one: string, other: string): -1 | 0 | 1 | undefined => {
  if (one.length > limits.versionLengthMax || other.length > limits.versionLengthMax) return undefined;
  const order = orderOf(ecosystem)?.(one, other);
  if (order === undefined) return undefined;
  return order < 0 ? -1 : order > 0 ? 1 : 0;
};
