// Lifecycle states of versions per day, and versions of tags.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { LifecycleRelease } from "#advisories/store";
import { addMonths, lifeOf, releaseOf } from "./release.ts";

const release = (given: Partial<LifecycleRelease>): LifecycleRelease => ({
  version: "18",
  releaseDate: "2022-04-19",
  end: "2025-04-30",
  lts: "",
  latest: "",
  broken: false,
  ...given,
});

test("a version is active until its end date, then in grace for the product's grace months, then inactive", () => {
  for (const [day, expected] of [
    ["2025-04-29", ["TAG_ACTIVE", "GRACE_ELIGIBLE", ""]],
    ["2025-04-30", ["TAG_IN_GRACE", "GRACE_ACTIVE", "2025-10-30"]],
    ["2025-10-29", ["TAG_IN_GRACE", "GRACE_ACTIVE", "2025-10-30"]],
    ["2025-10-30", ["TAG_INACTIVE", "GRACE_EXPIRED", "2025-10-30"]],
  ] as const) {
    assert.deepEqual(Object.values(lifeOf(release({}), 6, day)), expected, day);
  }
});

test("without grace months, an exact end date, or a working build, an ended version is inactive at once", () => {
  for (const [given, months, day, expected] of [
    [{}, 0, "2025-04-29", ["TAG_ACTIVE", "GRACE_NOT_ELIGIBLE", ""]],
    [{}, 0, "2025-04-30", ["TAG_INACTIVE", "GRACE_NOT_ELIGIBLE", ""]],
    [{ end: "true" }, 6, "2000-01-01", ["TAG_INACTIVE", "GRACE_NOT_ELIGIBLE", ""]],
    [{ end: "" }, 6, "2999-01-01", ["TAG_ACTIVE", "GRACE_NOT_ELIGIBLE", ""]],
    [{ broken: true }, 6, "2025-04-29", ["TAG_ACTIVE", "GRACE_NOT_ELIGIBLE", ""]],
    [{ broken: true }, 6, "2025-05-01", ["TAG_INACTIVE", "GRACE_BROKEN", ""]],
  ] as const) {
    assert.deepEqual(Object.values(lifeOf(release(given), months, day)), expected, JSON.stringify([given, months, day]));
  }
});

test("months are added by the calendar", () => {
  for (const [day, months, expected] of [
    ["2025-04-30", 6, "2025-10-30"],
    ["2025-08-31", 6, "2026-02-28"],
    ["2023-08-31", 6, "2024-02-29"],
    ["2025-12-31", 2, "2026-02-28"],
    ["2025-12-01", 1, "2026-01-01"],
    ["2025-01-31", 120, "2035-01-31"],
  ] as const) {
    assert.equal(addMonths(day, months), expected, `${day} and ${months}`);
  }
});

test("a tag belongs to the longest version line that it starts with, if any", () => {
  const releases = ["3", "3.1", "3.12", "noetic", "8", "7", "1.0-python-2"].map((version) => release({ version }));
  for (const [tag, expected] of [
    ["3.12", "3.12"],
    ["v3.12.4-slim", "3.12"],
    ["3.120", "3"],
    ["3.1-alpine3.19", "3.1"],
    ["3-dev", "3"],
    ["8u402-jre", "8"],
    ["7rc1", "7"],
    ["7f3a9bc", undefined],
    ["Noetic-ros-base", "noetic"],
    ["1.0-python-2", "1.0-python-2"],
    ["1.0-python-3", undefined],
    ["latest", undefined],
    ["33", undefined],
    ["", undefined],
  ] as const) {
    assert.equal(releaseOf({ releases }, tag)?.version, expected, tag);
  }
});
