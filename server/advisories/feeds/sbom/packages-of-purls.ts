// Packages of an image's layers, in the form of those of SBOMs, so that advisories are matched with both alike.

import { limits } from "#base/limits.ts";
import { Field } from "../field.ts";
import { packageName, readPurlParts } from "../formats/purl.ts";
import { collectPackages, packagesText } from "./packages.ts";

export interface PackagesOfPurls {
  /** JSON: versions by package name. */
  readonly packages: string;
  /** Each version once. */
  readonly packageCount: number;
  /** Packages that cannot be matched. */
  readonly unnamedCount: number;
}

/** Collects packages by URLs that carry a version each. */
export const packagesOfPurls = (purls: readonly string[]): PackagesOfPurls => {
  const collected = collectPackages();
  // More than a hundred times the packages of known images.
  const given = purls.slice(0, limits.sbomPackagesMax).filter((purl) => purl.length <= limits.feedUrlLengthMax);
  for (const purl of given) collected.add({ purl: new Field(purl), version: "", origin: "" });
  const packageCount = collected.versions.values().reduce((sum, versions) => sum + versions.size, 0);
  return { packages: packagesText(collected), packageCount, unnamedCount: collected.unnamed + purls.length - given.length };
};

/** Returns JSON: the lowest and highest position of each version, by name and version as packagesOfPurls has them. */
export const positionsOfPurls = (packages: readonly { readonly purl: string; readonly position: number }[]): string => {
  const positions = new Map<string, Map<string, [lowest: number, highest: number]>>();
  const given = packages.slice(0, limits.sbomPackagesMax).filter(({ purl }) => purl.length <= limits.feedUrlLengthMax);
  for (const [position, own] of [...Map.groupBy(given, (each) => each.position)].sort(([one], [other]) => one - other)) {
    const collected = collectPackages();
    for (const { purl } of own) collected.add({ purl: new Field(purl), version: "", origin: "" });
    for (const [name, versions] of collected.versions) {
      const byVersion = positions.get(name) ?? new Map<string, [number, number]>();
      positions.set(name, byVersion);
      for (const version of versions) byVersion.set(version, [byVersion.get(version)?.[0] ?? position, position]);
    }
  }
  return JSON.stringify(Object.fromEntries([...positions].map(([name, versions]) => [name, Object.fromEntries(versions)])));
};

export interface NamedPackage {
  /** In package URLs, such as "deb". */
  readonly type: string;
  /** In its ecosystem, such as "@babel/core". */
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly architecture: string;
}

/** Returns the package of a name and version as packagesOfPurls has them. */
export const packageOfLabel = (label: string, version: string): NamedPackage => {
  const [path = "", qualifiers = ""] = label.split("?", 2);
  const purl = `${path}@${encodeURIComponent(version).replaceAll("%3A", ":")}${qualifiers === "" ? "" : `?${qualifiers}`}`;
  const parts = readPurlParts(label);
  return parts
    ? { type: parts.type, name: packageName(parts), version, purl, architecture: parts.qualifiers.get("arch") ?? "" }
    : { type: "", name: label, version, purl: label, architecture: "" };
};
