// Attack 57: a busy server stays in the load balancer's pool. It reports "not ready" only if it cannot work.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, credentials } from "@grpc/grpc-js";
import { codes } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Answer } from "../client.ts";
import { asOwner, freshDatabase, type TestDatabase } from "../database.ts";
import { openSwallowingProxy, type SwallowingProxy } from "../swallowing-proxy.ts";
import { openWorld, type World } from "../world.ts";

let database: TestDatabase;
let proxy: SwallowingProxy;
let world: World;
let client: Client;

before(async () => {
  database = await freshDatabase();
  proxy = await openSwallowingProxy(database.url);
  world = await openWorld({ DATABASE_URL: proxy.url });
  client = new Client(new URL(world.url).host, credentials.createInsecure());
});
after(async () => {
  client?.close();
  await world?.close();
  await proxy?.close();
  await database?.drop();
});

const readyz = async (): Promise<number> => (await fetch(`${world.url}/readyz`)).status;

/** The status in grpc.health.v1's HealthCheckResponse{status=1}: 1 is SERVING, 2 is not. */
const health = (): Promise<string> =>
  new Promise((resolve, reject) => {
    const bytes = (message: Buffer): Buffer => message;
    client.makeUnaryRequest("/grpc.health.v1.Health/Check", bytes, bytes, Buffer.alloc(0), (error, reply) =>
      error ? reject(error) : resolve(reply?.[1] === 1 ? "serving" : "not serving"),
    );
  });

const until = async (status: number, state: string): Promise<void> => {
  while ((await readyz()) !== status || (await health()) !== state) await new Promise(setImmediate);
};

const running = `select pid from pg_stat_activity
  where datname = current_database() and query like '%as neighbour%' and pid <> pg_backend_pid() and state = 'active'`;

test("attack 57: a server with all read and write connections held by long statements is ready", { timeout: 30 * limits.databaseSilentMs }, async () => {
  const { store } = world.server.application.services;
  const busy = limits.readConnections + limits.wideReadConnections + limits.writeConnections;
  // For many organizations, since each has a limited share; the cheap reads are many, since each has little time.
  const all = Array.from({ length: busy }, (_, n) => store.forParty({ organization: `neighbour ${n}`, identity: "" }));
  const held = Promise.allSettled([
    ...all.map(({ write }) => write((rows) => rows.query("select pg_sleep(10) as neighbour"))),
    ...all.map(({ read }) => read.query("select pg_sleep(10) as neighbour", [], { rows: 1, wide: true })),
    ...Array.from({ length: 40 * limits.readConnections }, () => store.read.query("select pg_sleep(0.3) as neighbour")),
  ]);
  let over = false;
  void held.then(() => (over = true));
  while ((await asOwner(database.url, running)).length < busy) assert.equal(over, false, "the statements have ended");
  assert.deepEqual([await readyz(), await health()], [200, "serving"]);
  // Those queued behind them, too.
  while (!over) await asOwner(database.url, `select pg_cancel_backend(pid) from (${running}) as those`);
});

test("a server is not ready while its database is down, and ready once it is back", async () => {
  assert.deepEqual([await readyz(), await health()], [200, "serving"]);
  proxy.hangUp();
  await until(503, "not serving");
  proxy.forward();
  await until(200, "serving");
});

test("a server with a silent database reports not ready and refuses requests at once, and serves them once it reports ready", {
  timeout: 30 * limits.databaseSilentMs,
}, async () => {
  const list = (): Promise<Response> => fetch(`${world.url}/iam/v2/groups?uidp.in_root=true`, { headers: { authorization: `Bearer ${token}` } });
  const token = await world.token();
  assert.equal((await list()).status, 200);
  proxy.swallow();
  await until(503, "not serving");
  const refused = await list();
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "1"]);
  proxy.forward();
  await until(200, "serving");
  assert.equal((await list()).status, 200);
});

test("a create whose commit a silent database did not confirm has an unknown outcome, which its idempotency key resolves", {
  timeout: 30 * limits.databaseSilentMs,
}, async () => {
  const create = (key?: string): Promise<Answer> =>
    world.call(
      "iam.GroupsService/CreateGroup",
      { parent: world.organization, group: { name: "dark" } },
      { headers: key === undefined ? {} : { "idempotency-key": key } },
    );
  // The name of the prepared statement, unlike "committed".
  proxy.swallowAfter("in the dark", "\0commit\0");
  const first = await create("in the dark");
  assert.deepEqual([first.code, text(first.details[0] ?? {}, "reason")], [codes.UNAVAILABLE, "OUTCOME_UNKNOWN"]);
  proxy.forward();
  await until(503, "not serving");
  await until(200, "serving");
  assert.equal((await create("in the dark")).code, 0);
  assert.equal((await create()).code, codes.ALREADY_EXISTS);
});
