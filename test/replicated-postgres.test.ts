// The waiting function of failover tests.

import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "./replicated-postgres.ts";

test("a wait that never succeeds ends by itself and names its condition, so that a failed test does not hang the run", async () => {
  await assert.rejects(
    until(() => ("neverComes".length === 0 ? true : undefined), 50),
    /did not come within 50 ms: .*neverComes/,
  );
  let looked = 0;
  assert.equal(await until(() => (++looked === 2 ? "found" : undefined), 60_000), "found");
  await assert.rejects(
    until(() => Promise.reject(new Error("it is broken"))),
    /it is broken/,
  );
});
