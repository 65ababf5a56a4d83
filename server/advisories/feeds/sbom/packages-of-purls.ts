// Packages of an image's layers, in the form of those of SBOMs, so that advisories are matched with both alike.

import { limits } from "#base/limits.ts";
import { Field } from "../field.ts";
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
