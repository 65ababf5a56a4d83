// RustSec's requirements and the ranges that are left between them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOutside, RequirementError } from "./cargo-versions.ts";

const shown = (requirements: readonly string[]): string =>
  eventsOutside(requirements)
    .map(({ introduced, fixed }) => `${introduced}..${fixed ?? ""}`)
    .join(" ");

test("what no requirement matches is affected, from the lowest version on and up to the bound itself", () => {
  for (const [requirements, expected] of [
    [[], "0.0.0-0.."],
    [["*"], ""],
    [[">= 5.1.0"], "0.0.0-0..5.1.0"],
    [[">= 5.1"], "0.0.0-0..5.1.0"],
    [["> 1.2.3"], "0.0.0-0..1.2.4-0"],
    [["> 1.2.3-rc.1"], "0.0.0-0..1.2.3-rc.1.0"],
    [["<= 1.2.3"], "1.2.4-0.."],
    [["< 1.2.3"], "1.2.3.."],
    [["=1.2.3"], "0.0.0-0..1.2.3 1.2.4-0.."],
    [["^1.2.3"], "0.0.0-0..1.2.3 2.0.0-0.."],
    [["1.2.3"], "0.0.0-0..1.2.3 2.0.0-0.."],
    [["^0.2.3"], "0.0.0-0..0.2.3 0.3.0-0.."],
    [["^0.0.3"], "0.0.0-0..0.0.3 0.0.4-0.."],
    [["^0.0"], "0.0.0-0..0.0.0 0.1.0-0.."],
    [["^0"], "0.0.0-0..0.0.0 1.0.0-0.."],
    [["~1.2.3"], "0.0.0-0..1.2.3 1.3.0-0.."],
    [["~1"], "0.0.0-0..1.0.0 2.0.0-0.."],
    [["< 0.5.0, >= 0.4.2", ">=0.5.3"], "0.0.0-0..0.4.2 0.5.0..0.5.3"],
    // Overlapping, touching, within one another, and in no order.
    [[">= 2.0.0", ">= 1.0.0, < 1.5.0", "^1.4.0", "< 0.1.0"], "0.1.0..1.0.0 2.0.0-0..2.0.0"],
    [[">= 2.0.0, < 1.0.0"], "0.0.0-0.."],
    [[">= 1.0.0+build.5"], "0.0.0-0..1.0.0"],
    [[">= 99999999999999999999.0.0"], "0.0.0-0..99999999999999999999.0.0"],
  ] as const)
    assert.equal(shown(requirements), expected, requirements.join(" | "));
});

test("pre-releases are in the order of Semantic Versioning", () => {
  const versions = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0"];
  for (const [index, version] of versions.slice(1).entries()) {
    const before = versions[index] ?? "";
    assert.equal(shown([`< ${before}`, `>= ${version}`]), `${before}..${version}`);
    // Nothing lies between where the bounds are the other way round.
    assert.equal(shown([`< ${version}`, `>= ${before}`]), "");
  }
});

test("what is no requirement, or means two things, has no range at all", () => {
  for (const requirement of ["", "1.x", ">= 1.2.3.4", "> 1.2", "<= 1", "= 1.2", ">= 01.2.3", "latest", "1.2.3 ||", ">> 1.0.0"])
    assert.throws(() => eventsOutside([requirement]), RequirementError, requirement);
});
