import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { limits } from "#base/limits.ts";
import { asOwner } from "../../test/database.ts";
import { openWorld } from "../../test/world.ts";
import { boundMemory, isWorthRelease, releaseMemory, watchMemory } from "./memory.ts";

/** Allocates about 150 MB of garbage; returns the resident size at that time. */
const fill = (): number => {
  const held = Array.from({ length: 100 }, () => Array.from({ length: 20_000 }, (_, index) => ({ index, text: `x${index}` })));
  return held.length > 0 ? process.memoryUsage.rss() : 0;
};

test("memory is released only if the server is idle and has grown much since it was last idle", () => {
  const calm = limits.calmUtilization / 2;
  const grown = 100 * limits.memoryGrowthMax + 1;
  assert.equal(isWorthRelease(calm, grown, 100), true);
  assert.equal(isWorthRelease(limits.calmUtilization, grown, 100), false);
  assert.equal(isWorthRelease(calm, grown - 1, 100), false);
});

test("released garbage is no longer resident", () => {
  releaseMemory();
  const before = process.memoryUsage.rss();
  const full = fill();
  assert.ok(full > before * 1.5, `${before} to ${full}: too little to tell`);
  releaseMemory();
  assert.ok(process.memoryUsage.rss() < before * 1.5, `${before}, ${full}, ${process.memoryUsage.rss()}`);
});

test("bulk work collects its garbage within a bounded growth, and not earlier", (t) => {
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

test("memory of the start is released soon after it, not only later growth", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  releaseMemory();
  const before = process.memoryUsage.rss();
  const full = fill();
  assert.ok(full > before * 1.5, `${before} to ${full}: too little to tell`);
  const watch = watchMemory();
  // Waiting for another process between polls keeps this one idle.
  for (let looks = 0; looks < 20 && process.memoryUsage.rss() >= before * 1.5; looks++) {
    await promisify(execFile)(process.execPath, ["-e", "setTimeout(() => {}, 200)"]);
    t.mock.timers.tick(limits.memoryStartLookMs);
  }
  assert.ok(process.memoryUsage.rss() < before * 1.5, `${before}, ${full}, ${process.memoryUsage.rss()}`);
  watch.stop();
});

test("an idle server releases the memory of earlier load", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const world = await openWorld();
  try {
    const before = process.memoryUsage.rss();
    const full = fill();
    assert.ok(full > before * 1.5, `${before} to ${full}: too little to tell`);
    // Waiting for the database between polls keeps this process idle.
    for (let looks = 0; looks < 20 && process.memoryUsage.rss() >= before * 1.5; looks++) {
      t.mock.timers.tick(limits.memoryLookMs);
      await asOwner(world.databaseUrl, "select pg_sleep(0.2)");
    }
    assert.ok(process.memoryUsage.rss() < before * 1.5, `${before}, ${full}, ${process.memoryUsage.rss()}`);
  } finally {
    await world.close();
  }
});
