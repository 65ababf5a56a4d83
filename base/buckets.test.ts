import assert from "node:assert/strict";
import { test } from "node:test";
import { type Buckets, openBuckets } from "./buckets.ts";
import { type Siblings, shareOf } from "./siblings.ts";

const startMs = Date.UTC(2030, 0, 1);

/** Takes at these milliseconds after the start and returns each result. */
const takeAt = (rate: { burst: number; perSecond: number }, times: readonly number[]): (number | undefined)[] => {
  const buckets = openBuckets(rate, 10);
  return times.map((ms) => buckets.take("a", startMs + ms));
};

const cases: readonly (readonly [
  title: string,
  rate: { burst: number; perSecond: number },
  times: readonly number[],
  told: readonly (number | undefined)[],
])[] = [
  [
    "a full bucket gives its burst at once, and then tells when there is one",
    { burst: 3, perSecond: 1 },
    [0, 0, 0, 0, 0],
    [undefined, undefined, undefined, 1000, 1000],
  ],
  ["the time that it tells is enough, and one millisecond less is not", { burst: 1, perSecond: 1 }, [0, 999, 1000, 1000], [undefined, 1, undefined, 1000]],
  ["a refusal takes nothing", { burst: 1, perSecond: 1 }, [0, 100, 200, 300, 1000], [undefined, 900, 800, 700, undefined]],
  ["it comes back at its rate", { burst: 2, perSecond: 10 }, [0, 0, 0, 100, 100, 200], [undefined, undefined, 100, undefined, 100, undefined]],
  ["it never holds more than its burst", { burst: 2, perSecond: 1 }, [0, 3_600_000, 3_600_000, 3_600_000], [undefined, undefined, undefined, 1000]],
  ["a rate of less than one a second", { burst: 1, perSecond: 1 / 60 }, [0, 1, 60_000], [undefined, 59_999, undefined]],
  [
    "a rate that is no whole number of milliseconds loses nothing",
    { burst: 3, perSecond: 3 },
    [0, 0, 0, 0, 334, 667, 1000, 1000],
    [undefined, undefined, undefined, 334, undefined, undefined, undefined, 334],
  ],
  ["a clock that goes back by an hour shuts nobody out", { burst: 1, perSecond: 1 }, [3_600_000, 0, 0, 1000], [undefined, undefined, 1000, undefined]],
];
for (const [title, rate, times, told] of cases) test(`buckets: ${title}`, () => assert.deepEqual(takeAt(rate, times), told));

test("each key has its own bucket", () => {
  const buckets = openBuckets({ burst: 1, perSecond: 1 }, 10);
  assert.deepEqual(
    ["a", "b", "a", "b"].map((key) => buckets.take(key, startMs)),
    [undefined, undefined, 1000, 1000],
  );
});

test("a key's own rate applies to it, and may change", () => {
  const buckets = openBuckets({ burst: 1, perSecond: 1 }, 10);
  const own = { burst: 2, perSecond: 1 };
  assert.deepEqual(
    [
      buckets.take("a", startMs, own),
      buckets.take("a", startMs, own),
      buckets.take("a", startMs, own),
      buckets.take("a", startMs),
      buckets.take("a", startMs),
      buckets.take("a", startMs + 1000),
    ],
    [undefined, undefined, 1000, undefined, 1000, undefined],
  );
});

test("look takes nothing and returns what take would return", () => {
  const buckets = openBuckets({ burst: 1, perSecond: 1 }, 10);
  assert.deepEqual([buckets.look("a", startMs), buckets.size, buckets.take("a", startMs)], [undefined, 0, undefined]);
  assert.deepEqual([buckets.look("a", startMs), buckets.look("a", startMs + 250), buckets.look("a", startMs + 1000)], [1000, 750, undefined]);
});

test("memory is bounded, and a busy key is not evicted by keys that are used once", () => {
  const buckets = openBuckets({ burst: 1, perSecond: 1 }, 100);
  buckets.take("greedy", startMs);
  for (let index = 0; index < 10_000; index++) {
    assert.equal(buckets.take(`stranger ${index}`, startMs), undefined);
    if (index % 50 === 0) assert.equal(buckets.take("greedy", startMs), 1000);
  }
  assert.equal(buckets.size, 100);
  assert.equal(buckets.take("greedy", startMs), 1000);
  assert.equal(buckets.take("stranger 0", startMs), undefined);
});

test("over any period, a bucket allows at most the burst plus the rate", () => {
  const buckets = openBuckets({ burst: 50, perSecond: 7 }, 10);
  let given = 0;
  // Every 13 ms for 100 s.
  for (let ms = 0; ms <= 100_000; ms += 13) if (buckets.take("a", startMs + ms) === undefined) given++;
  assert.ok(given <= 50 + 7 * 100, `${given}`);
  assert.ok(given >= 50 + 7 * 100 - 1, `${given}`);
});

test("taking from a known key allocates nothing", () => {
  const buckets = openBuckets({ burst: 1e9, perSecond: 1e6 }, 100);
  const keys = Array.from({ length: 64 }, (_, index) => `key ${index}`);
  const takeAll = (times: number): void => {
    for (let time = 0; time < times; time++) for (const key of keys) buckets.take(key, startMs + time);
  };
  takeAll(10_000);
  // Small rounds, so that few include a garbage collection: 128,000 takes at 16 bytes each would be 2 MB.
  const grownBytes = Array.from({ length: 5 }, () => {
    const before = process.memoryUsage().heapUsed;
    takeAll(2_000);
    return process.memoryUsage().heapUsed - before;
  }).sort((one, other) => one - other);
  assert.ok((grownBytes[2] ?? 0) < 500_000, `${grownBytes.join(", ")} bytes`);
});

/** Returns the buckets of `count` processes. They learn what the others took when `tell` is called. */
const openShared = (rate: { burst: number; perSecond: number }, count: number): { readonly each: readonly Buckets[]; tell(): void } => {
  const hearers: ((key: string, amount: number) => void)[] = [];
  let added: (readonly [from: number, key: string, amount: number])[] = [];
  const siblingAt = (index: number): Siblings => ({
    count,
    index,
    share: (total) => shareOf(total, count, index),
    sum(_, hear) {
      hearers[index] = hear;
      return (key, amount) => void added.push([index, key, amount]);
    },
  });
  return {
    each: Array.from({ length: count }, (_, index) => openBuckets(rate, 10, { siblings: siblingAt(index), name: "test", nowMs: () => startMs })),
    tell() {
      for (const [from, key, amount] of added) for (const [index, hear] of hearers.entries()) if (index !== from) hear(key, amount);
      added = [];
    },
  };
};

test("what one process takes counts in all processes", () => {
  const { each, tell } = openShared({ burst: 6, perSecond: 1 }, 3);
  const taken = Array.from({ length: 9 }, (_, index) => {
    const refusal = each[index % 3]?.take("a", startMs);
    tell();
    return refusal;
  });
  assert.deepEqual(taken, [undefined, undefined, undefined, undefined, undefined, undefined, 1000, 1000, 1000]);
});

test("what processes overspend before they synchronize is paid back first, so that the rate holds over time", () => {
  const { each, tell } = openShared({ burst: 2, perSecond: 1 }, 3);
  const takeAll = (ms: number): number => each.flatMap((buckets) => [1, 2].filter(() => buckets.take("a", startMs + ms) === undefined)).length;
  // Before they synchronize, each process has the full burst.
  assert.equal(takeAll(0), 6);
  tell();
  const later = [1000, 2000, 3000, 4000, 4999].map(takeAll);
  assert.deepEqual(later, [0, 0, 0, 0, 0]);
  assert.equal(takeAll(5000), 3);
});

test("the shares of all processes add up to the total, and none is empty", () => {
  const parts = (total: number, count: number): number[] => Array.from({ length: count }, (_, index) => shareOf(total, count, index));
  assert.deepEqual(parts(12, 3), [4, 4, 4]);
  assert.deepEqual(parts(3, 2), [2, 1]);
  assert.deepEqual(parts(32, 5), [7, 7, 6, 6, 6]);
  assert.deepEqual(parts(3, 4), [1, 1, 1, 1]);
});
