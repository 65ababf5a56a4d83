// A sink never delays another, and events of one subject arrive in order, with any number of servers, failures and database outages.
// Two servers share a database; both deliver on demand.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { plant } from "../told.ts";
import { openWorld, type World } from "../world.ts";
import { openInstallation, type Installation } from "./installation.ts";
import { type ReceivedEvent, openSink, type Sink } from "./sink.ts";
import { fc, runs } from "../property.ts";

// Immediate retries, enough for any series of failures.
const settings = { GANTRY_DELIVERY_DELAYS: Array.from({ length: 50 }, () => "0").join() };

/** Deliveries with unrecorded results; they are sent again after their lease expires. */
let lost = 0;
const log = (event: string): void => {
  if (event === "delivery.completion.failed" || event === "delivery.broken") lost++;
};

let installation: Installation;
let world: World;
let second: World;
let servers: readonly [World, World];
let sink: Sink;
const closing: (() => Promise<void>)[] = [];

before(async () => {
  [installation, sink] = await Promise.all([openInstallation(settings, log), openSink()]);
  ({ world } = installation);
  const { DATABASE_URL = "", GANTRY_SECRET_KEY_FILE = "", GANTRY_PUBLIC_URL = "" } = installation.environment;
  second = await openWorld({ ...settings, DATABASE_URL, GANTRY_SECRET_KEY_FILE, GANTRY_PUBLIC_URL }, log);
  servers = [world, second];
  second.clock.now = world.clock.now;
});
after(async () => {
  for (const close of closing) await close();
  await second.close();
  await installation.close();
  await sink.close();
});

const folder = async (name: string): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name } }), "uid");
const makeRepo = async (parent: string, name: string): Promise<string> =>
  text(await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name } }), "uid");
const subscribe = async (parent: string, address: string): Promise<string> =>
  text(await world.ok("events.SubscriptionsService/CreateSubscription", { parent, subscription: { sink: address } }), "uid");
const descriptionOf = ({ body }: ReceivedEvent): string => text((JSON.parse(body) as { body: JsonObject }).body, "description");
const query = (statement: string, values: readonly string[] = []): Promise<readonly (readonly (string | null)[])[]> =>
  world.server.application.services.store.read.query(statement, values);

const switchOff = (address: string): Promise<unknown> =>
  world.server.application.services.store.write(async (rows) =>
    (await plant(rows)).query("update subscriptions set enabled = false where sink = $1", [address]),
  );

/** Waits until the sink accepts an event of this subject. */
const hears = (subject: string): Promise<void> =>
  new Promise((resolve) => {
    const look = (): void => {
      if (sink.got.some(({ headers }) => headers["ce-subject"] === subject)) resolve();
    };
    sink.answer = () => {
      look();
      return { status: 200 };
    };
    look();
  });

/** Opens a sink that accepts connections and never responds. */
const openAbyss = async (): Promise<{ readonly url: string; readonly waiting: () => number; readonly close: () => Promise<void> }> => {
  let waiting = 0;
  const server = createServer(() => void waiting++);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    waiting: () => waiting,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

/** Inserts that many events with distinct subjects for a subscription, older than all others. */
const backlog = async (group: string, subscription: string, many: number): Promise<void> => {
  await world.server.application.services.store.write((rows) =>
    rows.query(
      `with made as (
         insert into outbox (event_id, position, type, source, subject, group_uid, audience, extensions, body_type, data, request_id, create_time)
         select gen_random_uuid(), (select coalesce(max(position), 0) from outbox) + step, 'backlog', '/', 'backlog ' || step, $1,
           'customer', '{}', 'x', '{"body":{}}', '', $3
         from generate_series(1, $4::integer) as step returning event_id, position, subject
       )
       insert into deliveries (uid, subscription_uid, event_id, type, subject, state, next_attempt_time, create_time, update_time)
       select $2 || '/' || lpad(to_hex(position), 16, '0'), $2, event_id, 'backlog', subject, 'DELIVERY_STATE_PENDING', $3, $3, $3 from made`,
      [group, subscription, timestamp(world.clock.now - 3_600_000), String(many)],
    ),
  );
};

test("sinks that never respond delay no other: a healthy sink gets its event at once", async () => {
  const abyss = await openAbyss();
  closing.push(abyss.close);
  const dead = Math.ceil(limits.claimedUnprovenMax / limits.claimedPerUnprovenMax) + 4;
  for (let index = 0; index < dead; index++) {
    const group = await folder(`dead-${index}`);
    await backlog(group, await subscribe(group, abyss.url), 20);
  }
  const group = await folder("well");
  await subscribe(group, sink.url);
  const running = world.server.delivery.finish().catch(() => {});
  const arrived = async (name: string): Promise<number> => {
    const started = performance.now();
    const subject = await makeRepo(group, name);
    await hears(subject);
    return performance.now() - started;
  };
  const tookMs = [await arrived("one"), await arrived("two"), await arrived("three")];
  assert.ok(abyss.waiting() > 0, "the dead ones were tried");
  assert.ok(abyss.waiting() <= limits.claimedUnprovenMax + dead, `${abyss.waiting()} places taken`);
  assert.ok(Math.max(...tookMs) < limits.deliveryTimeoutMs / 2, tookMs.join());
  await switchOff(abyss.url);
  await abyss.close();
  await running;
});

test("a tenant's backlog of 10,000 events does not delay other tenants", async () => {
  const crowded = await openSink();
  closing.push(() => crowded.close());
  const full = await folder("full");
  await backlog(full, await subscribe(full, crowded.url), 10_000);
  const group = await folder("small");
  await subscribe(group, sink.url);
  const running = world.server.delivery.finish();
  await hears(await makeRepo(group, "app"));
  assert.ok(crowded.got.length < 2_000, `${crowded.got.length} went first`);
  await switchOff(crowded.url);
  await running;
});

test("several servers share the deliveries: everything arrives, and exactly once without failures", async () => {
  const group = await folder("shared");
  const subscription = await subscribe(group, sink.url);
  await world.server.delivery.finish();
  sink.got.length = 0;
  sink.answer = () => ({ status: 200 });
  await backlog(group, subscription, 300);
  await Promise.all([world.server.delivery.finish(), second.server.delivery.finish()]);
  assert.equal(sink.got.length, 300);
  assert.equal(new Set(sink.got.map(({ headers }) => headers["ce-id"])).size, 300);
  await makeRepo(group, "app");
  await second.server.delivery.finish();
  assert.equal(sink.got.length, 301, "either server alone does all of it");
});

const pass = (milliseconds: number): void => {
  world.clock.now += milliseconds;
  second.clock.now = world.clock.now;
};

/** Returns the first arrivals of each subject in the order of the sink. */
const firstArrivals = (took: readonly ReceivedEvent[], subject: string): string[] => [
  ...new Set(took.filter(({ headers }) => headers["ce-subject"] === subject).map(descriptionOf)),
];

const describe = (at: World, uid: string, description: string): Promise<JsonObject> =>
  at.ok("registry.ReposService/UpdateRepo", { repo: { uid, description }, updateMask: "description" });

test("events of a subject first arrive in the order of its changes, under any interleaving of changes, servers and failures", async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ change: fc.nat(2), at: fc.nat(1) }) },
    { weight: 1, arbitrary: fc.record({ race: fc.nat(2) }) },
    { weight: 2, arbitrary: fc.record({ deliver: fc.nat(1) }) },
  );
  let histories = 0;
  const run = async (
    steps: readonly ({ change: number; at: number } | { race: number } | { deliver: number })[],
    failures: readonly number[],
  ): Promise<void> => {
    const group = await folder(`order-${++histories}`);
    const repos = [await makeRepo(group, "a"), await makeRepo(group, "b"), await makeRepo(group, "c")];
    await subscribe(group, sink.url);
    await world.server.delivery.finish();
    const took: ReceivedEvent[] = [];
    const left = new Map<unknown, number>();
    sink.answer = (got) => {
      const id = got.headers["ce-id"];
      const failing = left.get(id) ?? failures[left.size % failures.length] ?? 0;
      left.set(id, failing - 1);
      if (failing > 0) return { status: 500 };
      took.push(got);
      return { status: 200 };
    };
    lost = 0;
    const delivering: Promise<void>[] = [];
    const changed = repos.map((): string[][] => []);
    let number = 0;
    for (const one of steps) {
      if ("deliver" in one) delivering.push((servers[one.deliver] ?? world).server.delivery.finish());
      else if ("change" in one) {
        const description = String(++number);
        changed[one.change]?.push([description]);
        await describe(servers[one.at] ?? world, repos[one.change] ?? "", description);
      } else {
        const pair = [String(++number), String(++number)] as const;
        changed[one.race]?.push([...pair]);
        await Promise.all([describe(world, repos[one.race] ?? "", pair[0]), describe(second, repos[one.race] ?? "", pair[1])]);
      }
    }
    await Promise.all([...delivering, world.server.delivery.finish(), second.server.delivery.finish()]);
    if (lost > 0) pass(limits.deliveryLeaseMs + 1000);
    await Promise.all(servers.map(({ server }) => server.delivery.finish()));
    for (const [index, repo] of repos.entries()) {
      const arrived = firstArrivals(took, repo);
      // Two concurrent changes may arrive in either order.
      let at = 0;
      for (const together of changed[index] ?? [])
        assert.deepEqual(arrived.slice(at, (at += together.length)).sort(), [...together].sort(), `${arrived.join()} for ${JSON.stringify(changed[index])}`);
      assert.equal(arrived.length, at);
      const { description = "" } = await world.ok("registry.ReposService/GetRepo", { uid: repo });
      assert.equal(arrived.at(-1) ?? "", description, "what arrived last is how it is");
    }
  };
  const failing = fc.array(fc.nat(3), { minLength: 3, maxLength: 9 });
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 14 }), failing, run), { numRuns: runs(4), endOnFailure: true });
});

test("repeated database outages lose no committed change and deliver nothing else", async () => {
  const group = await folder("restarts");
  await subscribe(group, sink.url);
  await world.server.delivery.finish();
  sink.got.length = 0;
  sink.answer = () => ({ status: 200 });
  const cut = (): Promise<unknown> =>
    query("select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()").catch(() => {});
  const deliver = (): Promise<void> => Promise.all(servers.map(({ server }) => server.delivery.finish().catch(() => {}))).then(() => {});
  for (let round = 0; round < 6; round++) {
    await Promise.all([
      ...Array.from({ length: 8 }, (_, index) =>
        world.call("registry.ReposService/CreateRepo", { parent: group, repo: { name: `app-${round}-${index}` } }).catch(() => {}),
      ),
      deliver(),
      cut(),
      cut(),
    ]);
  }
  // A result that could not be recorded counts as lost when its lease expires.
  pass(limits.deliveryLeaseMs + 1000);
  for (let again = 0; again < 3; again++) await deliver();
  const committed = (await query("select event_id from outbox where group_uid = $1 and type like '%.repo.created.%'", [group])).map(([id]) => id);
  const arrived = new Set(sink.got.filter(({ headers }) => String(headers["ce-type"]).includes(".repo.created.")).map(({ headers }) => headers["ce-id"]));
  assert.ok(committed.length > 0);
  assert.deepEqual([...arrived].sort(), [...committed].sort());
});
