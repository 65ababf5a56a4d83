// GitHub's version expressions as OSV events.

import assert from "node:assert/strict";
import { test } from "node:test";
import { githubAffected } from "./github-range.ts";

const said: readonly (readonly [ecosystem: string, expression: string, firstPatched: string, expected: object])[] = [
  ["PyPI", "< 1.5", "", { events: [{ introduced: "0" }, { fixed: "1.5" }] }],
  ["PyPI", "< 1.5", "1.6", { events: [{ introduced: "0" }, { fixed: "1.5" }] }],
  ["PyPI", ">= 1.0, < 1.5", "1.5", { events: [{ introduced: "1.0" }, { fixed: "1.5" }] }],
  ["PyPI", "<1.5,>=1.0", "", { events: [{ introduced: "1.0" }, { fixed: "1.5" }] }],
  ["Maven", "<= 2.0", "", { events: [{ introduced: "0" }, { last_affected: "2.0" }] }],
  ["Maven", "<= 2.0", "2.0.1", { events: [{ introduced: "0" }, { fixed: "2.0.1" }] }],
  ["Maven", ">= 1.0.Final, <= 2.0", "", { events: [{ introduced: "1.0.Final" }, { last_affected: "2.0" }] }],
  ["RubyGems", "= 1.2.3", "", { versions: ["1.2.3"] }],
  ["RubyGems", "= 1.2.3", "1.2.4", { events: [{ introduced: "1.2.3" }, { fixed: "1.2.4" }] }],
  ["GitHub Actions", ">= 3", "", { events: [{ introduced: "3" }] }],
  ["npm", "> 1.2.3", "", { events: [{ introduced: "1.2.4-0" }] }],
  ["npm", "> 1.2.3-rc.1, < 2.0.0", "", { events: [{ introduced: "1.2.3-rc.1.0" }, { fixed: "2.0.0" }] }],
  ["npm", "> 1.2.3", "1.3.0", { events: [{ introduced: "1.2.4-0" }, { fixed: "1.3.0" }] }],
];

test("a GitHub expression becomes one OSV range or a list of versions", () => {
  for (const [ecosystem, expression, firstPatched, expected] of said)
    assert.deepEqual(githubAffected(ecosystem, expression, firstPatched), expected, `${ecosystem} ${expression}`);
});

test("an expression that is invalid, or that starts after a version without a known successor, is refused with a reason", () => {
  for (const [ecosystem, expression] of [
    ["PyPI", "> 1.0"],
    ["npm", "> 1.0.x"],
    ["npm", ""],
    ["npm", "1.0"],
    ["npm", "^1.0"],
    ["npm", "< 1.0 || > 2.0"],
    ["npm", "< 1.0, < 2.0"],
    ["npm", "= 1.0, < 2.0"],
    ["npm", ">= 1.0,"],
    ["npm", ">="],
    ["npm", `< ${"1".repeat(1000)}`],
  ] as const) {
    const found = githubAffected(ecosystem, expression);
    assert("reason" in found && found.reason !== "", `${ecosystem} ${expression}`);
  }
});
