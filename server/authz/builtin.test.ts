// The uids of what every installation has.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { operatorUid } from "#base/operator.ts";

test("the operator's uid is derived from its name, as the uids of built-in roles are", () => {
  assert.equal(operatorUid, createHash("sha256").update("gantry identity operator").digest("hex").slice(0, 40));
});
