// A long import and a backup next to a server that is killed and started again, on the embedded database: real processes.

import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../free-port.ts";
import { shortOrLong } from "../length.ts";
import { gantry, gantryFile, type Program, start, stopAll } from "./processes.ts";
import { http } from "./protocols.ts";

/** Kills of the server during one import. The long form lasts five minutes. */
const kills = shortOrLong(1, 20);
const pauseMs = shortOrLong(0, 12_000);

let folder: string;
let environment: Record<string, string>;
let url: string;
let feed: Server;
let feedUrl: string;
/** The response to the last request for the feed. */
let reading: ServerResponse | undefined;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-beside-"));
  await chmod(folder, 0o711);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  environment = { GANTRY_DATA: join(folder, "data"), GANTRY_LISTEN: `127.0.0.1:${port}`, GANTRY_EGRESS_ALLOW: "127.0.0.0/8" };
  feed = createServer((_request, response) => {
    reading = response;
  }).listen(0, "127.0.0.1");
  await once(feed, "listening");
  feedUrl = `http://127.0.0.1:${(feed.address() as AddressInfo).port}/cves.jsonl`;
});
after(async () => {
  feed.closeAllConnections();
  feed.close();
  await stopAll();
  await rm(folder, { recursive: true, force: true });
});

const serve = async (): Promise<Program> => {
  const program = start(gantryFile, ["serve"], { env: environment });
  await program.says(/npx gantry token/);
  assert.equal((await http(url, "GET", "/readyz")).status, 200);
  return program;
};

const postmaster = async (): Promise<number> => Number.parseInt(await readFile(join(folder, "data", "postgres", "postmaster.pid"), "utf8"), 10);

const record = (number: number): string =>
  `${JSON.stringify({ schema_version: "1.6.0", id: `GO-2026-${number}`, modified: "2026-01-01T00:00:00Z", summary: "s", affected: [] })}\n`;

/** Starts an import that has read the feed's first record and waits for the next. */
const beginImport = async (t: TestContext): Promise<{ readonly program: Program; readonly response: ServerResponse }> => {
  reading = undefined;
  // The feed of the next test has fewer records.
  const program = start(gantryFile, ["import", "vulnerabilities", feedUrl, "--allow-withdrawals"], { env: environment });
  t.after(() => program.child.kill("SIGKILL"));
  await Promise.race([once(feed, "request"), program.ended.then(({ stderr }) => assert.fail(stderr))]);
  const response = reading ?? assert.fail("no request");
  (response as ServerResponse).writeHead(200, { "content-type": "application/json" });
  (response as ServerResponse).write(record(1));
  return { program, response };
};

test("a server that is killed during an import is ready again with the same PostgreSQL, and the import completes", async (t) => {
  let server = await serve();
  const { program, response } = await beginImport(t);
  const pid = await postmaster();
  for (let turn = 0; turn < kills; turn++) {
    server.signal("SIGKILL");
    await server.ended;
    server = await serve();
    assert.equal(await postmaster(), pid);
    response.write(record(2 + turn));
    await sleep(pauseMs);
  }
  response.end();
  const { code, stdout, stderr } = await program.ended;
  assert.deepEqual([code, stdout], [0, `vulnerabilities: ${kills + 1} new, 0 changed, 0 withdrawn, 0 unchanged, 0 refused\n`], stderr);
  server.signal("SIGTERM");
  assert.equal((await server.ended).code, 0);
});

test("a server that starts during an import uses its PostgreSQL, and keeps it when the import ends", async (t) => {
  const { program, response } = await beginImport(t);
  const pid = await postmaster();
  const server = await serve();
  assert.equal(await postmaster(), pid);
  response.end();
  assert.equal((await program.ended).code, 0);
  assert.equal((await http(url, "GET", "/readyz")).status, 200);
  assert.equal(await postmaster(), pid);
  server.signal("SIGTERM");
  assert.equal((await server.ended).code, 0);
  await assert.rejects(postmaster(), { code: "ENOENT" });
});

test("a server that stops during an import leaves PostgreSQL to it", async (t) => {
  const server = await serve();
  const { program, response } = await beginImport(t);
  server.signal("SIGTERM");
  assert.equal((await server.ended).code, 0);
  response.end();
  assert.equal((await program.ended).code, 0);
  await assert.rejects(postmaster(), { code: "ENOENT" });
});

test("a backup during which the server is killed and started again is complete", async () => {
  let server = await serve();
  const path = join(folder, "backup.tar");
  const backup = start(gantryFile, ["admin", "backup", path], { env: environment });
  // Its snapshot is open before its file.
  while (!(await readdir(folder)).some((name) => name.includes(".unfinished"))) {
    assert.equal(backup.child.exitCode, null, backup.stderr());
    await nextTurn();
  }
  backup.signal("SIGSTOP");
  server.signal("SIGKILL");
  await server.ended;
  server = await serve();
  backup.signal("SIGCONT");
  const { code, stderr } = await backup.ended;
  assert.equal(code, 0, stderr);
  assert.equal((await gantry(["admin", "backup", "--verify", path], { env: environment })).code, 0);
  server.signal("SIGTERM");
  assert.equal((await server.ended).code, 0);
});
