// The packages of an image, in the order of the document, as the writers of SBOMs take them.

import { createHash } from "node:crypto";

export interface SbomContentsPackage {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  /** "" if only a pushed SBOM names the package. */
  readonly layer: string;
  readonly path: string;
  readonly database: string;
  /** In lower case, such as "layers". */
  readonly origins: readonly string[];
}

export interface SbomContents {
  /** Name of the repo. */
  readonly name: string;
  /** "sha256:…" of the image's manifest. */
  readonly digest: string;
  /** "linux/amd64"; "" if unknown. */
  readonly platform: string;
  readonly operatingSystem: { readonly id: string; readonly version: string; readonly name: string } | undefined;
  /** RFC 3339. */
  readonly createTime: string;
  /** False: a part of the image was not read. */
  readonly isComplete: boolean;
  /** Version of Gantry. */
  readonly toolVersion: string;
  /** Of this server. */
  readonly publicUrl: string;
  readonly packages: readonly SbomContentsPackage[];
}

export const incompleteText = "Incomplete: Gantry could not read a part of the image. GET /gantry/v1/imageContents lists what was not read.";

const hashOf = (...texts: readonly string[]): string => createHash("sha256").update(JSON.stringify(texts)).digest("hex");

export const packageIdOf = ({ purl, layer, path, database }: SbomContentsPackage): string => hashOf(purl, layer, path, database).slice(0, 20);

/** Returns a UUID that is the same for the same contents. */
export const documentIdOf = ({ digest, operatingSystem, isComplete, toolVersion, packages }: SbomContents): string => {
  const listed = packages.map((each) => [each.name, each.version, packageIdOf(each), ...each.origins].join(" "));
  const hex = hashOf(digest, JSON.stringify(operatingSystem ?? {}), String(isComplete), toolVersion, ...listed);
  // RFC 9562, version 8: of our own.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** SPDX permits no fractions of a second. */
export const wholeSeconds = (time: string): string => time.replace(/\.\d+(?=Z$)/, "");

export const imagePurlOf = ({ name, digest, platform }: SbomContents): string => {
  const [, architecture = ""] = platform.split("/");
  const qualifiers = architecture === "" ? "" : `?arch=${encodeURIComponent(architecture)}`;
  return `pkg:oci/${encodeURIComponent(name.toLowerCase())}@${digest.replace(":", "%3A")}${qualifiers}`;
};

/** Returns where the package was found, in words; "" if only a pushed SBOM names it. */
export const foundInText = ({ layer, path, database }: SbomContentsPackage): string =>
  path === "" ? "" : `found in /${path} (${database}) of the layer ${layer}`;
