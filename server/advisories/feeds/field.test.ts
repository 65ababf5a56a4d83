// Tests that lists of names are checked as strictly as single fields.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
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
