// The probe of the database, and what follows from its decision.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { openHealth } from "#health";
import { openStore } from "./open.ts";
import type { Store } from "./handle.ts";
import { asOwner, freshDatabase, type TestDatabase } from "../../test/database.ts";
import { openSwallowingProxy, type SwallowingProxy } from "../../test/swallowing-proxy.ts";

let database: TestDatabase;
before(async () => {
  database = await freshDatabase({ planted: true });
  await asOwner(database.url, "create table notes (id integer primary key)");
  await asOwner(database.url, "grant all on notes to gantry_server");
});
after(() => database.drop());

/** Much longer than a response takes on a busy machine. */
const silentMs = 800;

const withStore = async (work: (store: Store, proxy: SwallowingProxy, log: readonly string[]) => Promise<void>): Promise<void> => {
  const proxy = await openSwallowingProxy(database.url);
  const lines: string[] = [];
  const health = openHealth({ log: (event, facts) => void lines.push(`${event} ${facts?.why ?? ""}`.trim()) });
  // Changes and wide reads have no limit of their own here.
  const store = await openStore({ databaseUrl: proxy.url, log: silent, health, silentMs, databaseAnswerMs: 3_600_000 });
  try {
    assert.equal(await store.isReady(), true);
    await work(store, proxy, lines);
  } finally {
    await store.close();
    await proxy.close();
  }
};

const until = async (is: () => Promise<boolean>): Promise<void> => {
  while (!(await is())) await sleep(10);
};
const untilReady = (store: Store): Promise<void> => until(() => store.isReady());
const untilFailed = (store: Store): Promise<void> => until(async () => !(await store.isReady()));

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "OK",
    (thrown: unknown) => (thrown instanceof Fault ? `${thrown.code} ${thrown.headers["retry-after"]}` : String(thrown)),
  );
const read = (store: Store): Promise<unknown> => store.read.query("select 1");

const connectionsThatAsked = async (text: string): Promise<string | null | undefined> =>
  (await asOwner(database.url, "select count(*) from pg_stat_activity where datname = current_database() and query like $1", [`%${text}%`]))[0]?.[0];

test("a database that closes all connections and refuses new ones is not ready, and is ready again after it returns", { timeout: 60_000 }, () =>
  withStore(async (store, proxy, log) => {
    for (let times = 0; times < 2; times++) {
      proxy.hangUp();
      await untilFailed(store);
      proxy.forward();
      await untilReady(store);
    }
    assert.deepEqual(
      log.map((line) => line.split(" ")[0]),
      ["dependency.failed", "dependency.recovered", "dependency.failed", "dependency.recovered"],
    );
  }),
);

test(
  "a silent database cuts every pool's connections at once, refuses requests with a retry delay, and serves them once it responds",
  {
    timeout: 60_000,
  },
  () =>
    withStore(async (store, proxy, log) => {
      await Promise.all([read(store), store.write((rows) => rows.query("select 1"))]);
      proxy.swallow();
      const wide = { rows: 1, wide: true };
      const waiting = [
        ...Array.from({ length: 40 }, () => read(store)),
        ...Array.from({ length: 10 }, () => store.read.query("select 1", [], wide)),
        ...Array.from({ length: 40 }, () => store.write((rows) => rows.query("select 1"))),
      ].map(codeOf);
      await untilFailed(store);
      assert.deepEqual([...new Set(await Promise.all(waiting))], ["UNAVAILABLE 1"]);
      assert.deepEqual(await Promise.all([read(store), store.write((rows) => rows.query("select 1"))].map(codeOf)), ["UNAVAILABLE 1", "UNAVAILABLE 1"]);
      proxy.forward();
      await untilReady(store);
      assert.deepEqual(await Promise.all([read(store), store.write((rows) => rows.query("select 1"))].map(codeOf)), ["OK", "OK"]);
      assert.deepEqual(log, ["dependency.failed it does not respond", "dependency.recovered"]);
    }),
);

test("if only the older connections are dead, statements in flight on them fail, and the database stays ready", { timeout: 60_000 }, () =>
  withStore(async (store, proxy, log) => {
    const write = (): Promise<unknown> => store.write((rows) => rows.query("select 1"));
    await write();
    proxy.swallow();
    proxy.forward();
    let over = false;
    const stuck = codeOf(write()).finally(() => (over = true));
    while (!over) await write();
    assert.equal(await stuck, "UNAVAILABLE 1");
    assert.equal(await store.isReady(), true);
    assert.deepEqual(log, []);
  }),
);

test("a full queue of a silent database is UNAVAILABLE, because the client is not to blame", { timeout: 60_000 }, () =>
  withStore(async (store, proxy) => {
    proxy.swallow();
    while (!store.isStalled()) await sleep(10);
    const many = limits.writesWaitingEach * 2;
    const codes = await Promise.all(Array.from({ length: many }, () => codeOf(store.write((rows) => rows.query("select 1")))));
    assert.deepEqual([...new Set(codes)], ["UNAVAILABLE 1"]);
  }),
);

test("a change whose commit was sent before the connection died has an unknown outcome; one without a sent commit has none", { timeout: 60_000 }, () =>
  withStore(async (store, proxy) => {
    const faultOf = async (work: Parameters<typeof store.write>[0]): Promise<[code: string, reason: string]> => {
      const thrown: unknown = await store.write(work).then(
        () => undefined,
        (error: unknown) => error,
      );
      assert.ok(thrown instanceof Fault);
      const reason = thrown.details.find((detail) => detail.kind === "reason");
      return [thrown.code, reason?.reason ?? ""];
    };
    const committing = faultOf(async (rows) => {
      await rows.query("insert into notes (id) values (1)");
      proxy.swallow();
    });
    assert.deepEqual(await committing, ["UNAVAILABLE", "OUTCOME_UNKNOWN"]);
    proxy.forward();
    await untilReady(store);
    const working = faultOf(async (rows) => {
      await rows.query("insert into notes (id) values (2)");
      proxy.swallow();
      await rows.query("insert into notes (id) values (3)");
    });
    assert.deepEqual(await working, ["UNAVAILABLE", ""]);
    proxy.forward();
    await untilReady(store);
  }),
);

test("a busy database is ready: statements that wait on every connection fail nothing", { timeout: 60_000 }, () =>
  withStore(async (store, _proxy, log) => {
    const all = Array.from({ length: limits.writeConnections }, (_, n) => store.forParty({ organization: `tenant ${n}`, identity: "" }));
    let over = false;
    const long = Promise.all([
      ...all.map(({ write }) => write((rows) => rows.query(`select pg_sleep(${(3 * silentMs) / 1000})`))),
      ...all.map(({ read }) => read.query(`select pg_sleep(${(3 * silentMs) / 1000})`, [], { rows: 1, wide: true })),
    ]).finally(() => (over = true));
    while (!over) {
      assert.equal(await store.isReady(), true);
      await sleep(10);
    }
    await long;
    assert.deepEqual(log, []);
  }),
);

test("a pause of this process is no silence of the database", { timeout: 60_000 }, () =>
  withStore(async (store, _proxy, log) => {
    await read(store);
    const reading = codeOf(store.read.query("select pg_sleep(0.1)"));
    await sleep(10);
    const endMs = performance.now() + 3 * limits.databaseSilentMs;
    while (performance.now() < endMs);
    assert.equal(await reading, "OK");
    assert.equal(await store.isReady(), true);
    assert.deepEqual(log, []);
  }),
);

test("a database that has become read-only is not ready", { timeout: 60_000 }, () =>
  withStore(async (store) => {
    const [[name] = []] = await asOwner(database.url, "select current_database()");
    await asOwner(database.url, `alter database ${name} set default_transaction_read_only = on`);
    await asOwner(
      database.url,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name like 'gantry%' and pid <> pg_backend_pid()`,
    );
    await untilFailed(store);
    await asOwner(database.url, `begin read write; alter database ${name} reset default_transaction_read_only; commit`);
    await untilReady(store);
  }),
);

test("the probe has one connection that stays open, and a closed store is not ready", () =>
  withStore(async (store) => {
    const all = await Promise.all(Array.from({ length: 1000 }, () => store.isReady()));
    assert.deepEqual([...new Set(all)], [true]);
    assert.equal(await connectionsThatAsked("transaction_read_only"), "1");
    await store.close();
    assert.equal(await store.isReady(), false);
  }));

test("a store closes although the probe waits for a silent database", { timeout: 60_000 }, () =>
  withStore(async (store, proxy) => {
    proxy.swallow();
    await store.close();
    assert.equal(await store.isReady(), false);
  }),
);
