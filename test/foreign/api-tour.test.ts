// The API tour in a shell: every command runs and prints what the page shows, over HTTP/1.1, curl's default, and over HTTP/2 with prior
// knowledge.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { makeReaderHome, stepsOf, walk } from "../guides/walk.ts";
import { openInstallation } from "../story/installation.ts";

const root = join(import.meta.dirname, "..", "..");
const curl = spawnSync("curl", ["--version"], { encoding: "utf8" });
const hasCurl = curl.status === 0;
const hasHttp2 = hasCurl && /\bHTTP2\b/.test(curl.stdout);

for (const [how, possible, settings] of [
  ["HTTP/1.1", hasCurl, ""],
  ["HTTP/2 with prior knowledge", hasHttp2, "http2-prior-knowledge\n"],
] as const)
  test(`every command of the API tour prints what the page shows, over ${how}`, { skip: !possible && "this machine's curl cannot" }, async (t) => {
    const steps = stepsOf(await readFile(join(root, "docs", "guides", "api-tour.md"), "utf8"));
    assert.ok(steps.length > 10, "the tour has its commands");
    const installation = await openInstallation({ GANTRY_SERVICE_DOMAIN: "gantry.local" });
    t.after(() => installation.close());
    const home = await makeReaderHome(t);
    await Promise.all([writeFile(join(home, ".curlrc"), settings), symlink(join(root, "test"), join(home, "test"))]);
    await walk(steps, { port: new URL(installation.world.url).port, home, environment: installation.environment, cwd: home });
  });
