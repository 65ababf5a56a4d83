import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { openStore, type Store } from "#store";
import { freshDatabase, type TestDatabase } from "../../test/database.ts";
import { openLooks } from "./looks.ts";

let database: TestDatabase;
let store: Store;
let other: Store;

before(async () => {
  database = await freshDatabase();
  store = await openStore({ databaseUrl: database.url, log: silent });
  other = await openStore({ databaseUrl: database.url, log: silent });
});

after(async () => {
  await store.close();
  await other.close();
  await database.drop();
});

const never = Number.POSITIVE_INFINITY;

test("a loop at rest looks again after a commit of its own process, and otherwise only when its time has come", async () => {
  let commits = 0;
  const own = { commits: () => commits, read: store.read };
  const looks = openLooks(own, { askMs: never, lookMs: never });
  assert.equal(await looks.begin(), true, "the first look");
  assert.equal(await looks.begin(), false, "nothing was committed since");
  commits++;
  assert.equal(await looks.begin(), true, "something was committed");
  assert.equal(await looks.begin(), false);
  looks.again();
  assert.equal(await looks.begin(), true, "the last look left something");

  const always = openLooks(own, { askMs: never, lookMs: 0 });
  assert.deepEqual([await always.begin(), await always.begin()], [true, true], "the time of others' work has come");
});

test("a loop at rest looks again after every commit of another server, also of a transaction that was open when it asked", async () => {
  const looks = openLooks(store, { askMs: 0, lookMs: never });
  await looks.begin();
  for (let round = 0; round < 5; round++) {
    await looks.begin();
    await other.write(async (rows) => {
      await rows.query("select pg_current_xact_id()");
      await looks.begin();
    });
    assert.equal(await looks.begin(), true, "it has committed");
  }
});
