// Shared reads against a real database.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { StaleAccess, withAccessVersionCheck } from "./access-version.ts";
import type { Read, Store } from "./handle.ts";
import { openStore } from "./open.ts";
import { findSharedRow } from "./shared-read.ts";
import { freshDatabase } from "../../test/database.ts";

const root = "a".repeat(40);
const statement = "select name, note from berths where name = $1";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;

before(async () => {
  database = await freshDatabase({ planted: true });
  store = await openStore({ databaseUrl: database.ownerUrl, log: silent });
  await store.write(async (rows) => {
    await rows.query("create table berths (name text primary key, note text)");
    await rows.query("insert into berths values ('one', '0'), ('two', null)");
    await rows.query("insert into access_versions (root, version) values ($1, 7)", [root]);
  });
});
after(async () => {
  await store.close();
  await database.drop();
});

const checked = (version: string): Read => withAccessVersionCheck(store.read, { root, version });

const noteOf = async (rows: Read, name: string): Promise<string | null | undefined> => {
  const found = await findSharedRow(rows, statement, [name]);
  return found?.row[found.offset + 1];
};

/** The store's reads, with the number of their statements. */
const counted = (): { readonly read: Read; readonly sent: () => number } => {
  let sent = 0;
  return {
    read: {
      query: (text, values, cost) => {
        sent++;
        return store.read.query(text, values, cost);
      },
    },
    sent: () => sent,
  };
};

test("concurrent reads of one row share a statement, and those of another row have their own", async () => {
  const { read, sent } = counted();
  const found = await Promise.all(Array.from({ length: 100 }, (_, index) => noteOf(read, index % 2 ? "one" : "two")));
  assert.deepEqual(
    found,
    Array.from({ length: 100 }, (_, index) => (index % 2 ? "0" : null)),
  );
  assert.equal(sent(), 2);
});

test("a read that starts after a change never gets the row from before it, however many reads share its statement", async () => {
  for (let change = 1; change <= 100; change++) {
    const others = Array.from({ length: 20 }, () => noteOf(store.read, "one"));
    await store.write((rows) => rows.query("update berths set note = $1 where name = 'one'", [String(change)]));
    assert.equal(await noteOf(store.read, "one"), String(change));
    await Promise.all(others);
  }
});

test("each reader's access version is checked in the shared statement, also if there is no row", async () => {
  const answers = await Promise.allSettled(
    Array.from({ length: 40 }, (_, index) => noteOf(checked(index % 2 ? "7" : "6"), index % 4 < 2 ? "two" : "no such berth")),
  );
  for (const [index, answer] of answers.entries()) {
    if (index % 2) assert.deepEqual(answer, { status: "fulfilled", value: index % 4 < 2 ? null : undefined });
    else assert.ok(answer.status === "rejected" && answer.reason instanceof StaleAccess, `${index}: an outdated version was believed`);
  }
});

test("a transaction reads its own changes", async () => {
  await store.write(async (rows) => {
    await rows.query("insert into berths values ('three', 'own')");
    const outside = noteOf(store.read, "three");
    assert.equal(await noteOf(rows, "three"), "own");
    assert.equal(await outside, undefined);
  });
});

test("a failed statement fails all its readers, and later reads are sent again", async () => {
  const absent = "select name from nothing_of_the_kind where name = $1";
  const answers = await Promise.allSettled(Array.from({ length: 20 }, () => findSharedRow(checked("7"), absent, ["one"])));
  assert.ok(answers.every(({ status }) => status === "rejected"));
  await store.write((rows) => rows.query("create table nothing_of_the_kind (name text primary key)"));
  assert.equal(await findSharedRow(checked("7"), absent, ["one"]), undefined);
});
