// The decision on a dependency, by a settable monotonic clock.

import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "#base/limits.ts";
import { openHealth } from "./health.ts";

const open = () => {
  const lines: string[] = [];
  const clock = { now: 0 };
  const health = openHealth({ log: (event, facts) => void lines.push(`${event} ${JSON.stringify(facts)}`), nowMs: () => clock.now });
  return { database: health.watch("database"), lines, clock };
};

test("a bad probe fails a dependency, and three good ones in a row recover it", () => {
  const { database } = open();
  assert.equal(database.isFailed, false);
  database.bad("silent");
  database.good();
  database.good();
  database.bad("silent");
  database.good();
  database.good();
  assert.equal(database.isFailed, true);
  const { failure } = database;
  assert.equal(failure.aborted, true);
  database.good();
  assert.equal(database.isFailed, false);
  assert.notEqual(database.failure, failure);
  assert.equal(database.failure.aborted, false);
});

test("a failure is logged once, then at a bounded rate, and its end with the duration", () => {
  const { database, lines, clock } = open();
  for (; clock.now <= limits.failureLogMs; clock.now += 250) database.bad("silent");
  for (let probe = 0; probe < 10; probe++) database.good();
  assert.deepEqual(lines, [
    'dependency.failed {"dependency":"database","why":"silent"}',
    'dependency.failed {"dependency":"database","why":"silent","for":"300.0 s"}',
    'dependency.recovered {"dependency":"database","message":"recovered after 300.3 s"}',
  ]);
});
