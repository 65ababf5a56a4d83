import assert from "node:assert/strict";
import { test } from "node:test";
import { openLooks } from "./looks.ts";

test("a loop at rest looks again after a commit of its own process, and otherwise only when its time has come", () => {
  let commits = 0;
  const looks = openLooks({ commits: () => commits }, Number.POSITIVE_INFINITY);
  assert.equal(looks.begin(), true, "the first look");
  assert.equal(looks.begin(), false, "nothing was committed since");
  commits++;
  assert.equal(looks.begin(), true, "something was committed");
  assert.equal(looks.begin(), false);
  looks.again();
  assert.equal(looks.begin(), true, "the last look left something");

  const always = openLooks({ commits: () => commits }, 0);
  assert.deepEqual([always.begin(), always.begin()], [true, true], "the time of others' work has come");
});
