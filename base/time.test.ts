import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../test/property.ts";
import { readTimestamp, timestamp } from "./time.ts";

test("every form of an RFC 3339 time is parsed to the millisecond", () => {
  for (const [text, read] of [
    ["2026-01-31T08:00:00Z", "2026-01-31T08:00:00.000Z"],
    ["2026-01-31t08:00:00z", "2026-01-31T08:00:00.000Z"],
    ["2026-01-31T08:00:00.5Z", "2026-01-31T08:00:00.500Z"],
    ["2026-01-31T08:00:00.123999999999Z", "2026-01-31T08:00:00.123Z"],
    ["2026-01-31T08:00:00+02:30", "2026-01-31T05:30:00.000Z"],
    ["2026-01-31T23:30:00-00:45", "2026-02-01T00:15:00.000Z"],
    ["2026-01-31T08:00:00-00:00", "2026-01-31T08:00:00.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["0099-06-01T00:00:00Z", "0099-06-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999Z"],
  ] as const) {
    const milliseconds = readTimestamp(text);
    assert.ok(milliseconds !== undefined, text);
    assert.equal(timestamp(milliseconds), read, text);
  }
});

test("invalid times, impossible dates and years outside protobuf's range are refused", () => {
  for (const text of [
    "",
    "2026-01-31",
    "2026-01-31T08:00:00",
    "2026-01-31 08:00:00Z",
    "2026-01-31T08:00Z",
    "2026-1-31T08:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T08:60:00Z",
    "2016-12-31T23:59:60Z",
    "2026-01-31T08:00:00.Z",
    "2026-01-31T08:00:00+24:00",
    "2026-01-31T08:00:00+01:60",
    "2026-01-31T08:00:00+0100",
    "0000-12-31T23:59:59Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "+010000-01-01T00:00:00Z",
    "may 1",
  ])
    assert.equal(readTimestamp(text), undefined, text);
});

test("a formatted time parses to the same millisecond at any offset", () => {
  const range = { min: Date.parse("0001-01-02T00:00:00Z"), max: Date.parse("9999-12-30T00:00:00Z") };
  fc.assert(
    fc.property(fc.integer(range), fc.integer({ min: -1439, max: 1439 }), (milliseconds, offsetMinutes) => {
      assert.equal(readTimestamp(timestamp(milliseconds)), milliseconds);
      const digits = (count: number): string => String(count).padStart(2, "0");
      const offset = `${offsetMinutes < 0 ? "-" : "+"}${digits(Math.floor(Math.abs(offsetMinutes) / 60))}:${digits(Math.abs(offsetMinutes) % 60)}`;
      assert.equal(readTimestamp(timestamp(milliseconds + offsetMinutes * 60_000).replace("Z", offset)), milliseconds);
    }),
  );
});

test("impossible days and hours, bare dates and years beyond four digits are refused", () => {
  for (const text of [
    "2025-02-30T00:00:00Z",
    "2025-02-29T00:00:00Z",
    "2025-13-01T00:00:00Z",
    "2025-00-01T00:00:00Z",
    "2025-01-00T00:00:00Z",
    "2025-01-01T24:00:00Z",
    "2025-01-01T23:60:00Z",
    "2025-01-01T23:59:60Z",
    "2025-01-01T00:00:00",
    "2025-01-01T00:00:00+24:00",
    "2025-01-01T00:00:00.Z",
    "2025-01-01 00:00:00Z",
    "2025-01-01",
    "may 1",
    "+300000-01-01T00:00:00Z",
    "0000-12-31T23:59:59Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "",
  ])
    assert.equal(readTimestamp(text), undefined, text);
  assert.equal(readTimestamp("2024-02-29T00:00:00Z"), Date.UTC(2024, 1, 29));
  assert.equal(readTimestamp("2025-01-01t00:00:00.1239z"), Date.UTC(2025, 0, 1, 0, 0, 0, 123));
});
