// Several processes as one server (GANTRY_WORKERS): guarantees hold across workers. Uses three workers of a real `gantry serve` and a connection to
// each.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { methodByName, restRequest } from "../client.ts";
import { asOwner } from "../database.ts";
import { freePort } from "../free-port.ts";
import { full } from "../world.ts";
import { readScrape, valueOf } from "../scrape.ts";
import { bind, createIdentity, type Installation, openInstallation } from "./installation.ts";
import { gantry, gantryFile, type Program, start, stopAll } from "./processes.ts";
import { column } from "./protocols.ts";
import { openSink, type Sink } from "./sink.ts";
import { connectToEach, hasEnded, workersOf, type WorkerConnection } from "./worker-connections.ts";

const count = 3;
const metricsToken = "a-token-for-metrics-of-the-test";

let folder: string;
let installation: Installation;
let sink: Sink;
let url: string;
let program: Program;
let each: readonly WorkerConnection[];

const startServer = async (env: Readonly<Record<string, string>> = {}): Promise<{ readonly url: string; readonly program: Program }> => {
  const port = await freePort();
  const started = start(gantryFile, ["serve"], {
    env: {
      ...installation.environment,
      GANTRY_WORKERS: String(count),
      GANTRY_LISTEN: `127.0.0.1:${port}`,
      GANTRY_PUBLIC_URL: installation.world.url,
      GANTRY_EGRESS_ALLOW: "127.0.0.0/8",
      GANTRY_METRICS_TOKEN_FILE: join(folder, "metrics.token"),
      ...env,
    },
  });
  await started.says(/Gantry serves/);
  return { url: `http://127.0.0.1:${port}`, program: started };
};

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-workers-"));
  await writeFile(join(folder, "metrics.token"), metricsToken);
  installation = await openInstallation();
  sink = await openSink();
  ({ url, program } = await startServer());
  each = await connectToEach(url, program, count);
});
after(async () => {
  await stopAll();
  await installation?.close();
  await sink?.close();
  await rm(folder, { recursive: true, force: true });
});

const connectionAt = (index: number): WorkerConnection => {
  const connection = each[index % count];
  assert.ok(connection);
  return connection;
};

const ownerOf = async (group: string, name: string): Promise<{ readonly token: string; readonly identity: string; readonly binding: string }> => {
  const identity = await createIdentity(installation.world, group, name, { issuer: "https://issuer.example.com", subject: name });
  const binding = await bind(installation.world, group, identity, "owner");
  return { identity, binding, token: await installation.world.token(identity) };
};

const createGroup = async (name: string): Promise<string> =>
  String((await installation.world.ok("iam.GroupsService/CreateGroup", { parent: installation.world.organization, group: { name } })).uid);

const createGroupRequest = (parent: string, name: string): { readonly path: string; readonly body: string } => {
  const method = methodByName(full("iam.GroupsService/CreateGroup"));
  assert.ok(method);
  const { path, body = "" } = restRequest(method, { parent, group: { name } });
  return { path, body };
};

test("a connection goes to the worker with the fewest, so three connections are served by three processes", () => {
  assert.equal(new Set(each.map(({ pid }) => pid)).size, count);
  assert.deepEqual(workersOf(program).toSorted(), each.map(({ pid }) => pid).toSorted());
});

test("a revoked role binding is refused on the next request, by each worker", async () => {
  const group = await createGroup("revocation");
  const { token, identity, binding } = await ownerOf(group, "revoked");
  for (const connection of each) assert.equal((await connection.ask("GET", `/iam/v2/groups/${group}`, { token })).status, 200);
  const operator = await installation.world.token();
  assert.equal((await connectionAt(0).ask("DELETE", `/iam/v2/roleBindings/${binding}`, { token: operator })).status, 200);
  for (const connection of each) assert.notEqual((await connection.ask("GET", `/iam/v2/groups/${group}`, { token })).status, 200);
  await bind(installation.world, group, identity, "owner");
  for (const connection of each) assert.equal((await connection.ask("GET", `/iam/v2/groups/${group}`, { token })).status, 200);
});

test("a request with an idempotency key is executed once, and each worker returns the same response", async () => {
  const token = await installation.world.token();
  const { path, body: sent } = createGroupRequest(installation.world.organization, "once");
  const asked = { token, body: sent, headers: { "idempotency-key": "workers-once" } };
  const replies = await Promise.all(each.map((connection) => connection.ask("POST", path, asked)));
  // Concurrent ones may be refused with a retry.
  const later = await Promise.all(each.map((connection) => connection.ask("POST", path, asked)));
  assert.ok(replies.some(({ status }) => status === 200));
  assert.deepEqual(
    later.map(({ status }) => status),
    each.map(() => 200),
  );
  assert.equal(new Set(later.map(({ body }) => text(body, "uid"))).size, 1);
});

test("a page token of one worker is valid at the others", async () => {
  const group = await createGroup("pages");
  const names = ["page-a", "page-b", "page-c", "page-d"];
  for (const name of names) await installation.world.ok("iam.GroupsService/CreateGroup", { parent: group, group: { name } });
  const token = await installation.world.token();
  const seen: string[] = [];
  let page = "";
  for (let index = 0; index < names.length; index++) {
    const query = `uidp.childrenOf=${group}&page_size=1&page_token=${encodeURIComponent(page)}`;
    const { status, body } = await connectionAt(index).ask("GET", `/iam/v2/groups?${query}`, { token });
    assert.equal(status, 200, JSON.stringify(body));
    seen.push(...column(body, "groups", "name"));
    page = text(body, "nextPageToken");
  }
  assert.deepEqual(seen.toSorted(), names);
});

test("attack 310: a rate limit applies to all workers together", async () => {
  const group = await createGroup("rates");
  const { token } = await ownerOf(group, "greedy");
  const perSecond = 1;
  await asOwner(installation.world.databaseUrl, "insert into quotas (organization, name, value) values ('', 'identity-requests', $1)", [perSecond]);
  const limited = await startServer();
  const connections = await connectToEach(limited.url, limited.program, count);
  const fromMs = performance.now();
  let taken = 0;
  for (let index = 0; index < 20 * count; index++) {
    const reply = await connections[index % count]?.ask("GET", `/iam/v2/groups/${group}`, { token });
    if (reply?.status === 200) taken++;
    else assert.equal(reply?.status, 429);
  }
  const burst = perSecond * 10;
  const cameBack = Math.ceil(((performance.now() - fromMs) / 1000) * perSecond);
  // Each worker may accept one request before it learns of the others'.
  assert.ok(taken >= burst && taken <= burst + cameBack + count, `${taken} were taken`);
  await asOwner(installation.world.databaseUrl, "delete from quotas where name = 'identity-requests'");
  limited.program.signal("SIGTERM");
  assert.equal((await limited.program.ended).code, 0);
});

test("an event is delivered once, whichever worker made the change", async () => {
  const group = await createGroup("events");
  await installation.world.ok("events.SubscriptionsService/CreateSubscription", { parent: group, subscription: { sink: sink.url } });
  const token = await installation.world.token();
  const uids: string[] = [];
  for (const [index, connection] of each.entries()) {
    const request = createGroupRequest(group, `told-${index}`);
    const { status, body } = await connection.ask("POST", request.path, { token, body: request.body });
    assert.equal(status, 200, JSON.stringify(body));
    uids.push(text(body, "uid"));
  }
  const told = (): string[] => sink.got.map(({ headers }) => String(headers["ce-subject"])).filter((subject) => uids.includes(subject));
  const { promise: all, resolve } = Promise.withResolvers<void>();
  sink.answer = () => {
    if (told().length >= uids.length) resolve();
    return { status: 200 };
  };
  if (told().length >= uids.length) resolve();
  await all;
  const { body } = await connectionAt(1).ask("GET", `/iam/v2/groups/${group}`, { token });
  assert.equal(body.uid, group);
  assert.deepEqual(told().toSorted(), uids.toSorted());
});

const scrape = async (connection: WorkerConnection): Promise<ReturnType<typeof readScrape>> => {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}`, connection: "close" } });
  assert.equal(response.status, 200);
  assert.ok(connection.socket.writable);
  return readScrape(await response.text());
};

const restRequests = (families: ReturnType<typeof readScrape>): number => valueOf(families, "gantry_requests_total", { protocol: "rest", code: "OK" });

test("metrics are the sum of all workers", async () => {
  const token = await installation.world.token();
  const before = restRequests(await scrape(connectionAt(0)));
  for (const connection of each) for (let index = 0; index < 5; index++) await connection.ask("GET", "/iam/v2/groups?page_size=1", { token });
  const families = await scrape(connectionAt(0));
  assert.equal(restRequests(families) - before, 5 * count);
  assert.equal(valueOf(families, "gantry_workers"), count);
  assert.equal(valueOf(families, "gantry_queue_places", { queue: "organization-writes" }), 12);
  assert.equal(valueOf(families, "gantry_build_info", { version: "0.1.0", node: process.versions.node }), 1);
});

test("a killed worker is replaced, other connections continue, and its counters are kept", async () => {
  const token = await installation.world.token();
  const counted = restRequests(await scrape(connectionAt(0)));
  const [victim, ...others] = each;
  assert.ok(victim);
  const broken = once(victim.socket, "close");
  process.kill(victim.pid, "SIGKILL");
  await broken;
  for (const other of others) assert.equal((await other.ask("GET", "/iam/v2/groups?page_size=1", { token })).status, 200);
  await program.says(/"event":"worker.ended"/);
  await program.says(/"event":"worker.started"/);
  const again = workersOf(program);
  assert.equal(again.length, count);
  assert.ok(!again.includes(victim.pid));
  for (const other of others) other.close();
  each = await connectToEach(url, program, count);
  for (const connection of each) assert.equal((await connection.ask("GET", "/iam/v2/groups?page_size=1", { token })).status, 200);
  const families = await scrape(connectionAt(0));
  assert.ok(restRequests(families) >= counted + count + others.length);
  assert.equal(valueOf(families, "gantry_worker_ends_total"), 1);
  assert.equal(valueOf(families, "gantry_workers"), count);
});

test("attack 311: the connection limit per address applies to all workers, even after one was killed", async () => {
  const most = 4;
  const limited = await startServer({ GANTRY_CONNECTIONS_PER_ADDRESS: String(most) });
  const { hostname, port } = new URL(limited.url);
  const open = async (): Promise<Socket> => {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket;
  };
  const isServed = async (socket: Socket): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<string>();
    socket.once("data", (bytes) => resolve(String(bytes))).once("close", () => resolve(""));
    return (await promise).startsWith("HTTP/1.1 200");
  };
  const ask = (socket: Socket): Promise<boolean> => {
    const served = isServed(socket);
    socket.write("GET /healthz HTTP/1.1\r\nhost: gantry\r\n\r\n");
    return served;
  };
  const held: Socket[] = [];
  for (let index = 0; index < most; index++) held.push(await open());
  for (const socket of held) assert.equal(await ask(socket), true);
  assert.equal(await ask(await open()), false);
  const [pid] = workersOf(limited.program);
  assert.ok(pid !== undefined);
  process.kill(pid, "SIGKILL");
  await limited.program.says(/"event":"worker.started"/);
  let served = 0;
  for (const socket of held) if (!socket.destroyed && (await ask(socket))) served++;
  assert.ok(served > 0 && served < most);
  for (; served < most; served++) assert.equal(await ask(await open()), true);
  assert.equal(await ask(await open()), false);
  limited.program.signal("SIGTERM");
  assert.equal((await limited.program.ended).code, 0);
});

test("SIGTERM finishes requests in flight at each worker, accepts no more, and ends every process with status 0", async () => {
  const token = await installation.world.token();
  const stopping = await startServer();
  const { hostname, port } = new URL(stopping.url);
  const { path, body } = createGroupRequest(installation.world.organization, "drained");
  const connections = await connectToEach(stopping.url, stopping.program, count);
  const pids = workersOf(stopping.program);
  const underWay: { readonly socket: Socket; readonly answer: () => string }[] = [];
  for (let index = 0; index < count; index++) {
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    let answer = "";
    socket.setEncoding("utf8").on("data", (piece: string) => {
      answer += piece;
    });
    socket.write(
      `POST ${path}${path.includes("?") ? "&" : "?"}validateOnly=true HTTP/1.1\r\nhost: gantry\r\nauthorization: Bearer ${token}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
    );
    await once(socket, "data");
    underWay.push({ socket, answer: () => answer });
  }
  const idle = connections.map(({ socket }) => once(socket, "close"));
  stopping.program.signal("SIGTERM");
  await Promise.all(idle);
  const late = connect(Number(port), hostname);
  const [refused] = await once(late, "error");
  assert.equal(refused.code, "ECONNREFUSED");
  for (const { socket } of underWay) socket.write(body);
  await Promise.all(underWay.map(({ socket }) => once(socket, "close")));
  for (const { answer } of underWay) assert.match(answer(), /HTTP\/1\.1 200/);
  const { code, stderr } = await stopping.program.ended;
  assert.equal(code, 0, stderr);
  assert.deepEqual(
    pids.map(hasEnded),
    pids.map(() => true),
  );
});

test("workers exit when the accepting process is killed", async () => {
  const orphaned = await startServer();
  const pids = workersOf(orphaned.program);
  assert.equal(pids.length, count);
  orphaned.program.signal("SIGKILL");
  // They share its outputs, which close only when all of them have exited.
  await orphaned.program.ended;
  // A process stays visible for a moment after it has closed its outputs.
  while (!pids.every(hasEnded)) await new Promise(setImmediate);
});

test("a failed start reports the cause in one line and leaves no process behind", async () => {
  const port = new URL(url).port;
  const environment = { ...installation.environment, GANTRY_WORKERS: "2", GANTRY_LISTEN: `127.0.0.1:${port}` };
  const taken = await gantry(["serve"], { env: environment });
  assert.equal(taken.code, 1);
  assert.match(taken.stderr, new RegExp(`^gantry: GANTRY_LISTEN: cannot listen on 127\\.0\\.0\\.1:${port}: another program listens there already$`, "m"));
  const away = await gantry(["serve"], { env: { ...environment, DATABASE_URL: "mysql://127.0.0.1/gantry" } });
  assert.equal(away.code, 1);
  assert.match(away.stderr, /^gantry: DATABASE_URL/m);
});

test("the embedded database belongs to the whole server: it survives a killed worker and stops with the server", async () => {
  const port = await freePort();
  const env = { GANTRY_WORKERS: "2", GANTRY_DATA: join(folder, "embedded"), GANTRY_LISTEN: `127.0.0.1:${port}` };
  const embedded = start(gantryFile, ["serve"], { env });
  await embedded.says(/Gantry serves/);
  assert.match(embedded.stderr(), /Created a first organization: /);
  const token = (await gantry(["token"], { env })).stdout.trim();
  const connections = await connectToEach(`http://127.0.0.1:${port}`, embedded, 2);
  for (const connection of connections) assert.equal((await connection.ask("GET", "/iam/v2/groups", { token })).status, 200);
  const [first, second] = connections;
  assert.ok(first && second);
  process.kill(first.pid, "SIGKILL");
  await embedded.says(/"event":"worker.started"/);
  assert.equal((await second.ask("GET", "/iam/v2/groups", { token })).status, 200);
  embedded.signal("SIGTERM");
  const { code, stderr } = await embedded.ended;
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /store\.postgres/);
  // A single process continues in the same directory.
  const single = start(gantryFile, ["serve"], { env: { ...env, GANTRY_WORKERS: "1" } });
  await single.says(/Gantry serves/);
  assert.deepEqual(workersOf(single), []);
  assert.equal((await fetch(`http://127.0.0.1:${port}/iam/v2/groups`, { headers: { authorization: `Bearer ${token}` } })).status, 200);
  single.signal("SIGTERM");
  assert.equal((await single.ended).code, 0);
});
