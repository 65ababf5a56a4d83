import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "./fault.ts";
import { limits } from "./limits.ts";
import { openPauses, setAsideMs, workInPieces } from "./pieces.ts";

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test("a failing batch is halved until each part succeeds, and only items that fail alone are set aside", async () => {
  const done: number[][] = [];
  const aside: number[] = [];
  await workInPieces(
    numbers(100),
    async (piece) => {
      if (piece.length > 30 || piece.includes(7) || piece.includes(70)) throw new Fault("DEADLINE_EXCEEDED", "too much");
      done.push([...piece]);
    },
    (item) => void aside.push(item),
  );
  assert.deepEqual(aside, [7, 70]);
  assert.deepEqual(
    done.flat(),
    numbers(100).filter((number) => number !== 7 && number !== 70),
    "each once, in their order",
  );
});

for (const code of ["UNAVAILABLE", "ABORTED"] as const) {
  test(`work that fails with ${code} is not halved, and nothing is set aside`, async () => {
    let tries = 0;
    const work = workInPieces(
      numbers(8),
      async () => {
        tries++;
        throw new Fault(code, "elsewhere");
      },
      () => assert.fail("set aside"),
    );
    await assert.rejects(work, { code });
    assert.equal(tries, 1);
  });
}

test("an empty batch is a no-op", () =>
  workInPieces(
    [],
    () => assert.fail("worked"),
    () => assert.fail("set aside"),
  ));

test("a pause doubles with each failure up to the maximum, ends on success, and ignores a clock that ran ahead", () => {
  assert.deepEqual(
    [1, 2, 3, 4, 100].map((failures) => setAsideMs(failures)),
    [1_000, 2_000, 4_000, 8_000, limits.setAsideMaxMs],
  );
  const pauses = openPauses(1_000, 3_000);
  assert.equal(pauses.fail("one", 0), 1);
  assert.equal(pauses.isPaused("one", 999), true);
  assert.equal(pauses.isPaused("other", 999), false);
  assert.equal(pauses.isPaused("one", 1_000), false);
  assert.equal(pauses.fail("one", 1_000), 2);
  assert.deepEqual(pauses.paused(2_999), ["one"]);
  assert.deepEqual(pauses.paused(3_000), []);
  assert.equal(pauses.fail("one", 3_000), 3);
  assert.equal(pauses.isPaused("one", 6_000), false, "the longest");
  pauses.end("one");
  assert.equal(pauses.fail("one", 1_000_000), 1);
  assert.equal(pauses.isPaused("one", 0), false);
});
