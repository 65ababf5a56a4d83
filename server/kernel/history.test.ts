// Which days a count by day has counted completely.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countedDays } from "./verbs/history.ts";

const nowMs = Date.parse("2026-03-02T10:00:00.000Z");
const found = [
  { day: "2026-03-02", read: 3 },
  { day: "2026-02-28", read: 4 },
];

test("days without rows are counted, and the last day of a count that stopped is left out with all earlier ones", () => {
  const days = ["2026-03-02", "2026-03-01", "2026-02-28", "2026-02-27"];
  assert.deepEqual(countedDays(found, { nowMs, dayCount: 4, rowsMax: 8 }), days);
  assert.deepEqual(countedDays(found, { nowMs, dayCount: 4, rowsMax: 7 }), days.slice(0, 2));
  assert.deepEqual(countedDays([], { nowMs, dayCount: 4, rowsMax: 7 }), days);
});
