// Verdicts equal OSV's own evaluation; a version that cannot be evaluated is never called safe.

import assert from "node:assert/strict";
import { test } from "node:test";
import semver from "semver";
import type { JsonObject } from "../json.ts";
import { limits } from "../limits.ts";
import { fc, runs } from "../../test/property.ts";
import { judgeVersion } from "./affected.ts";

type Events = readonly (readonly [kind: "introduced" | "fixed" | "last_affected" | "limit", version: string])[];

const range = (type: string, events: Events): JsonObject => ({ type, events: events.map(([kind, version]) => ({ [kind]: version })) });
const record = (ecosystem: string, ...entries: readonly JsonObject[]): JsonObject => ({
  id: "X-1",
  affected: entries.map((entry) => ({ package: { ecosystem, name: "it" }, ...entry })),
});
const judge = (ecosystem: string, entry: JsonObject | readonly JsonObject[], version: string): string =>
  judgeVersion(record(ecosystem, ...[entry].flat()), { ecosystem, name: "it" }, version).verdict;

/** Versions in ascending order with their verdicts: + affected, - unaffected, ? not judged. */
const told: readonly (readonly [title: string, ecosystem: string, entry: JsonObject | readonly JsonObject[], verdicts: string])[] = [
  [
    "introduced of 0 comes before all",
    "npm",
    {
      ranges: [
        range("SEMVER", [
          ["introduced", "0"],
          ["fixed", "1.0.0"],
        ]),
      ],
    },
    "+0.0.0-0 +0.9.0 +1.0.0-rc -1.0.0 -2.0.0",
  ],
  [
    "several ranges",
    "PyPI",
    {
      ranges: [
        range("ECOSYSTEM", [
          ["introduced", "1"],
          ["fixed", "1.2"],
        ]),
        range("ECOSYSTEM", [
          ["introduced", "2"],
          ["fixed", "2.1"],
        ]),
      ],
    },
    "-0.9 +1.0 +1.1 -1.2 -1.9 +2.0.0 -2.1",
  ],
  [
    "several pairs in one range, in any order",
    "Go",
    {
      ranges: [
        range("SEMVER", [
          ["fixed", "1.2.0"],
          ["introduced", "2.0.0"],
          ["introduced", "1.0.0"],
          ["fixed", "2.1.0"],
        ]),
      ],
    },
    "-0.9.0 -go1.0rc1 +v1.0.0 +1.1.9 -1.2.0 +2.0.0+incompatible -2.1.0",
  ],
  [
    "last_affected is affected itself",
    "RubyGems",
    {
      ranges: [
        range("ECOSYSTEM", [
          ["introduced", "0"],
          ["last_affected", "1.2"],
        ]),
      ],
    },
    "+0 +1.2.0 -1.2.0.1 -1.3.a",
  ],
  [
    "limit ends a range",
    "npm",
    {
      ranges: [
        range("SEMVER", [
          ["introduced", "1.0.0"],
          ["limit", "2.0.0"],
        ]),
      ],
    },
    "-0.1.0 +1.0.0 +1.9.9 +2.0.0-rc -2.0.0",
  ],
  [
    "below one of several limits is enough",
    "npm",
    {
      ranges: [
        range("SEMVER", [
          ["introduced", "1.0.0"],
          ["limit", "2.0.0"],
          ["limit", "3.0.0"],
        ]),
      ],
    },
    "+2.5.0 -3.0.0",
  ],
  [
    "limit * is none",
    "npm",
    {
      ranges: [
        range("SEMVER", [
          ["introduced", "1.0.0"],
          ["limit", "*"],
        ]),
      ],
    },
    "-0.9.0 +99.0.0",
  ],
  ["without fixed a range stays open", "Maven", { ranges: [range("ECOSYSTEM", [["introduced", "1.0"]])] }, "-1.0-rc1 +1 +99"],
  [
    "at one version fixed wins",
    "npm",
    {
      ranges: [
        range("SEMVER", [
          ["fixed", "1.0.0"],
          ["introduced", "1.0.0"],
        ]),
      ],
    },
    "-0.9.0 -1.0.0 -1.1.0",
  ],
  [
    "one version alone",
    "npm",
    {
      ranges: [
        range("SEMVER", [
          ["last_affected", "1.0.0"],
          ["introduced", "1.0.0"],
        ]),
      ],
    },
    "-0.9.0 +1.0.0 -1.0.1-0",
  ],
  ["versions without ranges", "PyPI", { versions: ["1.0", "1.1"] }, "+1.0 +1.1.0 -1.2"],
  [
    "the list counts beside ranges",
    "PyPI",
    {
      versions: ["3.0"],
      ranges: [
        range("ECOSYSTEM", [
          ["introduced", "0"],
          ["fixed", "1"],
        ]),
      ],
    },
    "+0.5 -1 +3.0",
  ],
  ["commits beside a list: the list alone", "PyPI", { versions: ["1.0"], ranges: [range("GIT", [["introduced", "0"]])] }, "+1.0 -1.1"],
  ["commits before a range of versions", "PyPI", { ranges: [range("GIT", [["introduced", "0"]]), range("ECOSYSTEM", [["introduced", "1.0"]])] }, "-0.9 +1.1"],
  ["commits alone", "PyPI", { ranges: [range("GIT", [["introduced", "0"]])] }, "?1.0"],
  ["neither list nor range", "PyPI", {}, "-1.0"],
  [
    "several entries for one package all count",
    "npm",
    [
      {
        ranges: [
          range("SEMVER", [
            ["introduced", "0"],
            ["fixed", "1.0.0"],
          ]),
        ],
      },
      { versions: ["2.0.0"] },
    ],
    "+0.1.0 -1.0.0 +2.0.0",
  ],
  [
    "no order of versions: the list, and what holds all",
    "OSS-Fuzz",
    {
      versions: ["v2"],
      ranges: [
        range("ECOSYSTEM", [
          ["introduced", "0"],
          ["fixed", "3"],
        ]),
      ],
    },
    "+v2 ?v1",
  ],
  ["all versions need no order", "OSS-Fuzz", { ranges: [range("ECOSYSTEM", [["introduced", "0"]])] }, "+anything"],
  ["SEMVER is SemVer's order whatever the ecosystem", "OSS-Fuzz", { ranges: [range("SEMVER", [["introduced", "1.0.0"]])] }, "-1.0.0-rc +1.0.0"],
  [
    "what is no version is in the list or not judged",
    "PyPI",
    {
      versions: ["2004d"],
      ranges: [
        range("ECOSYSTEM", [
          ["introduced", "0"],
          ["fixed", "1"],
        ]),
      ],
    },
    "+2004d ?2004e",
  ],
  [
    "a bound that is no version",
    "PyPI",
    {
      ranges: [
        range("ECOSYSTEM", [
          ["introduced", "0"],
          ["fixed", "the next one"],
        ]),
      ],
    },
    "?1.0",
  ],
  [
    "one range that cannot be read does not make safe what another leaves open",
    "PyPI",
    {
      ranges: [
        range("OTHER", [["introduced", "0"]]),
        range("ECOSYSTEM", [
          ["introduced", "1"],
          ["fixed", "2"],
        ]),
      ],
    },
    "?0.9 +1 ?2",
  ],
  ["no introduced", "npm", { ranges: [range("SEMVER", [["fixed", "1.0.0"]])] }, "?0.1.0"],
  ["an event of no known kind", "npm", { ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { mended: "1.0.0" }] }] }, "?0.1.0"],
  [
    "fixed *",
    "npm",
    {
      ranges: [
        range("SEMVER", [
          ["introduced", "0"],
          ["fixed", "*"],
        ]),
      ],
    },
    "?0.1.0",
  ],
  [
    "apk",
    "Alpine:v3.20",
    {
      ranges: [
        range("ECOSYSTEM", [
          ["introduced", "0"],
          ["fixed", "1.0-r2"],
        ]),
      ],
    },
    "+0 +1.0_rc1 +1.0-r1 -1.0-r2 -1.0.1",
  ],
  [
    "Debian",
    "Debian:12",
    {
      ranges: [
        range("ECOSYSTEM", [
          ["introduced", "0"],
          ["fixed", "1:1.0-1"],
        ]),
      ],
    },
    "+0 +2.0 +1:1.0~rc1-1 -1:1.0-1",
  ],
];

for (const [title, ecosystem, entry, verdicts] of told) {
  test(`evaluation: ${title}`, () => {
    const signs: Readonly<Record<string, string>> = { affected: "+", unaffected: "-", "not judged": "?" };
    for (const each of verdicts.split(" ")) assert.equal(`${signs[judge(ecosystem, entry, each.slice(1))]}${each.slice(1)}`, each);
  });
}

test("only the same package, ecosystem and release match; PyPI names match in any spelling", () => {
  const all = { ranges: [range("ECOSYSTEM", [["introduced", "0"]])] };
  const about = (ecosystem: string, name: string, asked: { ecosystem: string; name: string }): string =>
    judgeVersion({ affected: [{ package: { ecosystem, name }, ...all }, all] }, asked, "1").verdict;
  assert.equal(about("PyPI", "Some_Thing.x", { ecosystem: "PyPI", name: "some-thing-X" }), "affected");
  assert.equal(about("npm", "Some_Thing", { ecosystem: "npm", name: "some-thing" }), "unaffected");
  assert.equal(about("npm", "it", { ecosystem: "PyPI", name: "it" }), "unaffected");
  assert.equal(about("Debian:12", "it", { ecosystem: "Debian", name: "it" }), "unaffected");
});

test('"not judged" always comes with a reason', () => {
  for (const [, ecosystem, entry, verdicts] of told) {
    for (const each of verdicts.split(" ").filter((one) => one.startsWith("?"))) {
      const found = judgeVersion(record(ecosystem, ...[entry].flat()), { ecosystem, name: "it" }, each.slice(1));
      assert(found.verdict === "not judged" && found.reason.length > 10);
    }
  }
});

// The schema's own evaluation, literal and slow.

const version = fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 2 }), fc.constantFrom("0", "1", "1-0", "1-rc.1")).map((parts) => parts.join("."));
const event = fc.oneof(
  fc.constant(["introduced", "0"] as const),
  fc.tuple(fc.constantFrom("introduced", "fixed", "last_affected", "limit"), version),
) as fc.Arbitrary<Events[number]>;
const ranges = fc.array(
  fc.array(event, { minLength: 1, maxLength: 6 }).filter((events) => events.some(([kind]) => kind === "introduced")),
  { maxLength: 3 },
);

const order = ["introduced", "last_affected", "fixed", "limit"];
const compare = (one: string, other: string): number => (one === other ? 0 : one === "0" ? -1 : other === "0" ? 1 : semver.compare(one, other));

const evaluateSlowly = (all: readonly Events[], asked: string): boolean =>
  all.some((events) => {
    const limited = events.filter(([kind]) => kind === "limit");
    if (limited.length > 0 && !limited.some(([, limit]) => compare(asked, limit) < 0)) return false;
    let vulnerable = false;
    for (const [kind, bound] of [...events].sort((one, other) => compare(one[1], other[1]) || order.indexOf(one[0]) - order.indexOf(other[0]))) {
      if (kind === "introduced" && compare(asked, bound) >= 0) vulnerable = true;
      else if (kind === "fixed" && compare(asked, bound) >= 0) vulnerable = false;
      else if (kind === "last_affected" && compare(asked, bound) > 0) vulnerable = false;
    }
    return vulnerable;
  });

test("for any ranges and any version, the verdict equals the schema's own evaluation", () => {
  fc.assert(
    fc.property(ranges, fc.array(version, { maxLength: 3 }), version, (all, versions, asked) => {
      const entry = { versions, ranges: all.map((events) => range("SEMVER", events)) };
      const expected = versions.includes(asked) || evaluateSlowly(all, asked) ? "affected" : "unaffected";
      assert.equal(judge("npm", entry, asked), expected);
    }),
    { numRuns: runs(5_000) },
  );
});

test("a version in the list matches in any equivalent form, in every ecosystem's order", () => {
  for (const [ecosystem, one, other] of [
    ["PyPI", "1.0c1", "01.0.0-rc.1"],
    ["PyPI", "1.0-10", "v1.0.post10"],
    ["npm", "1.0.0+build.7", "v1"],
    ["Go", "go1.21rc1", "1.21.0-rc.1"],
    ["RubyGems", "1.0-a", "1.pre.a.0"],
    ["Maven", "1.0.0-rc1", "1-CR-1"],
    ["NuGet", "1.0.0.0-BETA", "1.0-beta+9"],
    ["Packagist", "1.0a1", "v1.0.0.0-alpha.1"],
    ["Debian:12", "0:1.0-0", "1.00"],
    ["AlmaLinux:9", "1.0-1.el9", "0:1.00-01_el9"],
    ["CRAN", "1.0-1", "1.0.1"],
    ["opam", "01.0", "1.0"],
  ] as const) {
    for (const [listed, asked] of [
      [one, other],
      [other, one],
    ] as const)
      assert.equal(judge(ecosystem, { versions: ["9", listed] }, asked), "affected", `${listed} ${asked}`);
    assert.equal(judge(ecosystem, { versions: ["9", one] }, "1.0.2"), "unaffected");
  }
});

test("a list of thousands of versions is searched in a few milliseconds of CPU time", () => {
  const versions = Array.from({ length: 5_000 }, (_, index) => `${index % 7}.${index}.0.post1`);
  const started = process.cpuUsage();
  for (let round = 0; round < 50; round++) assert.equal(judge("PyPI", { versions }, `8.${round}`), "unaffected");
  // CPU time of this process; wall time includes other programs.
  assert(process.cpuUsage(started).user / 1000 / 50 < 10);
});

test("hostile records are evaluated quickly or not at all", () => {
  const started = performance.now();
  const many: Events = Array.from({ length: limits.rangeEventsMax }, (_, index) => [index % 2 === 0 ? "introduced" : "fixed", `1.${index}.0`]);
  assert.equal(judge("npm", { ranges: [range("SEMVER", many)] }, "1.4.5"), "affected");
  assert.equal(judge("npm", { ranges: [range("SEMVER", [...many, ["introduced", "0"]])] }, "1.4.5"), "not judged");
  const long = "1".repeat(1_000_000);
  for (const ecosystem of ["npm", "Go", "PyPI", "RubyGems", "Maven", "NuGet", "Packagist", "Debian", "AlmaLinux", "Wolfi", "CRAN", "opam"]) {
    assert.equal(judge(ecosystem, { ranges: [range("ECOSYSTEM", [["introduced", long]])] }, "1"), "not judged");
    assert.equal(judge(ecosystem, { ranges: [range("ECOSYSTEM", [["introduced", "1"]])] }, `${long}-${long}`), "not judged");
    for (const part of ["1.", "1-", "a", "~", "-a1", ".0", "1a"])
      judge(ecosystem, { ranges: [range("ECOSYSTEM", [["introduced", part.repeat(250)]])] }, part.repeat(256));
  }
  assert(performance.now() - started < 5_000);
});

test("any JSON is accepted as a record without an exception", () => {
  const strange = fc.record({ package: fc.constant({ ecosystem: "npm", name: "it" }), ranges: fc.jsonValue(), versions: fc.jsonValue() });
  fc.assert(
    fc.property(
      fc.oneof(fc.array(strange), fc.jsonValue()),
      (affected) => void judgeVersion({ affected } as JsonObject, { ecosystem: "npm", name: "it" }, "1"),
    ),
  );
});
