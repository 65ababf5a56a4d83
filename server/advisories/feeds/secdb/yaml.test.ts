// Tests written YAML with another library, under YAML 1.1 and 1.2.

import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import type { Json } from "#base/json.ts";
import { fc, runs } from "../../../../test/property.ts";
import { yamlOf } from "./yaml.ts";

const cases: readonly (readonly [string, Json])[] = [
  ["nothing", {}],
  ["nothing in it", { packages: [], pkg: {} }],
  ["texts that are taken for something else", { a: ["0", "1.10", "yes", "null", "2001-01-01", "12:30", "~", "", " ", "- x", "# x", "a: b", "&x", "*x", "!x"] }],
  ["keys that are", { "0": "a", "1.10": "b", yes: "c", "": "d", "a: b": "e", "- x": "f" }],
  ["quotes, breaks and signs of other languages", { a: '"\\\n\t\u0085\u2028\u007fé𝄞' }],
  ["lists in lists", [[["a"], []], [{}], [{ a: [{ b: "c" }] }]]],
  ["values that are no texts", { a: 1, b: 1.5, c: true, d: null }],
];

for (const [title, value] of cases)
  test(`${title}: parses to the original value`, () => {
    for (const version of ["1.1", "1.2"] as const) assert.deepEqual(parse(yamlOf(value), { version }), value);
  });

test("any texts parse to the original, and the output is ASCII only", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.array(fc.string({ unit: "binary" }))), (drawn) => {
      const value: Json = JSON.parse(JSON.stringify(drawn)) as Json;
      const written = yamlOf(value);
      assert.match(written, /^[\x20-\x7e\n]*$/);
      assert.deepEqual(parse(written, { version: "1.1" }), value);
    }),
    { numRuns: runs(250) },
  );
});
