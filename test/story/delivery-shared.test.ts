// An organization's events never delay another's: large numbers, events that cannot be enqueued, sent or recorded, sinks that never respond, wrong
// clocks.
// Two servers share a database; both deliver on demand. Each test has its own organizations.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { lockOrder } from "#db";
import { subscriptionSecretBinding, subscriptionSecretPurpose } from "#events/store";
import { openFanOut } from "../../server/events/delivery/fan-out.ts";
import { sealAudit, tamper, verifyLogs } from "../audit.ts";
import { plant } from "../told.ts";
import { openWorld, type World } from "../world.ts";
import { type Installation, openInstallation } from "./installation.ts";
import { openSink, type Sink } from "./sink.ts";

const minute = 60_000;
const settings = { GANTRY_DELIVERY_DELAYS: "0,5,300,36000", GANTRY_OPEN_ORGANIZATIONS: "true" };

const logged: { readonly event: string; readonly fields: Readonly<Record<string, unknown>> }[] = [];
const log = (event: string, fields: Readonly<Record<string, unknown>> = {}): void => void logged.push({ event, fields });

let installation: Installation;
let world: World;
let second: World;
before(async () => {
  installation = await openInstallation(settings, log);
  ({ world } = installation);
  const { DATABASE_URL = "", GANTRY_SECRET_KEY_FILE = "", GANTRY_PUBLIC_URL = "" } = installation.environment;
  second = await openWorld({ ...settings, DATABASE_URL, GANTRY_SECRET_KEY_FILE, GANTRY_PUBLIC_URL }, log);
  setClock(world.clock.now);
});
after(async () => {
  await second.close();
  await installation.close();
  await Promise.all(sinks.map((sink) => sink.close()));
});

const setClock = (nowMs: number): void => {
  world.clock.now = nowMs;
  second.clock.now = nowMs;
};
const pass = (milliseconds: number): void => setClock(world.clock.now + milliseconds);

const sinks: Sink[] = [];
const makeSink = async (): Promise<Sink> => {
  const sink = await openSink();
  sinks.push(sink);
  return sink;
};

const query = (statement: string, values: readonly string[] = []) => world.server.application.services.store.read.query(statement, values);
const write = (statement: string, values: readonly (string | readonly string[])[] = []) =>
  world.server.application.services.store.write(async (rows) => (await plant(rows)).query(statement, values));
const count = async (statement: string, values: readonly string[] = []): Promise<number> => Number((await query(statement, values))[0]?.[0]);

let made = 0;
const makeOrganization = async (): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: `organization ${++made}` } }), "uid");
const makeRepo = async (parent: string, name = `repo-${++made}`): Promise<string> =>
  text(await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name } }), "uid");
const subscribe = async (parent: string, sink: string): Promise<string> =>
  text(await world.ok("events.SubscriptionsService/CreateSubscription", { parent, subscription: { sink } }), "uid");
const trySink = (subscriptionUid: string): Promise<JsonObject> => world.ok("gantry.events.v1.DeliveriesService/TestSubscription", { subscriptionUid });

/** Copies the subscription that many times. */
const multiply = async (subscription: string, many: number): Promise<void> => {
  const { seal } = world.server.application.services;
  const uids = Array.from({ length: many }, (_, index) => `${subscription.slice(0, -16)}${(index + 1).toString(16).padStart(16, "0")}`);
  const sealed = uids.map((uid) => seal.seal(subscriptionSecretPurpose, "secret", subscriptionSecretBinding(uid)));
  await write(
    `insert into subscriptions (uid, sink, creator, secret_sealed, create_time, update_time)
     select copy.uid, sink, creator, copy.sealed, create_time, update_time
     from subscriptions as one, unnest($2::text[], $3::text[]) as copy(uid, sealed) where one.uid = $1`,
    [subscription, uids, sealed],
  );
};

/** Emits that many events with distinct subjects. */
const happen = async (group: string, many: number): Promise<void> => {
  await write(
    `insert into outbox (event_id, type, source, subject, group_uid, audience, extensions, body_type, data, request_id, create_time)
     select gen_random_uuid(), 'many', '/', 'subject ' || number, $1, 'customer', '{}', 'x', '{"body":{}}', '', $3
     from generate_series(1, $2::integer) as number`,
    [group, String(many), timestamp(world.clock.now)],
  );
};

const hears = (sink: Sink, many: number, status = 200): Promise<void> =>
  new Promise((resolve) => {
    const look = (): void => {
      if (sink.got.length >= many) resolve();
    };
    sink.answer = () => {
      look();
      return { status };
    };
    look();
  });

const failWhere = async (name: string, table: string, when: string, condition: string): Promise<() => Promise<void>> => {
  await tamper(
    world,
    `create function ${name}() returns trigger language plpgsql as $$ begin if ${condition} then raise exception 'no'; end if; return new; end $$`,
  );
  await tamper(world, `create trigger ${name} before ${when} on ${table} for each row execute function ${name}()`);
  return async () => {
    await tamper(world, `drop trigger ${name} on ${table}`);
    await tamper(world, `drop function ${name}`);
  };
};

const typesOf = ({ got }: Sink): string[] => got.map(({ headers }) => String(headers["ce-type"]));
const subjectsOf = ({ got }: Sink): string[] => got.map(({ headers }) => String(headers["ce-subject"])).sort();
const setAside = (event: string): string[] => logged.filter((line) => line.event === event).map(({ fields }) => JSON.stringify(fields));

// ---- many -------------------------------------------------------------------------------------------------------

test("attack 44: 2,500 subscriptions and 600 changes of one organization stop neither other deliveries nor the audit log", async () => {
  const [noisy, quiet] = [await makeOrganization(), await makeOrganization()];
  const [crowded, sink] = [await makeSink(), await makeSink()];
  const subscription = await subscribe(noisy, crowded.url);
  await subscribe(quiet, sink.url);
  await world.server.delivery.finish();
  await multiply(subscription, 2_499);
  await happen(noisy, 600);
  sink.got.length = 0;
  crowded.got.length = 0;
  const delivering = world.server.delivery.finish();
  const repo = await makeRepo(quiet);
  await Promise.race([hears(sink, 1), delivering]);
  assert.deepEqual(subjectsOf(sink), [repo]);
  assert.ok(crowded.got.length < 20_000, `${crowded.got.length} went first`);
  assert.ok((await count("select count(*) from fan_outs where uid = $1", [noisy])) === 1, "the other one's are still being made");
  await sealAudit(world);
  assert.equal(await count("select count(*) from audit_entries where left(uid, 40) = $1 and type = 'many'", [noisy]), 600);
  assert.equal((await verifyLogs(world)).whole, true);
  await write("delete from subscriptions where left(uid, 40) = $1", [noisy]);
  await write("delete from deliveries where left(uid, 40) = $1", [noisy]);
  await delivering;
});

test("each event becomes one delivery per matching subscription, under any interleaving of batches, servers and lost connections", async () => {
  const organization = await makeOrganization();
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "below" } }), "uid");
  const sink = await makeSink();
  const [above, below] = [await subscribe(organization, sink.url), await subscribe(group, sink.url)];
  await world.server.delivery.finish();
  await multiply(above, limits.fanOutMax);
  await multiply(below, 50);
  const [fromOrganization, fromGroup] = [4, 5];
  await happen(organization, fromOrganization);
  await happen(group, fromGroup);
  const cut = (): Promise<unknown> =>
    query("select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()").catch(() => {});
  for (let round = 0; round < 4; round++) {
    await Promise.all([world.server.delivery.enqueue().catch(() => {}), second.server.delivery.enqueue().catch(() => {}), cut()]);
  }
  await Promise.all([world.server.delivery.enqueue(), second.server.delivery.enqueue()]);
  const expected = `
    select subscription.uid, event.event_id from outbox as event join subscriptions as subscription
      on event.group_uid = left(subscription.uid, -17) or starts_with(event.group_uid, left(subscription.uid, -17) || '/')
    where event.type = 'many' and left(event.group_uid, 40) = $1`;
  const actual = "select subscription_uid, event_id from deliveries where type = 'many' and left(uid, 40) = $1";
  assert.equal(
    await count(`select count(*) from (${expected}) as e`, [organization]),
    (fromOrganization + fromGroup) * (limits.fanOutMax + 1) + fromGroup * 51,
  );
  assert.equal(await count(`select count(*) from (${expected} except ${actual}) as missing`, [organization]), 0);
  assert.equal(await count(`select count(*) from (${actual} except all ${expected}) as more`, [organization]), 0);
  assert.equal(await count("select count(*) from fan_outs"), 0);
  // Only the first delivery of each subject is in flight.
  const [[first] = []] = await query(
    `select count(*) from (
       select distinct on (subscription_uid, subject) state from deliveries
       where type = 'many' and left(uid, 40) = $1 order by subscription_uid, subject, uid
     ) as d where state = 'DELIVERY_STATE_PENDING'`,
    [organization],
  );
  assert.equal(
    Number(first),
    await count("select count(*) from deliveries where type = 'many' and left(uid, 40) = $1 and state = 'DELIVERY_STATE_PENDING'", [organization]),
  );
  await write("delete from subscriptions where left(uid, 40) = $1", [organization]);
  await write("delete from deliveries where left(uid, 40) = $1", [organization]);
});

test("in each round a small organization waits for at most one batch of a large one", async () => {
  const { store } = world.server.application.services;
  const [noisy, quiet] = [await makeOrganization(), await makeOrganization()];
  const sink = await makeSink();
  const subscription = await subscribe(noisy, sink.url);
  await subscribe(quiet, sink.url);
  await world.server.delivery.finish();
  await multiply(subscription, 2 * limits.fanOutMax);
  await happen(noisy, 50);
  const step = openFanOut({ store, clock: () => world.clock.now, log });
  const deliveriesOf = (root: string): Promise<number> => count("select count(*) from deliveries where type = 'many' and left(uid, 40) = $1", [root]);
  while (await world.server.application.numberEvents(timestamp(world.clock.now)));
  for (let round = 1; round <= 3; round++) {
    await happen(quiet, 2);
    while (await world.server.application.numberEvents(timestamp(world.clock.now)));
    assert.equal(await step(), true);
    assert.equal(await deliveriesOf(quiet), 2 * round);
    assert.ok((await deliveriesOf(noisy)) <= round * limits.fanOutMax);
  }
  await write("delete from subscriptions where left(uid, 40) = $1", [noisy]);
  await world.server.delivery.enqueue();
  await write("delete from deliveries where left(uid, 40) = $1", [noisy]);
});

test("a batch that takes too long is halved until it fits: everything is enqueued and nothing set aside", async () => {
  const organization = await makeOrganization();
  const sink = await makeSink();
  const subscription = await subscribe(organization, sink.url);
  await world.server.delivery.finish();
  await multiply(subscription, 299);
  await tamper(world, "create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.005); return new; end $$");
  await tamper(world, "create trigger slow before insert on deliveries for each row when (new.type = 'many') execute function slow()");
  logged.length = 0;
  await happen(organization, 1);
  await world.server.delivery.enqueue();
  await tamper(world, "drop trigger slow on deliveries");
  assert.equal(await count("select count(*) from deliveries where type = 'many' and left(uid, 40) = $1", [organization]), 300);
  assert.deepEqual(setAside("delivery.enqueue.set_aside"), []);
  await write("delete from subscriptions where left(uid, 40) = $1", [organization]);
  await write("delete from deliveries where left(uid, 40) = $1", [organization]);
});

test("many unresponsive sinks of one organization do not delay another's event", async () => {
  const abyss = createServer(() => {});
  await new Promise<void>((resolve) => void abyss.listen(0, "127.0.0.1", resolve));
  const [noisy, quiet] = [await makeOrganization(), await makeOrganization()];
  const sink = await makeSink();
  const subscription = await subscribe(noisy, `http://127.0.0.1:${(abyss.address() as AddressInfo).port}/`);
  await subscribe(quiet, sink.url);
  await multiply(subscription, 2 * limits.claimedMax);
  await happen(noisy, 2);
  await write("delete from deliveries where left(uid, 40) = $1", [quiet]);
  await second.server.delivery.enqueue();
  let waiting = 0;
  const full = new Promise<void>((resolve) => void abyss.on("request", () => ++waiting === limits.claimedUnprovenMax && resolve()));
  const delivering = world.server.delivery.finish();
  await full;
  sink.got.length = 0;
  const repo = await makeRepo(quiet);
  // Recorded at the latest when the other deliveries time out.
  await Promise.race([hears(sink, 1), delivering]);
  assert.deepEqual(subjectsOf(sink), [repo]);
  assert.ok(waiting < limits.claimedMax, `${waiting} places taken`);
  await write("delete from subscriptions where left(uid, 40) = $1", [noisy]);
  await write("delete from deliveries where left(uid, 40) = $1", [noisy]);
  abyss.closeAllConnections();
  abyss.close();
  await delivering;
});

// ---- failures ---------------------------------------------------------------------------------------------------

test("an event that cannot be enqueued is set aside under its name, others continue, and it arrives when possible", async () => {
  const organizations = [await makeOrganization(), await makeOrganization()];
  const received = [await makeSink(), await makeSink()] as const;
  for (const [index, organization] of organizations.entries()) {
    await subscribe(organization, received[index]?.url ?? "");
    await subscribe(organization, received[index]?.url ?? "");
  }
  await world.server.delivery.finish();
  for (const sink of received) sink.got.length = 0;
  logged.length = 0;
  const heal = await failWhere("poisoned", "deliveries", "insert", "new.subject = 'subject 3' and new.type = 'many'");
  for (const organization of organizations) await happen(organization, 6);
  for (let round = 0; round < 12; round++) {
    await Promise.all([world.server.delivery.finish(), second.server.delivery.finish()]);
    pass(2_000);
  }
  const others = ["1", "2", "4", "5", "6"].flatMap((number) => [`subject ${number}`, `subject ${number}`]);
  for (const sink of received) assert.deepEqual(subjectsOf(sink).map(decodeURIComponent), others);
  const waiting = (await query("select uid from fan_outs")).map(([uid]) => uid ?? "");
  assert.equal(waiting.length, 4, "an event of two subscriptions in each organization");
  for (const uid of waiting)
    assert.ok(
      setAside("delivery.enqueue.set_aside").some((line) => line.includes(uid)),
      uid,
    );
  // The other server's last attempt may be due now.
  await world.server.delivery.finish();
  const tries = setAside("delivery.enqueue.set_aside").length;
  await world.server.delivery.finish();
  assert.equal(setAside("delivery.enqueue.set_aside").length, tries, "it is not tried all the time");
  await heal();
  pass(limits.setAsideMaxMs);
  await world.server.delivery.finish();
  for (const sink of received) assert.deepEqual(subjectsOf(sink).map(decodeURIComponent), [...others, "subject 3", "subject 3"].sort());
  assert.equal(await count("select count(*) from fan_outs"), 0);
});

test("if nothing can be enqueued, few events are set aside, and all arrive after recovery", async () => {
  const organization = await makeOrganization();
  const sink = await makeSink();
  await subscribe(organization, sink.url);
  await world.server.delivery.finish();
  sink.got.length = 0;
  const heal = await failWhere("refused", "deliveries", "insert", "new.type = 'many'");
  await happen(organization, 200);
  for (let round = 0; round < 10; round++) {
    await world.server.delivery.finish();
    pass(minute);
  }
  assert.ok((await count("select count(*) from fan_outs")) < 20);
  await heal();
  for (let round = 0; round < 3; round++) {
    pass(limits.setAsideMaxMs);
    await world.server.delivery.finish();
  }
  assert.equal(new Set(sink.got.map(({ headers }) => headers["ce-id"])).size, 200);
  assert.equal(sink.got.length, 200);
});

test("a delivery that cannot be claimed, recorded or decrypted delays no other", async () => {
  const organizations = [await makeOrganization(), await makeOrganization(), await makeOrganization()];
  const [sink, healthy, dumb] = [await makeSink(), await makeSink(), await makeSink()];
  const subscriptions = [await subscribe(organizations[0] ?? "", sink.url), await subscribe(organizations[1] ?? "", healthy.url)];
  const sealed = await subscribe(organizations[2] ?? "", dumb.url);
  await world.server.delivery.finish();
  for (const each of [sink, healthy, dumb]) each.got.length = 0;
  await write("update subscriptions set secret_sealed = 'broken' where uid = $1", [sealed]);
  const claims = await failWhere("unclaimable", "deliveries", "update", "new.subject = 'subject 2' and new.lease_time is not null");
  const completions = await failWhere("unwritable", "deliveries", "update", "new.subject = 'subject 4' and new.state = 'DELIVERY_STATE_DELIVERED'");
  logged.length = 0;
  for (const organization of organizations) await happen(organization, 5);
  await world.server.delivery.finish();
  const delivered = "select subject from deliveries where subscription_uid = $1 and type = 'many' and state = 'DELIVERY_STATE_DELIVERED' order by 1";
  for (const subscription of subscriptions) assert.deepEqual((await query(delivered, [subscription])).flat(), ["subject 1", "subject 3", "subject 5"]);
  const named = logged.map(({ event, fields }) => `${event} ${JSON.stringify(fields)}`);
  for (const [event, subject, subscription] of [
    ["delivery.set_aside", "subject 2", subscriptions[0]],
    ["delivery.completion.failed", "subject 4", subscriptions[1]],
    ["delivery.broken", "subject 1", sealed],
  ] as const) {
    const [[uid] = []] = await query("select uid from deliveries where subject = $1 and subscription_uid = $2", [subject, subscription ?? ""]);
    assert.ok(
      named.some((line) => line.startsWith(event) && line.includes(uid ?? "none")),
      `${event} ${subject}`,
    );
  }
  assert.deepEqual(typesOf(dumb), []);
  // The retry delay grows, and the sink is not blamed.
  const next = (): Promise<number> =>
    count("select extract(epoch from next_attempt_time) * 1000 from deliveries where subscription_uid = $1 and subject = 'subject 1'", [sealed]);
  const waits: number[] = [];
  for (let round = 0; round < 3; round++) {
    waits.push((await next()) - world.clock.now);
    setClock(await next());
    await world.server.delivery.finish();
  }
  assert.deepEqual(waits, [limits.deliveryLeaseMs, 5 * minute, 600 * minute]);
  assert.equal(await count("select count(*) from subscriptions where uid = $1 and failing_since is null", [sealed]), 1);
  await claims();
  await completions();
  pass(601 * minute);
  await world.server.delivery.finish();
  for (const subscription of subscriptions) assert.equal((await query(delivered, [subscription])).length, 5);
  await write("delete from subscriptions where uid = $1", [sealed]);
  await write("delete from deliveries where subscription_uid = $1", [sealed]);
});

test("a long lock on an organization's event order, such as a large replay, delays no other organization", async () => {
  const [noisy, quiet] = [await makeOrganization(), await makeOrganization()];
  const [own, sink] = [await makeSink(), await makeSink()];
  await subscribe(noisy, own.url);
  const subscription = await subscribe(quiet, sink.url);
  await world.server.delivery.finish();
  sink.got.length = 0;
  const released = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holding = second.server.application.services.store.write(async (rows) => {
    await lockOrder(rows, noisy, "alone");
    held.resolve();
    await released.promise;
  });
  await held.promise;
  await happen(noisy, 3);
  const delivering = world.server.delivery.finish();
  const repo = await makeRepo(quiet);
  await hears(sink, 1);
  const isDelivered = (): Promise<number> =>
    count("select count(*) from deliveries where subscription_uid = $1 and subject = $2 and state = 'DELIVERY_STATE_DELIVERED'", [subscription, repo]);
  while ((await isDelivered()) === 0);
  assert.deepEqual(
    typesOf(own).filter((type) => type === "many"),
    [],
  );
  released.resolve();
  await holding;
  await delivering;
  assert.equal(typesOf(own).filter((type) => type === "many").length, 3);
});

test("a subscription at the maximum depth gets the events of its group", async () => {
  let deepest = await makeOrganization();
  const sink = await makeSink();
  while (deepest.length + 17 <= 1024) deepest = text(await world.ok("iam.GroupsService/CreateGroup", { parent: deepest, group: { name: "deep" } }), "uid");
  await subscribe(deepest, sink.url);
  await world.server.delivery.finish();
  sink.got.length = 0;
  const repo = await makeRepo(deepest);
  await world.server.delivery.finish();
  assert.deepEqual(subjectsOf(sink), [repo]);
});

// ---- order and time ---------------------------------------------------------------------------------------------

test("attack 45: a test event is sent at once, even if the previous one waits for a retry, and nothing waits for it", async () => {
  const organization = await makeOrganization();
  const sink = await makeSink();
  const subscription = await subscribe(organization, sink.url);
  await world.server.delivery.finish();
  sink.got.length = 0;
  sink.answer = () => ({ status: 503 });
  await happen(organization, limits.claimedPerSubscriptionMax);
  await trySink(subscription);
  await world.server.delivery.finish();
  for (let more = 1; more <= 3; more++) {
    const { eventId } = await trySink(subscription);
    const before = sink.got.length;
    await world.server.delivery.finish();
    assert.deepEqual(
      sink.got.slice(before).map(({ headers }) => headers["ce-id"]),
      [eventId],
    );
  }
  sink.got.length = 0;
  sink.answer = () => ({ status: 200 });
  await world.ok("events.SubscriptionsService/DeleteSubscription", { uid: subscription });
  await world.server.delivery.finish();
  assert.deepEqual(sink.got, []);
});

test("a test event precedes a failing sink's backlog and the organization's events that are still being enqueued", async () => {
  const organization = await makeOrganization();
  const sink = await makeSink();
  const subscription = await subscribe(organization, sink.url);
  await world.server.delivery.finish();
  sink.got.length = 0;
  sink.answer = () => ({ status: 503 });
  await happen(organization, 40);
  await world.server.delivery.finish();
  pass(minute);
  await multiply(subscription, limits.fanOutMax);
  await happen(organization, 30);
  sink.got.length = 0;
  const { eventId } = await trySink(subscription);
  const delivering = world.server.delivery.finish();
  const tested = (): boolean => sink.got.some(({ headers }) => headers["ce-id"] === eventId);
  await new Promise<void>((resolve) => {
    sink.answer = () => {
      if (tested()) resolve();
      return { status: 503 };
    };
  });
  assert.ok(sink.got.length < 30 * limits.fanOutMax, "not behind all of it");
  assert.equal(await count("select count(*) from fan_outs where uid = $1", [organization]), 1, "the others are still being enqueued");
  await write("delete from subscriptions where left(uid, 40) = $1", [organization]);
  await write("delete from deliveries where left(uid, 40) = $1", [organization]);
  await delivering;
});

const clocks: readonly (readonly [title: string, ahead: () => World, back: () => World])[] = [
  ["the same server", () => world, () => world],
  ["another server, whose clock was right all the time,", () => second, () => world],
];
for (const [title, ahead, back] of clocks) {
  test(`attack 46: a delivery postponed by a fast clock waits no longer than its schedule when ${title} continues`, async () => {
    const organization = await makeOrganization();
    const sink = await makeSink();
    const subscription = await subscribe(organization, sink.url);
    await world.server.delivery.finish();
    sink.got.length = 0;
    const right = world.clock.now;
    ahead().clock.now = right + 8 * 60 * minute;
    sink.answer = () => ({ status: 503 });
    const repo = await makeRepo(organization);
    await ahead().server.delivery.finish();
    assert.equal(sink.got.length, 1);
    // One with a successor, and one without an attempt.
    await ahead().ok("registry.ReposService/UpdateRepo", { repo: { uid: repo, description: "later" }, updateMask: "description" });
    const untried = await makeRepo(organization);
    await ahead().server.delivery.enqueue();
    setClock(right);
    sink.answer = () => ({ status: 200 });
    pass(limits.delayLookMs);
    await back().server.delivery.finish();
    assert.deepEqual(subjectsOf(sink), [repo, untried].sort(), "what was never tried is sent at once");
    pass(7_000);
    await back().server.delivery.finish();
    assert.equal(sink.got.length, 4);
    assert.equal(await count("select count(*) from deliveries where subscription_uid = $1 and state <> 'DELIVERY_STATE_DELIVERED'", [subscription]), 0);
  });
}

test("a lease made too long by a wrong clock expires after the usual time", async () => {
  const organization = await makeOrganization();
  const sink = await makeSink();
  await subscribe(organization, sink.url);
  await world.server.delivery.finish();
  sink.got.length = 0;
  await happen(organization, 1);
  await world.server.delivery.enqueue();
  // The state that a server killed with a clock one day ahead leaves.
  await write("update deliveries set lease_time = $1, attempts = 1 where type = 'many' and left(uid, 40) = $2", [
    timestamp(world.clock.now + 24 * 60 * minute),
    organization,
  ]);
  await world.server.delivery.finish();
  assert.deepEqual(typesOf(sink), ["many"]);
});
