// Prepares the packages of an image for the writers of SBOMs.

import { blocked } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { SbomContents } from "#advisories/feeds";
import type { ReadContext } from "#kernel";
import { findRow } from "#db";
import type { ReadPackages, ShownPackage } from "./read-packages.ts";

const sortKey = ({ type, name, version, path, layerPosition, purl }: ShownPackage): string => JSON.stringify([type, name, version, path, layerPosition, purl]);

const byKey = (one: readonly [string, ShownPackage], other: readonly [string, ShownPackage]): number => (one[0] < other[0] ? -1 : one[0] > other[0] ? 1 : 0);

/** Throws FAILED_PRECONDITION if the image has too many packages for one response. */
export const sbomContentsOf = async ({ rows, services }: ReadContext, image: ReadPackages): Promise<SbomContents> => {
  const { repo, digest, contents, packages } = image;
  if (packages.length > limits.exportedPackagesMax)
    throw blocked("SBOM_TOO_LARGE", "", [`the image has ${packages.length} packages; an SBOM is made of at most ${limits.exportedPackagesMax}`]);
  const row = await findRow(rows, { name: "repos", columns: ["name"] }, repo);
  const os = contents?.operatingSystem;
  return {
    name: row?.row[row.offset] ?? repo,
    digest,
    platform: contents?.platform ?? "",
    operatingSystem: os && { id: text(os, "id"), version: text(os, "version"), name: text(os, "name") },
    createTime: contents?.createTime ?? new Date(0).toISOString(),
    isComplete: contents?.state === "IMAGE_CONTENTS_STATE_INDEXED",
    toolVersion: services.version,
    publicUrl: services.publicUrl,
    packages: packages
      .map((each) => [sortKey(each), each] as const)
      .sort(byKey)
      .map(([, each]) => ({ ...each, origins: each.origins.map((origin) => origin.toLowerCase()) })),
  };
};
