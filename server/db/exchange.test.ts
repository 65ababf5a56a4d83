// The network to the database silently drops all packets (attack 40).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { openStore } from "./open.ts";
import type { Store } from "./handle.ts";
import { freshDatabase } from "../../test/database.ts";
import { openSwallowingProxy, type SwallowingProxy } from "../../test/swallowing-proxy.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
before(async () => {
  database = await freshDatabase({ planted: true });
});
after(() => database.drop());

/** Far above these statements' duration, yet short to wait for. */
const databaseAnswerMs = 500;

const withProxy = async (work: (store: Store, proxy: SwallowingProxy) => Promise<void>): Promise<void> => {
  const proxy = await openSwallowingProxy(database.url);
  const store = await openStore({ databaseUrl: proxy.url, log: silent, databaseAnswerMs });
  try {
    await work(store, proxy);
  } finally {
    await store.close();
    await proxy.close();
  }
};

const codeOf = (answer: PromiseSettledResult<unknown>): unknown =>
  answer.status === "rejected" && answer.reason instanceof Fault ? answer.reason.code : answer;

const readMany = (store: Store, count = limits.readConnections * 16): Promise<PromiseSettledResult<unknown>[]> =>
  Promise.allSettled(Array.from({ length: count }, (_, n) => store.read.query("select $1::int", [n])));

const writeMany = (store: Store): Promise<PromiseSettledResult<unknown>[]> =>
  Promise.allSettled(Array.from({ length: limits.writeConnections }, () => store.write((rows) => rows.query("select 1"))));

test("reads and changes without a response fail with UNAVAILABLE, and succeed after the network recovers", () =>
  withProxy(async (store, proxy) => {
    // Opens every connection.
    await Promise.all([readMany(store), writeMany(store)]);
    proxy.swallow();
    const [reads, writes] = await Promise.all([readMany(store), writeMany(store)]);
    assert.deepEqual([...new Set([...reads, ...writes].map(codeOf))], ["UNAVAILABLE"]);
    proxy.forward();
    const answers = [...(await readMany(store)), ...(await writeMany(store))];
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], ["fulfilled"]);
  }));

test("after one dead connection is found, no request waits for another that has been idle since before", () =>
  withProxy(async (store, proxy) => {
    await Promise.all([readMany(store), writeMany(store)]);
    proxy.swallow();
    assert.deepEqual((await readMany(store, 1)).map(codeOf), ["UNAVAILABLE"]);
    proxy.forward();
    const answers = [...(await readMany(store)), ...(await writeMany(store))];
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], ["fulfilled"]);
  }));

test("a statement that waits for its turn on a connection does not time out", () =>
  withProxy(async (store) => {
    // They share a connection, and together exceed the limit of one.
    const answers = await Promise.all(Array.from({ length: 6 }, () => store.read.query("select 1 from pg_sleep(0.2)")));
    assert.deepEqual(answers.flat(2), ["1", "1", "1", "1", "1", "1"]);
  }));

test("a store closes although the database does not respond, and pending requests fail with UNAVAILABLE", async () => {
  const proxy = await openSwallowingProxy(database.url);
  // Never expires, so closing must cut the statements in flight.
  const store = await openStore({ databaseUrl: proxy.url, log: silent, databaseAnswerMs: 3_600_000 });
  await Promise.all([readMany(store), writeMany(store)]);
  proxy.swallow();
  const [waiting] = [Promise.all([readMany(store), writeMany(store)]), await store.close()];
  const [reads, writes] = await waiting;
  assert.deepEqual([...new Set([...reads, ...writes].map(codeOf))], ["UNAVAILABLE"]);
  await proxy.close();
});
