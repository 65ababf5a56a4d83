// The test database.

import assert from "node:assert/strict";
import { test } from "node:test";
import { silent } from "#base/log.ts";
import { openStore } from "#db";
import { freshDatabase } from "./database.ts";

test("two test databases are migrated and independent of each other", async () => {
  const [one, other] = await Promise.all([freshDatabase(), freshDatabase()]);
  const first = await openStore({ databaseUrl: one.url, log: silent });
  const second = await openStore({ databaseUrl: other.url, log: silent });
  try {
    await first.write((rows) => rows.query("insert into access_versions (root) values ('only here')"));
    assert.deepEqual(await first.read.query("select root from access_versions"), [["only here"]]);
    assert.deepEqual(await second.read.query("select root from access_versions"), []);
  } finally {
    await Promise.all([first.close(), second.close()]);
    await Promise.all([one.drop(), other.drop()]);
  }
});
