// A running server's log: repeated lines are summarized with their number, and lines below GANTRY_LOG_LEVEL are omitted.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { callOver, disconnect } from "../client.ts";
import { freshDatabase, type TestDatabase } from "../database.ts";
import { freePort } from "../free-port.ts";
import { full } from "../world.ts";
import { gantry, gantryFile, start, stopAll } from "./processes.ts";
import { openSink } from "./sink.ts";

let folder: string;
let database: TestDatabase;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-log-"));
  await writeFile(join(folder, "secret.key"), Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 });
  database = await freshDatabase();
});
after(async () => {
  await stopAll();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

test("similar failed deliveries log one line at once and one at the end; requests are below the level", async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const sink = await openSink();
  await sink.close();
  const env = {
    DATABASE_URL: database.url,
    GANTRY_SECRET_KEY_FILE: join(folder, "secret.key"),
    GANTRY_DATA: folder,
    GANTRY_LISTEN: `127.0.0.1:${port}`,
    GANTRY_EGRESS_ALLOW: "127.0.0.0/8",
    GANTRY_REQUEST_LOG: "true",
    GANTRY_LOG_LEVEL: "warn",
    GANTRY_DELIVERY_DELAYS: "0",
  };
  const program = start(gantryFile, ["serve"], { env });
  await program.says(/npx gantry token/);
  const token = (await gantry(["token"], { env })).stdout.trim();
  const ok = async (name: string, request: JsonObject): Promise<JsonObject> => {
    const answer = await callOver("rest", url, full(name), request, { token });
    assert.equal(answer.code, 0, answer.message);
    return answer.reply;
  };
  const { uid } = await ok("iam.GroupsService/CreateGroup", { group: { name: "failing" } });
  for (let count = 0; count < 6; count++) await ok("events.SubscriptionsService/CreateSubscription", { parent: uid ?? "", subscription: { sink: sink.url } });
  await program.says(/"delivery\.failed"/);
  // Given up: no delivery waits for another attempt.
  for (let isOver = false; !isOver; ) {
    const { deliveries } = await ok("gantry.events.v1.DeliveriesService/ListDeliveries", { uidp: { descendantsOf: uid ?? "" } });
    isOver = Array.isArray(deliveries) && deliveries.length > 10 && deliveries.every((each) => (each as JsonObject).state === "DELIVERY_STATE_DEAD");
  }
  disconnect(url);
  program.signal("SIGTERM");
  const { stderr } = await program.ended;
  const lines = stderr
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { event: string; level: string; leftOut?: number });
  const failed = lines.filter(({ event }) => event === "delivery.failed");
  assert.equal(failed.length, 2, stderr);
  assert.deepEqual([failed[0]?.level, failed[0]?.leftOut], ["warn", undefined]);
  assert.ok((failed[1]?.leftOut ?? 0) >= 9, `${failed[1]?.leftOut} were left out`);
  assert.deepEqual(
    lines.filter(({ level }) => level === "info"),
    [],
  );
});
