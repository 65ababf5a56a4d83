import assert from "node:assert/strict";
import { test } from "node:test";
import { lruCache, entryWeightOf } from "./lru-cache.ts";

test("the least recently used entry is evicted, and peek is not a use", () => {
  const map = lruCache<number>(3);
  for (const key of ["a", "b", "c"]) map.set(key, 1);
  map.peek("a");
  map.use("b");
  map.set("d", 1);
  assert.deepEqual(
    ["a", "b", "c", "d"].map((key) => map.peek(key)),
    [undefined, 1, 1, 1],
  );
  map.set("e", 1);
  assert.deepEqual(
    ["b", "c", "d", "e"].map((key) => map.peek(key)),
    [1, undefined, 1, 1],
  );
});

test("the total weight is bounded: a heavy entry evicts several, and one beyond the limit is not stored", () => {
  const map = lruCache<number>(10);
  for (let n = 0; n < 10; n++) map.set(`k${n}`, n);
  map.set("heavy", 1, 5);
  assert.equal(map.size, 6);
  map.set("heavy", 2, 1);
  map.set("k10", 1);
  assert.equal(map.size, 7, "replacing gives the old weight back");
  map.set("too heavy", 1, 11);
  assert.equal(map.peek("too heavy"), undefined);
  assert.equal(map.size, 7);
  assert.equal(entryWeightOf("x".repeat(1024)), 1);
  assert.equal(entryWeightOf("x".repeat(1024), "y"), 2);
});
