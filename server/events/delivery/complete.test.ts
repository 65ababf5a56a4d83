// Leases: which result counts after another server took over a slow delivery. Two servers share a database, and the receiver delays
// its responses.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { freshDatabase } from "../../../test/database.ts";
import { openWorld, type World } from "../../../test/world.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface HeldRequest {
  readonly webhookId: string;
  answer(status: number): void;
}

interface HoldingSink {
  readonly url: string;
  /** Returns the next request in order of arrival; it waits for its response. */
  next(): Promise<HeldRequest>;
  /** Number of requests not yet returned by next(). */
  unread(): number;
}

const openHoldingSink = async (): Promise<HoldingSink> => {
  const arrived: HeldRequest[] = [];
  const waiting: ((request: HeldRequest) => void)[] = [];
  const server = createServer((request, response: ServerResponse) => {
    request.resume().on("end", () => {
      const held = { webhookId: String(request.headers["webhook-id"]), answer: (status: number) => void response.writeHead(status).end() };
      const resolve = waiting.shift();
      if (resolve) resolve(held);
      else arrived.push(held);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  closing.push(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    next: () => {
      const request = arrived.shift();
      return request ? Promise.resolve(request) : new Promise((resolve) => void waiting.push(resolve));
    },
    unread: () => arrived.length,
  };
};

/** Two servers with one database and key. */
const openTwo = async (delays: string): Promise<readonly [World, World]> => {
  const database = await freshDatabase();
  const folder = await mkdtemp(join(tmpdir(), "gantry-lease-"));
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  closing.push(
    () => database.drop(),
    () => rm(folder, { recursive: true, force: true }),
  );
  const environment = {
    DATABASE_URL: database.url,
    GANTRY_SECRET_KEY_FILE: key,
    GANTRY_PUBLIC_URL: "http://gantry.example.test",
    GANTRY_DELIVERY_DELAYS: delays,
  };
  const open = async (): Promise<World> => {
    const world = await openWorld(environment);
    closing.push(() => world.close());
    return world;
  };
  return [await open(), await open()];
};

interface TakenOver {
  readonly slow: { readonly request: HeldRequest; readonly finished: Promise<void> };
  readonly other: { readonly request: HeldRequest; readonly finished: Promise<void> };
  readonly sink: HoldingSink;
  /** All columns of the subscription and its deliveries. */
  rows(): Promise<unknown>;
  /** States and attempts in the order of events. */
  deliveries(): Promise<unknown>;
}

/**
 * A delivery, with another event of its subject after it, that a slow server is still sending when its lease expires and another
 * server claims it.
 */
const takeOver = async (delays: string): Promise<TakenOver> => {
  const [first, second] = await openTwo(delays);
  const sink = await openHoldingSink();
  const group = text(await first.ok("iam.GroupsService/CreateGroup", { parent: first.organization, group: { name: "leases" } }), "uid");
  const eventTypes = ["created", "updated"].map((verb) => `dev.chainguard.api.platform.registry.repo.${verb}.v1`);
  await first.ok("events.SubscriptionsService/CreateSubscription", { parent: group, subscription: { sink: sink.url, eventTypes } });
  const repo = text(await first.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: "app" } }), "uid");
  await first.ok("registry.ReposService/UpdateRepo", { repo: { uid: repo, description: "later" }, updateMask: "description" });
  const { read } = first.server.application.services.store;
  const slow = { finished: first.server.delivery.finish(), request: await sink.next() };
  // Its clock does not advance, so that it sees no lease expire.
  second.clock.now = first.clock.now + limits.deliveryLeaseMs;
  const other = { finished: second.server.delivery.finish(), request: await sink.next() };
  assert.equal(other.request.webhookId, slow.request.webhookId, "the same event");
  return {
    slow,
    other,
    sink,
    rows: async () => [await read.query("select t::text from deliveries as t order by uid"), await read.query("select t::text from subscriptions as t")],
    deliveries: () => read.query("select state, attempts from deliveries order by uid"),
  };
};

for (const [title, delays] of [
  ["its last one", "0"],
  ["one that would be tried again", "0,0,0"],
] as const) {
  test(`a late failure of an attempt with an expired claim changes nothing, be it ${title}`, async () => {
    const { slow, other, sink, rows, deliveries } = await takeOver(delays);
    const before = await rows();
    slow.request.answer(500);
    await slow.finished;
    assert.deepEqual(await rows(), before, "the delivery is the other server's, the next event waits behind it, and the sink counts as working");
    other.request.answer(200);
    const next = await sink.next();
    assert.notEqual(next.webhookId, other.request.webhookId, "then the event behind it is sent, and nothing twice");
    next.answer(200);
    await other.finished;
    assert.deepEqual(await deliveries(), [
      ["DELIVERY_STATE_DELIVERED", "2"],
      ["DELIVERY_STATE_DELIVERED", "1"],
    ]);
    assert.equal(sink.unread(), 0);
  });
}

test("a late success counts, and the failure of the claim that took over does not", async () => {
  const { slow, other, sink, rows, deliveries } = await takeOver("0");
  slow.request.answer(200);
  // The slow server continues with the next event.
  (await sink.next()).answer(200);
  await slow.finished;
  assert.deepEqual(await deliveries(), [
    ["DELIVERY_STATE_DELIVERED", "2"],
    ["DELIVERY_STATE_DELIVERED", "1"],
  ]);
  const before = await rows();
  other.request.answer(500);
  await other.finished;
  assert.deepEqual(await rows(), before);
  assert.equal(sink.unread(), 0);
});
