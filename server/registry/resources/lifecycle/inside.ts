// Determines the product version in an image by the packages in its SBOMs, for tags such as "latest".

import { limits } from "#base/limits.ts";
import { findSbomPackages, findSbomsBehind, type LifecycleRelease } from "#advisories/store";
import { namesOfPackage, releaseOf } from "#registry/lifecycle";
import type { Lifecycle } from "#registry/store";
import type { Read } from "#db";

export interface ProductImage {
  readonly repoUid: string;
  readonly digest: string;
  readonly lifecycle: Lifecycle;
}

/** Returns "nodejs-20" for "pkg:apk/wolfi/nodejs-20?distro=wolfi". */
export const packageNameOf = (purl: string): string => {
  const path = purl.split("?", 1)[0] ?? "";
  return decodeURIComponent(path.slice(path.lastIndexOf("/") + 1));
};

/** Returns the release of a package's version, without the epoch of deb and rpm. */
export const releaseOfPackage = (lifecycle: Lifecycle, name: string, version: string): LifecycleRelease | undefined =>
  namesOfPackage(name).some((each) => lifecycle.names.includes(each)) ? releaseOf(lifecycle, version.replace(/^\d+:/, "")) : undefined;

const keyOf = (repoUid: string, digest: string): string => `${repoUid} ${digest}`;

/** Returns the release in an image; undefined if unknown or ambiguous. */
export const releasesInside = async (
  rows: Read,
  images: readonly ProductImage[],
): Promise<(repoUid: string, digest: string) => LifecycleRelease | undefined> => {
  const known = images.filter(({ digest }) => digest !== "");
  const sboms = known.length === 0 ? [] : await findSbomsBehind(rows, known);
  if (sboms.length === 0) return () => undefined;
  const names = new Set(known.flatMap(({ lifecycle }) => lifecycle.names));
  const packages = await findSbomPackages(rows, [...new Set(sboms.map(({ uid }) => uid))], [...names], limits.lifecyclePackagesMax);
  const bySbom = Map.groupBy(packages, ({ sbom }) => sbom);
  const found = new Map<string, LifecycleRelease>();
  for (const { repoUid, digest, lifecycle } of known) {
    const inside = sboms.filter((sbom) => sbom.repoUid === repoUid && sbom.tagDigest === digest).flatMap(({ uid }) => bySbom.get(uid) ?? []);
    const [release, ...others] = new Set(inside.flatMap(({ name, version }) => releaseOfPackage(lifecycle, packageNameOf(name), version) ?? []));
    if (release && others.length === 0) found.set(keyOf(repoUid, digest), release);
  }
  return (repoUid, digest) => found.get(keyOf(repoUid, digest));
};
