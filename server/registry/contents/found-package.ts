// A package as its database names it. Packages of a distribution get the distribution's name when layers are composed (purl.ts).

import { limits } from "#base/limits.ts";
import { hasControl } from "./problem.ts";

export type PackageType = "apk" | "cargo" | "composer" | "deb" | "gem" | "golang" | "maven" | "npm" | "nuget" | "pypi" | "rpm";

export interface FoundPackage {
  /** Of package URLs. */
  readonly type: PackageType;
  /** "" if it has none: scope of npm, group of Maven, vendor of Composer, path of Go. */
  readonly namespace: string;
  readonly name: string;
  /** With the epoch of rpm: "1:3.0.7-18.el9". */
  readonly version: string;
  /** As in the database; "" if it names none. */
  readonly architecture: string;
  /** The source package and its version; "" if they are the package's own. */
  readonly origin: string;
  readonly originVersion: string;
}

/** Databases, by their package managers. */
export type DatabaseKind =
  | "apk"
  | "dpkg"
  | "rpm-sqlite"
  | "rpm-ndb"
  | "rpm-bdb"
  | "executable"
  | "npm"
  | "python"
  | "jar"
  | "gem"
  | "nuget"
  | "composer"
  | "os-release";

export const plainPackage = (type: PackageType, name: string, version: string, namespace = ""): FoundPackage => ({
  type,
  namespace,
  name,
  version,
  architecture: "",
  origin: "",
  originVersion: "",
});

/** "symfony/console": the last segment is the name. */
export const pathPackage = (type: PackageType, path: string, version: string): FoundPackage => {
  const slash = path.lastIndexOf("/");
  return plainPackage(type, path.slice(slash + 1), version, slash < 0 ? "" : path.slice(0, slash));
};

/** Returns what is wrong with its texts; undefined if nothing is. */
export const problemOfPackage = ({ namespace, name, version, architecture, origin, originVersion }: FoundPackage): string | undefined => {
  const texts = [namespace, name, version, architecture, origin, originVersion];
  if (texts.some((text) => hasControl(text) || !text.isWellFormed())) return "has control characters in its name or version";
  if (name === "" || version === "") return "has no name or no version";
  if (name.length > limits.feedNameLengthMax || namespace.length > limits.feedNameLengthMax) return "has a name that is too long";
  return version.length > limits.versionLengthMax || architecture.length > 64 ? "has a version that is too long" : undefined;
};

export const packageKey = ({ type, namespace, name, version, architecture }: FoundPackage): string =>
  JSON.stringify([type, namespace, name, version, architecture]);
