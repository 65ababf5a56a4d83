// Batched loads against a real database.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { findRow, type Table } from "./rows.ts";
import { openStore } from "./open.ts";
import { StaleAccess, withAccessVersionCheck } from "./access-version.ts";
import type { Store } from "./handle.ts";
import { freshDatabase } from "../../test/database.ts";

const root = (digit: string): string => digit.repeat(40);
const berth = (digit: string, index: number): string => `${root(digit)}/${index.toString(16).padStart(16, "0")}`;
const table: Table = { name: "berths", columns: ["uid", "name", "note"] };

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;

before(async () => {
  database = await freshDatabase({ planted: true });
  store = await openStore({ databaseUrl: database.ownerUrl, log: silent });
  await store.write(async (rows) => {
    await rows.query("create table berths (uid text primary key, name text not null, note text)");
    await rows.query("insert into access_versions (root, version) values ($1, 7), ($2, 9)", [root("a"), root("b")]);
    for (const digit of ["a", "b"]) {
      await rows.query("insert into berths select $1 || '/' || lpad(to_hex(n), 16, '0'), 'berth ' || n, null from generate_series(0, 99) as n", [root(digit)]);
    }
  });
});
after(async () => {
  await store.close();
  await database.drop();
});

const find = async (digit: string, version: string, index: number): Promise<string | null | undefined> => {
  const found = await findRow(withAccessVersionCheck(store.read, { root: root(digit), version }), table, berth(digit, index));
  return found?.row[found.offset + 1];
};

test("each of two hundred concurrent reads receives its own row, or undefined if it is missing", async () => {
  const reads = Array.from({ length: 200 }, (_, index) => ({ digit: index % 2 ? "a" : "b", index: index % 110 }));
  const found = await Promise.all(reads.map(({ digit, index }) => find(digit, digit === "a" ? "7" : "9", index)));
  assert.deepEqual(
    found,
    reads.map(({ index }) => (index < 100 ? `berth ${index}` : undefined)),
  );
});

test("each row of a batch is checked against the version of its reader's root", async () => {
  const answers = await Promise.allSettled(Array.from({ length: 60 }, (_, index) => find(index % 2 ? "a" : "b", "7", 1)));
  for (const [index, answer] of answers.entries()) {
    if (index % 2) assert.deepEqual(answer, { status: "fulfilled", value: "berth 1" });
    else assert.ok(answer.status === "rejected" && answer.reason instanceof StaleAccess, `${index}: a version that was not the root's own was believed`);
  }
});

test("a root without a version fails the check", async () => {
  const answers = await Promise.allSettled([find("a", "7", 1), find("c", "7", 1), find("c", "", 1)]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    ["fulfilled", "rejected", "rejected"],
  );
});

test("a failed statement fails all its readers, and later reads are sent again", async () => {
  const gone: Table = { name: "nothing_of_the_kind", columns: ["uid", "name"] };
  const rows = () => withAccessVersionCheck(store.read, { root: root("a"), version: "7" });
  const answers = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => findRow(rows(), gone, berth("a", index))));
  assert.ok(answers.every(({ status }) => status === "rejected"));
  await store.write((write) => write.query("create table nothing_of_the_kind (uid text primary key, name text)"));
  assert.equal(await findRow(rows(), gone, berth("a", 1)), undefined);
});
