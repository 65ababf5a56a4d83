// Dependencies that fail under a running server: what it reports, and what goes on (docs/operate/runbooks.md).

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { limits } from "#base/limits.ts";
import { runGantry } from "../command-line.ts";
import { freshDatabase, ownerUrlOf } from "../database.ts";
import { digestOf } from "../distribution.ts";
import { objectStorageMissing, startObjectStorage } from "../object-storage.ts";
import { openPusher } from "../pusher.ts";
import { freePort } from "../free-port.ts";
import { gantryFile, start, stopAll } from "../story/processes.ts";
import { openSwallowingProxy } from "../swallowing-proxy.ts";
import { openWorld, type World } from "../world.ts";

const closing: (() => Promise<unknown>)[] = [stopAll];
after(async () => {
  for (const close of closing.reverse()) await close();
});

interface Watched {
  readonly world: World;
  /** Lines of one dependency: "failed WHY" or "recovered". */
  lines(dependency: string): string[];
  until(is: () => unknown): Promise<void>;
}

const open = async (environment: Readonly<Record<string, string>>): Promise<Watched> => {
  const found: { readonly dependency: unknown; readonly line: string }[] = [];
  const world = await openWorld(environment, (event, facts) => {
    const [kind, outcome] = event.split(".");
    if (kind === "dependency") found.push({ dependency: facts?.dependency, line: `${outcome} ${facts?.why ?? ""}`.trim() });
  });
  closing.push(world.close);
  return {
    world,
    lines: (dependency) => found.filter((each) => each.dependency === dependency).map(({ line }) => line),
    async until(is) {
      while (!(await is())) await sleep(10);
    },
  };
};

const temporaryFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-dependencies-"));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const readyz = async ({ url }: World): Promise<number> => (await fetch(`${url}/readyz`)).status;

test("if the blob storage disappears, the server stays ready, serves manifests, refuses layers with 503, and reports the failure and the recovery once", {
  timeout: 60_000,
}, async () => {
  const folder = join(await temporaryFolder(), "blobs");
  const { world, lines, until } = await open({ GANTRY_BLOBS: folder });
  const repo = String((await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "kept" } })).uid);
  const pusher = openPusher(world, repo, await world.token());
  const { digest } = await pusher.image("amd64", "latest");
  const layer = await pusher.blob("a layer", "application/octet-stream");
  await rename(folder, `${folder}-away`);
  await until(() => lines("blobs").length > 0);
  assert.equal(await readyz(world), 200);
  assert.equal((await pusher.send("GET", `manifests/${digest}`)).status, 200);
  const refused = await pusher.send("GET", `blobs/${layer.digest}`);
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "1"]);
  await rename(`${folder}-away`, folder);
  await until(() => lines("blobs").length > 1);
  assert.deepEqual(lines("blobs"), [
    `failed GANTRY_BLOBS: ${folder} is empty, but this database has blobs elsewhere. Give every server the same location`,
    "recovered",
  ]);
});

test("attack 333: while S3 swallows packets, layers are refused at once, manifests are served, and requests work after the recovery", {
  timeout: 50_000,
  skip: objectStorageMissing(),
}, async () => {
  const storage = await startObjectStorage();
  const setting = new URL(storage.settingOf("swallowed"));
  const proxy = await openSwallowingProxy(setting.searchParams.get("endpoint") ?? "");
  setting.searchParams.set("endpoint", new URL(proxy.url).origin);
  closing.push(storage.stop, proxy.close);
  const { world, lines, until } = await open({ GANTRY_BLOBS: setting.href, GANTRY_BLOBS_REDIRECT: "false" });
  const repo = String((await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "kept" } })).uid);
  const pusher = openPusher(world, repo, await world.token());
  const { digest } = await pusher.image("amd64", "latest");
  const layer = await pusher.blob("a layer", "application/octet-stream");
  const pull = async (): Promise<readonly unknown[]> => {
    const response = await pusher.send("GET", `blobs/${layer.digest}`);
    return [response.status, response.headers.get("retry-after"), response.ok ? await response.text() : void (await response.body?.cancel())];
  };
  const push = async (): Promise<readonly unknown[]> => {
    const response = await pusher.send("POST", `blobs/uploads/?digest=${digestOf("more")}`, "more");
    await response.body?.cancel();
    return [response.status, response.headers.get("retry-after"), undefined];
  };
  assert.deepEqual(await pull(), [200, null, "a layer"]);
  // Idle connections that are dead after the recovery.
  await Promise.all(Array.from({ length: 8 }, pull));
  proxy.swallow();
  const refused = [503, "1", undefined];
  // In flight when the storage fails, and then at once: no timeout of S3 ends within this test's.
  assert.deepEqual(await Promise.all([pull(), push()]), [refused, refused]);
  for (let count = 0; count < 20; count++) assert.deepEqual(await Promise.all([pull(), push()]), [refused, refused]);
  assert.equal((await pusher.send("GET", `manifests/${digest}`)).status, 200);
  assert.equal(await readyz(world), 200);
  proxy.forward();
  await until(() => lines("blobs").length > 1);
  assert.deepEqual(await Promise.all(Array.from({ length: 8 }, pull)), Array(8).fill([200, null, "a layer"]));
  assert.equal((await push())[0], 201);
  assert.deepEqual(lines("blobs"), ["failed it does not respond", "recovered"]);
});

test("a server starts and is ready although its blob storage is dead", { timeout: 60_000 }, async () => {
  process.env.AWS_ACCESS_KEY_ID = process.env.AWS_SECRET_ACCESS_KEY = "tester";
  const { world, lines } = await open({ GANTRY_BLOBS: `s3://blobs/?endpoint=http://127.0.0.1:${await freePort()}` });
  assert.equal(await readyz(world), 200);
  assert.deepEqual(
    lines("blobs").map((line) => line.split(":")[0]),
    ["failed the blob storage cannot be reached"],
  );
});

test("a clock that jumps away from the database's is reported with its direction, and its return too", { timeout: 60_000 }, async () => {
  const { world, lines, until } = await open({});
  const { now } = world.clock;
  for (const [index, [jumpMs, direction]] of (
    [
      [limits.clockApartMs + 60_000, "ahead of"],
      [-limits.clockApartMs - 60_000, "behind"],
    ] as const
  ).entries()) {
    world.clock.now = Date.now() + jumpMs;
    await until(() => lines("clock").length > 2 * index);
    assert.match(
      lines("clock")[2 * index] ?? "",
      new RegExp(`^failed this machine's clock is (?:89|9\\d)\\.\\d s ${direction} the database's; tokens allow 60 s$`),
    );
    world.clock.now = Date.now();
    await until(() => lines("clock").length > 2 * index + 1);
    assert.equal(lines("clock")[2 * index + 1], "recovered");
  }
  assert.equal(await readyz(world), 200);
  world.clock.now = now;
});

test("connections beyond the file descriptors are closed, counted and reported, and those before them are served", { timeout: 60_000 }, async () => {
  const folder = await temporaryFolder();
  const database = await freshDatabase();
  closing.push(database.drop);
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  const url = `http://127.0.0.1:${await freePort()}`;
  const program = start("-c", [`ulimit -n 400; exec ${process.execPath} ${gantryFile} serve`], {
    node: "/bin/sh",
    env: {
      DATABASE_URL: database.url,
      GANTRY_SECRET_KEY_FILE: key,
      GANTRY_DATA: folder,
      GANTRY_LISTEN: new URL(url).host,
      GANTRY_PUBLIC_URL: url,
    },
  });
  await program.says(/Gantry serves/);
  assert.match(program.stderr(), /"event":"descriptors\.few","message":"this process may open 400 files, and 10000 connections need 11000"/);
  const sockets = Array.from({ length: 400 }, () => connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {}));
  closing.push(async () => {
    for (const socket of sockets) socket.destroy();
  });
  await program.says(/"event":"dependency\.failed","dependency":"descriptors","why":"connections were refused: /);
  for (const socket of sockets.splice(0, 100)) socket.destroy();
  assert.equal(
    await fetch(`${url}/readyz`).then(
      ({ status }) => status,
      () => 0,
    ),
    200,
  );
  await program.says(/"event":"dependency\.recovered","dependency":"descriptors"/);
  program.signal("SIGTERM");
  await program.ended;
});

test("the time of the last backup is a metric, which is absent before the first one", { timeout: 120_000 }, async () => {
  const folder = await temporaryFolder();
  const database = await freshDatabase();
  closing.push(database.drop);
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  const metrics = `127.0.0.1:${await freePort()}`;
  const environment = { DATABASE_URL: database.url, GANTRY_SECRET_KEY_FILE: key, GANTRY_DATA: folder };
  const { until } = await open({ ...environment, GANTRY_METRICS_LISTEN: metrics });
  const lastSeconds = async (): Promise<string | undefined> =>
    /^gantry_backup_last_timestamp_seconds (\S+)$/m.exec(await (await fetch(`http://${metrics}/metrics`)).text())?.[1];
  assert.equal(await lastSeconds(), undefined);
  const made = await runGantry(["admin", "backup", join(folder, "backup.tar")], { environment: { ...environment, DATABASE_URL: ownerUrlOf(database.url) } });
  assert.equal(made.status, 0, made.err);
  await until(async () => (await lastSeconds()) !== undefined);
  const [, time = ""] = /^backup \S+ of (\S+): /.exec(made.out) ?? [];
  assert.equal(Number(await lastSeconds()), Date.parse(time) / 1000);
});
