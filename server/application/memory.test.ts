import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "#base/limits.ts";
import { isWorthRelease, releaseMemory } from "./memory.ts";

test("memory is given back when the server is calm and has much more than when it last was, and not otherwise", () => {
  const calm = limits.calmUtilization / 2;
  const grown = 100 * limits.memoryGrowthMax + 1;
  assert.equal(isWorthRelease(calm, grown, 100), true);
  assert.equal(isWorthRelease(limits.calmUtilization, grown, 100), false);
  assert.equal(isWorthRelease(calm, grown - 1, 100), false);
});

test("what nobody holds any more is not resident any more", () => {
  const fill = (): number => {
    const held = Array.from({ length: 100 }, () => Array.from({ length: 20_000 }, (_, index) => ({ index, text: `x${index}` })));
    return held.length > 0 ? process.memoryUsage.rss() : 0;
  };
  releaseMemory();
  const before = process.memoryUsage.rss();
  const full = fill();
  assert.ok(full > before * 1.5, `${before} to ${full}: too little to tell`);
  releaseMemory();
  assert.ok(process.memoryUsage.rss() < before * 1.5, `${before}, ${full}, ${process.memoryUsage.rss()}`);
});
