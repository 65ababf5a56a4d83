import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readTimestamp, timestamp } from "./time.ts";

test("a time is read in every form that RFC 3339 has, to the millisecond", () => {
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

test("what is no time, no day of the calendar, or beyond protobuf's years is no time", () => {
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

test("every time that we write is read back", () => {
  const range = { min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59.999Z"), noInvalidDate: true };
  fc.assert(fc.property(fc.date(range), (date) => assert.equal(readTimestamp(timestamp(date.getTime())), date.getTime())));
});
