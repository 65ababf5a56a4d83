// Requirements of Cargo as ranges of versions.

import assert from "node:assert/strict";
import { test } from "node:test";
import semver from "semver";
import { fc, runs } from "../../test/property.ts";
import { cargoRanges, rustsecAffectedEvents } from "./cargo-requirement.ts";

const said: readonly (readonly [requirements: readonly string[], ranges: readonly (readonly [from: string, to: string])[]])[] = [
  [["*"], [["", ""]]],
  [[">= 1.2.3"], [["1.2.3", ""]]],
  [[">=1.2.3 "], [["1.2.3", ""]]],
  [["> 1.2.3"], [["1.2.4-0", ""]]],
  [["> 1.2.3-rc.1"], [["1.2.3-rc.1.0", ""]]],
  [["< 0.3"], [["", "0.3.0"]]],
  [["<= 0.3.1"], [["", "0.3.2-0"]]],
  [["= 1.2.3"], [["1.2.3", "1.2.4-0"]]],
  [["^1.2"], [["1.2.0", "2.0.0-0"]]],
  [["1.2"], [["1.2.0", "2.0.0-0"]]],
  [["^ 0.2.3"], [["0.2.3", "0.3.0-0"]]],
  [["^0.0.3"], [["0.0.3", "0.0.4-0"]]],
  [["^0.0"], [["0.0.0", "0.1.0-0"]]],
  [["^0"], [["0.0.0", "1.0.0-0"]]],
  [["~1.2.3"], [["1.2.3", "1.3.0-0"]]],
  [["~1.2"], [["1.2.0", "1.3.0-0"]]],
  [["~1"], [["1.0.0", "2.0.0-0"]]],
  [["> 0"], [["0.0.1-0", ""]]],
  [["<= 1.2"], [["", "1.2.1-0"]]],
  [["= 1.2"], [["1.2.0", "1.2.1-0"]]],
  [["1.*"], [["1.0.0", "2.0.0-0"]]],
  [["=1.2.x"], [["1.2.0", "1.3.0-0"]]],
  [["1.*.*"], [["1.0.0", "2.0.0-0"]]],
  [["< 0.3, >= 0.2"], [["0.2.0", "0.3.0"]]],
  [["< 0.2, >= 0.3"], []],
  [[">= 1.0.0-alpha.4, < 1.0.0+build"], [["1.0.0-alpha.4", "1.0.0"]]],
  [
    ["^2.1.3", "^1.1.5", ">= 3"],
    [
      ["1.1.5", "2.0.0-0"],
      ["2.1.3", "3.0.0-0"],
      ["3.0.0", ""],
    ],
  ],
  [["< 1.0.0", ">= 0.9.0"], [["", ""]]],
  [["= 1.0.0", "> 1.0.0"], [["1.0.0", ""]]],
  [[], []],
];

test("a Cargo requirement becomes ranges of versions", () => {
  for (const [requirements, ranges] of said) {
    const expected = { ranges: ranges.map(([from, to]) => ({ ...(from === "" ? {} : { from }), ...(to === "" ? {} : { to }) })) };
    assert.deepEqual(cargoRanges(requirements), expected, requirements.join(" or "));
  }
});

test("an invalid requirement is refused with a reason", () => {
  for (const wrong of [
    "",
    " ",
    ",",
    ">= 1.0,",
    "latest",
    ">= v1",
    "=> 1",
    ">= 1.2.3.4",
    ">= 1.*",
    "1.*.3",
    "1.2.*-a",
    "1.2.3-a..b",
    "1.2.3-",
    ">= 1.0 < 2.0",
    "1.0 || 2.0",
    "^^1",
    `>= ${"1".repeat(1000)}`,
    `>= 1.0.0-${"a".repeat(1000)}`,
  ]) {
    const found = cargoRanges([">= 9.0.0", wrong]);
    assert("reason" in found && found.reason !== "", wrong);
    assert("reason" in rustsecAffectedEvents([], [wrong]), wrong);
  }
});

test("a version that RustSec lists as neither patched nor unaffected is affected", () => {
  const cases: readonly (readonly [patched: readonly string[], unaffected: readonly string[], events: readonly object[]])[] = [
    [[">= 5.1.0"], [], [{ introduced: "0" }, { fixed: "5.1.0" }]],
    [[], [], [{ introduced: "0" }]],
    [["*"], [], []],
    [[">= 1.2.0"], ["< 1.0.0"], [{ introduced: "1.0.0" }, { fixed: "1.2.0" }]],
    [["^0.2.3", ">= 0.3.1"], ["<= 0.1.4"], [{ introduced: "0.1.5-0" }, { fixed: "0.2.3" }, { introduced: "0.3.0-0" }, { fixed: "0.3.1" }]],
    [[], ["> 1.0.0"], [{ introduced: "0" }, { fixed: "1.0.1-0" }]],
    [["= 1.0.0"], [], [{ introduced: "0" }, { fixed: "1.0.0" }, { introduced: "1.0.1-0" }]],
  ];
  for (const [patched, unaffected, events] of cases) assert.deepEqual(rustsecAffectedEvents(patched, unaffected), { events }, patched.join());
});

// An independent comparison, and the rules of requirements restated for a single version.

const small = fc.nat({ max: 3 }).map(String);
const pre = fc.constantFrom("", "", "-0", "-alpha", "-alpha.0", "-alpha.1", "-rc.1", "-rc.10");
const version = fc.tuple(small, small, small, pre).map(([major, minor, patch, tail]) => `${major}.${minor}.${patch}${tail}`);
const comparator = fc.oneof(
  fc.tuple(fc.constantFrom("=", ">", ">=", "<", "<=", "^", "~", ""), version).map(([operator, bound]) => operator + bound),
  fc.tuple(fc.constantFrom("^", "~", ">=", ">", "<", "<=", "=", ""), small, small).map(([operator, major, minor]) => `${operator} ${major}.${minor}`),
  fc.tuple(fc.constantFrom("^", "~", ">=", ">", "<", "<=", "=", ""), small).map(([operator, major]) => `${operator}${major}`),
  fc.tuple(small, small).map(([major, minor]) => `${major}.${minor}.*`),
);
const requirement = fc.oneof(
  comparator,
  fc.array(comparator, { minLength: 1, maxLength: 3 }).map((all) => all.join(", ")),
  fc.constant("*"),
);

const fitsComparator = (candidate: string, written: string): boolean => {
  const [, operator = "", bound = ""] = /^([^0-9*]*)(.*)$/.exec(written) ?? [];
  if (bound === "*") return true;
  const series = bound.endsWith(".*");
  const given = bound.replace(".*", "").split("-")[0]?.split(".").length ?? 0;
  const full = given === 3 ? bound : [...bound.replace(".*", "").split("."), "0", "0"].slice(0, 3).join(".");
  const order = semver.compare(candidate, full);
  const [one, other] = [semver.parse(candidate), semver.parse(full)];
  assert(one && other);
  const sameMajor = one.major === other.major;
  const sameMinor = sameMajor && one.minor === other.minor;
  switch (series ? "~" : operator.trim()) {
    case "=":
      return order === 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case "~":
      return order >= 0 && (given === 1 ? sameMajor : sameMinor);
    default:
      if (order < 0 || !sameMajor) return false;
      if (other.major > 0 || given === 1) return true;
      return sameMinor && (other.minor > 0 || given === 2 || one.patch === other.patch);
  }
};

const fits = (candidate: string, requirements: readonly string[]): boolean =>
  requirements.some((each) => each.split(",").every((part) => fitsComparator(candidate, part.trim())));

test("a version matches a requirement exactly when it is in a range, and is affected exactly when it matches none", () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 4 }), fc.array(version, { minLength: 1, maxLength: 20 }), (requirements, versions) => {
      const [safe, affected] = [cargoRanges(requirements), rustsecAffectedEvents(requirements.slice(0, 2), requirements.slice(2))];
      assert("ranges" in safe && "events" in affected);
      for (const each of versions) {
        const inside = safe.ranges.some(
          ({ from, to }) => (from === undefined || semver.compare(each, from) >= 0) && (to === undefined || semver.compare(each, to) < 0),
        );
        const reached: readonly object[] = affected.events.filter((event) =>
          "introduced" in event ? event.introduced === "0" || semver.gte(each, event.introduced) : semver.gte(each, event.fixed),
        );
        assert.equal(inside, fits(each, requirements), `${each} in ${requirements.join(" or ")}`);
        assert.equal("introduced" in (reached.at(-1) ?? {}), !fits(each, requirements), `${each} against ${requirements.join(" or ")}`);
      }
    }),
    { numRuns: runs(2_000) },
  );
});

test("any text is parsed or refused quickly", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), requirement), { maxLength: 5 }), (texts) => void cargoRanges(texts)),
    { numRuns: runs(1_000) },
  );
  const started = performance.now();
  cargoRanges(Array.from({ length: 5_000 }, (_, index) => `>= ${index}.0.0, < ${index}.1.0`));
  assert(performance.now() - started < 2_000);
});
