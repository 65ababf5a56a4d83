// Package URLs of found packages, in the form that scanners and SBOMs use: the advisories' readers take them unchanged.

import type { OsRelease } from "./databases/os-release.ts";
import type { FoundPackage } from "./found-package.ts";

const isOfDistribution = ({ type }: FoundPackage): boolean => type === "apk" || type === "deb" || type === "rpm";

/** encodeURIComponent without the characters that the specification leaves as they are. */
const encode = (text: string): string => encodeURIComponent(text).replaceAll("%3A", ":").replaceAll("%2B", "+");

const distroOf = ({ id, version, codeName }: OsRelease): string => {
  const release = version === "" ? codeName : version;
  return release === "" ? id : `${id}-${release}`;
};

/** The epoch of rpm is a qualifier; that of deb is a part of the version. */
const epochOf = ({ type, version }: FoundPackage): readonly [epoch: string, version: string] => {
  const end = type === "rpm" ? version.indexOf(":") : -1;
  return end < 0 ? ["", version] : [version.slice(0, end), version.slice(end + 1)];
};

export const purlOf = (found: FoundPackage, os: OsRelease | undefined): string => {
  const { type, namespace, name, architecture, origin, originVersion } = found;
  const [epoch, version] = epochOf(found);
  const isOs = isOfDistribution(found);
  const path = [...(isOs ? [os?.id ?? ""] : namespace.split("/")), name].filter((step) => step !== "").map(encode);
  const qualifiers = [
    ...(architecture === "" ? [] : [`arch=${encode(architecture)}`]),
    ...(isOs && os ? [`distro=${encode(distroOf(os))}`] : []),
    ...(epoch === "" ? [] : [`epoch=${epoch}`]),
    ...(origin === "" ? [] : [`upstream=${encode(originVersion === "" ? origin : `${origin}@${originVersion}`)}`]),
  ];
  return `pkg:${type}/${path.join("/")}@${encode(version).replaceAll("+", "%2B")}${qualifiers.length === 0 ? "" : `?${qualifiers.join("&")}`}`;
};
