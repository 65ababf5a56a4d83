import assert from "node:assert/strict";
import { test } from "node:test";
import { type FairQueue, type FairQueueLimits, openFairQueue, type FairnessKey, type Work } from "./fair-queue.ts";
import { Fault } from "./fault.ts";

const bounds: FairQueueLimits = {
  name: "things",
  what: "things are asked for",
  places: 4,
  placesEach: 2,
  placesAlone: 2,
  waiting: 100,
  waitingEach: 8,
  waitMs: 60_000,
};

const fairnessKey = (organization: string, identity = "i"): FairnessKey => ({ organization, identity });

/** Enters now or later, and records the order. */
const enter = (queue: FairQueue, who: FairnessKey, entered: string[], name: string, work?: Work): Promise<void> => {
  const noted = (): void => void entered.push(name);
  if (queue.tryAcquire(who, work)) {
    noted();
    return Promise.resolve();
  }
  return queue.wait(who, work).then(noted);
};

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const faultOf = async (promise: Promise<unknown>): Promise<Fault> => {
  const thrown: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(thrown instanceof Fault);
  return thrown;
};

test("an organization gets its share and no more, though slots are free; another organization gets its own", async () => {
  const queue = openFairQueue(bounds);
  const entered: string[] = [];
  for (const name of ["a1", "a2", "a3"]) void enter(queue, fairnessKey("a"), entered, name);
  assert.deepEqual(entered, ["a1", "a2"]);
  void enter(queue, fairnessKey("b"), entered, "b1");
  assert.deepEqual(entered, ["a1", "a2", "b1"]);
  queue.leave(fairnessKey("a"));
  await settled();
  assert.deepEqual(entered, ["a1", "a2", "b1", "a3"]);
});

test("a lone organization gets more slots but never all; a second one gets a slot at once and soon its share", async () => {
  const queue = openFairQueue({ ...bounds, places: 4, placesEach: 2, placesAlone: 3 });
  const entered: string[] = [];
  void enter(queue, { ...fairnessKey("server"), own: true }, entered, "server");
  queue.leave(fairnessKey("server"));
  for (const name of ["a1", "a2", "a3", "a4"]) void enter(queue, fairnessKey("a"), entered, name);
  assert.deepEqual(entered, ["server", "a1", "a2", "a3"]);
  for (const name of ["b1", "b2"]) void enter(queue, fairnessKey("b"), entered, name);
  assert.deepEqual(entered.slice(4), ["b1"]);
  queue.leave(fairnessKey("a"));
  await settled();
  assert.deepEqual(entered.slice(5), ["b2"]);
  // "a" keeps only its share while "b" is active.
  queue.leave(fairnessKey("b"));
  await settled();
  assert.deepEqual(entered.slice(6), []);
  queue.leave(fairnessKey("a"));
  await settled();
  assert.deepEqual(entered.slice(6), ["a4"]);
});

test("organizations take turns, and within each its identities do", async () => {
  const queue = openFairQueue({ ...bounds, places: 1, placesEach: 1, placesAlone: 1 });
  const entered: string[] = [];
  assert.ok(queue.tryAcquire(fairnessKey("z")));
  for (const [organization, identity, name] of [
    ["a", "x", "ax1"],
    ["a", "x", "ax2"],
    ["a", "x", "ax3"],
    ["a", "y", "ay1"],
    ["b", "x", "bx1"],
    ["b", "x", "bx2"],
  ] as const) {
    void enter(queue, fairnessKey(organization, identity), entered, name);
  }
  const order: string[] = [];
  for (let holder = fairnessKey("z"); order.length < 6; ) {
    queue.leave(holder);
    await settled();
    const name = entered[order.length] ?? "";
    order.push(name);
    holder = fairnessKey(name.slice(0, 1), name.slice(1, 2));
  }
  assert.deepEqual(order, ["ax1", "bx1", "ay1", "bx2", "ax2", "ax3"]);
});

test("work that waits for a row holds no slot, and other work of the organization overtakes it", async () => {
  const queue = openFairQueue(bounds);
  const entered: string[] = [];
  const row = (name: string): Work => ({ places: 1, row: name });
  for (const name of ["first", "second", "third"]) void enter(queue, fairnessKey("a"), entered, name, row("r"));
  void enter(queue, fairnessKey("a"), entered, "other", row("s"));
  await settled();
  assert.deepEqual(entered, ["first", "other"]);
  queue.leave(fairnessKey("a"), row("r"));
  await settled();
  queue.leave(fairnessKey("a"), row("r"));
  await settled();
  assert.deepEqual(entered, ["first", "other", "second", "third"]);
});

test("work takes as many slots as it needs; work that needs more than the total runs alone", async () => {
  const queue = openFairQueue({ ...bounds, places: 20, placesEach: 10, placesAlone: 10 });
  const entered: string[] = [];
  const of = (places: number): Work => ({ places });
  for (const [name, places] of [
    ["six", 6],
    ["four", 4],
    ["huge", 1000],
    ["one", 1],
  ] as const)
    void enter(queue, fairnessKey("a"), entered, name, of(places));
  await settled();
  assert.deepEqual(entered, ["six", "four"]);
  void enter(queue, fairnessKey("b"), entered, "b", of(9));
  queue.leave(fairnessKey("a"), of(6));
  await settled();
  // "one" fits next to "four"; "huge" does not.
  assert.deepEqual(entered, ["six", "four", "b", "one"]);
  queue.leave(fairnessKey("a"), of(4));
  queue.leave(fairnessKey("a"), of(1));
  queue.leave(fairnessKey("b"), of(9));
  await settled();
  assert.deepEqual(entered.at(-1), "huge");
});

test("a full queue refuses the last request of its busiest identity, with a retry delay", async () => {
  const queue = openFairQueue({ ...bounds, placesEach: 1, placesAlone: 1, waitingEach: 3 });
  const entered: string[] = [];
  assert.ok(queue.tryAcquire(fairnessKey("a")));
  void enter(queue, fairnessKey("a", "many"), entered, "m1");
  void enter(queue, fairnessKey("a", "many"), entered, "m2");
  const last = faultOf(enter(queue, fairnessKey("a", "many"), entered, "m3"));
  // An identity with nothing queued displaces the one that has queued most.
  void enter(queue, fairnessKey("a", "one"), entered, "o1");
  const fault = await last;
  assert.equal(fault.code, "RESOURCE_EXHAUSTED");
  assert.equal(fault.headers["retry-after"], "1");
  assert.equal(fault.headers["ratelimit-policy"], '"things";q=1;qu="concurrent-requests"');
  assert.ok(fault.details.some(({ kind }) => kind === "retry"));
  for (const name of ["m1", "o1", "m2"]) {
    queue.leave(fairnessKey("a"));
    await settled();
    assert.equal(entered.at(-1), name);
  }
});

test("if all queues together are full, the longest one is cut and a new organization gets in", async () => {
  const queue = openFairQueue({ ...bounds, places: 1, placesEach: 1, placesAlone: 1, waiting: 4 });
  const entered: string[] = [];
  assert.ok(queue.tryAcquire(fairnessKey("z")));
  const waits = ["1", "2", "3", "4"].map((name) => enter(queue, fairnessKey("many"), entered, name));
  const refused = faultOf(waits[3] ?? Promise.resolve());
  void enter(queue, fairnessKey("new"), entered, "new");
  assert.equal((await refused).code, "RESOURCE_EXHAUSTED");
  queue.leave(fairnessKey("z"));
  await settled();
  queue.leave(fairnessKey("many"));
  await settled();
  assert.deepEqual(entered, ["1", "new"]);
  queue.leave(fairnessKey("new"));
  queue.leave(fairnessKey("many"));
  queue.leave(fairnessKey("many"));
  await Promise.all(waits.slice(0, 3));
});

test("an organization whose only waiting request was refused queues again behind those that have waited", async () => {
  const queue = openFairQueue({ ...bounds, places: 1, placesEach: 1, placesAlone: 1, waiting: 2 });
  const entered: string[] = [];
  assert.ok(queue.tryAcquire(fairnessKey("z")));
  const refused = faultOf(enter(queue, fairnessKey("a"), entered, "a, too early"));
  for (const name of ["b", "c"]) void enter(queue, fairnessKey(name), entered, name);
  assert.equal((await refused).code, "RESOURCE_EXHAUSTED");
  queue.leave(fairnessKey("z"));
  void enter(queue, fairnessKey("a"), entered, "a");
  for (const name of ["b", "c"]) {
    await settled();
    queue.leave(fairnessKey(name));
  }
  await settled();
  assert.deepEqual(entered, ["b", "c", "a"]);
});

test("waiting ends at the time limit, and a request that gave up holds no slot", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const queue = openFairQueue({ ...bounds, placesEach: 1, placesAlone: 1, waitMs: 500 });
  assert.ok(queue.tryAcquire(fairnessKey("a")));
  const waited = faultOf(queue.wait(fairnessKey("a")));
  t.mock.timers.tick(500);
  assert.equal((await waited).code, "RESOURCE_EXHAUSTED");
  queue.leave(fairnessKey("a"));
  assert.ok(queue.tryAcquire(fairnessKey("a")));
});

test("property: the slots are never exceeded, and every waiter gets its turn", async () => {
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let round = 0; round < 50; round++) {
    const limits = { ...bounds, places: 2 + random(6), placesEach: 1 + random(4), placesAlone: 1 + random(6), waiting: 1000, waitingEach: 1000 };
    const queue = openFairQueue(limits);
    const held = new Map<string, number>();
    const rows = new Set<string>();
    let all = 0;
    let done = 0;
    const run = async (): Promise<void> => {
      const who = fairnessKey(`o${random(4)}`, `i${random(3)}`);
      const work: Work = { places: 1, row: random(2) ? `r${random(3)}` : undefined };
      if (!queue.tryAcquire(who, work)) await queue.wait(who, work);
      const own = (held.get(who.organization) ?? 0) + 1;
      held.set(who.organization, own);
      all++;
      assert.ok(own <= Math.max(limits.placesEach, limits.placesAlone) && all <= limits.places);
      if (work.row !== undefined) {
        assert.ok(!rows.has(work.row));
        rows.add(work.row);
      }
      for (let tick = random(4); tick > 0; tick--) await settled();
      held.set(who.organization, own - 1 + (held.get(who.organization) ?? 0) - own);
      all--;
      if (work.row !== undefined) rows.delete(work.row);
      queue.leave(who, work);
      done++;
    };
    await Promise.all(Array.from({ length: 100 }, run));
    assert.equal(done, 100);
  }
});
