// Version ranges of the package URL specification (vers).

import assert from "node:assert/strict";
import { test } from "node:test";
import { isInRange, readVersionRange } from "./vers.ts";

/** [range, versions in it, versions outside] */
const ranges: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["vers:npm/1.2.3", ["1.2.3"], ["1.2.4", "1.2.2"]],
  ["vers:npm/=1.2.3|>=2.0.0|<2.1.0", ["1.2.3", "2.0.0", "2.0.9"], ["1.9.0", "2.1.0", "1.2.4"]],
  ["vers:npm/>=1.0.0|<2.0.0|!=1.5.0", ["1.0.0", "1.5.1"], ["1.5.0", "2.0.0", "0.9.0"]],
  ["vers:npm/<1.0.0|>=2.0.0|<3.0.0|>4.0.0", ["0.1.0", "2.5.0", "4.0.1"], ["1.0.0", "1.5.0", "3.0.0", "4.0.0"]],
  ["vers:npm/<2.0.0|>=1.0.0", ["1.0.0", "1.9.9"], ["2.0.0", "0.9.0"]],
  ["vers:npm/!=1.0.0", ["0.9.0", "2.0.0"], ["1.0.0"]],
  ["vers:pypi/>=1.0|<1.10", ["1.9", "1.0.post1", "1.10rc1"], ["1.10", "0.9"]],
  ["vers:rpm/<0:5.1.8-6.el9", ["5.1.8-5.el9"], ["0:5.1.8-6.el9", "5.2-1"]],
  ["vers:deb/<1%3A2.0-1", ["9.0-1", "1:1.9-1"], ["1:2.0-1"]],
  ["vers:alpine/<=1.36.1-r9", ["1.36.1_rc1-r11", "1.36.1-r9"], ["1.36.1-r10"]],
  ["vers:maven/*", ["1", "2-alpha"], []],
];

for (const [written, inside, outside] of ranges) {
  test(`${written} contains ${inside.join(", ")} and not ${outside.join(", ")}`, () => {
    const range = readVersionRange(written);
    assert.ok(range);
    assert.deepEqual(
      inside.map((version) => isInRange(range, version)),
      inside.map(() => true),
    );
    assert.deepEqual(
      outside.map((version) => isInRange(range, version)),
      outside.map(() => false),
    );
  });
}

test("a range without a known order, or with a bound that is not a version, is refused", () => {
  for (const written of [
    "",
    "1.0 - 2.0",
    "vers:generic/<1.0",
    "vers:npm/",
    "vers:npm/<not a version",
    "vers:npm/*|<1.0.0",
    "vers:pypi/<x.y",
    `vers:npm/${"1.0.0|".repeat(50_000)}2.0.0`,
  ])
    assert.equal(readVersionRange(written), undefined, written.slice(0, 40));
  const range = readVersionRange("vers:pypi/<2");
  assert.ok(range);
  assert.equal(isInRange(range, "not a version"), undefined);
});
