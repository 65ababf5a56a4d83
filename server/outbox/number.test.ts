// Positions of events, on a real database shared by two servers.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { limits } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { ownOrigin } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { openStore, type Store } from "#db";
import { freshDatabase } from "../../test/database.ts";
import { type Enqueue, openNumbering } from "./number.ts";
import { record } from "./record.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;
let other: Store;
beforeEach(async () => {
  database = await freshDatabase();
  // As the owner, to create the test's own table.
  const open = (): Promise<Store> => openStore({ databaseUrl: database.ownerUrl, log: silent });
  [store, other] = [await open(), await open()];
  await store.write((rows) => rows.query("create table enqueued (position bigint primary key)"));
});
afterEach(async () => {
  await Promise.all([store.close(), other.close()]);
  await database.drop();
});

const now = "2026-11-20T00:00:00.000Z";

/** One change with this many events. */
const change = (at: Store, events: number, subject = ""): Promise<void> =>
  at.write(async (rows) => {
    for (let index = 0; index < events; index++) {
      await record(rows, {
        type: "test",
        source: "/",
        subject,
        group: "",
        audience: "internal",
        extensions: {},
        actor: undefined,
        bodyType: "",
        body: {},
        requestId: "",
        time: now,
        auditContext: { operation: "", bindings: [], origin: ownOrigin },
      });
    }
  });

/** Fails if a position is enqueued twice. */
const enqueue: Enqueue = async (rows, events) => {
  await rows.query("insert into enqueued (position) select unnest($1::bigint[])", [events.map(({ position }) => String(position))]);
};

const column = async (statement: string): Promise<number[]> => (await store.read.query(statement)).map(([value]) => Number(value));

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

test("positions have no gaps, never appear out of order, and are enqueued once, with concurrent servers and writers", async () => {
  let writing = true;
  const numbering = [store, other, store].map(async (each) => {
    const numberEvents = openNumbering(each, enqueue, silent);
    let read: string[] = [];
    while (writing || (await numberEvents(now))) {
      await numberEvents(now);
      const found = await each.read.query("select position || ' ' || event_id from outbox where position is not null order by position + 0");
      const next = found.map(([event]) => event ?? "");
      assert.deepEqual(next.slice(0, read.length), read, "what comes later comes behind what was read");
      read = next;
    }
  });
  const writers = upTo(6);
  await Promise.all(writers.map((writer) => change(writer % 2 ? store : other, writer * 40, `writer ${writer}`)));
  writing = false;
  await Promise.all(numbering);
  const count = 40 * 21;
  assert.ok(count > limits.numberedMax, "more than one step");
  assert.deepEqual(await column("select position from outbox order by position + 0"), upTo(count));
  assert.deepEqual(await column("select position from enqueued order by 1"), upTo(count));
  for (const writer of writers) {
    const positions = await column(`select position from outbox where subject = 'writer ${writer}' order by id`);
    assert.deepEqual(
      positions,
      positions.toSorted((one, another) => one - another),
      "a change's events are in their order",
    );
  }
});

test("an event that cannot be enqueued gets no position, and is numbered on the next try", async () => {
  await change(store, 3);
  const refusing: Enqueue = async (...events) => {
    await enqueue(...events);
    throw new Error("no");
  };
  const failing = openNumbering(store, refusing, silent);
  await assert.rejects(failing(now), /no/);
  assert.deepEqual(await column("select position from outbox where position is not null"), []);
  assert.equal(await openNumbering(other, enqueue, silent)(now), false);
  assert.deepEqual(await column("select position from outbox order by id"), upTo(3));
  assert.deepEqual(await column("select position from enqueued order by 1"), upTo(3));
});

test("an event that cannot be numbered is set aside without a gap, and is retried later", async () => {
  await change(store, 10, "before");
  await change(store, 1, "poisoned");
  await change(other, 10, "behind");
  const logged: string[] = [];
  const refuse: Enqueue = async (rows, events, time) => {
    const [[found] = []] = await rows.query("select count(*) from outbox where subject = 'poisoned' and position = any($1)", [
      events.map(({ position }) => String(position)),
    ]);
    if (found !== "0") throw new Error("no");
    await enqueue(rows, events, time);
  };
  const numberSome = openNumbering(store, refuse, (event, fields) => void logged.push(`${event} ${JSON.stringify(fields)}`));
  for (let step = 0; step < 20; step++) await numberSome(now);
  assert.deepEqual(await column("select position from outbox where position is not null order by position"), upTo(20));
  assert.deepEqual(await column("select position from enqueued order by 1"), upTo(20));
  const [id] = await column("select id from outbox where subject = 'poisoned'");
  assert.equal(logged.length, 1, logged.join());
  assert.match(logged[0] ?? "", new RegExp(`^outbox.event.set_aside .*"event":"${id}"`));
  const later = timestamp(Date.parse(now) + limits.setAsideMaxMs);
  await openNumbering(other, enqueue, silent)(later);
  assert.deepEqual(await column("select position from outbox where subject = 'poisoned'"), [21]);
});

test("events that cannot be numbered within the time limit are numbered in smaller batches", async () => {
  await change(store, 300);
  let largest = 0;
  const slow: Enqueue = async (rows, events, time) => {
    await rows.query("select pg_sleep($1::double precision)", [events.length * 0.006]);
    await enqueue(rows, events, time);
    largest = Math.max(largest, events.length);
  };
  const numberSome = openNumbering(store, slow, silent);
  while ((await column("select 1 from outbox where position is null limit 1")).length > 0) await numberSome(now);
  assert.deepEqual(await column("select position from enqueued order by 1"), upTo(300));
  assert.ok(largest <= limits.pieceTimeoutMs / 6, `${largest} at once`);
});
