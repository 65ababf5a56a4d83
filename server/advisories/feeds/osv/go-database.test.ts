// Tests the version from which Go clients skip a record, which must never be too early.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { lastFixed } from "./go-database.ts";

const range = (events: readonly JsonObject[], type = "SEMVER"): JsonObject => ({ type, events: [...events] });
const [begins, fixed1, fixed2, begins3]: readonly JsonObject[] = [{ introduced: "0" }, { fixed: "1.10.0" }, { fixed: "1.9.0" }, { introduced: "3.0.0" }];
assert(begins && fixed1 && fixed2 && begins3);

test("a module's last fixed version is undefined if a range is open, versions are listed, or the order is unknown", () => {
  const told: readonly (readonly [title: string, entries: readonly JsonObject[], expected: string | undefined])[] = [
    ["one range", [{ ranges: [range([begins, fixed1])] }], "1.10.0"],
    ["in any order", [{ ranges: [range([fixed1, begins])] }], "1.10.0"],
    ["two ranges, by the order of versions", [{ ranges: [range([begins, fixed2]), range([begins, fixed1])] }], "1.10.0"],
    ["two entries", [{ ranges: [range([begins, fixed1])] }, { ranges: [range([begins, fixed2])] }], "1.10.0"],
    ["introduced again", [{ ranges: [range([begins, fixed1, begins3])] }], undefined],
    ["one of two ranges is open", [{ ranges: [range([begins, fixed1]), range([begins])] }], undefined],
    ["one of two entries is open", [{ ranges: [range([begins3])] }, { ranges: [range([begins, fixed1])] }], undefined],
    ["a list of versions", [{ versions: ["9.0.0"], ranges: [range([begins, fixed1])] }], undefined],
    ["commits", [{ ranges: [range([begins, fixed1], "GIT")] }], undefined],
    ["the last affected one", [{ ranges: [range([begins, { last_affected: "2.0.0" }])] }], undefined],
    ["no version", [{ ranges: [range([begins, { fixed: "next" }])] }], undefined],
    ["neither list nor range", [{}], undefined],
  ];
  for (const [title, entries, expected] of told) assert.equal(lastFixed(entries), expected, title);
});
