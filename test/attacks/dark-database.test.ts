// The path to the database drops packets (attack 40). server/db/exchange.test.ts tests the driver; this test stops a whole server with its
// loops meanwhile.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { freshDatabase } from "../database.ts";
import { gantryFile, start, stopAll } from "../story/processes.ts";
import { openSwallowingProxy } from "../swallowing-proxy.ts";
import { freePort } from "../free-port.ts";

const closing: (() => Promise<void>)[] = [stopAll];
after(async () => {
  for (const close of closing) await close();
});

/** Well above limits.stopMs plus limits.storeCloseMs, well below TCP's timeout. */
const endsWithinMs = 60_000;

test("a server stops on request although its database no longer responds", { timeout: endsWithinMs }, async () => {
  const database = await freshDatabase();
  const proxy = await openSwallowingProxy(database.url);
  const folder = await mkdtemp(join(tmpdir(), "gantry-dark-"));
  closing.push(proxy.close, database.drop, () => rm(folder, { recursive: true, force: true }));
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  const url = `http://127.0.0.1:${await freePort()}`;
  const program = start(gantryFile, ["serve"], {
    env: { DATABASE_URL: proxy.url, GANTRY_SECRET_KEY_FILE: key, GANTRY_DATA: folder, GANTRY_LISTEN: new URL(url).host, GANTRY_PUBLIC_URL: url },
  });
  await program.says(/Gantry serves/);
  const ready = (): Promise<number> => fetch(`${url}/readyz`).then(({ status }) => status);
  assert.equal(await ready(), 200);
  proxy.swallow();
  // In flight on every read connection and on the readiness connection.
  const read = (): Promise<number> => fetch(`${url}/orgcheck?name=example.test`).then(({ status }) => status);
  const asked = [...Array.from({ length: 40 }, () => read().catch(() => 0)), ready().catch(() => 0)];
  program.signal("SIGTERM");
  const { code, signal } = await program.ended;
  assert.deepEqual([code, signal], [0, null]);
  for (const status of await Promise.all(asked)) assert.notEqual(status, 200);
});
