// The primary is found among several hosts, and again after a failover.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Fault } from "#base/fault.ts";
import type { Log } from "#base/log.ts";
import { openStore } from "./open.ts";
import type { Store } from "./handle.ts";
import { type ReplicatedPostgres, startReplicatedPostgres, until } from "../../test/replicated-postgres.ts";
import { openSwallowingProxy } from "../../test/swallowing-proxy.ts";
import { freePort } from "../../test/free-port.ts";
import { readHosts } from "./hosts.ts";
import { migrate, readMigrationState } from "./migrate.ts";
import { readHostStates } from "./primary.ts";

let postgres: ReplicatedPostgres;
let events: { readonly event: string; readonly host: unknown }[];
const log: Log = (event, facts) => void events.push({ event, host: facts?.host });

before(async () => {
  postgres = await startReplicatedPostgres({ synchronous: true });
  await postgres.first.query("create table notes (id integer primary key)");
  await postgres.first.query("grant all on notes to gantry_server");
});
after(() => postgres?.close());

const withStore = async (databaseUrl: string, work: (store: Store) => Promise<void>): Promise<void> => {
  events = [];
  const store = await openStore({ databaseUrl, log });
  try {
    await work(store);
  } finally {
    await store.close();
  }
};

const note = (store: Store, id: number): Promise<unknown> => store.write((rows) => rows.query("insert into notes (id) values ($1)", [id]));
const notes = async (store: Store): Promise<number[]> => (await store.read.query("select id from notes order by id")).map(([id]) => Number(id));
const portOf = async (store: Store): Promise<number> => Number((await store.read.query("select current_setting('port')"))[0]?.[0]);
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "OK",
    (thrown: unknown) => (thrown instanceof Fault ? thrown.code : String(thrown)),
  );
const notesThrough = (port: number): string => `127.0.0.1:${port}`;

test("the primary is found behind a standby, an unreachable host and a silent host", async () => {
  const dark = await openSwallowingProxy(postgres.urlOf(postgres.first));
  dark.swallow();
  const { first, second } = postgres;
  const hosts = [notesThrough(second.port), notesThrough(await freePort()), new URL(dark.url).host, notesThrough(first.port)];
  const url = `postgresql://gantry_server@${hosts.join(",")}/gantry?target_session_attrs=read-write`;
  try {
    await withStore(url, async (store) => {
      await Promise.all(Array.from({ length: 20 }, (_, id) => note(store, id)));
      assert.equal((await notes(store)).length, 20);
      assert.equal(await portOf(store), first.port);
      assert.equal(await store.isReady(), true);
      assert.deepEqual(
        events.map(({ event, host }) => [event, host]).sort(),
        [
          ["store.host.away", hosts[1]],
          ["store.host.away", hosts[2]],
        ].sort(),
      );
    });
    const states = await readHostStates(readHosts("DATABASE_URL", url));
    assert.deepEqual(
      states.map(({ is }) => is),
      ["standby", "away", "away", "primary"],
    );
  } finally {
    await dark.close();
  }
});

test("migrations use the primary of the list; without one, the error states the role of each host", async () => {
  const role = await migrate(postgres.ownerUrl, { progress: () => {}, serverUrl: postgres.url });
  assert.equal(role.mayMigrate, true);
  assert.deepEqual((await readMigrationState(postgres.url)).missing, []);
  const nobody = await freePort();
  const url = `postgresql://gantry_server@127.0.0.1:${postgres.second.port},127.0.0.1:${nobody}/gantry`;
  await assert.rejects(readMigrationState(url), {
    message: new RegExp(`^none of its hosts is a primary: 127.0.0.1:${postgres.second.port} is a standby, 127.0.0.1:${nobody} is away \\(.*ECONNREFUSED`),
  });
  await assert.rejects(openStore({ databaseUrl: "postgresql://u:secret@a,/d", log: () => {} }), { message: /^DATABASE_URL contains an invalid host/ });
  const migrateUrl = "postgresql://u:secret@a,a:5432/d";
  await assert.rejects(openStore({ databaseUrl: postgres.url, migrateUrl, log: () => {} }), { message: "GANTRY_MIGRATE_URL names a host twice" });
  await assert.rejects(readMigrationState(postgres.url.replace("gantry_server", "nobody_known")), { message: /role "nobody_known" does not exist/ });
});

test("a URL that leads only to a standby serves neither stale rows nor permissions: it counts as unavailable", async () => {
  const { openPreparedStore } = await import("./open.ts");
  const store = openPreparedStore({ databaseUrl: postgres.urlOf(postgres.second), log: () => {} });
  try {
    assert.equal(await codeOf(notes(store)), "UNAVAILABLE");
    assert.equal(await codeOf(note(store, 100)), "UNAVAILABLE");
    assert.equal(await store.isReady(), false);
  } finally {
    await store.close();
  }
});

test("a commit is not acknowledged if its wait for the standby was canceled", () =>
  withStore(postgres.url, async (store) => {
    const { first, second } = postgres;
    second.pause();
    try {
      const written = codeOf(note(store, 150));
      await until(async () => {
        const [[ended] = []] = await first.query("select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'");
        return ended === "t" ? true : undefined;
      });
      assert.equal(await written, "UNAVAILABLE");
    } finally {
      second.resume();
    }
    for (let id = 151; id < 160; id++) assert.equal(await codeOf(note(store, id)), "OK");
  }));

test("when the primary stops responding and its standby is promoted, reads and writes continue there and never return", () =>
  withStore(postgres.url, async (store) => {
    const { first, second } = postgres;
    await note(store, 200);
    first.pause();
    // The new primary serves them, or they fail in time.
    const reads = Promise.all(Array.from({ length: 30 }, () => notes(store)));
    const writes = Promise.all(Array.from({ length: 5 }, (_, index) => codeOf(note(store, 300 + index))));
    await postgres.promote();
    for (const found of await reads) assert.ok(found.includes(200));
    const codes = await writes;
    assert.ok(
      codes.every((code) => code === "OK" || code === "UNAVAILABLE"),
      codes.join(" "),
    );
    await until(async () => ((await codeOf(note(store, 400))) === "OK" ? true : undefined));
    assert.equal(await portOf(store), second.port);
    const found = await notes(store);
    for (const [index, code] of codes.entries()) if (code === "OK") assert.ok(found.includes(300 + index), "what was acknowledged is lost");
    // It still considers itself the primary.
    first.resume();
    await until(() => events.find(({ event }) => event === "store.host.outdated"));
    assert.equal(await portOf(store), second.port);
    const states = await readHostStates(readHosts("DATABASE_URL", postgres.url));
    assert.deepEqual(
      states.map((state) => (state.is === "primary" ? state.timeline : 0)),
      [2, 1],
    );
    assert.ok(events.some(({ event, host }) => event === "store.primary" && host === `127.0.0.1:${second.port}`));
    await withStore(postgres.urlOf(first, second), async (later) => assert.equal(await portOf(later), second.port));
  }));
