// Tests that lists of names are checked as strictly as single fields.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { Field } from "./field.ts";
import { FieldError } from "./invalid.ts";

const entries: readonly Json[] = ["1.0", " 1 ", "", " ", "a\u0000", "a\nb", "\ud800", "a".repeat(limits.feedNameLengthMax + 1), null, 1, {}, []];

test("a list of names refuses exactly the entries that are refused individually, with their path", () => {
  for (const entry of entries) {
    const document = new Field({ versions: ["0", entry] });
    let expected: FieldError | undefined;
    try {
      for (const each of document.at("versions").list()) each.required();
    } catch (thrown) {
      assert.ok(thrown instanceof FieldError);
      expected = thrown;
    }
    if (expected === undefined) document.at("versions").requireNames();
    else assert.throws(() => document.at("versions").requireNames(), expected);
  }
});

test("the text of a time is its value formatted, for usual and unusual spellings and days that do not exist", () => {
  const dates = ["2024-02-28", "2024-02-29", "2023-02-29", "2024-02-30", "2024-12-31", "2024-13-01", "2024-00-10", "0000-01-01", "0001-01-01", "9999-12-31"];
  const clocks = ["", "T00:00:00Z", "t23:59:59z", "T24:00:00Z", "T12:60:00Z", "T12:00:60Z", "T08:00:00.5Z", "T08:00:00.123Z", "T08:00:00.1239Z", " 08:00:00"];
  const offsets = ["T01:00:00+02:00", "T23:00:00.000-02:00", "T08:00:00", "T08:00Z", "T08:00:00.Z", "\nT08:00:00Z", "T08:00:00Z "];
  const read = <T>(of: () => T): T | string => {
    try {
      return of();
    } catch (thrown) {
      assert.ok(thrown instanceof FieldError);
      return thrown.message;
    }
  };
  for (const date of dates)
    for (const clock of [...clocks, ...offsets]) {
      const field = new Field(`${date}${clock}`);
      const value = read(() => field.time());
      assert.equal(
        read(() => field.timeText()),
        typeof value === "number" ? timestamp(value) : value,
        `${date}${clock}`,
      );
    }
  assert.equal(new Field(undefined).timeText(), undefined);
});
