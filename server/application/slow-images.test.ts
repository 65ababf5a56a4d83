import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { limits } from "#base/limits.ts";
import { openSlowImages } from "./slow-images.ts";

const image = (organization: string, name: number) => {
  const uid = `${organization.repeat(40)}/${name}`;
  return { uid, repoUid: uid, digest: String(name), tries: 1 };
};

test("an organization has a share of the queue, and is read in turns with others", async () => {
  const [gate, order] = [Promise.withResolvers<void>(), [] as string[]];
  const slow = openSlowImages({
    read: async ({ uid }) => void order.push(uid.slice(0, 1)),
    onFailure: assert.ifError,
  });
  slow.takeOver(image("a", 0), gate.promise);
  assert.equal(slow.isFree(), false);
  for (let name = 1; name <= limits.slowContentsWaitingEach; name++) assert.ok(slow.add(image("a", name)));
  assert.equal(slow.add(image("a", 0)), false);
  assert.deepEqual([slow.add(image("b", 1)), slow.add(image("b", 2)), slow.hasOthers("a".repeat(40)), slow.hasOthers("b".repeat(40))], Array(4).fill(true));
  gate.resolve();
  await slow.ended();
  assert.deepEqual([order.slice(0, 5).join(""), order.length, slow.isFree()], ["babaa", limits.slowContentsWaitingEach + 2, true]);
});

test("a failure does not end the queue, and a stop leaves the rest of it", async () => {
  const [gate, failures] = [Promise.withResolvers<void>(), [] as unknown[]];
  const slow = openSlowImages({ read: async () => await setImmediate(), onFailure: (cause) => failures.push(cause) });
  const failed = Promise.reject(new Error("the database is unreachable"));
  slow.takeOver(image("a", 0), failed);
  slow.add(image("a", 1));
  await slow.ended();
  slow.takeOver(image("a", 2), gate.promise);
  slow.add(image("a", 3));
  const stopped = slow.stop();
  gate.resolve();
  assert.deepEqual([(await stopped).map(({ digest }) => digest), failures.length, slow.add(image("a", 4))], [["3"], 1, false]);
});
