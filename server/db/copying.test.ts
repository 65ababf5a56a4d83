// Snapshots of a database for backups.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { freshDatabase, ownerUrlOf } from "../../test/database.ts";
import { openSnapshot } from "./copying.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
before(async () => {
  database = await freshDatabase();
});
after(() => database.drop());

test("a snapshot's time is its start, so everything acknowledged before is in it", async () => {
  const snapshot = await openSnapshot(ownerUrlOf(database.url), ["groups"]);
  try {
    const timeIn = async (clock: string): Promise<number> => {
      const [[time] = []] = await snapshot.read.query(`select floor(extract(epoch from ${clock}) * 1000)`);
      return Number(time);
    };
    while ((await timeIn("clock_timestamp()")) === (await timeIn("transaction_timestamp()")));
    assert.equal(snapshot.timeMs, await timeIn("transaction_timestamp()"));
  } finally {
    await snapshot.close();
  }
});
