import assert from "node:assert/strict";
import { test } from "node:test";
import { fc, runs } from "../test/property.ts";
import { findRepeatedKey } from "./json-keys.ts";

test("a key that occurs twice in an object is found, however it is escaped, and no other is reported", () => {
  for (const [text, found] of [
    ['{"a":1,"a":2}', "a"],
    ['{"a":1,"b":{"a":1,"c":[{"d":1},{"d":1}]},"c":"a"}', undefined],
    ['{"a":1,"\\u0061":2}', "a"],
    ['{ "a" \n:\t1 , "b":"\\"a\\":", "a" : 2}', "a"],
    ['{"a":"\\\\","a":1}', "a"],
    ['{"a\\"":1,"a\\\\":2,"a":3}', undefined],
    ['[{"x":{}},{"x":{"y":[],"y":{}}}]', "y"],
    ['{"__proto__":1,"__proto__":2}', "__proto__"],
    ['{"":1,"":2}', ""],
    ['["a","a",":"]', undefined],
    ['"a"', undefined],
    ["1", undefined],
    ["{}", undefined],
  ] as const)
    assert.equal(findRepeatedKey(text), found, text);
});

test("output of JSON.stringify has no repeated key, and repeating one is detected", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.integer({ min: 0, max: 3 }), (value, indent) => {
      assert.equal(findRepeatedKey(JSON.stringify(value, null, indent)), undefined);
    }),
    { numRuns: runs(500) },
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1, noNullPrototype: true }), (object) => {
      const [[key = "", value] = []] = Object.entries(object);
      const whole = JSON.stringify(object);
      assert.equal(findRepeatedKey(`{"outer":[${whole.slice(0, -1)},${JSON.stringify(key)}:${JSON.stringify(value)}}]}`), key);
    }),
    { numRuns: runs(500) },
  );
});
