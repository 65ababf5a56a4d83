// Order of versions per ecosystem: each is a total order and agrees with other libraries if there are any.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as pep440 from "@renovatebot/pep440";
import * as rubygems from "@renovatebot/ruby-semver";
import semver from "semver";
import { limits } from "../limits.ts";
import { fc, runs } from "../../test/property.ts";
import { compareVersions, orderOf } from "./ecosystem.ts";

/** Each line ascends; entries of an inner list are equal. */
const rising: Readonly<Record<string, readonly (string | readonly string[])[]>> = {
  npm: [
    "0.0.0-0",
    "0.0.0-alpha",
    "0.0.0",
    ["0.0.1", "0.0.01", "v0.0.1", "0.0.1+build.7"],
    "0.9.0",
    "0.10.0",
    "1.0.0-0",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0--",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-alpha1",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    ["1.0.0", "1", "1.0", "V1.0.0.0"],
    "1.0.0.1",
    "1.0.1",
    "99999999999999999999.0.0",
    "100000000000000000000.0.0",
  ],
  Go: [
    "0.0.0-20180101000000-aaaaaaaaaaaa",
    "v0.0.0-20190101000000-000000000000",
    "0.1.0",
    "1.2.3",
    "1.2.4-0.20200101000000-abcdefabcdef",
    ["1.2.4", "v1.2.4"],
    ["1.20", "go1.20"],
    "1.21.0-0",
    ["go1.21beta1", "1.21.0-beta.1"],
    ["go1.21rc1", "1.21rc1", "1.21.0-rc.1"],
    "go1.21rc2",
    ["go1.21rc10", "1.21.0-rc.10"],
    ["go1.21.0", "v1.21.0", "1.21"],
    ["2.0.0+incompatible", "v2.0.0"],
    "3.1.0+incompatible",
  ],
  PyPI: [
    "0.0.dev1",
    "1.dev0",
    "1.0a1",
    ["1.0b2", "1.0-beta.2"],
    ["1.0rc1", "1.0c1"],
    ["1", "1.0", "v1.0.0", " 1.0 "],
    "1.0+5",
    ["1.0.post1", "1.0-1"],
    "1.1.dev1",
    "1.1",
    "1.10",
    "2024.1",
    "1!0.1",
  ],
  RubyGems: [
    "0",
    "0.9",
    "1.0.a",
    ["1.0.a.2", "1.a.2", "1.0.a.2.0"],
    "1.0.a10",
    "1.0.b1",
    ["1.0-java", "1.0.pre.java"],
    "1.0.rc1",
    ["1", "1.0", "1.0.0", " 1.0 "],
    "1.0.1.pre1",
    "1.0.1",
    "1.0.9",
    "1.0.10",
    "1.1.a",
    "1.1",
    "20240101",
  ],
  Maven: ["1-alpha-1", "1-beta-2", "1-m2", ["1-rc1", "1-CR1"], "1-SNAPSHOT", ["1", "1.0.0", "1-ga", "1.Final"], "1-sp", "1-jre", "1-1", "1.1", "1.2", "1.10"],
  NuGet: [
    "1.0.0-alpha",
    ["1.0.0-Beta", "1.0.0-beta", "1.0-BETA+x"],
    "1.0.0-beta.2",
    "1.0.0-beta.10",
    "1.0.0-rc",
    ["1", "1.0.0", "1.0.0.0", "1.0.0+abc"],
    "1.0.0.1-rc",
    "1.0.0.1",
    "1.0.0.10",
    "1.0.1",
  ],
  Packagist: [
    ["1.0-dev", "1.0.0-DEV"],
    "1.0-alpha",
    ["1.0-alpha1", "1.0.0a1", "v1.0.0.0-a.1"],
    "1.0-alpha10",
    "1.0-beta-dev",
    ["1.0-beta", "1.0.0b"],
    "1.0-beta2-dev",
    "1.0-beta2",
    ["1.0-RC1", "1.0rc1"],
    ["1", "1.0", "v1.0.0.0", "1.0-stable", "1.0+meta"],
    ["1.0-p1", "1.0-patch1", "1.0pl1"],
    "1.0-p2",
    "1.0.1",
    "1.9.0",
    "1.10.0",
    ["2010.01.02", "2010-01-02"],
  ],
  Pub: ["1.0.0-a", "1.0.0-a+1", "1.0.0", "1.0.0+a", "1.0.0+a.1", "1.0.0+b", "1.0.1"],
  Debian: [
    "0~",
    "0",
    "1.0~~",
    "1.0~~a",
    "1.0~",
    "1.0~rc1-1",
    "1.0~rc1-2",
    ["1.0", "1.0-0", "0:1.0", "01.0-00"],
    "1.0-1~bpo12+1",
    "1.0-1",
    "1.0-1+deb12u1",
    "1.0-1.1",
    "1.0-10",
    "1.0a-1",
    "1.0+dfsg-1",
    "1.0-1-1",
    "1.0.0",
    "1.2",
    "1.10",
    "1:0.1",
    "2:0",
  ],
  "Red Hat:enterprise_linux:9::baseos": [
    "1.0~rc1-1.el9",
    "1.0~rc2-1.el9",
    "1.0",
    ["1.0-1.el9", "0:1.0-1.el9", "1.00-01_el9"],
    "1.0-1.el9_2",
    "1.0-2.el9",
    "1.0-10.el9",
    "1.0^20240101-1",
    "1.0^20240102-1",
    "1.0a-1",
    "1.0.0",
    "1.1",
    "1.10",
    "1:0.5",
  ],
  "Alpine:v3.20": ["1.0_alpha1", "1.0_rc1", "1.0", "1.0-r1", "1.0-r10", "1.0_git1", "1.0_p1", "1.0a", "1.0.1", "1.1", "1.10"],
  Hackage: ["0.1", "1", "1.0", ["1.0.0", "1.00.0"], "1.0.1", "1.1", "1.10", "2"],
  CRAN: ["0.9-1", "1.0", ["1.0-1", "1.0.1"], "1.0-1.1", "1.0-10", "1.1"],
  opam: ["1.0~beta1", "1.0~rc1", ["1.0", "01.0"], "1.0-1", "1.0.0", "1.2", "1.10", "v1.0"],
};

for (const [ecosystem, line] of Object.entries(rising)) {
  test(`${ecosystem}: each version in an ascending list sorts before all later ones, and equal ones are equal`, () => {
    const all = line.flatMap((place, index) => [place].flat().map((version) => [version, index] as const));
    for (const [one, place] of all)
      for (const [other, otherPlace] of all)
        assert.equal(compareVersions(ecosystem, one, other), Math.sign(place - otherPlace), `${JSON.stringify(one)} and ${JSON.stringify(other)}`);
  });
}

const notVersions: Readonly<Record<string, readonly string[]>> = {
  npm: ["", "latest", "1.", ".1", "1..2", "1.0.0-", "1.0.0-a..b", "1.0.0+", "1.0rc1", "1.0.0 ", "1 .0", "=1.0.0", "1.0.0\n", "1.0.0-é"],
  Go: ["", "go", "go1.21rc", "gov1.21", "master", "1.21gamma1"],
  PyPI: ["", "2004d", "not a version", "1.0-", "1.0+", "1..0"],
  RubyGems: ["", "a", ".1", "1.", "1..0", "1.0_b", "1.0-", "1 0"],
  Maven: [""],
  NuGet: ["", "1.2.3.4.5", "1.0-", "x"],
  Packagist: ["", "dev-main", "1.x-dev", "1.0-foo", "1.0-beta-", "master"],
  Pub: ["", "any"],
  Debian: ["", "1.0 ", "1_0", "a:1", ":1", "1:", "1.0\n", "<unfixed>"],
  AlmaLinux: ["", "1 0", "x:1", ":1", "é"],
  Wolfi: ["", "v1", "1.0-r"],
  Hackage: ["", "1.a", "1..2", "v1"],
  opam: ["", "1 0"],
};

test("a text that is not a version compares with nothing, not even with itself", () => {
  for (const [ecosystem, texts] of Object.entries(notVersions)) {
    for (const text of [...texts, "1".repeat(limits.versionLengthMax + 1)]) {
      for (const [one, other] of [
        [text, "1"],
        ["1", text],
        [text, text],
      ] as const)
        assert.equal(compareVersions(ecosystem, one, other), undefined, `${ecosystem} ${JSON.stringify(text)}`);
    }
  }
});

test("ecosystems without a known order compare nothing, and their names are case-sensitive", () => {
  for (const ecosystem of [
    "Android",
    "Linux",
    "Kubernetes",
    "OSS-Fuzz",
    "FreeBSD",
    "FreeBSD:ports",
    "ConanCenter",
    "GIT",
    "",
    "pypi",
    "NPM",
    "oci",
    "Root",
    "Root:",
    "constructor",
    "__proto__",
  ]) {
    assert.equal(orderOf(ecosystem), undefined, ecosystem);
    assert.equal(compareVersions(ecosystem, "1", "2"), undefined, ecosystem);
  }
  assert.equal(compareVersions("Root:Alpine:3.18", "1.0_rc1", "1.0"), -1);
});

const number = fc.oneof(fc.nat({ max: 12 }).map(String), fc.constantFrom("0", "00", "01", "10", "9".repeat(30)));
const word = fc.constantFrom("", "a", "b", "alpha", "beta", "rc", "pre", "dev", "p", "patch", "stable", "git", "RC", "x", "A");
const separator = fc.constantFrom(".", ".", "-", "_", "+", "~", "^", ":", "");
const text = fc
  .tuple(fc.constantFrom("", "", "v", "go", "1:", "1!"), number, fc.array(fc.tuple(separator, fc.oneof(number, word)), { maxLength: 5 }))
  .map(([start, first, rest]) => start + first + rest.flat().join(""));

/** Half of the generated texts must be valid versions of each ecosystem (asserted below). */
const trials = 3_000;

for (const ecosystem of Object.keys(rising)) {
  test(`${ecosystem}: the order of any three versions is consistent`, () => {
    let versions = 0;
    const order = (one: string, other: string): number => {
      const found = compareVersions(ecosystem, one, other);
      assert(found !== undefined, `${one} and ${other}`);
      return found;
    };
    const made = fc.sample(text, trials * 4).filter((each) => compareVersions(ecosystem, each, each) !== undefined);
    const one = fc.constantFrom(...made, ...(rising[ecosystem] ?? []).flat());
    fc.assert(
      fc.property(one, one, one, (a, b, c) => {
        versions++;
        assert.equal(order(a, a), 0, a);
        assert.equal(order(a, b), 0 - order(b, a), JSON.stringify([a, b]));
        if (order(a, b) <= 0 && order(b, c) <= 0) assert(order(a, c) <= 0, JSON.stringify([a, b, c]));
        if (order(a, b) === 0) assert.equal(order(a, c), order(b, c), JSON.stringify([a, b, c]));
      }),
      { numRuns: runs(trials) },
    );
    assert(versions >= trials && made.length > 200, `only ${made.length} versions of ${ecosystem} were made`);
  });
}

/** Asserts the same order as the library for every pair that it can parse. */
const agree = (ecosystem: string, read: (version: string) => boolean, compare: (one: string, other: string) => number, texts = text): void => {
  const made = fc.sample(texts, trials * 4).filter(read);
  assert(made.length > 100, `only ${made.length} can be read`);
  fc.assert(
    fc.property(fc.constantFrom(...made), fc.constantFrom(...made), (one, other) => {
      assert.equal(compareVersions(ecosystem, one, other), Math.sign(compare(one, other)), JSON.stringify([one, other]));
    }),
    { numRuns: runs(trials) },
  );
};

const identifier = fc.oneof(
  number,
  word.filter((each) => each !== ""),
  fc.constantFrom("-", "a-1", "rc1", "0a"),
);
const identifiers = fc.array(identifier, { maxLength: 3 }).map((all) => all.join("."));
const strict = fc
  .tuple(fc.array(fc.nat({ max: 3 }), { minLength: 3, maxLength: 3 }), identifiers, identifiers)
  .map(([numbers, pre, build]) => `${numbers.join(".")}${pre && `-${pre}`}${build && `+${build}`}`);

const isSemver = (version: string): boolean => semver.valid(version) !== null && !/[0-9]{16}/.test(version);

test("npm, Go, crates.io, NuGet without capitals: the order equals that of semver", () => {
  for (const ecosystem of ["npm", "Go", "crates.io"]) agree(ecosystem, isSemver, (one, other) => semver.compare(one, other), strict);
  agree(
    "NuGet",
    (version) => isSemver(version) && !/[A-Z]/.test(version),
    (one, other) => semver.compare(one, other),
    strict,
  );
});

test("Pub: the order equals semver's comparison with build metadata", () => {
  // semver takes 01 and 1 in build metadata as equal, and so whatever follows them.
  const isSimple = (version: string): boolean => isSemver(version) && !/[+.]0[0-9]/.test(version.slice(version.indexOf("+")));
  agree("Pub", isSimple, (one, other) => semver.compareBuild(one, other), strict);
});

test("PyPI: the order equals that of pep440", () => {
  // pep440 uses doubles.
  agree(
    "PyPI",
    (version) => pep440.valid(version) !== null && !/[0-9]{16}/.test(version),
    (one, other) => pep440.compare(one, other),
  );
  for (const each of fc.sample(text, trials)) assert.equal(compareVersions("PyPI", each, each) !== undefined, pep440.valid(each) !== null, each);
});

test("RubyGems: the order equals that of ruby-semver", () => {
  // ruby-semver uses doubles and sorts letters by locale, where Ruby compares bytes.
  const isSimple = (version: string): boolean => !/[0-9]{16}|[A-Z]/.test(version) && compareVersions("RubyGems", version, version) !== undefined;
  agree(
    "RubyGems",
    (version) => rubygems.valid(version) !== null && isSimple(version),
    (one, other) => Number(rubygems.gt(one, other)) - Number(rubygems.lt(one, other)),
  );
});
