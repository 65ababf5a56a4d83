// Order of versions per ecosystem; sort keys have the same order.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { compareApk, isApkVersion } from "./apk.ts";
import { compareMaven, mavenKey } from "./maven.ts";
import { comparePep440, pep440Key } from "./pep440.ts";
import { compareBytes, numberKey } from "./sort-key.ts";
import { fc, runs } from "../../test/property.ts";

type Compare = (one: string, other: string) => number | undefined;

const rising: readonly (readonly [string, Compare, readonly string[]])[] = [
  [
    "Maven: qualifiers",
    compareMaven,
    [
      "1-alpha2snapshot",
      "1-alpha2",
      "1-alpha-123",
      "1-beta-2",
      "1-beta123",
      "1-m2",
      "1-m11",
      "1-rc",
      "1-cr2",
      "1-rc123",
      "1-SNAPSHOT",
      "1",
      "1-sp",
      "1-sp2",
      "1-sp123",
      "1-abc",
      "1-def",
      "1-pom-1",
      "1-1-snapshot",
      "1-1",
      "1-2",
      "1-123",
    ],
  ],
  [
    "Maven: numbers",
    compareMaven,
    [
      "2.0",
      "2.0.a",
      "2-1",
      "2.0.2",
      "2.0.123",
      "2.1.0",
      "2.1-a",
      "2.1b",
      "2.1-c",
      "2.1-1",
      "2.1.0.1",
      "2.2",
      "2.123",
      "11.a2",
      "11.a11",
      "11.b2",
      "11.b11",
      "11.m2",
      "11.m11",
      "11",
      "11.a",
      "11b",
      "11c",
      "11m",
    ],
  ],
  [
    "Maven: as they are",
    compareMaven,
    ["1.0-alpha", "1.0.0.RC1", "1.0", "1.0.1", "1.0.2-jre", "1.2", "9.9.9", "10.0", "20230101", "2024010101", "99999999999999999999", "100000000000000000000"],
  ],
  [
    "PEP 440",
    comparePep440,
    [
      "2004d",
      "not a version",
      "0.0.dev1",
      "1.dev0",
      "1.0.dev456",
      "1.0a1",
      "1.0a2.dev456",
      "1.0a12.dev456",
      "1.0a12",
      "1.0b1.dev456",
      "1.0b2",
      "1.0b2.post345.dev456",
      "1.0b2.post345",
      "1.0rc1.dev456",
      "1.0rc1",
      "1.0",
      "1.0+abc.5",
      "1.0+abc.7",
      "1.0+5",
      "1.0.post456.dev34",
      "1.0.post456",
      "1.0.15",
      "1.1.dev1",
      "1.1",
      "1.10",
      "2024.1",
      "1!0.1",
    ],
  ],
  [
    "apk",
    compareApk,
    [
      "0.1",
      "1.0_alpha",
      "1.0_alpha2",
      "1.0_beta",
      "1.0_pre",
      "1.0_rc1",
      "1.0_rc1-r1",
      "1.0_rc1_p1",
      "1.0_rc2",
      "1.0",
      "1.0-r1",
      "1.0-r2",
      "1.0-r10",
      "1.0_cvs1",
      "1.0_git20230101",
      "1.0_hg1",
      "1.0_p1",
      "1.0_p1-r1",
      "1.0a",
      "1.0b",
      "1.0.1",
      "1.05",
      "1.1",
      "1.1.0",
      "1.2",
      "1.10",
      "2",
      "10",
      "20230101",
      "99999999999999999999",
    ],
  ],
];

for (const [name, compare, versions] of rising) {
  test(`${name}: each version of an ascending list is less than all later ones and equal to itself`, () => {
    for (const [index, one] of versions.entries()) {
      for (const [other, version] of versions.entries())
        assert.equal(Math.sign(compare(one, version) ?? Number.NaN), Math.sign(index - other), `${one} and ${version}`);
    }
  });
}

const equals: readonly (readonly [Compare, string, string])[] = [
  ...(
    [
      ["1", "1.0"],
      ["1", "1-0"],
      ["1", "1.0-0"],
      ["1.0", "1-0"],
      ["1", "1-ga"],
      ["1.final", "1"],
      ["1x", "1-x"],
      ["1.0.0-rc1", "1-cr1"],
      ["1a1", "1-alpha-1"],
      ["1.0.0-alpha", "1-ALPHA"],
      ["1.Release", "1"],
    ] as const
  ).map(([one, other]) => [compareMaven, one, other] as const),
  ...(
    [
      ["1", "1.0.0"],
      ["1.0a", "1.0alpha0"],
      ["v1.0", "1.0"],
      ["1.0-1", "1.0.post1"],
      ["1.0.rc1", "1.0c1"],
      ["1.0r", "1.0.post0"],
      [" 1.0 ", "1"],
      ["1.0+a-1", "1.0+a.1"],
      ["1.0-preview_2", "1rc2"],
    ] as const
  ).map(([one, other]) => [comparePep440, one, other] as const),
];

test("equivalent spellings of a version are equal", () => {
  for (const [compare, one, other] of equals) assert.equal(compare(one, other), 0, `${one} and ${other}`);
});

test("a text that is not an apk version compares with nothing", () => {
  for (const wrong of ["", "v1", "1.", ".1", "1_foo", "1-r", "1.0-r1-r2", "1.0_p1a", "latest", "1 ", "0x1", "1.0\n"]) {
    assert.equal(isApkVersion(wrong), false, wrong);
    assert.equal(compareApk(wrong, "1"), undefined);
    assert.equal(compareApk("1", wrong), undefined);
  }
});

const number = fc.oneof(fc.nat({ max: 20 }).map(String), fc.constantFrom("0", "00", "01", "007", "10", "9".repeat(45), `1${"0".repeat(45)}`));
const word = fc.constantFrom("alpha", "beta", "a", "b", "m", "rc", "sp", "snapshot", "final", "ga", "jre", "x", "dev", "post", "é", "~", "");
const mavenLike = fc.array(fc.tuple(fc.constantFrom(".", "-", ""), fc.oneof(number, word)), { maxLength: 6 }).map((parts) => parts.flat().join(""));
const pythonLike = fc
  .tuple(
    fc.constantFrom("", "1!", "v"),
    fc.array(number, { minLength: 1, maxLength: 4 }),
    fc.constantFrom("", "a1", "b", ".rc2", "-preview3"),
    fc.constantFrom("", ".post1", "-2", "r3"),
    fc.constantFrom("", ".dev0", "dev4"),
    fc.constantFrom("", "+abc", "+1.a", "+2"),
  )
  .map(([epoch, release, ...rest]) => epoch + release.join(".") + rest.join(""));
const apkLike = fc
  .tuple(
    fc.array(number, { minLength: 1, maxLength: 4 }),
    fc.constantFrom("", "a", "b"),
    fc.constantFrom("", "_alpha", "_rc1", "_p2", "_git3_p1"),
    fc.constantFrom("", "-r0", "-r12"),
  )
  .map(([numbers, ...rest]) => numbers.join(".") + rest.join(""));

for (const [name, compare, versions] of [
  ["Maven", compareMaven, fc.oneof(mavenLike, fc.string())],
  ["PEP 440", comparePep440, fc.oneof(pythonLike, fc.string())],
  ["apk", compareApk, apkLike],
] as const) {
  test(`${name}: the order of any three versions is consistent`, () => {
    fc.assert(
      fc.property(versions, versions, versions, (a, b, c) => {
        const order = (one: string, other: string): number => Math.sign(compare(one, other) ?? Number.NaN);
        assert.equal(order(a, a), 0);
        assert.equal(order(a, b), 0 - order(b, a));
        if (order(a, b) <= 0 && order(b, c) <= 0) assert(order(a, c) <= 0, `${JSON.stringify([a, b, c])}`);
        if (order(a, b) === 0) assert.equal(order(a, c), order(b, c), `${JSON.stringify([a, b, c])}`);
      }),
      { numRuns: runs(2_000) },
    );
  });
}

test("keys sort by UTF-8 bytes, as in the database", () => {
  const bytes = (text: string): Buffer => Buffer.from(text, "utf8");
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }).filter((text) => text.isWellFormed()),
      fc.string({ unit: "binary" }).filter((text) => text.isWellFormed()),
      (one, other) => {
        assert.equal(Math.sign(compareBytes(one, other)), Math.sign(Buffer.compare(bytes(one), bytes(other))));
      },
    ),
  );
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 60n }), fc.bigInt({ min: 0n, max: 10n ** 60n }), (one, other) => {
      assert.equal(Math.sign(compareBytes(numberKey(String(one)), numberKey(`00${other}`))), one < other ? -1 : one > other ? 1 : 0);
    }),
  );
  for (const key of [mavenKey, pep440Key]) fc.assert(fc.property(fc.string(), (text) => !key(text).includes("\0")));
});

// Shared data, if present: 541 Maven artifacts and 24,802 Python version strings.
const lines = (file: string): { latestVersion?: string; versions: unknown[] }[] =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { latestVersion?: string; versions: unknown[] })
    : [];

test("at least 98 % of the real Python versions are valid", () => {
  const all = lines(new URL("../../../shared/data/libraries/pypi-versions-from-pypa/versions.jsonl", import.meta.url).pathname).flatMap(({ versions }) =>
    versions.map(String),
  );
  const legacy = all.filter((version) => pep440Key(version).startsWith("A"));
  assert(legacy.length <= all.length / 50, `${legacy.length} of ${all.length}: ${legacy.slice(0, 20).join(" ")}`);
});
