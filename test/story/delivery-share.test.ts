// An organization's share of outbound connections: a delivery beyond it waits without counting as an attempt, and delays no other organization.

import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { plant } from "../told.ts";
import { openWorld, type World } from "../world.ts";
import { openSink, type Sink } from "./sink.ts";

const logged: { readonly event: string; readonly fields: Readonly<Record<string, unknown>> }[] = [];
const log = (event: string, fields: Readonly<Record<string, unknown>> = {}): void => void logged.push({ event, fields });
const linesOf = (event: string) => logged.filter((line) => line.event === event);

let world: World;
const closing: (() => Promise<void>)[] = [];
before(async () => {
  world = await openWorld({ GANTRY_DELIVERY_DELAYS: "0,5,300", GANTRY_OPEN_ORGANIZATIONS: "true" }, log);
});
after(async () => {
  for (const close of closing) await close();
  await world.close();
});

const makeSink = async (): Promise<Sink> => {
  const sink = await openSink();
  closing.push(sink.close);
  return sink;
};

interface SlowSink {
  readonly url: string;
  hold(): void;
  /** Resolves when that many responses are held back. */
  holds(many: number): Promise<void>;
  release(): void;
  held(): number;
  /** Counts requests that ended without a response. */
  abandoned(): number;
}

const openSlowSink = async (): Promise<SlowSink> => {
  const held = new Set<ServerResponse>();
  let [isHolding, abandoned] = [false, 0];
  let look = (): void => {};
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      if (!isHolding) {
        response.writeHead(200).end();
        return;
      }
      held.add(response);
      response.on("close", () => {
        if (held.delete(response)) abandoned++;
      });
      look();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const release = (): void => {
    isHolding = false;
    for (const response of held) {
      held.delete(response);
      response.writeHead(200).end();
    }
  };
  closing.push(
    () =>
      new Promise<void>((resolve) => {
        release();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    hold: () => {
      isHolding = true;
    },
    holds: (many) =>
      new Promise((resolve) => {
        look = () => void (held.size >= many && resolve());
        look();
      }),
    release,
    held: () => held.size,
    abandoned: () => abandoned,
  };
};

const query = (statement: string, values: readonly string[] = []) => world.server.application.services.store.read.query(statement, values);
const finish = (): Promise<void> => world.server.delivery.finish();

let made = 0;
const makeOrganization = async (): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: `organization ${++made}` } }), "uid");
const subscribe = async (parent: string, sink: string): Promise<string> =>
  text(await world.ok("events.SubscriptionsService/CreateSubscription", { parent, subscription: { sink, eventTypes: ["many"] } }), "uid");

/** Emits that many numbered events, over these subjects in turn. */
const happen = async (group: string, many: number, subjects: number): Promise<void> => {
  await world.server.application.services.store.write(async (rows) =>
    (await plant(rows)).query(
      `insert into outbox (event_id, type, source, subject, group_uid, audience, extensions, body_type, data, request_id, create_time)
       select gen_random_uuid(), 'many', '/', 'subject-' || number % $4::integer, $1, 'customer', '{}', 'x', '{"body":{"number":' || number || '}}', '', $3
       from generate_series(1, $2::integer) as number`,
      [group, String(many), timestamp(world.clock.now), String(subjects)],
    ),
  );
};

const numbersIn = ({ got }: Sink): number[] => got.map(({ body }) => Number(part(JSON.parse(body) as JsonObject, "body").number));

const deliveriesOf = (organization: string): Promise<unknown> =>
  query("select state, attempts, count(*) from deliveries where left(uid, 40) = $1 and type = 'many' group by 1, 2 order by 1, 2", [organization]);

test("sinks that stop responding use only their organization's share, and another's event is sent meanwhile", async () => {
  const [noisy, quiet] = [await makeOrganization(), await makeOrganization()];
  const [slow, sink] = [await openSlowSink(), await makeSink()];
  const sinks = 8;
  for (let index = 0; index < sinks; index++) await subscribe(noisy, slow.url);
  await subscribe(quiet, sink.url);
  await happen(noisy, 1, 1);
  await finish();
  slow.hold();
  const each = limits.claimedPerSubscriptionMax;
  await happen(noisy, each, each);
  const delivering = finish();
  await slow.holds(limits.sinkFetchesEachMax);
  const { promise: sent, resolve } = Promise.withResolvers<void>();
  sink.answer = () => {
    resolve();
    return { status: 200 };
  };
  await happen(quiet, 1, 1);
  await sent;
  assert.equal(slow.abandoned(), 0, "it did not wait for the end of any of the others");
  assert.equal(slow.held(), limits.sinkFetchesEachMax);
  slow.release();
  await delivering;
  assert.deepEqual(await deliveriesOf(noisy), [["DELIVERY_STATE_DELIVERED", "1", String(sinks * (each + 1))]]);
  assert.deepEqual(linesOf("delivery.share.full"), []);
});

test("attack 62: a delivery beyond the share is sent in order when a connection is free, without counting an attempt", async () => {
  const [noisy, quiet] = [await makeOrganization(), await makeOrganization()];
  const [slow, own, sink] = [await openSlowSink(), [await makeSink(), await makeSink()], await makeSink()];
  const [subscription = ""] = await Promise.all(own.map(({ url }) => subscribe(noisy, url)));
  await subscribe(quiet, sink.url);
  slow.hold();
  const { outbound } = world.server.application.services.authn;
  const inLine = limits.sinkFetchesEachMax * 8;
  const others = Promise.allSettled(
    Array.from({ length: limits.sinkFetchesEachMax + inLine }, () =>
      outbound.fetch("sink", slow.url, { tenant: { organization: noisy }, timeoutMs: 5 * limits.deliveryLeaseMs, discard: true }),
    ),
  );
  await slow.holds(limits.sinkFetchesEachMax);
  await happen(noisy, 40, 4);
  await happen(quiet, 3, 1);
  await finish();
  assert.deepEqual(numbersIn(sink), [1, 2, 3], "nobody else is held up");
  const first = [
    ["DELIVERY_STATE_PENDING", "0", "8"],
    ["DELIVERY_STATE_WAITING", "0", "72"],
  ];
  assert.deepEqual(await deliveriesOf(noisy), first);
  assert.deepEqual(await query("select uid from deliveries where lease_time is not null"), []);
  // Claims back off while the share is full.
  const claims = async (waitMs: number): Promise<number> => {
    world.clock.now += waitMs;
    const before = linesOf("delivery.share.full").length;
    await finish();
    return linesOf("delivery.share.full").length - before;
  };
  assert.equal(linesOf("delivery.share.full").length, 1);
  assert.deepEqual(linesOf("delivery.share.full")[0]?.fields, { organization: noisy, times: 1 });
  assert.deepEqual(
    [await claims(0), await claims(limits.shareFullMs), await claims(limits.shareFullMs), await claims(limits.shareFullMs)],
    [0, 1, 0, 1],
    "a pause, and one of twice as long",
  );
  assert.deepEqual(await deliveriesOf(noisy), first);
  slow.release();
  assert.ok((await others).every(({ status }) => status === "fulfilled"));
  world.clock.now += limits.shareFullMaxMs;
  await finish();
  assert.deepEqual(await deliveriesOf(noisy), [["DELIVERY_STATE_DELIVERED", "1", "80"]]);
  for (const receiver of own) {
    const numbers = numbersIn(receiver);
    assert.equal(numbers.length, 40);
    const subjects = receiver.got.map(({ headers }) => headers["ce-subject"]);
    for (const subject of new Set(subjects)) {
      const received = numbers.filter((_, index) => subjects[index] === subject);
      assert.deepEqual(
        received,
        received.toSorted((one, other) => one - other),
        String(subject),
      );
    }
  }
  assert.equal(await query("select failing_since from subscriptions where uid = $1", [subscription]).then(([row]) => row?.[0]), null);
});
