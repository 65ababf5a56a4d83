// Commands whose reader has left, as in `gantry doctor | head -1`: real processes with a closed pipe.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { freePort } from "../free-port.ts";
import { shareOf } from "../length.ts";
import { environmentOfProgram, gantry, gantryFile, type Program, start, stopAll } from "./processes.ts";
import { http } from "./protocols.ts";

let folder: string;
let environment: Record<string, string>;
let url: string;
let server: Program;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-pipes-"));
  await chmod(folder, 0o711);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  environment = { GANTRY_DATA: join(folder, "data"), GANTRY_LISTEN: `127.0.0.1:${port}`, GANTRY_SERVER: url };
  server = start(gantryFile, ["serve"], { env: environment });
  await server.says(/npx gantry token/);
  environment.GANTRY_TOKEN = (await gantry(["token"], { env: environment })).stdout.trim();
  await mkdir(join(folder, "layout"));
  await writeFile(join(folder, "kev.json"), JSON.stringify({ title: "t", catalogVersion: "1", dateReleased: "2026-01-01T00:00:00Z", vulnerabilities: [] }));
});
after(async () => {
  await stopAll();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a command whose standard output or standard error has no reader. Returns its status and the rest of its output. */
const runUnread = async (args: readonly string[], closed: "stdout" | "stderr") => {
  const child = spawn(process.execPath, [gantryFile, ...args], { env: environmentOfProgram(environment), stdio: ["ignore", "pipe", "pipe"] });
  child[closed].destroy();
  let rest = "";
  child[closed === "stdout" ? "stderr" : "stdout"].setEncoding("utf8").on("data", (text: string) => {
    rest += text;
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return { code, signal, rest };
};

const commands: readonly (readonly string[])[] = [
  ["--version"],
  ["help"],
  ["help", "import"],
  ["config"],
  ["completion", "bash"],
  ["token"],
  ["iam", "roles", "list"],
  ["iam", "roles", "list", "-o", "json"],
  ["api", "/iam/v2/roles"],
  ["whoami"],
  ["version"],
  ["events", "tail", "--past", "5"],
  ["audit", "export"],
  ["audit", "verify"],
  ["import", "registry", join("FOLDER", "layout")],
];

test("a command whose output nothing reads ends quietly", async () => {
  for (const args of shareOf(commands, 4)) {
    const { code, signal, rest } = await runUnread(
      args.map((word) => word.replace("FOLDER", folder)),
      "stdout",
    );
    assert.deepEqual([code, signal, rest], [0, null, ""], args.join(" "));
  }
});

test("gantry doctor with a closed pipe exits with its own status and prints no error", async () => {
  const read = await gantry(["doctor"], { env: environment });
  assert.deepEqual(await runUnread(["doctor"], "stdout"), { code: read.code, signal: null, rest: "" });
});

test("a command whose messages nothing reads finishes its work", async () => {
  const { code, signal, rest } = await runUnread(["import", "registry", join(folder, "layout")], "stderr");
  assert.deepEqual([code, signal], [0, null]);
  assert.match(rest, /^0 repos/);
});

test("a server keeps serving when the reader of its log leaves", async () => {
  server.child.stderr?.destroy();
  server.child.stdout?.destroy();
  for (let index = 0; index < 3; index++) assert.equal((await http(url, "GET", "/iam/v2/roles", { token: "wrong" })).status, 401);
  server.signal("SIGHUP");
  assert.equal((await http(url, "GET", "/healthz")).status, 200);
  server.signal("SIGTERM");
  const { code, signal } = await server.ended;
  assert.deepEqual([code, signal], [0, null]);
});
