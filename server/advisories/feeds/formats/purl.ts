// Package URLs, as far as records need them: pkg:TYPE/NAMESPACE/NAME@VERSION?QUALIFIERS#SUBPATH.

export interface Package {
  readonly type: string;
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** The release of a distribution, such as "debian-12"; "" for unknown. */
  readonly distribution: string;
}

/** All that a package URL says. */
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

/** Undefined where the text is no package URL. */
export const readPurl = (url: string): Package | undefined => {
  const parts = readPurlParts(url);
  if (!parts) return undefined;
  const { type, namespace, name, version, distribution, qualifiers } = parts;
  return { type, namespace, name, version, distribution, architecture: qualifiers.get("arch") ?? "" };
};

export const readPurlParts = (url: string): PurlParts | undefined => {
  // A namespace may begin with "@" (npm), written plain against the rule.
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

/** "openssl-3.0.7-18.el9_2.src.rpm", as syft names the source of an rpm. */
const sourceRpm = /^(.+)-[^-]+-[^-]+\.(?:no)?src\.rpm$/;

/** Returns the name of the package that this one is built from, by its `upstream` qualifier ("openssl", "openssl@3.0.9-1"); "" if it names none. */
export const originOf = ({ qualifiers }: Pick<PurlParts, "qualifiers">): string => {
  const [name = ""] = (qualifiers.get("upstream") ?? "").split("@");
  return sourceRpm.exec(name)?.[1] ?? name;
};

/** Returns the version with its epoch, which some write as a qualifier of packages of deb and rpm. */
export const versionOf = ({ type, qualifiers, version }: PurlParts): string => {
  const epoch = qualifiers.get("epoch") ?? "";
  return (type === "deb" || type === "rpm") && /^[1-9]\d*$/.test(epoch) && !/^\d+:/.test(version) ? `${epoch}:${version}` : version;
};

/**
 * Returns the package URL under which the packages of an image are kept: without version, with the release of the distribution
 * and the package that it is built from.
 * @param origin the source package if the package URL does not name it
 */
export const packageLabel = (parts: PurlParts, origin = ""): string => {
  // As syft wrote it before package URLs had the type.
  const [type, namespace] = parts.type === "alpine" ? ["apk", "alpine"] : [parts.type, parts.namespace];
  const path = [...namespace.split("/").filter((step) => step !== ""), parts.name].map(encodeURIComponent).join("/");
  const builtFrom = originOf(parts) || origin;
  const qualifiers = [
    ...(parts.distribution === "" ? [] : [`distro=${encodeURIComponent(parts.distribution)}`]),
    ...(builtFrom === "" || builtFrom === parts.name ? [] : [`upstream=${encodeURIComponent(builtFrom)}`]),
  ];
  return `pkg:${type}/${path}${qualifiers.length === 0 ? "" : `?${qualifiers.join("&")}`}`;
};

/** The name under which the package's own ecosystem knows it. */
export const packageName = ({ type, namespace, name }: Pick<Package, "type" | "namespace" | "name"> & Partial<Package>): string => {
  if (namespace === "" || ["apk", "deb", "rpm", "oci", "alpm"].includes(type)) return name;
  return type === "maven" ? `${namespace}:${name}` : `${namespace}/${name}`;
};
