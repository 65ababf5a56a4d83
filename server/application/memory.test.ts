import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { limits } from "#base/limits.ts";
import { asOwner } from "../../test/database.ts";
import { openWorld } from "../../test/world.ts";
import { boundMemory, isWorthRelease, releaseMemory, watchMemory } from "./memory.ts";

/** Makes some 150 MB that nobody holds afterwards; returns what was resident then. */
const fill = (): number => {
  const held = Array.from({ length: 100 }, () => Array.from({ length: 20_000 }, (_, index) => ({ index, text: `x${index}` })));
  return held.length > 0 ? process.memoryUsage.rss() : 0;
};

test("memory is given back when the server is calm and has much more than when it last was, and not otherwise", () => {
  const calm = limits.calmUtilization / 2;
  const grown = 100 * limits.memoryGrowthMax + 1;
  assert.equal(isWorthRelease(calm, grown, 100), true);
  assert.equal(isWorthRelease(limits.calmUtilization, grown, 100), false);
  assert.equal(isWorthRelease(calm, grown - 1, 100), false);
});

test("what nobody holds any more is not resident any more", () => {
  releaseMemory();
  const before = process.memoryUsage.rss();
  const full = fill();
  assert.ok(full > before * 1.5, `${before} to ${full}: too little to tell`);
  releaseMemory();
  assert.ok(process.memoryUsage.rss() < before * 1.5, `${before}, ${full}, ${process.memoryUsage.rss()}`);
});

test("bulk work has what it drops collected before it has grown by much, and nothing is collected before", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  releaseMemory();
  const before = process.memoryUsage.rss();
  const bound = boundMemory();
  const full = fill();
  assert.ok(full > before + limits.bulkGrowthBytes, `${before} to ${full}: too little to tell`);
  t.mock.timers.tick(limits.bulkLookMs);
  assert.ok(process.memoryUsage.rss() < before + limits.bulkGrowthBytes, `${before}, ${full}, ${process.memoryUsage.rss()}`);
  bound.stop();
});

test("what the start has taken is given back soon after it, and not only what has grown since", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  releaseMemory();
  const before = process.memoryUsage.rss();
  const full = fill();
  assert.ok(full > before * 1.5, `${before} to ${full}: too little to tell`);
  const watch = watchMemory();
  // Each look finds a process that has waited for another since the one before.
  for (let looks = 0; looks < 20 && process.memoryUsage.rss() >= before * 1.5; looks++) {
    await promisify(execFile)(process.execPath, ["-e", "setTimeout(() => {}, 200)"]);
    t.mock.timers.tick(limits.memoryStartLookMs);
  }
  assert.ok(process.memoryUsage.rss() < before * 1.5, `${before}, ${full}, ${process.memoryUsage.rss()}`);
  watch.stop();
});

test("a server gives back what it has taken when it is calm again", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const world = await openWorld();
  try {
    const before = process.memoryUsage.rss();
    const full = fill();
    assert.ok(full > before * 1.5, `${before} to ${full}: too little to tell`);
    // Each look finds a process that has waited for the database since the one before.
    for (let looks = 0; looks < 20 && process.memoryUsage.rss() >= before * 1.5; looks++) {
      t.mock.timers.tick(limits.memoryLookMs);
      await asOwner(world.databaseUrl, "select pg_sleep(0.2)");
    }
    assert.ok(process.memoryUsage.rss() < before * 1.5, `${before}, ${full}, ${process.memoryUsage.rss()}`);
  } finally {
    await world.close();
  }
});
