// OSV's ecosystems: which there are, what their package URLs are called, and how names are compared in them. Pure.

import { normalizePythonName } from "#base/versions/python-name.ts";
import type { PurlParts } from "../formats/purl.ts";

/** OSV schema 1.7, without suffixes. GIT is none of its table, and is asked for nevertheless. */
const names: ReadonlySet<string> = new Set(
  `AlmaLinux,Alpaquita,Alpine,Android,Azure Linux,BellSoft Hardened Containers,Bioconductor,Bitnami,Chainguard,CleanStart,ConanCenter,CRAN,crates.io,Debian,
Docker Hardened Images,Echo,FreeBSD,GHC,GIT,GitHub Actions,Go,Hackage,Hex,Julia,Kubernetes,Linux,Mageia,Maven,MinimOS,npm,NuGet,opam,openEuler,openSUSE,
OSS-Fuzz,Packagist,Photon OS,Pub,PyPI,Red Hat,Rocky Linux,Root,RubyGems,SUSE,SwiftURL,TuxCare,Ubuntu,VSCode,Wolfi`
    .split(",")
    .map((name) => name.trim()),
);

/** "Debian" of "Debian:12". */
export const withoutRelease = (ecosystem: string): string => ecosystem.split(":", 1)[0] ?? "";

export const isEcosystem = (ecosystem: string): boolean => names.has(withoutRelease(ecosystem));

/** Ecosystems that are asked for without a release and match by the lists of versions of all releases (the service of OSV). */
export const releaseless: ReadonlySet<string> = new Set(["Alpine", "Ubuntu"]);

/** An address of a repository however it is written. */
const repositoryKey = (url: string): string =>
  url
    .replace(/^[a-z+]+:\/\//i, "")
    .replace(/\.git$/, "")
    .replace(/\/$/, "")
    .toLowerCase();

/** The name by which a package is found: PyPI's (PEP 503) and repositories' are the same however they are written. */
export const nameKey = (ecosystem: string, name: string): string => {
  const base = withoutRelease(ecosystem);
  if (base === "PyPI") return normalizePythonName(name);
  return base === "GIT" ? repositoryKey(name) : name;
};

const joined = ({ namespace, name }: PurlParts): string => (namespace === "" ? name : `${namespace}/${name}`);

/** Ecosystems by the type of a package URL, where the name is namespace and name. */
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
  ["generic", "OSS-Fuzz"],
]);

/** Those of distributions, by type and namespace. The source package's name stands alone. */
const ofDistributions: ReadonlyMap<string, string> = new Map([
  ["apk alpine", "Alpine"],
  ["apk wolfi", "Wolfi"],
  ["apk chainguard", "Chainguard"],
  ["apk minimos", "MinimOS"],
  ["apk alpaquita", "Alpaquita"],
  ["deb debian", "Debian"],
  ["deb ubuntu", "Ubuntu"],
  ["rpm almalinux", "AlmaLinux"],
  ["rpm rocky-linux", "Rocky Linux"],
  ["rpm redhat", "Red Hat"],
  ["rpm suse", "SUSE"],
  ["rpm opensuse", "openSUSE"],
  ["rpm openeuler", "openEuler"],
  ["rpm azure-linux", "Azure Linux"],
  ["rpm mageia", "Mageia"],
]);

const debianReleases: ReadonlyMap<string, string> = new Map([
  ["jessie", "8"],
  ["stretch", "9"],
  ["buster", "10"],
  ["bullseye", "11"],
  ["bookworm", "12"],
  ["trixie", "13"],
  ["forky", "14"],
]);

const debianEcosystem = (distribution: string): string => {
  const release = distribution.replace(/^debian-/, "");
  return release === "" ? "Debian" : `Debian:${debianReleases.get(release) ?? release}`;
};

/** The package that a package URL names; undefined where OSV has none of its type. */
export const packageOfPurl = (purl: PurlParts): { readonly ecosystem: string; readonly name: string } | undefined => {
  const { type, namespace, name, qualifiers, subpath } = purl;
  if (type === "golang") return { ecosystem: "Go", name: subpath === "" ? joined(purl) : `${joined(purl)}/${subpath}` };
  if (type === "maven" || type === "gradle") return namespace === "" ? undefined : { ecosystem: "Maven", name: `${namespace}:${name}` };
  const repository = qualifiers.get("repository_url") ?? "";
  if (type === "composer" && repository !== "") return { ecosystem: `Packagist:${repository}`, name: joined(purl) };
  const distribution = ofDistributions.get(`${type} ${namespace}`);
  if (distribution === "Debian") return { ecosystem: debianEcosystem(qualifiers.get("distro") ?? ""), name };
  if (distribution !== undefined) return { ecosystem: distribution, name };
  const ecosystem = ofTypes.get(type);
  return ecosystem === undefined ? undefined : { ecosystem, name: joined(purl) };
};
