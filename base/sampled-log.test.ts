// Suppression of repeated log events.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import type { Log } from "./log.ts";
import { limits } from "./limits.ts";
import { type SampledLog, sampleLog } from "./sampled-log.ts";

let nowMs: number;
let told: string[];
const write: Log = (event, { leftOut, cause, operation, call } = {}) =>
  void told.push([event, operation ?? call, cause instanceof Error ? cause.message : undefined, leftOut].filter((each) => each !== undefined).join(" "));

const open = (t: { after(work: () => void): void }, level: "info" | "warn" | "error" = "info"): SampledLog => {
  mock.timers.enable({ apis: ["setInterval"] });
  const sampled = sampleLog(write, level, () => nowMs);
  t.after(() => {
    sampled.close();
    mock.timers.reset();
  });
  return sampled;
};

const passMs = (ms: number): void => {
  nowMs += ms;
  mock.timers.tick(ms);
};

beforeEach(() => {
  nowMs = 1_000;
  told = [];
});

test("22,000 slow calls of two operations give one line each at once, then one a minute with the suppressed count", (t) => {
  const { log } = open(t);
  for (let second = 0; second < 11_000; second++) {
    log("slow", { operation: "a", requestId: String(second) });
    log("slow", { operation: "b", requestId: String(second) });
    passMs(1_000);
  }
  assert.deepEqual(told.slice(0, 2), ["slow a", "slow b"]);
  assert.ok(told.length >= 2 * 150 && told.length <= 2 * 185, `${told.length} lines`);
  const leftOut = told.map((line) => /^slow [ab] (\d+)$/.exec(line)?.[1]).reduce((sum, count) => sum + Number(count ?? 0), 0);
  passMs(10 * limits.logRepeatMs);
  const last = told.slice(-2).map((line) => Number(line.split(" ")[2]));
  assert.ok(leftOut + last.reduce((sum, count) => sum + count, 0) + 2 >= 22_000);
});

test("an event that recurs after a quiet minute is written at once", (t) => {
  const { log } = open(t);
  log("slow", { operation: "a" });
  passMs(2 * limits.logRepeatMs);
  log("slow", { operation: "a" });
  assert.deepEqual(told, ["slow a", "slow a"]);
});

test("errors with different causes are all written, including those that differ only in a nested cause", (t) => {
  const { log } = open(t);
  const because = (why: string): Error => new Error("it failed", { cause: new Error(why) });
  log("delivery.failed", { delivery: "1", cause: because("no route") });
  log("delivery.failed", { delivery: "2", cause: because("refused") });
  log("delivery.failed", { delivery: "3", cause: Object.assign(new Error("it failed"), { code: "ECONNRESET" }) });
  log("delivery.failed", { delivery: "4", cause: because("no route") });
  assert.equal(told.length, 3);
  for (let count = 0; count < 30; count++)
    log("fault", { call: "x", code: "INTERNAL", message: "internal error", requestId: count, cause: new Error(`number ${count % 3}`) });
  assert.equal(told.length, 33);
});

test("events without grouping are always written, and events below the level never", (t) => {
  const { log } = open(t, "warn");
  for (let count = 0; count < 5; count++) log("feed.failed", { cause: new Error("the same") });
  log("feed.imported");
  assert.equal(told.length, 5);
});

test("suppressed counts are written when the log closes and when a group is evicted", (t) => {
  const { log, close } = open(t);
  log("slow", { operation: "first" });
  log("slow", { operation: "first" });
  for (let count = 0; count < limits.logKindsMax; count++) log("slow", { operation: `another ${count}` });
  assert.equal(told.filter((line) => line === "slow first 1").length, 1);
  log("slow", { operation: "another 5" });
  close();
  assert.equal(told.at(-1), "slow another 5 1");
});
