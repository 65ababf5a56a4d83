// Package URLs, as far as records need them: pkg:TYPE/NAMESPACE/NAME@VERSION?QUALIFIERS#SUBPATH.

export interface Package {
  readonly type: string;
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const form = /^pkg:\/*([A-Za-z][A-Za-z0-9.+-]*)\/([^@?#]+)(?:@([^?#]*))?(?:\?([^#]*))?(?:#.*)?$/;

/** Undefined where the text is no package URL. */
export const readPurl = (given: string): Package | undefined => {
  // A namespace may begin with "@" (npm), written plain against the rule.
  const [, type, path, version = "", qualifiers = ""] = form.exec(given.replace(/^(pkg:\/*npm\/)@/, "$1%40")) ?? [];
  if (type === undefined || path === undefined) return undefined;
  const steps = path
    .split("/")
    .filter((step) => step !== "")
    .map(decoded);
  const name = steps.pop();
  if (name === undefined) return undefined;
  return {
    type: type.toLowerCase(),
    namespace: steps.join("/"),
    name,
    version: decoded(version),
    architecture: new URLSearchParams(qualifiers).get("arch") ?? "",
  };
};

/** The name under which the package's own ecosystem knows it. */
export const packageName = ({ type, namespace, name }: Package): string => {
  if (namespace === "" || ["apk", "deb", "rpm", "oci", "alpm"].includes(type)) return name;
  return type === "maven" ? `${namespace}:${name}` : `${namespace}/${name}`;
};
