import assert from "node:assert/strict";
import { test } from "node:test";
import { brokenLine, lineOf } from "./json-line.ts";

test("the line of a value is found by its path, and of the nearest enclosing one where it is missing", () => {
  const json = '{\n "a": [1,\n  {"b\\"c": [\n   true]}],\n "d": {}\n}';
  assert.equal(lineOf(json, []), 1);
  assert.equal(lineOf(json, ["a"]), 2);
  assert.equal(lineOf(json, ["a", 1]), 3);
  assert.equal(lineOf(json, ["a", 1, 'b"c', 0]), 4);
  assert.equal(lineOf(json, ["d", "missing"]), 5);
});

const broken: readonly (readonly [json: string, line: number])[] = [
  ["", 1],
  ["{", 1],
  ['{\n "a": 1\n\n', 2],
  ['{\n "a": ,\n "b": 2\n}', 2],
  ['{\n "a": 1\n "b": 2\n}', 3],
  ['{\n "a": 1,\n}\n', 3],
  ["[\n 1,\n 01\n]", 3],
  ["[\n 1\n}\n", 3],
  ["[\n tru\n]", 2],
  ['[\n "a\n"]', 2],
  ['[\n "\\x"\n]', 2],
  ["[]\n\n]", 3],
  ["{\n a: 1}", 2],
  ["[\n1.e3]", 2],
];

for (const [json, line] of broken)
  test(`in ${JSON.stringify(json)} the mistake is on line ${line}`, () => {
    assert.throws(() => JSON.parse(json));
    assert.equal(brokenLine(json), line);
  });

test("a text that is JSON is read to its end", () => {
  const json = '\n{"a": [1, -0.5e+3, "x\\u00e9\\"", true, null, {}, []],\n "b": {"c": "€"}}\n\n';
  assert.doesNotThrow(() => JSON.parse(json));
  assert.equal(brokenLine(json), 3);
});
