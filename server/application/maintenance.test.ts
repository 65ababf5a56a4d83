// Maintenance, on a real server with a settable clock.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { limits } from "#base/limits.ts";
import { openPauses } from "#base/pieces.ts";
import { plant } from "../../test/told.ts";
import { asOwner } from "../../test/database.ts";
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

test("a signing key is replaced after its lifetime, and not before", async () => {
  await runMaintenance(world.server.application.kernel);
  assert.equal(await kids(), 1);
  world.clock.now += limits.signingKeyLifetimeMs + 1;
  await runMaintenance(world.server.application.kernel);
  assert.equal(await kids(), 2);
  await runMaintenance(world.server.application.kernel);
  assert.equal(await kids(), 2);
  await world.ok("iam.GroupsService/GetGroup", { uid: world.organization });
});

test("a response kept for an idempotency key is deleted after its retention", async () => {
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

test("expired events and deliveries are deleted, and undeliverable ones do not block later ones", async () => {
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
  // A subscription deleted while an event is enqueued leaves this state.
  await services.store.write(async (rows) => (await plant(rows)).query("delete from subscriptions where uid = $1", [String(subscription)]));
  await runMaintenance(world.server.application.kernel);
  assert.deepEqual(await found(), []);
});

test("positions continue after all older events are deleted, so that a reader misses nothing", async () => {
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

test("a failing part is logged and backs off, and the others continue", async () => {
  const lines: string[] = [];
  const other = await openWorld({}, (event, fields) => void lines.push(`${event} ${JSON.stringify(fields)}`));
  try {
    const { kernel, services } = other.server.application;
    const keys = async (): Promise<number> => Number((await services.store.read.query("select count(*) from idempotency_keys"))[0]?.[0]);
    const create = (key: string): Promise<unknown> =>
      other.ok("iam.GroupsService/CreateGroup", { parent: other.organization, group: { name: key } }, { headers: { "idempotency-key": key } });
    const signIn =
      "insert into sign_ins (state_hash, browser_hash, identity_provider_uid, sealed, expire_time) values ('state', 'browser', 'x', '', '2020-01-01')";
    await asOwner(other.databaseUrl, signIn);
    await asOwner(other.databaseUrl, "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$");
    await asOwner(other.databaseUrl, "create trigger refuse before delete on sign_ins for each row execute function refuse()");
    const pauses = openPauses(limits.maintenanceMs / 2, limits.maintenancePauseMaxMs);
    const failures = (): number => lines.filter((line) => line.startsWith('maintenance.failed {"part":"sign_ins"')).length;
    const seen: number[] = [];
    for (let round = 0; round < 8; round++) {
      await create(`round ${round}`);
      other.clock.now += limits.maintenanceMs;
      await runMaintenance(kernel, { pauses });
      seen.push(failures());
    }
    assert.deepEqual(seen, [1, 2, 3, 3, 4, 4, 4, 4], "half an hour, an hour, two, four, eight");
    other.clock.now += limits.idempotencyLifetimeMs + 1;
    await asOwner(other.databaseUrl, "drop trigger refuse on sign_ins");
    await runMaintenance(kernel, { pauses });
    assert.equal(await keys(), 0);
    assert.deepEqual(await services.store.read.query("select 1 from sign_ins"), []);
  } finally {
    await other.close();
  }
});

test("a backlog longer than the interval between runs does not delay the other parts' next turn", async () => {
  const { services, kernel } = world.server.application;
  const left = async (): Promise<number> => Number((await services.store.read.query("select count(*) from aws_requests"))[0]?.[0]);
  const rows = limits.retentionRowsMax * 2 + 1;
  await asOwner(
    world.databaseUrl,
    `insert into aws_requests (digest, expire_time) select 'digest ' || number, '2020-01-01' from generate_series(1, ${rows}) as number`,
  );
  // Each read of the clock advances it by half the interval, which leaves time for one batch.
  const slow = { ...kernel, services: { ...services, clock: () => (world.clock.now += limits.maintenanceMs / 2) } };
  await runMaintenance(slow);
  assert.equal(await left(), rows - limits.retentionRowsMax);
  await runMaintenance(slow);
  assert.equal(await left(), 1);
  await runMaintenance(kernel);
  assert.equal(await left(), 0);
});

test("a large deletion runs in batches that adapt to slow rows, and other parts do not wait for it", async () => {
  const { services, kernel } = world.server.application;
  const rows = limits.retentionRowsMax + 207;
  await asOwner(
    world.databaseUrl,
    `insert into aws_requests (digest, expire_time) select 'digest ' || number, '2020-01-01' from generate_series(1, ${rows}) as number`,
  );
  await asOwner(world.databaseUrl, "create table noted_deletions (at bigint generated always as identity, name text, transaction xid8)");
  await asOwner(
    world.databaseUrl,
    `create function note_deleted() returns trigger language plpgsql security definer as $$
     begin
       if tg_table_name = 'aws_requests' then perform pg_sleep(0.0015); end if;
       insert into noted_deletions (name, transaction) values (tg_table_name, pg_current_xact_id());
       return null;
     end $$`,
  );
  for (const table of ["aws_requests", "sign_ins"])
    await asOwner(world.databaseUrl, `create trigger note_deleted after delete on ${table} for each row execute function note_deleted()`);
  await asOwner(
    world.databaseUrl,
    "insert into sign_ins (state_hash, browser_hash, identity_provider_uid, sealed, expire_time) values ('late', 'browser', 'x', '', '2020-01-01')",
  );
  await runMaintenance(kernel);
  assert.deepEqual(await services.store.read.query("select 1 from aws_requests"), []);
  const pieces = await asOwner(world.databaseUrl, "select name, count(*) from noted_deletions group by name, transaction order by min(at)");
  assert.ok(
    pieces.filter(([name]) => name === "aws_requests").every(([, count]) => Number(count) < limits.retentionRowsMax),
    "fewer where they take long",
  );
  assert.ok(pieces.findIndex(([name]) => name === "sign_ins") <= 0, pieces.map((each) => each.join(" ")).join());
});
