// Probes by the beats that they share.

import assert from "node:assert/strict";
import { test } from "node:test";
import { silent } from "#base/log.ts";
import { onBeat } from "./beat.ts";
import { openHealth } from "./health.ts";
import { startProbe } from "./probe.ts";

const everyMs = 1;

/** Resolves after so many beats, each with its probes. */
const pass = (beats: number): Promise<void> =>
  new Promise((resolve) => {
    let left = beats;
    const stop = onBeat(everyMs, () => {
      if (--left > 0) return;
      stop();
      setImmediate(resolve);
    });
  });

test("a calm probe runs on one beat of three while its dependency is good, and on each while it has failed", async () => {
  const health = openHealth({ log: silent });
  const dependency = health.watch("disk");
  const why = { text: "" };
  let probes = 0;
  const probe = startProbe(
    dependency,
    () => {
      probes++;
      if (why.text !== "") throw new Error(why.text);
    },
    { everyMs, calmBeats: 3 },
  );
  await probe.first;
  assert.equal(probes, 1);
  await pass(9);
  assert.equal(probes, 4);
  why.text = "full";
  await pass(3);
  assert.equal(dependency.isFailed, true);
  assert.equal(probes, 5);
  await pass(4);
  assert.equal(probes, 9);
  why.text = "";
  await pass(3);
  assert.equal(dependency.isFailed, false);
  probe.stop();
});

test("work on a beat that has ended runs no more, and a new beat of the same interval starts", async () => {
  let runs = 0;
  const stop = onBeat(everyMs, () => runs++);
  await pass(2);
  stop();
  const seen = runs;
  await pass(2);
  assert.equal(runs, seen);
});
