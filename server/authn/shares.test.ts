import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "#base/fault.ts";
import { openShares } from "./shares.ts";

const never = new AbortController().signal;
const isExhausted = (thrown: unknown): boolean => thrown instanceof Fault && thrown.code === "RESOURCE_EXHAUSTED";

test("requests beyond a tenant's share wait only for its own, and proceed in order", async () => {
  const shares = openShares({ all: 4, each: 2 }, "issuers");
  const first = await shares.enter("a", never);
  const second = await shares.enter("a", never);
  const order: string[] = [];
  const third = shares.enter("a", never).then((leave) => {
    order.push("third");
    return leave;
  });
  const fourth = shares.enter("a", never).then((leave) => {
    order.push("fourth");
    return leave;
  });
  const neighbour = await shares.enter("b", never);
  assert.deepEqual(order, []);
  first();
  // A double release counts once.
  first();
  (await third)();
  assert.deepEqual(order, ["third"]);
  second();
  (await fourth)();
  assert.deepEqual(order, ["third", "fourth"]);
  neighbour();
});

test("beyond the total every tenant is refused at once, and released slots are available again", async () => {
  const shares = openShares({ all: 2, each: 1 }, "issuers");
  const leaves = [await shares.enter("a", never), await shares.enter("b", never)];
  await assert.rejects(shares.enter("c", never), isExhausted);
  for (const leave of leaves) leave();
  const again = await shares.enter("c", never);
  again();
});

test("no request waits beyond its own timeout, and the queue is bounded", async () => {
  const shares = openShares({ all: 10, each: 1 }, "issuers");
  const leave = await shares.enter("a", never);
  const ends = new AbortController();
  const waiting = Array.from({ length: 8 }, () => shares.enter("a", ends.signal));
  await assert.rejects(shares.enter("a", never), isExhausted);
  ends.abort();
  for (const each of waiting) await assert.rejects(each, isExhausted);
  leave();
  (await shares.enter("a", never))();
});
