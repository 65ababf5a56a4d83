import assert from "node:assert/strict";
import { test } from "node:test";
import { parseParameters } from "./query.ts";
import { fc } from "../../test/property.ts";

test("a query is split and decoded once, in order", () => {
  assert.deepEqual(parseParameters("order_by=created_at%20desc&name=a+b&uidp.ids=1&uidp.ids=2&flag&&=x&e=").pairs, [
    ["order_by", "created_at desc"],
    ["name", "a b"],
    ["uidp.ids", "1"],
    ["uidp.ids", "2"],
    ["flag", ""],
    ["", "x"],
    ["e", ""],
  ]);
  assert.deepEqual(parseParameters("a=%2526").pairs, [["a", "%26"]]);
  assert.deepEqual(parseParameters("a=b=c").pairs, [["a", "b=c"]]);
  assert.deepEqual(parseParameters("").pairs, []);
});

test("an undecodable parameter is a problem with its name, and the others are read", () => {
  const { pairs, problems } = parseParameters("name=%zz&skip=1&%ff=2");
  assert.deepEqual(pairs, [["skip", "1"]]);
  assert.deepEqual(
    problems.map((problem) => problem.field),
    ["name", "%ff"],
  );
});

test("URLSearchParams output is read back unchanged", () => {
  const texts = fc.array(fc.tuple(fc.string({ unit: "binary" }), fc.string({ unit: "binary" })).filter(([a, b]) => `${a}${b}`.isWellFormed() && a !== ""));
  fc.assert(fc.property(texts, (pairs) => assert.deepEqual(parseParameters(new URLSearchParams(pairs).toString()).pairs, pairs)));
});
