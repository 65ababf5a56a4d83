// Maintenance, against a real server with a settable clock.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { limits } from "#base/limits.ts";
import { plant } from "../../test/told.ts";
import { openWorld, type World } from "../../test/world.ts";
import { runMaintenance } from "./maintenance.ts";

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.close());

const kids = async (): Promise<number> => {
  const { keys } = await world.server.application.services.authn.keys();
  return Array.isArray(keys) ? keys.length : 0;
};

test("a signing key is replaced when it has signed long enough, and not before", async () => {
  await runMaintenance(world.server.application.kernel);
  assert.equal(await kids(), 1);
  world.clock.now += limits.signingKeyLifetimeMs + 1;
  await runMaintenance(world.server.application.kernel);
  assert.equal(await kids(), 2);
  await runMaintenance(world.server.application.kernel);
  assert.equal(await kids(), 2);
  await world.ok("iam.GroupsService/GetGroup", { uid: world.organization });
});

test("an answer kept for an idempotency key is deleted after its time", async () => {
  const { services } = world.server.application;
  const create = () =>
    world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "kept" } }, { headers: { "idempotency-key": "k" } });
  const { uid } = await create();
  await runMaintenance(world.server.application.kernel);
  assert.equal((await create()).uid, uid);
  world.clock.now += limits.idempotencyLifetimeMs + 1;
  await runMaintenance(world.server.application.kernel);
  const kept = await services.store.read.query("select count(*) from idempotency_keys where key = 'k'");
  assert.deepEqual(kept, [["0"]]);
});

test("events and deliveries are deleted after their time, and what can never be sent any more stands before nothing", async () => {
  const { services } = world.server.application;
  const { uid: subscription } = await world.ok("events.SubscriptionsService/CreateSubscription", {
    parent: world.organization,
    subscription: { sink: "http://127.0.0.1:9/" },
  });
  const { uid: repo } = await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "kept" } });
  await world.server.delivery.finish();
  await services.store.write(async (rows) => (await plant(rows)).query("update subscriptions set enabled = false", []));
  world.clock.now += limits.eventRetentionMs + 1;
  await world.ok("registry.ReposService/UpdateRepo", { repo: { uid: String(repo), description: "later" }, updateMask: "description" });
  await world.server.delivery.finish();
  const found = () =>
    services.store.read.query("select type, state from deliveries where subscription_uid = $1 and subject = $2 order by uid", [
      String(subscription),
      String(repo),
    ]);
  const [created, updated] = ["created", "updated"].map((what) => `dev.chainguard.api.platform.registry.repo.${what}.v1`);
  assert.deepEqual(await found(), [
    [created, "DELIVERY_STATE_PENDING"],
    [updated, "DELIVERY_STATE_WAITING"],
  ]);
  await runMaintenance(world.server.application.kernel);
  assert.equal((await found()).length, 2, "what the audit log has not sealed stays");
  await services.audit.finish();
  await runMaintenance(world.server.application.kernel);
  assert.deepEqual(await found(), [[updated, "DELIVERY_STATE_PENDING"]]);
  // As a subscription leaves them that is deleted while an event is enqueued.
  await services.store.write(async (rows) => (await plant(rows)).query("delete from subscriptions where uid = $1", [String(subscription)]));
  await runMaintenance(world.server.application.kernel);
  assert.deepEqual(await found(), []);
});

test("positions go on where they were after everything older was deleted, so that a reader misses nothing", async () => {
  const { services } = world.server.application;
  const happen = async (name: string): Promise<number> => {
    await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name } });
    await world.server.delivery.finish();
    const [row] = await services.store.read.query("select max(position) from outbox");
    return Number(row?.[0]);
  };
  const read = await happen("read");
  await services.audit.finish();
  world.clock.now += limits.eventRetentionMs + 1;
  await runMaintenance(world.server.application.kernel);
  assert.ok((await happen("after the silence")) > read);
});
