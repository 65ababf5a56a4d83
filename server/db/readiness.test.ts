// Readiness of the database, on a dedicated connection and within a time limit.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { limits } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { openStore } from "./open.ts";
import type { Store } from "./handle.ts";
import { asOwner, freshDatabase, type TestDatabase } from "../../test/database.ts";
import { openSwallowingProxy, type SwallowingProxy } from "../../test/swallowing-proxy.ts";

let database: TestDatabase;
before(async () => {
  database = await freshDatabase({ planted: true });
});
after(() => database.drop());

const withStore = async (readinessMs: number | undefined, work: (store: Store, proxy: SwallowingProxy) => Promise<void>): Promise<void> => {
  const proxy = await openSwallowingProxy(database.url);
  const store = await openStore({ databaseUrl: proxy.url, log: silent, readinessMs });
  try {
    await work(store, proxy);
  } finally {
    await store.close();
    await proxy.close();
  }
};

const connectionsThatAsked = async (text: string): Promise<string | null | undefined> =>
  (await asOwner(database.url, "select count(*) from pg_stat_activity where datname = current_database() and query like $1", [`%${text}%`]))[0]?.[0];

test("an unreachable database is not ready, and is ready as soon as it returns", () =>
  withStore(undefined, async (store, proxy) => {
    assert.equal(await store.isReady(), true);
    for (let times = 0; times < 2; times++) {
      proxy.hangUp();
      assert.equal(await store.isReady(), false);
      assert.equal(await store.isReady(), false);
      proxy.forward();
      assert.equal(await store.isReady(), true);
    }
  }));

test("a silent database is not ready within the time limit, on an open or a new connection, and is ready once it responds", () =>
  withStore(300, async (store, proxy) => {
    assert.equal(await store.isReady(), true);
    proxy.swallow();
    assert.equal(await store.isReady(), false);
    assert.equal(await store.isReady(), false);
    proxy.forward();
    assert.equal(await store.isReady(), true);
  }));

test("a database that has become read-only is not ready, and is checked again on a new connection", () =>
  withStore(undefined, async (store) => {
    const [[name] = []] = await asOwner(database.url, "select current_database()");
    await asOwner(database.url, `alter database ${name} set default_transaction_read_only = on`);
    await asOwner(
      database.url,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name like 'gantry %' and pid <> pg_backend_pid()`,
    );
    assert.equal(await store.isReady(), false);
    assert.equal(await store.isReady(), false);
    await asOwner(database.url, `begin read write; alter database ${name} reset default_transaction_read_only; commit`);
    assert.equal(await store.isReady(), true);
  }));

test("a thousand concurrent checks query the database once, on one connection that stays open", () =>
  withStore(undefined, async (store) => {
    const all = await Promise.all(Array.from({ length: 1000 }, () => store.isReady()));
    assert.deepEqual([...new Set(all)], [true]);
    assert.equal(await connectionsThatAsked("transaction_read_only"), "1");
    await store.isReady();
    assert.equal(await connectionsThatAsked("transaction_read_only"), "1");
  }));

test("a closed store is not ready and has closed this connection, even if it is silent", async () => {
  for (const isSilent of [false, true])
    await withStore(limits.readinessMs, async (store, proxy) => {
      assert.equal(await store.isReady(), true);
      if (isSilent) proxy.swallow();
      await store.close();
      assert.equal(await store.isReady(), false);
    });
});
