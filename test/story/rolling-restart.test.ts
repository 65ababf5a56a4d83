// Two servers of one database behind a balancer that drains each before its restart, in turn and under load.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isObject, type Json, objectList, text } from "#base/json.ts";
import { freshDatabase, type TestDatabase } from "../database.ts";
import { freePort } from "../free-port.ts";
import { shortOrLong } from "../length.ts";
import { gantry, gantryFile, type Program, start, stopAll } from "./processes.ts";

const restarts = shortOrLong(2, 20);
const clients = 8;

let folder: string;
let database: TestDatabase;
let environment: Readonly<Record<string, string>>;
let ports: readonly number[];
let servers: Program[];
let token: string;

const serve = async (port: number): Promise<Program> => {
  const program = start(gantryFile, ["serve"], { env: { ...environment, GANTRY_LISTEN: `127.0.0.1:${port}` } });
  await program.says(/Gantry serves/);
  return program;
};

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-rolling-"));
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  database = await freshDatabase();
  ports = [await freePort(), await freePort()];
  environment = {
    DATABASE_URL: database.url,
    GANTRY_SECRET_KEY_FILE: key,
    GANTRY_DATA: folder,
    GANTRY_PUBLIC_URL: "http://gantry.example.com",
  };
  servers = await Promise.all(ports.map(serve));
  const made = await gantry(["token"], { env: environment });
  assert.equal(made.code, 0, made.stderr);
  token = made.stdout.trim();
});
after(async () => {
  await stopAll();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

/** Sends a request over a new connection. */
const sendTo = async (port: number, method: string, path: string, body?: Json): Promise<{ readonly status: number; readonly body: Json }> => {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const sent = request({ host: "127.0.0.1", port, method, path, headers, agent: false });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = await once(sent, "response");
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece);
  return { status: response.statusCode, body: JSON.parse(Buffer.concat(pieces).toString("utf8")) };
};

let next = 0;
/** The server that the balancer sends no new requests to. */
let drained = -1;
const inFlight = [0, 0];

const send = async (method: string, path: string, body?: Json) => {
  const wanted = next++ % 2;
  const at = wanted === drained ? 1 - wanted : wanted;
  inFlight[at] = (inFlight[at] ?? 0) + 1;
  try {
    return await sendTo(ports[at] ?? 0, method, path, body);
  } finally {
    inFlight[at] = (inFlight[at] ?? 0) - 1;
  }
};

test(`no request fails while two drained servers restart in turn, ${restarts} times, and each acknowledged change is kept`, async (t) => {
  const found = (await send("GET", "/iam/v2/groups?uidp.in_root=true")).body;
  assert.ok(isObject(found));
  const organization = text(objectList(found, "groups")[0] ?? {}, "uid");
  const statuses = new Map<number, number>();
  const written = new Set<string>();
  let isOver = false;
  const sending = Array.from({ length: clients }, async (_, client) => {
    for (let turn = 0; !isOver; turn++) {
      const name = `written-${client}-${turn}`;
      const write = await send("POST", `/iam/v2/groups/${organization}`, { name });
      if (write.status === 200) written.add(name);
      const read = await send("GET", `/iam/v2/groups/${organization}`);
      for (const { status } of [write, read]) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  const load = Promise.all(sending);
  // Reported below.
  load.catch(() => {});
  for (let turn = 0; turn < restarts; turn++) {
    const at = turn % 2;
    const server = servers[at];
    drained = at;
    while ((inFlight[at] ?? 0) > 0) await nextTurn();
    server?.signal("SIGTERM");
    assert.equal((await server?.ended)?.code, 0);
    servers[at] = await serve(ports[at] ?? 0);
    drained = -1;
  }
  isOver = true;
  await load;
  t.diagnostic(`${[...statuses].map(([status, count]) => `${status} × ${count}`).join(", ")}`);
  assert.deepEqual([...statuses.keys()], [200]);
  assert.ok(written.size > 0);
  const names = new Set<string>();
  for (let pageToken = ""; ; ) {
    const { body } = await send("GET", `/iam/v2/groups?uidp.childrenOf=${organization}&pageSize=200&pageToken=${encodeURIComponent(pageToken)}`);
    assert.ok(isObject(body));
    for (const group of objectList(body, "groups")) names.add(text(group, "name"));
    pageToken = text(body, "nextPageToken");
    if (pageToken === "") break;
  }
  assert.deepEqual(
    [...written].filter((name) => !names.has(name)),
    [],
  );
});
