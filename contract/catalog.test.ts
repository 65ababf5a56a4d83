// The generated facts match the descriptors.

import assert from "node:assert/strict";
import { test } from "node:test";
import { capabilities } from "./capabilities.ts";
import { messageNamed, methods, version1 } from "./catalog.ts";
import { describeContract } from "./describe-contract.ts";
import type { MessageName } from "./gen/facts.ts";

test("the generated facts equal those of the descriptors", () => {
  const described = describeContract();
  assert.equal(methods.length, described.methods.length);
  for (const [index, method] of described.methods.entries()) assert.deepEqual(methods[index], method, method.name);
  assert.equal(version1.length, described.version1.length);
  for (const [index, method] of described.version1.entries()) assert.deepEqual(version1[index], method, method.name);
  for (const [name, message] of described.messages) assert.deepEqual(messageNamed(name as MessageName), message, name);
  assert.deepEqual(capabilities, described.capabilities);
});
