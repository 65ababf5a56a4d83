// Package URLs: pkg:TYPE/NAMESPACE/NAME@VERSION?QUALIFIERS#SUBPATH.

export interface Package {
  readonly type: string;
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** The distribution release, such as "debian-12"; "" if unknown. */
  readonly distribution: string;
}

export interface PurlParts extends Omit<Package, "architecture"> {
  readonly qualifiers: URLSearchParams;
  readonly subpath: string;
}

const decodePart = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const purlForm = /^pkg:\/*([A-Za-z][A-Za-z0-9.+-]*)\/([^@?#]+)(?:@([^?#]*))?(?:\?([^#]*))?(?:#(.*))?$/;

/** Returns undefined if it is not a package URL. */
export const readPurl = (url: string): Package | undefined => {
  const parts = readPurlParts(url);
  if (!parts) return undefined;
  const { type, namespace, name, version, distribution, qualifiers } = parts;
  return { type, namespace, name, version, distribution, architecture: qualifiers.get("arch") ?? "" };
};

export const readPurlParts = (url: string): PurlParts | undefined => {
  // npm namespaces may start with an unencoded "@", against the specification.
  const [, type, path, version = "", qualifiers = "", subpath = ""] = purlForm.exec(url.replace(/^(pkg:\/*npm\/)@/, "$1%40")) ?? [];
  if (type === undefined || path === undefined) return undefined;
  const steps = path
    .split("/")
    .filter((step) => step !== "")
    .map(decodePart);
  const name = steps.pop();
  if (name === undefined) return undefined;
  const qualifier = new URLSearchParams(qualifiers);
  return {
    type: type.toLowerCase(),
    namespace: steps.join("/"),
    name,
    version: decodePart(version),
    distribution: qualifier.get("distro") ?? "",
    qualifiers: qualifier,
    subpath: subpath.split("/").map(decodePart).join("/"),
  };
};

/** syft's source of an rpm: "openssl-3.0.7-18.el9_2.src.rpm". */
const sourceRpm = /^(.+)-[^-]+-[^-]+\.(?:no)?src\.rpm$/;

/** Returns the source package from `upstream` ("openssl", "openssl@3.0.9-1"), or "". */
export const originOf = ({ qualifiers }: Pick<PurlParts, "qualifiers">): string => {
  const [name = ""] = (qualifiers.get("upstream") ?? "").split("@");
  return sourceRpm.exec(name)?.[1] ?? name;
};

/** Includes the epoch, which may be a qualifier for deb and rpm. */
export const versionOf = ({ type, qualifiers, version }: PurlParts): string => {
  const epoch = qualifiers.get("epoch") ?? "";
  return (type === "deb" || type === "rpm") && /^[1-9]\d*$/.test(epoch) && !/^\d+:/.test(version) ? `${epoch}:${version}` : version;
};

/**
 * Returns the package URL that identifies an image's package: without version, with release and source package.
 * @param origin the source package if the package URL does not name it
 */
export const packageLabel = (parts: PurlParts, origin = ""): string => {
  // An older form of syft.
  const [type, namespace] = parts.type === "alpine" ? ["apk", "alpine"] : [parts.type, parts.namespace];
  const path = [...namespace.split("/").filter((step) => step !== ""), parts.name].map(encodeURIComponent).join("/");
  const builtFrom = originOf(parts) || origin;
  const qualifiers = [
    ...(parts.distribution === "" ? [] : [`distro=${encodeURIComponent(parts.distribution)}`]),
    ...(builtFrom === "" || builtFrom === parts.name ? [] : [`upstream=${encodeURIComponent(builtFrom)}`]),
  ];
  return `pkg:${type}/${path}${qualifiers.length === 0 ? "" : `?${qualifiers.join("&")}`}`;
};

/** Returns the name in the package's ecosystem. */
export const packageName = ({ type, namespace, name }: Pick<Package, "type" | "namespace" | "name"> & Partial<Package>): string => {
  if (namespace === "" || ["apk", "deb", "rpm", "oci", "alpm"].includes(type)) return name;
  return type === "maven" ? `${namespace}:${name}` : `${namespace}/${name}`;
};
