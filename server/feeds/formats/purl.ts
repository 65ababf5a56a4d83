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

/** The name under which the package's own ecosystem knows it. */
export const packageName = ({ type, namespace, name }: Pick<Package, "type" | "namespace" | "name"> & Partial<Package>): string => {
  if (namespace === "" || ["apk", "deb", "rpm", "oci", "alpm"].includes(type)) return name;
  return type === "maven" ? `${namespace}:${name}` : `${namespace}/${name}`;
};
