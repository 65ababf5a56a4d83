// Refused calls on their way to the outbox, on a real database.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { limits } from "#base/limits.ts";
import { type Log, silent } from "#base/log.ts";
import { openStore, type Store } from "#db";
import { freshDatabase } from "../../../test/database.ts";
import { openRefusals, type RefusedCall } from "./refusals.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;
before(async () => {
  database = await freshDatabase();
  store = await openStore({ databaseUrl: database.url, log: silent });
});
after(async () => {
  await store.close();
  await database.drop();
});

const callBy = (caller: string, operation: string): RefusedCall => ({
  caller,
  operation,
  subject: "",
  code: "PERMISSION_DENIED",
  requestSource: { requestId: "", origin: { address: "", userAgent: "" } },
});

const uidOf = (number: number): string => number.toString(16).padStart(40, "0");

test("a refusal that cannot be written is logged, and does not affect the others", async () => {
  const lines: string[] = [];
  const log: Log = (event, fields) => void lines.push(`${event} ${JSON.stringify(fields)}`);
  const refusals = openRefusals({ store, clock: () => Date.UTC(2026, 10, 20), log, publicUrl: "" });
  // More than one batch, and one with a text that the database refuses.
  const organizations = 7;
  const perOrganization = limits.refusalsPerCallerMax - 1;
  assert.ok(organizations * perOrganization > limits.refusalsWrittenMax);
  for (let number = 0; number < organizations * perOrganization; number++) refusals.add(callBy(uidOf(number % organizations), "read"));
  refusals.add(callBy(uidOf(3), "read\u0000"));
  await refusals.flush(true);
  const written = await store.read.query("select left(group_uid, 40), count(*) from outbox group by 1 order by 1");
  assert.deepEqual(
    written,
    Array.from({ length: organizations }, (_, number) => [uidOf(number), String(perOrganization)]),
  );
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", new RegExp(`^audit.refusals.lost .*"refusals":1,"caller":"${uidOf(3)}"`));
});
