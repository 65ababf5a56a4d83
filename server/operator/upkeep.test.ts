// Upkeep, against a real server with a settable clock.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { limits } from "#base/limits.ts";
import { openWorld, type World } from "../../test/world.ts";
import { keepUp } from "./upkeep.ts";

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.close());

const kids = async (): Promise<number> => {
  const { keys } = await world.server.open.house.authn.keys();
  return Array.isArray(keys) ? keys.length : 0;
};

test("a signing key is replaced when it has signed long enough, and not before", async () => {
  const { house } = world.server.open;
  await keepUp(house);
  assert.equal(await kids(), 1);
  world.clock.now += limits.signingKeyLifetimeMs + 1;
  await keepUp(house);
  assert.equal(await kids(), 2);
  await keepUp(house);
  assert.equal(await kids(), 2);
  await world.ok("iam.GroupsService/GetGroup", { uid: world.organization });
});

test("an answer kept for an idempotency key is forgotten after its time", async () => {
  const { house } = world.server.open;
  const create = () =>
    world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "kept" } }, { headers: { "idempotency-key": "k" } });
  const { uid } = await create();
  await keepUp(house);
  assert.equal((await create()).uid, uid);
  world.clock.now += limits.idempotencyLifetimeMs + 1;
  await keepUp(house);
  const kept = await house.store.read.query("select count(*) from idempotency_keys where key = 'k'");
  assert.deepEqual(kept, [["0"]]);
});
