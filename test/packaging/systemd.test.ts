// The notifications that the unit's command sends to systemd's socket, and when. Python listens, since Node has no Unix datagram sockets.

import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { makeAuthority } from "../certificates.ts";
import { freshDatabase, type TestDatabase } from "../database.ts";
import { gantryFile, start, stopAll } from "../story/processes.ts";
import { freePort } from "../free-port.ts";

const unit = readFileSync(join(import.meta.dirname, "..", "..", "deploy", "systemd", "gantry.service"), "utf8");
const settingOf = (name: string): string => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1] ?? assert.fail(`the unit has no ${name}`);

/** Prints a line for each notification; closes the descriptors that come with it, which the sender waits for. */
const listenerScript = `
import socket, sys, os
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
print("listening", flush=True)
while True:
    notice, descriptors, _, _ = socket.recv_fds(listener, 4096, 8)
    for descriptor in descriptors: os.close(descriptor)
    print(notice.decode().strip().replace("\\n", " "), flush=True)
`;

const canNotify = spawnSync("systemd-notify", ["--version"]).status === 0 && spawnSync("python3", ["--version"]).status === 0;

let folder: string;
let database: TestDatabase;
let listener: ChildProcessByStdio<null, Readable, null>;
let heard = "";
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-systemd-"));
  database = await freshDatabase();
  writeFileSync(join(folder, "secret.key"), Buffer.alloc(32, 3).toString("base64"), { mode: 0o600 });
});
after(async () => {
  listener?.kill("SIGKILL");
  await stopAll();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

const notices = (): string[] => heard.split("\n").filter((line) => line !== "" && line !== "listening" && line !== "BARRIER=1");
const hears = async (count: number): Promise<string[]> => {
  while (notices().length < count) await once(listener.stdout, "data");
  return notices();
};

test("systemd is notified when the server serves, reloads its certificate, is alive, and stops", {
  skip: !canNotify && "NOT TESTED: systemd-notify or Python is not here",
}, async () => {
  const socket = join(folder, "notify");
  listener = spawn("python3", ["-c", listenerScript, socket], { stdio: ["ignore", "pipe", "inherit"] });
  listener.stdout.setEncoding("utf8").on("data", (text: string) => (heard += text));
  await once(listener.stdout, "data");
  const { certificateFile, keyFile } = makeAuthority(folder, "localhost");
  const port = await freePort();
  const [program, ...args] = settingOf("ExecStart").split(" ");
  assert.equal(program, "/opt/gantry/bin/gantry");
  assert.equal(settingOf("Type"), "notify");
  const server = start(gantryFile, args, {
    env: {
      NOTIFY_SOCKET: socket,
      DATABASE_URL: database.url,
      GANTRY_DATA: folder,
      GANTRY_SECRET_KEY_FILE: join(folder, "secret.key"),
      GANTRY_LISTEN: `127.0.0.1:${port}`,
      GANTRY_PUBLIC_URL: `https://localhost:${port}`,
      GANTRY_TLS_CERT: certificateFile,
      GANTRY_TLS_KEY: keyFile,
    },
  });
  assert.deepEqual(await hears(1), ["READY=1"]);
  // It notified once reachable, and not before.
  assert.match(server.stderr(), /Gantry serves/);
  assert.equal(settingOf("ExecReload"), "/bin/kill -HUP $MAINPID");
  server.signal("SIGHUP");
  const [, reloading, ready] = await hears(3);
  assert.match(reloading ?? "", /^RELOADING=1 MONOTONIC_USEC=\d+$/);
  assert.equal(ready, "READY=1");
  assert.match(server.stderr(), /tls\.certificate\.read/);
  server.signal("SIGTERM");
  assert.deepEqual((await hears(4)).slice(3), ["STOPPING=1"]);
  assert.equal((await server.ended).code, 0);

  heard = "";
  const watched = start(gantryFile, args, {
    env: {
      NOTIFY_SOCKET: socket,
      WATCHDOG_USEC: "200000",
      DATABASE_URL: database.url,
      GANTRY_DATA: folder,
      GANTRY_SECRET_KEY_FILE: join(folder, "secret.key"),
      GANTRY_LISTEN: `127.0.0.1:${port}`,
    },
  });
  while (notices().filter((notice) => notice === "WATCHDOG=1").length < 3) await once(listener.stdout, "data");
  watched.signal("SIGKILL");
  assert.equal((await watched.ended).signal, "SIGKILL");
  assert.ok(Number(settingOf("WatchdogSec")) >= 10);
});

test("without a working systemd socket the server still serves, and logs the failure once", async () => {
  const port = await freePort();
  const server = start(gantryFile, ["serve"], {
    env: {
      NOTIFY_SOCKET: join(folder, "nobody-listens"),
      WATCHDOG_USEC: "100000",
      DATABASE_URL: database.url,
      GANTRY_DATA: folder,
      GANTRY_SECRET_KEY_FILE: join(folder, "secret.key"),
      GANTRY_LISTEN: `127.0.0.1:${port}`,
    },
  });
  await server.says(/service\.notice\.failed/);
  await server.says(/npx gantry token/);
  const { status } = await fetch(`http://127.0.0.1:${port}/readyz`);
  assert.equal(status, 200);
  server.signal("SIGTERM");
  const { code, stderr } = await server.ended;
  assert.deepEqual([code, stderr.match(/service\.notice\.failed/g)?.length], [0, 1]);
});
