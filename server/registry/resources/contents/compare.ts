// Compares the packages of two images. Pure.

import type { ShownPackage } from "./read-packages.ts";

export interface PackageChange {
  readonly name: string;
  readonly type: string;
  readonly kind: "ADDED" | "REMOVED" | "CHANGED";
  readonly fromVersions: readonly string[];
  readonly toVersions: readonly string[];
}

const versionsByName = (packages: readonly ShownPackage[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const versions = new Map<string, Set<string>>();
  for (const { type, name, version } of packages) {
    const key = JSON.stringify([type, name]);
    versions.set(key, (versions.get(key) ?? new Set()).add(version));
  }
  return versions;
};

const noVersions: ReadonlySet<string> = new Set();

/** Returns the packages that only one image has, or that have other versions in it. Architecture, path and layer do not count. */
export const comparePackages = (from: readonly ShownPackage[], to: readonly ShownPackage[]): PackageChange[] => {
  const [before, after] = [versionsByName(from), versionsByName(to)];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key): PackageChange[] => {
    const [fromVersions, toVersions] = [before.get(key) ?? noVersions, after.get(key) ?? noVersions];
    if (fromVersions.symmetricDifference(toVersions).size === 0) return [];
    const [type = "", name = ""] = JSON.parse(key) as readonly string[];
    const kind = fromVersions.size === 0 ? "ADDED" : toVersions.size === 0 ? "REMOVED" : "CHANGED";
    return [{ name, type, kind, fromVersions: [...fromVersions].sort(), toVersions: [...toVersions].sort() }];
  });
};
