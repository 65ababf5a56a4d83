// The detector of a real server under load: each dependency fails and recovers. Prints when it was noticed, the answers meanwhile, and when
// it recovered. Measured times are printed and not asserted.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { chmod, rm, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { isObject, type Json, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { freePort } from "../free-port.ts";
import { shortOrLong } from "../length.ts";
import { openMemoryGroup } from "../memory-group.ts";
import { type NameServer, type NameServerMode, startNameServer } from "../name-server.ts";
import { type ObjectStorage, objectStorageMissing, startObjectStorage } from "../object-storage.ts";
import { type ReplicatedPostgres, startReplicatedPostgres, until } from "../replicated-postgres.ts";
import { openSwallowingProxy, type SwallowingProxy } from "../swallowing-proxy.ts";
import { gantry, gantryFile, type Program, start, stopAll } from "./processes.ts";
import { openSink, type Sink } from "./sink.ts";

const rounds = shortOrLong(1, 3);
const silentMs = shortOrLong([3_000], [3_000, 12_000, 40_000]);
const getsPerSecond = 50;
const writesPerSecond = 10;
const fullDisk = "filler";
/** Enough that the rest is more than what a server needs at once. */
const memoryBytes = 2 * 1024 ** 3;
/** Half of them are left for connections of clients. */
const openFilesMax = 1_000;
const nameServerAddress = `127.53.${process.pid % 250}.53`;

const folder = mkdtempSync(join(tmpdir(), "gantry-faults-"));
const data = join(folder, "data");
mkdirSync(data);
const size = limits.blobSpaceLeftBytes + 64 * 1024 * 1024;
const isMounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "gantry", data]).status === 0;
const storageMissing = objectStorageMissing();
const memoryGroup = openMemoryGroup(memoryBytes, folder);
const resolvConf = join(folder, "resolv.conf");
writeFileSync(resolvConf, `nameserver ${nameServerAddress}\n`);
/** Runs a program with its own list of name servers. */
const withNameServer = ["unshare", "-m", "sh", "-c", `mount --bind ${resolvConf} /etc/resolv.conf && exec "$@"`, "sh"];
const hasNameServer = spawnSync(withNameServer[0] ?? "", [...withNameServer.slice(1), "true"]).status === 0;

let postgres: ReplicatedPostgres;
let database: SwallowingProxy;
let replica: SwallowingProxy;
let storage: ObjectStorage | undefined;
let names: NameServer | undefined;
let sink: Sink;
let server: Program;
let url: string;
let token: string;
let organization: string;

before(async () => {
  await chmod(folder, 0o711);
  const key = join(folder, "secret.key");
  await writeFile(key, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 });
  postgres = await startReplicatedPostgres({ synchronous: false });
  database = await openSwallowingProxy(postgres.urlOf(postgres.first));
  replica = await openSwallowingProxy(postgres.urlOf(postgres.second));
  if (storageMissing === false) storage = await startObjectStorage();
  url = `http://127.0.0.1:${await freePort()}`;
  const { AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "" } = process.env;
  const environment = {
    DATABASE_URL: database.url,
    GANTRY_READ_REPLICA_URL: replica.url,
    GANTRY_SECRET_KEY_FILE: key,
    GANTRY_DATA: data,
    GANTRY_LISTEN: new URL(url).host,
    GANTRY_PUBLIC_URL: url,
    GANTRY_EGRESS_ALLOW: "127.0.0.0/8",
    // A failed delivery looks up its name again soon, as on a server with many webhooks.
    GANTRY_DELIVERY_DELAYS: "0,1,1,1,1,1,1,1",
    ...(storage ? { GANTRY_BLOBS: storage.settingOf("faults"), AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } : {}),
  };
  sink = await openSink();
  // Each delivery looks up the name again.
  sink.answer = () => ({ status: 200, headers: { connection: "close" } });
  if (hasNameServer) names = await startNameServer(nameServerAddress);
  const joins = memoryGroup ? `echo $$ > ${memoryGroup.processes}; ` : "";
  const command = [process.execPath, "--import", join(import.meta.dirname, "shifted-clock.fixture.ts"), gantryFile, "serve"];
  server = start("-c", [`${joins}ulimit -n ${openFilesMax}; exec "$@"`, "sh", ...(hasNameServer ? withNameServer : []), ...command], {
    node: "/bin/sh",
    env: environment,
  });
  await server.says(/Gantry serves/);
  const made = await gantry(["token"], { env: environment });
  assert.equal(made.code, 0, made.stderr);
  token = made.stdout.trim();
  const groups = (await (await fetch(`${url}/iam/v2/groups?uidp.in_root=true`, { headers: { authorization: `Bearer ${token}` } })).json()) as Json;
  assert.ok(isObject(groups));
  organization = text(objectList(groups, "groups")[0] ?? {}, "uid");
  for (const name of hasNameServer ? ["one", "two", "three"] : []) {
    const { port } = new URL(sink.url);
    const response = await fetch(`${url}/events/v2/subscriptions/${organization}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ sink: `http://${name}.gantry.example:${port}/hook` }),
    });
    assert.equal(response.status, 200, await response.text());
  }
});
after(async () => {
  await stopAll();
  await database?.close();
  await replica?.close();
  await postgres?.close();
  await storage?.stop();
  await names?.close();
  await sink?.close();
  memoryGroup?.close();
  if (isMounted) spawnSync("umount", [data]);
  await rm(folder, { recursive: true, force: true });
});

interface Reply {
  readonly atMs: number;
  readonly tookMs: number;
  readonly status: number;
}

/** Sends requests at a fixed rate, whether or not earlier ones were answered. */
const openLoad = (send: () => Promise<Response>, perSecond: number): { readonly replies: Reply[]; stop(): Promise<void> } => {
  const replies: Reply[] = [];
  const open = new Set<Promise<void>>();
  const timer = setInterval(() => {
    const atMs = performance.now();
    const note = (status: number): void => void replies.push({ atMs, tookMs: performance.now() - atMs, status });
    const sent = send().then(
      async (response) => {
        await response.arrayBuffer();
        note(response.status);
      },
      () => note(0),
    );
    open.add(sent);
    void sent.then(() => open.delete(sent));
  }, 1_000 / perSecond);
  return {
    replies,
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
    },
  };
};

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

interface Fault {
  readonly dependency: string;
  readonly begin: () => void | Promise<void>;
  readonly end: () => void | Promise<void>;
  readonly lastsMs: number;
  /** Of /readyz, and the statuses that gets and writes may have meanwhile. */
  readonly ready: 200 | 503;
  readonly statuses: readonly number[];
}

let written = 0;

/** A failure of the database takes the standby along, which recovers later. */
const failedNow = (): ReadonlySet<string> => {
  const failed = new Set<string>();
  for (const [, event, name = ""] of server.stderr().matchAll(/"dependency\.(failed|recovered)".*?"dependency":"(\w+)"/g))
    if (event === "failed") failed.add(name);
    else failed.delete(name);
  return failed;
};

const measure = async (t: TestContext, { dependency, begin, end, lastsMs, ready, statuses }: Fault): Promise<void> => {
  await until(() => (failedNow().size === 0 ? true : undefined));
  const authorization = `Bearer ${token}`;
  const gets = openLoad(() => fetch(`${url}/iam/v2/groups/${organization}`, { headers: { authorization } }), getsPerSecond);
  const writes = openLoad(
    () =>
      fetch(`${url}/iam/v2/groups/${organization}`, {
        method: "POST",
        headers: { authorization, "content-type": "application/json" },
        body: JSON.stringify({ name: `written-${written++}` }),
      }),
    writesPerSecond,
  );
  const readiness = openLoad(() => fetch(`${url}/readyz`), 20);
  const said = server.stderr().length;
  const logged = (event: string): Promise<number> =>
    until(() =>
      server
        .stderr()
        .slice(said)
        .split("\n")
        .some((line) => line.includes(`"${event}"`) && line.includes(`"dependency":"${dependency}"`))
        ? performance.now()
        : undefined,
    );
  await pause(1_000);
  const beganMs = performance.now();
  await begin();
  const failedMs = await logged("dependency.failed");
  await pause(Math.max(0, lastsMs - (performance.now() - beganMs)));
  const endedMs = performance.now();
  await end();
  const recoveredMs = await logged("dependency.recovered");
  await pause(1_000);
  await Promise.all([gets.stop(), writes.stop(), readiness.stop()]);

  const replies = [...gets.replies, ...writes.replies];
  const meanwhile = replies.filter(({ atMs }) => atMs >= beganMs && atMs < endedMs);
  const slowest = Math.max(...meanwhile.map(({ tookMs }) => tookMs));
  const counted = Map.groupBy(meanwhile, ({ status }) => status);
  const firstGood = Math.min(
    ...gets.replies.filter(({ atMs, status }) => atMs >= endedMs && status === 200).map(({ atMs, tookMs }) => atMs + tookMs - endedMs),
  );
  const unready = readiness.replies.find(({ atMs, status }) => atMs >= beganMs && status !== 200);
  t.diagnostic(
    [
      `noticed after ${seconds(failedMs - beganMs)}`,
      `/readyz ${unready ? `${unready.status} after ${seconds(unready.atMs + unready.tookMs - beganMs)}` : "stays 200"}`,
      `answers meanwhile ${[...counted].map(([status, { length }]) => `${status} × ${length}`).join(", ")}, the slowest in ${seconds(slowest)}`,
      `first good get ${seconds(firstGood)} after the end`,
      `recovered after ${seconds(recoveredMs - endedMs)}`,
    ].join("; "),
  );
  assert.equal(unready?.status ?? 200, ready);
  for (const { status } of replies) assert.ok(statuses.includes(status), `${status}`);
  const last = gets.replies.toSorted((one, other) => one.atMs - other.atMs).at(-1);
  assert.equal(last?.status, 200);
};

const good = [200, 201];
const refused = [...good, 503];

for (let round = 1; round <= rounds; round++) {
  const name = (what: string): string => `${what} is noticed, and the server recovers from it${rounds === 1 ? "" : `, round ${round}`}`;
  const silence = { dependency: "database", begin: () => database.swallow(), end: () => database.forward(), ready: 503, statuses: refused } as const;

  for (const lastsMs of silentMs)
    test(name(`a database that is silent for ${lastsMs / 1000} s`), { timeout: 180_000 }, (t) => measure(t, { ...silence, lastsMs }));

  test(name("a database that refuses connections"), { timeout: 180_000 }, (t) => measure(t, { ...silence, begin: () => database.hangUp(), lastsMs: 3_000 }));

  test(name("a standby that is silent"), { timeout: 180_000 }, (t) =>
    measure(t, { dependency: "replica", begin: () => replica.swallow(), end: () => replica.forward(), lastsMs: 3_000, ready: 200, statuses: good }),
  );

  test(name("blob storage that is silent"), { timeout: 180_000, skip: storageMissing }, async (t) => {
    const { pause: hold, resume } = storage ?? assert.fail();
    await measure(t, { dependency: "blobs", begin: hold, end: resume, lastsMs: 5_000, ready: 200, statuses: good });
  });

  test(name("a clock that is ahead of the database's"), { timeout: 180_000 }, (t) => {
    const shift = (): void => server.signal("SIGUSR2");
    return measure(t, { dependency: "clock", begin: shift, end: shift, lastsMs: 3_000, ready: 200, statuses: good });
  });

  test(name("a server without free file descriptors"), { timeout: 180_000 }, async (t) => {
    const sockets: Socket[] = [];
    const { hostname, port } = new URL(url);
    await measure(t, {
      dependency: "descriptors",
      begin: () => void sockets.push(...Array.from({ length: openFilesMax }, () => connect(Number(port), hostname).on("error", () => {}))),
      end() {
        for (const socket of sockets) socket.destroy();
      },
      lastsMs: 3_000,
      ready: 200,
      // New connections are closed.
      statuses: [...good, 0],
    });
  });

  test(name("a control group whose memory is almost used up"), {
    timeout: 180_000,
    skip: memoryGroup === undefined && "NOT TESTED: a control group cannot be created here",
  }, async (t) => {
    const { fill, empty } = memoryGroup ?? assert.fail();
    await fill(0.84);
    await measure(t, { dependency: "memory", begin: () => fill(0.94), end: empty, lastsMs: 3_000, ready: 200, statuses: good });
  });

  for (const mode of ["failing", "silent"] as const satisfies NameServerMode[])
    test(name(`a ${mode} name server`), {
      timeout: 180_000,
      skip: !hasNameServer && "NOT TESTED: a program cannot have its own name server here",
    }, async (t) => {
      const nameServer = names ?? assert.fail();
      const setMode = (next: NameServerMode) => () => {
        nameServer.mode = next;
      };
      await measure(t, { dependency: "dns", begin: setMode(mode), end: setMode("good"), lastsMs: 5_000, ready: 200, statuses: good });
    });

  test(name("a disk that is almost full"), {
    timeout: 180_000,
    skip: !isMounted && "NOT TESTED: a small file system cannot be mounted here",
  }, async (t) => {
    const path = join(data, fullDisk);
    await measure(t, {
      dependency: "disk",
      begin: () => writeFile(path, Buffer.alloc(96 * 1024 * 1024)),
      end: () => rm(path),
      lastsMs: 3_000,
      ready: 200,
      statuses: good,
    });
  });
}
