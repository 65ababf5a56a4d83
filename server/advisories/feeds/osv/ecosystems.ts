// OSV's ecosystems: their names, package URL types and name normalization. Pure.

import { isCommit } from "#base/versions/affected.ts";
import { packageNameKey } from "#base/versions/package-name.ts";
import { type Distribution, distributionOf } from "../formats/distribution.ts";
import { originOf, type PurlParts } from "../formats/purl.ts";

/** OSV schema 1.7, without suffixes. GIT is missing there, but used in queries. */
const names: ReadonlySet<string> = new Set(
  `AlmaLinux,Alpaquita,Alpine,Android,Azure Linux,BellSoft Hardened Containers,Bioconductor,Bitnami,Chainguard,CleanStart,ConanCenter,CRAN,crates.io,Debian,
Docker Hardened Images,Echo,FreeBSD,GHC,GIT,GitHub Actions,Go,Hackage,Hex,Julia,Kubernetes,Linux,Mageia,Maven,MinimOS,npm,NuGet,opam,openEuler,openSUSE,
OSS-Fuzz,Packagist,Photon OS,Pub,PyPI,Red Hat,Rocky Linux,Root,RubyGems,SUSE,SwiftURL,TuxCare,Ubuntu,VSCode,Wolfi`
    .split(",")
    .map((name) => name.trim()),
);

/** Returns "Debian" for "Debian:12". */
export const withoutRelease = (ecosystem: string): string => ecosystem.split(":", 1)[0] ?? "";

export const isEcosystem = (ecosystem: string): boolean => names.has(withoutRelease(ecosystem));

/** Returns the normalized name of a package, for example PyPI's by PEP 503. */
export const nameKey = (ecosystem: string, name: string): string => packageNameKey(withoutRelease(ecosystem), name);

const joined = ({ namespace, name }: PurlParts): string => (namespace === "" ? name : `${namespace}/${name}`);

/** Types with names of namespace and name. */
const ofTypes: ReadonlyMap<string, string> = new Map([
  ["npm", "npm"],
  ["pypi", "PyPI"],
  ["gem", "RubyGems"],
  ["nuget", "NuGet"],
  ["composer", "Packagist"],
  ["cargo", "crates.io"],
  ["pub", "Pub"],
  ["hex", "Hex"],
  ["hackage", "Hackage"],
  ["cran", "CRAN"],
  ["conan", "ConanCenter"],
  ["julia", "Julia"],
  ["opam", "opam"],
  ["swift", "SwiftURL"],
  ["bitnami", "Bitnami"],
  ["githubactions", "GitHub Actions"],
  ["generic", "OSS-Fuzz"],
]);

export interface PurlPackage {
  readonly ecosystem: string;
  readonly name: string;
  /** Undefined matches any release. */
  readonly distribution: Distribution | undefined;
  /** Undefined for the package URL's version. */
  readonly version?: string;
}

const hosts: ReadonlyMap<string, string> = new Map([
  ["github", "github.com"],
  ["gitlab", "gitlab.com"],
  ["bitbucket", "bitbucket.org"],
]);

/** Returns commits and tags: `pkg:github/owner/name@v1.2`, `?vcs_url=git+https://host/owner/name@<commit>`. */
const sourcesOf = (purl: PurlParts): PurlPackage[] => {
  const found: PurlPackage[] = [];
  const add = (repository: string, revision: string): void => {
    if (isCommit(revision)) found.push({ ecosystem: "GIT", name: revision.toLowerCase(), distribution: undefined, version: "" });
    else if (revision !== "") found.push({ ecosystem: "GIT", name: repository, distribution: undefined, version: revision });
  };
  const host = hosts.get(purl.type);
  if (host !== undefined) add(nameKey("GIT", `${host}/${joined(purl)}`), purl.version);
  const [address = ""] = (purl.qualifiers.get("vcs_url") ?? "").split("#");
  const at = address.lastIndexOf("@");
  // The last "@" may be part of "git@host/…", without a revision.
  if (at > 0 && !address.includes("/", at)) add(nameKey("GIT", address.slice(0, at)), address.slice(at + 1));
  return found;
};

const distributionPackages = (purl: PurlParts, distribution: Distribution): PurlPackage[] => {
  const filter = distribution.release === "" ? undefined : distribution;
  return [...new Set([purl.name, originOf(purl)])]
    .filter((name) => name !== "")
    .map((name) => ({ ecosystem: distribution.family, name, distribution: filter }));
};

/** Returns none if OSV does not have the type. */
export const packagesOfPurl = (purl: PurlParts): PurlPackage[] => {
  const { type, namespace, name, qualifiers, subpath } = purl;
  const of = (ecosystem: string, named: string): PurlPackage => ({ ecosystem, name: nameKey(ecosystem, named), distribution: undefined });
  const sources = sourcesOf(purl);
  // The subpath belongs to the module's path, or is a package in it.
  if (type === "golang") return [of("Go", joined(purl)), ...(subpath === "" ? [] : [of("Go", `${joined(purl)}/${subpath}`)]), ...sources];
  if (type === "maven" || type === "gradle") return namespace === "" ? sources : [of("Maven", `${namespace}:${name}`), ...sources];
  const repository = qualifiers.get("repository_url") ?? "";
  if (type === "composer" && repository !== "") return [of(`Packagist:${repository}`, joined(purl))];
  const distribution = distributionOf(type, namespace, purl.distribution);
  if (distribution.family !== "") return distributionPackages(purl, distribution);
  const ecosystem = ofTypes.get(type);
  return ecosystem === undefined ? sources : [of(ecosystem, joined(purl)), ...sources];
};
