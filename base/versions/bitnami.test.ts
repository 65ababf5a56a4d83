// Order of Bitnami versions: the upstream version, then the package revision.

import assert from "node:assert/strict";
import { test } from "node:test";
import { compareBitnami } from "./bitnami.ts";

test("a revision sorts after the pre-releases of its upstream version and compares as a number", () => {
  const rising = ["6.4.2-12", "6.4.3-alpha.1", "6.4.3-rc1", "6.4.3", "6.4.3-1", "6.4.3-2", "6.4.3-10", "6.4.4-0", "6.5.0"];
  for (const [index, one] of rising.entries())
    for (const [otherIndex, other] of rising.entries())
      assert.equal(Math.sign(compareBitnami(one, other) ?? Number.NaN), Math.sign(index - otherIndex), `${one} ${other}`);
  assert.equal(compareBitnami("6.4.3-0", "6.4.3"), 0);
  assert.equal(compareBitnami("6.4.3-0", "latest"), undefined);
});
