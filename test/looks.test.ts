// When a loop that polls the database looks for work again.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { after, before, test } from "node:test";
import { timestamp } from "#base/time.ts";
import { silent } from "#base/log.ts";
import { findDueDeliveries } from "#events/store";
import { openStore, type Store } from "#db";
import { type OpenChanges, openChanges } from "../server/db/changes.ts";
import { openLooks } from "../server/db/looks.ts";
import { addressOf, makeTemplate, startTestServer } from "./database.ts";

let server: Awaited<ReturnType<typeof startTestServer>>;
let store: Store;
let other: Store;

before(async () => {
  // Snapshots are those of the whole database server: on a shared one, other test files would commit.
  server = await startTestServer();
  const { serverUrl, template } = await makeTemplate(server.url, server.serverUrl);
  const databaseUrl = addressOf(serverUrl, template);
  store = await openStore({ databaseUrl, log: silent });
  other = await openStore({ databaseUrl, log: silent });
});

after(async () => {
  await store.close();
  await other.close();
  await server.embedded.stop();
  rmSync(server.directory, { recursive: true, force: true, maxRetries: 5 });
});

const never = Number.POSITIVE_INFINITY;

const writeOnce = (at: Store): Promise<unknown> => at.write((rows) => rows.query("select pg_current_xact_id()"));

const begins = async (look: Promise<void>): Promise<boolean> => {
  let hasBegun = false;
  void look.then(() => (hasBegun = true));
  await store.read.query("select 1");
  return hasBegun;
};

/** They query the database only when a test calls `ask`. */
const openQuietChanges = (): OpenChanges => openChanges(store.read, 2 ** 31 - 1);

test("an idle loop looks again after a commit, and otherwise only after its idle time", async () => {
  const changes = openQuietChanges();
  const looks = openLooks(changes, { betweenMs: 0, restMs: never });
  await looks.next();
  const second = looks.next();
  assert.equal(await begins(second), false, "nothing was committed since");
  changes.note();
  await second;
  looks.again();
  await looks.next();
  const fourth = looks.next();
  assert.equal(await begins(fourth), false, "the third one left nothing");
  looks.wake();
  await fourth;

  const always = openLooks(changes, { betweenMs: 0, restMs: 1 });
  for (let look = 0; look < 3; look++) await always.next();
});

test("consecutive commits do not start a look before its time, but a stop does", async () => {
  const changes = openQuietChanges();
  const looks = openLooks(changes, { betweenMs: never, restMs: never });
  await looks.next();
  const second = looks.next();
  changes.note();
  changes.note();
  assert.equal(await begins(second), false);
  looks.wake();
  await second;
});

test("a commit of this process counts as a change at once; a read-only transaction, such as the look for due deliveries, does not", async () => {
  const before = store.changes.count();
  const quota = { total: 1, unproven: 1, eachOrganization: 1, leftOut: [] };
  assert.deepEqual(await store.readTogether((rows) => findDueDeliveries(rows, timestamp(Date.now()), quota, [])), { uids: [], isAnyPending: false });
  assert.equal(store.changes.count(), before);
  await writeOnce(store);
  assert.equal(store.changes.count(), before + 1);
});

test("a read-only transaction cannot change anything", async () => {
  await assert.rejects(store.readTogether((rows) => rows.query("delete from deliveries")));
});

test("an idle loop looks again after every commit of another server, including transactions that were open when it last asked", async () => {
  const changes = openQuietChanges();
  const looks = openLooks(changes, { betweenMs: 0, restMs: never });
  await changes.ask();
  await looks.next();
  for (let round = 0; round < 5; round++) {
    const look = looks.next();
    await changes.ask();
    assert.equal(await begins(look), false, "nothing was committed since");
    await other.write(async (rows) => {
      await rows.query("select pg_current_xact_id()");
      await changes.ask();
    });
    await changes.ask();
    await look;
  }
  changes.close();
});

test("snapshots that the probe has seen take the place of the server's own questions", async () => {
  let questions = 0;
  const changes = openChanges({ ...store.read, query: async () => [[`own ${questions++}`]] }, 1);
  changes.see("1:1:");
  const looks = openLooks(changes, { betweenMs: 0, restMs: never });
  await looks.next();
  const look = looks.next();
  changes.see("1:1:");
  assert.equal(await begins(look), false);
  changes.see("2:2:");
  await look;
  assert.equal(questions, 0);
  changes.close();
});

test("an idle server asks the database by itself whether another server has committed", async () => {
  const changes = openChanges(store.read, 1);
  const looks = openLooks(changes, { betweenMs: 0, restMs: never });
  await changes.ask();
  await looks.next();
  const look = looks.next();
  await writeOnce(other);
  await look;
  changes.close();
});
