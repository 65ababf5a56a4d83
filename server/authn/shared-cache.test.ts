// Shares of a cache: insertions of one tenant evict nothing of another's.

import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedCache } from "./shared-cache.ts";

test("a tenant beyond its share loses its own oldest entries only", () => {
  const cache = sharedCache<number>(10, 100);
  cache.set("theirs", 1, "b");
  for (let n = 0; n < 1000; n++) cache.set(`made up ${n}`, n, "a");
  assert.equal(cache.size, 11);
  assert.equal(cache.use("theirs", "b"), 1);
  assert.deepEqual([cache.peek("made up 989"), cache.peek("made up 990")], [undefined, 990]);
});

test("a shared entry stays until its last holder evicts it", () => {
  const cache = sharedCache<number>(2, 100);
  cache.set("common", 1, "a");
  assert.equal(cache.use("common", "b"), 1);
  for (const key of ["x", "y"]) cache.set(key, 2, "a");
  assert.equal(cache.peek("common"), 1);
  for (const key of ["v", "w"]) cache.set(key, 3, "b");
  assert.equal(cache.peek("common"), undefined);
});

test("a renewed entry is renewed for all its holders, with its new weight", () => {
  const cache = sharedCache<number>(4, 100);
  cache.set("common", 1, "a");
  cache.use("common", "b");
  cache.set("b's own", 1, "b", 2);
  cache.set("common", 2, "a", 3);
  assert.deepEqual([cache.use("common", "b"), cache.peek("b's own")], [2, undefined]);
});

test("an entry heavier than a share is kept alone", () => {
  const cache = sharedCache<number>(4, 100);
  cache.set("light", 1, "a");
  cache.set("heavy", 2, "a", 9);
  assert.deepEqual([cache.peek("light"), cache.peek("heavy")], [undefined, 2]);
});

test("beyond the maximum of tenants, the least recent one is evicted with the entries that only it holds", () => {
  const cache = sharedCache<number>(4, 2);
  cache.set("first", 1, "a");
  cache.set("second", 2, "b");
  cache.use("second", "a");
  cache.set("third", 3, "c");
  assert.deepEqual([cache.peek("first"), cache.peek("second"), cache.peek("third")], [1, 2, 3]);
  cache.set("fourth", 4, "d");
  assert.deepEqual([cache.peek("first"), cache.peek("second"), cache.size], [undefined, undefined, 2]);
  cache.delete("third");
  assert.equal(cache.size, 1);
});
