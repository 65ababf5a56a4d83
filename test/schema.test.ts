// The tables that the migrations make fit the contract: every column, every index that a list, a uniqueness or a deletion
// needs. A step of `npm run check`; a server asks the same when it starts.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { silent } from "#base/log.ts";
import { resources } from "#resources";
import { openStore, readCatalogue } from "#store";
import { compareSchema } from "../server/kernel/schema.ts";
import { freshDatabase } from "./database.ts";

const database = await freshDatabase();
const store = await openStore({ databaseUrl: database.url, dataDirectory: "/nowhere", log: silent });
after(async () => {
  await store.close();
  await database.drop();
});

test("a migrated database has every table, column and index that the contract asks for", async () => {
  const { mismatches, unfinished } = compareSchema(resources, await readCatalogue(store.read));
  assert.deepEqual(mismatches, []);
  assert.deepEqual(unfinished, []);
});
