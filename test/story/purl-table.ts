// Package URLs, and the records that a query for each finds. Each row names its rule; `ruleSources` has the rules' sources.

import type { JsonObject } from "#base/json.ts";

type Bounds = string;

/** "0..1.2": introduced at 0, fixed at 1.2; "1..=2": last affected at 2; "1..": not fixed. */
const range = (type: string, bounds: Bounds): JsonObject => {
  const [introduced = "0", end = ""] = bounds.split("..");
  const events: JsonObject[] = [{ introduced }];
  if (end.startsWith("=")) events.push({ last_affected: end.slice(1) });
  else if (end !== "") events.push({ fixed: end });
  return { type, events };
};
const entry = (ecosystem: string, name: string, ...bounds: readonly Bounds[]): JsonObject => ({
  package: { ecosystem, name },
  ranges: bounds.map((each) => range("ECOSYSTEM", each)),
});
const semver = (ecosystem: string, name: string, ...bounds: readonly Bounds[]): JsonObject => ({
  package: { ecosystem, name },
  ranges: bounds.map((each) => range("SEMVER", each)),
});
const record = (id: string, ...affected: readonly JsonObject[]): JsonObject => ({
  schema_version: "1.7.0",
  id,
  published: "2025-01-01T00:00:00Z",
  modified: "2025-01-01T00:00:00Z",
  affected: [...affected],
});

export const commit = "c0ffee".repeat(6).concat("c0ff");
export const otherCommit = "beef".repeat(10);

export const records: readonly JsonObject[] = [
  record("PY-1", entry("PyPI", "zope.interface", "0..5.4", "6.0..6.1")),
  record("PY-2", { package: { ecosystem: "PyPI", name: "Django" }, versions: ["3.2", "3.2.1"] }),
  record("NPM-1", semver("npm", "@deck/hitch", "1.0.0..1.4.2")),
  record("NPM-2", semver("npm", "hitch", "0..=2.0.0")),
  record("GO-1", semver("Go", "example.com/anchor", "0..1.5.0")),
  record("GO-2", semver("Go", "example.com/anchor/v2", "2.0.0..2.3.1")),
  record("GO-3", semver("Go", "stdlib", "1.21.0-0..1.21.5")),
  record("MVN-1", entry("Maven", "org.example:reef", "3.0-beta1..3.1")),
  record("NU-1", entry("NuGet", "Newton.Json", "0..13.0.1")),
  record("GEM-1", entry("RubyGems", "bend", "1.2.a..1.3")),
  record("CRATE-1", semver("crates.io", "splice", "0.0.0-0..1.2.0")),
  record("PHP-1", entry("Packagist", "example/sheet", "1.0.0..1.0.2")),
  record("HEX-1", semver("Hex", "mast", "0..1.7.14")),
  record("SWIFT-1", semver("SwiftURL", "https://github.com/Deck/Swift-Hitch.git", "0..2.1.0")),
  record("ACT-1", entry("GitHub Actions", "Deck/wash", "0..46.0.1")),
  record("BIT-1", semver("Bitnami", "wordpress", "0..6.4.3")),
  record("BIT-2", semver("Bitnami", "nginx", "1.20.0..1.25.3-2")),
  record("DEB-12", entry("Debian:12", "openssl", "0..3.0.11-1~deb12u2")),
  record("DEB-11", entry("Debian:11", "openssl", "0..1.1.1w-0+deb11u1")),
  record("DEB-13", entry("Debian:13", "curl", "0..")),
  record("UBU-22", entry("Ubuntu:22.04:LTS", "openssl", "0..3.0.2-0ubuntu1.12")),
  record("UBU-PRO", entry("Ubuntu:Pro:16.04:LTS", "openssl", "0..1.0.2g-1ubuntu4.20+esm10")),
  record("UBU-FIPS", entry("Ubuntu:Pro:FIPS:22.04:LTS", "openssl", "0..3.0.2-0ubuntu1.10+Fips1")),
  record("UBU-23", entry("Ubuntu:23.10", "curl", "0..8.2.1-1ubuntu3.1")),
  record("ALP-318", entry("Alpine:v3.18", "busybox", "0..1.36.1-r2")),
  record("ALP-319", entry("Alpine:v3.19", "busybox", "0..1.36.1-r16")),
  record("ALMA-9", entry("AlmaLinux:9", "openssl-libs", "0..1:3.0.7-25.el9_3")),
  record("ALMA-8", entry("AlmaLinux:8", "openssl-libs", "0..1:1.1.1k-12.el8_9")),
  record("ROCKY-9", entry("Rocky Linux:9", "openssl-libs", "0..1:3.0.7-25.el9_3")),
  record("RH-9", entry("Red Hat:enterprise_linux:9::baseos", "openssl-libs", "0..1:3.0.7-25.el9_3")),
  record("RH-8M", entry("Red Hat:enterprise_linux:8::appstream", "nodejs", "0..1:18.19.0-1.module+el8.9.0+20774+4ef1a2d3")),
  record("RH-EUS", entry("Red Hat:rhel_eus:9.2::baseos", "openssl-libs", "0..1:3.0.7-18.el9_2.1")),
  record("RH-OCP", entry("Red Hat:openshift:4.14::el9", "openssl-libs", "0..99:1")),
  record("SUSE-155", entry("SUSE:Linux Enterprise Server 15 SP5", "libopenssl1_1", "0..1.1.1l-150500.17.25.1")),
  record("SUSE-MOD", entry("SUSE:Linux Enterprise Module for Basesystem 15 SP5", "curl", "0..8.0.1-150400.5.41.1")),
  record("SUSE-12", entry("SUSE:Linux Enterprise Module for Web and Scripting 12", "apache2", "0..2.4.51-35.38.1")),
  record("SUSE-MICRO", entry("SUSE:Linux Enterprise Micro 5.3", "curl", "0..7.79.1-150400.5.1")),
  record("OPENSUSE-155", entry("openSUSE:Leap 15.5", "curl", "0..8.0.1-150400.5.41.1")),
  record("OPENSUSE-TW", entry("openSUSE:Tumbleweed", "curl", "0..8.6.0-1.1")),
  record("AMZN-2023", entry("Amazon Linux:2023", "curl", "0..8.3.0-1.amzn2023.0.2")),
  record("ORACLE-9", entry("Oracle Linux:9", "curl", "0..7.76.1-26.el9_3.3")),
  record("PHOTON-4", entry("Photon OS:4.0", "curl", "0..8.1.2-5.ph4")),
  record("WOLFI-1", entry("Wolfi", "curl", "0..8.5.0-r0")),
  record("CHAIN-1", entry("Chainguard", "curl", "0..8.4.0-r3")),
  record("GIT-1", {
    ranges: [{ type: "GIT", repo: "https://github.com/Deck/Capstan.git", events: [{ introduced: commit }, { fixed: otherCommit }] }],
    versions: ["v1.0", "v1.1"],
  }),
];

export const ruleSources: Readonly<Record<string, string>> = {
  "name: PEP 503": "https://peps.python.org/pep-0503/ (names are compared normalized)",
  "name: NuGet": "purl-spec, nuget: names are case-insensitive; NuGet documentation, package IDs",
  "name: npm": "purl-spec, npm: the scope is the namespace, percent-encoded or not",
  "name: Go": "OSV schema, Go: the module path; purl-spec, golang: the subpath is a part of it or a package in the module",
  "name: Maven": "OSV schema, Maven: group:artifact",
  "name: SwiftURL": "OSV schema, SwiftURL: the address of the repository; purl-spec, swift: host and owner are the namespace",
  "name: GitHub Actions": "OSV schema, GitHub Actions: owner/repository, which GitHub compares without case",
  "name: namespace": "purl-spec, composer, cargo, gem, hex: namespace and name",
  "range: fixed": "OSV schema, evaluation: fixed is the first version that is not affected",
  "range: last_affected": "OSV schema, evaluation: last_affected is the last version that is",
  "range: introduced": "OSV schema, evaluation: versions before introduced are not affected",
  "range: several": "OSV schema, evaluation: each range counts",
  "range: none": "OSV API, query: without a version every record about the package",
  versions: "OSV schema, versions: an exact list",
  "order: PEP 440": "https://peps.python.org/pep-0440/",
  "order: SemVer": "https://semver.org/#spec-item-11",
  "order: Maven": "https://maven.apache.org/pom.html#version-order-specification",
  "order: RubyGems": "Gem::Version: letters are pre-releases",
  "order: Packagist": "Composer documentation, versions: stability suffixes",
  "order: Bitnami": "Bitnami documentation: the number behind the hyphen is the revision of the package",
  "order: Debian": "Debian policy 5.6.12",
  "order: apk": "apk-tools, version.c: -r is the revision of the package",
  "order: rpm": "rpm.org, rpmvercmp: epoch, version, release",
  "release: Debian": "os-release of Debian (VERSION_ID, VERSION_CODENAME); OSV schema, Debian:<release>",
  "release: Ubuntu": "os-release of Ubuntu; OSV schema, Ubuntu:<release>[:LTS], Ubuntu:Pro:<release>:LTS",
  "release: FIPS": "Ubuntu Pro documentation: FIPS packages are builds of their own",
  "release: Alpine": "OSV schema, Alpine:v<major.minor>; os-release has the patch level too",
  "release: rpm": "OSV schema, AlmaLinux:<major>, Rocky Linux:<major>; os-release has major.minor",
  "release: Red Hat": "OSV schema, Red Hat:<CPE product>:<version>::<repository>; CPE_NAME in os-release",
  "release: SUSE": "OSV schema, SUSE:<product>; os-release of SLES: VERSION_ID 15.5 is 15 SP5",
  "release: openSUSE": "OSV schema, openSUSE:<product>; os-release ID opensuse-leap, opensuse-tumbleweed",
  "release: none": "OSV API: a package URL without distro is about all releases",
  "release: rolling": "Wolfi and Chainguard have no releases",
  upstream: "purl-spec, deb, rpm, apk: the upstream qualifier names the source package",
  epoch: "purl-spec, rpm: the epoch is a qualifier",
  commit: "OSV API: a commit that a range names is affected; tags are in versions",
  type: "OSV schema: no ecosystem has this type",
};

/** Package URL | records, or - | rule. */
const text = `
pkg:pypi/zope.interface@5.3 | PY-1 | name: PEP 503
pkg:pypi/zope-interface@5.3 | PY-1 | name: PEP 503
pkg:pypi/Zope_Interface@5.3 | PY-1 | name: PEP 503
pkg:pypi/zope--interface@5.3 | PY-1 | name: PEP 503
pkg:pypi/zopeinterface@5.3 | - | name: PEP 503
pkg:pypi/zope-interface@5.4 | - | range: fixed
pkg:pypi/zope-interface@5.4rc1 | PY-1 | order: PEP 440
pkg:pypi/zope-interface@5.4.dev2 | PY-1 | order: PEP 440
pkg:pypi/zope-interface@5.4.post1 | - | order: PEP 440
pkg:pypi/zope-interface@5.5 | - | range: several
pkg:pypi/zope-interface@6.0 | PY-1 | range: several
pkg:pypi/zope-interface@6.0.0 | PY-1 | order: PEP 440
pkg:pypi/zope-interface@6.1 | - | range: several
pkg:pypi/zope-interface@6.1.0 | - | order: PEP 440
pkg:pypi/zope-interface@0.1 | PY-1 | range: introduced
pkg:pypi/zope-interface | PY-1 | range: none
pkg:pypi/django@3.2 | PY-2 | versions
pkg:pypi/Django@3.2.1 | PY-2 | versions
pkg:pypi/django@3.2.0 | PY-2 | order: PEP 440
pkg:pypi/django@3.2.2 | - | versions
pkg:npm/%40deck/hitch@1.0.0 | NPM-1 | name: npm
pkg:npm/@deck/hitch@1.4.1 | NPM-1 | name: npm
pkg:npm/%40deck/hitch@1.4.2 | - | range: fixed
pkg:npm/%40deck/hitch@1.4.2-rc.1 | NPM-1 | order: SemVer
pkg:npm/%40deck/hitch@0.9.9 | - | range: introduced
pkg:npm/%40deck/hitch@1.0.0-alpha | - | order: SemVer
pkg:npm/%40deck/hitch | NPM-1 | range: none
pkg:npm/hitch@2.0.0 | NPM-2 | range: last_affected
pkg:npm/hitch@2.0.1 | - | range: last_affected
pkg:npm/hitch@0.0.1 | NPM-2 | range: introduced
pkg:npm/hitch@2.0.0%2Bbuild.5 | NPM-2 | order: SemVer
pkg:npm/Hitch@1.0.0 | - | name: npm
pkg:npm/%40other/hitch@1.0.0 | - | name: npm
pkg:golang/example.com/anchor@v1.4.9 | GO-1 | name: Go
pkg:golang/example.com/anchor@1.4.9 | GO-1 | name: Go
pkg:golang/example.com/anchor@v1.5.0 | - | range: fixed
pkg:golang/example.com/anchor@v1.5.0-rc.1 | GO-1 | order: SemVer
pkg:golang/example.com/anchor@v0.0.0-20230101000000-abcdefabcdef | GO-1 | order: SemVer
pkg:golang/example.com/anchor | GO-1 | range: none
pkg:golang/example.com/anchor/v2@v2.0.0 | GO-2 | name: Go
pkg:golang/example.com/anchor@v2.3.0#v2 | GO-2 | name: Go
pkg:golang/example.com/anchor/v2@v2.3.1 | - | range: fixed
pkg:golang/example.com/anchor/v2@v2.0.0-rc.1 | - | order: SemVer
pkg:golang/stdlib@1.21.4 | GO-3 | name: Go
pkg:golang/stdlib@go1.21.4 | GO-3 | order: SemVer
pkg:golang/stdlib@1.21rc2 | GO-3 | order: SemVer
pkg:golang/stdlib@1.21.5 | - | range: fixed
pkg:golang/stdlib@1.20.9 | - | range: introduced
pkg:golang/example.com/buoy@v1.0.0 | - | name: Go
pkg:maven/org.example/reef@3.0 | MVN-1 | name: Maven
pkg:maven/org.example/reef@3.0-beta-1 | MVN-1 | order: Maven
pkg:maven/org.example/reef@3.0-rc1 | MVN-1 | order: Maven
pkg:maven/org.example/reef@3.0-alpha1 | - | order: Maven
pkg:maven/org.example/reef@3.1-SNAPSHOT | MVN-1 | order: Maven
pkg:maven/org.example/reef@3.1 | - | range: fixed
pkg:maven/org.example/reef@3.1.0 | - | order: Maven
pkg:maven/org.example/reef@2.9 | - | range: introduced
pkg:maven/org.example/reef | MVN-1 | range: none
pkg:gradle/org.example/reef@3.0.1 | MVN-1 | name: Maven
pkg:maven/org.other/reef@3.0 | - | name: Maven
pkg:maven/reef@3.0 | - | name: Maven
pkg:nuget/Newton.Json@13.0.0 | NU-1 | name: NuGet
pkg:nuget/newton.json@13.0.0 | NU-1 | name: NuGet
pkg:nuget/NEWTON.JSON@12 | NU-1 | name: NuGet
pkg:nuget/Newton.Json@13.0.1-beta1 | NU-1 | order: SemVer
pkg:nuget/Newton.Json@13.0.1-BETA1 | NU-1 | name: NuGet
pkg:nuget/Newton.Json@13.0.1 | - | range: fixed
pkg:nuget/Newton.Json@13.0.0.5 | NU-1 | order: SemVer
pkg:nuget/Newton.Json | NU-1 | range: none
pkg:nuget/NewtonJson@1.0 | - | name: NuGet
pkg:gem/bend@1.2 | GEM-1 | range: introduced
pkg:gem/bend@1.2.a | GEM-1 | order: RubyGems
pkg:gem/bend@1.2.0.pre1 | GEM-1 | order: RubyGems
pkg:gem/bend@1.1.9 | - | range: introduced
pkg:gem/bend@1.3.rc1 | GEM-1 | order: RubyGems
pkg:gem/bend@1.3 | - | range: fixed
pkg:gem/bend@1.3.0 | - | order: RubyGems
pkg:gem/bend | GEM-1 | range: none
pkg:gem/Bend@1.2 | - | name: namespace
pkg:cargo/splice@1.1.9 | CRATE-1 | range: fixed
pkg:cargo/splice@1.2.0-rc.1 | CRATE-1 | order: SemVer
pkg:cargo/splice@1.2.0 | - | range: fixed
pkg:cargo/splice@0.0.1 | CRATE-1 | range: introduced
pkg:cargo/splice | CRATE-1 | range: none
pkg:cargo/splices@1.0.0 | - | name: namespace
pkg:composer/example/sheet@1.0.0 | PHP-1 | name: namespace
pkg:composer/example/sheet@v1.0.1 | PHP-1 | order: Packagist
pkg:composer/example/sheet@1.0.2-RC1 | PHP-1 | order: Packagist
pkg:composer/example/sheet@1.0.0-beta1 | - | order: Packagist
pkg:composer/example/sheet@1.0.2 | - | range: fixed
pkg:composer/example/sheet | PHP-1 | range: none
pkg:composer/other/sheet@1.0.0 | - | name: namespace
pkg:hex/mast@1.7.13 | HEX-1 | range: fixed
pkg:hex/mast@1.7.14-rc.0 | HEX-1 | order: SemVer
pkg:hex/mast@1.7.14 | - | range: fixed
pkg:hex/mast | HEX-1 | range: none
pkg:swift/github.com/deck/swift-hitch@2.0.0 | SWIFT-1 | name: SwiftURL
pkg:swift/github.com/Deck/Swift-Hitch@2.0.9 | SWIFT-1 | name: SwiftURL
pkg:swift/github.com/deck/swift-hitch@2.1.0-beta.1 | SWIFT-1 | order: SemVer
pkg:swift/github.com/deck/swift-hitch@v2.0.1 | SWIFT-1 | order: SemVer
pkg:swift/github.com/deck/swift-hitch@2.1.0 | - | range: fixed
pkg:swift/github.com/deck/swift-hitch | SWIFT-1 | range: none
pkg:swift/gitlab.com/deck/swift-hitch@2.0.0 | - | name: SwiftURL
pkg:githubactions/deck/wash@46.0.0 | ACT-1 | name: GitHub Actions
pkg:githubactions/deck/wash@v46.0.0 | ACT-1 | order: SemVer
pkg:githubactions/Deck/Wash@v45 | ACT-1 | name: GitHub Actions
pkg:githubactions/deck/wash@v46.0.1 | - | range: fixed
pkg:githubactions/deck/wash@v47 | - | range: fixed
pkg:githubactions/deck/wash | ACT-1 | range: none
pkg:githubactions/deck/dry@v1 | - | name: GitHub Actions
pkg:bitnami/wordpress@6.4.2 | BIT-1 | range: fixed
pkg:bitnami/wordpress@6.4.2-7 | BIT-1 | order: Bitnami
pkg:bitnami/wordpress@6.4.3-0 | - | order: Bitnami
pkg:bitnami/wordpress@6.4.3-12 | - | order: Bitnami
pkg:bitnami/wordpress@6.4.3 | - | range: fixed
pkg:bitnami/wordpress@6.4.3-rc1 | BIT-1 | order: Bitnami
pkg:bitnami/nginx@1.25.3-1 | BIT-2 | order: Bitnami
pkg:bitnami/nginx@1.25.3 | BIT-2 | order: Bitnami
pkg:bitnami/nginx@1.25.3-2 | - | order: Bitnami
pkg:bitnami/nginx@1.25.3-10 | - | order: Bitnami
pkg:bitnami/nginx@1.19.9-4 | - | range: introduced
pkg:bitnami/nginx | BIT-2 | range: none
pkg:deb/debian/openssl@3.0.9-1?distro=debian-12 | DEB-12 | release: Debian
pkg:deb/debian/openssl@3.0.9-1?distro=debian-12.4 | DEB-12 | release: Debian
pkg:deb/debian/openssl@3.0.9-1?distro=bookworm | DEB-12 | release: Debian
pkg:deb/debian/openssl@3.0.9-1?distro=debian-bookworm&arch=source | DEB-12 | release: Debian
pkg:deb/debian/openssl@3.0.11-1~deb12u1?distro=debian-12 | DEB-12 | order: Debian
pkg:deb/debian/openssl@3.0.11-1~deb12u2?distro=debian-12 | - | range: fixed
pkg:deb/debian/openssl@3.0.11-1~deb12u2%2Bb1?distro=debian-12 | - | order: Debian
pkg:deb/debian/openssl@1.1.1n-0%2Bdeb11u5?distro=debian-11 | DEB-11 | release: Debian
pkg:deb/debian/openssl@1.1.1n-0%2Bdeb11u5?distro=bullseye | DEB-11 | release: Debian
pkg:deb/debian/openssl@1.1.1w-0%2Bdeb11u1?distro=debian-11 | - | range: fixed
pkg:deb/debian/openssl@1.0?distro=debian-13 | - | release: Debian
pkg:deb/debian/openssl@3.0.9-1 | DEB-12 | release: none
pkg:deb/debian/openssl@1.1.1n-0 | DEB-11 DEB-12 | release: none
pkg:deb/debian/openssl | DEB-11 DEB-12 | release: none
pkg:deb/debian/openssl?distro=debian-11 | DEB-11 | release: Debian
pkg:deb/debian/libssl3@3.0.9-1?distro=debian-12&upstream=openssl | DEB-12 | upstream
pkg:deb/debian/libssl3@3.0.9-1?distro=debian-12&upstream=openssl%403.0.9-1 | DEB-12 | upstream
pkg:deb/debian/libssl3@3.0.9-1?distro=debian-12 | - | upstream
pkg:deb/debian/libssl3@3.0.11-1~deb12u2?distro=debian-12&upstream=openssl | - | upstream
pkg:deb/debian/libcurl4@8.0-1?distro=trixie&upstream=curl | DEB-13 | upstream
pkg:deb/debian/curl@8.0-1?distro=debian-13 | DEB-13 | release: Debian
pkg:deb/debian/curl@8.0-1?distro=debian-12 | - | release: Debian
pkg:deb/ubuntu/openssl@3.0.2-0ubuntu1.10?distro=ubuntu-22.04 | UBU-22 | release: Ubuntu
pkg:deb/ubuntu/openssl@3.0.2-0ubuntu1.10?distro=jammy | UBU-22 | release: Ubuntu
pkg:deb/ubuntu/libssl3@3.0.2-0ubuntu1.10?distro=ubuntu-22.04&upstream=openssl | UBU-22 | upstream
pkg:deb/ubuntu/openssl@3.0.2-0ubuntu1.12?distro=ubuntu-22.04 | - | release: FIPS
pkg:deb/ubuntu/openssl@3.0.2-0ubuntu1.9?distro=ubuntu-20.04 | - | release: Ubuntu
pkg:deb/ubuntu/openssl@1.0.2g-1ubuntu4.20?distro=ubuntu-16.04 | UBU-PRO | release: Ubuntu
pkg:deb/ubuntu/openssl@1.0.2g-1ubuntu4.20%2Besm10?distro=xenial | - | range: fixed
pkg:deb/ubuntu/curl@8.2.1-1ubuntu3?distro=ubuntu-23.10 | UBU-23 | release: Ubuntu
pkg:deb/ubuntu/curl@8.2.1-1ubuntu3?distro=mantic | UBU-23 | release: Ubuntu
pkg:deb/ubuntu/curl@8.2.1-1ubuntu3.1?distro=ubuntu-23.10 | - | range: fixed
pkg:apk/alpine/busybox@1.36.1-r1?distro=alpine-3.18.4 | ALP-318 | release: Alpine
pkg:apk/alpine/busybox@1.36.1-r1?distro=3.18.2 | ALP-318 | release: Alpine
pkg:apk/alpine/busybox@1.36.1-r1?distro=alpine-3.18 | ALP-318 | release: Alpine
pkg:apk/alpine/busybox@1.36.1-r2?distro=alpine-3.18.4 | - | range: fixed
pkg:apk/alpine/busybox@1.36.1-r15?distro=alpine-3.19.0 | ALP-319 | order: apk
pkg:apk/alpine/busybox@1.36.1-r16?distro=alpine-3.19.0 | - | range: fixed
pkg:apk/alpine/busybox@1.36.1-r1?distro=alpine-3.1 | - | release: Alpine
pkg:apk/alpine/ssl_client@1.36.1-r1?distro=alpine-3.18.4&upstream=busybox | ALP-318 | upstream
pkg:apk/alpine/busybox@1.36.1-r1 | ALP-318 ALP-319 | release: none
pkg:apk/alpine/busybox@1.36.1-r5 | ALP-319 | release: none
pkg:apk/wolfi/curl@8.4.0-r0 | WOLFI-1 | release: rolling
pkg:apk/wolfi/curl@8.4.0-r0?distro=wolfi-20230201 | WOLFI-1 | release: rolling
pkg:apk/wolfi/libcurl-openssl4@8.4.0-r0?upstream=curl&distro=wolfi-20230201 | WOLFI-1 | upstream
pkg:apk/wolfi/curl@8.5.0-r0?distro=wolfi-20230201 | - | range: fixed
pkg:apk/chainguard/curl@8.4.0-r2?distro=chainguard-20230214 | CHAIN-1 | release: rolling
pkg:apk/chainguard/curl@8.4.0-r3 | - | range: fixed
pkg:rpm/almalinux/openssl-libs@3.0.7-24.el9?distro=almalinux-9.3&epoch=1 | ALMA-9 | epoch
pkg:rpm/almalinux/openssl-libs@1:3.0.7-24.el9?distro=almalinux-9.3 | ALMA-9 | release: rpm
pkg:rpm/almalinux/openssl-libs@1:3.0.7-25.el9_3?distro=almalinux-9.3 | - | range: fixed
pkg:rpm/almalinux/openssl-libs@1.1.1k-9.el8?distro=almalinux-8.9&epoch=1 | ALMA-8 | release: rpm
pkg:rpm/almalinux/openssl-libs@3.0.7-24.el9?distro=almalinux-9.3 | ALMA-9 | order: rpm
pkg:rpm/rocky/openssl-libs@3.0.7-24.el9?distro=rocky-9.3&epoch=1 | ROCKY-9 | release: rpm
pkg:rpm/rocky-linux/openssl-libs@3.0.7-24.el9?distro=rocky-9.3&epoch=1 | ROCKY-9 | release: rpm
pkg:rpm/rocky/openssl-libs@3.0.7-25.el9_3?distro=rocky-9.3&epoch=1 | - | range: fixed
pkg:rpm/rocky/openssl-libs@3.0.7-24.el9?distro=rocky-8.9&epoch=1 | - | release: rpm
pkg:rpm/redhat/openssl-libs@3.0.7-24.el9?distro=redhat-9.3&epoch=1 | RH-9 | release: Red Hat
pkg:rpm/rhel/openssl-libs@3.0.7-24.el9?distro=rhel-9.3&epoch=1 | RH-9 | release: Red Hat
pkg:rpm/redhat/openssl-libs@3.0.7-18.el9_2?distro=rhel-9.2&epoch=1 | RH-9 RH-EUS | release: Red Hat
pkg:rpm/redhat/openssl-libs@3.0.7-25.el9_3?distro=rhel-9.3&epoch=1&upstream=openssl-3.0.7-25.el9_3.src.rpm | - | release: Red Hat
pkg:rpm/redhat/nodejs@18.18.2-2.module%2Bel8.9.0%2B20408?distro=rhel-8.9&epoch=1 | RH-8M | release: Red Hat
pkg:rpm/redhat/nodejs@18.18.2-2.module%2Bel8.9.0%2B20408?distro=rhel-9.3&epoch=1 | - | release: Red Hat
pkg:rpm/suse/libopenssl1_1@1.1.1l-150500.17.22.1?distro=sles-15.5 | SUSE-155 | release: SUSE
pkg:rpm/sles/libopenssl1_1@1.1.1l-150500.17.22.1?distro=sles-15.5 | SUSE-155 | release: SUSE
pkg:rpm/suse/libopenssl1_1@1.1.1l-150500.17.22.1?distro=sles-15-SP5 | SUSE-155 | release: SUSE
pkg:rpm/suse/libopenssl1_1@1.1.1l-150500.17.22.1?distro=sles-15.4 | - | release: SUSE
pkg:rpm/suse/libopenssl1_1@1.1.1l-150500.17.25.1?distro=sles-15.5 | - | range: fixed
pkg:rpm/suse/curl@8.0.1-150400.5.36.1?distro=sles-15.5 | SUSE-MOD | release: SUSE
pkg:rpm/suse/apache2@2.4.51-35.32.1?distro=sles-12.5 | SUSE-12 | release: SUSE
pkg:rpm/suse/curl@7.79.1-150400.4.9?distro=sle-micro-5.3 | SUSE-MICRO | release: SUSE
pkg:rpm/opensuse/curl@8.0.1-150400.5.36.1?distro=opensuse-leap-15.5 | OPENSUSE-155 | release: openSUSE
pkg:rpm/opensuse/curl@8.0.1-150400.5.41.1?distro=opensuse-leap-15.5 | - | range: fixed
pkg:rpm/opensuse/curl@8.5.0-1.1?distro=opensuse-tumbleweed-20240115 | OPENSUSE-TW | release: openSUSE
pkg:rpm/opensuse/curl@8.0.1-150400.5.36.1?distro=opensuse-leap-15.4 | - | release: openSUSE
pkg:rpm/amzn/curl@8.3.0-1.amzn2023.0.1?distro=amzn-2023 | AMZN-2023 | release: rpm
pkg:rpm/amzn/curl@8.3.0-1.amzn2023.0.2?distro=amzn-2023 | - | range: fixed
pkg:rpm/ol/curl@7.76.1-26.el9_3.2?distro=ol-9.3 | ORACLE-9 | release: rpm
pkg:rpm/oracle/curl@7.76.1-26.el9_3.3?distro=ol-9.3 | - | range: fixed
pkg:rpm/photon/curl@8.1.2-4.ph4?distro=photon-4.0 | PHOTON-4 | release: rpm
pkg:rpm/photon/curl@8.1.2-5.ph4?distro=photon-4.0 | - | range: fixed
pkg:rpm/fedora/curl@7.0-1.fc39?distro=fedora-39 | - | type
pkg:github/deck/capstan@${commit} | GIT-1 | commit
pkg:github/Deck/Capstan@v1.1 | GIT-1 | commit
pkg:github/deck/capstan@v1.2 | - | commit
pkg:github/deck/capstan@${otherCommit} | - | commit
pkg:generic/capstan@1.1?vcs_url=git%2Bhttps://github.com/deck/capstan%40${commit} | GIT-1 | commit
pkg:cocoapods/Lantern@1.0 | - | type
pkg:oci/app@1.0 | - | type
`;

export interface PurlRow {
  readonly purl: string;
  readonly ids: readonly string[];
  readonly rule: string;
}

export const rows: readonly PurlRow[] = text
  .trim()
  .split("\n")
  .map((line) => {
    const [purl = "", ids = "", rule = ""] = line.split(" | ");
    return { purl, ids: ids === "-" ? [] : ids.split(" "), rule };
  });
